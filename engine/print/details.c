/* Every line of the bill, grouped by the billed object: zones, the volume of all zones, load balancers, the account;
 * then, in a table of their own, corrections by their month. A line of several prices has a row for each of them,
 * with amounts that sum to the line's: each is rounded, and the largest takes the difference. */
#include "print/maker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

#include "invoice/prices.h"
#include "invoice/text.h"

enum { NUMBER, WHAT, QUANTITY, PRICE, AMOUNT };

/* --- order --- */

typedef enum group {
    GROUP_ZONE,
    GROUP_VOLUME,
    GROUP_BALANCER,
    GROUP_METERS,
    GROUP_ACCOUNT,
    GROUP_CORRECTION
} group;

typedef struct place {
    group group;
    int64_t id; /* of the zone or balancer; the month of a correction */
    const char *invoice;
    size_t line;
} place;

/* A fee is of its owner, as its resource says. */
static group group_of(tb_line_kind kind, const tb_bill_line *line)
{
    const char *owner = kind == TB_LINE_FEE ? line->resource : tb_line_kind_owner(kind);
    if (kind == TB_LINE_VOLUME) return GROUP_VOLUME;
    if (strncmp(owner, "zone", 4) == 0) return GROUP_ZONE;
    if (strcmp(owner, "meter") == 0) return GROUP_METERS;
    return strncmp(owner, "load_balancer", 13) == 0 ? GROUP_BALANCER : GROUP_ACCOUNT;
}

static place place_of(const tb_statement *s, size_t i)
{
    const tb_bill_line *line = &s->bill->lines[i];
    const tb_correction *c = tb__correction_of(s, i);
    if (line->kind == TB_LINE_CORRECTION)
        return (place){GROUP_CORRECTION, line->period_month, c ? c->invoice : "", i};
    const group of = group_of(line->kind, line);
    return (place){of, of == GROUP_ACCOUNT || of == GROUP_METERS ? 0 : line->id, "", i};
}

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->group != q->group) return p->group < q->group ? -1 : 1;
    if (p->id != q->id) return p->id < q->id ? -1 : 1;
    const int order = strcmp(p->invoice, q->invoice);
    if (order) return order;
    return (p->line > q->line) - (p->line < q->line);
}

static bool same_group(const place *p, const place *q)
{
    return p->group == q->group && p->id == q->id && strcmp(p->invoice, q->invoice) == 0;
}

/* --- words --- */

static const tb__word kind_words[TB_LINE_KIND_COUNT] = {
#define TB_X(kind, ...) [TB_LINE_##kind] = TB__WORD_KIND_##kind,
    TB_LINE_KINDS(TB_X)
#undef TB_X
};

static const tb__word region_words[TB_BILLING_REGION_COUNT] = {
    [TB_REGION_EU] = TB__WORD_REGION_EU,     [TB_REGION_NA] = TB__WORD_REGION_NA,
    [TB_REGION_ASIA] = TB__WORD_REGION_ASIA, [TB_REGION_SA] = TB__WORD_REGION_SA,
    [TB_REGION_AF] = TB__WORD_REGION_AF,
};

const char *tb__line_words(tb__maker *m, size_t i)
{
    const tb_bill_item *item = m->s->bill->lines[i].item;
    const char *region = m->s->bill->lines[i].region;
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const bool named = item && item->name[0];
    tb_billing_region known;
    if (named) tb_buf_str(&m->out, item->name);
    if (named && tb__is_lump(kind)) tb_buf_str(&m->out, ", ");
    if (!named || tb__is_lump(kind))
        tb__add_word(&m->out, m->language, tb__is_period(m->s, i) ? TB__WORD_KIND_PERIOD : kind_words[kind]);
    if (*region) {
        tb_buf_str(&m->out, ", ");
        if (!item && tb_billing_region_parse(region, &known))
            tb__add_word(&m->out, m->language, region_words[known]);
        else
            tb_buf_str(&m->out, region);
    }
    return tb__maker_text(m);
}

int64_t tb__line_month(const tb__maker *m, size_t i)
{
    const tb_bill_item *fee = tb__fee_item(m->s, i);
    if (!fee) return m->s->bill->lines[i].period_month;
    return strcmp(fee->per_unit, "year") == 0 ? INT64_MIN : tb_month_from_us(fee->from_us);
}

