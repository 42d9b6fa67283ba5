/* Reads the answer of GET /insights/why. Each `by` notes entries: what a zone, a region, a day has in one of the two
 * spans. Entries with one key become a part; answer.h ranks the parts. */
#include "tollbook/statistics.h"
#include "tollbook/issue.h"
#include "tollbook/meterstore.h"
#include "tollbook/retain.h"

#include "base/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_ROOM 80 /* a zone's number, a region's code, a kind of line, a meter, an hour */

typedef enum side { NOW, BEFORE, SPANS } side;

typedef struct entry {
    char key[KEY_ROOM];
    int64_t order; /* a zone's number; a day's place */
    side of;
    tb_why_side had;
} entry;

typedef struct reading {
    tb_store *store;
    const tb_why_query *ask;
    tb_scope scope;
    tb_range range[SPANS]; /* whole days as days */
    entry *entries;
    size_t n, cap;
    tb_why_side total[SPANS];
    tb_region_summed *regions[SPANS];
    size_t n_regions[SPANS];
    tb_why_part *parts;
    char (*keys)[KEY_ROOM]; /* of the parts */
    tb_buf names;
    tb_month_books books;
    size_t n_bills; /* of a fleet, so far */
    char currency[4]; /* of the bills so far */
    int digits;
    tb_error *err;
} reading;

static tb_code note(reading *r, side of, const char *key, int64_t order, tb_why_side had)
{
    if (!had.value && !had.weight) return TB_OK;
    tb_code code = tb__grow(&r->entries, r->n, &r->cap, sizeof *r->entries, r->err);
    if (code) return code;
    entry *e = &r->entries[r->n++];
    *e = (entry){.order = order, .of = of, .had = had};
    snprintf(e->key, sizeof e->key, "%s", key);
    return TB_OK;
}

static tb_code note_id(reading *r, side of, int64_t id, tb_why_side had)
{
    char key[KEY_ROOM] = "";
    if (id) snprintf(key, sizeof key, "%" PRId64, id);
    return note(r, of, key, id, had);
}

/* --- traffic --- */

/* Whole days as days: these are kept longest, and are the fewest rows. */
static tb_range in_days(tb_range hours)
{
    if (hours.first % 24 || hours.count % 24) return hours;
    return (tb_range){hours.first / 24, hours.count / 24, false};
}

/* A span as days and the hours at its ends: one to three ranges. */
static int cut(tb_range r, tb_range out[SPANS + 1])
{
    const int64_t end = r.first + r.count, day = (r.first + 23) / 24, last = end / 24;
    int n = 0;
    if (!r.hourly || day >= last) {
        out[0] = r;
        return 1;
    }
    if (r.first < day * 24) out[n++] = (tb_range){r.first, (uint32_t)(day * 24 - r.first), true};
    out[n++] = (tb_range){day, (uint32_t)(last - day), false};
    if (last * 24 < end) out[n++] = (tb_range){last * 24, (uint32_t)(end - last * 24), true};
    return n;
}

static tb_code check_kept(const reading *r)
{
    tb_kept kept;
    tb_range parts[SPANS + 1];
    tb_code code = tb_store_kept(r->store, r->scope.account, &kept, r->err);
    for (int of = 0; !code && of < SPANS; of++) {
        const tb_range range = r->ask->by == TB_WHY_HOUR ? (of ? r->ask->before : r->ask->now) : r->range[of];
        const int n = r->ask->by == TB_WHY_HOUR ? (parts[0] = range, 1) : cut(range, parts);
        for (int i = 0; !code && i < n; i++)
            if (parts[i].hourly && tb_month_from_day(parts[i].first / 24) < kept.hours)
                code = tb_fail(r->err, TB_E_DATE_RANGE, of ? "against_from" : "from",
                               "Hours of this time are no longer kept. Ask for whole days.");
    }
    return code;
}

