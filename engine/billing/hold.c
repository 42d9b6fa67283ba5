/* Inputs that outlive what they were made from: replays and solvers rate a month many times. */
#include "billing/amounts.h"

#include <string.h>

typedef struct holding {
    tb__arena *arena;
    bool failed;
} holding;

static void *copied_list(holding *h, const void *items, size_t n, size_t size)
{
    void *copy = tb__arena_copy(h->arena, items, n * size);
    if (!copy) h->failed = true;
    return copy;
}

static const char *copied_text(holding *h, const char *text)
{
    return text ? copied_list(h, text, strlen(text) + 1, 1) : NULL;
}

bool tb__bill_hold(tb__arena *arena, tb_bill_input *in, tb_bill_part **ret_parts, tb_bill_fee **ret_fees)
{
    holding h = {.arena = arena};
    tb_bill_part *parts = copied_list(&h, in->parts, in->n_parts, sizeof *parts);
    tb_bill_usage *usage = copied_list(&h, in->usage, in->n_usage, sizeof *usage);
    tb_bill_samples *samples = copied_list(&h, in->samples, in->n_samples, sizeof *samples);
    tb_bill_fee *fees = copied_list(&h, in->fees, in->n_fees, sizeof *fees);
    in->bytes = copied_list(&h, in->bytes, in->n_bytes, sizeof *in->bytes);
    in->optimizers = copied_list(&h, in->optimizers, in->n_optimizers, sizeof *in->optimizers);
    in->balancers = copied_list(&h, in->balancers, in->n_balancers, sizeof *in->balancers);
    in->meters = copied_list(&h, in->meters, in->n_meters, sizeof *in->meters);
    for (size_t i = 0; usage && i < in->n_usage; i++) {
        usage[i].resource = copied_text(&h, usage[i].resource);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            usage[i].dimension[k] = copied_text(&h, usage[i].dimension[k]);
    }
    for (size_t i = 0; samples && i < in->n_samples; i++) {
        samples[i].resource = copied_text(&h, samples[i].resource);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            samples[i].dimension[k] = copied_text(&h, samples[i].dimension[k]);
        samples[i].value = copied_list(&h, samples[i].value, samples[i].n, sizeof *samples[i].value);
    }
    if (in->percentile)
        in->bandwidth.value = copied_list(&h, in->bandwidth.value, in->bandwidth.n, sizeof *in->bandwidth.value);
    in->parts = parts;
    in->usage = usage;
    in->samples = samples;
    in->fees = fees;
    if (ret_parts) *ret_parts = parts;
    if (ret_fees) *ret_fees = fees;
    return !h.failed;
}
