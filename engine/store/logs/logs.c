/* Writing blocks of request logs, and dropping them.
 *
 * Small inputs make small blocks. A new block is joined with the zone's newest one while that one is
 * less than twice as long, so that lengths grow geometrically: a line is written again a few times,
 * and a zone has a few short blocks at most. A join replaces two rows by one, in the same
 * transaction. */
#include "store/core/seal.h"
#include "store/core/trees.h"
#include "store/logs/blocks.h"
#include "store/logs/segment.h"
#include "tollbook/forget.h"
#include "tollbook/logformat.h"
#include "tollbook/logstore.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS    INT64_C(3600000)
#define JOIN_SPAN  (6 * HOUR_MS) /* a joined block reaches no further, unless one part did */
#define JOIN_PLAIN ((size_t)4 << 20)
#define FOLD       INT64_C(0x7fffffff)

tb_log_privacy tb__log_privacy(bool hides, bool drops)
{
    return !hides ? TB_LOG_IP_WHOLE : drops ? TB_LOG_IP_NONE : TB_LOG_IP_SHORT;
}

/* --- rows --- */

int64_t tb__log_fold_zone(int64_t zone)
{
    return zone % FOLD;
}

int64_t tb__seal_log(int64_t id, int64_t zone, int64_t first_ms, int64_t last_ms, int64_t lines,
                     const void *data, size_t len)
{
    const int64_t numbers[] = {id, zone, first_ms, last_ms, lines, (int64_t)len};
    return tb__seal(data, len, tb__seal(numbers, sizeof numbers, 0));
}

/* The sum of all seals, modulo 2^63. */
static tb_code add_seal(tb_store *store, int64_t seal, bool gone, tb_error *err)
{
    int64_t sum;
    tb_code code = tb__meta_get(store, "log_seals", &sum, err);
    if (code) return code;
    uint64_t now = (uint64_t)sum + (gone ? 0 - (uint64_t)seal : (uint64_t)seal);
    return tb__meta_set(store, "log_seals", (int64_t)(now & INT64_MAX), err);
}

static int64_t hour_of(int64_t ms)
{
    return tb__floor_div(ms, HOUR_MS);
}

/* rtree_i32 wraps what does not fit, silently. */
static tb_code insert_span(tb_store *store, int64_t id, const tb_loginfo *info, tb_error *err)
{
    const int64_t values[] = {id, tb__log_fold_zone(info->zone), hour_of(info->first_ms),
                              hour_of(info->last_ms)};
    for (int i = 1; i < 4; i++)
        if (values[i] < 0 || values[i] > INT32_MAX)
            return tb_fail(err, TB_E_INTERNAL, NULL, "A block of request logs lies out of time.");
    return tb__run_ints(store, TB__SQL_LOG_SPAN_INSERT, values, 4, err);
}

