/* Invoices: numbered without gaps in a series for each year of issue, chained by their SHA-256, and
 * stored as issued. The number, the bytes and the ledger entry come into being in one transaction,
 * so a crash leaves none or all of them; the file's triggers protect final documents. Void invoices keep
 * their numbers. */
#include "store/money/billing.h"
#include "tollbook/ledgerstore.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)64 << 20)

void tb_invoice_release(tb_invoice *invoice)
{
    free(invoice->text);
    *invoice = (tb_invoice){.text = NULL};
}

/* --- the hash of a text --- */

/* The text's own sha256 member, with its comma; NULL if there is none. */
static const char *find_hash(const char *text, size_t len, const char *sha256, size_t *ret_len)
{
    char member[88];
    int n = snprintf(member, sizeof member, ",\"sha256\":\"%.64s\"", sha256);
    *ret_len = (size_t)n;
    return memmem(text, len, member, (size_t)n);
}

bool tb__invoice_hash(const char *text, size_t len, const char *sha256, char ret_hex[65])
{
    size_t member;
    const char *at = find_hash(text, len, sha256, &member);
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    if (!at) return false;
    const char *rest = at + member;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)text, (size_t)(at - text));
    crypto_hash_sha256_update(&state, (const unsigned char *)rest, len - (size_t)(rest - text));
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(ret_hex, 65, hash, sizeof hash);
    return true;
}

/* --- reading --- */

/* Columns: see TB__INVOICE_COLUMNS. */
tb_code tb__invoice_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_invoice *ret = item;
    tb_invoice i = {.account = sqlite3_column_int64(s, 4),
                    .month = sqlite3_column_int64(s, 5),
                    .watermark = (uint64_t)sqlite3_column_int64(s, 6),
                    .since = (uint64_t)sqlite3_column_int64(s, 7),
                    .finalized_us = sqlite3_column_int64(s, 14)};
    char state[8];
    const struct {
        int column;
        char *to;
        size_t size;
    } texts[] = {
        {1, i.number, sizeof i.number},
        {2, i.kind, sizeof i.kind},
        {3, state, sizeof state},
        {8, i.currency, sizeof i.currency},
        {9, i.total, sizeof i.total},
        {10, i.sha256, sizeof i.sha256},
        {11, i.previous, sizeof i.previous},
        {12, i.replaces, sizeof i.replaces},
        {13, i.replaced_by, sizeof i.replaced_by},
    };
    tb_code code = TB_OK;
    for (size_t n = 0; !code && n < sizeof texts / sizeof *texts; n++)
        code = tb__copy_text(s, texts[n].column, texts[n].to, texts[n].size, err);
    if (code) return code;
    i.state = strcmp(state, "final") == 0 ? TB_INVOICE_FINAL : TB_INVOICE_VOID;
    const char *text = (const char *)sqlite3_column_text(s, 15);
    i.text_len = (size_t)sqlite3_column_bytes(s, 15);
    i.text = text ? malloc(i.text_len + 1) : NULL;
    if (!i.text) return tb_no_memory(err);
    memcpy(i.text, text, i.text_len + 1);
    *ret = i;
    return TB_OK;
}

static void release_invoice(void *item)
{
    tb_invoice_release(item);
}

static const tb__rows invoice_rows = {sizeof(tb_invoice), tb__invoice_from, release_invoice};

tb_code tb_store_invoices(tb_store *store, int64_t account, int64_t month,
                          tb_invoice **ret_invoices, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {account, month};
    tb__statement which = account              ? TB__SQL_INVOICES_OF_ACCOUNT
                          : month != INT64_MIN ? TB__SQL_INVOICES_OF_MONTH
                                               : TB__SQL_INVOICES;
    return tb__collect_ints(store, which, values, which == TB__SQL_INVOICES ? 0 : 2, &invoice_rows,
                            ret_invoices, ret_n, err);
}

tb_code tb_store_run_notes(tb_store *store, int64_t account, int64_t month, tb_invoice **ret_notes, size_t *ret_n,
                           tb_error *err)
{
    const int64_t values[2] = {account, month};
    return tb__collect_ints(store, TB__SQL_INVOICES_NOTED, values, 2, &invoice_rows, ret_notes, ret_n, err);
}

