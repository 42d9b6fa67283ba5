/* GET /pullzone, /pullzone/{id} and /pullzone/count. The answer is a page if `page` is 1 or more, or, with
 * --search-paged, if there is a search without `page`; else a bare list. The list is streamed, since an account may
 * have any number of zones; so is a page with many megabytes of settings. GET /storagezone and /videolibrary read the
 * same parameters. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/query.h"
#include "http/stream.h"
#include "tollbook/monthbill.h"

#define ABSENT       INT64_MIN
#define PER_PAGE_MIN 5
#define PER_PAGE_MAX 1000
#define TOGETHER     200 /* zones in a piece of a stream */
#define PIECE_BYTES  ((size_t)1 << 20)  /* settings and hostnames in a piece, about */
#define PAGE_BYTES   ((size_t)32 << 20) /* settings and hostnames in a page that is not streamed */

typedef struct params {
    int64_t page, per_page;
    tb_text search;
    bool certificates;
} params;

static const query_spec specs[] = {
    {"page", QUERY_INT, offsetof(params, page)},
    {"perPage", QUERY_INT, offsetof(params, per_page)},
    {"search", QUERY_TEXT, offsetof(params, search)},
    {"includeCertificate", QUERY_BOOL, offsetof(params, certificates)},
};

static tb_code read_page_params(request *r, params *p, tb_error *err)
{
    tb_text query = request_query(r);
    *p = (params){.page = ABSENT, .per_page = PER_PAGE_MAX};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p,
                               r->scratch, err);
    if (code) return code;
    if (p->page == ABSENT)
        p->page = p->search.len && r->worker->server->options.search_paged ? 1 : 0;
    if (p->page < 0 || p->page > INT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "page", "page must be 0 to 2147483647.");
    if (p->per_page < PER_PAGE_MIN || p->per_page > PER_PAGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "perPage", "perPage is 5 to 1000.");
    return TB_OK;
}

/* Appends a page's zones, separated by commas. */
static tb_code put_zones(tb_store *store, int64_t now_us, bool certificates, tb_zones_memo *memo,
                         tb_zone_page *page, bool first, tb_buf *out, tb_error *err)
{
    tb_code code = page->n ? tb_zones_month(store, page->zones[0].account, now_us, memo,
                                            page->zones, page->n, err)
                           : TB_OK;
    for (size_t i = 0; !code && i < page->n; i++) {
        if (!first || i) tb_buf_str(out, ",");
        code = tb_pullzone_encode(&page->zones[i], certificates, out, err);
    }
    return code;
}

static tb_code put_zones_once(request *r, bool certificates, tb_zone_page *page, tb_buf *out,
                              tb_error *err)
{
    tb_zones_memo memo = {0};
    tb_code code = put_zones(r->worker->store, request_now_us(r), certificates, &memo, page, true,
                             out, err);
    tb_zones_memo_release(&memo);
    return code;
}

/* --- a page --- */

static void put_page_end(tb_buf *out, int64_t page, int64_t total, bool more)
{
    tb_buf_fmt(out, "],\"CurrentPage\":%" PRId64 ",\"TotalItems\":%" PRId64 ",\"HasMoreItems\":%s}",
               page, total, more ? "true" : "false");
}

/* TB_E_TOO_MUCH: it has to be streamed. */
static tb_code put_page(request *r, const params *p, tb_buf *out, tb_error *err)
{
    tb_store *store = r->worker->store;
    const tb_zone_query q = {.account = r->account,
                             .search = p->search.data,
                             .search_len = p->search.len,
                             .skip = (p->page - 1) * p->per_page,
                             .limit = p->per_page,
                             .bytes = PAGE_BYTES};
    tb_zone_page page;
    int64_t total = 0;
    tb_code code = tb_store_count_zones(store, &q, &total, err);
    if (!code) code = tb_store_zones(store, &q, &page, err);
    if (code) return code;
    tb_buf_str(out, "{\"Items\":[");
    code = page.cut ? tb_fail(err, TB_E_TOO_MUCH, NULL, NULL)
                    : put_zones_once(r, p->certificates, &page, out, err);
    put_page_end(out, p->page, total, page.n && q.skip + (int64_t)page.n < total);
    tb_zone_page_release(&page);
    return code ? code : tb_buf_check(out, err);
}

/* The bare list, if it fits one page: then the loss of a usage server is answered with an error, and does not cut the
 * list off. */
static tb_code put_short_list(request *r, const params *p, tb_buf *out, tb_error *err)
{
    const tb_zone_query q = {.account = r->account,
                             .search = p->search.data,
                             .search_len = p->search.len,
                             .limit = PER_PAGE_MAX,
                             .bytes = PAGE_BYTES};
    tb_zone_page page;
    tb_code code = tb_store_zones(r->worker->store, &q, &page, err);
    if (code) return code;
    tb_buf_str(out, "[");
    code = page.cut || page.n == PER_PAGE_MAX ? tb_fail(err, TB_E_TOO_MUCH, NULL, NULL)
                                              : put_zones_once(r, p->certificates, &page, out, err);
    tb_buf_str(out, "]");
    tb_zone_page_release(&page);
    return code ? code : tb_buf_check(out, err);
}

static void stream_zones(request *r, const params *p);

/* Calls put in one snapshot and answers with its output. */
static void answer_with(request *r, const params *p,
                        tb_code (*put)(request *r, const params *p, tb_buf *out, tb_error *err))
{
    tb_error err;
    tb_buf *out = request_text(r);
    tb_code code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put(r, p, out, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code == TB_E_TOO_MUCH)
        stream_zones(r, p);
    else if (code)
        request_fail_as(r, &err);
    else
        request_answer_text(r, 200, "application/json");
}

/* --- the bare list, and long pages --- */

