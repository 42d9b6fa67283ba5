/* Terms as text and back. Every object is a table of its members, sorted by name, with the place of each in its struct; one writer
 * and one reader walk all tables. What is read is written again and compared, so that a document has one text of terms. */
#include "check/terms.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/list.h"
#include "invoice/text.h"
#include "model/document.h"
#include "tollbook/bundle.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* --- tables --- */

typedef enum shape {
    INT,      /* int64_t */
    COUNT,    /* uint64_t */
    NUMBER,   /* int */
    INDEX,    /* uint32_t */
    BOOL,
    DECIMAL,  /* tb_decimal, as text */
    TEXT,     /* char[size]; null: "" */
    STRING,   /* const char *; null: "" or NULL */
    WORD,     /* an int or enum, of a list of words */
    MOMENT,   /* int64_t, microseconds; null: `none`, where `most` is 1 */
    MONTH,    /* int64_t; null: `none`, where `most` is 1 */
    REGION,   /* tb_billing_region, null where the bool at `other` is false */
    BOOK,     /* const tb_book *; null: none */
    OBJECT,   /* a struct in place, of `table` */
    LIST,     /* a pointer to structs of `table` and `size`; their number, a size_t, at `other` */
    ARRAY,    /* the same in place, of at most `most` */
} shape;

typedef struct member {
    const char *name;
    shape shape;
    size_t at, other, size;
    const struct member *table;
    const char *const *words;
    int64_t none;
    size_t most;
} member;

#define AT(type, name, shape, field) {name, shape, offsetof(type, field), 0, sizeof(((type *)0)->field), NULL, NULL, 0, 0}
#define OPEN(type, name, shape, field, none) {name, shape, offsetof(type, field), 0, 0, NULL, NULL, none, 1}
#define GIVEN(type, name, shape, field) {name, shape, offsetof(type, field), 0, 0, NULL, NULL, INT64_MIN, 0}
#define WORDS(type, name, field, words) {name, WORD, offsetof(type, field), 0, 0, NULL, words, 0, sizeof words / sizeof *words}
#define IN(type, name, field, table) {name, OBJECT, offsetof(type, field), 0, 0, table, NULL, 0, 0}
#define LISTED(type, name, field, n, item, table) \
    {name, LIST, offsetof(type, field), offsetof(type, n), sizeof(item), table, NULL, 0, 0}
#define WITHIN(type, name, field, n, item, table) \
    {name, ARRAY, offsetof(type, field), offsetof(type, n), sizeof(item), table, NULL, 0, sizeof(((type *)0)->field) / sizeof(item)}
#define PLACED(type, name, field, priced) {name, REGION, offsetof(type, field), offsetof(type, priced), 0, NULL, NULL, 0, 0}
#define END {NULL, INT, 0, 0, 0, NULL, NULL, 0, 0}

static const char *const charges[] = {"premium", "volume", "override"};
static const char *const owners[] = {"account", "pull_zone", "load_balancer"};
static const char *const actions[] = {"none", "alert", "disable"};
static const char *const rules[] = {"now", "floored", "whole", "early"};
static const char *const kinds[] = {"counter", "gauge", "sample"};

static const member balancer[] = {AT(tb_bill_balancer, "balancer", INT, balancer), AT(tb_bill_balancer, "part", INDEX, part),
                                  AT(tb_bill_balancer, "seconds", INT, seconds), END};

static const member bytes[] = {WORDS(tb_bill_bytes, "charge", charge, charges),
                               AT(tb_bill_bytes, "discount", NUMBER, discount),
                               OPEN(tb_bill_bytes, "from", MOMENT, evidence.from_us, INT64_MIN),
                               AT(tb_bill_bytes, "location", TEXT, location),
                               AT(tb_bill_bytes, "part", INDEX, part),
                               AT(tb_bill_bytes, "price", DECIMAL, override_price),
                               PLACED(tb_bill_bytes, "region", region, priced),
                               OPEN(tb_bill_bytes, "to", MOMENT, evidence.to_us, INT64_MAX),
                               AT(tb_bill_bytes, "zone", INT, zone),
                               END};

