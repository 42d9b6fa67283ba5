/* The input of a bill: an account's month, cut wherever its prices (bill_parts.c) or settings (bill_bytes.c) change.
 *
 * Seconds (optimizer, balancers) are cut at the moment itself, and counted as differences of whole seconds since the
 * month began, so that parts sum to the whole. A month without a cut, as nearly all are, reads one row for each zone
 * and edge location. */
#include "store/money/bill_making.h"

#include <string.h>

/* --- seconds --- */

/* How long a thing existed in [from, to) of its spells, in microseconds. */
static int64_t existed(const tb__making *m, tb__slice spells, int64_t from_us, int64_t to_us)
{
    int64_t sum = 0;
    for (size_t i = spells.first; i < spells.first + spells.n; i++) {
        int64_t from = tb__later(m->b->spells[i].from_us, from_us);
        int64_t to = tb__earlier(m->b->spells[i].to_us, to_us);
        if (from < to) sum += to - from;
    }
    return sum;
}

static tb_code add_optimizer(tb__making *m, const tb__billed_zone *zone, uint32_t part,
                             const tb__terms *t, int64_t seconds, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_bill_optimizer entry = {
        .zone = zone->id, .part = part, .seconds = seconds, .own_price = t->own_optimizer};
    if (seconds == 0) return TB_OK;
    if (t->own_optimizer) entry.monthly = t->optimizer_price;
    tb_bill_optimizer *last = b->n_optimizers ? &b->optimizers[b->n_optimizers - 1] : NULL;
    if (last && last->zone == zone->id && last->part == part &&
        last->own_price == entry.own_price &&
        tb_decimal_compare(last->monthly, entry.monthly) == 0) {
        last->seconds += seconds;
        return TB_OK;
    }
    tb_code code = TB__GROW(b, optimizers, err);
    if (!code) b->optimizers[b->n_optimizers++] = entry;
    return code;
}

/* One zone's settings, one after the other, within a part. *on_us: how long the optimizer was on
 * since the month began. */
static tb_code make_zone_seconds(tb__making *m, const tb__billed_zone *zone, uint32_t part,
                                 int64_t *on_us, tb_error *err)
{
    const tb__terms *list = m->b->terms + zone->terms.first;
    int64_t begin = m->b->parts[part].from_us;
    int64_t end = tb__earlier(m->b->parts[part].to_us, m->until_us);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < zone->terms.n; i++) {
        int64_t from = tb__later(list[i].from_us, begin);
        int64_t to = i + 1 < zone->terms.n ? tb__earlier(list[i + 1].from_us, end) : end;
        if (from >= to || (!list[i].enabled && !list[i].optimizer)) continue;
        int64_t span = existed(m, zone->spells, from, to);
        if (list[i].fault && span) return tb__fail_by(m->b, list[i].fault, err);
        if (list[i].enabled && span) m->active = true;
        if (!list[i].optimizer) continue;
        int64_t seconds = (*on_us + span) / TB_US_PER_S - *on_us / TB_US_PER_S;
        *on_us += span;
        code = add_optimizer(m, zone, part, &list[i], seconds, err);
    }
    return code;
}

static tb_code make_zones(tb__making *m, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->n_zones; i++) {
        int64_t on_us = 0;
        code = tb__bytes_make(m, &b->zones[i], err);
        for (uint32_t part = 0; !code && part < b->n_parts; part++)
            code = make_zone_seconds(m, &b->zones[i], part, &on_us, err);
    }
    return code;
}

/* --- balancers --- */

