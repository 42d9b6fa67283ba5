/* The input of a bill: an account's month, cut wherever its prices or settings change.
 *
 * Parts of the month lie between price books. Within a part a zone's usage is cut again at the
 * first full hour under other settings, its own or its account's: an hour belongs to the settings
 * in force at its start. Seconds (optimizer, balancers) are cut at the moment itself, and counted
 * as differences of whole seconds since the month began, so that parts sum to the whole. A month
 * without a cut, as nearly all are, reads one row for each zone and edge location. */
#include "store/money/billing.h"
#include "store/usage/retain.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One account's month in the making. */
typedef struct making {
    tb_store *store;
    struct tb__billing *b;
    int64_t month, from_hour, to_hour; /* the month */
    int64_t from_us, to_us;
    int64_t usage_hour;  /* usage of hours before it counts */
    int64_t until_us; /* what exists now has existed until then: now, or the month's end */
    int64_t priced;   /* books up to this version count */
    bool active;
    bool book_missing; /* the contract's book is not there */
    tb_bill_samples bandwidth; /* where the contract bills it at a percentile */
    bool origins;      /* the places of usage are kept */
    bool other;        /* its parts are read for another month: books that are set aside count */
    tb_error *err;
} making;

/* --- books and parts --- */

/* Books that are not the store's (a scenario's) count always. */
static tb_code book_counts(making *m, const tb_book *book, bool *ret, tb_error *err)
{
    int64_t version = 0;
    sqlite3_stmt *s;
    bool row = false;
    *ret = true;
    if (m->priced == INT64_MAX) return TB_OK;
    tb_code code = tb__sql(m->store, TB__SQL_BOOK_VERSION, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, book->sha256, -1, SQLITE_STATIC);
    code = tb__step(m->store, s, &row, err);
    if (row) version = sqlite3_column_int64(s, 0);
    if (!code) sqlite3_reset(s);
    *ret = version <= m->priced;
    return code;
}

static tb_code add_part(making *m, const tb_book *book, int64_t from_us, tb_error *err)
{
    tb_code code = TB__GROW(m->b, parts, err);
    if (code) return code;
    m->b->parts[m->b->n_parts++] = (tb_bill_part){book, from_us, m->to_us};
    return TB_OK;
}

/* Puts a book into the parts, which stay ascending. The first part begins with the month, whenever
 * its book does: of two such books the later one is in force. */
static tb_code place_book(making *m, const tb_book *book, tb_error *err)
{
    struct tb__billing *b = m->b;
    int64_t from_us = tb__later(book->effective_us, m->from_us);
    size_t at = 0;
    while (at < b->n_parts && b->parts[at].from_us < from_us)
        at++;
    if (at < b->n_parts && b->parts[at].from_us == from_us) {
        tb_bill_part *there = &b->parts[at];
        if (!there->book || there->book->effective_us <= book->effective_us) there->book = book;
        return TB_OK;
    }
    tb_code code = add_part(m, book, from_us, err);
    if (code) return code;
    tb_bill_part added = b->parts[b->n_parts - 1];
    memmove(b->parts + at + 1, b->parts + at, (b->n_parts - 1 - at) * sizeof *b->parts);
    b->parts[at] = added;
    return TB_OK;
}

/* The currency's own books: those that are there for a contract alone are passed over. */
static tb_code place_books(making *m, const tb_bill_query *query, const char currency[4], tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < query->n_books; i++) {
        const tb_book *book = &query->books[i];
        bool counts = false;
        if ((book->aside && !m->other) || book->contract || book->effective_us >= m->to_us || strcmp(book->currency, currency) != 0)
            continue;
        code = book_counts(m, book, &counts, err);
        if (!code && counts) code = place_book(m, book, err);
    }
    return code;
}

/* The book that the contract names, NULL where there is none in the currency. */
static tb_code find_own(making *m, const tb_bill_query *query, const tb__account_terms *terms,
                        const tb_book **ret_own, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_own = NULL;
    for (size_t i = 0; !code && i < query->n_books; i++) {
        const tb_book *book = &query->books[i];
        bool counts = false;
        if ((book->aside && !m->other) || strcmp(book->id, terms->contract.book) != 0 ||
            strcmp(book->currency, terms->currency) != 0)
            continue;
        code = book_counts(m, book, &counts, err);
        if (!code && counts) *ret_own = book;
    }
    return code;
}