/* By day and hour: buckets by their place in the span, with the times of `now`. */
static tb_code note_buckets(reading *r, side of, const tb_series *series)
{
    const bool hour = r->ask->by == TB_WHY_HOUR;
    const int64_t unit = hour ? 1 : 24, first = (of == NOW ? r->ask->now : r->ask->before).first / unit;
    const int field = r->ask->field;
    tb_code code = TB_OK;
    for (uint32_t i = 0; !code && i < series->range.count; i++) {
        const int64_t at = series->range.first + i, place = (series->range.hourly ? at / unit : at) - first;
        tb_u128 sum[TB_METRIC_COUNT];
        char text[20], key[KEY_ROOM];
        for (uint32_t left = tb_why_metrics(field); left; left &= left - 1)
            sum[__builtin_ctz(left)] = series->value[__builtin_ctz(left)][i];
        tb_time_format((r->ask->now.first / unit + place) * unit * TB_US_PER_HOUR, text);
        snprintf(key, sizeof key, "%.*s", hour ? 13 : 10, text);
        code = note(r, of, key, place, tb_why_side_of(field, sum));
    }
    return code;
}

/* The sum of status classes: of requests. */
static tb_code note_status(reading *r, side of, const tb_u128 sum[TB_METRIC_COUNT])
{
    static const tb_metric of_class[] = {TB_M_STATUS_3XX, TB_M_STATUS_4XX, TB_M_STATUS_5XX};
    tb_i128 left = (tb_i128)sum[TB_M_REQUESTS];
    tb_code code = TB_OK;
    for (int i = 0; !code && i < 3; i++) {
        const char key[] = {(char)('3' + i), 'x', 'x', 0};
        left -= (tb_i128)sum[of_class[i]];
        code = note(r, of, key, i + 3, (tb_why_side){(tb_i128)sum[of_class[i]], 0});
    }
    return code ? code : note(r, of, "2xx", 2, (tb_why_side){left, 0});
}

/* The total, and what a series tells: buckets, status. */
static tb_code read_total(reading *r, side of)
{
    const int field = r->ask->field;
    const bool hour = r->ask->by == TB_WHY_HOUR, status = r->ask->by == TB_WHY_STATUS;
    const uint32_t metrics = tb_why_metrics(field) |
                             (status ? TB_METRIC_BIT(TB_M_STATUS_3XX) | TB_METRIC_BIT(TB_M_STATUS_4XX) |
                                           TB_METRIC_BIT(TB_M_STATUS_5XX)
                                     : 0);
    tb_u128 sum[TB_METRIC_COUNT] = {0};
    tb_range parts[SPANS + 1] = {of == NOW ? r->ask->now : r->ask->before};
    const int n = hour ? 1 : cut(r->range[of], parts);
    tb_code code = TB_OK;
    for (int i = 0; !code && i < n; i++) {
        tb_series series;
        code = tb_series_init(&series, parts[i], metrics, NULL, r->err);
        if (code) return code;
        code = tb_store_scope_series(r->store, &r->scope, &series, r->err);
        for (uint32_t left = metrics; left; left &= left - 1)
            sum[__builtin_ctz(left)] += tb_series_total(&series, (tb_metric)__builtin_ctz(left));
        if (!code && (hour || r->ask->by == TB_WHY_DAY)) code = note_buckets(r, of, &series);
        tb_series_release(&series);
    }
    r->total[of] = tb_why_side_of(field, sum);
    return code || !status ? code : note_status(r, of, sum);
}

static tb_code read_regions(reading *r, side of)
{
    tb_code code = tb_store_scope_regions(r->store, &r->scope, r->range[of], tb_why_metrics(r->ask->field),
                                          &r->regions[of], &r->n_regions[of], r->err);
    for (size_t i = 0; !code && i < r->n_regions[of]; i++)
        code = note(r, of, r->regions[of][i].code, 0, tb_why_side_of(r->ask->field, r->regions[of][i].of.sum));
    return code;
}

/* Zones, or accounts. */
static tb_code read_zones(reading *r, side of)
{
    const uint32_t metrics = tb_why_metrics(r->ask->field);
    const tb_zone_question q = {.scope = r->scope, .range = r->range[of], .metrics = metrics, .shown = metrics};
    tb_zone_sums sums;
    tb_code code = r->ask->by == TB_WHY_ACCOUNT ? tb_store_account_sums(r->store, &q, &sums, r->err)
                                                : tb_store_zone_sums(r->store, &q, &sums, r->err);
    if (code) return code;
    const tb_u128 *value = sums.sums;
    for (size_t i = 0; !code && i < sums.n; i++) {
        tb_u128 sum[TB_METRIC_COUNT] = {0};
        for (uint32_t left = metrics; left; left &= left - 1)
            sum[__builtin_ctz(left)] = *value++;
        code = note_id(r, of, sums.zones[i].id, tb_why_side_of(r->ask->field, sum));
    }
    tb_zone_sums_release(&sums);
    return code;
}

