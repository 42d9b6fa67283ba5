/* A line's usage by days, the hours in which the thresholds of its tiers were crossed, and the flats of these tiers. A
 * correction is explained by the month it corrects, as it stood when the correction was billed.
 *
 * The store cuts a month's usage where a book comes into force. So books that price nothing, one
 * for each day, and then one for each hour of the days that matter, give the usage of each as a
 * part of its own, chosen and attributed by the very code that bills it. */
#include "tollbook/issue.h"

#include "billing/rates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/retain.h"
#include "tollbook/tariff.h"

#define DAYS  31
#define HOURS 24

typedef struct explained {
    tb_store *store;
    const tb_statement *s;
    size_t index;
    const tb_bill_line *line;
    tb_line_kind kind; /* of the line, or of the one that it corrects */
    tb_line_basis basis;
    int64_t month;
    uint64_t watermark;
    int64_t now_us;
    size_t n_days;
    tb_i128 day[DAYS];
    tb_kept kept;
    bool gone; /* the days have expired: only the line's own evidence is left */
    char by[TB_METER_VALUE_MAX + 1]; /* a meter's line: the dimension whose value is the line's region; "": none is known */
    bool *has_line; /* a meter's line, by book of the statement: it has lines of this scope and `by`. NULL: all have */
    int64_t hours_of; /* a day, since 1970; TB_EXPLAIN_NO_DAY: none */
    tb_buf *out;
    tb_error *err;
} explained;

/* --- usage by parts --- */

/* Whether hours add up to the line. */
static bool has_usage(const explained *e)
{
    return e->basis == TB_BASIS_USAGE;
}

/* Whether usage of a meter is of the line: of all resources or of one, and of all values of a dimension or of one. */
static bool is_metered(const explained *e, const tb_bill_input *in, const tb_bill_usage *u)
{
    const tb_meter *meter = &in->meters[u->meter];
    const tb_bill_line *line = e->line;
    const char *name = strchr(line->resource, ':');
    if (!line->item || !name || strcmp(line->item->id, meter->id) != 0) return false;
    const bool whole = strncmp(line->resource, "meter:", 6) == 0 && strcmp(name + 1, meter->id) == 0;
    if (!whole && strcmp(name + 1, u->resource) != 0) return false;
    bool found = !e->by[0] && !line->region[0];
    for (int i = 0; i < meter->n_dimensions; i++)
        if (!e->by[0] || strcmp(meter->dimension[i], e->by) == 0) found |= strcmp(u->dimension[i], line->region) == 0;
    return found;
}

static bool is_of(const explained *e, const tb_bill_bytes *b)
{
    if (!b->priced) return false;
    if (e->kind == TB_LINE_VOLUME) return b->charge == TB_CHARGE_VOLUME;
    tb_charge charge = e->kind == TB_LINE_OVERRIDE ? TB_CHARGE_OVERRIDE : TB_CHARGE_PREMIUM;
    return b->charge == charge && b->zone == e->line->id &&
           strcmp(tb_billing_region_name(b->region), e->line->region) == 0;
}

static void add_parts(const explained *e, const tb_bill_input *in, tb_i128 *sums)
{
    switch (e->kind) {
    case TB_LINE_METER:
        for (size_t i = 0; i < in->n_usage; i++)
            if (is_metered(e, in, &in->usage[i])) sums[in->usage[i].part] += in->usage[i].quantity;
        break;
    case TB_LINE_BALANCER_REQUESTS:
        for (size_t i = 0; i < in->n_balancers; i++)
            if (in->balancers[i].balancer == e->line->id) sums[in->balancers[i].part] += in->balancers[i].requests;
        break;
    default:
        for (size_t i = 0; i < in->n_bytes; i++)
            if (is_of(e, &in->bytes[i])) sums[in->bytes[i].part] += in->bytes[i].bytes;
    }
}

/* Where usage is cut: at the moments that are asked for, and where a book begins that may have no such line. */
typedef struct cuts {
    tb_book *books;
    tb_i128 *sums;
    size_t n;
} cuts;