/* When a fee's service is: "May 2026", "16 May 2026 – 31 May 2026". */
static const char *service_text(tb__maker *m, const tb_bill_item *item)
{
    const int64_t month = tb_month_from_us(item->from_us);
    if (item->from_us == tb_month_start_us(month) && item->to_us == tb_month_start_us(month + 1)) {
        tb__add_month(&m->out, m->language, month);
    } else {
        tb__add_day(&m->out, m->language, tb_day_from_us(item->from_us));
        tb_buf_str(&m->out, " \u2013 ");
        tb__add_day(&m->out, m->language, tb_day_from_us(item->to_us - 1));
    }
    return tb__maker_text(m);
}

static const char *with_id(tb__maker *m, tb__word word, int64_t id)
{
    return tb__maker_filled(m, word, tb__maker_i64(m, id));
}

static const char *zone_name(const tb__maker *m, int64_t id)
{
    const tb_zone_name *zone = tb_invoice_zone(m->names, id);
    return zone && zone->name && *zone->name ? zone->name : NULL;
}

/* A zone by its name, its id beside it; without a name by its id. */
static void name_zone(tb__maker *m, tb__row *row, int64_t id)
{
    const char *name = zone_name(m, id);
    row->cell[WHAT] = name ? tb__maker_copy(m, name) : with_id(m, TB__WORD_ZONE_ALONE, id);
    row->note = name ? with_id(m, TB__WORD_ZONE, id) : NULL;
}

static void name_correction(tb__maker *m, tb__row *row, const place *at)
{
    tb__add_month(&m->out, m->language, at->id);
    row->cell[WHAT] = tb__maker_text(m);
    row->note = *at->invoice ? tb__maker_filled(m, TB__WORD_OF_INVOICE, at->invoice)
                             : tb__maker_word(m, TB__WORD_NOT_INVOICED);
}

static void put_group(tb__maker *m, const place *at)
{
    tb__row made = {.kind = TB__GROUP};
    switch (at->group) {
    case GROUP_ZONE: name_zone(m, &made, at->id); break;
    case GROUP_VOLUME: made.cell[WHAT] = tb__maker_word(m, TB__WORD_ALL_ZONES); break;
    case GROUP_BALANCER: made.cell[WHAT] = with_id(m, TB__WORD_BALANCER, at->id); break;
    case GROUP_METERS: made.cell[WHAT] = tb__maker_word(m, TB__WORD_KIND_METER); break;
    case GROUP_ACCOUNT: made.cell[WHAT] = tb__maker_word(m, TB__WORD_WHOLE_ACCOUNT); break;
    case GROUP_CORRECTION: name_correction(m, &made, at); break;
    }
    *tb__maker_row(m, TB__GROUP) = made;
}

/* --- prices --- */

/* Tiers of blocks have the price of a block, as written in the book. */
static bool by_block(tb_line_kind kind, const tb_bill_tier *tier)
{
    if (tier->by_block) return tb_decimal_sign(tier->price) != 0;
    return (kind == TB_LINE_VOLUME || kind == TB_LINE_BALANCER_REQUESTS) &&
           tb_decimal_sign(tier->price) && tb_decimal_compare(tier->price, tier->shown) == 0;
}

static const char *price_text(tb__maker *m, size_t i, const tb_bill_tier *tier)
{
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const tb_bill_item *item = tb__metered_item(m->s, i);
    if (tb_decimal_sign(tier->price) == 0) return tb__maker_word(m, TB__WORD_INCLUDED);
    if (by_block(kind, tier)) {
        tb__add_figure(&m->out, m->language, tier->price);
        tb_buf_fmt(&m->out, " %s ", m->s->currency);
        tb__add_word(&m->out, m->language, TB__WORD_PER_BLOCK);
    } else if (tb__line_month(m, i) == INT64_MIN) {
        tb__add_figure(&m->out, m->language, tier->price);
        tb_buf_fmt(&m->out, " %s ", m->s->currency);
        tb__add_word(&m->out, m->language, TB__WORD_PER_YEAR);
    } else if (item) {
        tb__add_item_price(&m->out, m->language, item, tier->price, m->s->currency);
    } else {
        tb__maker_keep(
            m, tb__add_price(&m->out, m->language, kind, tier->price, m->s->currency, m->err));
    }
    return tb__maker_text(m);
}

