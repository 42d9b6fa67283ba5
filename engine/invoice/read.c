/* A statement read back from its canonical text. Everything that the writer writes is read, in any order;
 * everything else is refused, so that no stored figure can be dropped on the way to a page. All memory is
 * one arena; strings are copied into the structs' own fields.
 *
 * A reader keeps the first failure: after it every further read does nothing, and the callers check once,
 * at their end. */
#include "tollbook/invoice.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "invoice/text.h"
#include "model/document.h"
#include "tollbook/calendar.h"

#define LINES_MAX 10000000 /* of anything in one list; the text's length bounds them further */

typedef struct reader {
    tb__document doc;
    tb__arena *mem;
    const char *text;
    size_t len;
    tb_code code;
    tb_error *err;
} reader;

/* --- failing, finding --- */

static void TB_PRINTF(3, 4) bad(reader *r, uint32_t node, const char *fmt, ...)
{
    char why[160];
    va_list args;
    if (r->code) return;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    r->code =
        tb_fail(r->err, TB_E_VALIDATION, NULL, "The invoice's text is not as written: %s", why);
    if (r->err) r->err->byte = r->doc.nodes[node].at + 1;
}

/* The value of a member, 0 where it is absent (a member is never the whole). */
static uint32_t find_member(const reader *r, uint32_t object, const char *name)
{
    uint32_t at = object + 1;
    if (r->code || r->doc.nodes[object].type != TB__OBJECT) return 0;
    for (uint32_t i = 0; i < r->doc.nodes[object].len; i++) {
        if (tb__node_is(&r->doc.nodes[at], name, strlen(name))) return at + 1;
        at = r->doc.nodes[at + 1].next;
    }
    return 0;
}

static uint32_t need(reader *r, uint32_t object, const char *name, uint32_t type)
{
    uint32_t at = find_member(r, object, name);
    if (at && r->doc.nodes[at].type == type) return at;
    bad(r, object, "\"%s\" is missing or no %s.", name, tb__node_type_name(type));
    return 0;
}

/* An object has exactly these members: names is a list separated by spaces, '?' before one that may
 * be absent. */
static void only(reader *r, uint32_t object, const char *names)
{
    uint32_t known = 0;
    if (r->code) return;
    if (r->doc.nodes[object].type != TB__OBJECT) {
        bad(r, object, "an object is expected.");
        return;
    }
    for (const char *p = names; *p;) {
        char name[24];
        bool optional = *p == '?';
        size_t len = strcspn(p + optional, " ");
        snprintf(name, sizeof name, "%.*s", (int)len, p + optional);
        bool there = find_member(r, object, name) != 0;
        if (!there && !optional) bad(r, object, "\"%s\" is missing.", name);
        known += there;
        p += optional + len;
        p += *p == ' ';
    }
    if (known != r->doc.nodes[object].len) bad(r, object, "a member is unknown.");
}

static void *take(reader *r, size_t n, size_t size)
{
    void *at = tb__arena_take(r->mem, n * size);
    if (at) return memset(at, 0, n * size);
    r->code = tb_no_memory(r->err);
    return NULL;
}

/* --- values --- */

/* A string or null (""), into an array of its own size. */
static void read_text(reader *r, uint32_t object, const char *name, char *out, size_t size)
{
    uint32_t at = find_member(r, object, name);
    out[0] = 0;
    if (!at || r->doc.nodes[at].type == TB__NULL) return;
    const tb__node *node = &r->doc.nodes[at];
    if (node->type != TB__STRING || node->len >= size) {
        bad(r, at, "\"%s\" is no text of at most %zu bytes.", name, size - 1);
        return;
    }
    memcpy(out, node->text, node->len);
    out[node->len] = 0;
}

static tb_decimal read_decimal(reader *r, uint32_t object, const char *name)
{
    tb_decimal value = TB_DECIMAL_ZERO;
    uint32_t at = need(r, object, name, TB__STRING);
    if (!at) return value;
    const tb__node *node = &r->doc.nodes[at];
    if (tb_decimal_parse(node->text, node->len, TB_DECIMAL_SCALE_MAX, &value, NULL))
        bad(r, at, "\"%s\" is no decimal.", name);
    return value;
}