static tb_code read_traffic(reading *r)
{
    const tb_why_by by = r->ask->by;
    tb_code code = check_kept(r);
    for (int of = 0; !code && of < SPANS; of++) {
        code = read_total(r, (side)of);
        if (!code && by == TB_WHY_REGION) code = read_regions(r, (side)of);
        if (!code && (by == TB_WHY_ZONE || by == TB_WHY_ACCOUNT)) code = read_zones(r, (side)of);
    }
    return code;
}

/* --- charges --- */

/* A bill's lines, and what its volume is made of by region. */
typedef struct lines {
    int64_t account;
    const tb_bill *bill;
    const tb_bill_input *input; /* NULL: not at hand */
    side of;
} lines;

/* In minor units. */
static tb_code note_amount(reading *r, const lines *l, const char *key, int64_t id, tb_decimal amount)
{
    tb_decimal money;
    tb_code code = tb_decimal_round(amount, r->digits, TB_HALF_UP, &money, r->err);
    if (code) return code;
    r->total[l->of].value += money.mantissa;
    const tb_why_side had = {money.mantissa, 0};
    return key ? note(r, l->of, key, 0, had) : note_id(r, l->of, id, had);
}

static bool is_chosen(const reading *r, int64_t zone)
{
    return r->scope.zone == TB_ALL || r->scope.zone == zone;
}

/* A volume line's amount, or a zone's share of it, by the bytes of its regions: what the amount comes to with each
 * further region, less what it came to before. */
static tb_code note_volume_regions(reading *r, const lines *l, int64_t zone, tb_i128 quantity, tb_decimal amount)
{
    tb_i128 bytes[TB_BILLING_REGION_COUNT] = {0}, all = 0, upto = 0;
    tb_decimal given = {0, r->digits}, next, part;
    for (size_t i = 0; l->input && i < l->input->n_bytes; i++) {
        const tb_bill_bytes *b = &l->input->bytes[i];
        if (b->charge != TB_CHARGE_VOLUME || !b->priced || (zone != TB_ALL && b->zone != zone)) continue;
        bytes[b->region] += b->bytes;
        all += b->bytes;
    }
    if (all != quantity || !all) return note_amount(r, l, "", 0, amount);
    tb_code code = TB_OK;
    for (int i = 0; !code && i < TB_BILLING_REGION_COUNT; i++) {
        upto += bytes[i];
        code = tb_decimal_divide(amount, upto, all, r->digits, TB_HALF_UP, &next, r->err);
        if (!code) code = tb_decimal_sub(next, given, &part, r->err);
        if (!code) code = note_amount(r, l, tb_billing_region_name((tb_billing_region)i), 0, part);
        given = next;
    }
    return code;
}

static tb_code note_volume(reading *r, const lines *l, const tb_bill_line *line)
{
    const bool region = r->ask->by == TB_WHY_REGION;
    tb_code code = TB_OK;
    if (region && r->scope.zone == TB_ALL) return note_volume_regions(r, l, TB_ALL, line->quantity, line->amount);
    for (size_t i = 0; !code && i < line->n_shares; i++) {
        const tb_bill_share *share = &line->shares[i];
        if (!is_chosen(r, share->zone)) continue;
        if (region) code = note_volume_regions(r, l, share->zone, share->bytes, share->amount);
        else if (r->ask->by == TB_WHY_ZONE) code = note_amount(r, l, NULL, share->zone, share->amount);
        else code = note_amount(r, l, tb_line_kind_name(line->kind), 0, share->amount);
    }
    return code;
}

/* The product of a line: its kind, but each meter, with its minimum, and each recurring fee is one of its own. */
static const char *product_of(const tb_bill_line *line, char key[KEY_ROOM])
{
    if (!line->item || !*line->item->id) return tb_line_kind_name(line->kind);
    snprintf(key, KEY_ROOM, "%s:%s", tb_line_kind_of(line->kind)->item, line->item->id);
    return key;
}

