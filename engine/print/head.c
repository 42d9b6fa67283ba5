/* The head of a sheet: title, dates, sender and recipient. */
#include "print/maker.h"

#include <string.h>

#include "tollbook/calendar.h"

static const char *of(const tb_party *party, tb_party_field field)
{
    return tb_party_text(party, field);
}

/* --- the title --- */

static tb__word kind_word(const tb_statement *s)
{
    if (tb__is_credit(s)) return TB__WORD_CREDIT_NOTE;
    return s->seller ? TB__WORD_INVOICE : TB__WORD_STATEMENT;
}

static const char *kind_text(tb__maker *m)
{
    tb__add_word(&m->out, m->language, kind_word(m->s));
    return tb__maker_text(m);
}

/* "Invoice 2026-000123", "Draft: Invoice" */
static const char *title_text(tb__maker *m)
{
    if (tb__is_draft(m->s)) {
        tb__add_word(&m->out, m->language, TB__WORD_DRAFT);
        tb_buf_str(&m->out, ": ");
    }
    tb__add_word(&m->out, m->language, kind_word(m->s));
    if (m->s->number[0]) tb_buf_fmt(&m->out, " %s", m->s->number);
    return tb__maker_text(m);
}

/* By whom it is known: the trading name, else the name. */
static const char *known_name(const tb_party *party)
{
    const char *trading = of(party, TB_PARTY_TRADING_NAME);
    return *trading ? trading : of(party, TB_PARTY_NAME);
}

static const char *running_text(tb__maker *m)
{
    tb_buf_str(&m->out, m->sheet->title);
    if (m->sheet->author[0]) tb_buf_fmt(&m->out, " \u00b7 %s", m->sheet->author);
    tb_buf_str(&m->out, " \u00b7 ");
    tb__add_month(&m->out, m->language, m->s->month);
    return tb__maker_text(m);
}

/* Sixteen digits in fours: enough to tell documents apart; the whole sum is the auditor's. */
static const char *foot_text(tb__maker *m)
{
    char sum[20] = "";
    if (!*m->sha256) return tb__maker_word(m, TB__WORD_NOT_ISSUED);
    for (size_t i = 0, at = 0; i < 16 && m->sha256[i]; i++) {
        if (i && i % 4 == 0) sum[at++] = ' ';
        sum[at++] = m->sha256[i];
        sum[at] = '\0';
    }
    return tb__maker_filled(m, TB__WORD_FINGERPRINT, sum);
}

/* The issue date is when the document was made; a draft's is when its month ends. */
static void put_created(tb__maker *m)
{
    int64_t us = tb_month_start_us(m->s->month + 1);
    if (m->s->issued[0] && tb_date_parse(m->s->issued, strlen(m->s->issued), &us, NULL) != TB_OK)
        us = tb_month_start_us(m->s->month + 1);
    if (us > TB_US_LAST) us = TB_US_LAST;
    tb_time_format(us, m->sheet->created);
    m->sheet->created[20] = '\0';
}

static void put_identity(tb__maker *m)
{
    tb__sheet *sheet = m->sheet;
    sheet->title = title_text(m);
    sheet->author = tb__maker_copy(m, known_name(m->s->seller));
    sheet->country = tb__maker_copy(m, of(m->s->buyer, TB_PARTY_COUNTRY));
    sheet->running = running_text(m);
    sheet->foot = foot_text(m);
    if (tb__is_void(m->s)) sheet->stamp = tb__maker_word(m, TB__WORD_VOID);
    if (tb__is_draft(m->s)) sheet->stamp = tb__maker_word(m, TB__WORD_DRAFT);
    put_created(m);
}

static void put_title(tb__maker *m)
{
    tb__maker_block(m, TB__TITLE, kind_text(m));
    tb__maker_row(m, TB__ROW)->cell[0] = m->s->number[0] ? tb__maker_copy(m, m->s->number)
                                         : tb__is_draft(m->s)
                                             ? tb__maker_word(m, TB__WORD_DRAFT)
                                             : tb__maker_word(m, TB__WORD_NOT_ISSUED);
    tb__maker_row(m, TB__NAME)->cell[0] = m->sheet->author;
}

static void put_warnings(tb__maker *m)
{
    if (tb__is_void(m->s)) {
        tb__maker_block(m, TB__ALERT, tb__maker_word(m, TB__WORD_VOID_TITLE));
        tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_word(m, TB__WORD_VOID_TEXT);
    } else if (tb__is_draft(m->s)) {
        tb__maker_block(m, TB__ALERT, tb__maker_word(m, TB__WORD_DRAFT_TITLE));
        tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_word(m, TB__WORD_DRAFT_TEXT);
    }
}