static tb_i128 read_units(reader *r, uint32_t object, const char *name)
{
    tb_decimal value = read_decimal(r, object, name);
    if (value.scale) bad(r, object, "\"%s\" is no whole number.", name);
    return value.mantissa;
}

static int64_t read_number(reader *r, uint32_t object, const char *name)
{
    tb_decimal value = TB_DECIMAL_ZERO;
    uint32_t at = need(r, object, name, TB__NUMBER);
    if (!at) return 0;
    const tb__node *node = &r->doc.nodes[at];
    if (tb_decimal_parse(node->text, node->len, 0, &value, NULL) || value.mantissa > INT64_MAX ||
        value.mantissa < INT64_MIN)
        bad(r, at, "\"%s\" is no whole number.", name);
    return (int64_t)value.mantissa;
}

static uint64_t read_count(reader *r, uint32_t object, const char *name)
{
    tb_decimal value = TB_DECIMAL_ZERO;
    uint32_t at = need(r, object, name, TB__NUMBER);
    if (!at) return 0;
    const tb__node *node = &r->doc.nodes[at];
    if (tb_decimal_parse(node->text, node->len, 0, &value, NULL) || value.mantissa < 0 ||
        value.mantissa > UINT64_MAX)
        bad(r, at, "\"%s\" is no count.", name);
    return (uint64_t)value.mantissa;
}

static int64_t read_time(reader *r, uint32_t object, const char *name)
{
    int64_t us = 0;
    uint32_t at = need(r, object, name, TB__STRING);
    if (at && tb_rfc3339_parse(r->doc.nodes[at].text, r->doc.nodes[at].len, &us, NULL))
        bad(r, at, "\"%s\" is no time.", name);
    return us;
}

static int64_t read_period(reader *r, uint32_t object)
{
    uint32_t at = need(r, object, "period", TB__OBJECT);
    if (!at) return 0;
    only(r, at, "end start");
    int64_t day = tb_day_from_us(read_time(r, at, "start"));
    return tb_month_from_day(day);
}

/* Enters a list: how many elements, and their zeroed memory; *ret_first is the first one's node. */
static void *read_list(reader *r, uint32_t object, const char *name, size_t size, size_t *ret_n,
                       uint32_t *ret_first)
{
    uint32_t at = need(r, object, name, TB__ARRAY);
    *ret_n = at ? r->doc.nodes[at].len : 0;
    *ret_first = at + 1;
    if (*ret_n > LINES_MAX) bad(r, at, "\"%s\" is too long.", name);
    return r->code || *ret_n == 0 ? NULL : take(r, *ret_n, size);
}

/* A string of any length, NULL for null. */
static const char *read_string(reader *r, uint32_t object, const char *name)
{
    uint32_t at = find_member(r, object, name);
    if (r->code || !at || r->doc.nodes[at].type == TB__NULL) return NULL;
    const tb__node *node = &r->doc.nodes[at];
    if (node->type != TB__STRING || node->len == 0) {
        bad(r, at, "\"%s\" is no text.", name);
        return NULL;
    }
    char *copy = take(r, node->len + 1, 1);
    return copy ? memcpy(copy, node->text, node->len) : NULL;
}

/* --- lines --- */

static tb_line_kind read_kind(reader *r, uint32_t object, const char *resource)
{
    const uint32_t at = need(r, object, "kind", TB__STRING);
    const tb__node *node = &r->doc.nodes[at];
    const tb_line_kind kind = at ? tb_line_kind_parse(node->text, node->len, resource) : TB_LINE_KIND_COUNT;
    if (kind != TB_LINE_KIND_COUNT) return kind;
    bad(r, object, "its kind is unknown.");
    return TB_LINE_CORRECTION;
}