tb_code tb__log_insert(tb_store *store, int64_t id, const tb_loginfo *info, const void *bytes,
                       size_t len, tb_error *err)
{
    sqlite3_stmt *s;
    const int64_t seal = tb__seal_log(id, info->zone, info->first_ms, info->last_ms, info->lines,
                                      bytes, len);
    tb_code code = tb__sql(store, TB__SQL_LOG_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, info->zone);
    sqlite3_bind_int64(s, 3, info->first_ms);
    sqlite3_bind_int64(s, 4, info->last_ms);
    sqlite3_bind_int64(s, 5, info->lines);
    sqlite3_bind_int64(s, 6, seal);
    sqlite3_bind_blob64(s, 7, bytes, len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    if (!code) code = insert_span(store, id, info, err);
    if (!code) code = add_seal(store, seal, false, err);
    store->dirty = true;
    return code;
}

tb_code tb__log_delete(tb_store *store, int64_t id, int64_t seal, tb_error *err)
{
    tb__tree_path path;
    tb_code code = tb__run_ints(store, TB__SQL_LOG_DELETE, &id, 1, err);
    if (!code) code = tb__log_tree_path(store, id, &path, err);
    if (!code) code = tb__run_ints(store, TB__SQL_LOG_SPAN_DELETE, &id, 1, err);
    if (!code) code = tb__log_tree_wipe(store, &path, err);
    if (!code) code = add_seal(store, seal, true, err);
    store->dirty = true;
    return code;
}

/* --- joining --- */

struct tb__log_joiner {
    tb_logpack *pack;
    tb_logblock *part[2];
    int64_t times[TB_LOGBLOCK_LINES];
    size_t first; /* lines of part 0 */
    tb_logrow row[2];
    tb_buf out[2]; /* the block being joined, and the one before */
    tb_code code;
    tb_error err;
};

void tb__log_joiner_free(struct tb__log_joiner *j)
{
    if (!j) return;
    tb_logpack_free(j->pack);
    for (int i = 0; i < 2; i++) {
        tb_logblock_free(j->part[i]);
        tb_buf_release(&j->out[i]);
    }
    free(j);
}

static struct tb__log_joiner *joiner_of(tb_store *store)
{
    struct tb__log_joiner *j = store->joiner;
    if (j) return j;
    j = calloc(1, sizeof *j);
    if (!j) return NULL;
    store->joiner = j;
    j->pack = tb_logpack_new();
    for (int i = 0; i < 2; i++) {
        j->part[i] = tb_logblock_new();
        tb_buf_init(&j->out[i], TB_LOGBLOCK_MAX, NULL);
    }
    if (j->pack && j->part[0] && j->part[1]) return j;
    tb__log_joiner_free(j);
    store->joiner = NULL;
    return NULL;
}

static void line_of(void *ctx, size_t i, tb_logline *ret_line)
{
    struct tb__log_joiner *j = ctx;
    const int part = i >= j->first;
    tb_error err;
    tb_code code = tb_logblock_row(j->part[part], part ? i - j->first : i, &j->row[0], &err);
    if (code && !j->code) {
        j->code = code;
        j->err = err;
    }
    if (code) *ret_line = (tb_logline){.body_bytes = UINT64_MAX};
    else *ret_line = j->row[0].line;
}

static tb_code take_times(struct tb__log_joiner *j, int part, size_t from, size_t n, tb_error *err)
{
    tb_code code = tb_logblock_row(j->part[part], 0, &j->row[0], err);
    for (size_t i = 0; !code && i < n; i++)
        j->times[from + i] = tb_logblock_time(j->part[part], i);
    return code;
}

/* A block of the lines of both parts, the older one's first where times are equal. */
static tb_code join(struct tb__log_joiner *j, tb_buf *out, tb_loginfo *ret_info, tb_error *err)
{
    tb_loginfo a, b;
    tb_logblock_info(j->part[0], &a);
    tb_logblock_info(j->part[1], &b);
    j->first = a.lines;
    j->code = TB_OK;
    tb_code code = take_times(j, 0, 0, a.lines, err);
    if (!code) code = take_times(j, 1, a.lines, b.lines, err);
    out->len = 0;
    out->failed = false;
    if (!code)
        code = tb_logpack_block(j->pack, b.zone, j->times, (size_t)a.lines + b.lines, line_of, j,
                                out, ret_info, err);
    if (!code && j->code) {
        if (err) *err = j->err;
        return j->code;
    }
    return code;
}

static bool fits(const tb_loginfo *old, const tb_loginfo *new)
{
    const int64_t first = old->first_ms < new->first_ms ? old->first_ms : new->first_ms;
    const int64_t last = old->last_ms > new->last_ms ? old->last_ms : new->last_ms;
    const int64_t span = last - first;
    return old->lines + new->lines <= TB_LOGBLOCK_LINES &&
           (span <= JOIN_SPAN || span <= old->last_ms - old->first_ms ||
            span <= new->last_ms - new->first_ms);
}

static bool suits(const tb_loginfo *old, const tb_loginfo *new)
{
    return old->lines < 2 * new->lines && fits(old, new);
}

static bool is_small(const struct tb__log_joiner *j)
{
    return tb_logblock_plain(j->part[0]) + tb_logblock_plain(j->part[1]) <= JOIN_PLAIN;
}

tb_code tb__log_join(tb_store *store, const tb__log_piece *older, const tb__log_piece *newer, tb__log_piece *ret,
                     bool *ret_joined, tb_error *err)
{
    *ret_joined = false;
    if (!fits(&older->info, &newer->info)) return TB_OK;
    struct tb__log_joiner *j = joiner_of(store);
    if (!j) return tb_no_memory(err);
    tb_code code = tb_logblock_open(j->part[0], older->bytes.data, older->bytes.len, older->info.zone, err);
    if (!code) code = tb_logblock_open(j->part[1], newer->bytes.data, newer->bytes.len, newer->info.zone, err);
    if (code || !is_small(j)) return code;
    code = join(j, &j->out[0], &ret->info, err);
    ret->bytes = (tb_text){j->out[0].data, j->out[0].len};
    *ret_joined = !code;
    return code;
}

/* The zone's newest block; id 0: it has none. */
static tb_code newest(tb_store *store, int64_t zone, int64_t *ret_id, tb_loginfo *ret_info,
                      tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_NEWEST, &zone, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_id = row ? sqlite3_column_int64(s, 0) : 0;
    if (!row) return TB_OK;
    *ret_info = (tb_loginfo){.zone = zone,
                             .lines = (uint32_t)sqlite3_column_int64(s, 1),
                             .first_ms = sqlite3_column_int64(s, 2),
                             .last_ms = sqlite3_column_int64(s, 3)};
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__log_open(tb_store *store, int64_t id, tb_logblock *block, int64_t *ret_seal,
                     tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_GET, &id, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "log_block", "A block of request logs is gone.");
    *ret_seal = sqlite3_column_int64(s, 1);
    const void *data = sqlite3_column_blob(s, 2);
    const int len = sqlite3_column_bytes(s, 2);
    code = data ? tb_logblock_open(block, data, (size_t)len, sqlite3_column_int64(s, 0), err)
                : tb_no_memory(err);
    sqlite3_reset(s);
    return code;
}

/* Joins *info with the block before it where that suits. *ret_id: the place that is free now; 0: the
 * two stay apart. */
static tb_code join_newest(tb_store *store, tb_loginfo *info, tb_text *bytes, int64_t *ret_id,
                           tb_error *err)
{
    tb_loginfo old = {0};
    int64_t id = 0, seal = 0;
    *ret_id = 0;
    if (info->lines > TB_LOGBLOCK_LINES / 2) return TB_OK;
    tb_code code = newest(store, info->zone, &id, &old, err);
    if (code || !id || !suits(&old, info)) return code;
    struct tb__log_joiner *j = joiner_of(store);
    if (!j) return tb_no_memory(err);
    code = tb__log_open(store, id, j->part[0], &seal, err);
    if (!code) code = tb_logblock_open(j->part[1], bytes->data, bytes->len, info->zone, err);
    if (code) return code;
    if (!is_small(j)) return TB_OK;
    tb_buf *out = &j->out[bytes->data == j->out[0].data];
    code = join(j, out, info, err);
    if (!code) code = tb__log_delete(store, id, seal, err);
    if (code) return code;
    *bytes = (tb_text){out->data, out->len};
    *ret_id = id;
    return TB_OK;
}

static tb_code add_block(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                         tb_error *err)
{
    tb_loginfo block = *info;
    tb_text text = {bytes, len};
    int64_t id = 0, freed = 0;
    tb_code code = TB_OK;
    do {
        if (freed) id = freed;
        code = join_newest(store, &block, &text, &freed, err);
    } while (!code && freed);
    if (!code && !id) code = tb__int_of(store, TB__SQL_LOG_NEXT, NULL, 0, 1, &id, err);
    return code ? code : tb__log_insert(store, id, &block, text.data, text.len, err);
}

/* --- dropping --- */

#define DROP_AT_ONCE 256

/* Some of the old ones; a statement that is being read is not deleted from. */
static tb_code list_old(tb_store *store, int64_t before_ms, int64_t (*list)[2], size_t *ret_n,
                        tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    size_t n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_OLD, &before_ms, 1, &s, err);
    while (!code && n < DROP_AT_ONCE && !(code = tb__step(store, s, &row, err)) && row) {
        list[n][0] = sqlite3_column_int64(s, 0);
        list[n++][1] = sqlite3_column_int64(s, 1);
    }
    if (!code) sqlite3_reset(s);
    *ret_n = n;
    return code;
}

