/* account list: whom the operator bills, with the running month so far and what stands in the ledger.
 *
 * next: "MONTH TOTAL LISTED SHOWN ID ID ...": the month, how many accounts there are, how many are listed
 * of them and were so far, and those that are left. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/json.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/monthbill.h"
#include "tollbook/billsource.h"

#define AT_ONCE 1000 /* accounts of a call whose reply is not drained */

typedef struct listing {
    const tb_ops *ops;
    tb_reply *reply;
    tb_month_books books;
    int64_t month;
    tb_account_choice choice;
    const char *sort;  /* a word of SORTS */
    bool is_descending, table;
    bool names; /* without any money */
    int64_t limit, page;
    int64_t *accounts; /* the first call: those that there are, in their order */
    size_t n;
    size_t listed;     /* of them, on this page */
    size_t shown;      /* in all calls so far */
    const char *left;  /* the accounts that are left, as in next */
    tb_buf all;        /* what that points into in the first call */
    bool here;         /* some of them in this call */
} listing;

/* One account's row. */
typedef struct listed {
    int64_t account;
    tb_buf name;
    char currency[4];
    bool prepaid, priced; /* priced: net says all of its usage */
    tb_error why;         /* code not TB_OK: why there is no net */
    tb_decimal net, balance, owed, overdue;
} listed;

/* What is wrong with one account is told in its row; what is wrong with the file ends the list. */
static bool is_its_own(tb_code code)
{
    return tb_code_exit(code) < 3;
}

static tb_code read_net(const listing *l, listed *of, tb_error *err)
{
    tb_month_bill month;
    const tb_bill_query query = {of->account, l->month, TB_NOW, l->books.list, l->books.n, l->ops->now_us};
    tb_code code = tb_month_net_read(l->ops->store, &query, &month, &of->why);
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
    if (l->names) return code;
    if (!code) code = tb_store_account_prepaid(store, of->account, &of->prepaid, err);
    if (!code) code = tb_store_month_currency(store, of->account, l->month, of->currency, err);
    if (!code) code = tb_store_balance(store, of->account, &of->balance, err);
    if (!code) code = tb__account_owes(l->ops, of->account, &of->owed, &of->overdue, err);
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

static void put_listed(const listing *l, const listed *of, bool first, tb_buf *out)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"name\":", first ? "" : ",", of->account);
    tb_json_string(out, of->name.data ? of->name.data : "", of->name.len);
    if (l->names) {
        tb_buf_str(out, "}");
        return;
    }
    tb_buf_fmt(out, ",\"currency\":\"%s\",\"prepaid\":%s", of->currency, of->prepaid ? "true" : "false");
    tb_buf_fmt(out, ",\"balance\":\"%s\"", listed_amount(of, of->balance, text));
    tb_buf_fmt(out, ",\"owed\":\"%s\"", listed_amount(of, of->owed, text));
    tb_buf_fmt(out, ",\"overdue\":\"%s\",\"monthToDate\":", listed_amount(of, of->overdue, text));
    if (of->why.code) {
        tb_buf_str(out, "null,\"why\":");
        tb_json_string(out, of->why.message, strlen(of->why.message));
    } else {
        tb_buf_fmt(out, "\"%s\",\"why\":%s", listed_amount(of, of->net, text),
                   of->priced ? "null" : "\"Some of its usage has no price.\"");
    }
    tb_buf_str(out, "}");
}

static void put_listed_row(const listing *l, const listed *of, tb_buf *out)
{
    char net[TB_DECIMAL_TEXT_MAX + 1] = "-", amount[TB_DECIMAL_TEXT_MAX + 1];
    if (!of->why.code) listed_amount(of, of->net, net);
    tb_buf_fmt(out, "%" PRId64 "\t", of->account);
    tb__put_cell(out, of->name.data, of->name.len);
    if (l->names) {
        tb_buf_str(out, "\n");
        return;
    }
    tb_buf_fmt(out, "\t%s\t%s\t%s%s", of->currency, of->prepaid ? "prepaid" : "invoiced", net,
               of->why.code || of->priced ? "" : " and more");
    const tb_decimal amounts[] = {of->balance, of->owed, of->overdue};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        tb_buf_fmt(out, "\t%s", listed_amount(of, amounts[i], amount));
    tb_buf_str(out, "\n");
}