static void read_tiers(reader *r, uint32_t object, tb_bill_line *line)
{
    uint32_t at;
    tb_bill_tier *tiers = read_list(r, object, "tiers", sizeof *tiers, &line->n_tiers, &at);
    for (size_t i = 0; !r->code && i < line->n_tiers; i++, at = r->doc.nodes[at].next) {
        only(r, at, "amount ?blocks from list_price part price to units");
        tiers[i] = (tb_bill_tier){.part = (uint32_t)read_number(r, at, "part"),
                                  .from = read_units(r, at, "from"),
                                  .to = read_units(r, at, "to"),
                                  .units = read_units(r, at, "units"),
                                  .price = read_decimal(r, at, "price"),
                                  .shown = read_decimal(r, at, "list_price"),
                                  .amount = read_decimal(r, at, "amount"),
                                  .by_block = find_member(r, at, "blocks") != 0};
        if (tiers[i].by_block) tiers[i].blocks = read_units(r, at, "blocks");
    }
    line->tiers = tiers;
}

static void read_shares(reader *r, uint32_t object, tb_bill_line *line)
{
    uint32_t at;
    if (!find_member(r, object, "shares")) return;
    tb_bill_share *shares = read_list(r, object, "shares", sizeof *shares, &line->n_shares, &at);
    for (size_t i = 0; !r->code && i < line->n_shares; i++, at = r->doc.nodes[at].next) {
        only(r, at, "amount bytes exact zone");
        shares[i] = (tb_bill_share){.zone = read_number(r, at, "zone"),
                                    .bytes = read_units(r, at, "bytes"),
                                    .amount = read_decimal(r, at, "amount"),
                                    .exact = read_decimal(r, at, "exact")};
    }
    line->shares = shares;
}

static void read_evidence(reader *r, uint32_t object, tb_evidence *e)
{
    uint32_t at = find_member(r, object, "evidence");
    if (!at || r->doc.nodes[at].type == TB__NULL) return;
    only(r, at, "buckets from hash sum to");
    e->buckets = read_count(r, at, "buckets");
    e->from_us = read_time(r, at, "from");
    e->to_us = read_time(r, at, "to");
    read_text(r, at, "hash", e->hash, sizeof e->hash);
}

static void read_correction(reader *r, uint32_t object, tb_bill_line *line, tb_correction *c)
{
    uint32_t at = find_member(r, object, "corrects");
    if ((at != 0) != (line->kind == TB_LINE_CORRECTION))
        bad(r, object, "a correction, and it alone, says what it corrects.");
    if (!at) return;
    only(r, at, "invoice kind since");
    read_text(r, at, "invoice", c->invoice, sizeof c->invoice);
    c->kind = read_kind(r, at, line->resource);
    c->since = read_count(r, at, "since");
    line->period_month = read_period(r, object);
}

/* "zone:101": the part after the colon. */
static int64_t id_of(reader *r, uint32_t object, const char *resource)
{
    tb_decimal id;
    const char *colon = strchr(resource, ':');
    if (colon && tb_decimal_parse(colon + 1, strlen(colon + 1), 0, &id, NULL) == TB_OK &&
        id.mantissa >= 0 && id.mantissa <= INT64_MAX)
        return (int64_t)id.mantissa;
    bad(r, object, "its resource has no id.");
    return 0;
}

/* What the line is of, as the catalogue or the book said. */
static void read_item(reader *r, uint32_t at, tb_line_kind origin, tb_bill_line *line)
{
    const char *description = read_string(r, at, "description"), *unit = read_string(r, at, "unit");
    const bool has = *tb_line_kind_of(origin)->item, fee = find_member(r, at, "fee") != 0;
    const bool own = origin == TB_LINE_CHARGE || line->kind == TB_LINE_CAP;
    if ((own && !description) || (description && !has && !own))
        bad(r, at, "a one-off charge, a cap, a meter and a fee, and they alone, have a description.");
    if (has != (fee || find_member(r, at, "meter")) || fee != (origin == TB_LINE_FEE))
        bad(r, at, "lines of meters and fees, and they alone, name them.");
    if (!has && tb_line_kind_of(origin)->basis != TB_BASIS_PEAK) {
        line->description = description;
        return;
    }
    tb_bill_item *item = take(r, 1, sizeof *item);
    if (r->code) return;
    const char *id = read_string(r, at, fee ? "fee" : "meter"), *per_unit = read_string(r, at, "per_unit");
    const bool own_unit = unit && strcmp(unit, tb_line_kind_unit(origin)) != 0;
    *item = (tb_bill_item){.id = id ? id : "",
                           .name = description ? description : "",
                           .unit = own_unit ? unit : "",
                           .per_unit = per_unit ? per_unit : "",
                           .per = find_member(r, at, "per") ? read_units(r, at, "per") : 0,
                           .charge = "",
                           .ledger_code = read_string(r, at, "ledger_code"),
                           .unece = read_string(r, at, "unece")};
    if (!item->ledger_code) item->ledger_code = "";
    if (!item->unece) item->unece = "";
    if (fee) {
        const uint32_t service = need(r, at, "service", TB__OBJECT);
        if (service) only(r, service, "end start");
        if (service) item->from_us = read_time(r, service, "start");
        if (service) item->to_us = read_time(r, service, "end");
    }
    line->item = item;
}

