/* A bank's list of payments, or opening balances as CSV (payments.h). The file is copied once, as UTF-8; cells are
 * cut out of the copy in place, for an unquoted cell is never longer than its quotes. */
#include "tollbook/settle.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/jsontext.h"
#include "ledger/balances.h"
#include "tollbook/book.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"

/* X(field, required) */
#define FIELDS(X)                                                                                  \
    X(date, true) X(amount, true) X(reference, false) X(currency, false) X(payer, false)           \
    X(id, false) X(account, false)
enum { /* FIELD_date, ... */
#define ROW(name, required) FIELD_##name,
    FIELDS(ROW)
#undef ROW
    N_FIELDS
};
static const struct {
    const char *name;
    bool required;
} fields[] = {
#define ROW(name, required) {#name, required},
    FIELDS(ROW)
#undef ROW
};

typedef struct reader {
    char *at, *end;   /* the unread part of the copy */
    char separator;
    uint64_t line;    /* of `at` */
    char *cells[TB_PAYMENT_COLUMNS];
    size_t n, n_head; /* cells: of this row, and of the first */
    int column[N_FIELDS]; /* -1: the file has none */
    bool comma;
    tb_error *err;
} reader;

/* --- the text --- */

static bool is_utf8(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        const size_t step = (unsigned char)text[i] < 0x80 ? 1 : tb__utf8_step(text + i, len - i);
        if (!step) return false;
        i += step;
    }
    return true;
}

/* By its mark, or by the zero of a first letter. */
static bool is_utf16(const char *text, size_t len)
{
    return len >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0 ||
                        !text[0] != !text[1]);
}

/* Terminated; free(). NULL: there is no memory. */
static char *copy_text(const char *text, size_t len, size_t *ret_len)
{
    const bool latin = !is_utf8(text, len);
    char *copy = malloc(2 * len + 1), *to = copy;
    if (!copy) return NULL;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        len -= 3;
    }
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (latin && c >= 0x80) {
            *to++ = (char)(0xC0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3F));
        } else {
            *to++ = c < 0x20 && c != '\n' && c != '\r' && c != '\t' ? ' ' : (char)c;
        }
    }
    *to = 0;
    *ret_len = (size_t)(to - copy);
    return copy;
}

static char find_separator(const char *text)
{
    static const char choices[] = ";,\t";
    size_t most = 0;
    char best = ',';
    for (const char *c = choices; *c; c++) {
        size_t n = 0;
        for (const char *p = text; *p && *p != '\n'; p++)
            n += *p == *c;
        if (n > most) {
            most = n;
            best = *c;
        }
    }
    return best;
}

/* --- records --- */

static tb_code bad_row(const reader *r, uint64_t line, const char *what, const char *why)
{
    tb_fail(r->err, TB_E_BAD_INPUT, NULL, "%c%s: %s. Nothing was entered.", *what - 'a' + 'A', what + 1,
            why);
    if (r->err) r->err->line = line;
    return TB_E_BAD_INPUT;
}

static char *trimmed(char *text)
{
    size_t len = strlen(text);
    while (*text == ' ') {
        text++;
        len--;
    }
    while (len && text[len - 1] == ' ')
        text[--len] = 0;
    return text;
}

/* Cuts a cell out; false: a quote is not closed. *ret_end is the byte after it. */
static bool cut_cell(reader *r, char *ret_end)
{
    char *to = r->at;
    r->cells[r->n++] = to;
    if (*r->at == '"') {
        for (r->at++;; r->at++) {
            if (r->at >= r->end) return false;
            if (*r->at == '"' && *++r->at != '"') break;
            r->line += *r->at == '\n';
            *to++ = *r->at == '\n' || *r->at == '\r' ? ' ' : *r->at;
        }
    }
    while (r->at < r->end && *r->at != r->separator && *r->at != '\n') {
        if (*r->at != '\r') *to++ = *r->at;
        r->at++;
    }
    *ret_end = r->at < r->end ? *r->at : 0;
    *to = 0;
    return true;
}

/* Only separators and spaces. */
static bool is_blank(const reader *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (*r->cells[i]) return false;
    return true;
}

