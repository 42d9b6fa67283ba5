/* Writing request logs, and removing lines from them. Blocks are pending until the transaction's rows are sent. Then the pending
 * blocks of a zone are joined: many small batches of one second make one block. Blocks before and after the mark are not
 * joined, as the later ones may be rolled back separately. */
#include "store/clickhouse/lines.h"

#include <stdlib.h>

#define SEND_AT ((size_t)32 << 20) /* bytes of pending blocks; joined ones come on top of them */

static tb__log_piece piece_of(const tb__ch_lines *l, const tb__ch_pending_block *w)
{
    return (tb__log_piece){w->info, {l->bytes.data + w->at, w->len}};
}

static tb_code hold_block(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_lines *l = &ch->lines;
    tb_code code = tb__ch_begin(store, err);
    if (!code) code = tb__grow(&l->list, l->n, &l->cap, sizeof *l->list, err);
    if (code) return code;
    const size_t at = l->bytes.len;
    tb_buf_add(&l->bytes, bytes, len);
    code = tb_buf_check(&l->bytes, err);
    if (code) return code;
    l->list[l->n++] = (tb__ch_pending_block){*info, ch->next++, at, len};
    store->dirty = true;
    return l->bytes.len < SEND_AT ? TB_OK : tb__ch_send(store, err);
}

/* --- from blocks to rows --- */

