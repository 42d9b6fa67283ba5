/* A batch: its days become rows on their owner's shard, and are added to the account's days, which are pending until the
 * account is complete. */
#include "store/clickhouse/private.h"
#include "store/usage/write_buffer.h"
#include "store/usage/owners.h"
#include "store/usage/chunk.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MAX 2048                /* grids of an account */
#define ROW_MAX     (29 + 8 * TB_METRIC_COUNT) /* bytes */
#define SEND_AT     ((size_t)64 << 20) /* bytes of rows of one shard and table */

/* From its second location on an owner has a series for all of them, as in the file. */
static tb_code note_series(tb_store *store, int scope, int64_t id, int64_t edge, tb_error *err)
{
    tb__owner *owner = NULL;
    int64_t series = 0;
    tb_code code = tb__owner_get(store, scope, id, &owner, err);
    if (code) return code;
    if (tb__owner_at(owner, edge)) return TB_OK;
    code = tb__series_begin(store, owner, edge, &series, err);
    if (!code) code = tb__owner_add(owner, (tb__member){edge, series}, err);
    if (code || owner->n < 2 || owner->all || tb__is_whole(scope)) return code;
    return tb__series_begin(store, owner, 0, &owner->all, err);
}

/* Each returns the position of the next column. The machine is little-endian, as RowBinary is. */
static inline char *put_u64(char *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static inline char *put_u32(char *to, uint32_t value)
{
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static tb_code note_day(tb__ch_batch *b, int64_t day, tb_error *err)
{
    size_t at = b->n_days;
    while (at && b->days[at - 1] >= day)
        at--;
    if (at < b->n_days && b->days[at] == day) return TB_OK;
    tb_code code = tb__grow(&b->days, b->n_days, &b->cap_days, sizeof *b->days, err);
    if (code) return code;
    memmove(b->days + at + 1, b->days + at, (b->n_days++ - at) * sizeof *b->days);
    b->days[at] = day;
    return TB_OK;
}

/* The columns that name a row: scope, owner, edge, hour, batch, number. */
static char *put_name(char *to, tb__ch_batch *b, const tb__day_of *of_day, unsigned slot)
{
    *to++ = (char)(of_day->scope == TB__SCOPE_METER ? TB__CH_METER : of_day->scope);
    to = put_u64(to, (uint64_t)of_day->owner);
    to = put_u32(to, (uint32_t)of_day->edge);
    to = put_u32(to, (uint32_t)(of_day->day * 24 + slot));
    to = put_u64(to, (uint64_t)b->id);
    return put_u32(to, b->row++);
}

tb_code tb__ch_put_day(tb__ch_batch *b, const tb__day_of *of_day, const tb_grid *hours, tb_error *err)
{
    tb_store *store = b->store;
    const tb__ch_form form = tb__ch_form_of(hours->metrics);
    const uint32_t metrics = tb__ch_form_metrics(form);
    tb_buf *rows = &tb__ch_of(store)->rows[form][tb__ch_shard(store, of_day->scope, of_day->owner)];
    char *to = tb_buf_room(rows, TB_GRID_SLOTS * ROW_MAX), *const from = to;
    for (uint32_t slots = to ? hours->slots : 0; slots; slots &= slots - 1) {
        const unsigned slot = (unsigned)__builtin_ctz(slots);
        to = put_name(to, b, of_day, slot);
        for (uint32_t left = metrics; left; left &= left - 1) {
            const int m = __builtin_ctz(left);
            to = put_u64(to, hours->metrics & TB_METRIC_BIT(m) ? hours->v[m][slot] : 0);
        }
    }
    rows->len += (size_t)(to - from);
    tb_code code = tb_buf_check(rows, err);
    if (!code) code = note_day(b, of_day->day, err);
    return code || rows->len < SEND_AT ? code : tb__ch_send(store, err);
}

static tb_code flush_account(tb__ch_batch *b, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->pending.n; i++) {
        const int64_t index = b->pending.list[i].index;
        const tb__day_of to = {TB__SCOPE_ACCOUNT, b->account, index >> TB__INDEX_BITS, b->account,
                               index & TB__INDEX_MAX};
        code = note_series(b->store, TB__SCOPE_ACCOUNT, b->account, to.edge, err);
        if (!code) code = tb__ch_put_day(b, &to, b->pending.list[i].grid, err);
    }
    tb__pending_clear(&b->pending);
    return code;
}

tb_code tb__ch_account_put(tb__ch_batch *b, int64_t account, int64_t edge, int64_t day, const tb_grid *hours,
                           tb_error *err)
{
    tb_grid *sum = NULL;
    tb_code code = b->account != account || b->pending.n >= PENDING_MAX ? flush_account(b, err) : TB_OK;
    b->account = account;
    if (!code) code = tb__pending_at(&b->pending, edge << TB__INDEX_BITS | day, &sum, err);
    return code ? code : tb_grid_merge(sum, hours, err);
}

tb_code tb__ch_batch_begin(tb_store *store, void **ret_batch, tb_error *err)
{
    tb__ch_batch *b = calloc(1, sizeof *b);
    if (!b) return tb_no_memory(err);
    b->store = store;
    memcpy(b->before, store->sums, sizeof b->before);
    *ret_batch = b;
    tb_code code = tb__ch_begin(store, err);
    b->id = tb__ch_of(store)->next++;
    return code;
}

tb_code tb__ch_batch_add(void *to, const tb__day_of *of_day, const tb_grid *hours, tb_error *err)
{
    tb__ch_batch *b = to;
    tb_code code = note_series(b->store, of_day->scope, of_day->owner, of_day->edge, err);
    if (!code) code = tb__ch_put_day(b, of_day, hours, err);
    if (code || !of_day->account) return code;
    return tb__ch_account_put(b, of_day->account, of_day->edge, of_day->day, hours, err);
}

tb_code tb__ch_batch_add_countries(void *to, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                   tb_error *err)
{
    tb__ch_batch *b = to;
    tb_buf *rows = &tb__ch_of(b->store)->rows[TB__CH_COUNTRIES][tb__ch_shard(b->store, TB__SCOPE_ZONE, zone)];
    char *at = tb_buf_room(rows, n * ROW_MAX), *const from = at;
    for (size_t i = 0; at && i < n; i++) {
        at = put_u32(put_u64(at, (uint64_t)zone), (uint32_t)day);
        memcpy(at, &list[i].code, sizeof list[i].code);
        at = put_u64(at + sizeof list[i].code, (uint64_t)b->id);
        at = put_u64(put_u64(at, list[i].requests), list[i].bytes);
    }
    rows->len += (size_t)(at - from);
    return tb_buf_check(rows, err);
}

static tb_metric largest_of(const tb__ch_batch *b, tb_u128 *ret_sum)
{
    tb_metric most = TB_M_REQUESTS;
    *ret_sum = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        const tb_u128 sum = b->store->sums[m] - b->before[m];
        if (sum <= *ret_sum) continue;
        *ret_sum = sum;
        most = (tb_metric)m;
    }
    return most;
}