/* The next record; n 0: the end. *ret_line: where it begins. */
static tb_code read_any_record(reader *r, uint64_t *ret_line)
{
    char end = r->separator;
    while (r->at < r->end && (*r->at == '\n' || *r->at == '\r')) {
        r->line += *r->at == '\n';
        r->at++;
    }
    *ret_line = r->line;
    r->n = 0;
    if (r->at >= r->end) return TB_OK;
    while (end == r->separator) {
        if (r->n == TB_PAYMENT_COLUMNS) return bad_row(r, *ret_line, "the row", "it has more than 256 cells");
        if (!cut_cell(r, &end)) return bad_row(r, *ret_line, "the row", "a quote is not closed");
        if (end) r->at++;
    }
    r->line += end == '\n';
    for (size_t i = 0; i < r->n; i++)
        r->cells[i] = trimmed(r->cells[i]);
    return TB_OK;
}

/* Reads the next record that is not blank. */
static tb_code read_record(reader *r, uint64_t *ret_line)
{
    tb_code code = TB_OK;
    do
        code = read_any_record(r, ret_line);
    while (!code && r->n && is_blank(r));
    return code;
}

/* --- the map --- */

static int find_column(const reader *r, const char *name, size_t len)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *cell = r->cells[i];
        if (strlen(cell) == len && strncasecmp(cell, name, len) == 0) return (int)i;
    }
    return -1;
}

static tb_code map_field(reader *r, const char *part, size_t len)
{
    const char *equals = memchr(part, '=', len);
    const size_t name_len = equals ? (size_t)(equals - part) : 0;
    int f = 0;
    while (f < N_FIELDS && (strlen(fields[f].name) != name_len ||
                            memcmp(fields[f].name, part, name_len) != 0))
        f++;
    if (!equals || f == N_FIELDS)
        return tb_fail(r->err, TB_E_VALIDATION, "map",
                       "\"%.*s\" is not FIELD=COLUMN. The fields are date, amount, reference, currency,"
                       " payer, id, account.", (int)(len < 60 ? len : 60), part);
    r->column[f] = find_column(r, equals + 1, len - name_len - 1);
    if (r->column[f] >= 0) return TB_OK;
    return tb_fail(r->err, TB_E_VALIDATION, "map", "The file has no column \"%.*s\".",
                   (int)(len - name_len - 1 < 60 ? len - name_len - 1 : 60), equals + 1);
}

static tb_code read_map(reader *r, const char *map)
{
    tb_code code = TB_OK;
    for (int f = 0; f < N_FIELDS; f++)
        r->column[f] = -1;
    while (!code && *map) {
        const size_t len = strcspn(map, ",");
        code = map_field(r, map, len);
        map += len + (map[len] == ',');
    }
    for (int f = 0; !code && f < N_FIELDS; f++)
        if (fields[f].required && r->column[f] < 0)
            code = tb_fail(r->err, TB_E_VALIDATION, "map", "It must say which column is the %s: %s=COLUMN.",
                           fields[f].name, fields[f].name);
    return code;
}

/* --- values --- */

static char *cell_of(const reader *r, int field)
{
    static char none[] = "";
    const int column = r->column[field];
    return column >= 0 && (size_t)column < r->n ? r->cells[column] : none;
}

/* At least `least` and at most `most` digits; -1: they are not there. Goes past them. */
static int take_digits(const char **at, size_t least, size_t most)
{
    const size_t n = strspn(*at, "0123456789");
    int value = 0;
    if (n < least || n > most) return -1;
    for (size_t i = 0; i < n; i++)
        value = 10 * value + *(*at)++ - '0';
    return value;
}

static bool take_mark(const char **at, char mark)
{
    return *(*at)++ == mark;
}

/* 2026-10-31, 31.10.2026 or 1.2.2026, and nothing else: 03/11/2026 is two days. */
static bool read_day(const char *text, int64_t *ret_day)
{
    const char *at = text;
    int parts[3];
    char iso[32];
    int64_t us = 0;
    const bool german = strchr(text, '.') != NULL;
    const char mark = german ? '.' : '-';
    for (int i = 0; i < 3; i++) {
        const bool year = i == (german ? 2 : 0);
        if (i && !take_mark(&at, mark)) return false;
        parts[i] = take_digits(&at, year ? 4 : german ? 1 : 2, year ? 4 : 2);
        if (parts[i] < 0) return false;
    }
    snprintf(iso, sizeof iso, "%04d-%02d-%02d", parts[german ? 2 : 0], parts[1], parts[german ? 0 : 2]);
    if (*at || tb_date_parse(iso, 10, &us, NULL)) return false;
    *ret_day = tb_day_from_us(us);
    return true;
}