/* The book's price, where a discount was taken off it. */
static const char *list_text(tb__maker *m, tb_line_kind kind, const tb_bill_tier *tier)
{
    tb_decimal price;
    if (kind != TB_LINE_BANDWIDTH) return NULL;
    tb_code code = tb_decimal_shift(tier->price, -tb__price_places(kind), &price, m->err);
    tb__maker_keep(m, code);
    if (code || tb_decimal_compare(price, tier->shown) == 0) return NULL;
    tb__add_figure(&m->out, m->language, tier->shown);
    tb_buf_fmt(&m->out, " %s ", m->s->currency);
    tb__add_word(&m->out, m->language, TB__WORD_PER_GB);
    return tb__maker_filled(m, TB__WORD_LIST_PRICE, tb__maker_text(m));
}

static const char *quantity_text(tb__maker *m, size_t i, tb_i128 units)
{
    const tb_bill_item *item = tb__metered_item(m->s, i);
    tb__maker_keep(m, item ? tb__add_item_quantity(&m->out, m->language, item, units, m->err)
                           : tb__add_quantity(&m->out, m->language, tb__line_origin(m->s, i), units,
                                              tb__line_month(m, i), m->err));
    return tb__maker_text(m);
}

/* --- rows of a line's prices --- */

/* "first 500 TB", "500 TB to 1,000 TB", "over 1,000 TB" */
static const char *position_text(tb__maker *m, size_t i, tb_i128 at)
{
    const tb_bill_item *item = tb__metered_item(m->s, i);
    tb__maker_keep(m, item ? tb__add_item_position(&m->out, m->language, item, at, m->err)
                           : tb__add_position(&m->out, m->language, tb__line_origin(m->s, i), at, m->err));
    return tb__maker_text(m);
}

static const char *range_text(tb__maker *m, size_t i, const tb_bill_tier *tier, bool last)
{
    const char *with[2] = {position_text(m, i, tier->from), position_text(m, i, tier->to)};
    if (tier->from == 0) return tb__maker_filled(m, TB__WORD_FIRST, with[1]);
    if (last) return tb__maker_filled(m, TB__WORD_OVER, with[0]);
    tb__add_filled(&m->out, m->language, TB__WORD_BETWEEN, with);
    return tb__maker_text(m);
}

/* Rounded amounts of a line's tiers that sum to the line's. */
typedef struct allotment {
    size_t largest; /* it takes `rest` besides */
    tb_decimal rest;
} allotment;

static tb_code allot(tb__maker *m, const tb_bill_line *line, allotment *ret)
{
    tb_decimal most = TB_DECIMAL_ZERO, sum = TB_DECIMAL_ZERO, rounded;
    tb_code code = TB_OK;
    size_t i = 0;
    for (size_t at = 0; !code && i < line->n_tiers; at++) {
        tb_bill_tier tier;
        code = tb__tiers_join(line, &i, &tier, m->err);
        if (!code)
            code = tb_decimal_round(tier.amount, m->s->bill->minor_digits, TB_HALF_UP, &rounded,
                                    m->err);
        if (!code) code = tb_decimal_add(sum, rounded, &sum, m->err);
        if (tb_decimal_sign(rounded) < 0) rounded.mantissa = -rounded.mantissa;
        if (!code && tb_decimal_compare(rounded, most) > 0) {
            most = rounded;
            ret->largest = at;
        }
    }
    return code ? code : tb_decimal_sub(line->amount, sum, &ret->rest, m->err);
}

static const char *tier_amount(tb__maker *m, const tb_bill_tier *tier, const tb_decimal *rest)
{
    tb_decimal amount = TB_DECIMAL_ZERO;
    tb_code code =
        tb_decimal_round(tier->amount, m->s->bill->minor_digits, TB_HALF_UP, &amount, m->err);
    if (!code && rest) code = tb_decimal_add(amount, *rest, &amount, m->err);
    tb__maker_keep(m, code);
    return tb__maker_amount(m, amount);
}

