/* book add, list, show, diff, activate, drop, report. Books are never changed or removed; shadow
 * books bill nothing until they are activated (book_activate.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "billing/rates.h"
#include "ops/prices/books.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/meterstore.h"

/* --- add --- */

static void put_added(tb_reply *reply, const tb_book *book, bool shadow, bool known)
{
    char from[20];
    tb_time_format(book->effective_us, from);
    reply->made = !known;
    tb_reply_say(reply, "%s \"%s\" (%s, from %.20s on) %s.", shadow ? "shadow book" : "book",
                 book->id, book->currency, from,
                 known    ? "was there already: nothing changed"
                 : shadow ? "is kept; it bills nothing"
                          : "is added");
    tb_buf_fmt(&reply->json,
               "{\"book\":\"%s\",\"currency\":\"%s\",\"effectiveFrom\":\"%.20s\",\"sha256\":\"%s\","
               "\"shadow\":%s,\"known\":%s}",
               book->id, book->currency, from, book->sha256, shadow ? "true" : "false",
               known ? "true" : "false");
}

/* A book may come before the catalogue that declares its meters; what is declared, it must be able to price. */
static tb_code check_meters(tb_store *store, const tb_book *book, tb_reply *reply, tb_error *err)
{
    tb_meter *meters = NULL;
    size_t n = 0, undeclared = 0;
    const char *first = "";
    tb_code code = book->n_meters ? tb_store_meters(store, &meters, &n, err) : TB_OK;
    for (size_t i = 0; !code && i < book->n_meters; i++) {
        const tb_meter_rate *rate = &book->meters[i];
        const tb_meter *meter = tb_meter_find(meters, n, rate->meter);
        char field[sizeof err->field];
        tb__rate_fault fault;
        if (!meter) {
            if (!undeclared++) first = rate->meter;
            continue;
        }
        if (tb__rate_fits(meter, rate, &fault)) continue;
        snprintf(field, sizeof field, "meters.%s.%s", rate->meter, fault.key);
        code = tb_fail(err, TB_E_BOOK, field, "%s Meter %s is declared as a %s of %s%s%s.", fault.rule, meter->id,
                       tb_meter_kind_name(meter->kind), meter->unit, meter->display_unit[0] ? ", shown in " : "",
                       meter->display_unit);
    }
    free(meters);
    if (!code && undeclared)
        tb_reply_say(reply, undeclared == 1 ? "Meter %s is not declared: its price counts once a catalogue declares it."
                                            : "Meter %s and %zu more are not declared: their prices count once a catalogue"
                                              " declares them.",
                     first, undeclared - 1);
    return code;
}

static tb_code add_book(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "document")->text;
    const bool shadow = tb_arg_given(args, "shadow");
    tb_book book;
    bool known = false;
    tb_code code = tb_book_parse(text.data, text.len, NULL, &book, err);
    if (code) return code;
    code = check_meters(ops->store, &book, reply, err);
    if (!code)
        code = shadow ? tb_store_add_shadow(ops->store, &book, ops->now_us, &known, err)
                      : tb_store_add_book(ops->store, &book, ops->now_us, &known, err);
    if (!code) put_added(reply, &book, shadow, known);
    tb_book_release(&book);
    return code;
}

/* --- list, show, diff --- */

typedef struct both {
    tb_month_books real;
    tb_shadow_books shadows;
} both;

static void both_release(both *books)
{
    tb_month_books_release(&books->real);
    tb_shadow_books_release(&books->shadows);
}

static tb_code both_read(tb_store *store, both *ret, tb_error *err)
{
    *ret = (both){.real = {0}};
    tb_code code = tb_month_books_read(store, &ret->real, err);
    if (!code) code = tb_shadow_books_read(store, &ret->shadows, err);
    if (code) both_release(ret);
    return code;
}

/* The id of the book that took its place; "": it holds. */
static const char *superseded_by(const tb_month_books *books, const tb_book *book)
{
    for (size_t i = 0; i < books->n; i++)
        if (strcmp(books->list[i].supersedes, book->id) == 0) return books->list[i].id;
    return "";
}

static void put_listed(tb_reply *reply, const tb_book *book, const char *state, const char *by)
{
    char from[20];
    tb_time_format(book->effective_us, from);
    tb_buf_fmt(&reply->out, "%s\t%s\t%.20s\t%s\t%s\t%s\n", book->id, book->currency, from,
               book->sha256, state, by);
    tb_buf_fmt(
        &reply->json,
        "%s{\"book\":\"%s\",\"currency\":\"%s\",\"effectiveFrom\":\"%.20s\",\"sha256\":\"%s\","
        "\"state\":\"%s\",\"supersededBy\":\"%s\"}",
        reply->json.data[reply->json.len - 1] == '[' ? "" : ",", book->id, book->currency, from,
        book->sha256, state, by);
}

