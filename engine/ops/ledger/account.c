/* An account's statement from its ledger: the entries before the first day sum to the opening balance. Entries are
 * ascending by id, and so nearly by time: each counts at its own time. */
#include "tollbook/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/settle.h"
#include "tollbook/partystore.h"
#include "tollbook/billsource.h"

typedef struct memory {
    tb_ledger_entry *ledger;
    tb_account_entry *entries;
    tb_parties parties;
    tb_buf name;
    int64_t back; /* opening balances up to this entry were taken back */
} memory;

static void release(memory *m)
{
    if (!m) return;
    free(m->ledger);
    free(m->entries);
    tb_parties_release(&m->parties);
    tb_buf_release(&m->name);
    free(m);
}

void tb_account_release(tb_account_reading *reading)
{
    release(reading->memory);
    *reading = (tb_account_reading){.memory = NULL};
}

/* A draw is a pair of entries that sum to 0: the credit's side is one line for both. */
static void take_draw(tb_account_statement *s, memory *m, const tb_ledger_entry *e)
{
    tb_draw_leg leg = TB_DRAW_GIVEN;
    int64_t credit = 0;
    if (tb_day_from_us(e->at_us) < s->first || !tb_draw_parse(e->reference, e->document, &credit, &leg) ||
        leg == TB_DRAW_GOT || leg == TB_DRAW_TAKEN)
        return;
    tb_account_entry *to = &m->entries[s->n++];
    *to = (tb_account_entry){.at_us = e->at_us, .kind = tb_ledger_kind_name(e->kind),
                             .amount = TB_DECIMAL_ZERO, .balance = s->closing,
                             .reference = e->document, .note = "", .drawn = e->amount};
    to->drawn.mantissa = -to->drawn.mantissa;
}

/* An opening balance that was taken back and its opposite, of one moment, are nothing to the customer. */
static tb_code take_entry(tb_account_statement *s, memory *m, const tb_ledger_entry *e, tb_error *err)
{
    const int64_t day = tb_day_from_us(e->at_us);
    if (day > s->last || (tb_ledger_is_opening(e) && e->id <= m->back)) return TB_OK;
    if (e->kind == TB_LEDGER_CREDIT_DRAWN) {
        take_draw(s, m, e);
        return TB_OK;
    }
    tb_code code = tb_decimal_add(s->closing, e->amount, &s->closing, err);
    if (day < s->first) {
        s->opening = s->closing;
        return code;
    }
    m->entries[s->n++] = (tb_account_entry){.at_us = e->at_us, .kind = tb_ledger_entry_name(e),
                                            .amount = e->amount, .balance = s->closing,
                                            .reference = tb_payment_shown(e), .note = e->note,
                                            .expires = e->kind == TB_LEDGER_CREDIT ? e->expires : "",
                                            .drawn = TB_DECIMAL_ZERO};
    return code;
}

/* Earlier days first: an entry of an earlier time can have been entered later. */
static int earlier(const void *a, const void *b)
{
    const tb_ledger_entry *x = a, *y = b;
    return x->at_us != y->at_us ? (x->at_us > y->at_us) - (x->at_us < y->at_us)
                                : (x->id > y->id) - (x->id < y->id);
}

static tb_code read_entries(tb_store *store, tb_account_statement *s, memory *m, tb_error *err)
{
    size_t n = 0;
    tb_code code = tb_store_ledger(store, s->account, &m->ledger, &n, err);
    if (code) return code;
    m->entries = calloc(n ? n : 1, sizeof *m->entries);
    if (!m->entries) return tb_no_memory(err);
    if (n) {
        qsort(m->ledger, n, sizeof *m->ledger, earlier);
        memcpy(s->currency, m->ledger[0].currency, sizeof s->currency);
        s->minor_digits = tb_currency_minor_digits(s->currency);
    }
    if (s->first == INT64_MIN) {
        s->first = n ? tb_day_from_us(m->ledger[0].at_us) : s->last;
        if (s->first > s->last) s->first = s->last;
    }
    m->back = tb_ledger_opening_back(m->ledger, n);
    for (size_t i = 0; !code && i < n; i++)
        code = take_entry(s, m, &m->ledger[i], err);
    s->entries = m->entries;
    return code;
}

/* Without entries the account's currency is the one that its first entry would have. */
static tb_code read_currency(tb_store *store, tb_account_statement *s, tb_error *err)
{
    if (s->currency[0]) return TB_OK;
    tb_code code = tb_store_account_currency(store, s->account, s->currency, err);
    if (!code) s->minor_digits = tb_currency_minor_digits(s->currency);
    return code;
}

static tb_code read_parties(tb_store *store, tb_account_statement *s, memory *m, tb_error *err)
{
    const int64_t month = tb_month_from_us(s->last * TB_US_PER_DAY);
    tb_code code = read_currency(store, s, err);
    if (!code) code = tb_store_account_name(store, s->account, &m->name, err);
    if (!code) tb_buf_add(&m->name, "", 1);
    if (!code) code = tb_buf_check(&m->name, err);
    if (!code) code = tb_store_parties(store, s->account, month, s->currency, &m->parties, err);
    if (code) return code;
    s->name = m->name.data;
    s->seller = m->parties.has_seller ? &m->parties.seller : NULL;
    s->buyer = m->parties.has_buyer ? &m->parties.buyer : NULL;
    return TB_OK;
}

tb_code tb_account_read(tb_store *store, int64_t account, int64_t first, int64_t last,
                        tb_account_reading *ret, tb_error *err)
{
    memory *m = calloc(1, sizeof *m);
    tb_account_statement *s = &ret->statement;
    *ret = (tb_account_reading){.statement = {.account = account, .minor_digits = 2, .first = first,
                                              .last = last, .opening = TB_DECIMAL_ZERO,
                                              .closing = TB_DECIMAL_ZERO},
                                .memory = m};
    if (!m) return tb_no_memory(err);
    tb_buf_init(&m->name, 4096, NULL);
    tb_code code = tb_store_need_account(store, account, err);
    if (!code && first > last)
        code = tb_fail(err, TB_E_VALIDATION, "from", "It is after the last day.");
    if (!code) code = read_entries(store, s, m, err);
    if (!code) code = read_parties(store, s, m, err);
    if (code) tb_account_release(ret);
    return code;
}

/* --- forms --- */

tb_code tb_account_show(const tb_account_statement *statement, tb_shown_form form,
                        const tb_print_options *options, tb_buf *out, tb_error *err)
{
    if (form == TB_SHOWN_HTML) return tb_account_html(statement, options, out, err);
    if (form == TB_SHOWN_PDF) return tb_account_pdf(statement, options, out, err);
    if (form == TB_SHOWN_CSV)
        tb_account_csv(statement, out);
    else
        tb_account_json(statement, out);
    return tb_buf_check(out, err);
}

tb_code tb_account_day(const char *text, size_t len, const char *field, int64_t *ret_day,
                       tb_error *err)
{
    int64_t us = 0;
    if (len != sizeof "2026-11-01" - 1 || tb_date_parse(text, len, &us, NULL))
        return tb_fail(err, TB_E_VALIDATION, field, "It must be a day, like 2026-11-01.");
    *ret_day = tb_day_from_us(us);
    return TB_OK;
}