/* Groups of thousands are left out: "1.234,56" with a decimal comma, "1,234.56" and "1 234.56" without. They
 * are all separated alike. */
static bool read_amount(const char *text, bool comma, tb_decimal *ret)
{
    char plain[64];
    size_t n = 0, groups = 0, whole = 0;
    bool point = false;
    char mark = 0; /* between groups */
    for (const char *p = text; *p; p++) {
        const char c = *p;
        if (n == sizeof plain - 1) return false;
        if (c == (comma ? ',' : '.')) {
            if (point || (groups && whole != 3)) return false;
            point = true;
            plain[n++] = '.';
        } else if (c == (comma ? '.' : ',') || c == ' ' || c == '\'') {
            if (point || whole == 0 || whole > 3 || (groups && (whole != 3 || c != mark))) return false;
            mark = c;
            groups++;
            whole = 0;
        } else if (c != '+' || p != text) {
            whole += !point && c >= '0' && c <= '9';
            plain[n++] = c;
        }
    }
    if (groups && !point && whole != 3) return false;
    return tb_decimal_parse(plain, n, TB_PRICE_SCALE_MAX, ret, NULL) == TB_OK;
}

static bool take_account_cell(const char *text, int64_t *ret)
{
    int64_t id = 0;
    size_t n = strspn(text, "0123456789");
    *ret = 0;
    if (n > 18 || text[n]) return false;
    for (size_t i = 0; i < n; i++)
        id = 10 * id + (text[i] - '0');
    *ret = id;
    return true;
}

/* A hash of all cells as written: the same row is the same payment under any map. */
static void name_row(const reader *r, tb_payment *p)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[41];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < r->n; i++)
        crypto_hash_sha256_update(&state, (const unsigned char *)r->cells[i], strlen(r->cells[i]) + 1);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, sizeof hex, hash, 20);
    snprintf(p->row, sizeof p->row, "row %s", hex);
}

/* The bank's id, where the map has it and it is short enough; else the row. */
static void name_payment(const reader *r, tb_payment *p)
{
    const char *id = cell_of(r, FIELD_id);
    name_row(r, p);
    if (*id && strlen(id) < sizeof p->key - 5) snprintf(p->key, sizeof p->key, "bank %s", id);
    else memcpy(p->key, p->row, sizeof p->key);
}

/* One more or fewer is a separator inside a cell without quotes: 1,234.50. */
static tb_code check_cells(const reader *r, uint64_t line)
{
    char why[80];
    if (r->n == r->n_head) return TB_OK;
    snprintf(why, sizeof why, "it has %zu %s, and the head has %zu", r->n, r->n == 1 ? "cell" : "cells",
             r->n_head);
    return bad_row(r, line, "the row", why);
}

/* 1.234 without --comma is more often 1234 than a part of a cent. */
static tb_code check_digits(const reader *r, uint64_t line, const tb_payment *p)
{
    char why[80];
    const int digits = tb_currency_minor_digits(p->currency);
    if (!p->currency[0] || tb_decimal_normal(p->amount).scale <= digits) return TB_OK;
    snprintf(why, sizeof why, "%s has %d digits after the point", p->currency, digits);
    return bad_row(r, line, "amount", why);
}

/* An opening balance: the columns are called as the fields, but the date, which is when it is due. */
static tb_code read_balance(const reader *r, uint64_t line, tb_payment *p)
{
    const char *currency = cell_of(r, FIELD_currency), *due = cell_of(r, FIELD_date);
    *p = (tb_payment){.line = line, .day = TB_NO_DAY, .reference = cell_of(r, FIELD_reference), .payer = ""};
    tb_code code = check_cells(r, line);
    if (code) return code;
    if (!take_account_cell(cell_of(r, FIELD_account), &p->account) || !p->account)
        return bad_row(r, line, "account", "it is no account's number");
    if (!read_amount(cell_of(r, FIELD_amount), r->comma, &p->amount))
        return bad_row(r, line, "amount",
                       r->comma ? "it is not an amount like -1.234,56"
                                : "it is not an amount like -1,234.56; for -1.234,56 say --comma");
    if (*due && !read_day(due, &p->day))
        return bad_row(r, line, "due", "it is not a day like 2026-10-31 or 31.10.2026");
    if (*currency && strlen(currency) != 3) return bad_row(r, line, "currency", "it has no three letters");
    snprintf(p->currency, sizeof p->currency, "%.3s", currency);
    return TB_OK;
}

