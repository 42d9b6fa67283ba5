/* Requests that reached a load balancer, on the balancer's own axis for the month. One line per
 * balancer. */
#include "billing/draft.h"

#include <inttypes.h>

static bool belongs(const tb__draft *d, const tb_bill_balancer *e)
{
    return e->requests > 0 && tb__balancer_gap(d, e) == TB__PRICED;
}

/* Entries of one part make one span. */
static tb_code add_span(const tb__draft *d, tb__span *spans, size_t *n, const tb_bill_balancer *e)
{
    if (*n == 0 || spans[*n - 1].part != e->part)
        spans[(*n)++] = (tb__span){.part = e->part, .tiers = &tb__book(d, e->part)->balancer};
    if (__builtin_add_overflow(spans[*n - 1].units, e->requests, &spans[*n - 1].units))
        return tb_fail(d->err, TB_E_OVERFLOW, "requests",
                       "load_balancer:%" PRId64 ": The sum of requests passes 2^127-1.",
                       e->balancer);
    return TB_OK;
}

static tb_code balancer_line(tb__draft *d, const tb_bill_balancer *e, size_t n, tb__span *spans)
{
    size_t n_spans = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < n && !code; i++)
        if (belongs(d, &e[i])) code = add_span(d, spans, &n_spans, &e[i]);
    if (code || n_spans == 0) return code;
    code = tb__line_open(d, TB_LINE_BALANCER_REQUESTS, e->balancer, NULL,
                         tb__axis_rows(spans, n_spans));
    for (size_t i = 0; i < n && !code; i++)
        if (belongs(d, &e[i])) tb__line_evidence(d, &e[i].evidence);
    if (!code) code = tb__axis_rate(d, spans, n_spans);
    return code ? code : tb__line_close(d);
}

tb_code tb__bill_requests(tb__draft *d)
{
    const tb_bill_balancer *e = d->in->balancers;
    tb__span *spans = tb__arena_take(&d->arena, d->in->n_parts * sizeof *spans);
    if (!spans) return tb_no_memory(d->err);
    for (size_t first = 0, end; first < d->in->n_balancers; first = end) {
        for (end = first + 1; end < d->in->n_balancers && e[end].balancer == e[first].balancer;)
            end++;
        tb_code code = balancer_line(d, &e[first], end - first, spans);
        if (code) return code;
    }
    return TB_OK;
}
