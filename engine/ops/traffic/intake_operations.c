/* intake: what came in, from where and when; and what of it will be on no invoice, with what to do about each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "billing/rates.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/issue.h"
#include "tollbook/meterstore.h"
#include "tollbook/statistics.h"

#define MOST 50 /* reasons, locations and sources that are named */

/* Where a list goes: text for people and JSON. */
typedef struct lists {
    tb_reply *reply;
    size_t n;
} lists;

/* Readers of JSON stumble over a NUL: it is shown as other bytes are that are no text (U+FFFD). */
static void put_line_text(const tb_refused *r, tb_buf *out)
{
    char text[TB_REJECT_TEXT_MAX];
    const size_t n = r->len < sizeof text ? r->len : sizeof text;
    for (size_t i = 0; i < n; i++)
        text[i] = r->text[i] ? r->text[i] : '\xff';
    tb_json_string(out, text, n);
}

static void put_refused(void *ctx, const tb_refused_kind *kind)
{
    lists *l = ctx;
    const tb_refused *r = &kind->newest;
    tb_buf *json = &l->reply->json;
    tb_buf_fmt(json, "%s{\"reason\":", l->n++ ? "," : "");
    tb_json_string(json, r->reason, strlen(r->reason));
    tb_buf_fmt(json, ",\"lines\":%" PRIu64 ",\"line\":%" PRIu64 ",\"byte\":%" PRIu32 ",\"text\":", kind->lines,
               r->line, r->byte);
    if (r->len) put_line_text(r, json);
    else tb_buf_str(json, "null");
    tb_buf_str(json, "}");
    tb_buf_fmt(&l->reply->out, "refused\t%" PRIu64 "\t", kind->lines);
    tb__put_cell(&l->reply->out, r->reason, strlen(r->reason));
    tb_buf_str(&l->reply->out, "\n");
}

static void put_location(void *ctx, const char *code)
{
    lists *l = ctx;
    tb_buf_str(&l->reply->json, l->n++ ? "," : "");
    tb_json_string(&l->reply->json, code, strlen(code));
    tb_buf_str(&l->reply->out, "no region\t-\t");
    tb__put_cell(&l->reply->out, code, strlen(code));
    tb_buf_str(&l->reply->out, "\n");
}

static void put_unowned(const tb_unowned_usage *u, tb_buf *out)
{
    for (size_t i = 0; i < u->zones.n; i++)
        tb_buf_fmt(out, "no account\t-\tpull zone %" PRId64 "\n", u->zones.named[i].id);
    for (size_t i = 0; i < u->balancers.n; i++)
        tb_buf_fmt(out, "no account\t-\tload balancer %" PRId64 "\n", u->balancers.named[i].id);
}

static void put_source(void *ctx, const tb_source *source)
{
    lists *l = ctx;
    tb_buf *json = &l->reply->json;
    char newest[21] = {0};
    tb_time_format(source->newest_us, newest);
    tb_buf_fmt(json, "%s{\"source\":", l->n++ ? "," : "");
    tb_json_string(json, source->name, strlen(source->name));
    tb_buf_fmt(json,
               ",\"kind\":\"%s\",\"newest\":\"%s\",\"segments\":%" PRIu64 ",\"accepted\":%" PRIu64
               ",\"rejected\":%" PRIu64 "}",
               source->kind == TB_BATCH_LOG ? "log" : "buckets", newest, source->segments,
               source->accepted, source->rejected);
    tb_buf_fmt(&l->reply->out, "newest %s\t%" PRIu64 "\t", newest, source->accepted);
    tb__put_cell(&l->reply->out, source->name, strlen(source->name));
    tb_buf_str(&l->reply->out, "\n");
}

static bool has_price(const tb_month_books *books, const char *meter, int64_t end_us)
{
    for (size_t i = 0; i < books->n; i++)
        if (books->list[i].effective_us < end_us && tb__book_meter(&books->list[i], meter)) return true;
    return false;
}

/* A meter that no book prices, if it has usage in the month. */
static tb_code put_meter(tb_ops *ops, const tb_meter *meter, int64_t month, lists *l, tb_error *err)
{
    const tb_meter_query query = {.meter = meter, .resource = "", .from_us = tb_month_start_us(month), .window = TB_WINDOW_DAY,
                                  .to_us = tb_month_start_us(month + 1), .now_us = ops->now_us};
    tb_meter_window *windows = NULL;
    size_t n = 0;
    tb_code code = tb_store_meter_windows(ops->store, &query, &windows, &n, err);
    if (code == TB_E_NOT_KEPT) return TB_OK;
    if (!code && n) {
        tb_buf_str(&l->reply->json, l->n++ ? "," : "");
        tb_json_string(&l->reply->json, meter->id, strlen(meter->id));
        tb_buf_fmt(&l->reply->out, "no price\t-\tmeter %s\n", meter->id);
    }
    free(windows);
    return code;
}