static tb_code one_number(tb_store *store, int sql, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, sql, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

/* Withdrawn inputs do not count: the bound becomes the sums of the other inputs. Read only if the bound would be exceeded, and once
 * after withdrawals. */
static tb_code lessen_bound(tb_store *store, int64_t *bound, tb_error *err)
{
    int64_t now = 0, then = 0, exact = 0;
    tb_code code = one_number(store, TB__SQL_WITHDRAWALS, &now, err);
    if (!code) code = tb__ch_meta(store, "cell_max_withdrawals", 0, &then, err);
    if (code || now == then) return code;
    code = one_number(store, TB__SQL_USAGE_BOUND, &exact, err);
    if (!code && exact < *bound) *bound = exact;
    return code ? code : tb__ch_meta_put(store, "cell_max_withdrawals", now, err);
}

/* No counter grows by more than the batch's largest sum, so the sum of these bounds all. */
static tb_code keep_bound(tb__ch_batch *b, tb_error *err)
{
    int64_t bound = 0;
    tb_u128 most = 0;
    const char *name = tb_metric_table[largest_of(b, &most)].name;
    tb_code code = tb__meta_get(b->store, "cell_max", &bound, err);
    if (!code && most > (tb_u128)(TB_COUNTER_MAX - bound)) code = lessen_bound(b->store, &bound, err);
    if (code) return code;
    if (most > (tb_u128)(TB_COUNTER_MAX - bound))
        return tb_fail(err, TB_E_OVERFLOW, name,
                       "All usage together would pass 2^63 - 1 with %s of this input, and usage servers hold no more. Nothing of "
                       "it was taken; correct it and send the input again.",
                       name);
    return most ? tb__meta_set(b->store, "cell_max", bound + (int64_t)most, err) : TB_OK;
}

tb_code tb__ch_note_days(tb__ch_batch *b, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->n_days; i++)
        code = tb__run_ints(b->store, TB__SQL_USAGE_DAY_PUT, (int64_t[]){b->days[i], b->id}, 2, err);
    return code;
}

tb_code tb__ch_batch_end(void *to, int64_t newest, tb_error *err)
{
    tb__ch_batch *b = to;
    (void)newest;
    tb_code code = flush_account(b, err);
    if (!code) code = tb__ch_note_days(b, err);
    if (!code) code = keep_bound(b, err);
    if (!code) code = tb__series_wait(b->store, err);
    b->ended = !code;
    return code;
}

void tb__ch_batch_free(void *to)
{
    tb__ch_batch *b = to;
    if (!b) return;
    if (!b->ended) tb__write_buffer_drop(b->store);
    tb__pending_release(&b->pending);
    free(b->days);
    free(b);
}