static tb_code make_balancer(tb__making *m, const tb__billed_balancer *own, uint32_t part,
                             int64_t *existed_us, tb_error *err)
{
    const tb_bill_part *p = &m->b->parts[part];
    tb__day_sums sums = {{0}};
    tb__day_span span = {m->month, p->from_us / TB_US_PER_HOUR,
                         tb__earlier(p->to_us / TB_US_PER_HOUR, m->usage_hour)};
    tb_bill_balancer entry = {.balancer = own->id, .part = part};
    tb_code code = tb__requests_of(m->store, own, span, &sums, err);
    if (!code) code = TB__GROW(m->b, bill_balancers, err);
    if (code) return code;
    int64_t before = *existed_us;
    *existed_us += existed(m, own->spells, p->from_us, tb__earlier(p->to_us, m->until_us));
    entry.seconds = *existed_us / TB_US_PER_S - before / TB_US_PER_S;
    entry.requests = tb__days_total(&sums, span, &entry.evidence);
    if (entry.seconds || entry.requests) m->b->bill_balancers[m->b->n_bill_balancers++] = entry;
    return TB_OK;
}

static tb_code make_balancers(tb__making *m, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->n_balancers; i++) {
        int64_t existed_us = 0;
        for (uint32_t part = 0; !code && part < b->n_parts; part++)
            code = make_balancer(m, &b->balancers[i], part, &existed_us, err);
    }
    return code;
}

/* --- fees --- */

/* What reads the parts of other months. */
typedef struct fee_months {
    tb__making *m;
    const tb_bill_query *query;
    const char *currency; /* of the month that is made: books of another price nothing */
} fee_months;

static tb_code prices_known(tb__making *m, int64_t *ret_priced, tb_error *err);

/* As its document has them: under the contract declared at its end, and at its prices. */
static tb_code read_other_parts(void *ctx, int64_t month, tb_error *err)
{
    const fee_months *of = ctx;
    struct tb__billing *b = of->m->b;
    tb__making other = *of->m;
    other.month = month;
    other.other = true;
    other.from_us = tb_month_start_us(month);
    other.to_us = tb_month_start_us(month + 1);
    const tb__account_terms *terms = tb__account_terms_at(b, tb_month_first_day(month + 1) * 24 - 1);
    const uint32_t contract = terms->fault[TB__PART_CONTRACT], currency = terms->fault[TB__PART_CURRENCY];
    if (contract || currency) return tb__fail_by(b, contract ? contract : currency, err);
    tb_code code = prices_known(&other, &other.priced, err);
    if (code) return code;
    tb_bill_part *const own = b->parts;
    const size_t n = b->n_parts, cap = b->cap_parts;
    b->parts = b->other_parts;
    b->cap_parts = b->cap_other_parts;
    code = tb__parts_make(&other, of->query, terms, err);
    if (!code && strcmp(terms->currency, of->currency) != 0)
        for (size_t i = 0; i < b->n_parts; i++)
            b->parts[i].book = NULL;
    b->other_parts = b->parts;
    b->n_other_parts = b->n_parts;
    b->cap_other_parts = b->cap_parts;
    b->parts = own;
    b->n_parts = n;
    b->cap_parts = cap;
    return code;
}

static tb_code make_fees(tb__making *m, const tb_bill_query *query, const tb__account_terms *terms, tb_error *err)
{
    fee_months of = {m, query, terms->currency};
    tb__fee_month month = {.b = m->b, .month = m->month, .until_us = m->until_us, .running = query->now_us < m->to_us,
                           .read_parts = read_other_parts, .ctx = &of, .other = INT64_MIN};
    return tb__fees_make(&month, err);
}

/* --- the whole --- */

static tb_code begin(tb__making *m, tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                     tb__zone_range zones, tb_error *err)
{
    int64_t known = watermark > INT64_MAX ? INT64_MAX : (int64_t)watermark;
    if (store->back) known = tb__earlier(known, store->back);
    *m = (tb__making){.store = store,
                  .month = month,
                  .from_us = tb_month_start_us(month),
                  .to_us = tb_month_start_us(month + 1)};
    m->from_hour = m->from_us / TB_US_PER_HOUR;
    m->to_hour = m->to_us / TB_US_PER_HOUR;
    m->usage_hour = m->to_hour;
    m->until_us = m->to_us;
    tb_code code = tb__billed_load(store, account, known, zones, &m->b, err);
    if (code) return code;
    if (m->b->n_account_terms == 0) return tb__no_account("Account", account, err);
    m->b->n_late = m->b->n_bytes = m->b->n_optimizers = m->b->n_bill_balancers = 0;
    m->b->n_bill_meters = m->b->n_bill_usage = m->b->n_bill_samples = m->b->n_intervals = 0;
    m->b->n_gauges = m->b->seen.n_gaps = m->b->n_used = 0;
    m->b->seen.any = false;
    return known < m->b->file_version ? tb__late_load(store, account, month, known, err) : TB_OK;
}