static void read_line(reader *r, uint32_t at, int64_t month, tb_bill_line *line, tb_correction *c)
{
    only(r, at,
         "amount ?corrects ?description evidence exact ?fee kind ?ledger_code line ?meter ?per ?per_unit ?period "
         "quantity region resource ?service ?shares ?tax_category tiers ?unece unit");
    if (r->code) return;
    line->period_month = month;
    line->number = (uint32_t)read_number(r, at, "line");
    read_text(r, at, "region", line->region, sizeof line->region);
    read_text(r, at, "resource", line->resource, sizeof line->resource);
    line->kind = read_kind(r, at, line->resource);
    line->quantity = read_units(r, at, "quantity");
    line->exact = read_decimal(r, at, "exact");
    line->amount = read_decimal(r, at, "amount");
    read_tiers(r, at, line);
    read_shares(r, at, line);
    read_evidence(r, at, &line->evidence);
    read_correction(r, at, line, c);
    const tb_line_kind origin = line->kind == TB_LINE_CORRECTION ? c->kind : line->kind;
    if (tb_line_kind_of(origin)->product != TB_LINE_METER) line->id = id_of(r, at, line->resource);
    read_item(r, at, origin, line);
    if (!find_member(r, at, "tax_category")) return;
    read_text(r, at, "tax_category", line->tax_category, sizeof line->tax_category);
    if (line->kind != TB_LINE_CHARGE) bad(r, at, "a one-off charge alone has a tax category of its own.");
}

static void read_lines(reader *r, tb_statement *s, tb_bill *bill)
{
    uint32_t at;
    bill->lines = read_list(r, 0, "lines", sizeof *bill->lines, &bill->n_lines, &at);
    tb_correction *corrections = bill->lines ? take(r, bill->n_lines, sizeof *corrections) : NULL;
    for (size_t i = 0; !r->code && i < bill->n_lines; i++, at = r->doc.nodes[at].next)
        read_line(r, at, s->month, &bill->lines[i], &corrections[i]);
    s->corrections = corrections;
}

/* --- the rest --- */

static void read_unpriced(reader *r, tb_bill *bill)
{
    uint32_t at;
    bill->unpriced = read_list(r, 0, "unpriced", sizeof *bill->unpriced, &bill->n_unpriced, &at);
    for (size_t i = 0; !r->code && i < bill->n_unpriced; i++, at = r->doc.nodes[at].next) {
        tb_unpriced *u = &bill->unpriced[i];
        only(r, at, "quantity reason resource unit what");
        u->quantity = read_units(r, at, "quantity");
        read_text(r, at, "unit", u->unit, sizeof u->unit);
        read_text(r, at, "reason", u->reason, sizeof u->reason);
        read_text(r, at, "resource", u->resource, sizeof u->resource);
        read_text(r, at, "what", u->what, sizeof u->what);
    }
}

/* Values that follow from the percent are not stored twice: the rate's own is then "". */
static void read_category(reader *r, uint32_t object, tb_bill_tax *rate)
{
    char said[sizeof rate->category];
    read_text(r, object, "category", said, sizeof said);
    if (strcmp(said, tb_tax_category(rate)) == 0) return;
    memcpy(rate->category, said, sizeof said);
    if (!tb_tax_untaxed(rate) || tb_decimal_sign(rate->percent))
        bad(r, object, "its \"category\" is none of this rate.");
}