static tb_code read_cuts(const explained *e, cuts *c)
{
    tb_bill_source source;
    const tb_bill_query query = {e->s->account, e->month, e->watermark, c->books, c->n, e->now_us};
    tb_code code = tb_store_net_input(e->store, &query, &source, e->err);
    if (code) return code;
    if (source.input.n_parts == c->n)
        add_parts(e, &source.input, c->sums);
    else
        code = tb_fail(e->err, TB_E_INTERNAL, NULL, "The month was not cut as asked.");
    tb_bill_source_release(&source);
    return code;
}

/* The line's usage from each of n moments to the next, the last to the month's end. The first is the month's
 * beginning; all are full hours, ascending. */
static tb_code usage_between(const explained *e, const int64_t *from_us, size_t n, tb_i128 *sums)
{
    const tb_statement_book *books = e->s->books;
    const size_t n_books = e->has_line ? e->s->n_books : 0;
    cuts c = {calloc(n + n_books, sizeof *c.books), calloc(n + n_books, sizeof *c.sums), 0};
    tb_code code = c.books && c.sums ? TB_OK : tb_no_memory(e->err);
    for (size_t i = 0, k = 0; !code && (i < n || k < n_books); c.n++) {
        const int64_t us = i == n || (k < n_books && books[k].from_us < from_us[i]) ? books[k].from_us : from_us[i];
        i += i < n && from_us[i] == us;
        k += k < n_books && books[k].from_us == us;
        c.books[c.n].effective_us = us;
        memcpy(c.books[c.n].currency, e->s->currency, sizeof c.books[c.n].currency);
    }
    if (!code) code = read_cuts(e, &c);
    memset(sums, 0, n * sizeof *sums);
    for (size_t at = 0, i = 0, k = 0; !code && at < c.n; at++) {
        const int64_t us = c.books[at].effective_us;
        while (i + 1 < n && from_us[i + 1] <= us)
            i++;
        while (k + 1 < n_books && books[k + 1].from_us <= us)
            k++;
        if (!n_books || e->has_line[k]) sums[i] += c.sums[at];
    }
    free(c.books);
    free(c.sums);
    return code;
}

static int64_t day_us(const explained *e, size_t day)
{
    return tb_month_start_us(e->month) + (int64_t)day * TB_US_PER_DAY;
}

static tb_code read_days(explained *e)
{
    int64_t from_us[DAYS];
    for (size_t i = 0; i < e->n_days; i++)
        from_us[i] = day_us(e, i);
    return usage_between(e, from_us, e->n_days, e->day);
}

/* The day's hours: a part for the time before it, one for each hour, and one for the time after it. */
static tb_code read_hours(const explained *e, size_t day, tb_i128 hours[HOURS])
{
    int64_t from_us[HOURS + 2];
    tb_i128 sums[HOURS + 2];
    size_t n = 0, first = day > 0;
    if (first) from_us[n++] = tb_month_start_us(e->month);
    for (int64_t h = 0; h < HOURS; h++)
        from_us[n++] = day_us(e, day) + h * TB_US_PER_HOUR;
    if (day + 1 < e->n_days) from_us[n++] = day_us(e, day + 1);
    tb_code code = usage_between(e, from_us, n, sums);
    for (size_t h = 0; !code && h < HOURS; h++)
        hours[h] = sums[first + h];
    return code;
}

/* --- writing --- */

static void put_units(tb_buf *out, const char *name, tb_i128 units)
{
    char text[TB_DECIMAL_TEXT_MAX];
    size_t len = (size_t)(tb_decimal_put(text, tb_decimal_from_int(units)) - text);
    tb_buf_fmt(out, "\"%s\":\"%.*s\"", name, (int)len, text);
}

static void put_moment(tb_buf *out, const char *name, int64_t us)
{
    char text[20];
    tb_time_format(us, text);
    tb_buf_fmt(out, "\"%s\":\"%.20s\"", name, text);
}

