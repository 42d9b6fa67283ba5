/* GET /mc/apps, /mc/registries and /mc/limits. A cursor is the last id of a page with a checksum over it
 * and the account, so that a forged or truncated one, or one of another account, is refused. */
#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <xxhash.h>

#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/containerstore.h"
#include "tollbook/json.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX   1000

/* --- cursors --- */

#define CURSOR_CHECK 8
#define CURSOR_BYTES (CURSOR_CHECK + TB_CONTAINER_ID_MAX)
#define CURSOR_TEXT  sodium_base64_ENCODED_LEN(CURSOR_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)

static void check_of(int64_t account, tb_text id, unsigned char out[CURSOR_CHECK])
{
    const uint64_t hash = XXH3_64bits_withSeed(id.data, id.len, (uint64_t)account);
    memcpy(out, &hash, CURSOR_CHECK);
}

static void put_cursor(int64_t account, const char *id, tb_buf *out)
{
    unsigned char bytes[CURSOR_BYTES];
    char text[CURSOR_TEXT];
    const size_t len = strnlen(id, TB_CONTAINER_ID_MAX);
    check_of(account, (tb_text){id, len}, bytes);
    memcpy(bytes + CURSOR_CHECK, id, len);
    sodium_bin2base64(text, sizeof text, bytes, CURSOR_CHECK + len,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    tb_buf_fmt(out, "\"%s\"", text);
}

/* Decodes a cursor into `bytes`; *ret_id lies there. */
static bool read_cursor(int64_t account, tb_text cursor, unsigned char bytes[CURSOR_BYTES],
                        tb_text *ret_id)
{
    unsigned char check[CURSOR_CHECK];
    size_t len = 0;
    if (!tb_base64_read(cursor, TB_BASE64_URL, bytes, CURSOR_BYTES, &len) || len <= CURSOR_CHECK) return false;
    *ret_id = (tb_text){(const char *)bytes + CURSOR_CHECK, len - CURSOR_CHECK};
    check_of(account, *ret_id, check);
    return memcmp(check, bytes, CURSOR_CHECK) == 0;
}

/* --- the list --- */

typedef struct params {
    int64_t limit;
    tb_text cursor;
    unsigned char bytes[CURSOR_BYTES];
    tb_text after;
} params;

static const query_spec specs[] = {
    {"limit", QUERY_INT, offsetof(params, limit)},
    {"nextCursor", QUERY_TEXT, offsetof(params, cursor)},
};

static tb_code read_charge_params(request *r, params *p, tb_error *err)
{
    tb_text query = request_query(r);
    *p = (params){.limit = LIMIT_DEFAULT};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p,
                               r->scratch, err);
    if (code) return code;
    if (p->limit < 1 || p->limit > LIMIT_MAX)
        return tb_fail(err, TB_E_VALIDATION, "limit", "limit is 1 to 1000.");
    if (p->cursor.len && !read_cursor(r->account, p->cursor, p->bytes, &p->after))
        return tb_fail(err, TB_E_VALIDATION, "nextCursor",
                       "nextCursor must be the cursor of an earlier page, unchanged.");
    return TB_OK;
}

static void put_text(tb_buf *out, const char *before, const char *text)
{
    tb_buf_str(out, before);
    tb_json_string(out, text, strlen(text));
}

static void put_endpoint(tb_buf *out, const tb_app *app)
{
    tb_buf_str(out, ",\"displayEndpoint\":");
    if (app->endpoint_id) {
        put_text(out, "{\"id\":", app->endpoint_id);
        put_text(out, ",\"address\":", app->endpoint_address);
        put_text(out, ",\"type\":", app->endpoint_type);
        tb_buf_str(out, "}");
    } else {
        tb_buf_str(out, "null");
    }
    put_text(out, ",\"status\":", app->status);
}