/* --- facts --- */

static void put_fact(tb__maker *m, tb__word name, const char *value)
{
    if (*value) tb__maker_pair(m, TB__ROW, tb__maker_word(m, name), value);
}

static const char *date_text(tb__maker *m, const char *date)
{
    if (*date) tb__add_date(&m->out, m->language, date);
    return tb__maker_text(m);
}

static const char *account_text(tb__maker *m)
{
    const char *name = m->names ? m->names->account : NULL;
    tb_buf_fmt(&m->out, "%lld", (long long)m->s->account);
    if (name && *name) tb_buf_fmt(&m->out, " (%s)", name);
    return tb__maker_text(m);
}

static void put_facts(tb__maker *m)
{
    const tb_statement *s = m->s;
    tb__maker_block(m, TB__FACTS, NULL);
    put_fact(m, TB__WORD_ISSUED, date_text(m, s->issued));
    put_fact(m, TB__WORD_DUE, date_text(m, s->due));
    tb__add_period(&m->out, m->language, s->month);
    put_fact(m, TB__WORD_PERIOD, tb__maker_text(m));
    put_fact(m, TB__WORD_CREDITS, tb__maker_copy(m, s->corrects));
    put_fact(m, TB__WORD_REPLACES, tb__maker_copy(m, s->replaces));
    put_fact(m, TB__WORD_REFERENCE, tb__maker_copy(m, of(s->buyer, TB_PARTY_REFERENCE)));
    put_fact(m, TB__WORD_ACCOUNT, account_text(m));
}

/* --- parties --- */

static void put_party_line(tb__maker *m, const char *text)
{
    if (*text) tb__maker_row(m, TB__ROW)->cell[0] = text;
}

static void put_field(tb__maker *m, const tb_party *party, tb_party_field field)
{
    put_party_line(m, tb__maker_copy(m, of(party, field)));
}

static void put_labelled(tb__maker *m, tb__word label, const char *value)
{
    if (!*value) return;
    tb__add_word(&m->out, m->language, label);
    tb_buf_fmt(&m->out, ": %s", value);
    put_party_line(m, tb__maker_text(m));
}

static void add_spaced(tb_buf *out, const char *text)
{
    if (!*text) return;
    if (out->len) tb_buf_str(out, " ");
    tb_buf_str(out, text);
}

static bool one_of(const char *code, const char *codes)
{
    return strlen(code) == 2 && strstr(codes, code);
}

/* The post codes of most countries stand before the city, those of some behind it, with the
 * subdivision. */
static void put_city(tb__maker *m, const char *city, const char *code, const char *subdivision,
                     const char *country)
{
    const bool behind = one_of(country, "US CA AU GB IE NZ IN SG");
    if (!behind) add_spaced(&m->out, code);
    add_spaced(&m->out, city);
    if (behind && *subdivision) {
        tb_buf_str(&m->out, m->out.len ? ", " : "");
        tb_buf_str(&m->out, subdivision);
    }
    if (behind) add_spaced(&m->out, code);
    put_party_line(m, tb__maker_text(m));
    if (!behind) put_party_line(m, tb__maker_copy(m, subdivision));
}

static void put_country(tb__maker *m, const char *code)
{
    put_party_line(m, tb__maker_copy(m, tb__country_name(m->language, code)));
}

static void put_address(tb__maker *m, const tb_party *party)
{
    const char *country = of(party, TB_PARTY_COUNTRY);
    put_field(m, party, TB_PARTY_STREET);
    put_field(m, party, TB_PARTY_STREET2);
    put_city(m, of(party, TB_PARTY_CITY), of(party, TB_PARTY_POSTAL_CODE),
             of(party, TB_PARTY_SUBDIVISION), country);
    put_country(m, country);
}

/* A document of services that are not subject to VAT shows no VAT ids. */
static bool shows_vat_ids(const tb_bill *bill)
{
    size_t untouched = 0;
    for (size_t i = 0; i < bill->n_tax; i++)
        untouched += strcmp(tb_tax_category(&bill->tax[i].rate), "O") == 0;
    return bill->n_tax == 0 || untouched < bill->n_tax;
}

