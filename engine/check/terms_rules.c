/* Rules that terms have to keep before a document is rated by them. The store writes no others, but these are a stranger's: else a
 * month could be corrected twice, or at other prices than it was used. */
#include <string.h>

#include "check/terms.h"
#include "tollbook/calendar.h"

static tb_code refuse_terms(tb_error *err, const char *what)
{
    return tb_fail(err, TB_E_VALIDATION, "terms", "The terms are not as written: %s.", what);
}

/* --- a month --- */

static tb_code check_parts(const tb_bill_input *in, tb_error *err)
{
    int64_t at = tb_month_start_us(in->month);
    for (size_t i = 0; i < in->n_parts; at = in->parts[i++].to_us)
        if (in->parts[i].from_us != at || in->parts[i].to_us <= at || in->parts[i].to_us % TB_US_PER_HOUR)
            return refuse_terms(err, "the parts of a month do not touch");
    if (in->n_parts == 0 || at != tb_month_start_us(in->month + 1)) return refuse_terms(err, "the parts do not cover their month");
    for (size_t i = 0; i < in->n_bytes; i++) { /* they are priced by the book of their hours */
        const tb_bill_bytes *e = &in->bytes[i];
        if (e->part >= in->n_parts || e->evidence.from_us < in->parts[e->part].from_us || e->evidence.to_us > in->parts[e->part].to_us)
            return refuse_terms(err, "an entry of bytes is not of the hours of its part");
    }
    return TB_OK;
}

/* Lists in which something is found ascend. */
static tb_code check_lists(const tb__term_month *month, tb_error *err)
{
    const tb_bill_input *in = &month->input;
    const tb_bill_origins *o = &month->origins;
    for (size_t i = 1; i < o->n_places; i++)
        if (strcmp(o->places[i - 1].code, o->places[i].code) >= 0) return refuse_terms(err, "the places do not ascend");
    for (size_t i = 0; i < o->n_gaps; i++) /* else what a gauge held could count twice */
        if (o->gaps[i].from_us > o->gaps[i].to_us || (i && o->gaps[i].from_us < o->gaps[i - 1].to_us))
            return refuse_terms(err, "the times without an account do not ascend");
    for (size_t i = 1; i < in->n_meters; i++)
        if (strcmp(in->meters[i - 1].id, in->meters[i].id) >= 0) return refuse_terms(err, "the meters do not ascend");
    for (size_t i = 0; i < in->n_balancers; i++) {
        const tb_bill_balancer *b = &in->balancers[i];
        if (b->part >= in->n_parts || (i && (b[-1].balancer > b->balancer || (b[-1].balancer == b->balancer && b[-1].part >= b->part))))
            return refuse_terms(err, "the entries of load balancers do not ascend");
    }
    return TB_OK;
}

/* Values that the catalogue and contracts refuse. */
static tb_code check_values(const tb_bill_input *in, tb_error *err)
{
    const tb_contract *c = &in->contract;
    for (size_t i = 0; i < c->n_commits; i++)
        if (c->commits[i].months != 1 && c->commits[i].months != 3 && c->commits[i].months != 12)
            return refuse_terms(err, "a commit's period is not a month, a quarter or a year");
    for (size_t i = 0; i < in->n_meters; i++) {
        const tb_meter *m = &in->meters[i];
        const bool sampled = m->interval == TB_METER_INTERVAL || m->interval == 3600;
        if (m->n_dimensions < 0 || m->n_dimensions > TB_METER_DIMENSIONS || m->display_per < 1 || m->round_up < 0 ||
            m->round_up > TB_METER_VALUE_LARGEST || (m->kind == TB_METER_SAMPLE ? !sampled : m->interval != 0))
            return refuse_terms(err, "a meter has a value that none can have");
    }
    return TB_OK;
}

static tb_code check_month(const tb__term_month *month, const char *currency, tb_error *err)
{
    if (strcmp(month->input.currency, currency) != 0) return refuse_terms(err, "its months are in different currencies");
    tb_code code = check_parts(&month->input, err);
    if (!code) code = check_lists(month, err);
    return code ? code : check_values(&month->input, err);
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
    if (late->after.input.month != late->month || (late->n_before && late->before->input.month != late->month))
        return refuse_terms(err, "a corrected month is another one");
    if (late->n_before && !counts_newer_days(late->before, &late->after))
        return refuse_terms(err, "a correction counts an older entry of a day than what it corrects");
    tb_code code = late->n_before ? check_month(late->before, currency, err) : TB_OK;
    return code ? code : check_month(&late->after, currency, err);
}

#define LATES_MAX 1200 /* a hundred years: each month takes memory, without usage too */

tb_code tb__terms_check(const tb__doc_terms *terms, const char *currency, tb_error *err)
{
    const bool credit = strcmp(terms->kind, "credit_note") == 0;
    if (terms->n_own != (credit ? 0 : 1) || (credit && (terms->n_lates != 1 || terms->n_charges)))
        return refuse_terms(err, "an invoice has one month of its own, and a credit note one month that it corrects");
    if (!credit && terms->own->input.month != terms->month) return refuse_terms(err, "its own month is another one");
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