static void put_days(const explained *e)
{
    tb_i128 reached = 0;
    bool first = true;
    tb_buf_str(e->out, ",\"days\":[");
    for (size_t i = 0; i < e->n_days; i++) {
        if (e->day[i] == 0) continue;
        reached += e->day[i];
        tb_buf_str(e->out, first ? "{" : ",{");
        first = false;
        put_moment(e->out, "day", day_us(e, i));
        tb_buf_str(e->out, ",");
        put_units(e->out, "quantity", e->day[i]);
        tb_buf_str(e->out, ",");
        put_units(e->out, "reached", reached);
        tb_buf_str(e->out, "}");
    }
    tb_buf_str(e->out, "]");
}

/* The part in which the sum exceeds the threshold, not merely reaches it: the one with the first unit past it.
 * before: the sum of the parts before. */
static bool find_crossing(const tb_i128 *parts, size_t n, tb_i128 threshold, tb_i128 *before,
                          size_t *ret_part)
{
    for (size_t i = 0; i < n; i++) {
        if (*before + parts[i] > threshold) {
            *ret_part = i;
            return true;
        }
        *before += parts[i];
    }
    return false;
}

static tb_code put_crossing(const explained *e, tb_i128 threshold, bool *first)
{
    tb_i128 before = 0, hours[HOURS];
    size_t day, hour;
    if (!find_crossing(e->day, e->n_days, threshold, &before, &day)) return TB_OK;
    tb_code code = read_hours(e, day, hours);
    if (code == TB_E_NOT_KEPT) return TB_OK;
    if (code || !find_crossing(hours, HOURS, threshold, &before, &hour)) return code;
    tb_buf_str(e->out, *first ? "{" : ",{");
    *first = false;
    put_units(e->out, "threshold", threshold);
    tb_buf_str(e->out, ",");
    put_moment(e->out, "hour", day_us(e, day) + (int64_t)hour * TB_US_PER_HOUR);
    tb_buf_str(e->out, ",");
    put_units(e->out, "before", before);
    tb_buf_str(e->out, ",");
    put_units(e->out, "quantity", hours[hour]);
    tb_buf_str(e->out, ",");
    put_units(e->out, "after", before + hours[hour]);
    tb_buf_str(e->out, "}");
    return TB_OK;
}

/* A tier also starts where a book came into force, and a correction's where the month stood. */
static bool starts_at_threshold(const tb_bill_line *line, size_t i)
{
    if (i == 0) return line->kind != TB_LINE_CORRECTION;
    return line->tiers[i].part == line->tiers[i - 1].part;
}

static tb_code put_crossings(const explained *e)
{
    bool first = true;
    tb_i128 last = 0;
    tb_code code = TB_OK;
    tb_buf_str(e->out, ",\"crossings\":[");
    for (size_t i = 0; !code && has_usage(e) && i < e->line->n_tiers; i++) {
        tb_i128 threshold = e->line->tiers[i].from;
        if (threshold <= last || !starts_at_threshold(e->line, i)) continue;
        last = threshold;
        code = put_crossing(e, threshold, &first);
    }
    tb_buf_str(e->out, "]");
    return code;
}

/* --- flats --- */

/* A part of the line's usage: its rows are of one book, and follow each other. */
typedef struct book_part {
    uint32_t part;
    tb_i128 from, to;
    const tb_tiers *tiers; /* NULL: the book is not there */
} book_part;

static void put_flat(const explained *e, const book_part *p, const tb_tier *tier, tb_i128 entry, bool *first)
{
    char flat[TB_DECIMAL_TEXT_MAX + 1];
    const bool charged = entry >= p->from && entry < p->to;
    *tb_decimal_put(flat, tier->flat) = 0;
    tb_buf_fmt(e->out, "%s{\"book\":\"%s\",", *first ? "" : ",", e->s->books[p->part].id);
    *first = false;
    put_units(e->out, "from", entry);
    tb_buf_fmt(e->out, ",\"flat\":\"%s\",\"charged\":%s", flat, charged ? "true" : "false");
    if (!charged)
        tb_buf_fmt(e->out, ",\"why\":\"The month's usage entered this tier %s.\"",
                   entry < p->from ? "before this book was in force" : "when this book was in force no more");
    tb_buf_str(e->out, "}");
}

