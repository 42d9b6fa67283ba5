/* Requests that reached a load balancer: imported rows, and those of the zones that were attached to it. */
#include "store/money/billing.h"
#include "tollbook/calendar.h"

/* Adds a span of one counter of a series, late usage taken off. */
static tb_code add_counter(tb_store *store, int64_t series, tb_metric metric, int scope,
                           int64_t owner, tb__day_span span, tb__day_sums *sums, tb_error *err)
{
    uint64_t days[32];
    tb__day_sums own = {{0}};
    if (!series || span.from_hour >= span.to_hour) return TB_OK;
    tb_code code = store->plane.counters->days(store, series, metric, span.month, days, err);
    if (!code) code = tb__days_add(store, series, metric, days, span, &own, err);
    if (!code)
        code = tb__days_take_late(store->billing, scope, owner, TB_ALL, scope == TB__SCOPE_ZONE, span, &own,
                                  err);
    for (int i = 0; i < TB__MONTH_DAYS; i++)
        sums->day[i] += own.day[i];
    return code;
}

tb_code tb__requests_of(tb_store *store, const tb__billed_balancer *own, tb__day_span span,
                        tb__day_sums *sums, tb_error *err)
{
    tb_code code =
        add_counter(store, own->series, TB_M_REQUESTS, TB__SCOPE_BALANCER, own->id, span, sums, err);
    for (size_t i = own->ties.first; !code && i < own->ties.first + own->ties.n; i++) {
        const tb__tie *tie = &store->billing->ties[i];
        tb__day_span tied = {span.month, tb__later(span.from_hour, tb__hour_after(tie->from_us)),
                             tb__earlier(span.to_hour, tb__hour_after(tie->to_us))};
        code = add_counter(store, tie->series, TB_M_BALANCER_REQUESTS, TB__SCOPE_ZONE, tie->zone, tied,
                           sums, err);
    }
    return code;
}

/* They are ascending by id. */
static const tb__billed_balancer *find_balancer(const struct tb__billing *b, int64_t id)
{
    size_t low = 0, high = b->n_balancers;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->balancers[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low < b->n_balancers && b->balancers[low].id == id ? &b->balancers[low] : NULL;
}

static tb_code balancer_month(tb_store *store, int64_t account, int64_t balancer, int64_t month,
                              tb_balancer_month *ret, tb_error *err)
{
    struct tb__billing *b;
    tb__day_sums sums = {{0}};
    tb_evidence evidence;
    const int64_t known = store->back ? store->back : INT64_MAX;
    tb_code code = tb__billed_load(store, account, known, TB__NO_ZONES, &b, err);
    if (code) return code;
    b->n_late = 0;
    if (known < b->file_version) code = tb__late_load(store, account, month, known, err);
    if (code) return code;
    const tb__billed_balancer *own = find_balancer(b, balancer);
    if (!own)
        return tb_fail(err, TB_E_NOT_FOUND, "LoadBalancer", "There is no load balancer %lld.", (long long)balancer);
    const tb__day_span span = {month, tb_month_start_us(month) / TB_US_PER_HOUR,
                               tb_month_start_us(month + 1) / TB_US_PER_HOUR};
    code = tb__requests_of(store, own, span, &sums, err);
    if (code) return code;
    const tb__spell *last = &b->spells[own->spells.first + own->spells.n - 1];
    *ret = (tb_balancer_month){account, own->created_us, last->to_us, tb__days_total(&sums, span, &evidence)};
    return TB_OK;
}

tb_code tb_store_balancer_month(tb_store *store, int64_t account, int64_t balancer, int64_t month,
                                tb_balancer_month *ret, tb_error *err)
{
    tb_code code = tb__check_bill_month(month, err);
    if (code) return code;
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    if (own_snapshot) code = tb_store_read_begin(store, err);
    if (!code) code = balancer_month(store, account, balancer, month, ret, err);
    if (own_snapshot) tb_store_read_end(store);
    return code;
}
