/* ledger: an account's entries and their sum. ledger enter adds one; the reference names it, so the
 * same again changes nothing. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"

/* --- the list --- */

static void put_text(tb_buf *out, const char *name, const char *text, size_t len)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    tb_json_string(out, text, len);
}

static void put_entry(tb_reply *reply, const tb_ledger_entry *e, bool first)
{
    char at[20], amount[TB_DECIMAL_TEXT_MAX + 1];
    tb_time_format(e->at_us, at);
    *tb_decimal_put(amount, e->amount) = 0;
    tb_buf_fmt(&reply->out, "%" PRId64 "\t%.20s\t%s\t%s\t%s\t", e->id, at,
               tb_ledger_entry_name(e), amount, e->currency);
    tb__put_cell(&reply->out, e->reference, strlen(e->reference));
    tb_buf_str(&reply->out, "\t");
    tb__put_cell(&reply->out, e->note, strlen(e->note));
    tb_buf_str(&reply->out, "\n");
    tb_buf_fmt(&reply->json, "%s{\"id\":%" PRId64 ",\"time\":\"%.20s\",\"kind\":\"%s\""
               ",\"amount\":\"%s\",\"currency\":\"%s\"", first ? "" : ",", e->id, at,
               tb_ledger_entry_name(e), amount, e->currency);
    put_text(&reply->json, "reference", e->reference, strlen(e->reference));
    put_text(&reply->json, "note", e->note, strlen(e->note));
    tb_buf_str(&reply->json, "}");
}

static void put_list(tb_reply *reply, int64_t account, const tb_ledger_entry *entries, size_t n,
                     tb_decimal balance)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    const char *currency = n ? entries[0].currency : "";
    *tb_decimal_put(text, balance) = 0;
    tb_buf_str(&reply->out, "id\ttime\tkind\tamount\tcurrency\treference\tnote\n");
    tb_buf_fmt(&reply->json, "{\"account\":%" PRId64 ",\"currency\":\"%s\",\"balance\":\"%s\""
               ",\"entries\":[", account, currency, text);
    for (size_t i = 0; i < n; i++)
        put_entry(reply, &entries[i], i == 0);
    tb_buf_fmt(&reply->out, "\t\tbalance\t%s\t%s\t\t\n", text, currency);
    tb_buf_str(&reply->json, "]}");
}

static tb_code list_entries(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_ledger_entry *entries = NULL;
    tb_decimal balance = TB_DECIMAL_ZERO;
    size_t n = 0;
    tb_code code = tb_store_need_account(ops->store, account, err);
    if (!code) code = tb_store_ledger(ops->store, account, &entries, &n, err);
    if (!code) code = tb_store_balance(ops->store, account, &balance, err);
    if (!code) {
        put_list(reply, account, entries, n, balance);
        tb__print_answer(args, reply);
    }
    free(entries);
    return code;
}

/* --- an entry --- */

static void put_entered(tb_reply *reply, const tb_ledger_entry *entry, bool known, tb_decimal sum)
{
    char balance[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(balance, sum) = 0;
    tb_reply_say(reply, "%s Account %" PRId64 " has a balance of %s.",
                 known ? "This reference was there already: nothing changed." : "Entered.",
                 entry->account, balance);
    tb_buf_fmt(&reply->json,
               "{\"id\":%" PRId64 ",\"account\":%" PRId64 ",\"kind\":\"%s\",\"currency\":\"%s\","
               "\"known\":%s,\"balance\":\"%s\"}",
               entry->id, entry->account, tb_ledger_kind_name(entry->kind), entry->currency,
               known ? "true" : "false", balance);
}

/* A credit without a reference is named by what it is and its day, so that a call that is sent twice
 * grants once. */
static tb_code name_entry(const tb_args *args, tb_ledger_entry *entry, tb_error *err)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char day[21], amount[TB_DECIMAL_TEXT_MAX + 1], hex[17];
    tb_buf text;
    tb_arg_copy(args, "reference", entry->reference, sizeof entry->reference);
    if (entry->reference[0]) return TB_OK;
    tb_buf_init(&text, 4096, NULL);
    *tb_decimal_put(amount, tb_decimal_normal(entry->amount)) = 0;
    tb_buf_fmt(&text, "%" PRId64 "\n%s\n%s\n%s", entry->account, amount, entry->expires,
               entry->note);
    tb_code code = tb_buf_check(&text, err);
    if (!code) {
        crypto_hash_sha256(hash, (const unsigned char *)text.data, text.len);
        sodium_bin2hex(hex, sizeof hex, hash, 8);
        tb_time_format(entry->at_us, day);
        snprintf(entry->reference, sizeof entry->reference, "%.10s-%s", day, hex);
    }
    tb_buf_release(&text);
    return code;
}

