/* The lists of a month's bill become its input. */
#include "store/money/bill_making.h"

#include <stdlib.h>
#include <string.h>

static void *copy_to(char **at, const void *list, size_t n, size_t size)
{
    void *to = *at;
    if (n) memcpy(to, list, n * size);
    *at += (n * size + 15) / 16 * 16;
    return to;
}

/* NULL for "". */
static const char *copy_text(char **at, const char *text)
{
    return *text ? copy_to(at, text, strlen(text) + 1, 1) : NULL;
}

/* The month's contract. An account that was deleted by the month's end owes no commit for it, nor does an account
 * owe one for months before its first declaration, unless the contract has a first month. */
static tb_contract contract_of(const tb__making *m, const tb__account_terms *terms)
{
    tb_contract c = terms->contract;
    if (tb__hour_after(terms->to_us) < m->to_hour) c.n_commits = 0;
    if (c.n_commits && c.commits[0].from == INT64_MIN) c.commits[0].from = tb_month_from_us(m->b->declared_us);
    return c;
}

/* Texts and values of meters, which are elsewhere now, move with the lists. */
static void pack_meters(const tb__making *m, tb_bill_input *in, char **at)
{
    const tb__billing *b = m->b;
    const char *texts = b->n_bill_usage + b->n_bill_samples ? copy_to(at, b->metered.texts.data, b->metered.texts.len, 1) : NULL;
    const uint64_t *value = copy_to(at, b->intervals, b->n_intervals, sizeof *b->intervals);
    tb_bill_usage *usage = copy_to(at, b->bill_usage, b->n_bill_usage, sizeof *usage);
    tb_bill_samples *samples = copy_to(at, b->bill_samples, b->n_bill_samples, sizeof *samples);
    in->meters = copy_to(at, b->bill_meters, b->n_bill_meters, sizeof *b->bill_meters);
    in->n_meters = b->n_bill_meters;
    for (size_t i = 0; i < b->n_bill_usage; i++) {
        usage[i].resource = texts + (usage[i].resource - b->metered.texts.data);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            usage[i].dimension[k] = texts + (usage[i].dimension[k] - b->metered.texts.data);
    }
    for (size_t i = 0; i < b->n_bill_samples; i++) {
        samples[i].resource = texts + (samples[i].resource - b->metered.texts.data);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            samples[i].dimension[k] = texts + (samples[i].dimension[k] - b->metered.texts.data);
        samples[i].value = value;
        value += samples[i].n;
    }
    in->usage = usage;
    in->n_usage = b->n_bill_usage;
    in->samples = samples;
    in->n_samples = b->n_bill_samples;
    in->bandwidth = m->bandwidth;
    in->bandwidth.value = value;
}

static size_t packed_size(const tb__billing *b)
{
    return 256 + b->n_parts * sizeof *b->parts + b->n_bytes * sizeof *b->bytes +
           b->n_optimizers * sizeof *b->optimizers + b->n_bill_balancers * sizeof *b->bill_balancers +
           b->n_bill_fees * sizeof *b->bill_fees +
           b->n_bill_meters * sizeof *b->bill_meters + b->n_bill_usage * sizeof *b->bill_usage +
           b->n_bill_samples * sizeof *b->bill_samples + b->n_intervals * sizeof *b->intervals +
           (b->n_bill_usage + b->n_bill_samples ? b->metered.texts.len : 0) + TB_TAX_REASON_ROOM + TB_TAX_CODE_ROOM;
}

tb_code tb__bill_pack(tb__making *m, const tb__account_terms *terms, bool running, bool net,
                    tb_bill_source *ret, tb_error *err)
{
    struct tb__billing *b = m->b;
    char *memory = malloc(packed_size(b));
    if (!memory) return tb_no_memory(err);
    char *at = memory;
    *ret = (tb_bill_source){.memory = memory,
                            .watermark = (uint64_t)tb__earlier(b->known, b->file_version)};
    tb_bill_input *in = &ret->input;
    *in = (tb_bill_input){.account = b->account,
                          .month = m->month,
                          .contract = contract_of(m, terms),
                          .book_missing = m->book_missing,
                          .running = running,
                          .active_zone = m->active,
                          .percentile = terms->contract.percentile,
                          .n_parts = b->n_parts,
                          .n_bytes = b->n_bytes,
                          .n_optimizers = b->n_optimizers,
                          .n_balancers = b->n_bill_balancers,
                          .n_fees = b->n_bill_fees,
                          .n_tax = net ? 0 : terms->n_tax};
    memcpy(in->currency, terms->currency, sizeof in->currency);
    memcpy(in->tax, terms->tax, sizeof in->tax);
    in->parts = copy_to(&at, b->parts, b->n_parts, sizeof *b->parts);
    in->bytes = copy_to(&at, b->bytes, b->n_bytes, sizeof *b->bytes);
    in->optimizers = copy_to(&at, b->optimizers, b->n_optimizers, sizeof *b->optimizers);
    in->balancers = copy_to(&at, b->bill_balancers, b->n_bill_balancers, sizeof *b->bill_balancers);
    pack_meters(m, in, &at);
    in->fees = copy_to(&at, b->bill_fees, b->n_bill_fees, sizeof *b->bill_fees);
    in->tax_reason = copy_text(&at, terms->tax_reason);
    in->tax_reason_code = copy_text(&at, terms->tax_reason_code);
    return TB_OK;
}

void tb_bill_source_release(tb_bill_source *source)
{
    free(source->memory);
    free(source->origins_memory);
    *source = (tb_bill_source){.watermark = 0};
}
