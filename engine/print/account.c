/* An account's statement: as data, and as a sheet like an invoice's. A balance in the account's favour
 * is positive. */
#include "tollbook/print.h"

#include <inttypes.h>
#include <string.h>

#include "invoice/csv.h"
#include "invoice/text.h"
#include "print/maker.h"
#include "print/paper.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* --- as data --- */

static void add_member(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (text && *text)
        tb_json_string(out, text, strlen(text));
    else
        tb_buf_str(out, "null");
}

static void add_decimal(tb_buf *out, const char *name, tb_decimal value)
{
    tb_buf_fmt(out, ",\"%s\":\"", name);
    tb__add_decimal(out, value);
    tb_buf_str(out, "\"");
}

static const char *day_text(int64_t day, char out[21])
{
    tb_time_format(day * TB_US_PER_DAY, out);
    out[10] = '\0';
    return out;
}

static bool is_draw(const tb_account_entry *e)
{
    return strcmp(e->kind, "credit_drawn") == 0;
}

static void add_entry(tb_buf *out, const tb_account_entry *e)
{
    tb_buf_str(out, "{\"time\":\"");
    tb__add_time(out, e->at_us);
    tb_buf_str(out, "\"");
    add_member(out, "kind", e->kind);
    add_decimal(out, "amount", e->amount);
    add_decimal(out, "balance", e->balance);
    add_member(out, "reference", e->reference);
    add_member(out, "note", e->note);
    if (e->expires && *e->expires) add_member(out, "expires", e->expires);
    if (is_draw(e)) add_decimal(out, "drawn", e->drawn);
    tb_buf_str(out, "}");
}

void tb_account_json(const tb_account_statement *s, tb_buf *out)
{
    char day[21];
    tb_buf_fmt(out, "{\"account\":%" PRId64, s->account);
    add_member(out, "name", s->name);
    add_member(out, "currency", s->currency);
    add_member(out, "from", day_text(s->first, day));
    add_member(out, "to", day_text(s->last, day));
    add_decimal(out, "opening", s->opening);
    add_decimal(out, "closing", s->closing);
    tb_buf_str(out, ",\"entries\":[");
    for (size_t i = 0; i < s->n; i++) {
        if (i) tb_buf_str(out, ",");
        add_entry(out, &s->entries[i]);
    }
    tb_buf_str(out, "]}");
}

static void add_csv_row(tb_buf *out, const tb_account_statement *s, const tb_account_entry *e)
{
    tb__csv_time(out, e->at_us);
    tb__csv_plain(out, e->kind);
    tb__csv_money(out, e->amount, s->minor_digits);
    tb__csv_money(out, e->balance, s->minor_digits);
    tb__csv_plain(out, s->currency);
    tb__csv_text(out, e->reference);
    if (is_draw(e)) tb__csv_money(out, e->drawn, s->minor_digits);
    else tb__csv_text(out, e->note);
    tb__csv_end(out);
}

void tb_account_csv(const tb_account_statement *s, tb_buf *out)
{
    const tb_account_entry opening = {.at_us = s->first * TB_US_PER_DAY, .kind = "opening",
                                      .amount = TB_DECIMAL_ZERO, .balance = s->opening,
                                      .reference = "", .note = ""};
    tb_account_entry closing = opening;
    closing.at_us = (s->last + 1) * TB_US_PER_DAY;
    closing.kind = "closing";
    closing.balance = s->closing;
    tb__csv_head(out, "time,kind,amount,balance,currency,reference,note");
    add_csv_row(out, s, &opening);
    for (size_t i = 0; i < s->n; i++)
        add_csv_row(out, s, &s->entries[i]);
    add_csv_row(out, s, &closing);
}

/* --- as a sheet --- */

static const struct {
    const char *kind;
    tb__word word;
} kinds[] = {
    {"invoice", TB__WORD_INVOICE},   {"credit_note", TB__WORD_CREDIT_NOTE},
    {"void", TB__WORD_VOIDED},       {"payment", TB__WORD_PAID_IN},
    {"adjustment", TB__WORD_ADJUSTED}, {"opening_balance", TB__WORD_CARRIED}, {"usage", TB__WORD_USED},
    {"usage_reversal", TB__WORD_USED_BACK}, {"credit", TB__WORD_CREDIT_GRANTED},
    {"credit_expired", TB__WORD_CREDIT_EXPIRED},
};

