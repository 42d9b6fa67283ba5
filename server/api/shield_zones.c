/* GET /shield/shield-zones: the shield zones that the account has now, page by page, with the pull zone that each
 * protects; and one of them, by its id or by its pull zone. Their settings are not tollbook's: of the configuration that
 * the deployed service answers, only the identity is here. */
#include <inttypes.h>

#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/logstore.h"
#include "tollbook/json.h"

#define PER_PAGE_DEFAULT 10
#define PER_PAGE_MAX   1000

typedef struct params {
    int64_t page, per_page;
} params;

static const query_spec specs[] = {
    {"page", QUERY_INT, offsetof(params, page)},
    {"perPage", QUERY_INT, offsetof(params, per_page)},
};

static tb_code read_zone_params(request *r, params *p, tb_error *err)
{
    const tb_text query = request_query(r);
    *p = (params){.page = 1, .per_page = PER_PAGE_DEFAULT};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p,
                               r->scratch, err);
    if (code) return code;
    if (p->page < 1 || p->page > INT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "page", "page is 1 to 2147483647.");
    if (p->per_page < 1 || p->per_page > PER_PAGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "perPage", "perPage is 1 to 1000.");
    return TB_OK;
}

typedef struct listed {
    tb_buf *out;
    int64_t n;
} listed;

/* {"shieldZoneId":42,"pullZoneId":101, without its end. */
static void put_pair(listed *all, int64_t id, int64_t pull_zone)
{
    tb_buf_fmt(all->out, "%s{\"shieldZoneId\":%" PRId64 ",\"pullZoneId\":", all->n++ ? "," : "", id);
    if (pull_zone) tb_buf_fmt(all->out, "%" PRId64, pull_zone);
    else tb_buf_str(all->out, "null");
}

static void put_zone(void *ctx, int64_t id, int64_t pull_zone, tb_text name)
{
    listed *all = ctx;
    put_pair(all, id, pull_zone);
    tb_buf_str(all->out, ",\"name\":");
    if (name.len) tb_json_string(all->out, name.data, name.len);
    else tb_buf_str(all->out, "null");
    tb_buf_str(all->out, "}");
}

static void put_page_of(tb_buf *out, const params *p, int64_t total)
{
    const int64_t pages = (total + p->per_page - 1) / p->per_page;
    tb_buf_fmt(out,
               "],\"page\":{\"totalCount\":%" PRId64 ",\"totalPages\":%" PRId64
               ",\"currentPage\":%" PRId64 ",\"nextPage\":",
               total, pages, p->page);
    if (p->page < pages) tb_buf_fmt(out, "%" PRId64, p->page + 1);
    else tb_buf_str(out, "null");
    tb_buf_fmt(out, ",\"pageSize\":%" PRId64 "}}", p->per_page);
}

static tb_code put_zones(request *r, const params *p, tb_error *err)
{
    tb_store *store = r->worker->store;
    const tb_shield_page page = {r->account, (p->page - 1) * p->per_page, p->per_page};
    listed all = {.out = request_text(r)};
    int64_t total = 0;
    tb_code code = tb_store_count_shield_zones(store, r->account, &total, err);
    tb_buf_str(all.out, "{\"data\":[");
    if (!code) code = tb_store_shield_zones(store, &page, put_zone, &all, err);
    if (code) return code;
    put_page_of(all.out, p, total);
    return tb_buf_check(all.out, err);
}

void api_shield_zones(request *r)
{
    params p;
    tb_error err;
    tb_code code = read_zone_params(r, &p, &err);
    if (!code) code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_zones(r, &p, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}

/* --- one --- */

static tb_code put_one(request *r, int64_t id, int64_t pull_zone, tb_error *err)
{
    listed all = {.out = request_text(r)};
    tb_buf_str(all.out, "{\"data\":");
    tb_code code = tb_store_shield_zone(r->worker->store, r->account, id, pull_zone, put_zone, &all, err);
    tb_buf_str(all.out, "}");
    return code ? code : tb_buf_check(all.out, err);
}

static void answer_one(request *r, bool by_pull_zone)
{
    int64_t id;
    tb_error err;
    tb_code code = router_id(r->id, &id) ? TB_OK : tb_fail(&err, TB_E_SHIELD_NOT_FOUND, "ShieldZone", NULL);
    if (!code) code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_one(r, by_pull_zone ? 0 : id, by_pull_zone ? id : 0, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}

void api_shield_zone(request *r)
{
    answer_one(r, false);
}

void api_shield_zone_of(request *r)
{
    answer_one(r, true);
}