typedef struct listing {
    const request *r; /* r->worker may be a remote worker; its store is read */
    tb_zone_query query;
    int64_t page;               /* 0: the bare list */
    int64_t left, total, after; /* of a page: its zones to come, zones on all pages, zones after it */
    int64_t now_us;
    bool certificates, begun;
    tb_buf first; /* with usage on servers: the first piece */
    bool first_done;
    tb_zones_memo memo; /* as it was at the first piece that needed it */
    char search[]; /* of the query */
} listing;

/* Puts the next zones, from the last one on. */
static tb_code put_some(listing *l, tb_buf *out, bool *ret_done, tb_error *err)
{
    tb_zone_page page;
    l->query.limit = l->left < TOGETHER ? l->left : TOGETHER;
    tb_code code = tb_store_zones(l->r->worker->store, &l->query, &page, err);
    if (code) return code;
    code = put_zones(l->r->worker->store, l->now_us, l->certificates, &l->memo, &page, !l->begun, out, err);
    if (!code) {
        l->begun = true;
        l->left -= (int64_t)page.n;
        l->query.skip = 0;
        if (page.n) l->query.after = page.zones[page.n - 1].id;
        *ret_done = l->left == 0 || (!page.cut && (int64_t)page.n < l->query.limit);
    }
    tb_zone_page_release(&page);
    return code;
}

/* A failure leaves the list as it was. */
static tb_code make_piece(listing *l, tb_buf *out, bool *ret_done, tb_error *err)
{
    tb_store *store = l->r->worker->store;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    if (!l->begun) {
        tb_buf_str(out, l->page ? "{\"Items\":[" : "[");
        if (l->page) code = tb_store_count_zones(store, &l->query, &l->total, err);
        l->after = l->total - l->query.skip - l->left;
    }
    if (!code) code = put_some(l, out, ret_done, err);
    if (!code && *ret_done) {
        if (l->page) put_page_end(out, l->page, l->total, l->after > 0);
        else tb_buf_str(out, "]");
    }
    tb_store_read_end(store);
    return code;
}

static tb_code fill_list(void *ctx, tb_buf *out, bool *ret_done, tb_error *err)
{
    listing *l = ctx;
    if (!l->first.len) return make_piece(l, out, ret_done, err);
    tb_buf_add(out, l->first.data, l->first.len);
    tb_buf_release(&l->first);
    *ret_done = l->first_done;
    return tb_buf_check(out, err);
}

static void drop_list(void *ctx)
{
    listing *l = ctx;
    tb_buf_release(&l->first);
    tb_zones_memo_release(&l->memo);
    free(l);
}

static void stream_zones(request *r, const params *p)
{
    tb_error err;
    listing *l = calloc(1, sizeof *l + p->search.len);
    if (!l) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    if (p->search.len) memcpy(l->search, p->search.data, p->search.len);
    l->r = r;
    tb_buf_init(&l->first, STREAM_BUF_MAX, NULL);
    l->query = (tb_zone_query){.account = r->account,
                               .search = l->search,
                               .search_len = p->search.len,
                               .skip = p->page ? (p->page - 1) * p->per_page : 0,
                               .bytes = PIECE_BYTES};
    l->page = p->page;
    l->left = p->page ? p->per_page : INT64_MAX;
    l->now_us = request_now_us(r);
    l->certificates = p->certificates;
    const bool asks = r->worker->server->options.usage;
    if (asks && make_piece(l, &l->first, &l->first_done, &err)) {
        request_fail_as(r, &err);
        drop_list(l);
        return;
    }
    request_answer_stream(r, (stream_source){.fill = fill_list, .release = drop_list, .ctx = l, .asks = asks}, "application/json");
    // cppcheck-suppress memleak ; the stream frees it
}

void api_pullzones(request *r)
{
    params p;
    tb_error err;
    if (read_page_params(r, &p, &err))
        request_fail_as(r, &err);
    else if (p.page > 0)
        answer_with(r, &p, put_page);
    else if (r->worker->server->options.usage)
        answer_with(r, &p, put_short_list);
    else
        stream_zones(r, &p);
}

/* --- one zone, and the count --- */

static tb_code put_zone(request *r, const params *p, tb_buf *out, tb_error *err)
{
    tb_zone_page page;
    int64_t id;
    if (!router_id(r->id, &id)) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    tb_code code = tb_store_zone(r->worker->store, r->account, id, &page, err);
    if (code) return code;
    code = put_zones_once(r, p->certificates, &page, out, err);
    tb_zone_page_release(&page);
    return code ? code : tb_buf_check(out, err);
}

void api_pullzone(request *r)
{
    params p;
    tb_error err;
    if (read_page_params(r, &p, &err))
        request_fail_as(r, &err);
    else
        answer_with(r, &p, put_zone);
}

static tb_code put_count(request *r, const params *p, tb_buf *out, tb_error *err)
{
    const tb_zone_query q = {
        .account = r->account, .search = p->search.data, .search_len = p->search.len};
    int64_t n;
    tb_code code = tb_store_count_zones(r->worker->store, &q, &n, err);
    if (!code) tb_buf_fmt(out, "{\"Count\":%" PRId64 "}", n);
    return code;
}

void api_pullzone_count(request *r)
{
    params p;
    tb_error err;
    if (read_page_params(r, &p, &err))
        request_fail_as(r, &err);
    else
        answer_with(r, &p, put_count);
}

/* --- lists of what tollbook does not have --- */

void api_nothing_listed(request *r)
{
    params p;
    tb_error err;
    if (read_page_params(r, &p, &err))
        request_fail_as(r, &err);
    else if (p.page > 0)
        api_nothing(r);
    else
        request_answer_static(r, "[]", 2, "application/json");
}