static void add_kind(tb__maker *m, const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, kind) != 0) continue;
        tb__add_word(&m->out, m->language, kinds[i].word);
        return;
    }
    tb_buf_str(&m->out, kind);
}

static const char *date_of(tb__maker *m, int64_t day)
{
    tb__add_day(&m->out, m->language, day);
    return tb__maker_text(m);
}

/* References of credits and of days are for the ledger, not for customers. */
static bool is_named(const tb_account_entry *e)
{
    return *e->reference && strncmp(e->kind, "credit_e", 8) != 0 && strcmp(e->kind, "credit") != 0 &&
           strncmp(e->kind, "usage", 5) != 0;
}

/* How much an invoice took of credit, or gave back. */
static const char *draw_text(tb__maker *m, const tb_account_entry *e)
{
    tb_decimal size = e->drawn;
    const bool back = tb_decimal_sign(size) < 0;
    if (back) size.mantissa = -size.mantissa;
    const char *amount = tb__maker_money(m, size);
    tb_buf_fmt(&m->out, "%s %s",
               tb__maker_filled(m, back ? TB__WORD_CREDIT_BACK : TB__WORD_CREDIT_USED, amount),
               e->reference);
    return tb__maker_text(m);
}

static const char *what_text(tb__maker *m, const tb_account_entry *e)
{
    int64_t us = 0;
    if (is_draw(e)) return draw_text(m, e);
    const bool ends = e->expires && *e->expires &&
                      tb_date_parse(e->expires, strlen(e->expires), &us, NULL) == TB_OK;
    if (ends) {
        const char *day = date_of(m, tb_day_from_us(us));
        return tb__maker_filled(m, TB__WORD_CREDIT_UNTIL, day);
    }
    add_kind(m, e->kind);
    if (is_named(e)) tb_buf_fmt(&m->out, " %s", e->reference);
    return tb__maker_text(m);
}

static const char *range_text(tb__maker *m, const tb_account_statement *s)
{
    tb__add_day(&m->out, m->language, s->first);
    tb_buf_str(&m->out, " \u2013 ");
    tb__add_day(&m->out, m->language, s->last);
    return tb__maker_text(m);
}

static const char *name_text(tb__maker *m, const tb_account_statement *s)
{
    tb_buf_fmt(&m->out, "%" PRId64, s->account);
    if (s->name && *s->name) tb_buf_fmt(&m->out, " (%s)", s->name);
    return tb__maker_text(m);
}

static void put_identity(tb__maker *m, const tb_account_statement *s)
{
    const char *word = tb__maker_word(m, TB__WORD_ACCOUNT_STATEMENT);
    const char *trading = tb_party_text(s->seller, TB_PARTY_TRADING_NAME);
    tb__sheet *sheet = m->sheet;
    const char *range = range_text(m, s);
    sheet->title = word;
    sheet->author = tb__maker_copy(m, *trading ? trading : tb_party_text(s->seller, TB_PARTY_NAME));
    sheet->country = tb__maker_copy(m, tb_party_text(s->buyer, TB_PARTY_COUNTRY));
    tb_buf_fmt(&m->out, "%s%s%s \u00b7 %s", word, sheet->author[0] ? " \u00b7 " : "", sheet->author,
               range);
    sheet->running = tb__maker_text(m);
    sheet->foot = range;
    tb_time_format((s->last + 1) * TB_US_PER_DAY, sheet->created);
    sheet->created[20] = '\0';
    tb__maker_block(m, TB__TITLE, word);
    tb__maker_row(m, TB__ROW)->cell[0] = range;
    tb__maker_row(m, TB__NAME)->cell[0] = sheet->author;
    tb__maker_block(m, TB__FACTS, NULL);
    tb__maker_pair(m, TB__ROW, tb__maker_word(m, TB__WORD_ACCOUNT), name_text(m, s));
    if (s->currency[0])
        tb__maker_pair(m, TB__ROW, tb__maker_word(m, TB__WORD_CURRENCY),
                       tb__maker_copy(m, s->currency));
}

static void put_balance(tb__maker *m, const tb_account_statement *s)
{
    tb_decimal size = s->closing;
    const bool owed = tb_decimal_sign(size) < 0;
    if (owed) size.mantissa = -size.mantissa;
    tb__maker_block(m, TB__HERO, tb__maker_money(m, size));
    const char *day = date_of(m, s->last);
    tb__maker_row(m, TB__ROW)->cell[0] =
        tb__maker_filled(m, owed ? TB__WORD_HERO_OPEN : TB__WORD_HERO_FAVOUR, day);
}