/* *ret_id: its row; 0 if there is none. */
static tb_code find_invoice(tb_store *store, int64_t account, const char *number,
                            tb_invoice *ret_invoice, int64_t *ret_id, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_id = 0;
    tb_code code = tb__sql(store, TB__SQL_INVOICE_BY_NUMBER, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, number, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, account);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_id = sqlite3_column_int64(s, 0);
    code = tb__invoice_from(s, ret_invoice, err);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_invoice(tb_store *store, int64_t account, const char *number,
                         tb_invoice *ret_invoice, tb_error *err)
{
    int64_t id = 0;
    tb_code code = find_invoice(store, account, number, ret_invoice, &id, err);
    if (code || id) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "number", "There is no invoice %.24s.", number);
}

tb_code tb_store_issued(tb_store *store, const tb_issued_ask *ask, int64_t **ret_places, size_t *ret_n, tb_error *err)
{
    tb_invoice last = {.text = NULL};
    int64_t after = 0;
    tb_code code = ask->after[0] ? find_invoice(store, 0, ask->after, &last, &after, err) : TB_OK;
    tb_invoice_release(&last);
    if (!code && ask->after[0] && !after) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    const int64_t values[4] = {ask->from_us, ask->to_us, after, ask->account};
    return code ? code : tb__list_ints(store, TB__SQL_INVOICES_ISSUED, values, 4, ret_places, ret_n, err);
}

tb_code tb_store_issued_at(tb_store *store, int64_t place, tb_invoice *ret_invoice, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_INVOICE_BY_ID, &place, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (!code && !row) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    if (code) return code;
    code = tb__invoice_from(s, ret_invoice, err);
    sqlite3_reset(s);
    return code;
}

/* --- finalizing --- */