static const member cap[] = {OPEN(tb_bill_cap, "at", MOMENT, at_us, 0), AT(tb_bill_cap, "before", DECIMAL, before),
                             AT(tb_bill_cap, "reached", BOOL, reached), END};

static const member commit[] = {AT(tb_commit, "amount", DECIMAL, amount),
                                OPEN(tb_commit, "from", MONTH, from, INT64_MIN),
                                AT(tb_commit, "months", NUMBER, months),
                                AT(tb_commit, "rollover", BOOL, rollover),
                                OPEN(tb_commit, "to", MONTH, to, INT64_MAX),
                                END};

static const member contract[] = {AT(tb_contract, "book", TEXT, book),
                                  AT(tb_contract, "cap", DECIMAL, cap),
                                  WORDS(tb_contract, "cap_action", cap_action, actions),
                                  WITHIN(tb_contract, "commits", commits, n_commits, tb_commit, commit),
                                  AT(tb_contract, "discount", DECIMAL, discount),
                                  AT(tb_contract, "minimum", DECIMAL, minimum),
                                  AT(tb_contract, "own_minimum", BOOL, own_minimum),
                                  AT(tb_contract, "percentile", BOOL, percentile),
                                  END};

static const member earlier[] = {AT(tb_bill_earlier, "amount", DECIMAL, amount),
                                 GIVEN(tb_bill_earlier, "month", MONTH, month), END};

static const member fee[] = {AT(tb_bill_fee, "book", BOOK, book),
                             AT(tb_bill_fee, "credit", BOOL, credit),
                             AT(tb_bill_fee, "fee", TEXT, id),
                             OPEN(tb_bill_fee, "from", MOMENT, from_us, INT64_MIN),
                             WORDS(tb_bill_fee, "owner", owner, owners),
                             AT(tb_bill_fee, "owner_id", INT, owner_id),
                             AT(tb_bill_fee, "part", INDEX, part),
                             OPEN(tb_bill_fee, "period", MOMENT, period_us, INT64_MIN),
                             AT(tb_bill_fee, "quantity", INT, quantity),
                             AT(tb_bill_fee, "seconds", INT, seconds),
                             OPEN(tb_bill_fee, "to", MOMENT, to_us, INT64_MAX),
                             AT(tb_bill_fee, "whole", INT, whole),
                             END};

static const member gap[] = {OPEN(tb_origin_gap, "from", MOMENT, from_us, INT64_MIN),
                             OPEN(tb_origin_gap, "to", MOMENT, to_us, INT64_MAX), END};

static const member gauge[] = {AT(tb_origin_gauge, "dimension_1", STRING, dimension[0]),
                               AT(tb_origin_gauge, "dimension_2", STRING, dimension[1]),
                               AT(tb_origin_gauge, "meter", STRING, meter),
                               AT(tb_origin_gauge, "resource", STRING, resource),
                               AT(tb_origin_gauge, "value", COUNT, value),
                               END};

static const member meter[] = {AT(tb_meter, "charge", TEXT, charge),
                               AT(tb_meter, "dimension_1", TEXT, dimension[0]),
                               AT(tb_meter, "dimension_2", TEXT, dimension[1]),
                               AT(tb_meter, "dimensions", NUMBER, n_dimensions),
                               AT(tb_meter, "display_per", INT, display_per),
                               AT(tb_meter, "display_unit", TEXT, display_unit),
                               AT(tb_meter, "id", TEXT, id),
                               AT(tb_meter, "interval", NUMBER, interval),
                               WORDS(tb_meter, "kind", kind, kinds),
                               AT(tb_meter, "ledger_code", TEXT, ledger_code),
                               AT(tb_meter, "name", TEXT, name),
                               AT(tb_meter, "resource", TEXT, noun),
                               AT(tb_meter, "round_up", INT, round_up),
                               AT(tb_meter, "unece", TEXT, unece),
                               AT(tb_meter, "unit", TEXT, unit),
                               END};

