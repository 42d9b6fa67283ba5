/* The steps of a check, one after the other (bundle.h). A step that fails keeps no other from being done, unless that needs it. */
#include "check/steps.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

void tb__check_set(tb__checking *c, tb_check_name name, tb_check_state state, const char *fmt, ...)
{
    tb_check_step *step = &c->out->steps[name];
    va_list args;
    if (state < step->state || (state == step->state && state != TB_CHECK_OK)) return;
    step->state = state;
    va_start(args, fmt);
    vsnprintf(step->detail, sizeof step->detail, fmt, args);
    va_end(args);
}

const char *tb__check_grouped(tb_u128 value, char out[TB__GROUPED])
{
    char digits[TB_U128_TEXT_MAX], *at = out;
    const char *end = tb_put_u128(digits, value);
    for (const char *digit = digits; digit < end; digit++) {
        if (digit > digits && (end - digit) % 3 == 0) *at++ = ',';
        *at++ = *digit;
    }
    *at = '\0';
    return out;
}

/* --- rating --- */

static void list_texts(const tb_tollproof_list *list, tb_text *out)
{
    for (size_t i = 0; i < list->n; i++)
        out[i] = list->parts[i].text;
}

static void tell_rated(tb__checking *c, tb_code code, const tb_error *why)
{
    const tb_check_rated *rated = &c->out->rated;
    if (code == TB_E_DIFFERENT) tb__check_set(c, TB_CHECK_RATING, TB_CHECK_DIFFERS, "%s", why->message);
    else if (code)
        tb__check_set(c, TB_CHECK_RATING, TB_CHECK_UNABLE, "It cannot be rated again%s%.60s: %.300s", *why->field ? ", of " : "", why->field,
                      why->message);
    else {
        char cells[TB__GROUPED], bytes[TB__GROUPED];
        tb__check_set(c, TB_CHECK_RATING, TB_CHECK_OK,
                      "Rated again from %s cells (a zone, a place, an hour each), %s bytes: %s %s on %llu line%s, the same document byte for byte.",
                      tb__check_grouped(rated->cells, cells), tb__check_grouped(rated->bytes < 0 ? 0 : (tb_u128)rated->bytes, bytes), rated->total, rated->currency, (unsigned long long)rated->lines,
                      rated->lines == 1 ? "" : "s");
    }
}

static tb_code rate_document(tb__checking *c, tb_error *err)
{
    const tb_tollproof *b = c->bundle;
    tb_error why = {0};
    tb_text *texts = tb_alloc_zero(NULL, b->books.n + b->earlier.n + 1, sizeof *texts);
    if (!texts) return tb_no_memory(err);
    list_texts(&b->books, texts);
    list_texts(&b->earlier, texts + b->books.n);
    const tb_check_parts parts = {.invoice = b->invoice.text, .terms = b->terms.text, .books = texts, .n_books = b->books.n,
                                  .days = c->days, .n_days = b->days.n, .earlier = texts + b->books.n, .n_earlier = b->earlier.n};
    const tb_code code = tb_check_rate(&parts, &c->out->rated, &why);
    free(texts);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    tell_rated(c, code, &why);
    return TB_OK;
}

/* What was not opened is not rated: a reason for that stands at another step. */
static tb_code check_rating(tb__checking *c, tb_error *err)
{
    static const tb_check_name needs[] = {TB_CHECK_COMMITMENTS, TB_CHECK_INCLUSION, TB_CHECK_USAGE};
    if (c->bundle->is_receipts) return TB_OK;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!tb__check_is_ok(c, needs[i])) {
            tb__check_set(c, TB_CHECK_RATING, TB_CHECK_UNABLE, "Not rated again: what it is rated from is not shown to be what the log has.");
            return TB_OK;
        }
    return rate_document(c, err);
}

/* --- all --- */

/* What the result says of a document that was not rated again. */
static void name_document(tb__checking *c)
{
    const tb_statement *s = &c->paper.statement;
    tb_check_rated *rated = &c->out->rated;
    if (c->bundle->is_receipts) tb_month_format(c->bundle->month, rated->month);
    if (!c->has_paper) return;
    memcpy(rated->number, s->number, sizeof rated->number);
    memcpy(rated->kind, s->kind, sizeof rated->kind);
    memcpy(rated->currency, s->currency, sizeof rated->currency);
    rated->account = s->account;
    if (c->paper.sha256_true) snprintf(c->out->fingerprint, sizeof c->out->fingerprint, "%.16s", c->paper.sha256);
    tb_month_format(s->month, rated->month);
}

static void name_log(tb_text log, char out[TB_NOTE_NAME + 1])
{
    const size_t len = log.len > TB_NOTE_NAME ? TB_NOTE_NAME : log.len;
    for (size_t i = 0; i < len; i++) /* it is shown on terminals */
        out[i] = (unsigned char)log.data[i] < 0x20 || log.data[i] == 0x7f ? '?' : log.data[i];
    out[len] = '\0';
}

tb_code tb_check_bundle(const tb_check_input *input, tb_check_result *ret, tb_error *err)
{
    tb__checking c = {.in = input, .bundle = input->bundle, .out = ret, .key = input->key ? input->key : input->remembered};
    *ret = (tb_check_result){.is_receipts = input->bundle->is_receipts, .size = -1, .index = -1};
    name_log(input->bundle->log, ret->log);
    tb__check_signature(&c);
    tb__check_witnesses(&c);
    tb_code code = tb__check_entries(&c, err);
    if (!code) code = tb__check_usage(&c, err);
    if (!code) code = check_rating(&c, err);
    if (!code) tb__check_growth(&c);
    name_document(&c);
    if (c.has_paper) tb_paper_release(&c.paper);
    free(c.days);
    free(c.indexes);
    free(c.books);
    free(c.earlier);
    return code;
}

void tb_check_unread(const tb_error *why, tb_check_result *ret)
{
    tb__checking c = {.out = ret};
    *ret = (tb_check_result){.size = -1, .index = -1};
    tb__check_set(&c, TB_CHECK_COMMITMENTS, TB_CHECK_UNABLE, "%.390s", why->message);
}

int tb_check_status(const tb_check_result *result)
{
    int status = 0;
    for (int i = 0; i < TB_CHECK_STEP_COUNT; i++) {
        if (result->steps[i].state == TB_CHECK_DIFFERS) return 1;
        if (result->steps[i].state == TB_CHECK_UNABLE) status = 2;
    }
    return status;
}