/* One more application is read than shown, to know whether there is a next page. */
static tb_code put_page(request *r, const params *p, tb_error *err)
{
    tb_app_page page;
    int64_t total = 0;
    tb_store *store = r->worker->store;
    tb_code code = tb_store_count_apps(store, r->account, &total, err);
    if (!code) code = tb_store_apps(store, r->account, p->after, p->limit + 1, &page, err);
    if (code) return code;
    tb_buf *out = request_text(r);
    const bool more = page.n > (size_t)p->limit;
    const size_t shown = page.n - more;
    tb_buf_str(out, "{\"items\":[");
    for (size_t i = 0; i < shown; i++) {
        if (i) tb_buf_str(out, ",");
        put_text(out, "{\"id\":", page.apps[i].id);
        put_text(out, ",\"name\":", page.apps[i].name);
        put_text(out, ",\"description\":", page.apps[i].description);
        put_endpoint(out, &page.apps[i]);
        tb_buf_str(out, "}");
    }
    tb_buf_fmt(out, "],\"meta\":{\"totalItems\":%" PRId64 "},\"cursor\":", total);
    if (more) put_cursor(r->account, page.apps[shown - 1].id, out);
    else tb_buf_str(out, "null");
    tb_buf_str(out, "}");
    tb_app_page_release(&page);
    return tb_buf_check(out, err);
}

void api_mc_apps(request *r)
{
    params p;
    tb_error err;
    tb_code code = read_charge_params(r, &p, &err);
    if (!code) code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_page(r, &p, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}

/* --- one application --- */

/* tollbook does not know what runs where: those lists are empty. */
void api_mc_app(request *r)
{
    tb_app_page page;
    tb_error err;
    if (tb_store_app(r->worker->store, r->account, r->id, &page, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf *out = request_text(r);
    put_text(out, "{\"id\":", page.apps->id);
    put_text(out, ",\"name\":", page.apps->name);
    put_endpoint(out, page.apps);
    tb_buf_str(out, ",\"runtimeType\":\"shared\",\"regionSettings\":{\"allowedRegionIds\":[],"
                    "\"requiredRegionIds\":[]},\"containerTemplates\":[],\"containerInstances\":[],"
                    "\"volumes\":[]}");
    tb_app_page_release(&page);
    request_answer_text(r, 200, "application/json");
}

/* --- registries --- */

typedef struct registries {
    tb_buf *out;
    int64_t n;
} registries;

/* "https://registry.example:5000" -> "registry.example:5000" */
static tb_text host_of(tb_text url)
{
    const char *mark = url.len ? memmem(url.data, url.len, "://", 3) : NULL;
    return mark ? (tb_text){mark + 3, url.len - (size_t)(mark + 3 - url.data)} : url;
}

/* Clients read `id` as an integer, so only numbers are shown as such. Every id is the displayName, which POST
 * /mc/registries/digest takes. */
static void put_registry(void *ctx, tb_text id, tb_text url, tb_text username)
{
    registries *all = ctx;
    tb_buf *out = all->out;
    const tb_text host = host_of(url);
    int64_t number;
    tb_buf_str(out, all->n++ ? ",{" : "{");
    if (router_id(id, &number)) tb_buf_fmt(out, "\"id\":%" PRId64 ",", number);
    tb_buf_str(out, "\"displayName\":");
    tb_json_string(out, id.data, id.len);
    tb_buf_str(out, ",\"hostName\":");
    tb_json_string(out, host.data, host.len);
    tb_buf_str(out, ",\"userName\":");
    if (username.len) tb_json_string(out, username.data, username.len);
    else tb_buf_str(out, "null");
    tb_buf_fmt(out, ",\"isPublic\":%s}", username.len ? "false" : "true");
}

void api_mc_registries(request *r)
{
    tb_error err;
    registries all = {.out = request_text(r)};
    tb_buf_str(all.out, "{\"items\":[");
    if (tb_store_registries(r->worker->store, r->account, put_registry, &all, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf_fmt(all.out, "],\"meta\":{\"totalItems\":%" PRId64 "},\"cursor\":null}", all.n);
    request_answer_text(r, 200, "application/json");
}

/* --- limits --- */

void api_mc_limits(request *r)
{
    int64_t limits[TB_LIMIT_COUNT];
    tb_error err;
    if (tb_store_limits(r->worker->store, r->account, limits, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf *out = request_text(r);
    for (int i = 0; i < TB_LIMIT_COUNT; i++) {
        tb_buf_fmt(out, "%c\"%s\":", i ? ',' : '{', tb_limit_name((tb_limit)i));
        if (limits[i] < 0) tb_buf_str(out, "null");
        else tb_buf_fmt(out, "%" PRId64, limits[i]);
    }
    tb_buf_str(out, "}");
    request_answer_text(r, 200, "application/json");
}