static const member optimizer[] = {AT(tb_bill_optimizer, "monthly", DECIMAL, monthly),
                                   AT(tb_bill_optimizer, "own_price", BOOL, own_price),
                                   AT(tb_bill_optimizer, "part", INDEX, part),
                                   AT(tb_bill_optimizer, "seconds", INT, seconds),
                                   AT(tb_bill_optimizer, "zone", INT, zone),
                                   END};

static const member part[] = {AT(tb_bill_part, "book", BOOK, book), OPEN(tb_bill_part, "from", MOMENT, from_us, INT64_MIN),
                              OPEN(tb_bill_part, "to", MOMENT, to_us, INT64_MAX), END};

static const member place[] = {AT(tb_origin_place, "code", TEXT, code), PLACED(tb_origin_place, "region", region, priced), END};

static const member samples[] = {AT(tb_bill_samples, "dimension_1", STRING, dimension[0]),
                                 AT(tb_bill_samples, "dimension_2", STRING, dimension[1]),
                                 AT(tb_bill_samples, "meter", INDEX, meter),
                                 AT(tb_bill_samples, "resource", STRING, resource),
                                 END};

static const member tax[] = {AT(tb_bill_tax, "category", TEXT, category), AT(tb_bill_tax, "name", TEXT, name),
                             AT(tb_bill_tax, "percent", DECIMAL, percent), END};

static const member tie[] = {AT(tb_origin_tie, "balancer", INT, balancer),
                             OPEN(tb_origin_tie, "from", MOMENT, from_us, INT64_MIN),
                             OPEN(tb_origin_tie, "to", MOMENT, to_us, INT64_MAX),
                             AT(tb_origin_tie, "zone", INT, zone),
                             END};

static const member usage[] = {AT(tb_bill_usage, "dimension_1", STRING, dimension[0]),
                               AT(tb_bill_usage, "dimension_2", STRING, dimension[1]),
                               AT(tb_bill_usage, "meter", INDEX, meter),
                               AT(tb_bill_usage, "part", INDEX, part),
                               AT(tb_bill_usage, "resource", STRING, resource),
                               END};

typedef tb__term_month M; /* for the width of the table */
static const member month[] = {
    AT(M, "active_zone", BOOL, input.active_zone),
    LISTED(M, "balancers", input.balancers, input.n_balancers, tb_bill_balancer, balancer),
    AT(M, "book_missing", BOOL, input.book_missing),
    LISTED(M, "bytes", input.bytes, input.n_bytes, tb_bill_bytes, bytes),
    IN(M, "cap", input.cap, cap),
    IN(M, "contract", input.contract, contract),
    AT(M, "currency", TEXT, input.currency),
    LISTED(M, "days", days, n_days, tb__term_day, NULL),
    WITHIN(M, "earlier", input.earlier, input.n_earlier, tb_bill_earlier, earlier),
    LISTED(M, "fees", input.fees, input.n_fees, tb_bill_fee, fee),
    LISTED(M, "gaps", origins.gaps, origins.n_gaps, tb_origin_gap, gap),
    LISTED(M, "gauges", origins.gauges, origins.n_gauges, tb_origin_gauge, gauge),
    LISTED(M, "meters", input.meters, input.n_meters, tb_meter, meter),
    GIVEN(M, "month", MONTH, input.month),
    LISTED(M, "optimizers", input.optimizers, input.n_optimizers, tb_bill_optimizer, optimizer),
    LISTED(M, "parts", input.parts, input.n_parts, tb_bill_part, part),
    LISTED(M, "places", origins.places, origins.n_places, tb_origin_place, place),
    LISTED(M, "samples", input.samples, input.n_samples, tb_bill_samples, samples),
    WITHIN(M, "tax", input.tax, input.n_tax, tb_bill_tax, tax),
    AT(M, "tax_reason", STRING, input.tax_reason),
    AT(M, "tax_reason_code", STRING, input.tax_reason_code),
    LISTED(M, "ties", origins.ties, origins.n_ties, tb_origin_tie, tie),
    LISTED(M, "usage", input.usage, input.n_usage, tb_bill_usage, usage),
    END};