static int by_zone(const void *a, const void *b)
{
    const tb__ch_pending_block *x = a, *y = b;
    if (x->info.zone != y->info.zone) return x->info.zone < y->info.zone ? -1 : 1;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

/* Joins `to` with the next block, if they may be joined. */
static tb_code join_two(tb_store *store, tb__ch_pending_block *to, const tb__ch_pending_block *with, bool *ret_joined, tb_error *err)
{
    tb__ch_lines *l = &tb__ch_of(store)->lines;
    const tb__log_piece older = piece_of(l, to), newer = piece_of(l, with);
    tb__log_piece both;
    *ret_joined = false;
    if (to->info.zone != with->info.zone) return TB_OK;
    tb_code code = tb__log_join(store, &older, &newer, &both, ret_joined, err);
    if (code || !*ret_joined) return code;
    *to = (tb__ch_pending_block){both.info, to->batch, l->bytes.len, both.bytes.len};
    tb_buf_add(&l->bytes, both.bytes.data, both.bytes.len);
    return tb_buf_check(&l->bytes, err);
}

/* Joins neighbours, again and again: a line is written log2(blocks) times. */
static tb_code join_all(tb_store *store, tb__ch_pending_block *list, size_t *n, tb_error *err)
{
    bool any = true;
    tb_code code = TB_OK;
    while (!code && any) {
        size_t kept = 0;
        any = false;
        for (size_t i = 0; !code && i < *n; i++) {
            bool joined = false;
            list[kept] = list[i];
            if (i + 1 < *n) code = join_two(store, &list[kept], &list[i + 1], &joined, err);
            i += joined;
            any |= joined;
            kept++;
        }
        *n = kept;
    }
    return code;
}

tb_code tb__ch_put_block(tb_store *store, const tb__log_piece *piece, const tb__ch_block *as, tb_error *err)
{
    const tb_loginfo *info = &piece->info;
    tb_buf *rows = &tb__ch_of(store)->rows[TB__CH_LOG_ROWS][tb__ch_shard(store, TB__SCOPE_ZONE, info->zone)];
    const int64_t seal = tb__seal_log(as->batch, info->zone, info->first_ms, info->last_ms, info->lines,
                                      piece->bytes.data, piece->bytes.len);
    tb__ch_put_u16(rows, as->day);
    tb__ch_put_u64(rows, (uint64_t)info->zone);
    tb__ch_put_u64(rows, (uint64_t)info->first_ms);
    tb__ch_put_u64(rows, (uint64_t)info->last_ms);
    tb__ch_put_u32(rows, info->lines);
    tb__ch_put_u64(rows, (uint64_t)as->batch);
    tb__ch_put_u64(rows, (uint64_t)as->listed.id);
    tb__ch_put_u64(rows, (uint64_t)seal);
    tb__ch_put_u32(rows, (uint32_t)piece->bytes.len);
    tb__ch_put_text(rows, piece->bytes);
    tb__ch_of(store)->lines.seals += (uint64_t)seal;
    return tb_buf_check(rows, err);
}

static tb_code put_waiting(tb_store *store, tb__ch_pending_block *list, size_t n, tb_error *err)
{
    if (n) qsort(list, n, sizeof *list, by_zone);
    tb_code code = join_all(store, list, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        const tb__log_piece piece = piece_of(&tb__ch_of(store)->lines, &list[i]);
        tb__ch_block as = {.batch = list[i].batch, .listed = {.id = list[i].batch}};
        code = tb__ch_day(piece.info.last_ms, &as.day, err);
        if (!code) code = tb__ch_put_block(store, &piece, &as, err);
    }
    return code;
}

/* Rows from before the mark come before all later ones, so pending blocks are sent before lines are removed. */
static void mark_rows(struct tb__clickhouse *ch, uint64_t seals)
{
    for (size_t shard = 0; shard < ch->client->shards; shard++)
        ch->marked_at[TB__CH_LOG_ROWS][shard] = ch->rows[TB__CH_LOG_ROWS][shard].len;
    ch->lines.marked_seals += seals;
}

tb_code tb__ch_lines_ready(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_lines *l = &ch->lines;
    const size_t marked = l->marked, n = l->n;
    if (!n) return TB_OK;
    const uint64_t seals = l->seals;
    tb_code code = put_waiting(store, l->list, marked, err);
    if (!code && marked) mark_rows(ch, l->seals - seals);
    if (!code) code = put_waiting(store, l->list + marked, n - marked, err);
    l->n = l->marked = l->bytes.len = l->marked_bytes = 0;
    if (code) store->broken = true; /* some are rows already: the transaction ends */
    return code;
}

void tb__ch_lines_mark(tb__ch_lines *l)
{
    l->marked = l->n;
    l->marked_bytes = l->bytes.len;
    l->marked_seals = l->seals;
}

void tb__ch_lines_drop(tb__ch_lines *l, bool whole)
{
    const size_t n = whole ? 0 : l->marked, len = whole ? 0 : l->marked_bytes;
    if (l->n > n) l->n = n;
    if (l->bytes.len > len) l->bytes.len = len;
    l->bytes.failed = false;
    l->seals = whole ? 0 : l->marked_seals;
    if (whole) l->n_touched = 0;
}

tb_code tb__ch_lines_commit(tb_store *store, tb_error *err)
{
    const uint64_t seals = tb__ch_of(store)->lines.seals;
    tb__ch_of(store)->lines.seals = 0;
    return tb__ch_add_seals(store, TB__CH_LOGS, seals, err);
}

/* --- removing lines --- */

static void release_found(void *found)
{
    if (found) tb__ch_blocks_release(found);
    free(found);
}

/* Pending rows are sent before they are read; those of other zones stay pending, so that there are few parts. */
static tb_code settle_zone(tb_store *store, int64_t zone, tb_error *err)
{
    tb__ch_lines *l = &tb__ch_of(store)->lines;
    bool waits = l->n > 0;
    for (size_t i = 0; !waits && i < l->n_touched; i++)
        waits = l->touched[i] == zone;
    if (waits) l->n_touched = 0;
    tb_code code = waits ? tb__ch_send(store, err) : TB_OK;
    if (!code) code = tb__grow(&l->touched, l->n_touched, &l->cap_touched, sizeof *l->touched, err);
    if (!code) l->touched[l->n_touched++] = zone;
    return code;
}

static tb_code overlapping(tb_store *store, const tb_loginfo *span, void **ret_found, size_t *ret_n, tb_error *err)
{
    tb__ch_blocks *b = calloc(1, sizeof *b);
    *ret_found = b;
    if (!b) return tb_no_memory(err);
    tb_code code = settle_zone(store, span->zone, err);
    if (!code) code = tb__ch_blocks_list(b, store, span->zone, span->first_ms, span->last_ms, true, err);
    *ret_n = b->n;
    return code;
}

static tb_code open_found(tb_store *store, void *found, size_t i, tb_logblock *block, tb_error *err)
{
    tb__ch_blocks *b = found;
    tb_text bytes;
    (void)store;
    tb_code code = tb__ch_blocks_get(b, i, &bytes, err);
    return code ? code : tb_logblock_open(block, bytes.data, bytes.len, b->zone, err);
}

static tb_code put_gone_block(tb_store *store, const tb__ch_blocks *b, const tb__ch_block *old, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf *rows = &ch->rows[TB__CH_GONE_ROWS][tb__ch_shard(store, TB__SCOPE_ZONE, b->zone)];
    tb__ch_put_u16(rows, old->day);
    tb__ch_put_u64(rows, (uint64_t)b->zone);
    tb__ch_put_u64(rows, (uint64_t)old->batch);
    tb__ch_put_u64(rows, (uint64_t)ch->next++);
    ch->lines.seals -= (uint64_t)old->seal;
    return tb_buf_check(rows, err);
}

/* The new block may lie in an earlier partition. The row of log_gone lies in the old block's. */
static tb_code replace_found(tb_store *store, void *found, size_t i, const tb__log_piece *by, tb_error *err)
{
    const tb__ch_blocks *b = found;
    tb__ch_block as = b->list[i];
    const tb_buf *rows = &tb__ch_of(store)->rows[TB__CH_LOG_ROWS][tb__ch_shard(store, TB__SCOPE_ZONE, b->zone)];
    tb_code code = tb__ch_meta_put(store, TB__CH_TAKEN, 1, err);
    if (!code) code = put_gone_block(store, b, &as, err);
    if (code || !by) return code;
    as.batch = tb__ch_of(store)->next++;
    code = tb__ch_day(by->info.last_ms, &as.day, err);
    if (!code) code = tb__ch_put_block(store, by, &as, err);
    return code ? code : tb__ch_relieve(store, rows, err);
}

static const tb__log_holder holder = {overlapping, open_found, replace_found, release_found};

static tb_code subtract_lines(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len, uint64_t *removed,
                              tb_error *err)
{
    tb_code code = tb__ch_begin(store, err);
    store->dirty = true;
    return code ? code : tb__log_subtract(store, &holder, &(tb__log_piece){*info, {bytes, len}}, removed, err);
}

/* --- expiry, and accounts --- */

static tb_code drop_old_blocks(tb_store *store, int64_t before_ms, size_t *room, uint64_t *ret_dropped, tb_error *err)
{
    return tb__ch_drop_before(store, (tb__ch_age){TB__CH_LOGS, before_ms}, room, ret_dropped, err);
}

static tb_code old_blocks(tb_store *store, int64_t before_ms, uint64_t *ret_blocks, uint64_t *ret_bytes, tb_error *err)
{
    tb__ch_amount amount;
    tb_code code = tb__ch_amount_of(store, TB__CH_LOGS, "", before_ms, &amount, err);
    *ret_blocks = amount.units;
    *ret_bytes = amount.bytes;
    return code;
}

static tb_code count_of_account(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    return tb__ch_lines_count(store, TB__CH_LOGS, account, ret_blocks, err);
}

static tb_code forget_of_account(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return tb__ch_lines_forget(store, TB__CH_LOGS, account, room, err);
}

const tb__log_lines tb__clickhouse_logs = {
    .add = hold_block,
    .subtract = subtract_lines,
    .drop = drop_old_blocks,
    .older = old_blocks,
    .count = count_of_account,
    .forget = forget_of_account,
    .search = tb__ch_log_search,
    .next = tb__log_next,
    .line = tb__log_line,
    .sum = tb__log_sum,
    .bytes = tb__log_bytes,
    .free = tb__log_free,
    .verify = tb__ch_verify_logs,
};
