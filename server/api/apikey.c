/* GET /apikey: the account's valid keys, page by page. A key that the server's secret
 * decrypts is shown, others are masked. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/query.h"

#define PER_PAGE_MIN 5
#define PER_PAGE_MAX 1000

typedef struct params {
    int64_t page, per_page;
} params;

static const query_spec specs[] = {
    {"page", QUERY_INT, offsetof(params, page)},
    {"perPage", QUERY_INT, offsetof(params, per_page)},
};

static tb_code read_key_params(request *r, params *p, tb_error *err)
{
    tb_text query = request_query(r);
    *p = (params){.page = 1, .per_page = PER_PAGE_MAX};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p,
                               r->scratch, err);
    if (code) return code;
    if (p->page < 1 || p->page > INT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "page", "page must be 1 to 2147483647.");
    if (p->per_page < PER_PAGE_MIN || p->per_page > PER_PAGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "perPage", "perPage is 5 to 1000.");
    return TB_OK;
}

/* Whether the caller may read the key's text: that of a key of CustomerAdmin would give others its rights. */
static bool may_read(const request *r, const tb_key *key)
{
    return !tb_roles_open(key->roles, TB_ACCESS_ADMIN) || tb_roles_open(r->roles, TB_ACCESS_ADMIN);
}

/* secret: NULL if the text is not shown. */
static void put_key(const uint8_t *secret, const tb_key *key, tb_buf *out)
{
    char text[TB_KEY_TEXT + 1];
    bool first = true;
    if (!secret || !tb_key_unseal(key, secret, text)) tb_key_mask(key, text);
    tb_buf_fmt(out, "{\"Id\":%" PRId64 ",\"Key\":\"%s\",\"Roles\":[", key->id, text);
    sodium_memzero(text, sizeof text);
    for (unsigned role = 0; role < TB_ROLE_COUNT; role++) {
        if (!(key->roles >> role & 1)) continue;
        tb_buf_fmt(out, "%s\"%s\"", first ? "" : ",", tb_role_name((tb_role)role));
        first = false;
    }
    tb_buf_str(out, "]}");
}

static tb_code put_page(request *r, const params *p, tb_error *err)
{
    tb_key_page page = {0};
    int64_t skip = (p->page - 1) * p->per_page;
    tb_code code = tb_store_account_keys(r->worker->store, r->account, skip, p->per_page, &page, err);
    if (code) return code;
    tb_buf *out = request_text(r);
    tb_buf_str(out, "{\"Items\":[");
    for (size_t i = 0; i < page.n; i++) {
        if (i) tb_buf_str(out, ",");
        put_key(may_read(r, &page.list[i]) ? worker_secret(r->worker) : NULL, &page.list[i], out);
    }
    bool more = page.n && skip + (int64_t)page.n < page.total;
    tb_buf_fmt(out, "],\"CurrentPage\":%" PRId64 ",\"TotalItems\":%" PRId64
               ",\"HasMoreItems\":%s}", p->page, page.total, more ? "true" : "false");
    free(page.list);
    return TB_OK;
}

void api_apikey(request *r)
{
    params p;
    tb_error err;
    tb_code code = read_key_params(r, &p, &err);
    if (!code) code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_page(r, &p, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    request_answer_text(r, 200, "application/json");
    r->reply.secret = true;
}