static void put_part_flats(const explained *e, const book_part *p, bool *first)
{
    for (size_t k = 0; p->tiers && k < p->tiers->n; k++) {
        bool entered = false;
        const tb_i128 entry = tb_tier_entry(p->tiers, k, e->line->quantity, &entered);
        if (entered && tb_decimal_sign(p->tiers->tier[k].flat)) put_flat(e, p, &p->tiers->tier[k], entry, first);
    }
}

/* NULL: the book is not there. */
static const tb_book *book_of(const explained *e, const tb_month_books *books, uint32_t part)
{
    for (size_t i = 0; part < e->s->n_books && i < books->n; i++)
        if (strcmp(books->list[i].sha256, e->s->books[part].sha256) == 0) return &books->list[i];
    return NULL;
}

static const tb_tiers *tiers_of(const explained *e, const tb_month_books *books, uint32_t part)
{
    const tb_book *book = book_of(e, books, part);
    return !book ? NULL : e->kind == TB_LINE_VOLUME ? &book->volume : &book->balancer;
}

static const tb_meter_rate *rate_of(const explained *e, const tb_month_books *books, uint32_t part)
{
    const tb_book *book = book_of(e, books, part);
    return book ? tb__book_meter(book, e->line->item->id) : NULL;
}

/* What the line's book says of its meter. Of samples the evidence is the interval that is billed, and nothing is summed. A
 * correction does not name the book: its region may be a value of any dimension. */
static tb_code find_rate(explained *e)
{
    const tb_bill_line *line = e->line;
    tb_month_books books = {.list = NULL};
    if (e->kind != TB_LINE_METER || !line->item) return TB_OK;
    if (line->kind == TB_LINE_CORRECTION && line->evidence.to_us - line->evidence.from_us <= TB_US_PER_HOUR)
        e->basis = TB_BASIS_PEAK;
    if (line->kind == TB_LINE_CORRECTION || !line->n_tiers) return TB_OK;
    tb_code code = tb_month_books_read(e->store, &books, e->err);
    if (code) return code;
    const tb_meter_rate *rate = rate_of(e, &books, line->tiers[line->n_tiers - 1].part);
    if (rate && rate->sampled) e->basis = TB_BASIS_PEAK;
    if (rate && !rate->sampled) {
        memcpy(e->by, rate->by, sizeof e->by);
        e->has_line = calloc(e->s->n_books, sizeof *e->has_line);
        if (!e->has_line) code = tb_no_memory(e->err);
    }
    for (uint32_t part = 0; e->has_line && part < e->s->n_books; part++) {
        const tb_meter_rate *other = rate_of(e, &books, part);
        e->has_line[part] = other && other->by_resource == rate->by_resource && strcmp(other->by, rate->by) == 0;
    }
    tb_month_books_release(&books);
    return code;
}

/* The flats of the tiers that the month's usage has reached, also those that a book change within the month avoids: a
 * flat is charged once, by the book in force when the tier is entered. */
static tb_code put_flats(const explained *e)
{
    const tb_bill_line *line = e->line;
    tb_month_books books = {.list = NULL};
    bool first = true;
    if (line->kind != TB_LINE_VOLUME && line->kind != TB_LINE_BALANCER_REQUESTS) return TB_OK;
    tb_code code = tb_month_books_read(e->store, &books, e->err);
    if (code) return code;
    tb_buf_str(e->out, ",\"flats\":[");
    for (size_t i = 0, end; i < line->n_tiers; i = end) {
        book_part p = {.part = line->tiers[i].part, .from = line->tiers[i].from};
        for (end = i; end < line->n_tiers && line->tiers[end].part == p.part; end++)
            p.to = line->tiers[end].to;
        p.tiers = tiers_of(e, &books, p.part);
        put_part_flats(e, &p, &first);
    }
    tb_buf_str(e->out, "]");
    tb_month_books_release(&books);
    return TB_OK;
}