static const member number[] = {AT(tb__term_number, "number", TEXT, number), END};

static const member late[] = {IN(tb__term_late, "after", after, month),
                              LISTED(tb__term_late, "before", before, n_before, tb__term_month, month),
                              LISTED(tb__term_late, "billed", billed, n_billed, tb__term_number, number),
                              AT(tb__term_late, "invoice", TEXT, invoice),
                              GIVEN(tb__term_late, "month", MONTH, month),
                              AT(tb__term_late, "since", COUNT, since),
                              END};

static const member charge[] = {AT(tb_bill_charge, "amount", DECIMAL, due),
                                AT(tb_bill_charge, "charge", INT, id),
                                AT(tb_bill_charge, "description", STRING, description),
                                AT(tb_bill_charge, "tax_category", TEXT, tax_category),
                                AT(tb_bill_charge, "whole", DECIMAL, whole),
                                END};

static const member document[] = {AT(tb__doc_terms, "account", INT, account),
                                  LISTED(tb__doc_terms, "charges", charges, n_charges, tb_bill_charge, charge),
                                  AT(tb__doc_terms, "kind", TEXT, kind),
                                  LISTED(tb__doc_terms, "lates", lates, n_lates, tb__term_late, late),
                                  GIVEN(tb__doc_terms, "month", MONTH, month),
                                  LISTED(tb__doc_terms, "months", own, n_own, tb__term_month, month),
                                  AT(tb__doc_terms, "number", TEXT, number),
                                  WORDS(tb__doc_terms, "rules", rules, rules),
                                  AT(tb__doc_terms, "v", INT, v),
                                  AT(tb__doc_terms, "watermark", COUNT, watermark),
                                  END};

/* --- writing --- */

static void write_object(tb_buf *out, const member *table, const void *from);

static void write_text(tb_buf *out, const char *text)
{
    if (text && *text) tb_json_string(out, text, strlen(text));
    else tb_buf_str(out, "null");
}

/* With the microseconds where it has any. */
static void write_moment(tb_buf *out, int64_t us)
{
    char text[20];
    int64_t rest = us % TB_US_PER_S;
    if (rest < 0) rest += TB_US_PER_S;
    tb_time_format(us - rest, text);
    tb_buf_add(out, "\"", 1);
    tb_buf_add(out, text, 19);
    if (rest) tb_buf_fmt(out, ".%06" PRId64, rest);
    tb_buf_add(out, "Z\"", 2);
}

static void write_day(tb_buf *out, int64_t day)
{
    char text[20];
    tb_time_format(day * TB_US_PER_DAY, text);
    tb_buf_add(out, "\"", 1);
    tb_buf_add(out, text, 10);
    tb_buf_add(out, "\"", 1);
}

static void write_month(tb_buf *out, int64_t value)
{
    char text[8];
    tb_month_format(value, text);
    tb_buf_fmt(out, "\"%s\"", text);
}

static void write_book(tb_buf *out, const tb_book *book)
{
    if (!book) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_str(out, "{\"id\":");
    write_text(out, book->id);
    tb_buf_str(out, ",\"sha256\":");
    write_text(out, book->sha256);
    tb_buf_str(out, "}");
}

static void write_days(tb_buf *out, const tb__term_day *days, size_t n)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        tb_buf_str(out, i ? ",[" : "[");
        write_day(out, days[i].day);
        tb_buf_add(out, ",", 1);
        tb__add_i128(out, days[i].index);
        tb_buf_add(out, "]", 1);
    }
    tb_buf_str(out, "]");
}

static void write_list(tb_buf *out, const member *m, const char *items, size_t n)
{
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) tb_buf_str(out, ",");
        write_object(out, m->table, items + i * m->size);
    }
    tb_buf_str(out, "]");
}

