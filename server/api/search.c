/* GET /search: what the key's account has, by a part of a name; an operator's key finds accounts, or with account= the
 * parts of one. Known clients read one of two forms, so an answer has the members of both. It runs as a slow query, since
 * every name of the account is looked at. */
#include <inttypes.h>

#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/billsource.h"
#include "tollbook/json.h"
#include "tollbook/search.h"

#define PAGE_DEFAULT 20
#define PAGE_MAX     1000
#define TEXT_MAX     255 /* bytes, as of `account list --search` */

typedef struct params {
    tb_text search;
    int64_t from, size, account;
} params;

typedef struct question {
    drawing how;
    params asked;
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

static const query_spec specs[] = {
    {"search", QUERY_TEXT, offsetof(params, search)},
    {"from", QUERY_INT, offsetof(params, from)},
    {"size", QUERY_INT, offsetof(params, size)},
    {"account", QUERY_INT, offsetof(params, account)},
};

static tb_code read_search(request *r, params *p, tb_error *err)
{
    const tb_text query = request_query(r);
    *p = (params){.size = PAGE_DEFAULT, .account = API_NO_ACCOUNT};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p, r->scratch, err);
    if (code) return code;
    if (p->search.len > TEXT_MAX)
        return tb_fail(err, TB_E_VALIDATION, "search", "search has at most %d bytes.", TEXT_MAX);
    if (p->from < 0 || p->from > INT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "from", "from is 0 to 2147483647.");
    if (p->size < 1 || p->size > PAGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "size", "size is 1 to %d.", PAGE_MAX);
    return api_choose_account(r, p->account, &p->account, err);
}

static const struct {
    const char *type, *words;
} kinds[TB_FOUND_KIND_COUNT] = {
#define TB_X(e, name, words_) [TB_FOUND_##e] = {name, words_},
    TB_FOUND_KINDS(TB_X)
#undef TB_X
};

typedef struct listed {
    tb_buf *out;
    bool begun;
} listed;

/* A result without a name is called by its kind and number. */
static void put_title(const char *member, const tb_found *found, tb_buf *out)
{
    tb_buf_fmt(out, ",\"%s\":", member);
    if (found->name.len) tb_json_string(out, found->name.data, found->name.len);
    else tb_buf_fmt(out, "\"%s %" PRId64 "\"", kinds[found->kind].words, found->id);
}

static void put_found(void *ctx, const tb_found *found)
{
    listed *all = ctx;
    tb_buf *out = all->out;
    tb_buf_fmt(out, "%s{\"Type\":\"%s\",\"Id\":%" PRId64, all->begun ? "," : "", kinds[found->kind].type, found->id);
    put_title("Title", found, out);
    put_title("Name", found, out);
    tb_buf_str(out, ",\"Description\":");
    if (found->host.len) tb_json_string(out, found->host.data, found->host.len);
    else if (found->pull_zone) tb_buf_fmt(out, "\"%s of pull zone %" PRId64 "\"", kinds[found->kind].words, found->pull_zone);
    else tb_buf_fmt(out, "\"%s\"", kinds[found->kind].words);
    tb_buf_str(out, "}");
    all->begun = true;
}

static tb_code put_results(const request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const params *p = &((const question *)(const void *)r->work)->asked;
    const tb_search search = {p->account == TB_ALL ? 0 : p->account, p->search, p->from, p->size};
    listed all = {.out = out};
    int64_t total = 0;
    tb_code code = search.account && !r->account ? tb_store_need_account(store, search.account, err) : TB_OK;
    if (!code) code = tb_store_count_found(store, &search, &total, err);
    if (code) return code;
    tb_buf_str(out, "{\"Query\":");
    tb_json_string(out, p->search.data ? p->search.data : "", p->search.len);
    tb_buf_fmt(out, ",\"TotalCount\":%" PRId64 ",\"Total\":%" PRId64 ",\"From\":%" PRId64 ",\"Size\":%" PRId64
               ",\"SearchResults\":[", total, total, p->from, p->size);
    if (p->from < total) code = tb_store_search(store, &search, put_found, &all, err);
    tb_buf_str(out, "]}");
    return code ? code : tb_buf_check(out, err);
}

static tb_code put_search(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = put_results(r, store, out, err);
    tb_store_read_end(store);
    return code;
}

void api_search(request *r)
{
    question *q = (question *)(void *)r->work;
    tb_error err;
    q->how = (drawing){put_search, "application/json", true, NULL};
    if (read_search(r, &q->asked, &err)) request_fail_as(r, &err);
    else drawn_answer(r);
}