/* A month that is billed keeps the prices that were known when it was first billed: *ret_priced. It is billed by its
 * invoice or, where nothing was due, by the first valid correction of it (when looking back: valid then). */
static tb_code prices_known(tb__making *m, int64_t *ret_priced, tb_error *err)
{
    struct tb__billing *b = m->b;
    const int64_t values[3] = {b->account, m->month, b->known};
    bool back = b->known < (m->store->back ? m->store->back : b->file_version);
    int64_t billed = INT64_MAX;
    tb_code code = tb__int_of(m->store, back ? TB__SQL_PRICED_THEN : TB__SQL_PRICED_BY, values,
                              back ? 3 : 2, INT64_MAX, &billed, err);
    *ret_priced = tb__earlier(b->known, billed);
    return code;
}

void tb_store_let_regions_move(tb_store *store, bool move)
{
    store->regions_move = move;
}

/* usage_us: usage of earlier hours only. */
typedef struct asked {
    tb_bill_query of;
    bool net; /* without taxes */
    tb__zone_range zones;
    int64_t usage_us; /* TB_US_LAST: all */
} asked;

/* A month without its days would come to nothing. */
static tb_code check_kept(const struct tb__billing *b, int64_t month, tb_error *err)
{
    char first[8], text[8];
    if (month >= b->kept.days) return TB_OK;
    tb_month_format(b->kept.days, first);
    tb_month_format(month, text);
    return tb_fail(err, TB_E_NOT_KEPT, "month",
                   "The usage of account %lld in %s is no longer kept; that from %s on is.",
                   (long long)b->account, text, first);
}

/* Reads the account and the month's parts; the caller then reads the usage. */
static tb_code make_start(tb__making *m, tb_store *store, const asked *q,
                          const tb__account_terms **ret_terms, tb_error *err)
{
    tb_code code = begin(m, store, q->of.account, q->of.month, q->of.watermark, q->zones, err);
    if (!code) code = check_kept(m->b, q->of.month, err);
    if (!code) code = prices_known(m, &m->priced, err);
    if (!code)
        code = tb__places_load(store, store->regions_move ? m->b->known : m->priced, m->b->known, err);
    if (code) return code;
    *ret_terms = tb__account_terms_at(m->b, m->to_hour - 1);
    const uint32_t *fault = (*ret_terms)->fault;
    if (fault[TB__PART_CURRENCY]) return tb__fail_by(m->b, fault[TB__PART_CURRENCY], err);
    if (fault[TB__PART_CONTRACT]) return tb__fail_by(m->b, fault[TB__PART_CONTRACT], err);
    if (fault[TB__PART_TAX] && !q->net) return tb__fail_by(m->b, fault[TB__PART_TAX], err);
    m->until_us = tb__earlier(m->to_us, tb__later(q->of.now_us, m->from_us));
    m->usage_hour =
        tb__earlier(m->to_hour, tb__later(tb_hour_from_us(q->usage_us), m->from_hour));
    return tb__parts_make(m, &q->of, *ret_terms, err);
}

static tb_code make(tb_store *store, const asked *q, tb_bill_source *ret, tb_error *err)
{
    int64_t log = INT64_MIN; /* terms of documents, which the log of documents has, say where usage comes from */
    tb__making m;
    const tb__account_terms *terms;
    tb_code code = make_start(&m, store, q, &terms, err);
    if (!code && !q->net) code = tb__proof_open(store, &log, err);
    const bool origins = log != INT64_MIN;
    m.origins = origins;
    if (!code) code = make_zones(&m, err);
    if (!code) code = make_balancers(&m, err);
    const tb__month_span span = {m.month, m.from_us, m.usage_hour,
                                 tb__earlier(m.until_us, tb__later(q->usage_us, m.from_us)), origins};
    if (!code) code = tb__meters_make(store, &span, err);
    if (!code && terms->contract.percentile) code = tb__bandwidth_make(store, &span, &m.bandwidth, err);
    if (!code) code = make_fees(&m, &q->of, terms, err);
    if (!code) code = tb__bill_pack(&m, terms, q->of.now_us < m.to_us, q->net, ret, err);
    if (code || !origins) return code;
    code = tb__origins_make(m.b, m.month, ret, err);
    if (code) tb_bill_source_release(ret);
    return code;
}