static tb_code list_books(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    both books;
    tb_code code = both_read(ops->store, &books, err);
    if (code) return code;
    tb_buf_str(&reply->out, "book\tcurrency\teffective_from\tsha256\tstate\tsuperseded_by\n");
    tb_buf_str(&reply->json, "{\"books\":[");
    for (size_t i = 0; !reply->json.failed && i < books.real.n; i++) {
        const char *by = superseded_by(&books.real, &books.real.list[i]);
        put_listed(reply, &books.real.list[i], *by                            ? "superseded"
                   : books.real.list[i].contract ? "contract"
                                                 : "book",
                   by);
    }
    for (size_t i = 0; !reply->json.failed && i < books.shadows.n; i++)
        put_listed(reply, &books.shadows.list[i].book, "shadow", "");
    tb_buf_str(&reply->json, "]}");
    tb__print_answer(args, reply);
    both_release(&books);
    return TB_OK;
}

static tb_code find_book(const both *books, const char *id, const tb_book **ret, tb_error *err)
{
    *ret = NULL;
    for (size_t i = 0; i < books->real.n; i++)
        if (strcmp(books->real.list[i].id, id) == 0) *ret = &books->real.list[i];
    for (size_t i = 0; i < books->shadows.n; i++)
        if (strcmp(books->shadows.list[i].book.id, id) == 0) *ret = &books->shadows.list[i].book;
    if (*ret) return TB_OK;
    return tb_fail(err, TB_E_NOT_FOUND, "book", "There is no book \"%s\". See: tollbook book list",
                   id);
}

static tb_code show_book(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    both books;
    const tb_book *book;
    tb_code code = both_read(ops->store, &books, err);
    if (code) return code;
    code = find_book(&books, tb_arg_text(args, "book"), &book, err);
    if (!code) {
        tb_buf_add(&reply->json, book->canonical, book->canonical_len);
        tb_buf_fmt(&reply->out, "%s\n", book->canonical);
    }
    both_release(&books);
    return code;
}

static tb_code diff_books(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    both books;
    const tb_book *a, *b;
    tb_code code = both_read(ops->store, &books, err);
    if (code) return code;
    code = find_book(&books, tb_arg_text(args, "book"), &a, err);
    if (!code) code = find_book(&books, tb_arg_text(args, "other"), &b, err);
    if (!code) code = tb__book_diff(a, b, &reply->out, err);
    if (!code && reply->out.len == 0)
        tb_reply_say(reply, "\"%s\" and \"%s\" price alike.", a->id, b->id);
    both_release(&books);
    return code;
}

/* --- drop, report --- */

static tb_code drop_shadow(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const char *id = tb_arg_text(args, "book");
    tb_code code = tb_store_drop_shadow(ops->store, id, ops->now_us, err);
    if (code) return code;
    tb_reply_say(reply,
                 "Shadow book \"%s\" is dropped. What it would have billed stays in: tollbook book "
                 "report",
                 id);
    return TB_OK;
}

static void put_bill(const tb_shadow_bill *b, bool first, tb_reply *reply)
{
    char month[8], billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    char delta[TB_DECIMAL_TEXT_MAX + 1], percent[TB_DECIMAL_TEXT_MAX + 2];
    tb_decimal change = TB_DECIMAL_ZERO;
    tb_month_format(b->month, month);
    if (tb_decimal_sub(b->would, b->billed, &change, NULL)) change = TB_DECIMAL_ZERO;
    tb_shadow_percent(b->billed, b->would, percent);
    tb_shadow_money(b->billed, b->currency, billed);
    tb_shadow_money(b->would, b->currency, would);
    tb_shadow_money(change, b->currency, delta);
    tb_buf_fmt(&reply->out, "%s\t%s\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t%" PRIu64 "\t%s\n", b->book, month,
               b->account, b->currency, billed, would, delta, percent, b->unpriced, b->invoice);
    tb_buf_fmt(&reply->json,
               "%s{\"book\":\"%s\",\"month\":\"%s\",\"account\":%" PRId64 ",\"currency\":\"%s\",\"billed\":\"%s\","
               "\"would\":\"%s\",\"delta\":\"%s\",\"percent\":\"%s\",\"unpriced\":%" PRIu64 ",\"invoice\":\"%s\"}",
               first ? "" : ",", b->book, month, b->account, b->currency, billed, would, delta, percent, b->unpriced,
               b->invoice);
}