/* From its moment on the account's own book holds, and no other after it. */
static tb_code place_own(making *m, const tb_book *own, tb_error *err)
{
    struct tb__billing *b = m->b;
    const int64_t from_us = tb__later(own->effective_us, m->from_us);
    if (own->effective_us >= m->to_us) return TB_OK;
    while (b->n_parts && b->parts[b->n_parts - 1].from_us >= from_us)
        b->n_parts--;
    return add_part(m, own, from_us, err);
}

/* Books without a hash are not stored ones: they replace all others, the contract's too. */
static tb_code make_parts(making *m, const tb_bill_query *query, const tb__account_terms *terms,
                          tb_error *err)
{
    const bool replaced = query->n_books && !query->books[0].sha256[0];
    const bool named = terms->contract.book[0] && !replaced;
    const tb_book *own = NULL;
    m->b->n_parts = 0;
    tb_code code = add_part(m, NULL, m->from_us, err);
    if (!code && named) code = find_own(m, query, terms, &own, err);
    m->book_missing = named && !own;
    if (!code && !m->book_missing) code = place_books(m, query, terms->currency, err);
    if (!code && own) code = place_own(m, own, err);
    for (size_t i = 0; i + 1 < m->b->n_parts; i++)
        m->b->parts[i].to_us = m->b->parts[i + 1].from_us;
    return code;
}

/* --- terms in force --- */

/* The last of n terms whose first hour is not after `hour`; the first holds from the beginning. */
static const tb__terms *terms_at(const tb__billing *b, const tb__billed_zone *zone, int64_t hour)
{
    const tb__terms *list = b->terms + zone->terms.first;
    size_t i = zone->terms.n - 1;
    while (i > 0 && tb__hour_after(list[i].from_us) > hour)
        i--;
    return &list[i];
}

static const tb__account_terms *account_terms_at(const tb__billing *b, int64_t hour)
{
    size_t i = b->n_account_terms - 1;
    while (i > 0 && tb__hour_after(b->account_terms[i].from_us) > hour)
        i--;
    return &b->account_terms[i];
}

tb__rate tb__rate_at(const tb__billing *b, const tb__billed_zone *zone, int64_t hour)
{
    const tb__terms *own = terms_at(b, zone, hour);
    const tb__account_terms *account = account_terms_at(b, hour);
    tb__rate r = {.charge = own->volume ? TB_CHARGE_VOLUME : TB_CHARGE_PREMIUM,
                  .fault = own->fault};
    while (r.part + 1 < b->n_parts && b->parts[r.part + 1].from_us <= hour * TB_US_PER_HOUR)
        r.part++;
    if (tb_decimal_sign(own->override_price) > 0) {
        r.charge = TB_CHARGE_OVERRIDE;
        r.override_price = own->override_price;
    }
    if (r.charge != TB_CHARGE_PREMIUM) return r;
    for (int i = 0; i < TB_BILLING_REGION_COUNT; i++)
        r.discount[i] = (int)tb__later(own->discount[i], account->discount[i]);
    if (!r.fault) r.fault = account->fault[TB__PART_DISCOUNTS];
    return r;
}

static bool same_rate(const tb__rate *a, const tb__rate *b)
{
    return a->part == b->part && a->charge == b->charge && a->fault == b->fault &&
           memcmp(a->discount, b->discount, sizeof a->discount) == 0 &&
           tb_decimal_compare(a->override_price, b->override_price) == 0;
}

/* --- cuts --- */

static tb_code add_cut(making *m, int64_t hour, tb_error *err)
{
    struct tb__billing *b = m->b;
    if (hour <= m->from_hour || hour >= m->usage_hour) return TB_OK;
    tb_code code = TB__GROW(b, cuts, err);
    if (!code) b->cuts[b->n_cuts++] = hour;
    return code;
}