/* A reason is required where no tax is charged. */
static void read_reasons(reader *r, uint32_t object, tb_bill_taxed *tax)
{
    tax->reason = read_string(r, object, "reason");
    tax->reason_code = read_string(r, object, "reason_code");
    if ((tax->reason || tax->reason_code) && !tb_tax_untaxed(&tax->rate))
        bad(r, object, "a \"reason\" is given for a tax that is charged.");
}

/* What a row on corrections has beside the others. */
static void read_late(reader *r, uint32_t object, tb_bill_taxed *tax)
{
    char month[8];
    tax->late = find_member(r, object, "month") != 0;
    if (!tax->late) return;
    tax->billed = read_decimal(r, object, "billed");
    read_text(r, object, "month", month, sizeof month);
    if (!r->code && !tb_month_parse(month, strlen(month), &tax->month))
        bad(r, object, "its \"month\" is none.");
}

static void read_tax(reader *r, tb_statement *s, tb_bill *bill)
{
    uint32_t list = need(r, 0, "tax", TB__ARRAY), at = list + 1;
    if (r->code) return;
    bill->n_tax = r->doc.nodes[list].len;
    bill->tax = take(r, bill->n_tax, sizeof *bill->tax);
    for (size_t i = 0; !r->code && i < bill->n_tax; i++, at = r->doc.nodes[at].next) {
        tb_bill_taxed *tax = &bill->tax[i];
        only(r, at, s->version > 1 ? "amount base ?billed category ?charges ?month name percent reason reason_code"
                                   : "amount base name percent");
        tax->amount = read_decimal(r, at, "amount");
        tax->base = read_decimal(r, at, "base");
        tax->rate.percent = read_decimal(r, at, "percent");
        read_text(r, at, "name", tax->rate.name, sizeof tax->rate.name);
        if (s->version < 2) continue;
        read_category(r, at, &tax->rate);
        read_reasons(r, at, tax);
        read_late(r, at, tax);
        tax->charges = find_member(r, at, "charges") != 0;
    }
}

static void read_book(reader *r, uint32_t at, tb_statement_book *book)
{
    read_text(r, at, "id", book->id, sizeof book->id);
    read_text(r, at, "sha256", book->sha256, sizeof book->sha256);
}

/* The list if there is one, else the one book, else none: an empty one. */
static void read_books(reader *r, tb_statement *s)
{
    uint32_t at, one = find_member(r, 0, "book");
    tb_statement_book *books;
    if (find_member(r, 0, "books")) {
        books = read_list(r, 0, "books", sizeof *books, &s->n_books, &at);
        for (size_t i = 0; !r->code && i < s->n_books; i++, at = r->doc.nodes[at].next) {
            only(r, at, "from id sha256");
            books[i].from_us = read_time(r, at, "from");
            read_book(r, at, &books[i]);
        }
    } else {
        books = take(r, 1, sizeof *books);
        if (!books) return;
        s->n_books = 1;
        books->from_us = tb_month_first_day(s->month) * TB_US_PER_DAY;
        if (one && r->doc.nodes[one].type != TB__NULL) {
            only(r, one, "id sha256");
            read_book(r, one, books);
        }
    }
    s->books = books;
}

/* Minor digits are not a member: money shows them, "12.50". The subtotal is always there. */
static int digits_of(const reader *r)
{
    const uint32_t at = find_member(r, 0, "subtotal");
    const tb__node *v = &r->doc.nodes[at];
    const char *point = at && v->type == TB__STRING ? memchr(v->text, '.', v->len) : NULL;
    return point ? (int)(v->text + v->len - point) - 1 : 0;
}

static tb_sum sum_exact(reader *r, const tb_bill *bill)
{
    tb_sum sum = TB_SUM_ZERO;
    if (!r->code) r->code = tb_sum_add(&sum, bill->subtotal, r->err);
    if (!r->code) r->code = tb_sum_sub(&sum, bill->residual, r->err);
    return sum;
}

