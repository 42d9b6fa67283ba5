/* Where the usage of a month's bill comes from: the places of its series, the zones behind its load balancers, the values that its
 * gauges had before. It is what the month was just made of. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

/* Lists in one block. */
typedef struct packing {
    const tb__billing *b;
    int64_t month;
    char *at;
} packing;

static int by_code(const void *a, const void *b)
{
    return strcmp(((const tb_origin_place *)a)->code, ((const tb_origin_place *)b)->code);
}

static void *room(packing *p, size_t n, size_t size)
{
    void *const at = p->at;
    p->at += (n * size + 15) / 16 * 16;
    return at;
}

/* Series of several zones share places. */
static void add_places(packing *p, tb_bill_origins *ret)
{
    const tb__billing *b = p->b;
    tb_origin_place *places = room(p, b->n_used, sizeof *places);
    for (size_t i = 0; i < b->n_used; i++) {
        const tb__billed_place *from = &b->places[b->used[i]];
        places[i] = (tb_origin_place){.priced = from->priced, .region = from->region};
        memcpy(places[i].code, from->code, sizeof from->code);
    }
    if (b->n_used > 1) qsort(places, b->n_used, sizeof *places, by_code);
    ret->places = places;
    for (size_t i = 0; i < b->n_used; i++)
        if (!ret->n_places || by_code(&places[ret->n_places - 1], &places[i]) != 0) places[ret->n_places++] = places[i];
}

/* Those that overlap the month. */
static void add_ties(packing *p, tb_bill_origins *ret)
{
    const tb__billing *b = p->b;
    tb_origin_tie *ties = room(p, b->n_ties, sizeof *ties);
    for (size_t i = 0; i < b->n_balancers; i++)
        for (size_t k = b->balancers[i].ties.first; k < b->balancers[i].ties.first + b->balancers[i].ties.n; k++) {
            const tb__tie *t = &b->ties[k];
            if (t->to_us <= tb_month_start_us(p->month) || t->from_us >= tb_month_start_us(p->month + 1)) continue;
            ties[ret->n_ties++] = (tb_origin_tie){b->balancers[i].id, t->zone, t->from_us, t->to_us};
        }
    ret->ties = ties;
}

static const char *copy_name(packing *p, const char *text)
{
    const size_t len = strlen(text) + 1;
    char *const to = p->at;
    memcpy(to, text, len);
    p->at += len;
    return to;
}

/* Texts stand behind the lists. */
static void add_gauges(packing *p, tb_bill_origins *ret)
{
    const tb__billing *b = p->b;
    tb_origin_gauge *gauges = room(p, b->n_gauges, sizeof *gauges);
    for (size_t i = 0; i < b->n_gauges; i++) {
        const char *dimension[TB_METER_DIMENSIONS];
        const char *resource = tb__meter_texts(&b->metered, b->gauges[i].series, dimension);
        gauges[i] = (tb_origin_gauge){.meter = copy_name(p, b->bill_meters[b->gauges[i].meter].id),
                                      .resource = copy_name(p, resource),
                                      .value = b->gauges[i].value};
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            gauges[i].dimension[k] = copy_name(p, dimension[k]);
    }
    ret->gauges = gauges;
    ret->n_gauges = b->n_gauges;
}

/* None without values of gauges: then it does not matter. */
static void add_gaps(packing *p, tb_bill_origins *ret)
{
    const tb__gauge_seen *seen = &p->b->seen;
    if (!seen->any) return;
    tb_origin_gap *gaps = room(p, seen->n_gaps, sizeof *gaps);
    for (size_t i = 0; i < seen->n_gaps; i++)
        if (seen->gaps[i].to_us > tb_month_start_us(p->month)) gaps[ret->n_gaps++] = seen->gaps[i];
    ret->gaps = gaps;
}

static size_t size_of(const tb__billing *b)
{
    return 64 + b->n_used * sizeof(tb_origin_place) + b->n_ties * sizeof(tb_origin_tie) +
           b->seen.n_gaps * sizeof(tb_origin_gap) +
           b->n_gauges * (sizeof(tb_origin_gauge) + 2 * TB_METER_ID_MAX + TB_METER_RESOURCE_MAX +
                          TB_METER_DIMENSIONS * (TB_METER_VALUE_MAX + 1) + 8);
}

tb_code tb__origins_make(const tb__billing *billing, int64_t month, tb_bill_source *ret, tb_error *err)
{
    packing p = {.b = billing, .month = month, .at = malloc(size_of(billing))};
    if (!p.at) return tb_no_memory(err);
    ret->origins_memory = p.at;
    ret->origins = (tb_bill_origins){.n_places = 0};
    add_places(&p, &ret->origins);
    add_ties(&p, &ret->origins);
    add_gaps(&p, &ret->origins);
    add_gauges(&p, &ret->origins);
    return TB_OK;
}