/* The hours at which something may change for a zone, and the end of usage last. */
static tb_code make_cuts(making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    b->n_cuts = 0;
    for (size_t i = 1; !code && i < b->n_parts; i++)
        code = add_cut(m, b->parts[i].from_us / TB_US_PER_HOUR, err);
    for (size_t i = 1; !code && i < zone->terms.n; i++)
        code = add_cut(m, tb__hour_after(b->terms[zone->terms.first + i].from_us), err);
    for (size_t i = 1; !code && i < b->n_account_terms; i++)
        code = add_cut(m, tb__hour_after(b->account_terms[i].from_us), err);
    if (!code) code = TB__GROW(b, cuts, err);
    if (code) return code;
    b->cuts[b->n_cuts++] = m->usage_hour;
    if (b->n_cuts > 1) qsort(b->cuts, b->n_cuts, sizeof *b->cuts, tb__by_int64);
    return TB_OK;
}

/* --- bytes --- */

const tb__billed_place *tb__place_of(const tb__billing *b, int64_t edge, tb_error *err)
{
    size_t lo = 0, hi = b->n_places;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (b->places[mid].edge < edge)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < b->n_places && b->places[lo].edge == edge) return &b->places[lo];
    tb_fail(err, TB_E_CORRUPT, "series", "Edge location %lld has no code.", (long long)edge);
    return NULL;
}

static tb_code add_bytes(making *m, const tb__billed_zone *zone, const tb__rate *r,
                         const tb__billed_place *place, const tb__day_sums *sums, tb__day_span span,
                         tb_error *err)
{
    tb_bill_bytes entry = {.zone = zone->id,
                           .part = r->part,
                           .charge = r->charge,
                           .priced = place->priced,
                           .override_price = r->override_price};
    entry.bytes = tb__days_total(sums, span, &entry.evidence);
    if (entry.bytes == 0) return TB_OK;
    if (r->fault) return tb__fail_by(m->b, r->fault, err);
    if (place->priced) {
        entry.region = place->region;
        entry.discount = r->discount[place->region];
    } else {
        memcpy(entry.location, place->code, sizeof entry.location);
    }
    tb_code code = TB__GROW(m->b, bytes, err);
    if (!code) m->b->bytes[m->b->n_bytes++] = entry;
    return code;
}

/* Adds one location's span to sums. */
static tb_code add_location(making *m, const tb__billed_zone *zone, size_t i, tb__day_span span,
                            tb__day_sums *sums, tb_error *err)
{
    const tb__placed *at = &m->b->series[zone->series.first + i];
    tb_code code = tb__days_add(m->store, at->series, TB_M_BYTES, m->b->days[i], span, sums, err);
    return code ? code
                : tb__days_take_late(m->b, TB__SCOPE_ZONE, zone->id, at->edge, 0, span, sums, err);
}

/* The same, and keeps the place where the location has usage in the span. */
static tb_code add_placed(making *m, const tb__billed_zone *zone, size_t i, const tb__billed_place *place,
                          tb__day_span span, tb__day_sums *sums, tb_error *err)
{
    tb__day_sums own = {{0}};
    bool used = false;
    if (!m->origins) return add_location(m, zone, i, span, sums, err);
    tb_code code = add_location(m, zone, i, span, &own, err);
    for (int day = 0; day < TB__MONTH_DAYS; day++) {
        sums->day[day] += own.day[day];
        used |= own.day[day] != 0;
    }
    if (code || !used) return code;
    code = TB__GROW(m->b, used, err);
    if (!code) m->b->used[m->b->n_used++] = (size_t)(place - m->b->places);
    return code;
}

/* A span's bytes: an entry for each billing region, and one for each location without. */
static tb_code make_span(making *m, const tb__billed_zone *zone, const tb__rate *r, tb__day_span span,
                         tb_error *err)
{
    tb__day_sums regions[TB_BILLING_REGION_COUNT];
    const tb__billed_place *seen[TB_BILLING_REGION_COUNT] = {NULL};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < zone->series.n; i++) {
        const tb__billed_place *place = tb__place_of(m->b, m->b->series[zone->series.first + i].edge, err);
        if (!place) return TB_E_CORRUPT;
        tb__day_sums own = {{0}}, *sums = place->priced ? &regions[place->region] : &own;
        if (place->priced && !seen[place->region]) memset(sums, 0, sizeof *sums);
        if (place->priced) seen[place->region] = place;
        code = add_placed(m, zone, i, place, span, sums, err);
        if (!code && !place->priced) code = add_bytes(m, zone, r, place, sums, span, err);
    }
    for (int i = 0; !code && i < TB_BILLING_REGION_COUNT; i++)
        if (seen[i]) code = add_bytes(m, zone, r, seen[i], &regions[i], span, err);
    return code;
}