static void write_lists(tb_buf *out, const member *m, const char *from)
{
    const char *const at = from + m->at;
    size_t n;
    memcpy(&n, from + m->other, sizeof n);
    if (m->shape == ARRAY) write_list(out, m, at, n);
    else if (m->table) write_list(out, m, *(const char *const *)at, n);
    else write_days(out, *(const tb__term_day *const *)at, n);
}

static void write_open(tb_buf *out, const member *m, int64_t value)
{
    if (value == m->none) tb_buf_str(out, "null");
    else (m->shape == MONTH ? write_month : write_moment)(out, value);
}

static void write_decimal(tb_buf *out, tb_decimal value)
{
    tb_buf_str(out, "\"");
    tb__add_decimal(out, value);
    tb_buf_str(out, "\"");
}

static void write_member(tb_buf *out, const member *m, const char *from)
{
    const void *const at = from + m->at;
    switch (m->shape) {
    case INT: tb__add_i128(out, *(const int64_t *)at); break;
    case COUNT: tb__add_i128(out, *(const uint64_t *)at); break;
    case NUMBER: tb__add_i128(out, *(const int *)at); break;
    case INDEX: tb__add_i128(out, *(const uint32_t *)at); break;
    case BOOL: tb_buf_str(out, *(const bool *)at ? "true" : "false"); break;
    case DECIMAL: write_decimal(out, *(const tb_decimal *)at); break;
    case TEXT: write_text(out, at); break;
    case STRING: write_text(out, *(const char *const *)at); break;
    case WORD: write_text(out, m->words[*(const unsigned *)at]); break;
    case MOMENT:
    case MONTH: write_open(out, m, *(const int64_t *)at); break;
    case REGION:
        write_text(out, *(const bool *)(from + m->other) ? tb_billing_region_name(*(const tb_billing_region *)at) : "");
        break;
    case BOOK: write_book(out, *(const tb_book *const *)at); break;
    case OBJECT: write_object(out, m->table, at); break;
    case LIST:
    case ARRAY: write_lists(out, m, from); break;
    }
}

static void write_object(tb_buf *out, const member *table, const void *from)
{
    for (const member *m = table; m->name; m++) {
        tb_buf_add(out, m == table ? "{\"" : ",\"", 2);
        tb_buf_str(out, m->name);
        tb_buf_add(out, "\":", 2);
        write_member(out, m, from);
    }
    tb_buf_str(out, "}");
}

tb_code tb__terms_write(const tb__doc_terms *terms, tb_buf *out, tb_error *err)
{
    write_object(out, document, terms);
    return tb_buf_check(out, err);
}

/* --- reading --- */

typedef struct reader {
    tb__document doc;
    tb__arena arena;
    tb__doc_terms *terms;
    tb_code code;
    tb_error *err;
} reader;

static void read_object(reader *r, uint32_t node, const member *table, void *to);

/* The first failure stays. */
static bool not_written(reader *r, uint32_t node, const char *name)
{
    if (r->code) return false;
    r->code = tb_fail(r->err, TB_E_VALIDATION, "terms", "The terms are not as written: \"%s\" is another value.", name);
    if (r->err) r->err->byte = r->doc.nodes[node].at + 1;
    return false;
}

static void *take_zeroed(reader *r, size_t n, size_t size)
{
    void *at = r->code ? NULL : tb__arena_take(&r->arena, n ? n * size : 1);
    if (at) return memset(at, 0, n * size);
    if (!r->code) r->code = tb_no_memory(r->err);
    return NULL;
}

/* A whole number within [least, most]. */
static tb_i128 read_whole(reader *r, uint32_t node, const char *name, tb_i128 least, tb_i128 most)
{
    const tb__node *v = &r->doc.nodes[node];
    tb_decimal value = TB_DECIMAL_ZERO;
    if (v->type == TB__NUMBER && tb_decimal_parse(v->text, v->len, 0, &value, NULL) == TB_OK && value.mantissa >= least &&
        value.mantissa <= most)
        return value.mantissa;
    not_written(r, node, name);
    return least;
}