/* Statements that ask by (account, month, kind, since) for a number. */
static tb_code number_of(tb_store *store, tb__statement id, const tb_invoice *invoice,
                         char number[24], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    number[0] = 0;
    tb_code code = tb__sql(store, id, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, invoice->account);
    sqlite3_bind_int64(s, 2, invoice->month);
    sqlite3_bind_text(s, 3, invoice->kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, (int64_t)invoice->since);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__copy_text(s, 0, number, 24, err);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_replaced(tb_store *store, int64_t account, int64_t month, char ret_number[24], tb_error *err)
{
    const tb_invoice next = {.account = account, .month = month, .kind = "invoice"};
    return number_of(store, TB__SQL_INVOICE_REPLACED, &next, ret_number, err);
}

static bool is_credit_note(const tb_invoice *invoice)
{
    return strcmp(invoice->kind, "credit_note") == 0;
}

static tb_code refuse_invoice(const char *field, const tb_invoice *invoice, const char *why,
                              tb_error *err)
{
    int64_t month = invoice->month;
    return tb_fail(err, TB_E_VALIDATION, field, "Account %" PRId64 ", %04d-%02d: %s.",
                   invoice->account, (int)(1970 + tb__floor_div(month, 12)),
                   (int)(month - 12 * tb__floor_div(month, 12)) + 1, why);
}

static tb_code check_total(const tb_invoice *invoice, tb_decimal *ret_total, tb_error *err)
{
    if (tb_decimal_parse(invoice->total, strnlen(invoice->total, sizeof invoice->total),
                         TB_DECIMAL_SCALE_MAX, ret_total, NULL))
        return refuse_invoice("total", invoice, "the total is not a decimal", err);
    /* An invoice's may be below 0: it gives back fees that were billed in advance. */
    if (is_credit_note(invoice) && tb_decimal_sign(*ret_total) > 0)
        return refuse_invoice("total", invoice, "a credit note's total is not above 0", err);
    return TB_OK;
}

/* An invoice must be of a month that is over and made from the current data. */
static tb_code check_moment(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    uint64_t version = 0;
    if (!is_credit_note(invoice) && strcmp(invoice->kind, "invoice") != 0)
        return refuse_invoice("kind", invoice, "the kind is invoice or credit_note", err);
    if (invoice->month < 0 || invoice->month > TB__BILL_MONTH_LAST ||
        invoice->finalized_us < tb_month_start_us(invoice->month + 1))
        return refuse_invoice("month", invoice, "the month is not over, so it cannot be final",
                              err);
    if (is_credit_note(invoice) ? !invoice->since : invoice->since != 0)
        return refuse_invoice("since", invoice, "a credit note, and it alone, says since when",
                              err);
    tb_code code = tb_store_check_begun(store, invoice->month, err);
    if (!code) code = tb_store_version(store, &version, err);
    if (code || version == invoice->watermark) return code;
    return refuse_invoice("watermark", invoice,
                          "the data has changed since it was read; do it again", err);
}

/* A month that went onto a later invoice stays there. */
static tb_code check_elsewhere(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    char number[24], why[80];
    if (is_credit_note(invoice)) return TB_OK;
    tb_code code =
        tb_store_billed_elsewhere(store, invoice->account, invoice->month, number, err);
    if (code || !number[0]) return code;
    snprintf(why, sizeof why, "the month was billed on %s; void that first", number);
    return refuse_invoice("month", invoice, why, err);
}

/* The month must be late since exactly this watermark: nothing is billed twice, nothing left out. */
static tb_code check_correction(tb_store *store, const tb_invoice *invoice, int64_t month,
                                uint64_t since, tb_error *err)
{
    const int64_t values[2] = {invoice->account, month};
    int64_t billed = 0;
    tb_code code = tb__int_of(store, TB__SQL_BILLED_UP_TO, values, 2, 0, &billed, err);
    if (code || (billed == (int64_t)since && billed)) return code;
    return refuse_invoice("corrects", invoice,
                          "late usage that it corrects has been billed otherwise", err);
}

static tb_code check_corrections(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    tb_code code = TB_OK;
    if (is_credit_note(invoice))
        return check_correction(store, invoice, invoice->month, invoice->since, err);
    for (size_t i = 0; !code && i < invoice->n_corrects; i++)
        code = invoice->corrects[i].month < invoice->month
                   ? check_correction(store, invoice, invoice->corrects[i].month,
                                      invoice->corrects[i].since, err)
                   : refuse_invoice("corrects", invoice,
                                    "it corrects a month that is not before it", err);
    return code;
}

typedef struct place {
    int64_t id, year, serial;
} place;

static tb_code clock_behind(int64_t now_us, int64_t issued_us, const char *number, const char *rule, tb_error *err)
{
    char now[20], issued[20];
    tb_time_format(now_us, now);
    tb_time_format(issued_us, issued);
    return tb_fail(err, TB_E_CLOCK, "issued", "The clock says %.20s, and %s was issued on %.10s. %s: set the clock right.",
                   now, number, issued, rule);
}

/* s: of INVOICE_NEXT. Numbers and days of issue rise together. */
static tb_code check_day(sqlite3_stmt *s, const tb_invoice *invoice, tb_error *err)
{
    const char *last = (const char *)sqlite3_column_text(s, 4);
    const int64_t issued_us = sqlite3_column_int64(s, 3);
    if (!last || tb_day_from_us(invoice->finalized_us) >= tb_day_from_us(issued_us)) return TB_OK;
    return clock_behind(invoice->finalized_us, issued_us, last, "A later number has no earlier day", err);
}

/* The next number of the year's series and the chain's end. */
static tb_code next_place(tb_store *store, tb_invoice *invoice, place *ret, tb_error *err)
{
    ret->year = tb_date_from_day(tb_day_from_us(invoice->finalized_us)).year;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_INVOICE_NEXT, &ret->year, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    ret->serial = sqlite3_column_int64(s, 0);
    ret->id = sqlite3_column_int64(s, 1);
    code = tb__copy_text(s, 2, invoice->previous, sizeof invoice->previous, err);
    if (!code) code = check_day(s, invoice, err);
    sqlite3_reset(s);
    if (!code) code = tb__check_id("invoice", ret->serial, TB__ID_END, err);
    if (!code) code = tb__check_id("invoice", ret->id, TB__ID_END, err);
    if (code) return code;
    snprintf(invoice->number, sizeof invoice->number, "%04d-%06" PRId64, (int)ret->year,
             ret->serial);
    return TB_OK;
}

static tb_code write_text(tb_invoice *invoice, tb_invoice_finish finish, void *ctx, tb_error *err)
{
    char hex[65];
    tb_buf text;
    tb_buf_init(&text, TEXT_MAX + 1, NULL);
    tb_code code = finish(ctx, invoice->number, invoice->previous, &text, invoice->sha256, err);
    tb_buf_add(&text, "", 1);
    if (!code) code = tb_buf_check(&text, err);
    if (!code && (!tb__invoice_hash(text.data, text.len - 1, invoice->sha256, hex) ||
                  memcmp(hex, invoice->sha256, sizeof hex) != 0))
        code = refuse_invoice("sha256", invoice, "the text's sha256 is not its own", err);
    if (code) {
        tb_buf_release(&text);
        return code;
    }
    invoice->text = text.data; /* from realloc: the buffer has no allocator of its own */
    invoice->text_len = text.len - 1;
    return TB_OK;
}

static tb_code insert_row(tb_store *store, const tb_invoice *invoice, const place *at,
                          tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_INVOICE_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, at->id);
    sqlite3_bind_int64(s, 2, at->year);
    sqlite3_bind_int64(s, 3, at->serial);
    sqlite3_bind_text(s, 4, invoice->number, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 5, invoice->kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, invoice->account);
    sqlite3_bind_int64(s, 7, invoice->month);
    sqlite3_bind_int64(s, 8, (int64_t)invoice->watermark);
    sqlite3_bind_int64(s, 9, (int64_t)invoice->since);
    sqlite3_bind_text(s, 10, invoice->currency, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 11, invoice->total, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 12, invoice->sha256, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 13, invoice->previous, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 14, invoice->replaces, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 15, invoice->finalized_us);
    sqlite3_bind_text(s, 16, invoice->text, (int)invoice->text_len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    return code ? code
                : tb__span_put(store, TB__SQL_INVOICE_SPAN_PUT, at->id,
                               tb_month_start_us(invoice->month),
                               tb_month_start_us(invoice->month + 1), err);
}

static tb_code insert_corrections(tb_store *store, const tb_invoice *invoice, int64_t id,
                                  tb_error *err)
{
    tb_code code = TB_OK;
    int64_t values[4] = {id, invoice->account, invoice->month, (int64_t)invoice->since};
    if (is_credit_note(invoice))
        return tb__run_ints(store, TB__SQL_CORRECTION_INSERT, values, 4, err);
    for (size_t i = 0; !code && i < invoice->n_corrects; i++) {
        values[2] = invoice->corrects[i].month;
        values[3] = (int64_t)invoice->corrects[i].since;
        code = tb__run_ints(store, TB__SQL_CORRECTION_INSERT, values, 4, err);
    }
    return code;
}

static tb_code insert_charges(tb_store *store, const tb_invoice *invoice, int64_t id, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < invoice->n_charges; i++) {
        const tb_decimal digits = {0, tb_currency_minor_digits(invoice->currency)};
        tb_decimal amount;
        code = tb_decimal_add(invoice->charges[i].amount, digits, &amount, err); /* in the smallest units */
        const int64_t values[3] = {invoice->charges[i].id, id, (int64_t)amount.mantissa};
        if (!code) code = tb__run_ints(store, TB__SQL_CHARGE_BILL, values, 3, err);
    }
    return code;
}