static int by_part_charge_region(const void *a, const void *b)
{
    const tb_bill_bytes *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    if (x->charge != y->charge) return x->charge < y->charge ? -1 : 1;
    if (x->priced != y->priced) return x->priced ? -1 : 1;
    if (x->region != y->region) return x->region < y->region ? -1 : 1;
    int order = strcmp(x->location, y->location);
    if (order) return order;
    return x->evidence.from_us < y->evidence.from_us ? -1 : 1;
}

static tb_code read_days(making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    for (b->n_days = 0; !code && b->n_days < zone->series.n; b->n_days++) {
        code = TB__GROW(b, days, err);
        if (!code)
            code = m->store->plane.counters->days(m->store, b->series[zone->series.first + b->n_days].series,
                                 TB_M_BYTES, m->month, b->days[b->n_days], err);
    }
    return code;
}

static tb_code make_bytes(making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    size_t first = b->n_bytes;
    int64_t from = m->from_hour;
    if (!zone->series.n) return TB_OK;
    tb_code code = read_days(m, zone, err);
    tb__rate now = tb__rate_at(b, zone, from);
    for (size_t i = 0; !code && i < b->n_cuts; i++) {
        tb__rate next = i + 1 < b->n_cuts ? tb__rate_at(b, zone, b->cuts[i]) : now;
        if (b->cuts[i] == from || (i + 1 < b->n_cuts && same_rate(&now, &next))) continue;
        code = make_span(m, zone, &now, (tb__day_span){m->month, from, b->cuts[i]}, err);
        from = b->cuts[i];
        now = next;
    }
    if (!code && b->n_bytes - first > 1)
        qsort(b->bytes + first, b->n_bytes - first, sizeof *b->bytes, by_part_charge_region);
    return code;
}

/* --- seconds --- */

/* How long a thing existed in [from, to) of its spells, in microseconds. */
static int64_t existed(const making *m, tb__slice spells, int64_t from_us, int64_t to_us)
{
    int64_t sum = 0;
    for (size_t i = spells.first; i < spells.first + spells.n; i++) {
        int64_t from = tb__later(m->b->spells[i].from_us, from_us);
        int64_t to = tb__earlier(m->b->spells[i].to_us, to_us);
        if (from < to) sum += to - from;
    }
    return sum;
}