static tb_code read_payment(const reader *r, uint64_t line, tb_payment *p)
{
    const char *currency = cell_of(r, FIELD_currency);
    *p = (tb_payment){.line = line, .reference = cell_of(r, FIELD_reference),
                      .payer = cell_of(r, FIELD_payer)};
    tb_code code = check_cells(r, line);
    if (code) return code;
    if (!read_day(cell_of(r, FIELD_date), &p->day))
        return bad_row(r, line, "date", "it is not a day like 2026-10-31 or 31.10.2026");
    if (!read_amount(cell_of(r, FIELD_amount), r->comma, &p->amount))
        return bad_row(r, line, "amount",
                       r->comma ? "it is not an amount like 1.234,56"
                                : "it is not an amount like 1,234.56; for 1.234,56 say --comma");
    if (*currency && strlen(currency) != 3)
        return bad_row(r, line, "currency", "it has no three letters");
    snprintf(p->currency, sizeof p->currency, "%.3s", currency);
    code = check_digits(r, line, p);
    if (code) return code;
    if (!take_account_cell(cell_of(r, FIELD_account), &p->account))
        return bad_row(r, line, "account", "it is no account's number");
    name_payment(r, p);
    return TB_OK;
}

/* --- the list --- */

static int by_row(const void *a, const void *b)
{
    const tb_payment *const *x = a, *const *y = b;
    const int order = strcmp((*x)->row, (*y)->row);
    return order ? order : ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

static void add_number(char key[64], size_t number)
{
    const size_t len = strlen(key);
    snprintf(key + len, 64 - len, " %zu", number);
}

/* Of rows with the same cells the second is "... 2". An id of the bank's that comes twice stays: it is one
 * payment. */
static tb_code number_same(tb_payments *list, tb_error *err)
{
    tb_payment **sorted = malloc((list->n + 1) * sizeof *sorted);
    char row[64] = "";
    size_t same = 0;
    if (!sorted) return tb_no_memory(err);
    for (size_t i = 0; i < list->n; i++)
        sorted[i] = &list->list[i];
    if (list->n > 1) qsort(sorted, list->n, sizeof *sorted, by_row);
    for (size_t i = 0; i < list->n; i++) {
        tb_payment *p = sorted[i];
        same = strcmp(row, p->row) == 0 ? same + 1 : 1;
        memcpy(row, p->row, sizeof row);
        if (same > 1) add_number(p->row, same);
        if (strncmp(p->key, "row ", 4) == 0) memcpy(p->key, p->row, sizeof p->key);
    }
    free(sorted);
    return TB_OK;
}

static tb_code read_rows(reader *r, tb_code (*read_row)(const reader *, uint64_t, tb_payment *), tb_payments *list)
{
    size_t cap = 0;
    uint64_t line = 0;
    tb_code code = TB_OK;
    while (!code && !(code = read_record(r, &line)) && r->n) {
        if (list->n == TB_PAYMENT_ROWS)
            return tb_fail(r->err, TB_E_TOO_LARGE, NULL, "It has more than %d rows.", TB_PAYMENT_ROWS);
        if (list->n == cap) {
            cap = cap ? 2 * cap : 64;
            tb_payment *grown = realloc(list->list, cap * sizeof *grown);
            if (!grown) return tb_no_memory(r->err);
            list->list = grown;
            char **cells = realloc(list->cells, cap * r->n_head * sizeof *cells);
            if (!cells) return tb_no_memory(r->err);
            list->cells = cells;
        }
        code = read_row(r, line, &list->list[list->n]);
        if (!code) memcpy(list->cells + list->n * r->n_head, r->cells, r->n_head * sizeof *r->cells);
        list->n += !code;
    }
    return code;
}

/* Copies the text, and reads its head into the cells. */
static tb_code open_file(reader *r, const char *text, size_t len, tb_payments *list)
{
    uint64_t line = 0;
    if (len > TB_PAYMENTS_MAX) return tb_fail(r->err, TB_E_TOO_LARGE, NULL, "It is longer than 16 MiB.");
    if (is_utf16(text, len))
        return tb_fail(r->err, TB_E_BAD_INPUT, NULL, "It is UTF-16. Save it as UTF-8. Nothing was entered.");
    list->texts = copy_text(text, len, &len);
    if (!list->texts) return tb_no_memory(r->err);
    r->at = list->texts;
    r->end = list->texts + len;
    r->separator = find_separator(list->texts);
    tb_code code = read_record(r, &line);
    r->n_head = list->n_cells = r->n;
    return code;
}

tb_code tb_payments_parse(const char *text, size_t len, const char *map, bool comma,
                          tb_payments *ret_payments, tb_error *err)
{
    tb_payments list = {.list = NULL};
    reader r = {.line = 1, .comma = comma, .err = err};
    tb_code code = open_file(&r, text, len, &list);
    if (!code) code = read_map(&r, map);
    if (!code) code = read_rows(&r, read_payment, &list);
    if (!code) code = number_same(&list, err);
    if (code) tb_payments_release(&list);
    else *ret_payments = list;
    return code;
}

/* Each column must be one of these: a due day that is not understood would be lost. */
static tb_code name_columns(reader *r)
{
    static const struct {
        const char *name;
        int field;
    } columns[] = {{"account", FIELD_account}, {"amount", FIELD_amount}, {"currency", FIELD_currency},
                   {"due", FIELD_date}, {"reference", FIELD_reference}};
    size_t found = 0;
    for (int f = 0; f < N_FIELDS; f++)
        r->column[f] = -1;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        r->column[columns[i].field] = find_column(r, columns[i].name, strlen(columns[i].name));
        found += r->column[columns[i].field] >= 0;
    }
    if (found == r->n && r->column[FIELD_account] >= 0 && r->column[FIELD_amount] >= 0) return TB_OK;
    return bad_row(r, 1, "the head", "its columns are account and amount, and where there are any currency, due,"
                                     " reference");
}