/* Meters with usage in the month for which no price book that is in force by its end has a price. */
static tb_code put_meters(tb_ops *ops, const tb_month_books *books, int64_t month, lists *l, tb_error *err)
{
    tb_meter *meters = NULL;
    size_t n = 0;
    tb_code code = tb_store_meters(ops->store, &meters, &n, err);
    for (size_t i = 0; !code && i < n && l->n < MOST; i++)
        if (strcmp(meters[i].id, TB_METER_BANDWIDTH) != 0 && !has_price(books, meters[i].id, tb_month_start_us(month + 1)))
            code = put_meter(ops, &meters[i], month, l, err);
    free(meters);
    return code;
}

/* Whether the account's book of the month's last hour prices bandwidth at a percentile, or its contract does not ask for it. */
static tb_code look_at_percentile(tb_ops *ops, const tb_month_books *books, int64_t account, int64_t month, bool *ret_fine,
                                  tb_error *err)
{
    tb_contract contract;
    char currency[4];
    tb_code code = tb_store_month_contract(ops->store, account, month, &contract, err);
    if (!code) code = tb_store_month_currency(ops->store, account, month, currency, err);
    if (code) return code;
    const tb_book *book = tb_month_book_at(books, currency, contract.book, tb_month_start_us(month + 1) - TB_US_PER_HOUR);
    *ret_fine = !contract.percentile || (book && book->has_percentile);
    return TB_OK;
}

/* Accounts whose contract bills bandwidth at a percentile, while their book has no bandwidth.percentile. */
static tb_code put_percentiles(tb_ops *ops, const tb_month_books *books, int64_t month, lists *l, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_percentile_accounts(ops->store, &accounts, &n, err);
    for (size_t i = 0; !code && i < n && l->n < MOST; i++) {
        bool fine = false;
        code = look_at_percentile(ops, books, accounts[i], month, &fine, err);
        if (code == TB_E_DECLARED) code = TB_OK; /* its bill says so */
        else if (!code && !fine) {
            tb_buf_fmt(&l->reply->json, "%s%" PRId64, l->n++ ? "," : "", accounts[i]);
            tb_buf_fmt(&l->reply->out, "no price\t-\tbandwidth at a percentile of account %" PRId64 "\n", accounts[i]);
        }
    }
    free(accounts);
    return code;
}

static tb_code put_unpriced_usage(tb_ops *ops, int64_t month, lists *l, tb_error *err)
{
    tb_month_books books = {.list = NULL};
    tb_code code = tb_month_books_read(ops->store, &books, err);
    if (code) return code;
    tb_buf_str(&l->reply->json, "],\"unpricedMeters\":[");
    l->n = 0;
    code = put_meters(ops, &books, month, l, err);
    tb_buf_str(&l->reply->json, "],\"unpricedPercentiles\":[");
    l->n = 0;
    if (!code) code = put_percentiles(ops, &books, month, l, err);
    tb_month_books_release(&books);
    return code;
}

static tb_code show_intake(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_arg *asked = tb_arg_of(args, "month");
    const int64_t month = asked ? asked->number : tb_month_from_us(ops->now_us);
    tb_unowned_usage unowned;
    lists l = {.reply = reply};
    tb_buf_str(&reply->out, "what\tlines\twhich\n");
    tb_buf_str(&reply->json, "{\"refused\":[");
    tb_code code = tb_store_refused(ops->store, MOST, put_refused, &l, err);
    tb_buf_str(&reply->json, "],\"unpriced\":[");
    l.n = 0;
    if (!code) code = tb_store_unpriced_locations(ops->store, MOST, put_location, &l, err);
    if (!code) code = put_unpriced_usage(ops, month, &l, err);
    if (!code) code = tb_unowned_read(ops->store, month, &unowned, err);
    if (code) return code;
    tb_buf_str(&reply->json, "],\"unowned\":");
    tb_unowned_json(&unowned, &reply->json);
    put_unowned(&unowned, &reply->out);
    tb_buf_str(&reply->json, ",\"sources\":[");
    l.n = 0;
    code = tb_store_sources(ops->store, MOST, put_source, &l, err);
    tb_buf_str(&reply->json, "]}");
    if (!code) tb__print_answer(args, reply);
    return code;
}

static const tb_param params[] = {
    {.name = "month", .value = "YYYY-MM", .kind = TB_PARAM_MONTH,
     .help = "the month whose usage without an account, or of meters without a price, is listed, UTC; default: the running one"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "intake",
     .summary = "List what came in, and what of it will be on no invoice",
     .details = "Refused lines by reason, of the newest 20,000 that are kept, with the newest line's place and\n"
                "text (kept for 72 hours); edge locations that no region names, so that their usage has no price;\n"
                "meters with usage of the month that no price book prices; accounts whose contract bills\n"
                "bandwidth at a percentile while their book has no bandwidth.percentile; usage of pull zones and load balancers that no account owns; and, of the newest 2,000 segments,\n"
                "each source with its accepted lines and the moment in which its newest was taken in.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = show_intake},
};
const tb__operations tb__intake_operations = TB__OPERATIONS(rows);
