/* A closing's document: {"accruals":[{"account","currency","products":{kind, or "kind:ledger code": amount},"tax" where
 * there is any}],"codes":{currency: {account of the general ledger: code}},"month","reversed":[as
 * accruals],"reversed_codes":{as codes},"version":rules}. Keys are sorted and there are no spaces, so that the same
 * accruals make the same bytes. */
#include "tollbook/ledger.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

/* --- writing --- */

#define PRODUCTS_MAX (TB_LINE_KIND_COUNT + TB_PRODUCT_CODES_MAX)

/* A member of an accrual's products. */
typedef struct product {
    char key[64];
    tb_decimal sum;
} product;

static int by_product_key(const void *a, const void *b)
{
    return strcmp(((const product *)a)->key, ((const product *)b)->key);
}

static void write_products(const tb_products *products, tb_buf *out)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1];
    product list[PRODUCTS_MAX];
    size_t n = 0;
    for (int k = 0; k < TB_LINE_KIND_COUNT; k++) {
        if (!tb_decimal_sign(products->sum[k])) continue;
        list[n].sum = products->sum[k];
        snprintf(list[n++].key, sizeof list->key, "%s", tb_line_kind_name((tb_line_kind)k));
    }
    for (size_t i = 0; i < products->n_own; i++) {
        const tb_product_code *own = &products->own[i];
        if (!tb_decimal_sign(own->sum)) continue;
        list[n].sum = own->sum;
        snprintf(list[n++].key, sizeof list->key, "%s:%s", tb_line_kind_name(own->kind), own->code);
    }
    qsort(list, n, sizeof *list, by_product_key);
    for (size_t i = 0; i < n; i++) {
        *tb_decimal_put(amount, list[i].sum) = 0;
        tb_buf_fmt(out, "%s\"%s\":\"%s\"", i ? "," : "", list[i].key, amount);
    }
}

/* Closings of before the account `opening` have no code for it: where no book names one they stay as they were. */
static bool is_written(tb_book_account account, const tb_journal_codes *codes)
{
    return account != TB_ACCOUNT_OPENING || strcmp(codes->code[account], tb_book_account_code(account)) != 0;
}

static tb_code write_codes(tb_store *store, int64_t month, const tb_month_books *books, tb_buf *out,
                           tb_error *err)
{
    static const tb_book_account sorted[TB_BOOK_ACCOUNT_COUNT] = {
        TB_ACCOUNT_BANK,        TB_ACCOUNT_CREDITS, TB_ACCOUNT_OPENING, TB_ACCOUNT_PREPAID,
        TB_ACCOUNT_RECEIVABLES, TB_ACCOUNT_REVENUE, TB_ACCOUNT_TAX,     TB_ACCOUNT_UNBILLED};
    tb_journal_codes codes;
    bool first = true;
    tb_code code = TB_OK;
    for (size_t i = 0; i < books->n; i++) { /* ascending by currency */
        const char *currency = books->list[i].currency;
        if (i && strcmp(books->list[i - 1].currency, currency) == 0) continue;
        code = tb_codes_of(store, month, books, currency, &codes, err);
        if (code) return code;
        tb_buf_fmt(out, "%s\"%s\":{", first ? "" : ",", currency);
        for (int a = 0; a < TB_BOOK_ACCOUNT_COUNT; a++)
            if (is_written(sorted[a], &codes))
                tb_buf_fmt(out, "%s\"%s\":\"%s\"", a ? "," : "", tb_book_account_name(sorted[a]),
                           codes.code[sorted[a]]);
        tb_buf_str(out, "}");
        first = false;
    }
    return TB_OK;
}

static void write_tax(tb_decimal tax, tb_buf *out)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1];
    if (!tb_decimal_sign(tax)) return;
    *tb_decimal_put(amount, tax) = 0;
    tb_buf_fmt(out, ",\"tax\":\"%s\"", amount);
}

static void write_accruals(const tb_accruals *accruals, tb_buf *out)
{
    for (size_t i = 0; i < accruals->n; i++) {
        const tb_accrual *a = &accruals->list[i];
        tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"currency\":\"%s\",\"products\":{", i ? "," : "",
                   a->account, a->currency);
        write_products(&a->products, out);
        tb_buf_str(out, "}");
        write_tax(a->tax, out);
        tb_buf_str(out, "}");
    }
}

tb_code tb_closing_write(tb_store *store, const tb_accruals *accruals, const tb_accruals *reversed,
                         const tb_month_books *books, int64_t month, tb_buf *out, tb_error *err)
{
    char text[8];
    tb_buf_str(out, "{\"accruals\":[");
    write_accruals(accruals, out);
    tb_month_format(month, text);
    tb_buf_str(out, "],\"codes\":{");
    tb_code code = write_codes(store, month, books, out, err);
    tb_buf_fmt(out, "},\"month\":\"%s\",\"reversed\":[", text);
    write_accruals(reversed, out);
    tb_buf_str(out, "],\"reversed_codes\":{");
    if (!code) code = write_codes(store, month - 1, books, out, err);
    tb_buf_fmt(out, "},\"version\":%d}", TB_CLOSING_RULES);
    return code ? code : tb_buf_check(out, err);
}