static tb_code note_line(reading *r, const lines *l, const tb_bill_line *line)
{
    const bool of_zone = strncmp(line->resource, "zone:", 5) == 0;
    const tb_why_by by = r->ask->by;
    char key[KEY_ROOM];
    if (by == TB_WHY_ACCOUNT) return note_amount(r, l, NULL, l->account, line->amount);
    if (line->n_shares && (by != TB_WHY_PRODUCT || r->scope.zone != TB_ALL)) return note_volume(r, l, line);
    if (r->scope.zone != TB_ALL && !(of_zone && line->id == r->scope.zone)) return TB_OK;
    if (by == TB_WHY_ZONE) return note_amount(r, l, NULL, of_zone ? line->id : 0, line->amount);
    return note_amount(r, l, by == TB_WHY_REGION ? line->region : product_of(line, key), 0, line->amount);
}

static tb_code note_lines(reading *r, const lines *l, const char currency[4])
{
    tb_code code = TB_OK;
    if (!l->bill->n_lines || (r->ask->currency[0] && strcmp(r->ask->currency, currency) != 0)) return TB_OK;
    if (!r->currency[0]) {
        memcpy(r->currency, currency, sizeof r->currency);
        r->digits = tb_currency_minor_digits(currency);
    }
    if (strcmp(r->currency, currency) != 0)
        return tb_fail(r->err, TB_E_VALIDATION, "currency", "There are charges in %s and in %s: choose one, such as "
                       "currency=%s.", r->currency, currency, r->currency);
    for (size_t i = 0; !code && i < l->bill->n_lines; i++)
        code = note_line(r, l, &l->bill->lines[i]);
    return code;
}

static bool has_volume(const tb_bill *bill)
{
    for (size_t i = 0; i < bill->n_lines; i++)
        if (bill->lines[i].n_shares) return true;
    return false;
}

/* Of the document. Its month is read again only for the regions of volume, as it was billed. */
static tb_code read_invoice(reading *r, side of, const tb_invoice *invoice)
{
    tb_paper paper;
    tb_bill_source source = {0};
    const tb_bill_query query = {invoice->account, invoice->month, invoice->watermark, r->books.list, r->books.n,
                                 r->ask->now_us};
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, r->err);
    if (code) return code;
    const bool regions = r->ask->by == TB_WHY_REGION && has_volume(&paper.bill);
    if (regions) code = tb_store_net_input(r->store, &query, &source, r->err);
    const lines l = {invoice->account, &paper.bill, regions ? &source.input : NULL, of};
    if (!code) code = note_lines(r, &l, paper.statement.currency);
    if (regions && source.memory) tb_bill_source_release(&source);
    tb_paper_release(&paper);
    return code;
}

static tb_code read_bill(reading *r, side of, int64_t account, int64_t month)
{
    const tb_bill_query query = {account, month, TB_NOW, r->books.list, r->books.n, r->ask->now_us};
    tb_month_bill bill;
    tb_code code = tb_month_net_read(r->store, &query, &bill, r->err);
    if (code) return code;
    const lines l = {account, &bill.bill, &bill.source.input, of};
    code = note_lines(r, &l, bill.source.input.currency);
    tb_month_bill_release(&bill);
    return code;
}

static tb_code read_account_month(reading *r, side of, int64_t account, int64_t month)
{
    tb_invoice invoice;
    tb_issue_outcome outcome;
    char number[24];
    tb_code code = tb_issue_done(r->store, account, month, &invoice, number, &outcome, r->err);
    if (code) return code;
    if (outcome != TB_ISSUE_KNOWN) return read_bill(r, of, account, month);
    code = read_invoice(r, of, &invoice);
    tb_invoice_release(&invoice);
    return code;
}

static int64_t month_of(int64_t hour)
{
    return tb_month_from_day(hour / 24);
}

static tb_code read_bills(reading *r, side of, int64_t month)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    if (r->scope.account != TB_ALL) return read_account_month(r, of, r->scope.account, month);
    tb_code code = tb_issue_accounts(r->store, month, 0, &accounts, &n, r->err);
    r->n_bills += n;
    if (!code && r->n_bills > TB_WHY_FLEET_BILLS)
        code = tb_fail(r->err, TB_E_VALIDATION, "account", "At most %d bills are compared: name an account, or fewer months.",
                       TB_WHY_FLEET_BILLS);
    for (size_t i = 0; !code && i < n; i++)
        code = read_account_month(r, of, accounts[i], month);
    free(accounts);
    return code;
}