/* sign -1: the amount taken from the balance; 1: the amount that voiding returns. */
static tb_code enter(tb_store *store, const tb_invoice *invoice, tb_ledger_kind kind, int sign,
                     int64_t at_us, tb_error *err)
{
    tb_ledger_entry entry = {.account = invoice->account, .at_us = at_us, .kind = kind};
    tb_decimal total;
    bool known = false;
    tb_code code = check_total(invoice, &total, err);
    if (!code) code = tb_decimal_mul_int(total, sign, &entry.amount, err);
    if (code) return code;
    memcpy(entry.currency, invoice->currency, sizeof entry.currency);
    memcpy(entry.reference, invoice->number, sizeof invoice->number);
    code = tb_store_ledger_add(store, &entry, &known, err);
    if (code || !known) return code;
    return refuse_invoice("reference", invoice, "the ledger has an entry of this number already",
                          err);
}

/* All that is checked before a number is taken. */
static tb_code check_all(tb_store *store, tb_invoice *invoice, tb_error *err)
{
    tb_decimal total;
    tb_code code = check_moment(store, invoice, err);
    if (!code) code = check_total(invoice, &total, err);
    if (!code) code = check_elsewhere(store, invoice, err);
    if (!code) code = check_corrections(store, invoice, err);
    return code ? code
                : number_of(store, TB__SQL_INVOICE_REPLACED, invoice, invoice->replaces, err);
}