/* What a ledger was when the invoice was issued; null in drafts. */
static void read_ledger(reader *r, tb_statement *s)
{
    uint32_t at = find_member(r, 0, "ledger");
    if (!at || r->doc.nodes[at].type == TB__NULL) return;
    only(r, at, "count head");
    s->in_ledger = true;
    s->ledger.count = read_count(r, at, "count");
    read_text(r, at, "head", s->ledger.head, sizeof s->ledger.head);
}

static void read_date(reader *r, const char *name, char date[TB_DATE_TEXT_MAX])
{
    char text[TB_DATE_TEXT_MAX + 10];
    int64_t us;
    read_text(r, 0, name, date, TB_DATE_TEXT_MAX);
    if (r->code || !date[0]) return;
    int len = snprintf(text, sizeof text, "%sT00:00:00Z", date);
    if (tb_rfc3339_parse(text, (size_t)len, &us, NULL)) bad(r, 0, "\"%s\" is no date.", name);
}

/* One field: in its object, where its path has a point. Counts it if it is there. */
static const char *read_field(reader *r, uint32_t object, tb_party_field field, uint32_t *known)
{
    const char *path = tb_party_path(field), *point = strchr(path, '.');
    char group[16] = "";
    if (point) {
        snprintf(group, sizeof group, "%.*s", (int)(point - path), path);
        object = find_member(r, object, group);
        if (!object) return NULL;
    }
    const char *value = read_string(r, object, point ? point + 1 : path);
    *known += value != NULL;
    return value;
}

/* How many texts an object holds, those of the objects in it too. */
static uint32_t count_texts(const reader *r, uint32_t object)
{
    uint32_t n = 0, at = object + 1;
    for (uint32_t i = 0; i < r->doc.nodes[object].len; i++, at = r->doc.nodes[at + 1].next) {
        const bool inner = r->doc.nodes[at + 1].type == TB__OBJECT && r->doc.nodes[at + 1].len;
        n += inner ? count_texts(r, at + 1) : 1;
    }
    return n;
}

static const tb_party *read_party(reader *r, const char *name, tb_party_role role)
{
    uint32_t known = 0, at = find_member(r, 0, name);
    if (r->code || !at || r->doc.nodes[at].type == TB__NULL) return NULL;
    if (r->doc.nodes[at].type != TB__OBJECT) {
        bad(r, at, "\"%s\" is no object.", name);
        return NULL;
    }
    tb_party *party = take(r, 1, sizeof *party);
    for (int i = 0; party && i < TB_PARTY_FIELDS; i++)
        if (tb_party_term(role, (tb_party_field)i))
            party->text[i] = read_field(r, at, (tb_party_field)i, &known);
    if (!r->code && known != count_texts(r, at)) bad(r, at, "a member of \"%s\" is unknown.", name);
    return party;
}

/* It is present only where it differs from `paid`. */
static void read_drawn(reader *r, tb_statement *s)
{
    uint32_t at = find_member(r, 0, "drawn");
    if (r->code || !at) return;
    const tb_decimal drawn = read_decimal(r, 0, "drawn");
    if (!r->code) r->code = tb_decimal_sub(s->paid, drawn, &s->covered, r->err);
    if (!r->code && !tb_decimal_sign(s->covered)) bad(r, at, "\"drawn\" is all that is paid.");
}

/* The members that version 1 does not have. */
static void read_issue(reader *r, tb_statement *s)
{
    read_date(r, "issued", s->issued);
    read_date(r, "due", s->due);
    s->buyer = read_party(r, "buyer", TB_BUYER);
    s->seller = read_party(r, "seller", TB_SELLER);
    s->paid = read_decimal(r, 0, "paid");
    read_drawn(r, s);
    read_ledger(r, s);
}