/* Texts are compared as C has them: a string with a zero in it was refused by the document. */
static void read_chars(reader *r, uint32_t node, const member *m, char *to)
{
    const tb__node *v = &r->doc.nodes[node];
    if (v->type == TB__NULL) return;
    if (v->type != TB__STRING || v->len >= m->size) not_written(r, node, m->name);
    else memcpy(to, v->text, v->len);
}

static void read_string(reader *r, uint32_t node, const member *m, const char **to)
{
    const tb__node *v = &r->doc.nodes[node];
    if (v->type == TB__NULL) {
        *to = "";
        return;
    }
    if (v->type != TB__STRING) {
        not_written(r, node, m->name);
        return;
    }
    char *copy = take_zeroed(r, (size_t)v->len + 1, 1);
    if (copy) *to = memcpy(copy, v->text, v->len);
}

static void read_word(reader *r, uint32_t node, const member *m, unsigned *to)
{
    const tb__node *v = &r->doc.nodes[node];
    for (unsigned i = 0; v->type == TB__STRING && i < m->most; i++)
        if (tb__node_is(v, m->words[i], strlen(m->words[i]))) {
            *to = i;
            return;
        }
    not_written(r, node, m->name);
}

static void read_open(reader *r, uint32_t node, const member *m, int64_t *to)
{
    const tb__node *v = &r->doc.nodes[node];
    *to = m->none;
    if (v->type == TB__NULL && m->most) return;
    if (v->type != TB__STRING ||
        (m->shape == MONTH ? !tb_month_parse(v->text, v->len, to) : tb_rfc3339_parse(v->text, v->len, to, NULL) != TB_OK))
        not_written(r, node, m->name);
}

static void read_region(reader *r, uint32_t node, const member *m, char *to)
{
    const tb__node *v = &r->doc.nodes[node];
    char name[16] = "";
    if (v->type == TB__NULL) return;
    if (v->type == TB__STRING && v->len < sizeof name) memcpy(name, v->text, v->len);
    if (!tb_billing_region_parse(name, (tb_billing_region *)(to + m->at))) not_written(r, node, m->name);
    *(bool *)(to + m->other) = true;
}

static void read_decimal(reader *r, uint32_t node, const member *m, tb_decimal *to)
{
    const tb__node *v = &r->doc.nodes[node];
    if (v->type != TB__STRING || tb_decimal_parse(v->text, v->len, TB_DECIMAL_SCALE_MAX, to, NULL)) not_written(r, node, m->name);
}

static int compare_books(const tb_book *a, const tb_book *b)
{
    const int order = strcmp(a->sha256, b->sha256);
    return order ? order : strcmp(a->id, b->id);
}

static int book_of_key(const void *key, const void *item)
{
    return compare_books(key, *(tb_book *const *)item);
}

/* The book of this id and hash: made when it is named first, and kept in its place among those that are named. */
static tb_book *name_book(reader *r, const tb_book *key)
{
    tb__doc_terms *t = r->terms;
    size_t at = t->n_books;
    tb_book **const known = tb__find_sorted(key, t->books, t->n_books, sizeof *t->books, book_of_key);
    if (known) return *known;
    if (t->n_books == TB_TOLLPROOF_LIST) {
        if (!r->code) r->code = tb_fail(r->err, TB_E_VALIDATION, "terms", "The terms name more than %d price books.", TB_TOLLPROOF_LIST);
        return NULL;
    }
    tb_book *book = take_zeroed(r, 1, sizeof *book);
    if (!book) return NULL;
    *book = *key;
    for (t->n_books++; at && compare_books(book, t->books[at - 1]) < 0; at--)
        t->books[at] = t->books[at - 1];
    return t->books[at] = book;
}

static const member book_name[] = {AT(tb_book, "id", TEXT, id), AT(tb_book, "sha256", TEXT, sha256), END};

