/* Reading containers: members are taken out of the declared documents by SQLite. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "store/things/containers.h"

/* --- applications --- */

static const char *keep(tb__arena *memory, sqlite3_stmt *s, int column)
{
    const tb_text text = tb__column_text(s, column);
    char *copy = text.data ? tb__arena_take(memory, text.len + 1) : NULL;
    if (copy) memcpy(copy, text.data, text.len + 1);
    return copy;
}

static tb_code take_app(sqlite3_stmt *s, tb__arena *memory, tb_app *app, tb_error *err)
{
    *app = (tb_app){.id = keep(memory, s, 0), .name = keep(memory, s, 1),
                    .description = keep(memory, s, 2), .status = keep(memory, s, 3)};
    bool ok = app->id && app->name && app->description && app->status;
    if (sqlite3_column_type(s, 4) != SQLITE_NULL) {
        app->endpoint_id = keep(memory, s, 4);
        app->endpoint_address = keep(memory, s, 5);
        app->endpoint_type = keep(memory, s, 6);
        ok &= app->endpoint_id && app->endpoint_address && app->endpoint_type;
    }
    return ok ? TB_OK : tb_no_memory(err);
}

static tb_code read_apps(tb_store *store, sqlite3_stmt *s, int64_t limit, tb_app_page *page,
                         tb_error *err)
{
    bool row = true;
    tb_code code = TB_OK;
    page->apps = tb__arena_take(page->memory, (size_t)limit * sizeof *page->apps);
    if (!page->apps) code = tb_no_memory(err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = take_app(s, page->memory, &page->apps[page->n], err);
        page->n += !code;
    }
    sqlite3_reset(s);
    return code;
}

void tb_app_page_release(tb_app_page *page)
{
    if (page->memory) tb__arena_release(page->memory);
    free(page->memory);
    *page = (tb_app_page){0};
}

tb_code tb_store_apps(tb_store *store, int64_t account, tb_text after, int64_t limit,
                      tb_app_page *ret_page, tb_error *err)
{
    const int64_t values[2] = {account, limit};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_APPS_PAGE, values, 2, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 3, after.data ? after.data : "", (int)after.len, SQLITE_STATIC);
    tb_app_page page = {.memory = malloc(sizeof(tb__arena))};
    if (!page.memory) return tb_no_memory(err);
    tb__arena_init(page.memory, NULL);
    code = read_apps(store, s, limit, &page, err);
    if (code) tb_app_page_release(&page);
    else *ret_page = page;
    return code;
}

tb_code tb_store_app(tb_store *store, int64_t account, tb_text id, tb_app_page *ret_page,
                     tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_APP_GET, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, id.data, (int)id.len, SQLITE_STATIC);
    tb_app_page page = {.memory = malloc(sizeof(tb__arena))};
    if (!page.memory) return tb_no_memory(err);
    tb__arena_init(page.memory, NULL);
    code = read_apps(store, s, 1, &page, err);
    if (!code && page.n == 0) code = tb_fail(err, TB_E_APP_NOT_FOUND, NULL, NULL);
    if (code) tb_app_page_release(&page);
    else *ret_page = page;
    return code;
}

tb_code tb_store_count_apps(tb_store *store, int64_t account, int64_t *ret_n, tb_error *err)
{
    return tb__int_of(store, TB__SQL_APPS_COUNT, &account, 1, 0, ret_n, err);
}

/* --- limits --- */

static const char *const limit_names[TB_LIMIT_COUNT] = {
    [TB_LIMIT_APPS] = "maxNumberOfApplications",
    [TB_LIMIT_EXISTING_APPS] = "existingNumberOfApplications",
    [TB_LIMIT_REGIONS] = "maxNumberOfRegionsPerApplication",
    [TB_LIMIT_CPU] = "maxCpuMilliCoresPerPod",
    [TB_LIMIT_MEMORY] = "maxMemoryBytesPerPod",
    [TB_LIMIT_INSTANCES_PER_REGION] = "maxNumberOfInstancesPerRegion",
    [TB_LIMIT_INSTANCES] = "maxNumberOfInstancesPerApplication",
    [TB_LIMIT_VOLUMES] = "maxNumberOfVolumesPerApplication",
    [TB_LIMIT_VOLUME_SIZE] = "maxVolumeSize",
};

const char *tb_limit_name(tb_limit limit)
{
    return (unsigned)limit < TB_LIMIT_COUNT ? limit_names[limit] : "";
}

tb_code tb_store_limits(tb_store *store, int64_t account, int64_t ret_limits[TB_LIMIT_COUNT],
                        tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_LIMITS_GET, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_LIMITS_NOT_FOUND, NULL, NULL);
    for (int i = 0; i < TB_LIMIT_COUNT; i++)
        ret_limits[i] = sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    return TB_OK;
}

/* --- registries --- */

static void copy_column(sqlite3_stmt *s, int column, char *to, size_t size, bool *ok)
{
    const tb_text text = tb__column_text(s, column);
    to[0] = 0;
    if (text.len < size && text.data) memcpy(to, text.data, text.len + 1);
    *ok &= text.data && text.len < size;
}

tb_code tb_store_registries(tb_store *store, int64_t account, tb_registry_fn each, void *ctx,
                            tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_REGISTRIES, &account, 1, &s, err);
    if (code) return code;
    while (!(code = tb__step(store, s, &row, err)) && row)
        each(ctx, tb__column_text(s, 0), tb__column_text(s, 1), tb__column_text(s, 2));
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_registry(tb_store *store, int64_t account, tb_text id, tb_registry *ret_registry,
                          bool *ret_found, tb_error *err)
{
    sqlite3_stmt *s;
    bool ok = true;
    tb_code code = tb__sql_ints(store, TB__SQL_REGISTRY_GET, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, id.data, (int)id.len, SQLITE_STATIC);
    code = tb__step(store, s, ret_found, err);
    if (code || !*ret_found) return code;
    copy_column(s, 0, ret_registry->url, sizeof ret_registry->url, &ok);
    copy_column(s, 1, ret_registry->realm, sizeof ret_registry->realm, &ok);
    copy_column(s, 2, ret_registry->username, sizeof ret_registry->username, &ok);
    copy_column(s, 3, ret_registry->secret, sizeof ret_registry->secret, &ok);
    sqlite3_reset(s);
    return ok ? TB_OK : tb_fail(err, TB_E_CORRUPT, NULL, NULL);
}