/* Whether there is volume bandwidth: the charge of one zone then depends on the account's other zones. */
static bool is_shared(const struct tb__billing *b)
{
    for (size_t i = 0; i < b->n_bytes; i++)
        if (b->bytes[i].charge == TB_CHARGE_VOLUME) return true;
    return false;
}

tb_code tb_store_zones_input(tb_store *store, const tb_bill_query *query, int64_t first, int64_t last,
                             bool *ret_shared, tb_bill_source *ret_source, tb_error *err)
{
    const asked q = {*query, true, {first, last}, TB_US_LAST};
    tb__making m;
    const tb__account_terms *terms;
    tb_code code = make_start(&m, store, &q, &terms, err);
    if (!code) code = make_zones(&m, err);
    if (!code) code = make_fees(&m, query, terms, err);
    if (code) return code;
    *ret_shared = is_shared(m.b);
    return tb__bill_pack(&m, terms, query->now_us < m.to_us, true, ret_source, err);
}

tb_code tb__check_bill_month(int64_t month, tb_error *err)
{
    if (month >= 0 && month <= TB__BILL_MONTH_LAST) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "month", "Months from 1970-01 to 2299-12 can be billed.");
}

tb_code tb__usage_input(tb_store *store, const tb_bill_query *query, int64_t usage_us, tb_bill_source *ret_source,
                        tb_error *err)
{
    return make(store, &(asked){*query, true, TB__ALL_ZONES, usage_us}, ret_source, err);
}

static tb_code read_input(tb_store *store, const asked *q, tb_bill_source *ret_source,
                          tb_error *err)
{
    tb_code code = tb__check_bill_month(q->of.month, err);
    if (code) return code;
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    if (own_snapshot) code = tb_store_read_begin(store, err);
    if (!code) code = make(store, q, ret_source, err);
    if (!code) {
        code = tb__agreed_input(store, &q->of, q->usage_us, ret_source, err);
        if (code) tb_bill_source_release(ret_source);
    }
    if (own_snapshot) tb_store_read_end(store);
    return code;
}

tb_code tb_store_bill_input(tb_store *store, const tb_bill_query *query, tb_bill_source *ret_source,
                            tb_error *err)
{
    return tb_store_bill_input_until(store, query, TB_US_LAST, ret_source, err);
}

tb_code tb_store_net_input(tb_store *store, const tb_bill_query *query, tb_bill_source *ret_source,
                           tb_error *err)
{
    return read_input(store, &(asked){*query, true, TB__ALL_ZONES, TB_US_LAST}, ret_source, err);
}

tb_code tb_store_bill_input_until(tb_store *store, const tb_bill_query *query, int64_t usage_us,
                                  tb_bill_source *ret_source, tb_error *err)
{
    return read_input(store, &(asked){*query, false, TB__ALL_ZONES, usage_us}, ret_source, err);
}

/* --- accounts of a month --- */

tb_code tb_store_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                 size_t *ret_n, tb_error *err)
{
    tb_code code = tb__check_bill_month(month, err);
    if (code) return code;
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    if (own) code = tb_store_read_begin(store, err);
    if (!code) code = store->plane.counters->billed_accounts(store, month, ret_accounts, ret_n, err);
    if (own) tb_store_read_end(store);
    return code;
}

tb_code tb_store_invoiced_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                   size_t *ret_n, tb_error *err)
{
    return tb__list_ints(store, TB__SQL_INVOICED_ACCOUNTS, &month, 1, ret_accounts, ret_n, err);
}