static tb_code older_blocks(tb_store *store, int64_t before_ms, uint64_t *ret_blocks,
                            uint64_t *ret_bytes, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_OLD_SIZE, &before_ms, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_blocks = (uint64_t)sqlite3_column_int64(s, 0);
    *ret_bytes = (uint64_t)sqlite3_column_int64(s, 1);
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code drop_blocks(tb_store *store, int64_t before_ms, uint64_t *ret_dropped, tb_error *err)
{
    int64_t list[DROP_AT_ONCE][2];
    size_t n = DROP_AT_ONCE;
    uint64_t dropped = 0;
    tb_code code = TB_OK;
    while (!code && n == DROP_AT_ONCE) {
        code = list_old(store, before_ms, list, &n, err);
        for (size_t i = 0; !code && i < n; i++)
            code = tb__log_delete(store, list[i][0], list[i][1], err);
        dropped += n;
    }
    if (dropped) store->scrub = true;
    if (!code && ret_dropped) *ret_dropped = dropped;
    return code;
}

static tb_code count_blocks(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    int64_t blocks = 0;
    tb_code code = tb__int_of(store, TB__SQL_FORGET_LOGS_COUNT, &account, 1, 0, &blocks, err);
    *ret_blocks = (uint64_t)blocks;
    return code;
}

tb_code tb__forget_blocks(tb_store *store, tb__statement which, int64_t account, size_t *room,
                          tb__block_fn *fn, tb_error *err)
{
    const size_t most = *room < TB_FORGET_AT_ONCE ? *room : TB_FORGET_AT_ONCE;
    const int64_t values[2] = {account, (int64_t)most};
    int64_t block[TB_FORGET_AT_ONCE][2];
    size_t n = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, which, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        block[n][0] = sqlite3_column_int64(s, 0);
        block[n++][1] = sqlite3_column_int64(s, 1);
    }
    for (size_t i = 0; !code && i < n; i++)
        code = fn(store, block[i][0], block[i][1], err);
    store->scrub |= n > 0;
    *room -= n;
    return code;
}

static tb_code forget_blocks(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return tb__forget_blocks(store, TB__SQL_FORGET_LOGS, account, room, tb__log_delete, err);
}

const tb__log_lines tb__file_logs = {
    .add = add_block,
    .take_back = tb__log_take_back,
    .drop = drop_blocks,
    .older = older_blocks,
    .count = count_blocks,
    .forget = forget_blocks,
    .search = tb__log_search,
    .next = tb__log_next,
    .line = tb__log_line,
    .bytes = tb__log_bytes,
    .free = tb__log_free,
};