static tb_code enter_entry(tb_ops *ops, const tb_args *args, tb_ledger_entry *entry, bool *ret_known,
                           tb_reply *reply, tb_error *err)
{
    const tb_text amount = tb_arg_of(args, "amount")->text;
    tb_decimal balance = TB_DECIMAL_ZERO;
    tb_arg_copy(args, "note", entry->note, sizeof entry->note);
    tb_code code = tb_ledger_amount(amount.data, amount.len, entry, err);
    if (!code) code = name_entry(args, entry, err);
    if (!code) code = tb_ledger_enter(ops->store, entry, ret_known, err);
    if (!code) code = tb_store_balance(ops->store, entry->account, &balance, err);
    if (!code) put_entered(reply, entry, *ret_known, balance);
    return code;
}

/* Who moves here from another system may take an adjustment for an opening balance. */
static tb_code say_no_opening(tb_store *store, const tb_ledger_entry *entry, tb_reply *reply, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, entry->account, &entries, &n, err);
    free(entries);
    if (!code && n == 1)
        tb_reply_say(reply, "It is the account's first entry, and revenue in the general ledger. What an account owed or had"
                            " before it was billed here is no adjustment: take it back by the opposite amount, and see:"
                            " tollbook help ledger begin");
    return code;
}

static tb_code enter(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_ledger_entry entry = {.account = tb_arg_number(args, "account", 0), .at_us = ops->now_us,
                             .kind = tb_arg_is(args, "kind", "payment") ? TB_LEDGER_PAYMENT
                                                                        : TB_LEDGER_ADJUSTMENT};
    bool known = false;
    tb_arg_copy(args, "invoice", entry.document, sizeof entry.document);
    tb_code code = enter_entry(ops, args, &entry, &known, reply, err);
    if (!code && !known && entry.kind == TB_LEDGER_ADJUSTMENT) code = say_no_opening(ops->store, &entry, reply, err);
    return code;
}

static tb_code grant(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_ledger_entry entry = {.account = tb_arg_number(args, "account", 0), .at_us = ops->now_us,
                             .kind = TB_LEDGER_CREDIT};
    bool known = false;
    tb_arg_copy(args, "expires", entry.expires, sizeof entry.expires);
    tb_code code = enter_entry(ops, args, &entry, &known, reply, err);
    if (!code && known && !tb_arg_given(args, "reference"))
        tb_reply_say(reply, "The same credit was granted today. A second one needs a --reference of its"
                            " own.");
    return code;
}

/* --- a statement --- */

static tb_code read_day(const tb_args *args, const char *name, int64_t *day, tb_error *err)
{
    const tb_arg *arg = tb_arg_of(args, name);
    return arg ? tb_account_day(arg->text.data, arg->text.len, name, day, err) : TB_OK;
}

/* A PDF is no text: it goes the way of files. */
static tb_code put_statement(const tb_ops *ops, const tb_args *args, const tb_account_statement *s,
                             tb_reply *reply, tb_error *err)
{
    const char *word = tb_arg_text(args, "format");
    const tb_print_options pages = {.letter = tb_arg_is(args, "paper", "letter")};
    const tb_shown_form form = tb_shown_form_of(word, strlen(word));
    char name[64];
    tb_buf bytes;
    if (form != TB_SHOWN_PDF) {
        tb_code code = tb_account_show(s, form, &pages, &reply->out, err);
        if (form == TB_SHOWN_JSON) tb_buf_str(&reply->out, "\n");
        return code;
    }
    tb_buf_init(&bytes, TB_REPLY_MAX / 2, NULL);
    snprintf(name, sizeof name, "statement-%" PRId64 ".pdf", s->account);
    tb_code code = tb_account_show(s, form, &pages, &bytes, err);
    if (!code) code = tb__reply_file(ops, reply, &(tb__made){name, "", &bytes}, err);
    tb_buf_release(&bytes);
    return code;
}

