/* Rows on their way into the table chunk. They are packed as they are put and land a load at a time,
 * ROWS to a statement, for most of what SQLite does for one row it does for a statement. A row that
 * is there already is merged with what comes, by the SQL function tb_chunk_join.
 *
 * What it keeps true: rows land in the order in which they were put, and before any other statement of
 * the store runs all of them have landed, since tb__sql sees to it. So whoever asks the file finds
 * what was put, and only failures are told late: a put may fail for an earlier one.
 *
 * While it is shared with the store's helper, that lands one load as the next one is packed. It has the
 * connection for itself then: who uses it otherwise than through tb__sql must take hold first. */
#include "store/usage/landing.h"

#include "store/usage/batch.h"
#include "store/usage/overflow.h"

#include <stdlib.h>
#include <string.h>

#define ROWS      32  /* of TB__SQL_CHUNK_PUT_32 */
#define LOAD_ROWS 2048

typedef struct load {
    size_t n, len, cap;
    int64_t key[LOAD_ROWS];
    size_t end[LOAD_ROWS]; /* of a row's bytes */
    uint8_t *bytes;
} load;

struct tb__landing {
    load loads[2], *filling, *going;
    bool shared, away; /* the helper may be used; it is at work */
    int held;
    void (*more)(void *arg); /* to be done behind the load that goes, or NULL */
    void *more_arg;
    /* Written by who lands: the first failure; the row merged last; the largest counter of any. */
    tb_store *store;
    tb_code code;
    tb_error err;
    int64_t joined_key;
    tb_grid merged;
    uint64_t largest;
};

/* --- landing --- */

/* tb_chunk_join(key, stored, more) */
static void join_chunks(sqlite3_context *ctx, int n, sqlite3_value **values)
{
    tb__landing *l = sqlite3_user_data(ctx);
    const int64_t key = sqlite3_value_int64(values[0]);
    uint8_t bytes[TB__CHUNK_MAX];
    tb_grid more;
    (void)n;
    l->joined_key = key;
    l->code = tb__chunk_decode(sqlite3_value_blob(values[1]), (size_t)sqlite3_value_bytes(values[1]),
                               key, &l->merged, &l->err);
    if (!l->code)
        l->code = tb__chunk_decode(sqlite3_value_blob(values[2]),
                                   (size_t)sqlite3_value_bytes(values[2]), key, &more, &l->err);
    if (!l->code) l->code = tb_grid_merge(&l->merged, &more, &l->err);
    if (l->code) {
        sqlite3_result_error_code(ctx, SQLITE_ABORT);
        return;
    }
    const size_t len = tb__chunk_encode_most(&l->merged, key, bytes, &l->largest);
    sqlite3_result_blob(ctx, bytes, (int)len, SQLITE_TRANSIENT);
}

/* Of rows [from, from + n) of the load that goes. */
static tb_code land_rows(tb__landing *l, size_t from, size_t n, tb_error *err)
{
    const load *of = l->going;
    sqlite3_stmt *s;
    tb_code code = tb__sql_now(l->store, n == 1 ? TB__SQL_CHUNK_PUT : TB__SQL_CHUNK_PUT_32, &s, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++) {
        const size_t at = from + i ? of->end[from + i - 1] : 0;
        sqlite3_bind_int64(s, 2 * (int)i + 1, of->key[from + i]);
        sqlite3_bind_blob(s, 2 * (int)i + 2, of->bytes + at, (int)(of->end[from + i] - at),
                          SQLITE_STATIC);
    }
    code = tb__run(l->store, s, err);
    return l->code ? l->code : code;
}

static void land_load(tb__landing *l)
{
    tb_error err;
    size_t at = 0;
    while (!l->code && at < l->going->n) {
        const size_t n = l->going->n - at < ROWS ? 1 : ROWS;
        const tb_code code = land_rows(l, at, n, &err);
        if (code && !l->code) {
            l->code = code;
            l->err = err;
        }
        at += n;
    }
    l->going->n = l->going->len = 0;
}

/* May run in the helper's thread. */
static void take_turn(void *landing)
{
    tb__landing *l = landing;
    land_load(l);
    if (l->more) l->more(l->more_arg);
}

