/* Applying a catalogue's containers: declared ones are stored, others are deleted, with the deployment of an
 * application. No history is kept, as nothing is billed by it. The data version stays, since no cached answer
 * depends on containers. */
#include "store/things/containers.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static tb_text text_of(const char *text)
{
    return (tb_text){text, strlen(text)};
}

tb_text tb__column_text(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return (tb_text){text, text ? (size_t)sqlite3_column_bytes(s, column) : 0};
}

/* --- deployments --- */

/* The status that the document says; data NULL: none. Valid until the statement is used again. */
static tb_code said_status(tb_store *store, const char *document, char ret[16], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    ret[0] = 0;
    tb_code code = tb__sql(store, TB__SQL_STATUS_SAID, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, document, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const tb_text said = tb__column_text(s, 0);
    if (said.data && said.len < 16) memcpy(ret, said.data, said.len + 1);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__deployment_put(tb_store *store, int64_t account, tb_text app, const char *status,
                           int64_t asked, int64_t now_us, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_DEPLOYMENT_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, account);
    sqlite3_bind_text(s, 2, app.data, (int)app.len, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, status, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, asked);
    sqlite3_bind_int64(s, 5, now_us);
    return tb__run(store, s, err);
}

tb_code tb__deployment_get(tb_store *store, int64_t account, tb_text app, char ret_status[16],
                           int64_t *ret_asked, bool *ret_there, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_DEPLOYMENT_GET, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, app.data, (int)app.len, SQLITE_STATIC);
    code = tb__step(store, s, ret_there, err);
    if (code || !*ret_there) return code;
    const tb_text status = tb__column_text(s, 0);
    if (!status.data) code = tb_no_memory(err);
    else if (status.len > 15) code = tb_fail(err, TB_E_CORRUPT, NULL, NULL);
    else memcpy(ret_status, status.data, status.len + 1);
    *ret_asked = sqlite3_column_int64(s, 1);
    sqlite3_reset(s);
    return code;
}

/* A new application has the declared status; an existing one keeps the status of its deployment until the catalogue
 * declares another status than before. */
static tb_code put_status(tb_store *store, const tb_container *c, const char *before,
                          int64_t now_us, tb_error *err)
{
    char said[16], earlier[16] = "", status[16];
    int64_t asked = 0;
    bool there = false;
    tb_code code = said_status(store, c->document, said, err);
    if (!code && before) code = said_status(store, before, earlier, err);
    if (!code)
        code = tb__deployment_get(store, c->account, text_of(c->id), status, &asked, &there, err);
    if (code || (there && (!said[0] || strcmp(said, earlier) == 0))) return code;
    return tb__deployment_put(store, c->account, text_of(c->id), said[0] ? said : "unknown",
                              asked + 1, now_us, err);
}

/* --- one container --- */

static tb_code bind_key(tb_store *store, tb__statement id, const tb_container *c,
                        sqlite3_stmt **ret, tb_error *err)
{
    const int64_t values[2] = {c->kind, c->account};
    tb_code code = tb__sql_ints(store, id, values, 2, ret, err);
    if (!code) sqlite3_bind_text(*ret, 3, c->id, -1, SQLITE_STATIC);
    return code;
}