static void read_book(reader *r, uint32_t node, const tb_book **to)
{
    tb_book key = {.id = ""};
    if (r->doc.nodes[node].type == TB__NULL) return;
    read_object(r, node, book_name, &key);
    if (!r->code) *to = name_book(r, &key);
}

/* ["2026-10-01",12] */
static void read_pair(reader *r, uint32_t node, tb__term_day *to)
{
    const tb__node *list = &r->doc.nodes[node], *day = list + 1;
    char text[21] = "";
    int64_t us = 0;
    if (list->type != TB__ARRAY || list->len != 2 || day->type != TB__STRING || day->len != 10) {
        not_written(r, node, "days");
        return;
    }
    memcpy(text, day->text, 10);
    memcpy(text + 10, "T00:00:00Z", 11);
    if (tb_rfc3339_parse(text, 20, &us, NULL)) not_written(r, node, "days");
    to->day = us / TB_US_PER_DAY;
    to->index = (int64_t)read_whole(r, node + 2, "days", 0, INT64_MAX);
}

static void read_items(reader *r, uint32_t node, const member *m, char *items)
{
    const size_t n = r->doc.nodes[node].len;
    uint32_t at = node + 1;
    for (size_t i = 0; !r->code && i < n; i++, at = r->doc.nodes[at].next) {
        if (m->table) read_object(r, at, m->table, items + i * m->size);
        else read_pair(r, at, (tb__term_day *)(items + i * m->size));
    }
}

static void read_list(reader *r, uint32_t node, const member *m, char *to)
{
    const size_t n = r->doc.nodes[node].len;
    if (r->doc.nodes[node].type != TB__ARRAY || (m->shape == ARRAY && n > m->most)) {
        not_written(r, node, m->name);
        return;
    }
    char *items = m->shape == ARRAY ? to + m->at : take_zeroed(r, n, m->size);
    if (!items) return;
    if (m->shape == LIST) memcpy(to + m->at, &items, sizeof items);
    memcpy(to + m->other, &n, sizeof n);
    read_items(r, node, m, items);
}

static void read_member(reader *r, uint32_t node, const member *m, char *to)
{
    void *const at = to + m->at;
    const uint32_t type = r->doc.nodes[node].type;
    switch (m->shape) {
    case INT: *(int64_t *)at = (int64_t)read_whole(r, node, m->name, INT64_MIN, INT64_MAX); break;
    case COUNT: *(uint64_t *)at = (uint64_t)read_whole(r, node, m->name, 0, UINT64_MAX); break;
    case NUMBER: *(int *)at = (int)read_whole(r, node, m->name, INT32_MIN, INT32_MAX); break;
    case INDEX: *(uint32_t *)at = (uint32_t)read_whole(r, node, m->name, 0, UINT32_MAX); break;
    case BOOL:
        if (type != TB__TRUE && type != TB__FALSE) not_written(r, node, m->name);
        *(bool *)at = type == TB__TRUE;
        break;
    case DECIMAL: read_decimal(r, node, m, at); break;
    case TEXT: read_chars(r, node, m, at); break;
    case STRING: read_string(r, node, m, at); break;
    case WORD: read_word(r, node, m, at); break;
    case MOMENT:
    case MONTH: read_open(r, node, m, at); break;
    case REGION: read_region(r, node, m, to); break;
    case BOOK: read_book(r, node, at); break;
    case OBJECT: read_object(r, node, m->table, at); break;
    case LIST:
    case ARRAY: read_list(r, node, m, to); break;
    }
}

/* Members stand in the table's order. */
static void read_object(reader *r, uint32_t node, const member *table, void *to)
{
    const tb__node *object = &r->doc.nodes[node];
    const member *m = table;
    uint32_t at = node + 1;
    for (uint32_t i = 0; !r->code && object->type == TB__OBJECT && i < object->len && m->name; i++, m++) {
        if (!tb__node_is(&r->doc.nodes[at], m->name, strlen(m->name))) break;
        read_member(r, at + 1, m, to);
        at = r->doc.nodes[at + 1].next;
    }
    if (m->name || object->type != TB__OBJECT || object->len != (uint32_t)(m - table)) not_written(r, node, m->name ? m->name : "object");
}