static tb_code read_charges(reading *r)
{
    tb_code code = tb_month_books_read(r->store, &r->books, r->err);
    r->digits = 2;
    for (int of = 0; !code && of < SPANS; of++) {
        const tb_range *hours = of == NOW ? &r->ask->now : &r->ask->before;
        const int64_t last = month_of(hours->first + hours->count - 1);
        for (int64_t month = month_of(hours->first); !code && month <= last; month++)
            code = read_bills(r, (side)of, month);
    }
    return code;
}

/* --- parts --- */

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return strcmp(x->key, y->key);
}

static tb_code make_parts(reading *r, size_t *ret_n)
{
    size_t n = 0;
    if (r->n) qsort(r->entries, r->n, sizeof *r->entries, by_key);
    r->parts = calloc(r->n + 1, sizeof *r->parts);
    r->keys = calloc(r->n + 1, sizeof *r->keys);
    if (!r->parts || !r->keys) return tb_no_memory(r->err);
    for (size_t i = 0; i < r->n; i++) {
        const entry *e = &r->entries[i];
        if (!n || by_key(&r->entries[i - 1], e) != 0) {
            memcpy(r->keys[n], e->key, sizeof e->key);
            r->parts[n] = (tb_why_part){.key = r->keys[n], .name = r->keys[n], .order = e->order};
            n++;
        }
        tb_why_side *sum = e->of == NOW ? &r->parts[n - 1].now : &r->parts[n - 1].before;
        sum->value += e->had.value;
        sum->weight += e->had.weight;
    }
    *ret_n = n;
    return TB_OK;
}

/* The name of a meter, as it is declared, or of a fee, as the latest book has it; else the key. */
static tb_code name_product(reading *r, const char *key)
{
    tb_meter meter;
    const char *name = key;
    if (strncmp(key, "meter:", 6) == 0) {
        tb_code code = tb_store_meter(r->store, key + 6, &meter, r->err);
        if (!code) name = meter.name;
        else if (code != TB_E_NOT_FOUND) return code;
    }
    for (size_t i = 0; strncmp(key, "fee:", 4) == 0 && i < r->books.n; i++)
        for (size_t k = 0; k < r->books.list[i].n_fees; k++)
            if (strcmp(r->books.list[i].fees[k].id, key + 4) == 0) name = r->books.list[i].fees[k].name;
    tb_buf_add(&r->names, name, strlen(name) + 1);
    return TB_OK;
}

/* Of the parts that are shown. A key that names none ("": of no zone) has an empty name. */
static tb_code name_parts(reading *r, tb_why *why)
{
    int64_t id[TB_WHY_TOP];
    tb_code code = TB_OK;
    for (size_t i = 0; i < why->n; i++) {
        tb_why_part *part = &why->parts[i];
        id[i] = part->order;
        for (int of = 0; r->ask->by == TB_WHY_REGION && of < SPANS; of++)
            for (size_t k = 0; k < r->n_regions[of]; k++)
                if (strcmp(r->regions[of][k].code, part->key) == 0) part->name = r->regions[of][k].name;
    }
    const tb_zone_ids ids = {id, why->n};
    if (r->ask->by == TB_WHY_ZONE) code = tb_store_zone_names(r->store, &ids, &r->names, r->err);
    else if (r->ask->by == TB_WHY_ACCOUNT) code = tb_store_account_names(r->store, &ids, &r->names, r->err);
    else if (r->ask->by == TB_WHY_PRODUCT)
        for (size_t i = 0; !code && i < why->n; i++)
            code = name_product(r, why->parts[i].key);
    else return TB_OK;
    if (!code) code = tb_buf_check(&r->names, r->err);
    const char *name = r->names.data;
    for (size_t i = 0; !code && i < why->n; name += strlen(name) + 1)
        why->parts[i++].name = name;
    return code;
}

static void release_reading(reading *r)
{
    free(r->entries);
    free(r->parts);
    free(r->keys);
    for (int of = 0; of < SPANS; of++)
        free(r->regions[of]);
    tb_month_books_release(&r->books);
    tb_buf_release(&r->names);
}

