/* Rules that terms have to keep before a document is rated by them. The store writes no others, but these are a stranger's: else a
 * month could be corrected twice, or at other prices than it was used. */
#include <string.h>

#include "check/terms.h"

static tb_code refuse_terms(tb_error *err, const char *what)
{
    return tb_fail(err, TB_E_VALIDATION, "terms", "The terms are not as written: %s.", what);
}

/* --- a month --- */

/* Else what a gauge held could count twice. */
static bool gaps_ascend(const tb_bill_origins *o)
{
    for (size_t i = 0; i < o->n_gaps; i++)
        if (o->gaps[i].from_us > o->gaps[i].to_us || (i && o->gaps[i].from_us < o->gaps[i - 1].to_us)) return false;
    return true;
}

/* Bytes are priced by the book of their hours. */
static bool bytes_are_in_their_parts(const tb_bill_input *in)
{
    for (size_t i = 0; i < in->n_bytes; i++) {
        const tb_bill_bytes *e = &in->bytes[i];
        if (e->part >= in->n_parts || e->evidence.from_us < in->parts[e->part].from_us || e->evidence.to_us > in->parts[e->part].to_us)
            return false;
    }
    return true;
}

static tb_code check_month(const tb__term_month *month, const char *currency, tb_error *err)
{
    const tb_bill_input *in = &month->input;
    if (strcmp(in->currency, currency) != 0) return refuse_terms(err, "its months are in different currencies");
    if (!gaps_ascend(&month->origins)) return refuse_terms(err, "the times without an account do not ascend");
    if (!bytes_are_in_their_parts(in)) return refuse_terms(err, "an entry of bytes is not of the hours of its part");
    return TB_OK;
}

/* --- corrections --- */

/* Days ascend (usage.c). */
static bool counts_newer_days(const tb__term_month *before, const tb__term_month *after)
{
    for (size_t i = 0, k = 0; i < before->n_days && k < after->n_days;) {
        const tb__term_day *old = &before->days[i], *new = &after->days[k];
        if (old->day == new->day && old->index > new->index) return false;
        i += old->day <= new->day;
        k += old->day >= new->day;
    }
    return true;
}

static tb_code check_late(const tb__doc_terms *terms, size_t at, const char *currency, tb_error *err)
{
    const tb__term_late *late = &terms->lates[at];
    if ((at && late[-1].month >= late->month) || (terms->n_own && late->month >= terms->month))
        return refuse_terms(err, "months that are corrected ascend, and are over");
    if (late->n_before != (late->n_billed ? 1 : 0))
        return refuse_terms(err, "a corrected month was rated before just where a document billed something of it");
    if (late->n_before && !counts_newer_days(late->before, &late->after))
        return refuse_terms(err, "a correction counts an older entry of a day than what it corrects");
    tb_code code = late->n_before ? check_month(late->before, currency, err) : TB_OK;
    return code ? code : check_month(&late->after, currency, err);
}

#define LATES_MAX 1200 /* a hundred years: each month takes memory, without usage too */

tb_code tb__terms_check(const tb__doc_terms *terms, const char *currency, tb_error *err)
{
    if (terms->n_lates > LATES_MAX) return refuse_terms(err, "more months are corrected than anybody billed");
    tb_code code = terms->n_own ? check_month(terms->own, currency, err) : TB_OK;
    for (size_t i = 0; !code && i < terms->n_lates; i++)
        code = check_late(terms, i, currency, err);
    return code;
}

/* --- the document --- */

tb_code tb__terms_compare(const tb__doc_terms *terms, const tb_statement *s, tb_error *err)
{
    if (strcmp(terms->number, s->number) != 0)
        return tb_fail(err, TB_E_DIFFERENT, "terms", "The terms are of document %s, not of %s.", terms->number, s->number);
    if (strcmp(terms->kind, s->kind) != 0 || terms->account != s->account || terms->month != s->month)
        return tb_fail(err, TB_E_DIFFERENT, "terms", "The terms are of another kind, account or month than document %s.", s->number);
    if (terms->watermark != s->watermark)
        return tb_fail(err, TB_E_DIFFERENT, "terms", "The terms are of watermark %llu, document %s of %llu.",
                       (unsigned long long)terms->watermark, s->number, (unsigned long long)s->watermark);
    return TB_OK;
}