/* "plus 3.333 USD flat": a tier's amount in addition to its units; NULL: none, or its price is of blocks or months. */
static const char *flat_text(tb__maker *m, size_t i, const tb_bill_tier *tier)
{
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const tb_bill_item *item = tb__metered_item(m->s, i);
    const tb_i128 per = item && item->per ? item->per : 1;
    tb_decimal flat;
    if (by_block(kind, tier) || strcmp(tb_line_kind_unit(kind), "second") == 0) return NULL;
    /* A fraction has 18 digits, a flat at most 15. */
    tb_code code = per == 1 ? tb_decimal_mul(tier->price, tb_decimal_from_int(tier->units), &flat, NULL)
                            : tb_decimal_divide(tier->price, tier->units, per, TB_PRORATE_SCALE, TB_HALF_UP, &flat, NULL);
    if (!code) code = tb_decimal_sub(tier->amount, flat, &flat, NULL);
    if (!code && per > 1) code = tb_decimal_round(flat, TB_PRICE_SCALE_MAX, TB_HALF_UP, &flat, NULL);
    if (code || tb_decimal_sign(flat) == 0) return NULL;
    tb__add_figure(&m->out, m->language, flat);
    tb_buf_fmt(&m->out, " %s", m->s->currency);
    const char *money = tb__maker_text(m);
    return tb__maker_filled(m, TB__WORD_FLAT, money);
}

/* Each tier's share of the line's amount: as in an electronic invoice if possible, else rounded separately, with the
 * difference in the largest one. */
static tb_code share_tiers(tb__maker *m, const tb_bill_line *line, tb__prices *prices,
                           bool *ret_shared, allotment *ret, tb_error *err)
{
    tb_code code = tb__prices_read(line, prices, ret_shared, err);
    if (!code && *ret_shared)
        code = tb__prices_share(line, m->s->bill->minor_digits, prices, ret_shared, err);
    return code || *ret_shared ? code : allot(m, line, ret);
}

static void put_tiers(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    allotment allotted = {0, TB_DECIMAL_ZERO};
    tb__prices prices;
    bool shared = false;
    tb__maker_keep(m, share_tiers(m, line, &prices, &shared, &allotted, m->err));
    for (size_t t = 0, at = 0; !m->code && t < line->n_tiers; at++) {
        tb_bill_tier tier;
        tb__row made = {.kind = TB__PART};
        tb_code code = tb__tiers_join(line, &t, &tier, m->err);
        tb__maker_keep(m, code);
        if (code) return;
        const bool last = t == line->n_tiers;
        if (last && line->n_shares == 0) made.kind = TB__LAST;
        made.cell[WHAT] = range_text(m, i, &tier, last);
        made.note = flat_text(m, i, &tier);
        made.cell[QUANTITY] = quantity_text(m, i, tier.units);
        made.cell[PRICE] = price_text(m, i, &tier);
        made.cell[AMOUNT] =
            shared ? tb__maker_amount(m, prices.billed[at])
                   : tier_amount(m, &tier, at == allotted.largest ? &allotted.rest : NULL);
        *tb__maker_row(m, made.kind) = made;
    }
}

static void put_shares(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    for (size_t k = 0; !m->code && k < line->n_shares; k++) {
        tb__row made = {.kind = k + 1 == line->n_shares ? TB__LAST : TB__PART};
        name_zone(m, &made, line->shares[k].zone);
        made.cell[QUANTITY] = quantity_text(m, i, line->shares[k].bytes);
        made.cell[AMOUNT] = tb__maker_amount(m, line->shares[k].amount);
        *tb__maker_row(m, made.kind) = made;
    }
}

/* --- lines --- */

/* "script script-9"; NULL: all of the account's resources. */
static const char *meter_owner_text(tb__maker *m, const tb_bill_line *line)
{
    if (strncmp(line->resource, "meter:", 6) == 0) return NULL;
    tb__add_resource(&m->out, line->resource);
    return tb__maker_text(m);
}