static tb_code show_listed(void *ctx, int64_t account, tb_error *err)
{
    listing *l = ctx;
    listed of = {.account = account};
    tb_buf_init(&of.name, 1 << 16, NULL);
    tb_code code = read_listed(l, &of, err);
    if (!code) {
        if (!l->ops->drain) put_listed(l, &of, !l->here, &l->reply->json);
        if (l->table) put_listed_row(l, &of, &l->reply->out);
        else put_listed(l, &of, l->shown == 0, &l->reply->out);
        l->here = true;
        l->shown++;
    }
    tb_buf_release(&of.name);
    return code;
}

/* --- in which order --- */

#define SORTS "account|name|pays|monthToDate|balance|owed|overdue"

/* What an account is sorted by. */
typedef struct sort_key {
    int64_t account;
    tb_decimal value;
    bool is_known; /* others come last, whichever way */
} sort_key;

static bool is_sorted_by(const listing *l, const char *word)
{
    return strcmp(l->sort, word) == 0;
}

static int by_key(const void *a, const void *b, void *descending)
{
    const sort_key *x = a, *y = b;
    const int order = x->is_known && y->is_known ? tb_decimal_compare(x->value, y->value) : 0;
    if (x->is_known != y->is_known) return x->is_known ? -1 : 1;
    if (order) return *(bool *)descending ? -order : order;
    return x->account < y->account ? -1 : x->account > y->account;
}

/* No more is read than the order needs: a month is rated for monthToDate alone. */
static tb_code read_key(const listing *l, sort_key *key, tb_error *err)
{
    tb_store *store = l->ops->store;
    listed of = {.account = key->account};
    tb_code code = TB_OK;
    key->is_known = true;
    if (is_sorted_by(l, "pays")) {
        code = tb_store_account_prepaid(store, key->account, &of.prepaid, err);
        key->value = (tb_decimal){of.prepaid, 0};
    } else if (is_sorted_by(l, "balance")) {
        code = tb_store_balance(store, key->account, &key->value, err);
    } else if (is_sorted_by(l, "monthToDate")) {
        code = read_net(l, &of, err);
        key->value = of.net;
        key->is_known = of.why.code == TB_OK;
    } else {
        code = tb__account_owes(l->ops, key->account, &of.owed, &of.overdue, err);
        key->value = is_sorted_by(l, "owed") ? of.owed : of.overdue;
    }
    return code;
}

static tb_code sort_by_keys(listing *l, tb_error *err)
{
    sort_key *keys = calloc(l->n + 1, sizeof *keys);
    tb_code code = keys ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < l->n; i++) {
        keys[i].account = l->accounts[i];
        code = read_key(l, &keys[i], err);
        if (!code && l->ops->step && !l->ops->step(l->ops->ctx, i + 1, l->n))
            code = tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    if (!code) qsort_r(keys, l->n, sizeof *keys, by_key, &l->is_descending);
    for (size_t i = 0; !code && i < l->n; i++)
        l->accounts[i] = keys[i].account;
    free(keys);
    return code;
}

static void reverse_accounts(listing *l)
{
    for (size_t i = 0; i < l->n / 2; i++) {
        const int64_t other = l->accounts[i];
        l->accounts[i] = l->accounts[l->n - 1 - i];
        l->accounts[l->n - 1 - i] = other;
    }
}

static tb_code choose_accounts(listing *l, tb_error *err)
{
    l->choice.by_name = is_sorted_by(l, "name");
    tb_code code = tb_store_accounts(l->ops->store, &l->choice, &l->accounts, &l->n, err);
    if (code) return code;
    if (!l->choice.by_name && !is_sorted_by(l, "account")) return sort_by_keys(l, err);
    if (l->is_descending) reverse_accounts(l);
    return TB_OK;
}

/* --- which of them --- */

/* Those of the page. */
static tb_code put_listed_page(listing *l, tb_error *err)
{
    const size_t limit = (size_t)l->limit, first = (size_t)(l->page - 1) * limit;
    if (first < l->n) l->listed = l->n - first < limit ? l->n - first : limit;
    tb_code code = tb__put_accounts(&l->all, l->listed ? l->accounts + first : NULL, l->listed, err);
    l->left = l->all.data;
    return code;
}

static tb_code show_all_listed(listing *l, tb_error *err)
{
    tb__account_walk walk = {l->left, AT_ONCE, l->shown, l->listed, show_listed, l, &l->reply->out};
    tb_code code = tb__walk_accounts(l->ops, &walk, err);
    if (!code && *walk.left)
        tb_buf_fmt(&l->reply->next, "%" PRId64 " %zu %zu %zu %s", l->month, l->n, l->listed, l->shown,
                   walk.left);
    return code;
}

