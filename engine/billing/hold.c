/* Inputs that outlive what they were made from: replays and solvers rate a month many times. */
#include "billing/amounts.h"

#include <string.h>

typedef struct holding {
    tb__arena *arena;
    bool failed;
} holding;

static void *copy_of(holding *h, const void *items, size_t n, size_t size)
{
    void *copy = tb__arena_copy(h->arena, items, n * size);
    if (!copy) h->failed = true;
    return copy;
}

static const char *hold_text(holding *h, const char *text)
{
    return text ? copy_of(h, text, strlen(text) + 1, 1) : NULL;
}

bool tb__bill_hold(tb__arena *arena, tb_bill_input *in, tb_bill_part **ret_parts, tb_bill_fee **ret_fees)
{
    holding h = {.arena = arena};
    tb_bill_part *parts = copy_of(&h, in->parts, in->n_parts, sizeof *parts);
    tb_bill_usage *usage = copy_of(&h, in->usage, in->n_usage, sizeof *usage);
    tb_bill_samples *samples = copy_of(&h, in->samples, in->n_samples, sizeof *samples);
    tb_bill_fee *fees = copy_of(&h, in->fees, in->n_fees, sizeof *fees);
    in->bytes = copy_of(&h, in->bytes, in->n_bytes, sizeof *in->bytes);
    in->optimizers = copy_of(&h, in->optimizers, in->n_optimizers, sizeof *in->optimizers);
    in->balancers = copy_of(&h, in->balancers, in->n_balancers, sizeof *in->balancers);
    in->meters = copy_of(&h, in->meters, in->n_meters, sizeof *in->meters);
    for (size_t i = 0; usage && i < in->n_usage; i++) {
        usage[i].resource = hold_text(&h, usage[i].resource);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            usage[i].dimension[k] = hold_text(&h, usage[i].dimension[k]);
    }
    for (size_t i = 0; samples && i < in->n_samples; i++) {
        samples[i].resource = hold_text(&h, samples[i].resource);
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            samples[i].dimension[k] = hold_text(&h, samples[i].dimension[k]);
        samples[i].value = copy_of(&h, samples[i].value, samples[i].n, sizeof *samples[i].value);
    }
    if (in->percentile)
        in->bandwidth.value = copy_of(&h, in->bandwidth.value, in->bandwidth.n, sizeof *in->bandwidth.value);
    in->parts = parts;
    in->usage = usage;
    in->samples = samples;
    in->fees = fees;
    if (ret_parts) *ret_parts = parts;
    if (ret_fees) *ret_fees = fees;
    return !h.failed;
}
