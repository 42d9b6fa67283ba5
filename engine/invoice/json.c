/* The canonical text of an invoice. Its keys are known, so they are simply written in sorted order.
 * The text is written without its sha256 member, hashed, and the member is put in its place. */
#include "tollbook/invoice.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/json.h"

/* --- pieces: each writes `,"name":value`, or without the comma where it is the first --- */

static void key(tb_buf *out, const char *name)
{
    size_t len = strlen(name);
    char *at = tb_buf_room(out, len + 4);
    if (!at) return;
    if (at[-1] != '{') *at++ = ','; /* there is always something before: the brace */
    *at++ = '"';
    memcpy(at, name, len);
    memcpy(at + len, "\":", 2);
    out->len = (size_t)(at + len + 2 - out->data);
}

static void text(tb_buf *out, const char *name, const char *value)
{
    key(out, name);
    if (*value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

static void decimal(tb_buf *out, const char *name, tb_decimal value)
{
    key(out, name);
    tb_buf_str(out, "\"");
    tb__add_decimal(out, value);
    tb_buf_str(out, "\"");
}

static void money(tb_buf *out, const char *name, tb_decimal value, int digits)
{
    key(out, name);
    tb_buf_str(out, "\"");
    tb__add_money(out, value, digits);
    tb_buf_str(out, "\"");
}

static void units(tb_buf *out, const char *name, tb_i128 value)
{
    decimal(out, name, tb_decimal_from_int(value));
}

static void moment(tb_buf *out, const char *name, int64_t us)
{
    key(out, name);
    tb_buf_str(out, "\"");
    tb__add_time(out, us);
    tb_buf_str(out, "\"");
}

static void number(tb_buf *out, const char *name, int64_t value)
{
    key(out, name);
    tb_buf_fmt(out, "%" PRId64, value);
}

static void period(tb_buf *out, int64_t month)
{
    key(out, "period");
    tb_buf_str(out, "{");
    moment(out, "end", tb_month_start_us(month + 1));
    moment(out, "start", tb_month_start_us(month));
    tb_buf_str(out, "}");
}

/* --- a line --- */

static void put_evidence(tb_buf *out, const tb_bill_line *line)
{
    const tb_evidence *e = &line->evidence;
    key(out, "evidence");
    if (!e->hash[0]) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_str(out, "{");
    key(out, "buckets");
    tb_buf_fmt(out, "%" PRIu64, e->buckets);
    moment(out, "from", e->from_us);
    text(out, "hash", e->hash);
    units(out, "sum", line->quantity);
    moment(out, "to", e->to_us);
    tb_buf_str(out, "}");
}

static void put_tiers(tb_buf *out, const tb_bill_line *line)
{
    key(out, "tiers");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < line->n_tiers; i++) {
        const tb_bill_tier *tier = &line->tiers[i];
        tb_buf_str(out, i ? ",{" : "{");
        decimal(out, "amount", tier->amount);
        if (line->item && tier->by_block) units(out, "blocks", tier->blocks);
        units(out, "from", tier->from);
        decimal(out, "list_price", tier->shown);
        number(out, "part", tier->part);
        decimal(out, "price", tier->price);
        units(out, "to", tier->to);
        units(out, "units", tier->units);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_shares(tb_buf *out, const tb_bill_line *line, int digits)
{
    if (line->n_shares == 0) return;
    key(out, "shares");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < line->n_shares; i++) {
        const tb_bill_share *share = &line->shares[i];
        tb_buf_str(out, i ? ",{" : "{");
        money(out, "amount", share->amount, digits);
        units(out, "bytes", share->bytes);
        decimal(out, "exact", share->exact);
        number(out, "zone", share->zone);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_correction(tb_buf *out, const tb_correction *c)
{
    key(out, "corrects");
    tb_buf_str(out, "{");
    text(out, "invoice", c->invoice);
    text(out, "kind", tb_line_kind_name(c->kind));
    key(out, "since");
    tb_buf_fmt(out, "%" PRIu64 "}", c->since);
}

/* When the service of a fee is: the coming month, say. */
static void put_service(tb_buf *out, const tb_bill_item *item)
{
    key(out, "service");
    tb_buf_str(out, "{");
    moment(out, "end", item->to_us);
    moment(out, "start", item->from_us);
    tb_buf_str(out, "}");
}

/* A member that is left out where it is empty. */
static void text_if(tb_buf *out, const char *name, const char *value)
{
    if (value && value[0]) text(out, name, value);
}

static void put_line(tb_buf *out, const tb_bill_line *line, const tb_correction *c, int digits)
{
    static const tb_bill_item none = {.id = "", .name = "", .unit = "", .per_unit = ""};
    const bool corrects = c && line->kind == TB_LINE_CORRECTION;
    const tb_line_kind origin = corrects ? c->kind : line->kind;
    const tb_bill_item *item = line->item ? line->item : &none;
    tb_buf_str(out, "{");
    money(out, "amount", line->amount, digits);
    if (corrects) put_correction(out, c);
    text_if(out, "description", line->description ? line->description : item->name);
    put_evidence(out, line);
    decimal(out, "exact", line->exact);
    if (origin == TB_LINE_FEE) text_if(out, "fee", item->id);
    text(out, "kind", tb_line_kind_name(line->kind));
    text_if(out, "ledger_code", item->ledger_code);
    number(out, "line", line->number);
    if (origin != TB_LINE_FEE) text_if(out, "meter", item->id);
    if (item->per) units(out, "per", item->per);
    text_if(out, "per_unit", item->per_unit);
    if (corrects) period(out, line->period_month);
    units(out, "quantity", line->quantity);
    if (origin == TB_LINE_METER && !line->region[0])
        tb_buf_str(out, ",\"region\":\"\"");
    else
        text(out, "region", line->region);
    text(out, "resource", line->resource);
    if (origin == TB_LINE_FEE) put_service(out, item);
    put_shares(out, line, digits);
    text_if(out, "tax_category", line->tax_category);
    put_tiers(out, line);
    text_if(out, "unece", item->unece);
    text(out, "unit", item->unit[0] ? item->unit : tb_line_kind_unit(origin));
    tb_buf_str(out, "}");
}

/* --- the whole --- */

static void put_books(tb_buf *out, const tb_statement *s)
{
    key(out, "book");
    if (s->n_books == 0 || !s->books[s->n_books - 1].id[0]) {
        tb_buf_str(out, "null");
    } else {
        tb_buf_str(out, "{");
        text(out, "id", s->books[s->n_books - 1].id);
        text(out, "sha256", s->books[s->n_books - 1].sha256);
        tb_buf_str(out, "}");
    }
    if (s->n_books < 2) return;
    key(out, "books");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < s->n_books; i++) {
        tb_buf_str(out, i ? ",{" : "{");
        moment(out, "from", s->books[i].from_us);
        text(out, "id", s->books[i].id);
        text(out, "sha256", s->books[i].sha256);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_lines(tb_buf *out, const tb_statement *s)
{
    const tb_bill *bill = s->bill;
    key(out, "lines");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < bill->n_lines; i++) {
        if (i) tb_buf_str(out, ",");
        put_line(out, &bill->lines[i], s->corrections ? &s->corrections[i] : NULL,
                 bill->minor_digits);
    }
    tb_buf_str(out, "]");
}

static void reason(tb_buf *out, const char *name, const tb_bill_taxed *tax, const char *value)
{
    text(out, name, value && tb_tax_untaxed(&tax->rate) ? value : "");
}

static void put_tax_month(tb_buf *out, int64_t month)
{
    char name[8];
    tb_month_format(month, name);
    text(out, "month", name);
}

static void put_tax(tb_buf *out, const tb_statement *s)
{
    const tb_bill *bill = s->bill;
    key(out, "tax");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < bill->n_tax; i++) {
        const tb_bill_taxed *tax = &bill->tax[i];
        tb_buf_str(out, i ? ",{" : "{");
        money(out, "amount", tax->amount, bill->minor_digits);
        money(out, "base", tax->base, bill->minor_digits);
        if (tax->late) money(out, "billed", tax->billed, bill->minor_digits);
        if (s->version > 1) text(out, "category", tb_tax_category(&tax->rate));
        if (tax->charges) tb_buf_str(out, ",\"charges\":true");
        if (tax->late) put_tax_month(out, tax->month);
        text(out, "name", tax->rate.name);
        decimal(out, "percent", tax->rate.percent);
        if (s->version > 1) {
            reason(out, "reason", tax, tax->reason);
            reason(out, "reason_code", tax, tax->reason_code);
        }
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_unpriced(tb_buf *out, const tb_bill *bill)
{
    key(out, "unpriced");
    tb_buf_str(out, "[");
    for (size_t i = 0; i < bill->n_unpriced; i++) {
        const tb_unpriced *u = &bill->unpriced[i];
        tb_buf_str(out, i ? ",{" : "{");
        units(out, "quantity", u->quantity);
        text(out, "reason", u->reason);
        text(out, "resource", u->resource);
        text(out, "unit", u->unit);
        text(out, "what", u->what);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_ledger(tb_buf *out, const tb_statement *s)
{
    key(out, "ledger");
    if (!s->in_ledger) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_str(out, "{");
    key(out, "count");
    tb_buf_fmt(out, "%" PRIu64, s->ledger.count);
    text(out, "head", s->ledger.head);
    tb_buf_str(out, "}");
}

/* The declared members, in the table's order, which is that of sorted keys; those with a point in their path are in an
 * object of their own. */
static void put_party(tb_buf *out, const char *name, const tb_party *party)
{
    const char *open = ""; /* the path whose object is open */
    size_t open_len = 0;
    key(out, name);
    if (!party) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_str(out, "{");
    for (int i = 0; i < TB_PARTY_FIELDS; i++) {
        const char *path = tb_party_path((tb_party_field)i), *point = strchr(path, '.');
        const size_t len = point ? (size_t)(point - path) : 0;
        char group[16];
        if (!party->text[i]) continue;
        if (open_len && (len != open_len || memcmp(path, open, len) != 0)) {
            tb_buf_str(out, "}");
            open_len = 0;
        }
        if (len && !open_len) {
            snprintf(group, sizeof group, "%.*s", (int)len, path);
            key(out, group);
            tb_buf_str(out, "{");
            open = path;
            open_len = len;
        }
        text(out, point ? point + 1 : path, party->text[i]);
    }
    tb_buf_str(out, open_len ? "}}" : "}");
}

/* Everything but the sha256 member, which belongs before `state`, at *ret_place. `later` has the members
 * that version 1 does not have. */
static void put_statement(tb_buf *out, const tb_statement *s, tb_decimal payable, tb_decimal drawn,
                          size_t *ret_place)
{
    const tb_bill *bill = s->bill;
    const bool later = s->version > 1;
    tb_buf_str(out, "{");
    number(out, "account", s->account);
    put_books(out, s);
    if (later) put_party(out, "buyer", s->buyer);
    if (s->corrects[0]) text(out, "corrects", s->corrects);
    text(out, "currency", s->currency);
    if (later && tb_decimal_sign(s->covered)) money(out, "drawn", drawn, bill->minor_digits);
    if (later) text(out, "due", s->due);
    if (later) text(out, "issued", s->issued);
    text(out, "kind", s->kind);
    if (later) put_ledger(out, s);
    put_lines(out, s);
    text(out, "number", s->number);
    if (later) money(out, "paid", s->paid, bill->minor_digits);
    if (later) money(out, "payable", payable, bill->minor_digits);
    period(out, s->month);
    text(out, "previous", s->previous);
    if (s->replaces[0]) text(out, "replaces", s->replaces);
    decimal(out, "residual", bill->residual);
    if (later) put_party(out, "seller", s->seller);
    *ret_place = out->len;
    text(out, "state", s->state);
    money(out, "subtotal", bill->subtotal, bill->minor_digits);
    put_tax(out, s);
    money(out, "total", bill->total, bill->minor_digits);
    put_unpriced(out, bill);
    if (later) number(out, "version", s->version);
    key(out, "watermark");
    tb_buf_fmt(out, "%" PRIu64 "}", s->watermark);
}

void tb_statement_init(tb_statement *statement, const tb_bill_input *input, const tb_bill *bill,
                       tb_statement_book *books)
{
    *statement = (tb_statement){.version = TB_INVOICE_VERSION,
                                .kind = "invoice",
                                .state = "draft",
                                .account = input->account,
                                .month = input->month,
                                .books = books,
                                .n_books = input->n_parts,
                                .bill = bill};
    memcpy(statement->currency, input->currency, sizeof statement->currency);
    for (size_t i = 0; i < input->n_parts; i++) {
        const tb_book *book = input->parts[i].book;
        memset(&books[i], 0, sizeof books[i]);
        books[i].from_us = input->parts[i].from_us;
        if (!book) continue;
        memcpy(books[i].id, book->id, sizeof books[i].id);
        memcpy(books[i].sha256, book->sha256, sizeof books[i].sha256);
    }
}

void tb_statement_dress(tb_statement *statement, const tb_statement *stored)
{
    statement->version = stored->version;
    memcpy(statement->number, stored->number, sizeof statement->number);
    memcpy(statement->state, stored->state, sizeof statement->state);
    memcpy(statement->previous, stored->previous, sizeof statement->previous);
    memcpy(statement->replaces, stored->replaces, sizeof statement->replaces);
    memcpy(statement->issued, stored->issued, sizeof statement->issued);
    memcpy(statement->due, stored->due, sizeof statement->due);
    statement->paid = stored->paid;
    statement->covered = stored->covered;
    statement->seller = stored->seller;
    statement->buyer = stored->buyer;
    for (size_t i = 0; i < statement->bill->n_tax && i < stored->bill->n_tax; i++) {
        statement->bill->tax[i].reason = stored->bill->tax[i].reason;
        statement->bill->tax[i].reason_code = stored->bill->tax[i].reason_code;
    }
    statement->in_ledger = stored->in_ledger;
    statement->ledger = stored->ledger;
}

void tb_line_json(const tb_statement *statement, size_t line, tb_buf *out)
{
    put_line(out, &statement->bill->lines[line],
             statement->corrections ? &statement->corrections[line] : NULL,
             statement->bill->minor_digits);
}

#define MEMBER ",\"sha256\":\"" /* and 64 digits and a quote */

tb_code tb_statement_json(const tb_statement *statement, tb_buf *out, char ret_sha256[65],
                          tb_error *err)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char member[sizeof MEMBER - 1 + 65 + 1] = MEMBER;
    size_t start = out->len, place = 0, size = sizeof member - 1;
    tb_decimal payable, drawn;
    tb_code code = tb_decimal_sub(statement->bill->total, statement->paid, &payable, err);
    if (!code) code = tb_decimal_sub(statement->paid, statement->covered, &drawn, err);
    if (code) return code;
    put_statement(out, statement, payable, drawn, &place);
    if (out->failed || !tb_buf_room(out, size)) return tb_buf_check(out, err);
    crypto_hash_sha256(hash, (const unsigned char *)out->data + start, out->len - start);
    sodium_bin2hex(member + sizeof MEMBER - 1, 65, hash, sizeof hash);
    if (ret_sha256) memcpy(ret_sha256, member + sizeof MEMBER - 1, 65);
    member[size - 1] = '"';
    memmove(out->data + place + size, out->data + place, out->len - place);
    memcpy(out->data + place, member, size);
    out->len += size;
    return TB_OK;
}

/* Quotes inside strings are escaped, and no inner object has a `state`: the member is found as
 * text. */
void tb_invoice_text_void(const char *canonical, size_t len, tb_buf *out)
{
    static const char final[] = ",\"state\":\"final\",", shown[] = ",\"state\":\"void\",";
    const char *at = memmem(canonical, len, final, sizeof final - 1);
    if (!at) {
        tb_buf_add(out, canonical, len);
        return;
    }
    size_t before = (size_t)(at - canonical), after = before + sizeof final - 1;
    tb_buf_add(out, canonical, before);
    tb_buf_str(out, shown);
    tb_buf_add(out, canonical + after, len - after);
}