tb_code tb_why_in(tb_store *store, const tb_why_query *ask, tb_buf *out, tb_error *err)
{
    reading r = {.store = store, .ask = ask, .scope = ask->scope, .err = err,
                 .range = {in_days(ask->now), in_days(ask->before)}};
    const bool charges = ask->field == TB_WHY_CHARGES;
    size_t n = 0;
    tb_buf_init(&r.names, TB_WHY_TOP * 1024, NULL);
    tb_code code = tb_insights_scope(store, &r.scope, err);
    if (!code) code = charges ? read_charges(&r) : read_traffic(&r);
    if (!code) code = make_parts(&r, &n);
    tb_why why = {.field = ask->field, .digits = charges ? r.digits : 0, .currency = r.currency[0] ? r.currency : NULL,
                  .total = {.now = r.total[NOW], .before = r.total[BEFORE]}, .parts = r.parts};
    if (!code) tb_why_rank(&why, n, (size_t)ask->top);
    if (!code) code = name_parts(&r, &why);
    if (!code) code = tb_why_encode(&why, out, err);
    release_reading(&r);
    return code;
}

/* --- what may be asked --- */

static bool is_months(tb_range hours)
{
    const int64_t end = hours.first + hours.count;
    return hours.first % 24 == 0 && end % 24 == 0 && tb_day_of_month(hours.first / 24) == 0 &&
           tb_day_of_month(end / 24) == 0;
}

static tb_code check_charges(const tb_why_query *q, tb_error *err)
{
    if (q->by == TB_WHY_STATUS || q->by == TB_WHY_DAY || q->by == TB_WHY_HOUR)
        return tb_fail(err, TB_E_VALIDATION, "by", "Charges are split by zone, product, region or account.");
    if (q->scope.region && *q->scope.region)
        return tb_fail(err, TB_E_VALIDATION, "region", "Charges take no region; ask with by=region.");
    if (!is_months(q->now))
        return tb_fail(err, TB_E_VALIDATION, "from", "Charges take whole months, such as from=2026-10-01&to=2026-10-31.");
    if (!is_months(q->before))
        return tb_fail(err, TB_E_VALIDATION, "against_from", "Charges take whole months, such as "
                       "against_from=2026-09-01&against_to=2026-09-30.");
    if (q->now.count > 366 * 24 || q->before.count > 366 * 24)
        return tb_fail(err, TB_E_VALIDATION, q->now.count > 366 * 24 ? "from" : "against_from",
                       "Charges of twelve months are compared at most.");
    const int64_t running = tb_month_from_us(q->now_us);
    if (month_of(q->now.first + q->now.count - 1) > running || month_of(q->before.first + q->before.count - 1) > running)
        return tb_fail(err, TB_E_DATE_RANGE, month_of(q->now.first + q->now.count - 1) > running ? "to" : "against_to",
                       "Charges go up to the running month.");
    return TB_OK;
}

tb_code tb_why_check(const tb_why_query *q, tb_error *err)
{
    const bool hour = q->by == TB_WHY_HOUR;
    if (q->by == TB_WHY_ACCOUNT && (q->scope.account != TB_ALL || q->scope.zone != TB_ALL))
        return tb_fail(err, TB_E_VALIDATION, "by", "by=account is of all accounts: leave out account and zone.");
    if (q->field == TB_WHY_CHARGES) return check_charges(q, err);
    if (q->by == TB_WHY_PRODUCT) return tb_fail(err, TB_E_VALIDATION, "by", "by=product is for charges alone.");
    if (q->by == TB_WHY_STATUS && !(tb_why_metrics(q->field) == TB_METRIC_BIT(TB_M_REQUESTS)))
        return tb_fail(err, TB_E_VALIDATION, "by", "by=status is for requests alone.");
    if (!hour && q->by != TB_WHY_DAY) return TB_OK;
    if (q->now.count != q->before.count || (!hour && q->now.first % 24 != q->before.first % 24))
        return tb_fail(err, TB_E_VALIDATION, "against_from", hour ?
                       "By hour both spans have the same length." :
                       "By day both spans have the same length, and begin at the same hour.");
    if (hour && q->now.count > TB_PERIOD_POINTS)
        return tb_fail(err, TB_E_DATE_RANGE, "from", "That is more than %d hours. Ask by day.", TB_PERIOD_POINTS);
    return TB_OK;
}