/* What came of the loads that have landed. */
static tb_code landed(tb__landing *l, tb_error *err)
{
    tb_store *store = l->store;
    const tb_code code = l->code;
    if ((int64_t)l->largest > store->usage->cell_max) store->usage->cell_max = (int64_t)l->largest;
    l->largest = 0;
    if (!code) return TB_OK;
    if (err) *err = l->err;
    tb__landing_drop(store);
    return tb__full_chunk(store, code, l->joined_key, &l->merged, err);
}

static void await(tb__landing *l)
{
    if (l->away) l->store->helper.wait(l->store->helper.ctx);
    l->away = false;
}

tb_code tb__landing_wait(tb_store *store, tb_error *err)
{
    tb__landing *l = store->usage->landing;
    await(l);
    return landed(l, err);
}

/* The load that was filled goes, and the other one is filled. */
tb_code tb__landing_turn(tb_store *store, void (*more)(void *arg), void *arg, tb_error *err)
{
    tb__landing *l = store->usage->landing;
    const tb_helper *helper = &store->helper;
    tb_code code = tb__landing_wait(store, err);
    if (code) return code;
    load *filled = l->filling;
    l->filling = l->going;
    l->going = filled;
    l->more = more;
    l->more_arg = arg;
    if (l->shared && !l->held && helper->start) l->away = helper->start(helper->ctx, take_turn, l);
    if (l->away) return TB_OK;
    take_turn(l);
    return landed(l, err);
}

tb_code tb__chunks_land(tb_store *store, tb_error *err)
{
    store->rows_come = false; /* what lands asks for statements too */
    tb_code code = tb__landing_turn(store, NULL, NULL, err);
    return code ? code : tb__landing_wait(store, err);
}

tb_code tb__landing_hold(tb_store *store, tb_error *err)
{
    store->usage->landing->held++;
    return tb__chunks_land(store, err);
}

void tb__landing_let_go(tb_store *store)
{
    store->usage->landing->held--;
}

void tb__landing_share(tb_store *store, bool shared)
{
    store->usage->landing->shared = shared;
}

/* --- putting --- */

static tb_code load_room(load *of, tb_error *err)
{
    if (of->cap - of->len >= TB__CHUNK_MAX) return TB_OK;
    const size_t cap = of->cap ? of->cap * 2 : (size_t)1 << 16;
    uint8_t *bytes = realloc(of->bytes, cap);
    if (!bytes) return tb_no_memory(err);
    of->bytes = bytes;
    of->cap = cap;
    return TB_OK;
}

tb_code tb__chunk_put(tb_store *store, int64_t key, const tb_grid *grid, tb_error *err)
{
    tb__landing *l = store->usage->landing;
    load *of = l->filling;
    tb_code code = load_room(of, err);
    if (code) return code;
    uint64_t most = (uint64_t)store->usage->cell_max;
    of->len += tb__chunk_encode_most(grid, key, of->bytes + of->len, &most);
    store->usage->cell_max = (int64_t)most;
    of->key[of->n] = key;
    of->end[of->n++] = of->len;
    store->rows_come = store->usage->rows_changed = true;
    const size_t load_rows = store->usage->batch.load ? store->usage->batch.load : LOAD_ROWS;
    return of->n < load_rows ? TB_OK : tb__landing_turn(store, NULL, NULL, err);
}

/* --- its life --- */

tb_code tb__landing_open(tb_store *store, tb__landing **ret_landing, tb_error *err)
{
    tb__landing *l = calloc(1, sizeof *l);
    if (!l) return tb_no_memory(err);
    l->store = store;
    l->filling = &l->loads[0];
    l->going = &l->loads[1];
    *ret_landing = l;
    const int rc = sqlite3_create_function_v2(store->db, "tb_chunk_join", 3,
                                              SQLITE_UTF8 | SQLITE_DIRECTONLY, l, join_chunks, NULL,
                                              NULL, NULL);
    return rc == SQLITE_OK ? TB_OK : tb__sqlite_fail(store->db, rc, store->path, err);
}

void tb__landing_drop(tb_store *store)
{
    tb__landing *l = store->usage->landing;
    if (!l) return;
    await(l);
    for (int i = 0; i < 2; i++)
        l->loads[i].n = l->loads[i].len = 0;
    l->code = TB_OK;
    l->largest = 0;
    store->rows_come = false;
}

void tb__landing_free(tb__landing *l)
{
    if (!l) return;
    await(l);
    for (int i = 0; i < 2; i++)
        free(l->loads[i].bytes);
    free(l);
}