static void put_listing_head(const listing *l)
{
    tb_reply *reply = l->reply;
    char month[8];
    tb_month_format(l->month, month);
    tb_buf_fmt(&reply->json, "{\"month\":\"%s\",\"total\":%zu,\"accounts\":[", month, l->n);
    if (l->shown) return;
    if (l->table && l->names) tb_buf_str(&reply->out, "account\tname\n");
    else if (l->table) tb_buf_fmt(&reply->out, "account\tname\tcurrency\tpays\t%s\tbalance\towed\toverdue\n", month);
    else tb_buf_add(&reply->out, reply->json.data, reply->json.len);
}

static tb_code list_chosen(listing *l, tb_error *err)
{
    tb_code code = l->left ? TB_OK : choose_accounts(l, err);
    if (!code && !l->left) code = put_listed_page(l, err);
    if (code) return code;
    put_listing_head(l);
    code = show_all_listed(l, err);
    tb_buf_str(&l->reply->json, "]}");
    if (!l->table && !l->reply->next.len) tb_buf_str(&l->reply->out, "]}\n");
    return code;
}

/* A list that goes on is of the month it began with. */
static tb_code read_listing(const tb_args *args, listing *l, tb_error *err)
{
    const char *text = args->next;
    int64_t counts[3];
    if (l->page > 1 && !tb_arg_given(args, "limit"))
        return tb_fail(err, TB_E_VALIDATION, "limit", "It is missing: it says how many accounts a page has.");
    if (!text) return TB_OK;
    if (!tb__next_number(&text, &l->month) || l->month > tb_month_from_us(l->ops->now_us))
        return tb__next_wrong(err);
    for (size_t i = 0; i < 3; i++)
        if (!tb__next_number(&text, &counts[i]) || !*text) return tb__next_wrong(err);
    l->n = (size_t)counts[0];
    l->listed = (size_t)counts[1];
    l->shown = (size_t)counts[2];
    l->left = text;
    return TB_OK;
}

static tb_code list_accounts(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_arg *search = tb_arg_of(args, "search");
    listing l = {.ops = ops, .reply = reply, .month = tb_month_from_us(ops->now_us),
                 .choice.after = tb_arg_number(args, "after", 0),
                 .sort = tb_arg_text(args, "sort"),
                 .is_descending = tb_arg_given(args, "descending"),
                 .limit = tb_arg_number(args, "limit", INT64_MAX),
                 .page = tb_arg_number(args, "page", 1),
                 .names = tb_arg_given(args, "names"),
                 .table = !tb_arg_is(args, "format", "json")};
    if (search) l.choice.search = search->text;
    tb_code code = read_listing(args, &l, err);
    if (!code) code = tb_month_books_read(ops->store, &l.books, err);
    if (code) return code;
    tb_buf_init(&l.all, TB_REPLY_MAX, NULL);
    code = list_chosen(&l, err);
    tb_buf_release(&l.all);
    free(l.accounts);
    tb_month_books_release(&l.books);
    return code;
}

static const tb_param params[] = {
    {.name = "after", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 0, .max = INT64_MAX,
     .help = "accounts after this one; default all"},
    {.name = "limit", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT32_MAX,
     .help = "N accounts at most; default all"},
    {.name = "page", .value = "P", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT32_MAX,
     .help = "the Pth --limit of them; default the first"},
    {.name = "search", .value = "TEXT", .kind = TB_PARAM_TEXT, .max = 255,
     .help = "accounts with TEXT in their name or number, whatever its case"},
    {.name = "sort", .value = SORTS, .kind = TB_PARAM_CHOICE, .otherwise = "account",
     .help = "what they are sorted by, the least first; default: account"},
    {.name = "descending", .kind = TB_PARAM_FLAG, .help = "the most first"},
    {.name = "names", .kind = TB_PARAM_FLAG, .help = "numbers and names alone: no month is rated"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "account list",
     .summary = "List accounts with the running month so far, their balance, and what they owe",
     .details = "The month so far is before tax, as its invoice would charge it. An account whose month cannot\n"
                "be rated, or that has usage without a price, says why; one that cannot be rated comes last when\n"
                "they are sorted by it. Owed is what remains of invoices and debits, overdue what of it is past its due date:\n"
                "`ledger aging` lists them.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = list_accounts,
     .slow = true},
};
const tb__operations tb__account_operations = TB__OPERATIONS(rows);