static void put_entry_row(tb__maker *m, tb__row_kind kind, const char *date, const char *what,
                    const char *amount, const char *balance)
{
    tb__row *row = tb__maker_row(m, kind);
    row->cell[0] = date;
    row->cell[1] = what;
    row->cell[2] = amount;
    row->cell[3] = balance;
}

static void put_entry(tb__maker *m, const tb_account_entry *e)
{
    const char *date = date_of(m, tb_day_from_us(e->at_us)), *what = what_text(m, e);
    const char *amount = tb__maker_amount(m, e->amount), *balance = tb__maker_amount(m, e->balance);
    const char *note = *e->note ? tb__maker_copy(m, e->note) : NULL;
    put_entry_row(m, TB__ROW, date, what, amount, balance);
    if (!m->code) m->sheet->rows[m->sheet->n_rows - 1].note = note;
}

static void put_entries(tb__maker *m, const tb_account_statement *s)
{
    tb__maker_block(m, TB__HEADING, tb__maker_word(m, TB__WORD_ENTRIES));
    const char *head = tb__maker_filled(m, TB__WORD_AMOUNT, s->currency);
    const char *balance = tb__maker_word(m, TB__WORD_BALANCE);
    tb__block *table = tb__maker_block(m, TB__TABLE, NULL);
    if (table) {
        table->n_columns = 4;
        table->columns[0] = (tb__column){.head = tb__maker_word(m, TB__WORD_DATE)};
        table->columns[1] = (tb__column){.head = tb__maker_word(m, TB__WORD_DESCRIPTION), .wide = true};
        table->columns[2] = (tb__column){.head = head, .end = true};
        table->columns[3] = (tb__column){.head = balance, .end = true};
    }
    const char *date = date_of(m, s->first), *opening = tb__maker_amount(m, s->opening);
    put_entry_row(m, TB__ROW, date, tb__maker_word(m, TB__WORD_OPENING), NULL, opening);
    for (size_t i = 0; i < s->n; i++)
        put_entry(m, &s->entries[i]);
    date = date_of(m, s->last);
    const char *closing = tb__maker_amount(m, s->closing);
    put_entry_row(m, TB__STRONG, date, tb__maker_word(m, TB__WORD_CLOSING), NULL, closing);
}

static tb_code make_sheet(tb__sheet *sheet, const tb_account_statement *s,
                    const tb_print_options *options, tb_error *err)
{
    const bool german = strcmp(tb_party_text(s->buyer, TB_PARTY_LANGUAGE), "de") == 0;
    const tb_bill bill = {.minor_digits = s->minor_digits};
    const tb_invoice_names names = {.account = s->name};
    tb_statement shell = {.account = s->account, .state = "final", .kind = "invoice", .bill = &bill,
                          .seller = s->seller, .buyer = s->buyer};
    tb__maker m = {.sheet = sheet, .s = &shell, .sha256 = "", .names = &names,
                   .language = german ? TB__GERMAN : TB__ENGLISH, .err = err};
    memcpy(shell.currency, s->currency, sizeof shell.currency);
    *sheet = (tb__sheet){.language = m.language, .letter = options && options->letter};
    tb__arena_init(&sheet->texts, NULL);
    tb_buf_init(&m.out, TB_PRINT_MAX, NULL);
    put_identity(&m, s);
    tb__make_parties(&m);
    put_balance(&m, s);
    put_entries(&m, s);
    tb_buf_release(&m.out);
    return m.code;
}

tb_code tb_account_html(const tb_account_statement *statement, const tb_print_options *options,
                        tb_buf *out, tb_error *err)
{
    tb__sheet sheet;
    tb_code code = make_sheet(&sheet, statement, options, err);
    if (!code) {
        tb_print_html_head(sheet.title, options, out);
        tb__sheet_html(&sheet, out);
        tb_print_html_tail(out);
        code = tb_buf_check(out, err);
    }
    tb__sheet_release(&sheet);
    return code;
}

tb_code tb_account_pdf(const tb_account_statement *statement, const tb_print_options *options,
                       tb_buf *out, tb_error *err)
{
    tb__sheet sheet;
    tb_code code = make_sheet(&sheet, statement, options, err);
    if (!code) code = tb__sheet_pdf(NULL, &sheet, out, err);
    tb__sheet_release(&sheet);
    return code;
}
