/* Computes closings again: those of the last months with the current rules. The store is read as of a closing's
 * version; accruals, reversals and codes must be the same, to the byte. */
#include "tollbook/ledger.h"

#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "tollbook/calendar.h"
#include "tollbook/retain.h"

#define MONTHS_AGAIN 3 /* unless all are requested */

typedef struct checking {
    tb_store *store;
    tb_say say;
    void *ctx;
    uint64_t *differences;
    tb_closings_checked *checked;
    int64_t last; /* the last closed month */
    uint64_t unrated; /* rows of accounts without their usage */
    tb_error *err;
    const tb_closing *closing;
    char month[8]; /* the closing's */
} checking;

static void TB_PRINTF(2, 3) found(checking *c, const char *fmt, ...)
{
    char sentence[400];
    int n = snprintf(sentence, sizeof sentence, "The closing of %s ", c->month);
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence + n, sizeof sentence - (size_t)n, fmt, args);
    va_end(args);
    ++*c->differences;
    if (c->say) c->say(c->ctx, sentence);
}

/* --- the month before --- */

/* Of two documents that can be read: whether the later reverses the accruals of the earlier. */
static bool takes_back(const tb_closing *later, const tb_closing *earlier)
{
    json_t *to = json_loadb(later->document, later->len, 0, NULL);
    json_t *from = json_loadb(earlier->document, earlier->len, 0, NULL);
    const bool same = json_equal(json_object_get(to, "reversed"), json_object_get(from, "accruals")) != 0;
    json_decref(to);
    json_decref(from);
    return same;
}

/* If both this closing and the previous month's are in force, the former must reverse the accruals of the latter. */
static tb_code check_before(checking *c, bool *ret_holds)
{
    tb_closing live = {.document = NULL}, before = {.document = NULL};
    bool holds = false, closed = false;
    tb_code code = tb_store_closing(c->store, c->closing->month, &live, &holds, c->err);
    *ret_holds = !code && holds && live.id == c->closing->id;
    if (*ret_holds)
        code = tb_store_closing(c->store, c->closing->month - 1, &before, &closed, c->err);
    if (!code && closed && !takes_back(c->closing, &before))
        found(c, "does not take back what the month before it accrued.");
    tb_closing_release(&live);
    tb_closing_release(&before);
    return code;
}

/* --- computing again --- */

/* Whether the account's usage of all months that the closing rests on is still there. */
static tb_code is_kept(checking *c, int64_t account, bool *ret_kept)
{
    tb_kept kept;
    tb_code code = tb_store_kept(c->store, account, &kept, c->err);
    *ret_kept = !code && kept.hours <= c->closing->month - TB_CLOSING_MONTHS;
    return code;
}

static tb_decimal own_sum(const tb_products *products, const tb_product_code *of)
{
    for (size_t i = 0; i < products->n_own; i++)
        if (products->own[i].kind == of->kind && strcmp(products->own[i].code, of->code) == 0)
            return products->own[i].sum;
    return TB_DECIMAL_ZERO;
}

/* A row of the document, and the same computed again; one of them may be NULL. */
static tb_code compare_row(checking *c, const char *verb, const tb_accrual *said, const tb_accrual *worked)
{
    static const tb_products none;
    const tb_products *a = said ? &said->products : &none, *b = worked ? &worked->products : &none;
    const tb_accrual *row = said ? said : worked;
    char was[TB_DECIMAL_TEXT_MAX + 1], is[TB_DECIMAL_TEXT_MAX + 1];
    bool kept = true, asked = false;
    tb_products own = {.n_own = 0}; /* the codes of either */
    tb_code code = tb_products_join(&own, a, 1, c->err);
    if (!code) code = tb_products_join(&own, b, 1, c->err);
    for (size_t k = 0; !code && kept && k < TB_LINE_KIND_COUNT + own.n_own; k++) {
        const tb_product_code *of = k < TB_LINE_KIND_COUNT ? NULL : &own.own[k - TB_LINE_KIND_COUNT];
        const tb_decimal x = of ? own_sum(a, of) : a->sum[k], y = of ? own_sum(b, of) : b->sum[k];
        if (tb_decimal_compare(x, y) == 0) continue;
        if (!asked) code = is_kept(c, row->account, &kept);
        asked = true;
        *tb_decimal_put(was, tb_decimal_normal(x)) = 0;
        *tb_decimal_put(is, tb_decimal_normal(y)) = 0;
        if (!code && kept)
            found(c, "%s %s %s (%s%s%s) for account %" PRId64 "; worked out again it is %s.", verb, was, row->currency,
                  tb_line_kind_name(of ? of->kind : (tb_line_kind)k), of ? ":" : "", of ? of->code : "", row->account, is);
    }
    c->unrated += !kept;
    return code;
}

static int order_of(const tb_accrual *a, const tb_accrual *b)
{
    if (!a || !b) return a ? -1 : 1;
    if (a->account != b->account) return a->account < b->account ? -1 : 1;
    return strcmp(a->currency, b->currency);
}

