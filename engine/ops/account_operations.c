/* account list: whom the operator bills, with the running month so far and what stands in the ledger. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/json.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/monthbill.h"
#include "tollbook/terms.h"

typedef struct listing {
    const tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month;
    int64_t after, limit;
    bool table;
    size_t shown;
} listing;

/* One account's row. */
typedef struct listed {
    int64_t account;
    tb_buf name;
    char currency[4];
    bool prepaid, priced; /* priced: net says all of its usage */
    tb_error why;         /* code not TB_OK: why there is no net */
    tb_decimal net, balance;
} listed;

/* What is wrong with one account is told in its row; what is wrong with the file ends the list. */
static bool is_its_own(tb_code code)
{
    return tb_code_exit(code) < 3;
}

static tb_code read_net(const listing *l, listed *of, tb_error *err)
{
    tb_month_bill month;
    tb_code code = tb_month_net_read(l->ops->store, of->account, l->month, TB_NOW, l->books.list, l->books.n,
                                     l->ops->now_us, &month, &of->why);
    if (code) {
        if (is_its_own(code)) return TB_OK;
        *err = of->why;
        return code;
    }
    of->why.code = TB_OK;
    of->net = month.bill.subtotal;
    of->priced = month.bill.n_unpriced == 0;
    tb_month_bill_release(&month);
    return TB_OK;
}

static tb_code read_listed(const listing *l, listed *of, tb_error *err)
{
    tb_store *store = l->ops->store;
    tb_code code = tb_store_account_name(store, of->account, &of->name, err);
    if (!code) code = tb_store_account_prepaid(store, of->account, &of->prepaid, err);
    if (!code) code = tb_store_month_currency(store, of->account, l->month, of->currency, err);
    if (!code) code = tb_store_balance(store, of->account, &of->balance, err);
    return code ? code : read_net(l, of, err);
}

/* --- printing --- */

static const char *listed_amount(const listed *of, tb_decimal amount, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    const int digits = tb_currency_minor_digits(of->currency);
    const tb_decimal plain = tb_decimal_normal(amount);
    *tb_decimal_put_fixed(out, plain, plain.scale > digits ? plain.scale : digits) = 0;
    return out;
}

static void put_listed(const listed *of, bool first, tb_buf *out)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"name\":", first ? "" : ",", of->account);
    tb_json_string(out, of->name.data ? of->name.data : "", of->name.len);
    tb_buf_fmt(out, ",\"currency\":\"%s\",\"prepaid\":%s", of->currency, of->prepaid ? "true" : "false");
    tb_buf_fmt(out, ",\"balance\":\"%s\",\"monthToDate\":", listed_amount(of, of->balance, text));
    if (of->why.code) {
        tb_buf_str(out, "null,\"why\":");
        tb_json_string(out, of->why.message, strlen(of->why.message));
    } else {
        tb_buf_fmt(out, "\"%s\",\"why\":%s", listed_amount(of, of->net, text),
                   of->priced ? "null" : "\"Some of its usage has no price.\"");
    }
    tb_buf_str(out, "}");
}

static void put_listed_row(const listed *of, tb_buf *out)
{
    char net[TB_DECIMAL_TEXT_MAX + 1] = "-", balance[TB_DECIMAL_TEXT_MAX + 1];
    if (!of->why.code) listed_amount(of, of->net, net);
    tb_buf_fmt(out, "%" PRId64 "\t", of->account);
    tb__put_cell(out, of->name.data, of->name.len);
    tb_buf_fmt(out, "\t%s\t%s\t%s%s\t%s\n", of->currency, of->prepaid ? "prepaid" : "invoiced", net,
               of->why.code || of->priced ? "" : " and more", listed_amount(of, of->balance, balance));
}

static tb_code show_listed(listing *l, int64_t account, tb_error *err)
{
    listed of = {.account = account};
    tb_buf_init(&of.name, 1 << 16, NULL);
    tb_code code = read_listed(l, &of, err);
    if (!code) {
        if (!l->ops->drain) put_listed(&of, l->shown == 0, &l->reply->json);
        if (l->table) put_listed_row(&of, &l->reply->out);
        else put_listed(&of, l->shown == 0, &l->reply->out);
        l->shown++;
    }
    tb_buf_release(&of.name);
    return code;
}

static tb_code keep_listing(const listing *l, size_t done, size_t total, tb_error *err)
{
    const tb_ops *ops = l->ops;
    if (ops->step && !ops->step(ops->ctx, done, total)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    return ops->drain ? ops->drain(ops->ctx, &l->reply->out, err) : TB_OK;
}

static tb_code show_all_listed(listing *l, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_accounts(l->ops->store, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (accounts[i] <= l->after) continue;
        if (l->shown == (size_t)l->limit) break;
        code = show_listed(l, accounts[i], err);
        if (!code && i % 64 == 63) code = keep_listing(l, i + 1, n, err);
    }
    free(accounts);
    return code;
}

static void put_listing_head(const listing *l)
{
    char month[8];
    tb_month_format(l->month, month);
    tb_buf_fmt(&l->reply->json, "{\"month\":\"%s\",\"accounts\":[", month);
    if (l->table) tb_buf_fmt(&l->reply->out, "account\tname\tcurrency\tpays\t%s\tbalance\n", month);
    else tb_buf_fmt(&l->reply->out, "{\"month\":\"%s\",\"accounts\":[", month);
}

static tb_code list_accounts(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    listing l = {.ops = ops, .reply = reply, .month = tb_month_from_us(ops->now_us),
                 .after = tb_arg_number(args, "after", 0),
                 .limit = tb_arg_number(args, "limit", INT64_MAX),
                 .table = tb_arg_is(args, "format", "table")};
    tb_code code = tb_month_books_read(ops->store, &l.books, err);
    if (code) return code;
    put_listing_head(&l);
    code = show_all_listed(&l, err);
    tb_buf_str(&reply->json, "]}");
    if (!l.table) tb_buf_str(&reply->out, "]}\n");
    tb_month_books_release(&l.books);
    return code;
}

static const tb_param params[] = {
    {.name = "after", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 0, .max = INT64_MAX,
     .help = "accounts after this one; default all"},
    {.name = "limit", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT32_MAX,
     .help = "N accounts at most; default all"},
    TB__PARAM_FORMAT("table|json"),
};

static const tb_operation rows[] = {
    {.name = "account list",
     .summary = "List accounts with the running month so far and their balance",
     .details = "The month so far is before tax, as its invoice would charge it. An account whose month cannot\n"
                "be rated, or that has usage without a price, says why. `ledger aging` lists what is owed, and\n"
                "since when.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(params),
     .read = list_accounts,
     .slow = true},
};
const tb__operations tb__account_operations = TB__OPERATIONS(rows);
