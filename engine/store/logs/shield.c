/* Shield events, wherever the usage plane (core/plane.h) keeps them; secrets of their tokens and of event ids. */
#include "store/core/internal.h"
#include "tollbook/eventids.h"
#include "tollbook/retain.h"

#include <string.h>

tb_code tb_store_add_events(tb_store *store, const tb_event_ref *refs, size_t n,
                            uint64_t *ret_added, tb_error *err)
{
    return store->plane.events->add(store, refs, n, ret_added, err);
}

tb_code tb_store_find_events(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs, size_t *ret_bytes,
                             tb_error *err)
{
    *ret_runs = *ret_bytes = 0;
    return store->plane.events->find ? store->plane.events->find(store, refs, n, ret_runs, ret_bytes, err) : TB_OK;
}

tb_code tb_store_drop_events(tb_store *store, int64_t now_ms, uint64_t *ret_dropped, tb_error *err)
{
    size_t room = SIZE_MAX;
    return store->plane.events->drop(store, tb_event_first_day(now_ms), &room, ret_dropped, err);
}

tb_code tb_store_forget_events(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return store->plane.events->forget(store, account, room, err);
}

/* --- reading --- */

tb_code tb_store_shield_check(tb_store *store, int64_t account, int64_t zone, tb_error *err)
{
    const int64_t values[2] = {account, zone};
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_SHIELD_ZONE, values, 2, 0, &found, err);
    if (code || found) return code;
    return tb_fail(err, TB_E_SHIELD_NOT_FOUND, "ShieldZone", NULL);
}

static void tell_zone(sqlite3_stmt *s, tb_shield_zone_fn each, void *ctx)
{
    const char *name = (const char *)sqlite3_column_text(s, 2);
    const tb_text text = {name, (size_t)sqlite3_column_bytes(s, 2)};
    each(ctx, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), text);
}

tb_code tb_store_shield_zones(tb_store *store, const tb_shield_page *page, tb_shield_zone_fn each,
                              void *ctx, tb_error *err)
{
    const int64_t values[3] = {page->account, page->limit, page->skip};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_SHIELD_ZONES_PAGE, values, 3, &s, err);
    if (code) return code;
    while (!(code = tb__step(store, s, &row, err)) && row)
        tell_zone(s, each, ctx);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_shield_zone(tb_store *store, int64_t account, int64_t id, int64_t pull_zone, tb_shield_zone_fn each,
                             void *ctx, tb_error *err)
{
    const int64_t values[2] = {account, id ? id : pull_zone};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, id ? TB__SQL_SHIELD_ZONE_LIVE : TB__SQL_SHIELD_ZONE_OF, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row) tell_zone(s, each, ctx);
    sqlite3_reset(s);
    if (!row) return tb_fail(err, TB_E_SHIELD_NOT_FOUND, "ShieldZone", NULL);
    return TB_OK;
}

tb_code tb_store_count_shield_zones(tb_store *store, int64_t account, int64_t *ret_n, tb_error *err)
{
    return tb__int_of(store, TB__SQL_SHIELD_ZONES_COUNT, &account, 1, 0, ret_n, err);
}

tb_code tb_store_events_up(tb_store *store, int64_t zone, const tb_event_key *from,
                           tb_event_block_fn fn, void *ctx, tb_error *err)
{
    return store->plane.events->up(store, zone, from, fn, ctx, err);
}

tb_code tb_store_events_down(tb_store *store, int64_t zone, const tb_event_key *to,
                             tb_event_block_fn fn, void *ctx, tb_error *err)
{
    return store->plane.events->down(store, zone, to, fn, ctx, err);
}

/* --- secrets --- */

typedef struct secret {
    const char *name;
    uint8_t value[TB_EVENT_SECRET];
} secret;

static tb_code read_secret(tb_store *store, secret *ret, bool *ret_there, tb_error *err)
{
    sqlite3_stmt *s;
    *ret_there = false;
    tb_code code = tb__sql(store, TB__SQL_SECRET_GET, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, ret->name, -1, SQLITE_STATIC);
    code = tb__step(store, s, ret_there, err);
    if (code || !*ret_there) return code;
    const void *value = sqlite3_column_blob(s, 0);
    if (!value || sqlite3_column_bytes(s, 0) != TB_EVENT_SECRET)
        code = tb_fail(err, TB_E_CORRUPT, "secret", "%s: its secret is not 32 bytes.", store->path);
    else
        memcpy(ret->value, value, TB_EVENT_SECRET);
    sqlite3_reset(s);
    return code;
}

static tb_code put_secret(tb_store *store, void *made, tb_error *err)
{
    const secret *of = made;
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SECRET_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, of->name, -1, SQLITE_STATIC);
    sqlite3_bind_blob(s, 2, of->value, TB_EVENT_SECRET, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static tb_code find_secret(tb_store *store, const char *name, const uint8_t random[TB_EVENT_SECRET],
                           uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err)
{
    secret of = {.name = name};
    bool there;
    tb_code code = read_secret(store, &of, &there, err);
    if (!code && !there) {
        memcpy(of.value, random, sizeof of.value);
        code = tb_store_write(store, put_secret, &of, err);
    }
    if (!code) memcpy(ret_secret, of.value, sizeof of.value);
    return code;
}

tb_code tb_store_event_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                              uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err)
{
    return find_secret(store, "shield event tokens", random, ret_secret, err);
}

tb_code tb_store_event_id_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                                 uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err)
{
    return find_secret(store, "event ids", random, ret_secret, err);
}