static void put_party(tb__maker *m, tb__word label, const tb_party *party)
{
    const char *trading = of(party, TB_PARTY_TRADING_NAME);
    tb__maker_row(m, TB__BOX)->cell[0] = tb__maker_word(m, label);
    tb__maker_row(m, TB__NAME)->cell[0] = tb__maker_copy(m, known_name(party));
    if (*trading) put_field(m, party, TB_PARTY_NAME);
    put_address(m, party);
    if (shows_vat_ids(m->s->bill)) put_labelled(m, TB__WORD_VAT_ID, of(party, TB_PARTY_VAT_ID));
    put_labelled(m, TB__WORD_TAX_ID, of(party, TB_PARTY_TAX_ID));
    put_labelled(m, TB__WORD_REGISTRATION, of(party, TB_PARTY_REGISTRATION_ID));
    put_field(m, party, TB_PARTY_CONTACT_NAME);
    put_field(m, party, TB_PARTY_CONTACT_PHONE);
    put_field(m, party, TB_PARTY_CONTACT_EMAIL);
}

/* Without a declared buyer, the account is all that is known of him. */
static void put_nameless_buyer(tb__maker *m)
{
    const char *name = m->names ? m->names->account : NULL;
    tb__maker_row(m, TB__BOX)->cell[0] = tb__maker_word(m, TB__WORD_BILL_TO);
    if (name && *name) tb__maker_row(m, TB__NAME)->cell[0] = tb__maker_copy(m, name);
    tb__add_word(&m->out, m->language, TB__WORD_ACCOUNT);
    tb_buf_fmt(&m->out, " %lld", (long long)m->s->account);
    put_party_line(m, tb__maker_text(m));
}

static bool has_category(const tb_bill *bill, const char *category)
{
    for (size_t i = 0; i < bill->n_tax; i++)
        if (strcmp(tb_tax_category(&bill->tax[i].rate), category) == 0) return true;
    return false;
}

/* Of a supply within the Union, and where it is declared. */
static void put_delivery(tb__maker *m)
{
    const tb_party *buyer = m->s->buyer;
    const char *country = of(buyer, TB_PARTY_DELIVERY_COUNTRY);
    const bool own =
        *of(buyer, TB_PARTY_DELIVERY_CITY) || *country || *of(buyer, TB_PARTY_DELIVERY_POSTAL_CODE);
    if (!own && !(buyer && has_category(m->s->bill, "K"))) return;
    if (!*country) country = of(buyer, TB_PARTY_COUNTRY);
    tb__maker_row(m, TB__BOX)->cell[0] = tb__maker_word(m, TB__WORD_DELIVERED_TO);
    if (own)
        put_city(m, of(buyer, TB_PARTY_DELIVERY_CITY), of(buyer, TB_PARTY_DELIVERY_POSTAL_CODE), "",
                 country);
    else
        put_city(m, of(buyer, TB_PARTY_CITY), of(buyer, TB_PARTY_POSTAL_CODE), "", country);
    put_country(m, country);
}

void tb__make_parties(tb__maker *m)
{
    tb__maker_block(m, TB__PARTIES, NULL);
    if (m->s->seller) put_party(m, TB__WORD_FROM, m->s->seller);
    if (m->s->buyer)
        put_party(m, TB__WORD_BILL_TO, m->s->buyer);
    else
        put_nameless_buyer(m);
    put_delivery(m);
}

/* --- what matters --- */

static void put_hero(tb__maker *m)
{
    tb_decimal payable = m->s->bill->total;
    tb__word word = TB__WORD_HERO_DUE;
    tb__maker_keep(m, tb_decimal_sub(m->s->bill->total, m->s->paid, &payable, m->err));
    if (tb__is_void(m->s)) return;
    if (tb__is_credit(m->s)) word = TB__WORD_HERO_CREDIT;
    if (tb__is_draft(m->s)) word = TB__WORD_HERO_TOTAL;
    tb__maker_block(m, TB__HERO, tb__maker_money(m, payable));
    const char *due = date_text(m, m->s->due);
    if (word == TB__WORD_HERO_DUE && *due && tb_decimal_sign(payable) > 0)
        tb__add_filled(&m->out, m->language, TB__WORD_HERO_DUE_BY, &due);
    else
        tb__add_word(&m->out, m->language, word);
    tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_text(m);
}

void tb__make_head(tb__maker *m)
{
    put_identity(m);
    put_title(m);
    put_facts(m);
    tb__make_parties(m);
    put_warnings(m);
    put_hero(m);
}