/* The interval of a percentile. */
static const char *interval_text(tb__maker *m, const tb_bill_line *line)
{
    const char *with[2];
    tb__add_time(&m->out, line->evidence.from_us);
    with[0] = tb__maker_text(m);
    tb__add_time(&m->out, line->evidence.to_us);
    with[1] = tb__maker_text(m);
    tb__add_filled(&m->out, m->language, TB__WORD_INTERVAL, with);
    return tb__maker_text(m);
}

/* The owner of the line, if its group does not name it. */
static const char *owner_text(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    const group of = group_of(tb__line_origin(m->s, i), line);
    const char *name = of == GROUP_ZONE ? zone_name(m, line->id) : NULL;
    if (of == GROUP_METERS) return meter_owner_text(m, line);
    if (line->kind != TB_LINE_CORRECTION || of == GROUP_ACCOUNT || of == GROUP_VOLUME) return NULL;
    if (of == GROUP_BALANCER) return with_id(m, TB__WORD_BALANCER, line->id);
    if (!name) return with_id(m, TB__WORD_ZONE_ALONE, line->id);
    const char *id = with_id(m, TB__WORD_ZONE, line->id);
    tb_buf_fmt(&m->out, "%s, %s", name, id);
    return tb__maker_text(m);
}

/* "5 % of 1,234.50" */
static const char *discount_text(tb__maker *m, const tb_bill_line *line)
{
    const tb_bill_tier *row = &line->tiers[0];
    const char *with[2] = {NULL, NULL};
    tb__add_figure(&m->out, m->language, row->price);
    with[0] = tb__maker_text(m);
    with[1] = tb__maker_amount(m, (tb_decimal){row->to, m->s->bill->minor_digits});
    tb__add_filled(&m->out, m->language, TB__WORD_DISCOUNT_NOTE, with);
    return tb__maker_text(m);
}

/* "1,000.00 agreed for the month, less 812.30 for usage" */
static const char *commit_text(tb__maker *m, const tb_bill_line *line)
{
    const tb_decimal used = line->tiers[line->n_tiers - 1].amount;
    const char *with[2] = {NULL, NULL};
    with[0] = tb__maker_amount(m, line->tiers[0].price);
    with[1] = tb__maker_amount(m, (tb_decimal){-used.mantissa, used.scale});
    tb__add_filled(&m->out, m->language, TB__WORD_COMMIT_NOTE, with);
    return tb__maker_text(m);
}

/* "3,000.00 agreed for 2026-10 to 2026-12, less 2,812.30 for usage" */
static const char *period_text(tb__maker *m, const tb_bill_line *line)
{
    char month[2][8];
    tb_decimal used = {0, line->tiers[0].amount.scale};
    for (size_t i = 1; i < line->n_tiers; i++)
        if (tb_decimal_sub(used, line->tiers[i].amount, &used, NULL)) return NULL;
    tb_month_format((int64_t)line->tiers[0].from, month[0]);
    tb_month_format((int64_t)line->tiers[0].to - 1, month[1]);
    const char *with[4] = {NULL, month[0], month[1], NULL};
    with[0] = tb__maker_amount(m, line->tiers[0].amount);
    with[3] = tb__maker_amount(m, used);
    tb__add_filled(&m->out, m->language, TB__WORD_PERIOD_NOTE, with);
    return tb__maker_text(m);
}

/* What a line without a price says instead; a correction's rows are of two of them. */
static const char *lump_text(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    if (line->kind == TB_LINE_COMMIT && tb__is_period(m->s, i)) return period_text(m, line);
    switch (line->kind) {
    case TB_LINE_DISCOUNT: return line->n_tiers == 1 ? discount_text(m, line) : NULL;
    case TB_LINE_COMMIT: return line->n_tiers > 1 ? commit_text(m, line) : NULL;
    default: return NULL;
    }
}

static const char *note_text(tb__maker *m, size_t i, const tb_bill_tier *one)
{
    const char *lump = lump_text(m, i);
    if (lump) return lump;
    const char *owner = owner_text(m, i);
    const tb_bill_line *line = &m->s->bill->lines[i];
    const bool rate = line->item && strcmp(line->item->per_unit, "Mbps") == 0 && line->evidence.hash[0];
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const tb_bill_item *fee = tb__fee_item(m->s, i);
    const char *list = rate ? interval_text(m, line) : fee ? service_text(m, fee) : one ? list_text(m, kind, one) : NULL;
    if (kind == TB_LINE_MINIMUM)
        return tb__maker_word(m, TB__WORD_MINIMUM_NOTE);
    if (!owner || !list) return owner ? owner : list;
    tb_buf_fmt(&m->out, "%s; %s", owner, list);
    return tb__maker_text(m);
}