/* The months that a period's commit counts, each with its row. */
static void put_months(const explained *e)
{
    if (!tb__is_period(e->s, e->index)) return;
    bool first = true;
    tb_buf_str(e->out, ",\"months\":[");
    for (size_t i = 0; i < e->line->n_tiers; i++) {
        const tb_bill_tier *row = &e->line->tiers[i];
        char month[8], amount[TB_DECIMAL_TEXT_MAX + 1];
        if (row->units != 0) continue;
        tb_month_format((int64_t)row->from, month);
        *tb_decimal_put(amount, row->amount) = 0;
        tb_buf_fmt(e->out, "%s{\"month\":\"%s\",\"amount\":\"%s\"}", first ? "" : ",", month, amount);
        first = false;
    }
    tb_buf_str(e->out, "]");
}

/* Expired hours are not written as a list: put_gone reports them. */
static tb_code put_hours(const explained *e)
{
    tb_i128 hours[HOURS];
    if (e->hours_of == TB_EXPLAIN_NO_DAY || !has_usage(e) || e->gone) return TB_OK;
    tb_code code = read_hours(e, (size_t)(e->hours_of - tb_month_first_day(e->month)), hours);
    if (code == TB_E_NOT_KEPT) return TB_OK;
    tb_buf_str(e->out, ",\"hours\":[");
    for (size_t h = 0; !code && h < HOURS; h++) {
        tb_buf_str(e->out, h ? ",{" : "{");
        put_moment(e->out, "hour", e->hours_of * TB_US_PER_DAY + (int64_t)h * TB_US_PER_HOUR);
        tb_buf_str(e->out, ",");
        put_units(e->out, "quantity", hours[h]);
        tb_buf_str(e->out, "}");
    }
    tb_buf_str(e->out, "]");
    return code;
}

static tb_code check_day(const explained *e)
{
    if (e->hours_of == TB_EXPLAIN_NO_DAY || tb_month_from_day(e->hours_of) == e->month) return TB_OK;
    char month[8];
    tb_month_format(e->month, month);
    return tb_fail(e->err, TB_E_VALIDATION, "day", "day is one of the line's month, %s.", month);
}

/* --- the whole --- */

static void put_note(const explained *e)
{
    const char *note = tb_line_note(e->s, e->index);
    tb_buf_str(e->out, ",\"note\":");
    if (note)
        tb_json_string(e->out, note, strlen(note));
    else
        tb_buf_str(e->out, "null");
}

static void put_sum(const explained *e)
{
    tb_i128 sum = 0;
    bool has = has_usage(e), correction = e->line->kind == TB_LINE_CORRECTION;
    for (size_t i = 0; i < e->n_days; i++)
        sum += e->day[i];
    tb_buf_str(e->out, ",");
    if (has && !e->gone)
        put_units(e->out, "sum", sum);
    else
        tb_buf_str(e->out, "\"sum\":null");
    tb_buf_fmt(e->out, ",\"agrees\":%s",
               !has || e->gone || correction || sum == e->line->quantity ? "true" : "false");
}

/* What can no longer be shown, in words. */
static void put_gone(const explained *e)
{
    if (!has_usage(e) || (e->month >= e->kept.hours && !e->gone)) return;
    tb_buf_str(e->out, ",\"gone\":");
    tb_buf_str(e->out, e->gone ? "\"The usage that this line needs is no longer kept: its evidence is what "
                                 "is left.\""
                               : "\"The hours of this month are no longer kept: its days are.\"");
}

static tb_code put_explained(const explained *e)
{
    const tb_statement *s = e->s;
    if (s->number[0])
        tb_buf_fmt(e->out, "{\"invoice\":\"%s\"", s->number);
    else
        tb_buf_str(e->out, "{\"invoice\":null");
    tb_buf_fmt(e->out, ",\"account\":%" PRId64 ",\"period\":{", s->account);
    put_moment(e->out, "start", tb_month_start_us(e->month));
    tb_buf_str(e->out, ",");
    put_moment(e->out, "end", tb_month_start_us(e->month + 1));
    tb_buf_fmt(e->out, "},\"watermark\":%" PRIu64 ",\"line\":", s->watermark);
    tb_line_json(s, e->index, e->out);
    put_note(e);
    put_gone(e);
    put_sum(e);
    put_days(e);
    put_months(e);
    tb_code code = put_crossings(e);
    if (!code) code = put_flats(e);
    if (!code) code = put_hours(e);
    tb_buf_str(e->out, "}");
    return code ? code : tb_buf_check(e->out, e->err);
}

