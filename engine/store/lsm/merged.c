/* Cursors over one run, and over several as one. There are some twenty runs at most times, so the next key is found by
 * looking at all of them: a heap branches on keys that cannot be guessed. */
#include "store/lsm/lsm.h"

#include <stdlib.h>
#include <string.h>

static tb_code enter_page(tb__lsm_cursor *c, tb_error *err)
{
    const uint8_t *data = NULL;
    size_t len = 0;
    tb_code code = tb__lsm_fetch_page(c->lsm, c->run, c->page, &data, &len, err);
    if (code) return code;
    if (len > c->cap) {
        uint8_t *copy = realloc(c->data, len);
        if (copy) c->data = copy, c->cap = len;
        else code = tb_no_memory(err);
    }
    if (!code && data) memcpy(c->data, data, len);
    sqlite3_reset(c->lsm->page);
    const int64_t id = tb__lsm_page_id(c->run->id, c->page++);
    if (!code && (!data || !tb__lsm_page_open(&c->in_page, c->data, len, id)))
        code = tb__lsm_damaged(c->lsm, c->run->id, err);
    return code;
}

tb_code tb__lsm_cursor_next(tb__lsm_cursor *c, tb_error *err)
{
    for (;;) {
        if (tb__lsm_page_next(&c->in_page, &c->entry)) {
            if (c->entry.key.owner >= c->from) return TB_OK;
            continue;
        }
        if (c->in_page.bad) return tb__lsm_damaged(c->lsm, c->run->id, err);
        if (c->page >= c->run->pages) {
            c->over = true;
            return TB_OK;
        }
        tb_code code = enter_page(c, err);
        if (code) return code;
    }
}

tb_code tb__lsm_cursor_begin(tb__lsm_cursor *c, tb__lsm *lsm, const tb__lsm_run *run, int64_t owner, tb_error *err)
{
    *c = (tb__lsm_cursor){.lsm = lsm, .run = run, .from = owner > run->from ? owner : run->from};
    c->page = tb__lsm_page_of(run, (tb__lsm_key){c->from, INT64_MIN});
    return tb__lsm_cursor_next(c, err);
}

void tb__lsm_cursor_release(tb__lsm_cursor *c)
{
    free(c->data);
}

/* --- several runs as one --- */

static void note_key(tb__lsm_merged *m, size_t i)
{
    const tb__lsm_cursor *c = &m->cursor[i];
    m->key[i] = c->over ? ~(tb__u128)0 : (tb__u128)(uint64_t)c->entry.key.owner << 64 | (uint64_t)c->entry.key.index;
}

tb_code tb__lsm_merged_begin(tb__lsm_merged *m, tb__lsm *lsm, tb__lsm_kind kind, const tb__lsm_run *list, size_t n,
                             int64_t owner, tb_error *err)
{
    m->client = &lsm->client[kind];
    m->n = m->n_lowest = 0;
    m->cursor = calloc(n + 1, sizeof *m->cursor);
    m->key = calloc(n + 1, sizeof *m->key);
    m->lowest = calloc(n + 1, sizeof *m->lowest);
    m->entry = calloc(n + 1, sizeof *m->entry);
    if (!m->cursor || !m->key || !m->lowest || !m->entry) return tb_no_memory(err);
    tb_code code = TB_OK;
    for (; !code && m->n < n; m->n++) {
        code = tb__lsm_cursor_begin(&m->cursor[m->n], lsm, &list[m->n], owner, err);
        note_key(m, m->n);
    }
    return code;
}

/* Finds the cursors at the lowest key, in the order of runs; none: all are at their end. */
static void find_lowest(tb__lsm_merged *m)
{
    tb__u128 lowest = ~(tb__u128)0;
    for (size_t i = 0; i < m->n; i++)
        lowest = m->key[i] < lowest ? m->key[i] : lowest;
    m->n_lowest = 0;
    for (size_t i = 0; i < m->n; i++) {
        m->lowest[m->n_lowest] = i;
        m->n_lowest += m->key[i] == lowest;
    }
    if (lowest == ~(tb__u128)0) m->n_lowest = 0;
}

/* A sum is in m->summed, an entry of one run in its cursor's page: so the cursors move past the previous entry only
 * in the next call. */
tb_code tb__lsm_merged_next(tb__lsm_merged *m, tb__lsm_entry *ret_entry, bool *ret_more, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < m->n_lowest; i++) {
        code = tb__lsm_cursor_next(&m->cursor[m->lowest[i]], err);
        note_key(m, m->lowest[i]);
    }
    if (code) return code;
    find_lowest(m);
    *ret_more = m->n_lowest > 0;
    for (size_t i = 0; i < m->n_lowest; i++)
        m->entry[i] = m->cursor[m->lowest[i]].entry;
    *ret_entry = m->entry[0];
    if (m->n_lowest < 2) return TB_OK;
    ret_entry->data = m->summed;
    return m->client->sum(m->entry, m->n_lowest, m->summed, &ret_entry->len, err);
}

void tb__lsm_merged_release(tb__lsm_merged *m)
{
    for (size_t i = 0; m->cursor && i < m->n; i++)
        tb__lsm_cursor_release(&m->cursor[i]);
    free(m->cursor);
    free(m->key);
    free(m->lowest);
    free(m->entry);
    m->cursor = NULL;
}