/* The stored document, from `memory`; NULL: there is none. */
static tb_code stored_document(tb_store *store, const tb_container *c, tb__arena *memory,
                               const char **ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = bind_key(store, TB__SQL_CONTAINER_GET, c, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const tb_text text = tb__column_text(s, 0);
    char *copy = text.data ? tb__arena_take(memory, text.len + 1) : NULL;
    if (copy) memcpy(copy, text.data, text.len + 1);
    *ret = copy;
    sqlite3_reset(s);
    return copy ? TB_OK : tb_no_memory(err);
}

static tb_code put_one(tb_store *store, const tb_container *c, tb__arena *memory, int64_t now_us,
                       tb_applied *counts, tb_error *err)
{
    sqlite3_stmt *s;
    const char *before = NULL;
    tb_code code = stored_document(store, c, memory, &before, err);
    if (code || (before && strcmp(before, c->document) == 0)) return code;
    code = bind_key(store, TB__SQL_CONTAINER_PUT, c, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 4, c->document, -1, SQLITE_STATIC);
    code = tb__run(store, s, err);
    counts->changed += before != NULL;
    counts->containers_added += before == NULL;
    if (code || c->kind != TB_CONTAINER_APP) return code;
    return put_status(store, c, before, now_us, err);
}

/* --- containers that are no longer named --- */

static int by_key(const void *a, const void *b)
{
    const tb_container *x = *(const tb_container *const *)a, *y = *(const tb_container *const *)b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->account != y->account) return x->account < y->account ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* The catalogue's keys, sorted; NULL: no memory. */
static const tb_container **sort_named(const tb_catalog *catalog, tb__arena *memory)
{
    const size_t n = catalog->n_containers;
    const tb_container **named = tb__arena_take(memory, (n + 1) * sizeof *named);
    for (size_t i = 0; named && i < n; i++)
        named[i] = &catalog->containers[i];
    if (named) qsort(named, n, sizeof *named, by_key);
    return named;
}

/* The stored keys in their order, and whether the catalogue names each. Its id is there for the call. */
static tb_code each_stored(tb_store *store, const tb_catalog *catalog, tb__arena *memory,
                           tb_code (*each)(void *ctx, const tb_container *stored, bool named, tb_error *err), void *ctx,
                           tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    const size_t n = catalog->n_containers;
    const tb_container **named = sort_named(catalog, memory);
    tb_code code = named ? tb__sql(store, TB__SQL_CONTAINERS, &s, err) : tb_no_memory(err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const tb_text id = tb__column_text(s, 2);
        const tb_container stored = {.kind = (tb_container_kind)sqlite3_column_int(s, 0),
                                     .account = sqlite3_column_int64(s, 1), .id = id.data};
        const tb_container *key = &stored;
        code = id.data ? each(ctx, key, n && bsearch(&key, named, n, sizeof *named, by_key), err) : tb_no_memory(err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

typedef struct absent {
    tb_container container;
    struct absent *next;
} absent;

typedef struct absence {
    tb__arena *memory;
    absent *list;
} absence;

static tb_code keep_absent(void *ctx, const tb_container *stored, bool named, tb_error *err)
{
    absence *all = ctx;
    const size_t size = strlen(stored->id) + 1;
    if (named) return TB_OK;
    absent *gone = tb__arena_take(all->memory, sizeof *gone);
    char *copy = gone ? tb__arena_take(all->memory, size) : NULL;
    if (!copy) return tb_no_memory(err);
    memcpy(copy, stored->id, size);
    *gone = (absent){.container = *stored, .next = all->list};
    gone->container.id = copy;
    all->list = gone;
    return TB_OK;
}

typedef struct unnamed_call {
    void (*each)(void *ctx, const tb_unnamed *one);
    void *ctx;
    size_t *live;
} unnamed_call;

static tb_code tell_unnamed(void *ctx, const tb_container *stored, bool named, tb_error *err)
{
    static const tb_declared_kind kinds[TB_CONTAINER_KINDS] = {[TB_CONTAINER_REGISTRY] = TB_DECLARED_REGISTRY,
                                                               [TB_CONTAINER_APP] = TB_DECLARED_APP,
                                                               [TB_CONTAINER_LIMITS] = TB_DECLARED_LIMITS};
    const unnamed_call *call = ctx;
    if ((unsigned)stored->kind >= TB_CONTAINER_KINDS) return tb_fail(err, TB_E_CORRUPT, "container", NULL);
    const tb_unnamed one = {kinds[stored->kind], stored->account, text_of(stored->id)};
    call->live[one.kind]++;
    if (!named) call->each(call->ctx, &one);
    return TB_OK;
}

tb_code tb__containers_unnamed(tb_store *store, const tb_catalog *catalog,
                               void (*each)(void *ctx, const tb_unnamed *one), void *ctx,
                               size_t ret_live[TB_DECLARED_KIND_COUNT], tb_error *err)
{
    tb__arena memory;
    unnamed_call call = {each, ctx, ret_live};
    tb__arena_init(&memory, NULL);
    tb_code code = each_stored(store, catalog, &memory, tell_unnamed, &call, err);
    tb__arena_release(&memory);
    return code;
}

static tb_code delete_deployment(tb_store *store, tb__statement id, const tb_container *app,
                                 tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, id, &app->account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, app->id, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static tb_code delete_one(tb_store *store, const tb_container *c, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = bind_key(store, TB__SQL_CONTAINER_DELETE, c, &s, err);
    if (!code) code = tb__run(store, s, err);
    if (code || c->kind != TB_CONTAINER_APP) return code;
    code = delete_deployment(store, TB__SQL_DEPLOYMENT_DELETE, c, err);
    return code ? code : delete_deployment(store, TB__SQL_DEPLOYMENT_END_DELETE, c, err);
}

static tb_code delete_absent(tb_store *store, const tb_catalog *catalog, tb__arena *memory,
                             tb_applied *counts, tb_error *err)
{
    absence all = {.memory = memory};
    tb_code code = each_stored(store, catalog, memory, keep_absent, &all, err);
    for (absent *gone = all.list; !code && gone; gone = gone->next, counts->deleted++)
        code = delete_one(store, &gone->container, err);
    return code;
}

tb_code tb__containers_apply(tb_store *store, const tb_catalog *catalog, int64_t now_us,
                             tb_applied *counts, tb_error *err)
{
    tb__arena memory;
    tb__arena_init(&memory, NULL);
    tb_code code = delete_absent(store, catalog, &memory, counts, err);
    for (size_t i = 0; !code && i < catalog->n_containers; i++) {
        tb__arena_reset(&memory);
        code = put_one(store, &catalog->containers[i], &memory, now_us, counts, err);
    }
    tb__arena_release(&memory);
    return code;
}