static tb_code explain_line(tb_store *store, const tb_statement *s, uint64_t watermark,
                            uint32_t number, int64_t day, int64_t now_us, tb_buf *out, tb_error *err)
{
    const tb_bill *bill = s->bill;
    if (number < 1 || number > bill->n_lines)
        return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "line",
                       "There is no such line; the last is %zu.", bill->n_lines);
    const tb_bill_line *line = &bill->lines[number - 1];
    explained e = {.store = store,
                   .s = s,
                   .index = number - 1,
                   .line = line,
                   .out = out,
                   .kind = tb__line_origin(s, number - 1),
                   .month = line->period_month,
                   .watermark = watermark,
                   .now_us = now_us,
                   .hours_of = day,
                   .err = err};
    e.basis = tb_line_kind_of(e.kind)->basis;
    e.n_days = (size_t)(tb_month_first_day(e.month + 1) - tb_month_first_day(e.month));
    tb_code code = check_day(&e);
    if (!code) code = tb_store_kept(store, s->account, &e.kept, err);
    if (!code) code = find_rate(&e);
    if (!code && has_usage(&e)) code = read_days(&e);
    if (code == TB_E_NOT_KEPT) {
        e.gone = true;
        memset(e.day, 0, sizeof e.day);
        code = TB_OK;
    }
    if (!code) code = put_explained(&e);
    free(e.has_line);
    return code;
}

static tb_code explain_stored(tb_store *store, const tb_invoice *invoice, uint32_t line, int64_t day,
                              tb_buf *out, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    code = explain_line(store, &paper.statement, invoice->watermark, line, day, invoice->finalized_us,
                        out, err);
    tb_paper_release(&paper);
    return code;
}

tb_code tb_explain_invoice(tb_store *store, int64_t account, const char *number, uint32_t line,
                           tb_buf *out, tb_error *err)
{
    return tb_explain_invoice_day(store, account, number, line, TB_EXPLAIN_NO_DAY, out, err);
}

tb_code tb_explain_invoice_day(tb_store *store, int64_t account, const char *number, uint32_t line,
                               int64_t day, tb_buf *out, tb_error *err)
{
    tb_invoice invoice;
    tb_code code = tb_store_invoice(store, account, number, &invoice, err);
    if (code == TB_E_NOT_FOUND) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    if (code) return code;
    code = explain_stored(store, &invoice, line, day, out, err);
    tb_invoice_release(&invoice);
    return code;
}

tb_code tb_explain_month(tb_store *store, int64_t account, int64_t month, uint32_t line,
                         int64_t now_us, tb_buf *out, tb_error *err)
{
    tb_month_books books = {0};
    tb_invoice invoice;
    tb_issue draft;
    char number[24];
    tb_issue_outcome outcome;
    tb_code code = tb_issue_done(store, account, month, &invoice, number, &outcome, err);
    if (code) return code;
    if (outcome == TB_ISSUE_ELSEWHERE)
        return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "month",
                       "The month was billed on %s: its lines are explained there.", number);
    if (outcome == TB_ISSUE_KNOWN) {
        code = explain_stored(store, &invoice, line, TB_EXPLAIN_NO_DAY, out, err);
        tb_invoice_release(&invoice);
        return code;
    }
    code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_issue_draft(store, account, month, &books, now_us, &draft, err);
    if (!code) {
        code = explain_line(store, &draft.statement, TB_NOW, line, TB_EXPLAIN_NO_DAY, now_us, out, err);
        tb_issue_release(&draft);
    }
    tb_month_books_release(&books);
    return code;
}
