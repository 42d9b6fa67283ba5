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

static void say_rated(tb__checking *c, tb_code code, const tb_error *why)
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
                      tb__check_grouped(rated->cells, cells), tb__check_grouped(rated->bytes < 0 ? 0 : (tb_u128)rated->bytes, bytes),
                      rated->total, rated->currency, (unsigned long long)rated->lines, rated->lines == 1 ? "" : "s");
    }
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
    tb_error why = {0};
    const tb_code code = tb__rate(&c->contents, &c->out->rated, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    say_rated(c, code, &why);
    return TB_OK;
}

/* --- all --- */

/* What the result says of the file, also where the document is not rated again: its total is said only then. */
static void describe(tb__checking *c)
{
    const tb_paper *document = &c->contents.document;
    if (c->bundle->is_receipts) tb_month_format(c->bundle->month, c->out->rated.month);
    if (!c->has_document) return;
    tb__describe(document, &c->out->rated);
    c->out->rated.total[0] = '\0';
    if (document->sha256_true) snprintf(c->out->fingerprint, sizeof c->out->fingerprint, "%.16s", document->sha256);
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
    if (!code) describe(&c);
    if (!code) code = tb__check_usage(&c, err);
    if (!code) code = check_rating(&c, err);
    if (!code) tb__check_growth(&c);
    tb__contents_release(&c.contents);
    free(c.days);
    free(c.indexes);
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