static void check_payable(reader *r, const tb_statement *s, const tb_bill *bill)
{
    char says[TB_DECIMAL_TEXT_MAX + 1], due[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal expected, payable = read_decimal(r, 0, "payable");
    if (r->code) return;
    r->code = tb_decimal_sub(bill->total, s->paid, &expected, r->err);
    if (r->code || tb_decimal_compare(payable, expected) == 0) return;
    *tb_decimal_put_fixed(says, payable, bill->minor_digits) = 0;
    *tb_decimal_put_fixed(due, expected, bill->minor_digits) = 0;
    r->code = tb_fail(r->err, TB_E_VALIDATION, "payable", "The invoice's text is not as written: \"payable\" is %s, and the total less what is paid is %s.",
                      says, due);
}

static void read_version(reader *r, tb_statement *s)
{
    uint32_t at = find_member(r, 0, "version");
    s->version = at ? (int)read_number(r, 0, "version") : 1;
    if (at && s->version != TB_INVOICE_VERSION) bad(r, at, "its version is unknown.");
    only(r, 0,
         s->version > 1
             ? "account book ?books buyer ?corrects currency ?drawn due issued kind ledger lines "
               "number paid payable period previous ?replaces residual seller sha256 state subtotal tax "
               "total unpriced version watermark"
             : "account book ?books ?corrects currency kind lines number period previous "
               "?replaces residual sha256 state subtotal tax total unpriced watermark");
}

static void read_head(reader *r, tb_statement *s)
{
    read_version(r, s);
    s->account = read_number(r, 0, "account");
    s->month = read_period(r, 0);
    s->watermark = read_count(r, 0, "watermark");
    read_text(r, 0, "currency", s->currency, sizeof s->currency);
    read_text(r, 0, "kind", s->kind, sizeof s->kind);
    read_text(r, 0, "number", s->number, sizeof s->number);
    read_text(r, 0, "state", s->state, sizeof s->state);
    read_text(r, 0, "previous", s->previous, sizeof s->previous);
    read_text(r, 0, "replaces", s->replaces, sizeof s->replaces);
    read_text(r, 0, "corrects", s->corrects, sizeof s->corrects);
    if (s->version > 1) read_issue(r, s);
}

static void read_bill(reader *r, tb_statement *s, tb_bill *bill)
{
    bill->minor_digits = digits_of(r);
    bill->subtotal = read_decimal(r, 0, "subtotal");
    bill->total = read_decimal(r, 0, "total");
    bill->residual = read_decimal(r, 0, "residual");
    bill->exact = sum_exact(r, bill);
    read_books(r, s);
    read_lines(r, s, bill);
    read_tax(r, s, bill);
    read_unpriced(r, bill);
    if (s->version > 1) check_payable(r, s, bill);
    s->bill = bill;
}

/* Hashes the text around its own member: from the comma before the key to the value's last quote.
 */
static void check_hash(reader *r, tb_paper *paper)
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[65];
    uint32_t at = need(r, 0, "sha256", TB__STRING);
    read_text(r, 0, "sha256", paper->sha256, sizeof paper->sha256);
    if (r->code) return;
    size_t from = r->doc.nodes[at - 1].at, to = r->doc.nodes[at].at + 66;
    if (from == 0 || to > r->len) {
        bad(r, at, "its sha256 is cut off.");
        return;
    }
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)r->text, from - 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)r->text + to, r->len - to);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    paper->sha256_true = memcmp(hex, paper->sha256, 65) == 0;
}

tb_code tb_paper_parse(const char *text, size_t len, const tb_alloc *alloc, tb_paper *ret_paper,
                       tb_error *err)
{
    tb_paper paper = {0};
    reader r = {.text = text, .len = len, .err = err, .mem = tb__arena_new(alloc)};
    if (!r.mem) return tb_no_memory(err);
    paper.memory = r.mem;
    r.code = tb__document_parse(text, len, TB_E_VALIDATION, r.mem, alloc, &r.doc, err);
    if (r.code) {
        tb_paper_release(&paper);
        return r.code;
    }
    read_head(&r, &paper.statement);
    read_bill(&r, &paper.statement, &paper.bill);
    check_hash(&r, &paper);
    tb__document_release(&r.doc);
    if (r.code) {
        tb_paper_release(&paper);
        return r.code;
    }
    *ret_paper = paper;
    ret_paper->statement.bill = &ret_paper->bill;
    return TB_OK;
}

void tb_paper_release(tb_paper *paper)
{
    tb__arena_free(paper->memory);
    *paper = (tb_paper){0};
}