static tb_code read_balances(const char *text, size_t len, bool comma, tb_payments *list, tb_error *err)
{
    reader r = {.line = 1, .comma = comma, .err = err};
    tb_code code = open_file(&r, text, len, list);
    if (!code) code = name_columns(&r);
    return code ? code : read_rows(&r, read_balance, list);
}

tb_code tb_balances_parse(const char *text, size_t len, bool comma, tb_payments *ret_balances, tb_error *err)
{
    tb_payments list = {.list = NULL};
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    const bool json = at < len && text[at] == '{';
    tb_code code = json ? tb__balances_json(text, len, &list, err) : read_balances(text, len, comma, &list, err);
    if (code) tb_payments_release(&list);
    else *ret_balances = list;
    return code;
}

void tb_payments_release(tb_payments *payments)
{
    free(payments->list);
    free(payments->cells);
    free(payments->texts);
    *payments = (tb_payments){.list = NULL};
}

/* --- invoice numbers --- */

static size_t digits_at(const char *p)
{
    return strspn(p, "0123456789");
}

/* "2026-000123", also with a space, a slash or nothing instead of the hyphen, and without a further digit next to
 * it. */
static size_t number_at(const char *p, char number[24])
{
    const size_t year = digits_at(p);
    size_t len;
    if (year < 4 || strncmp(p, "20", 2) != 0) return 0;
    if (year == 4 && p[4] && strchr("- /", p[4]) && digits_at(p + 5) >= 6) len = 5 + digits_at(p + 5);
    else if (year >= 10) len = year;
    else return 0;
    const char *serial = p + (year == 4 ? 5 : 4);
    const size_t n = len - (size_t)(serial - p);
    if (n > 12 || (n > 6 && *serial == '0')) return 0;
    snprintf(number, 24, "%.4s-%.*s", p, (int)n, serial);
    return len;
}

size_t tb_payment_numbers(const char *reference, char numbers[TB_PAYMENT_NUMBERS][24])
{
    size_t n = 0;
    for (const char *p = reference; *p && n < TB_PAYMENT_NUMBERS;) {
        const size_t len = number_at(p, numbers[n]);
        if (len) {
            bool again = false;
            for (size_t i = 0; i < n; i++)
                again |= strcmp(numbers[i], numbers[n]) == 0;
            n += !again;
            p += len;
        } else {
            const size_t digits = digits_at(p);
            p += digits ? digits : 1;
        }
    }
    return n;
}

const char *tb_payment_shown(const tb_ledger_entry *entry)
{
    const bool hash = entry->kind == TB_LEDGER_PAYMENT && strncmp(entry->reference, "row ", 4) == 0 &&
                      strspn(entry->reference + 4, "0123456789abcdef") == 40;
    const bool made = tb_ledger_is_opening(entry) && strncmp(entry->reference, "opening ", 8) == 0;
    return hash || made ? "" : entry->reference;
}