/* Both lists ascend by account and currency. */
static tb_code compare(checking *c, const char *verb, const tb_accruals *said, const tb_accruals *worked)
{
    size_t i = 0, k = 0;
    tb_code code = TB_OK;
    while (!code && (i < said->n || k < worked->n)) {
        const tb_accrual *a = i < said->n ? &said->list[i] : NULL;
        const tb_accrual *b = k < worked->n ? &worked->list[k] : NULL;
        const int order = order_of(a, b);
        code = compare_row(c, verb, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
        i += order <= 0;
        k += order >= 0;
    }
    return code;
}

static tb_code compare_again(checking *c, const char *verb, int64_t month, const tb_accruals *said,
                             const tb_month_books *books)
{
    const tb_accruals_ask ask = {.month = month, .now_us = c->closing->closed_us, .books = books, .named = said};
    tb_accruals worked = {.list = NULL};
    tb_code code = tb_accruals_of(c->store, &ask, &worked, c->err);
    if (!code) code = compare(c, verb, said, &worked);
    tb_accruals_release(&worked);
    return code;
}

/* What is no accrual: the codes, and the form. */
static tb_code compare_text(checking *c, const tb_accruals *accruals, const tb_accruals *reversed,
                            const tb_month_books *books)
{
    tb_buf again;
    tb_buf_init(&again, (size_t)64 << 20, NULL);
    tb_code code = tb_closing_write(c->store, accruals, reversed, books, c->closing->month, &again, c->err);
    if (!code && (again.len != c->closing->len ||
                  memcmp(again.data, c->closing->document, again.len) != 0))
        found(c, "has other codes than the price books of that time, or another form than a closing has.");
    tb_buf_release(&again);
    return code;
}

static tb_code work_out(checking *c, const tb_accruals *accruals, const tb_accruals *reversed)
{
    tb_month_books books = {.list = NULL};
    tb_code code = tb_month_books_read(c->store, &books, c->err);
    if (!code) code = compare_again(c, "takes back", c->closing->month - 1, reversed, &books);
    if (!code) code = compare_again(c, "accrues", c->closing->month, accruals, &books);
    if (!code) code = compare_text(c, accruals, reversed, &books);
    tb_month_books_release(&books);
    return code;
}

/* A closing that cannot be computed is a difference, not a failure of the check. */
static tb_code check_again(checking *c, const tb_accruals *accruals, const tb_accruals *reversed)
{
    tb_error why = {0}, *err = c->err;
    tb_code code = tb_store_look_back(c->store, c->closing, err);
    if (code) return code;
    c->err = &why;
    code = work_out(c, accruals, reversed);
    c->err = err;
    tb_code ended = tb_store_look_forward(c->store, code ? NULL : err);
    if (!code) return ended;
    if (tb_code_exit(code) == tb_code_exit(TB_E_IO) && code != TB_E_CORRUPT)
        return tb_fail(err, code, why.field, "%s", why.message);
    found(c, "cannot be worked out again: %s", why.message);
    return ended;
}

/* --- each --- */

static bool has_its_hash(const tb_closing *closing)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[65];
    crypto_hash_sha256(hash, (const unsigned char *)closing->document, closing->len);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return strcmp(hex, closing->sha256) == 0;
}

/* 0: the document does not say. */
static int64_t rules_of(const tb_closing *closing)
{
    json_t *root = json_loadb(closing->document, closing->len, 0, NULL);
    const int64_t rules = json_integer_value(json_object_get(root, "version"));
    json_decref(root);
    return rules;
}

static bool is_worked_out(const checking *c, bool holds)
{
    return holds && (c->checked->all || c->closing->month > c->last - MONTHS_AGAIN) &&
           rules_of(c->closing) == TB_CLOSING_RULES;
}

static tb_code check_closing(void *ctx, const tb_closing *closing, tb_error *err)
{
    checking *c = ctx;
    tb_accruals accruals = {.list = NULL}, reversed = {.list = NULL};
    bool holds = false;
    c->closing = closing;
    c->err = err;
    tb_month_format(closing->month, c->month);
    tb_code code = check_before(c, &holds);
    if (code) return code;
    if (!has_its_hash(closing)) found(c, "has a text without its SHA-256.");
    else if (tb_closing_read(closing, false, &accruals, NULL) ||
             tb_closing_read(closing, true, &reversed, NULL))
        found(c, "cannot be read.");
    else if (!is_worked_out(c, holds)) c->checked->by_hash++;
    else {
        c->checked->again++;
        code = check_again(c, &accruals, &reversed);
    }
    tb_accruals_release(&accruals);
    tb_accruals_release(&reversed);
    return code;
}

static void remark_unrated(const checking *c)
{
    char sentence[200];
    if (!c->unrated || !c->say) return;
    snprintf(sentence, sizeof sentence,
             TB_NOTE "%s of closings checked by hash, but not computed again: the usage is no longer kept.",
             TB__COUNTED(c->unrated, "amount"));
    c->say(c->ctx, sentence);
}

tb_code tb_closing_verify(tb_store *store, tb_closings_checked *checked, tb_say say, void *ctx,
                          uint64_t *differences, tb_error *err)
{
    checking c = {.store = store, .say = say, .ctx = ctx, .differences = differences, .checked = checked};
    checked->again = checked->by_hash = 0;
    tb_code code = tb_store_last_closed(store, &c.last, err);
    if (!code) code = tb_store_closings(store, check_closing, &c, err);
    if (!code) remark_unrated(&c);
    return code;
}