static tb_code report_shadows(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const char *book = tb_arg_text(args, "book");
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    tb_code code =
        tb_store_shadow_bills(ops->store, tb_arg_number(args, "month", INT64_MIN), &bills, &n, err);
    if (code) return code;
    reply->no = true;
    tb_buf_str(&reply->json, "{\"bills\":[");
    tb_buf_str(
        &reply->out,
        "book\tmonth\taccount\tcurrency\tbilled\twould\tdelta\tpercent\tunpriced\tinvoice\n");
    for (size_t i = 0; i < n; i++) {
        if (book && strcmp(bills[i].book, book) != 0) continue;
        put_bill(&bills[i], reply->no, reply);
        reply->no = false;
    }
    if (reply->no)
        tb_reply_say(reply,
                     "Nothing is noted yet: a month's `invoice --finalize` notes it.");
    tb_buf_str(&reply->json, "]}");
    tb__print_answer(args, reply);
    free(bills);
    return TB_OK;
}

/* --- the rows --- */

#define BOOK(name_, required_, help_)                                                              \
    {                                                                                              \
        .name = (name_), .value = "BOOK", .kind = TB_PARAM_TEXT, .operand = true,                  \
        .required = (required_), .min = 1, .max = sizeof((tb_book *)0)->id - 1, .help = (help_)    \
    }

static const tb_param add_params[] = {
    {.name = "document",
     .value = "BOOK.json",
     .kind = TB_PARAM_DOCUMENT,
     .operand = true,
     .required = true,
     .max = TB_BOOK_MAX,
     .help = "the price book"},
    {.name = "shadow",
     .kind = TB_PARAM_FLAG,
     .help = "keep it beside the books in force: it bills nothing, and each month reports what it "
             "would bill"},
    TB__PARAM_BACKDATED,
};
static const tb_param list_params[] = {TB__PARAM_FORMAT(TB__FORMATS)};
static const tb_param show_params[] = {BOOK("book", true, "its id")};
static const tb_param diff_params[] = {BOOK("book", true, "a book's id"),
                                       BOOK("other", true, "the other's id")};
static const tb_param activate_params[] = {
    BOOK("book", true, "the shadow book's id"),
    {.name = "max-change",
     .value = "PERCENT",
     .kind = TB_PARAM_TEXT,
     .min = 1,
     .max = 31,
     .otherwise = "10",
     .help = "refuse if an account's billed month would change by more; default 10"},
    {.name = "months",
     .value = "N",
     .kind = TB_PARAM_NUMBER,
     .min = 1,
     .max = 120,
     .otherwise = "1",
     .help = "number of each account's last billed months to compare; default 1"},
    {.name = "anyway", .kind = TB_PARAM_FLAG, .help = "activate it even if that is exceeded"},
    TB__PARAM_BACKDATED,
};
static const tb_param report_params[] = {
    BOOK("book", false, "one book's id; default all"),
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .help = "one month; default all"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "book add",
     .summary = "Add a price book",
     .details =
         "Refused as a whole with the JSON path and the reason. The same again changes\n"
         "nothing; books are never changed or removed. \"-\" reads standard input.\n"
         "With --shadow the book is kept and bills nothing: `invoice --finalize` says what it\n"
         "would have billed, `book activate` makes it a book, `book drop` forgets it.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(add_params),
     .declares = true,
     .write = add_book},
    {.name = "book list",
     .summary = "List the price books, shadow books last",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(list_params),
     .read = list_books},
    {.name = "book show",
     .summary = "Print a price book's canonical text",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(show_params),
     .read = show_book},
    {.name = "book diff",
     .summary = "Print what two price books price differently",
     .details = "",
     .access = TB_ACCESS_READ,
     TB__PARAMS(diff_params),
     .read = diff_books},
    {.name = "book activate",
     .summary = "Make a shadow book a real one",
     .details =
         "Rates the last billed month of every account of its currency under it, as a whole.\n"
         "If one would change by more than --max-change, up or down, or have usage without\n"
         "a price, the book stays a shadow, and the accounts are named (exit status 1).",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(activate_params),
     .read = tb__book_compare,
     .write = tb__book_activate,
     .slow = true,
     .declares = true},
    {.name = "book drop",
     .summary = "Forget a shadow book",
     .details = "What it would have billed stays in `book report`. A real book is never dropped.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(show_params),
     .write = drop_shadow},
    {.name = "book report",
     .summary = "Show what shadow books would have billed, month by month",
     .details = "`invoice --finalize` notes it. Dropped and activated books are included. The "
                "same as\n"
                "`tollbook query --db FILE 'SELECT * FROM shadow_report'`, with the difference.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(report_params),
     .read = report_shadows},
};
const tb__operations tb__book_operations = TB__OPERATIONS(rows);