/* --- reading --- */

static tb_code unreadable(const tb_closing *closing, tb_error *err)
{
    char month[8];
    tb_month_format(closing->month, month);
    return tb_fail(err, TB_E_CORRUPT, "closing", "The closing of %s cannot be read.", month);
}

static bool read_amount(const json_t *value, tb_decimal *to)
{
    const char *text = json_string_value(value);
    return text && tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, to, NULL) == TB_OK;
}

static bool read_products(json_t *from, tb_products *to)
{
    const char *key;
    json_t *value;
    json_object_foreach(from, key, value) {
        const tb_line_kind kind = tb_line_kind_parse(key, strcspn(key, ":"), "");
        const char *colon = strchr(key, ':');
        tb_decimal amount;
        if (kind == TB_LINE_KIND_COUNT || !read_amount(value, &amount) ||
            tb_products_add_amount(to, kind, colon ? colon + 1 : NULL, amount, NULL))
            return false;
    }
    return json_is_object(from);
}

static bool read_accrual(const json_t *from, tb_accrual *to)
{
    const char *currency = json_string_value(json_object_get(from, "currency"));
    const json_t *tax = json_object_get(from, "tax");
    *to = (tb_accrual){.account = json_integer_value(json_object_get(from, "account"))};
    if (!currency || strlen(currency) != 3 || to->account < 1) return false;
    memcpy(to->currency, currency, 4);
    if (tax && !read_amount(tax, &to->tax)) return false;
    return read_products(json_object_get(from, "products"), &to->products);
}

tb_code tb_closing_read(const tb_closing *closing, bool reversed, tb_accruals *ret_accruals,
                        tb_error *err)
{
    tb_accruals made = {.list = NULL};
    json_t *root = json_loadb(closing->document, closing->len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *list = json_object_get(root, reversed ? "reversed" : "accruals");
    bool ok = json_is_array(list) && json_is_object(json_object_get(root, "codes")) &&
              json_is_object(json_object_get(root, "reversed_codes"));
    if (ok) {
        made.list = calloc(json_array_size(list) + 1, sizeof *made.list);
        ok = made.list != NULL;
    }
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = read_accrual(json_array_get(list, i), &made.list[made.n++]);
    json_decref(root);
    if (!ok) {
        tb_accruals_release(&made);
        return unreadable(closing, err);
    }
    *ret_accruals = made;
    return TB_OK;
}

static tb_code accruals_kept(tb_store *store, int64_t month, bool reversed, tb_accruals *ret,
                             bool *ret_found, tb_error *err)
{
    tb_closing closing = {.document = NULL};
    tb_code code = tb_store_closing(store, month, &closing, ret_found, err);
    if (!code && *ret_found) code = tb_closing_read(&closing, reversed, ret, err);
    tb_closing_release(&closing);
    return code;
}

tb_code tb_accruals_of(tb_store *store, const tb_accruals_ask *ask, tb_accruals *ret_accruals,
                       tb_error *err)
{
    bool found = false;
    tb_code code = accruals_kept(store, ask->month, false, ret_accruals, &found, err);
    if (!code && !found)
        code = accruals_kept(store, ask->month + 1, true, ret_accruals, &found, err);
    return code || found ? code : tb_accruals_read(store, ask, ret_accruals, err);
}

/* The account codes of a currency in the closing, or (reversed) of its reversals; the default codes where it does
 * not name the currency. */
static tb_code closing_codes(const tb_closing *closing, bool reversed, const char currency[4],
                             tb_journal_codes *ret_codes, tb_error *err)
{
    json_t *root = json_loadb(closing->document, closing->len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *codes =
        json_object_get(json_object_get(root, reversed ? "reversed_codes" : "codes"), currency);
    const bool ok = root != NULL;
    tb_journal_codes_of(NULL, ret_codes);
    for (int a = 0; codes && a < TB_BOOK_ACCOUNT_COUNT; a++) {
        const char *code =
            json_string_value(json_object_get(codes, tb_book_account_name((tb_book_account)a)));
        if (code) snprintf(ret_codes->code[a], TB_LEDGER_CODE_ROOM, "%s", code);
    }
    json_decref(root);
    return ok ? TB_OK : unreadable(closing, err);
}

static tb_code codes_kept(tb_store *store, int64_t month, bool reversed, const char currency[4],
                          tb_journal_codes *ret, bool *ret_found, tb_error *err)
{
    tb_closing closing = {.document = NULL};
    tb_code code = tb_store_closing(store, month, &closing, ret_found, err);
    if (!code && *ret_found) code = closing_codes(&closing, reversed, currency, ret, err);
    tb_closing_release(&closing);
    return code;
}

tb_code tb_codes_of(tb_store *store, int64_t month, const tb_month_books *books,
                    const char currency[4], tb_journal_codes *ret_codes, tb_error *err)
{
    bool found = false;
    tb_code code = codes_kept(store, month, false, currency, ret_codes, &found, err);
    if (!code && !found) code = codes_kept(store, month + 1, true, currency, ret_codes, &found, err);
    if (!code && !found)
        tb_journal_codes_of(tb_month_book_at(books, currency, "", tb_month_start_us(month + 1) - 1),
                            ret_codes);
    return code;
}