/* What the line itself says. A cap's is English and ends in a moment. */
static const char *description_text(tb__maker *m, const tb_bill_line *line)
{
    const char *moment = strrchr(line->description, ' '), *with[4] = {moment ? moment + 1 : NULL};
    if (line->kind != TB_LINE_CAP || !moment) return tb__maker_copy(m, line->description);
    tb__add_filled(&m->out, m->language, TB__WORD_CAP_REACHED, with);
    return tb__maker_text(m);
}

static void put_detail(tb__maker *m, size_t i)
{
    const tb_bill_line *line = &m->s->bill->lines[i];
    const tb_line_kind kind = tb__line_origin(m->s, i);
    const tb_line_basis basis = tb_line_kind_of(kind)->basis;
    const bool lump = basis == TB_BASIS_AGREED || basis == TB_BASIS_ONCE || kind == TB_LINE_CORRECTION;
    tb_bill_tier tier;
    bool one = false;
    tb__row made = {.kind = TB__ROW};
    tb__maker_keep(m, tb__tiers_one(line, &one, &tier, m->err));
    if (m->code) return;
    const bool tiers = !one && !lump && line->n_tiers > 0;
    if (tiers || line->n_shares) made.kind = TB__OPEN;
    made.cell[NUMBER] = tb__maker_i64(m, line->number);
    made.cell[WHAT] = line->description ? description_text(m, line) : tb__line_words(m, i);
    made.note = note_text(m, i, one && !lump ? &tier : NULL);
    if (!lump) made.cell[QUANTITY] = quantity_text(m, i, line->quantity);
    if (one && !lump) made.cell[PRICE] = price_text(m, i, &tier);
    made.cell[AMOUNT] = tb__maker_amount(m, line->amount);
    *tb__maker_row(m, made.kind) = made;
    if (tiers) put_tiers(m, i);
    put_shares(m, i);
}

static void begin_table(tb__maker *m, tb__word title)
{
    const char *amount = tb__maker_filled(m, TB__WORD_AMOUNT, m->s->currency);
    tb__maker_block(m, TB__HEADING, tb__maker_word(m, title));
    tb__block *block = tb__maker_block(m, TB__TABLE, NULL);
    if (!block) return;
    block->n_columns = 5;
    block->columns[NUMBER] = (tb__column){.head = tb__maker_word(m, TB__WORD_LINE)};
    block->columns[WHAT] =
        (tb__column){.head = tb__maker_word(m, TB__WORD_DESCRIPTION), .wide = true};
    block->columns[QUANTITY] =
        (tb__column){.head = tb__maker_word(m, TB__WORD_QUANTITY), .end = true};
    block->columns[PRICE] = (tb__column){.head = tb__maker_word(m, TB__WORD_PRICE), .end = true};
    block->columns[AMOUNT] = (tb__column){.head = amount, .end = true};
}

void tb__make_details(tb__maker *m)
{
    const size_t n = m->s->bill->n_lines;
    place *places = n ? tb__arena_take(&m->sheet->texts, n * sizeof *places) : NULL;
    if (n == 0) return;
    if (!places) {
        tb__maker_keep(m, tb_no_memory(m->err));
        return;
    }
    for (size_t i = 0; i < n; i++)
        places[i] = place_of(m->s, i);
    qsort(places, n, sizeof *places, by_place);
    tb__maker_block(m, TB__DETAILS, NULL);
    for (size_t i = 0; i < n && !m->code; i++) {
        const bool correction = places[i].group == GROUP_CORRECTION;
        if (i == 0 || correction != (places[i - 1].group == GROUP_CORRECTION))
            begin_table(m, correction ? TB__WORD_CORRECTIONS : TB__WORD_DETAILS);
        if (i == 0 || !same_group(&places[i - 1], &places[i])) put_group(m, &places[i]);
        put_detail(m, places[i].line);
    }
}
