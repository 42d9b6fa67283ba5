/* Compaction into base: the steps that every client shares. The position is two rows of meta. */
#include "store/lsm/compact.h"

static tb_code set_position(tb_store *store, const tb__lsm_base *base, tb__lsm_position at, tb_error *err)
{
    tb_code code = tb__meta_set(store, base->through_row, at.through, err);
    return code ? code : tb__meta_set(store, base->owner_row, at.owner, err);
}

static tb_code begin_compaction(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *pending, tb_error *err)
{
    tb_code code = TB_OK;
    if (!pending->n) return TB_OK;
    pending->at = (tb__lsm_position){pending->newest, base->first_owner};
    if (base->choose) code = base->choose(store, pending, err);
    return code ? code : set_position(store, base, pending->at, err);
}

static tb_code move_rows(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *pending, int64_t rows, tb_error *err)
{
    tb__lsm_position next = pending->at;
    bool over = false;
    tb_code code = base->place(store, base, pending, rows, &next.owner, &over, err);
    if (!code && over) {
        code = base->retire(store, base, pending, err);
        next = (tb__lsm_position){0, base->first_owner};
    }
    return code ? code : set_position(store, base, next, err);
}

tb_code tb__lsm_advance(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *pending, bool due, int64_t rows,
                        tb_error *err)
{
    tb_code code = due && !pending->at.through ? begin_compaction(store, base, pending, err) : TB_OK;
    return code || !pending->at.through ? code : move_rows(store, base, pending, rows, err);
}

static void drop_list(const tb__lsm_base *base, tb__lsm_pending *pending)
{
    if (base->drop) base->drop(pending);
}

tb_code tb__lsm_compact_all(tb_store *store, const tb__lsm_base *base, tb_error *err)
{
    bool more = true;
    tb_code code = TB_OK;
    while (!code && more) {
        tb__lsm_pending pending = {0};
        code = base->list(store, base, &pending, err);
        more = !code && (pending.n || pending.at.through);
        if (more) code = tb__lsm_advance(store, base, &pending, true, INT64_MAX, err);
        drop_list(base, &pending);
    }
    return code;
}

tb_code tb__lsm_compact_part(tb_store *store, const tb__lsm_base *base, int64_t rows, int64_t *through, bool *ret_more,
                             tb_error *err)
{
    tb__lsm_pending pending = {0};
    tb_code code = base->list(store, base, &pending, err);
    *ret_more = !code && pending.n && (!*through || pending.oldest <= *through);
    if (*ret_more && pending.at.through) {
        code = move_rows(store, base, &pending, rows, err);
    } else if (*ret_more) {
        if (!*through) *through = pending.newest;
        code = begin_compaction(store, base, &pending, err);
    }
    drop_list(base, &pending);
    return code;
}
