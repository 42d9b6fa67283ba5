/* Which standbys may take the primary's place, and what happens when one does. */
#include "store/replica/capture.h"
#include "tollbook/replica.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA_OF_STANDBYS 31 /* an older file has no list, and does not know that it is superseded */

/* --- the list --- */

static void read_text(sqlite3_stmt *s, int column, char *ret, size_t most)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    const size_t len = text ? strlen(text) : 0;
    memcpy(ret, len ? text : "", len < most ? len : most);
}

tb_code tb_store_standbys(tb_store *store, tb_standby ret[TB_STANDBYS_MAX], size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    *ret_n = 0;
    if (store->schema < SCHEMA_OF_STANDBYS) return TB_OK;
    tb_code code = tb__sql(store, TB__SQL_STANDBYS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row && *ret_n < TB_STANDBYS_MAX) {
        tb_standby *one = &ret[(*ret_n)++];
        *one = (tb_standby){.schema = sqlite3_column_int64(s, 2)};
        read_text(s, 0, one->name, TB_FOLLOWER_NAME);
        read_text(s, 1, one->url, TB_STANDBY_URL);
    }
    if (!code) sqlite3_reset(s);
    return code;
}

tb_code tb_store_standby_add(tb_store *store, const tb_standby *standby, tb_error *err)
{
    tb_standby list[TB_STANDBYS_MAX];
    sqlite3_stmt *s;
    size_t n, at = 0;
    tb_code code = tb_store_standbys(store, list, &n, err);
    if (code) return code;
    while (at < n && strcmp(list[at].name, standby->name) != 0)
        at++;
    if (at < n && strcmp(list[at].url, standby->url) == 0 && list[at].schema == standby->schema) return TB_OK;
    if (at == TB_STANDBYS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "name", "%d standbys are listed: drop one that is gone with `replica drop NAME`.",
                       TB_STANDBYS_MAX);
    code = tb__sql(store, TB__SQL_STANDBY_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, standby->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, standby->url, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, standby->schema);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

/* *ret_listed: it was there. */
static tb_code delete_standby(tb_store *store, const char *name, bool *ret_listed, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_STANDBY_DELETE, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    *ret_listed = sqlite3_changes(store->db) > 0;
    return code;
}

tb_code tb_store_standby_drop(tb_store *store, const char *name, tb_error *err)
{
    bool listed;
    tb_code code = delete_standby(store, name, &listed, err);
    if (!code && !listed) code = tb_fail(err, TB_E_NOT_FOUND, "name", "No standby is listed by the name %.64s.", name);
    return code;
}

tb_code tb__standbys_forget(tb_store *store, tb_error *err)
{
    return store->schema < SCHEMA_OF_STANDBYS ? TB_OK : tb__run_ints(store, TB__SQL_STANDBYS_DELETE, NULL, 0, err);
}

tb_code tb__standbys_know(tb_store *store, int schema, tb_error *err)
{
    tb_standby list[TB_STANDBYS_MAX];
    size_t n;
    tb_code code = tb_store_standbys(store, list, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        if (list[i].schema < schema)
            code = tb_fail(err, TB_E_USAGE, NULL,
                           "%s was not upgraded to schema %d, as its standby %s knows up to %lld. Upgrade that one first and let it "
                           "follow once; or, with the older tollbook, `replica drop %s`.",
                           store->path, schema, list[i].name, (long long)list[i].schema, list[i].name);
    return code;
}

/* --- promotion --- */

typedef struct promotion {
    const char *name;
    int64_t epoch;
} promotion;

static tb_code raise_epoch(tb_store *store, void *ctx, tb_error *err)
{
    promotion *p = ctx;
    const bool knows = store->schema >= SCHEMA_OF_STANDBYS;
    int64_t superseded = 0;
    bool listed;
    tb_code code = tb__meta_get(store, "epoch", &p->epoch, err);
    if (!code && knows) code = tb__meta_get(store, "superseded", &superseded, err);
    if (code) return code;
    p->epoch = (superseded > p->epoch ? superseded : p->epoch) + 1;
    code = tb__meta_set(store, "epoch", p->epoch, err);
    if (!code) code = tb__mark_copied(store, false, err);
    if (!code && knows) code = tb__meta_set(store, "superseded", 0, err);
    return code || !knows ? code : delete_standby(store, p->name, &listed, err);
}

tb_code tb_store_promote(tb_store *store, const char *name, int64_t *ret_epoch, tb_error *err)
{
    promotion p = {.name = name};
    const bool superseded = store->superseded, copied = store->copied;
    if (!store->copy || !store->capture)
        return tb_fail(err, TB_E_USAGE, NULL, "%s is no copy of a replicated database.", store->path);
    store->copy = store->superseded = false;
    tb_code code = tb_store_write(store, raise_epoch, &p, err);
    if (code) {
        store->copy = true;
        store->superseded = superseded;
        store->copied = copied;
        return code;
    }
    *ret_epoch = p.epoch;
    const int schema = store->schema;
    tb__capture_hold(store, true);
    code = tb__upgrade(store, err);
    tb__capture_hold(store, false);
    store->copy = code != TB_OK; /* then it can be tried again */
    if (code || store->schema == schema) return code;
    tb__capture_end(store);
    return tb__capture_begin(store, err);
}

static tb_code note_epoch(tb_store *store, void *ctx, tb_error *err)
{
    return tb__meta_set(store, "superseded", *(int64_t *)ctx, err);
}

tb_code tb_store_supersede(tb_store *store, int64_t epoch, tb_error *err)
{
    if (store->superseded) return TB_OK;
    tb__capture_hold(store, true);
    const tb_code code = tb_store_write(store, note_epoch, &epoch, err);
    tb__capture_hold(store, false);
    if (!code) store->superseded = true;
    return code;
}

/* " (http://b.example, http://c.example)", or nothing: one of the listed standbys is the new primary. */
static tb_code put_standbys(tb_store *store, tb_buf *out, tb_error *err)
{
    tb_standby list[TB_STANDBYS_MAX];
    size_t n;
    tb_buf_init(out, sizeof list, NULL);
    tb_code code = tb_store_standbys(store, list, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        if (list[i].url[0]) tb_buf_fmt(out, "%s%s", out->len ? ", " : " (", list[i].url);
    if (out->len) tb_buf_str(out, ")");
    return code ? code : tb_buf_check(out, err);
}

static tb_code refuse_superseded(tb_store *store, int64_t epoch, tb_error *err)
{
    tb_buf standbys;
    tb_code code = put_standbys(store, &standbys, err);
    if (!code)
        code = tb_fail(err, TB_E_REPLICA_SUPERSEDED, NULL,
                       "%.150s is the file of a former primary: another server took its place, with epoch %lld. Write to that server%.100s, or "
                       "start this one with --standby-of that server.", store->path, (long long)epoch, standbys.len ? standbys.data : "");
    tb_buf_release(&standbys);
    return code;
}

tb_code tb__check_primary(tb_store *store, tb_error *err)
{
    int64_t epoch = 0;
    tb_code code = store->schema < SCHEMA_OF_STANDBYS ? TB_OK : tb__meta_get(store, "superseded", &epoch, err);
    store->superseded = epoch > 0;
    if (code || store->copy) return code;
    if (store->superseded) return refuse_superseded(store, epoch, err);
    if (!store->copied) return TB_OK;
    return tb_fail(err, TB_E_REPLICA_READ_ONLY, NULL,
                   "%.150s is a copy of its primary's database that was never promoted: what is written to it would be in no other copy. "
                   "Write to the primary (--server URL), serve it with --standby-of URL, or make it the primary with `promote`.",
                   store->path);
}

tb_code tb__mark_copied(tb_store *store, bool copied, tb_error *err)
{
    char sql[80];
    if (store->copied == copied) return TB_OK;
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d", copied ? TB_COPY_APPLICATION_ID : TB_APPLICATION_ID);
    const tb_code code = tb__exec(store->db, store->path, sql, err);
    if (!code) store->copied = copied;
    return code;
}

tb_code tb__supersede_end(tb_store *store, int64_t epoch, tb_error *err)
{
    int64_t superseded;
    if (!store->superseded) return TB_OK;
    tb_code code = tb__meta_get(store, "superseded", &superseded, err);
    if (code || epoch < superseded) return code;
    tb__capture_settle(store, false);
    code = tb__meta_set(store, "superseded", 0, err);
    if (!code) store->superseded = false;
    return code;
}