static tb_code add_optimizer(making *m, const tb__billed_zone *zone, uint32_t part,
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
static tb_code make_zone_seconds(making *m, const tb__billed_zone *zone, uint32_t part,
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

static tb_code make_zones(making *m, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->n_zones; i++) {
        int64_t on_us = 0;
        code = make_cuts(m, &b->zones[i], err);
        if (!code) code = make_bytes(m, &b->zones[i], err);
        for (uint32_t part = 0; !code && part < b->n_parts; part++)
            code = make_zone_seconds(m, &b->zones[i], part, &on_us, err);
    }
    return code;
}

/* --- balancers --- */

static tb_code make_balancer(making *m, const tb__billed_balancer *own, uint32_t part,
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

static tb_code make_balancers(making *m, tb_error *err)
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
    making *m;
    const tb_bill_query *query;
    const char *currency; /* of the month that is made: books of another price nothing */
} fee_months;

static tb_code prices_known(making *m, int64_t *ret_priced, tb_error *err);

/* As its document has them: under the contract declared at its end, and at its prices. */
static tb_code read_other_parts(void *ctx, int64_t month, tb_error *err)
{
    const fee_months *of = ctx;
    struct tb__billing *b = of->m->b;
    making other = *of->m;
    other.month = month;
    other.other = true;
    other.from_us = tb_month_start_us(month);
    other.to_us = tb_month_start_us(month + 1);
    const tb__account_terms *terms = account_terms_at(b, tb_month_first_day(month + 1) * 24 - 1);
    const uint32_t contract = terms->fault[TB__PART_CONTRACT], currency = terms->fault[TB__PART_CURRENCY];
    if (contract || currency) return tb__fail_by(b, contract ? contract : currency, err);
    tb_code code = prices_known(&other, &other.priced, err);
    if (code) return code;
    tb_bill_part *const own = b->parts;
    const size_t n = b->n_parts, cap = b->cap_parts;
    b->parts = b->other_parts;
    b->cap_parts = b->cap_other_parts;
    code = make_parts(&other, of->query, terms, err);
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

static tb_code make_fees(making *m, const tb_bill_query *query, const tb__account_terms *terms, tb_error *err)
{
    fee_months of = {m, query, terms->currency};
    tb__fee_month month = {.b = m->b, .month = m->month, .until_us = m->until_us, .running = query->now_us < m->to_us,
                           .read_parts = read_other_parts, .ctx = &of, .other = INT64_MIN};
    return tb__fees_make(&month, err);
}

/* --- packing --- */

static void *copy_to(char **at, const void *list, size_t n, size_t size)
{
    void *to = *at;
    if (n) memcpy(to, list, n * size);
    *at += (n * size + 15) / 16 * 16;
    return to;
}

/* NULL for "". */
static const char *copy_text(char **at, const char *text)
{
    return *text ? copy_to(at, text, strlen(text) + 1, 1) : NULL;
}

/* The month's contract. An account that was deleted by the month's end owes no commit for it, nor does an account
 * owe one for months before its first declaration, unless the contract has a first month. */
static tb_contract contract_of(const making *m, const tb__account_terms *terms)
{
    tb_contract c = terms->contract;
    if (tb__hour_after(terms->to_us) < m->to_hour) c.n_commits = 0;
    if (c.n_commits && c.commits[0].from == INT64_MIN) c.commits[0].from = tb_month_from_us(m->b->declared_us);
    return c;
}

/* Texts and values of meters, which are elsewhere now, move with the lists. */
static void pack_meters(const making *m, tb_bill_input *in, char **at)
{
    const tb__billing *b = m->b;
    const char *texts = b->n_bill_usage + b->n_bill_samples ? copy_to(at, b->metered.texts.data, b->metered.texts.len, 1) : NULL;
    const uint64_t *value = copy_to(at, b->intervals, b->n_intervals, sizeof *b->intervals);
    tb_bill_usage *usage = copy_to(at, b->bill_usage, b->n_bill_usage, sizeof *usage);
    tb_bill_samples *samples = copy_to(at, b->bill_samples, b->n_bill_samples, sizeof *samples);
    in->meters = copy_to(at, b->bill_meters, b->n_bill_meters, sizeof *b->bill_meters);
    in->n_meters = b->n_bill_meters;
    for (size_t i = 0; i < b->n_bill_usage; i++) {
        usage[i].resource = texts + (usage[i].resource - b->metered.texts.data);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            usage[i].dimension[k] = texts + (usage[i].dimension[k] - b->metered.texts.data);
    }
    for (size_t i = 0; i < b->n_bill_samples; i++) {
        samples[i].resource = texts + (samples[i].resource - b->metered.texts.data);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            samples[i].dimension[k] = texts + (samples[i].dimension[k] - b->metered.texts.data);
        samples[i].value = value;
        value += samples[i].n;
    }
    in->usage = usage;
    in->n_usage = b->n_bill_usage;
    in->samples = samples;
    in->n_samples = b->n_bill_samples;
    in->bandwidth = m->bandwidth;
    in->bandwidth.value = value;
}

static size_t packed_size(const tb__billing *b)
{
    return 256 + b->n_parts * sizeof *b->parts + b->n_bytes * sizeof *b->bytes +
           b->n_optimizers * sizeof *b->optimizers + b->n_bill_balancers * sizeof *b->bill_balancers +
           b->n_bill_fees * sizeof *b->bill_fees +
           b->n_bill_meters * sizeof *b->bill_meters + b->n_bill_usage * sizeof *b->bill_usage +
           b->n_bill_samples * sizeof *b->bill_samples + b->n_intervals * sizeof *b->intervals +
           (b->n_bill_usage + b->n_bill_samples ? b->metered.texts.len : 0) + TB_TAX_REASON_ROOM + TB_TAX_CODE_ROOM;
}

/* One block holds all lists: the input is its caller's. */
static tb_code pack(making *m, const tb__account_terms *terms, bool running, bool net,
                    tb_bill_source *ret, tb_error *err)
{
    struct tb__billing *b = m->b;
    char *memory = malloc(packed_size(b));
    if (!memory) return tb_no_memory(err);
    char *at = memory;
    *ret = (tb_bill_source){.memory = memory,
                            .watermark = (uint64_t)tb__earlier(b->known, b->file_version)};
    tb_bill_input *in = &ret->input;
    *in = (tb_bill_input){.account = b->account,
                          .month = m->month,
                          .contract = contract_of(m, terms),
                          .book_missing = m->book_missing,
                          .running = running,
                          .active_zone = m->active,
                          .percentile = terms->contract.percentile,
                          .n_parts = b->n_parts,
                          .n_bytes = b->n_bytes,
                          .n_optimizers = b->n_optimizers,
                          .n_balancers = b->n_bill_balancers,
                          .n_fees = b->n_bill_fees,
                          .n_tax = net ? 0 : terms->n_tax};
    memcpy(in->currency, terms->currency, sizeof in->currency);
    memcpy(in->tax, terms->tax, sizeof in->tax);
    in->parts = copy_to(&at, b->parts, b->n_parts, sizeof *b->parts);
    in->bytes = copy_to(&at, b->bytes, b->n_bytes, sizeof *b->bytes);
    in->optimizers = copy_to(&at, b->optimizers, b->n_optimizers, sizeof *b->optimizers);
    in->balancers = copy_to(&at, b->bill_balancers, b->n_bill_balancers, sizeof *b->bill_balancers);
    pack_meters(m, in, &at);
    in->fees = copy_to(&at, b->bill_fees, b->n_bill_fees, sizeof *b->bill_fees);
    in->tax_reason = copy_text(&at, terms->tax_reason);
    in->tax_reason_code = copy_text(&at, terms->tax_reason_code);
    return TB_OK;
}

void tb_bill_source_release(tb_bill_source *source)
{
    free(source->memory);
    free(source->origins_memory);
    *source = (tb_bill_source){.watermark = 0};
}

/* --- the whole --- */

static tb_code begin(making *m, tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                     tb__zone_range zones, tb_error *err)
{
    int64_t known = watermark > INT64_MAX ? INT64_MAX : (int64_t)watermark;
    if (store->back) known = tb__earlier(known, store->back);
    *m = (making){.store = store,
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
static tb_code prices_known(making *m, int64_t *ret_priced, tb_error *err)
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
static tb_code make_start(making *m, tb_store *store, const asked *q,
                          const tb__account_terms **ret_terms, tb_error *err)
{
    tb_code code = begin(m, store, q->of.account, q->of.month, q->of.watermark, q->zones, err);
    if (!code) code = check_kept(m->b, q->of.month, err);
    if (!code) code = prices_known(m, &m->priced, err);
    if (!code)
        code = tb__places_load(store, store->regions_move ? m->b->known : m->priced, m->b->known, err);
    if (code) return code;
    *ret_terms = account_terms_at(m->b, m->to_hour - 1);
    const uint32_t *fault = (*ret_terms)->fault;
    if (fault[TB__PART_CURRENCY]) return tb__fail_by(m->b, fault[TB__PART_CURRENCY], err);
    if (fault[TB__PART_CONTRACT]) return tb__fail_by(m->b, fault[TB__PART_CONTRACT], err);
    if (fault[TB__PART_TAX] && !q->net) return tb__fail_by(m->b, fault[TB__PART_TAX], err);
    m->until_us = tb__earlier(m->to_us, tb__later(q->of.now_us, m->from_us));
    m->usage_hour =
        tb__earlier(m->to_hour, tb__later(tb_hour_from_us(q->usage_us), m->from_hour));
    return make_parts(m, &q->of, *ret_terms, err);
}

static tb_code make(tb_store *store, const asked *q, tb_bill_source *ret, tb_error *err)
{
    int64_t log = INT64_MIN; /* terms of documents, which the log of documents has, say where usage comes from */
    making m;
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
    if (!code) code = pack(&m, terms, q->of.now_us < m.to_us, q->net, ret, err);
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
    making m;
    const tb__account_terms *terms;
    tb_code code = make_start(&m, store, &q, &terms, err);
    if (!code) code = make_zones(&m, err);
    if (!code) code = make_fees(&m, query, terms, err);
    if (code) return code;
    *ret_shared = is_shared(m.b);
    return pack(&m, terms, query->now_us < m.to_us, true, ret_source, err);
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
