/* Pages of zones by an index of the existing ones: skipping and counting read only its entries. A search has to read
 * every name, as it matches any part of it. */
#include "base/arena.h"
#include "store/core/internal.h"
#include "tollbook/totals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(tb__arena *memory, sqlite3_stmt *s, int column)
{
    const void *text = sqlite3_column_text(s, column);
    size_t len = (size_t)sqlite3_column_bytes(s, column);
    char *copy = text ? tb__arena_take(memory, len + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

static tb_code take_zone(sqlite3_stmt *s, int64_t account, tb__arena *memory, tb_pullzone *zone,
                         tb_error *err)
{
    *zone = (tb_pullzone){.id = sqlite3_column_int64(s, 0),
                          .account = account,
                          .name = keep(memory, s, 1),
                          .volume = sqlite3_column_int(s, 2) != 0,
                          .settings = keep(memory, s, 3),
                          .balancer = sqlite3_column_int64(s, 5),
                          .enabled = sqlite3_column_int(s, 6) != 0,
                          .limit = sqlite3_column_int64(s, 7)};
    bool ok = zone->name && zone->settings;
    if (sqlite3_column_type(s, 4) != SQLITE_NULL) {
        zone->hostnames = keep(memory, s, 4);
        ok &= zone->hostnames != NULL;
    }
    return ok ? TB_OK : tb_no_memory(err);
}

/* The list's memory grows by doubling; older ones stay in the arena, together no larger. */
static tb_pullzone *room_for(tb__arena *memory, tb_pullzone *zones, size_t n, size_t *cap)
{
    if (n < *cap) return zones;
    size_t more = *cap ? *cap * 2 : 64;
    tb_pullzone *grown = tb__arena_take(memory, more * sizeof *grown);
    if (grown && n) memcpy(grown, zones, n * sizeof *grown);
    *cap = more;
    return grown;
}

static tb_code read_rows(tb_store *store, sqlite3_stmt *s, const tb_zone_query *q,
                         tb_zone_page *page, tb_error *err)
{
    tb__arena *memory = page->memory;
    size_t cap = 0, bytes = 0;
    bool row = true;
    tb_code code = TB_OK;
    while (!code && !page->cut && !(code = tb__step(store, s, &row, err)) && row) {
        tb_pullzone *zones = room_for(memory, page->zones, page->n, &cap);
        if (zones) page->zones = zones;
        code = zones ? take_zone(s, q->account, memory, &zones[page->n], err)
                     : tb_no_memory(err);
        page->n += !code;
        bytes += (size_t)sqlite3_column_bytes(s, 3) + (size_t)sqlite3_column_bytes(s, 4);
        page->cut = q->bytes && bytes > q->bytes;
        if (code || page->cut) sqlite3_reset(s);
    }
    return code;
}

static tb_code read_page(tb_store *store, sqlite3_stmt *s, const tb_zone_query *q,
                         tb_zone_page *ret_page, tb_error *err)
{
    tb_zone_page page = {.memory = calloc(1, sizeof(tb__arena))};
    if (!page.memory) {
        sqlite3_reset(s);
        return tb_no_memory(err);
    }
    tb__arena_init(page.memory, NULL);
    tb_code code = read_rows(store, s, q, &page, err);
    if (code)
        tb_zone_page_release(&page);
    else
        *ret_page = page;
    return code;
}

void tb_zone_page_release(tb_zone_page *page)
{
    if (page->memory) tb__arena_release(page->memory);
    free(page->memory);
    *page = (tb_zone_page){0};
}

static void bind_search(sqlite3_stmt *s, int at, const tb_zone_query *q)
{
    sqlite3_bind_text64(s, at, q->search, q->search_len, SQLITE_STATIC, SQLITE_UTF8);
}

tb_code tb_store_zones(tb_store *store, const tb_zone_query *query, tb_zone_page *ret_page,
                       tb_error *err)
{
    const int64_t values[4] = {query->account, query->after, query->limit, query->skip};
    sqlite3_stmt *s;
    bool search = query->search_len > 0;
    tb_code code = tb__sql_ints(store, search ? TB__SQL_ZONES_SEARCHED : TB__SQL_ZONES_PAGE, values,
                                4, &s, err);
    if (code) return code;
    if (search) bind_search(s, 5, query);
    return read_page(store, s, query, ret_page, err);
}

tb_code tb_store_zone(tb_store *store, int64_t account, int64_t zone, tb_zone_page *ret_page,
                      tb_error *err)
{
    const tb_zone_query q = {.account = account, .after = zone - 1, .limit = 1};
    tb_code code = tb_store_zones(store, &q, ret_page, err);
    if (code || (ret_page->n && ret_page->zones[0].id == zone)) return code;
    tb_zone_page_release(ret_page);
    return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
}

tb_code tb_store_count_zones(tb_store *store, const tb_zone_query *query, int64_t *ret_n,
                             tb_error *err)
{
    sqlite3_stmt *s;
    bool row, search = query->search_len > 0;
    tb_code code = tb__sql_ints(store, search ? TB__SQL_ZONES_FOUND : TB__SQL_ZONES_COUNT,
                                &query->account, 1, &s, err);
    if (code) return code;
    if (search) bind_search(s, 2, query);
    code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_n = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_zone_of_host(tb_store *store, int64_t account, const char *host, size_t len,
                              int64_t *ret_zone, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_ZONE_OF_HOST, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, host, (int)len, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    *ret_zone = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}