static tb_code show_statement(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_account_reading reading;
    int64_t first = INT64_MIN, last = tb_day_from_us(ops->now_us);
    tb_code code = read_day(args, "from", &first, err);
    if (!code) code = read_day(args, "to", &last, err);
    if (!code)
        code = tb_account_read(ops->store, tb_arg_number(args, "account", 0), first, last, &reading,
                               err);
    if (code) return code;
    tb_account_json(&reading.statement, &reply->json);
    code = put_statement(ops, args, &reading.statement, reply, err);
    tb_account_release(&reading);
    return code;
}

/* --- the rows --- */

static const tb_param list_params[] = {TB__PARAM_ACCOUNT(true, "the account"), TB__PARAM_FORMAT(TB__FORMATS)};

#define NOTE                                                                                       \
    {                                                                                              \
        .name = "note", .value = "TEXT", .kind = TB_PARAM_TEXT,                                    \
        .max = sizeof((tb_ledger_entry *)0)->note - 1, .help = "kept with it"                      \
    }

static const tb_param enter_params[] = {
    TB__PARAM_ACCOUNT(true, "whose entry"),
    {.name = "kind", .value = "payment|adjustment", .kind = TB_PARAM_CHOICE, .required = true,
     .help = "what it is"},
    {.name = "amount", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .required = true, .min = 1,
     .max = 63, .help = "in the account's currency, like 12.50; an adjustment may be negative"},
    {.name = "reference", .value = "TEXT", .kind = TB_PARAM_TEXT, .required = true, .min = 1,
     .max = sizeof((tb_ledger_entry *)0)->reference - 1,
     .help = "identifies the entry: the same again changes nothing"},
    NOTE,
    {.name = "invoice", .value = "NUMBER", .kind = TB_PARAM_TEXT, .min = 1,
     .max = sizeof((tb_ledger_entry *)0)->document - 1,
     .help = "the invoice that it pays; default: the oldest due"},
};

static const tb_param credit_params[] = {
    TB__PARAM_ACCOUNT(true, "whose credit"),
    {.name = "amount", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .required = true, .min = 1,
     .max = 63, .help = "in the account's currency, like 12.50"},
    {.name = "expires", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 10,
     .help = "its last day, UTC, included; default: it does not expire"},
    NOTE,
    {.name = "reference", .value = "TEXT", .kind = TB_PARAM_TEXT, .min = 1,
     .max = sizeof((tb_ledger_entry *)0)->reference - 1,
     .help = "identifies it; default: one credit of this amount, last day and note a day"},
};

static const tb_param statement_params[] = {
    TB__PARAM_ACCOUNT(true, "whose statement"),
    {.name = "from", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 10,
     .help = "the first day, UTC; default that of the first entry"},
    {.name = "to", .value = "YYYY-MM-DD", .kind = TB_PARAM_TEXT, .min = 1, .max = 10,
     .help = "the last day, included; default today"},
    {.name = "format", .value = TB_ACCOUNT_WORDS, .kind = TB_PARAM_CHOICE, .otherwise = "json",
     .help = "default json"},
    {.name = "paper", .value = "a4|letter", .kind = TB_PARAM_CHOICE,
     .help = "size of the pages; default a4"},
};

static const tb_operation rows[] = {
    {.name = "ledger",
     .summary = "List an account's invoices, payments and adjustments, and the balance",
     .details = "See also: ledger pay, ledger adjust, ledger credit, ledger statement, ledger aging,\n"
                "ledger accrue, ledger grace, ledger begin, ledger import, ledger export, ledger close.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(list_params),
     .read = list_entries},
    {.name = "ledger statement",
     .summary = "Print an account's statement, with its balance before and after",
     .details = "A statement is for the customer: what was invoiced, credited and paid from one day to\n"
                "another. Balances in the account's favour are positive.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(statement_params),
     .read = show_statement},
    {.name = "ledger enter",
     .summary = "Enter a payment or an adjustment of the balance",
     .details = "",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(enter_params),
     .write = enter},
    {.name = "ledger credit",
     .summary = "Grant an account credit",
     .details = "Credit is money in the balance that the account's invoices draw when they are made final,\n"
                "after tax, the credit with the oldest last day first. What a void invoice drew is given\n"
                "back. What is left behind the last day expires.",
     .access = TB_ACCESS_MONEY,
     TB__PARAMS(credit_params),
     .write = grant},
};
const tb__operations tb__ledger_operations = TB__OPERATIONS(rows);