static tb_code insert_all(tb_store *store, tb_invoice *invoice, const place *at, tb_error *err)
{
    tb_ledger_kind kind = is_credit_note(invoice) ? TB_LEDGER_CREDIT_NOTE : TB_LEDGER_INVOICE;
    tb_code code = insert_row(store, invoice, at, err);
    if (!code) code = insert_corrections(store, invoice, at->id, err);
    if (!code) code = insert_charges(store, invoice, at->id, err);
    if (!code) code = enter(store, invoice, kind, -1, invoice->finalized_us, err);
    store->dirty = true;
    if (!code) code = tb__proof_invoice(store, invoice, err);
    if (code || is_credit_note(invoice)) return code;
    const tb__run_row run = {invoice->account, invoice->month,        TB_RUN_FINAL,
                             invoice->number,  "", invoice->finalized_us};
    return tb__run_insert(store, &run, err);
}

tb_code tb_store_finalize(tb_store *store, tb_invoice *invoice, tb_invoice_finish finish, void *ctx,
                          bool *ret_known, tb_error *err)
{
    char number[24];
    place at;
    invoice->text = NULL;
    tb_code code = number_of(store, TB__SQL_INVOICE_KNOWN, invoice, number, err);
    if (!code && number[0]) {
        *ret_known = true;
        return tb_store_invoice(store, invoice->account, number, invoice, err);
    }
    if (!code) code = check_all(store, invoice, err);
    if (!code) code = next_place(store, invoice, &at, err);
    if (!code) code = tb_store_ledger_head(store, &invoice->ledger, err);
    if (!code) code = write_text(invoice, finish, ctx, err);
    if (!code) code = insert_all(store, invoice, &at, err);
    if (code) {
        free(invoice->text);
        invoice->text = NULL;
        return code;
    }
    invoice->state = TB_INVOICE_FINAL;
    *ret_known = false;
    return TB_OK;
}

/* --- voiding --- */

/* What was billed after it rests on it: that goes first. */
static tb_code check_corrected(tb_store *store, const tb_invoice *invoice, int64_t month,
                               tb_error *err)
{
    const int64_t values[3] = {invoice->account, month, (int64_t)invoice->watermark};
    char number[24], why[128];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_CORRECTED_BY, values, 3, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__copy_text(s, 0, number, sizeof number, err);
    sqlite3_reset(s);
    if (code) return code;
    snprintf(why, sizeof why, "%s corrects what %s billed; void %s first", number, invoice->number,
             number);
    return refuse_invoice("number", invoice, why, err);
}

/* What a credit note made due again may be on a later invoice: that goes first. */
static tb_code check_billed_again(tb_store *store, const tb_invoice *invoice, int64_t id, tb_error *err)
{
    char number[24], why[128];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_CHARGE_BILLED_AGAIN, &id, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__copy_text(s, 0, number, sizeof number, err);
    sqlite3_reset(s);
    if (code) return code;
    snprintf(why, sizeof why, "%s billed a credit that %s made due again; void %s first", number, invoice->number, number);
    return refuse_invoice("number", invoice, why, err);
}

static tb_code check_voidable(tb_store *store, const tb_invoice *invoice, int64_t id, int64_t now_us, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    if (invoice->state == TB_INVOICE_VOID)
        return refuse_invoice("number", invoice, "the invoice is void already", err);
    if (tb_day_from_us(now_us) < tb_day_from_us(invoice->finalized_us))
        return clock_behind(now_us, invoice->finalized_us, invoice->number, "Nothing is void before that", err);
    tb_code code = check_corrected(store, invoice, invoice->month, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_CORRECTIONS_OF, &id, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = check_corrected(store, invoice, sqlite3_column_int64(s, 0), err);
        if (code) sqlite3_reset(s);
    }
    return code ? code : check_billed_again(store, invoice, id, err);
}

tb_code tb_store_void(tb_store *store, const char *number, int64_t now_us, tb_error *err)
{
    tb_invoice invoice = {.text = NULL};
    int64_t id = 0;
    tb_code code = find_invoice(store, 0, number, &invoice, &id, err);
    if (code) return code;
    if (!id) return tb_fail(err, TB_E_NOT_FOUND, "number", "There is no invoice %.24s.", number);
    const int64_t values[2] = {id, now_us};
    code = check_voidable(store, &invoice, id, now_us, err);
    if (!code) code = tb__run_ints(store, TB__SQL_INVOICE_VOID, values, 2, err);
    if (!code) code = enter(store, &invoice, TB_LEDGER_VOID, 1, now_us, err);
    if (!code) code = tb__proof_void(store, invoice.account, number, now_us, err);
    if (!code) store->dirty = true;
    tb_invoice_release(&invoice);
    return code;
}