/* The same bytes. */
static tb_code check_again(const tb__doc_terms *terms, tb_text text, tb_error *err)
{
    tb_buf again;
    tb_buf_init(&again, TB_TERMS_MAX, NULL);
    tb_code code = tb__terms_write(terms, &again, err);
    size_t i = 0;
    while (!code && i < text.len && i < again.len && text.data[i] == again.data[i])
        i++;
    if (!code && (i < text.len || i < again.len)) {
        code = tb_fail(err, TB_E_VALIDATION, "terms", "The terms are not in their one form, from byte %zu on.", i + 1);
        if (err) err->byte = i + 1;
    }
    tb_buf_release(&again);
    return code;
}

static void list_months(reader *r)
{
    tb__doc_terms *t = r->terms;
    t->all = take_zeroed(r, t->n_own + 2 * t->n_lates, sizeof *t->all);
    for (size_t i = 0; t->all && i < t->n_own; i++)
        t->all[t->n_all++] = &t->own[i];
    for (size_t i = 0; t->all && i < t->n_lates; i++) {
        if (t->lates[i].n_before) t->all[t->n_all++] = t->lates[i].before;
        t->all[t->n_all++] = &t->lates[i].after;
    }
}

static tb_code read_all(reader *r, tb_text text, tb_error *err)
{
    tb__doc_terms *const ret = r->terms;
    tb_code code = tb__document_parse(text.data, text.len, TB_E_VALIDATION, &r->arena, NULL, &r->doc, err);
    if (code) {
        if (err && code == TB_E_VALIDATION) memcpy(err->field, "terms", sizeof "terms");
        return code;
    }
    read_object(r, 0, document, ret);
    list_months(r);
    code = r->code;
    if (!code && ret->v != 1)
        code = tb_fail(err, TB_E_VALIDATION, "terms", "The terms are of version %" PRId64 "; this program knows version 1.", ret->v);
    tb__document_release(&r->doc);
    return code ? code : check_again(ret, text, err);
}

tb_code tb__terms_read(tb_text text, tb__doc_terms *ret, tb_error *err)
{
    tb__doc_terms terms = {.v = 0};
    reader r = {.terms = &terms, .err = err};
    tb__arena *kept = calloc(1, sizeof *kept);
    if (!kept) return tb_no_memory(err);
    tb_code code = text.len > TB_TERMS_MAX ? tb_fail(err, TB_E_VALIDATION, "terms", "The terms have more than %zu bytes.", TB_TERMS_MAX)
                                           : TB_OK;
    tb__arena_init(&r.arena, NULL);
    terms.books = take_zeroed(&r, TB_TOLLPROOF_LIST, sizeof *terms.books);
    if (!code) code = r.code;
    if (!code) code = read_all(&r, text, err);
    *kept = r.arena;
    terms.memory = kept;
    if (code) tb__terms_release(&terms);
    else *ret = terms;
    return code;
}

tb_code tb__terms_use_books(const tb__doc_terms *terms, const tb_book *books, size_t n, tb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        tb_book **const named = tb__find_sorted(&books[i], terms->books, terms->n_books, sizeof *terms->books, book_of_key);
        if (named) **named = books[i];
    }
    for (size_t i = 0; i < terms->n_books; i++)
        if (!terms->books[i]->canonical)
            return tb_fail(err, TB_E_NOT_FOUND, "books", "The price book %s, by which the document was rated, is missing.", terms->books[i]->id);
    return TB_OK;
}

void tb__terms_release(tb__doc_terms *terms)
{
    tb__arena *arena = terms->memory;
    if (arena) tb__arena_release(arena);
    free(arena);
    *terms = (tb__doc_terms){.v = 0};
}
