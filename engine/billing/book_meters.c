/* A book's meters, fees and bandwidth.percentile. A rate is checked as far as the book says it; whether it fits a meter is
 * seen where both are known (rates.h).
 *
 * The lists are read into the parser's scratch memory and then packed into one block, so that a book can be copied. */
#include "base/jsontext.h"
#include "billing/book_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT_PLACES 3
#define VALUES_MAX     4096 /* prices of a meter */

/* --- objects with free keys: meters, fees, prices by value --- */

/* Reads the member at `key` into an element of the list, which is zeros and begins with its name. */
typedef tb_code (*reader)(tb__book_parser *p, uint32_t key, void *to);

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Reads an object's members into a list, ascending by name. */
static tb_code read_members(tb__book_parser *p, uint32_t object, size_t most, size_t size, reader read, void *ret_list,
                            size_t *ret_n)
{
    const tb__node *node = &p->doc.nodes[object];
    char message[48];
    size_t n = 0;
    if (node->type != TB__OBJECT) return tb__book_refuse_type(p, object, "an object");
    snprintf(message, sizeof message, "Must have at most %zu members.", most);
    if (node->len > most) return tb__book_refuse(p, object, message);
    char *list = tb__arena_take(p->scratch, node->len * size);
    if (!list) return tb_no_memory(p->err);
    memset(list, 0, node->len * size);
    for (uint32_t key = object + 1; key != node->next; key = p->doc.nodes[key + 1].next) {
        const size_t before = tb__book_enter_key(p, p->doc.nodes[key].text, p->doc.nodes[key].len);
        tb_code code = read(p, key, list + n++ * size);
        if (code) return code;
        tb__book_leave(p, before);
    }
    qsort(list, n, size, compare_names);
    *(void **)ret_list = list;
    *ret_n = n;
    return TB_OK;
}

/* Copies a text of 1 to `most` printable bytes. */
static tb_code copy_text(tb__book_parser *p, uint32_t value, uint32_t most, char *to)
{
    const tb__node *node = &p->doc.nodes[value];
    char message[64];
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    snprintf(message, sizeof message, "Must have 1 to %u bytes and no control characters.", most);
    if (node->len < 1 || node->len > most || !tb__is_printable(node->text, node->len))
        return tb__book_refuse(p, value, message);
    memcpy(to, node->text, node->len);
    to[node->len] = 0;
    return TB_OK;
}

/* --- a price: `price`, or `tiers` and what stands beside them --- */

typedef struct raw_rate {
    tb__book_list list;
    tb__book_price price;
} raw_rate;

#define BLANK_RATE {.list = {.mode = TB_GRADUATED, .block = TB__BOOK_NO_BLOCK}}

/* at: of a raw_rate in what the walk fills. */
#define RATE_KEYS(at)                                                                              \
    {"price", false, tb__book_set_given, (at) + offsetof(raw_rate, price)},                        \
    {"mode", false, tb__book_set_mode, (at) + offsetof(raw_rate, list.mode)},                      \
    {"included", false, tb__book_set_per, (at) + offsetof(raw_rate, list.included)},               \
    {"included_axis", false, tb__book_set_axis, (at) + offsetof(raw_rate, list.axis)},             \
    {"block", false, tb__book_set_per, (at) + offsetof(raw_rate, list.block)},                     \
    {"tiers", false, tb__book_set_node, (at) + offsetof(raw_rate, list.tiers)}

/* One open tier. */
static tb_code price_tiers(tb__book_parser *p, const raw_rate *raw, uint32_t object, tb_tiers *to)
{
    if (raw->list.mode == TB_PACKAGE)
        return tb__book_refuse_member(p, object, "mode", "Mode package needs tiers with price_per_block.");
    if (raw->list.block != TB__BOOK_NO_BLOCK)
        return tb__book_refuse_member(p, object, "block", "Only mode package has blocks.");
    to->mode = raw->list.mode;
    to->included = raw->list.included;
    to->included_absolute = raw->list.axis == TB__AXIS_ABSOLUTE;
    to->block = 0;
    to->n = 1;
    to->tier[0] = (tb_tier){.open = true, .price = raw->price.value, .shown = raw->price.value};
    return TB_OK;
}

static tb_decimal of_per(tb_i128 units)
{
    return tb_decimal_normal((tb_decimal){units, TB__BOOK_PER_PLACES});
}

static tb_code make_rate(tb__book_parser *p, const raw_rate *raw, uint32_t object, tb_rate *to)
{
    tb_tiers tiers;
    if (raw->price.given && raw->list.tiers)
        return tb__book_refuse_member(p, object, "tiers", "A rate has price or tiers, not both.");
    if (!raw->price.given && !raw->list.tiers)
        return tb__book_refuse_member(p, object, "price", "This key is missing: a rate has price, or tiers.");
    tb_code code = raw->price.given ? price_tiers(p, raw, object, &tiers)
                                    : tb__book_tiers(p, &tb__book_per, &raw->list, object, &tiers);
    if (code) return code;
    to->mode = tiers.mode;
    to->included = of_per(tiers.included);
    to->included_absolute = tiers.included_absolute;
    to->block = of_per(tiers.block);
    to->n = tiers.n;
    to->tier = tb__arena_take(p->scratch, tiers.n * sizeof *to->tier);
    if (!to->tier) return tb_no_memory(p->err);
    for (size_t k = 0; k < tiers.n; k++) {
        const tb_tier *tier = &tiers.tier[k];
        to->tier[k] = (tb_rate_tier){.from = of_per(tier->from),
                                     .to = of_per(tier->to),
                                     .open = tier->open,
                                     .price = tier->price,
                                     .flat = tier->flat};
    }
    return TB_OK;
}

/* An entry of `prices`: the key is a value of the dimension. */
static tb_code read_entry(tb__book_parser *p, uint32_t key, void *to)
{
    static const tb__book_key keys[] = {RATE_KEYS(0)};
    tb_rate *rate = to;
    raw_rate raw = BLANK_RATE;
    tb_code code = copy_text(p, key, sizeof rate->value - 1, rate->value);
    if (!code) code = tb__book_walk(p, key + 1, TB__BOOK_KEYS(keys), &raw);
    return code ? code : make_rate(p, &raw, key + 1, rate);
}

/* --- a meter --- */

typedef struct raw_meter {
    tb_meter_rate rate;
    raw_rate price;
    uint32_t prices; /* the object's node; 0: none */
    tb__book_price minimum;
} raw_meter;

/* A number of the meter's units, or a unit's name. */
static tb_code set_per(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    tb_decimal number;
    if (node->type != TB__NUMBER && node->type != TB__STRING)
        return tb__book_refuse_type(p, value, "a number or a unit");
    if (node->type == TB__STRING && (node->len == 0 || !strchr("0123456789-+.", node->text[0])))
        return copy_text(p, value, TB_METER_UNIT_MAX, to);
    if (tb_decimal_parse(node->text, node->len, 0, &number, NULL) || number.mantissa < 1 || number.mantissa > TB_UNITS_MAX)
        return tb__book_refuse(p, value, "Must be a whole number from 1 to 10^18, or a unit such as GB.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

static tb_code set_time(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"hour", "month"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be hour or month.", &choice);
    if (!code) *(tb_rate_time *)to = choice == 0 ? TB_RATE_HOUR : TB_RATE_MONTH;
    return code;
}

static tb_code set_scope(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"account", "resource"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be account or resource.", &choice);
    if (!code) *(bool *)to = choice == 1;
    return code;
}

static tb_code set_by(tb__book_parser *p, uint32_t value, void *to)
{
    return copy_text(p, value, TB_METER_VALUE_MAX, to);
}

static tb_code set_percent(tb__book_parser *p, uint32_t value, void *to)
{
    tb_meter_rate *rate = to;
    tb_code code = tb__book_set_decimal(p, value, &rate->percentile);
    if (code) return code;
    rate->sampled = true;
    rate->percentile = tb_decimal_normal(rate->percentile);
    if (rate->percentile.scale <= PERCENT_PLACES && tb_decimal_sign(rate->percentile) > 0 &&
        tb_decimal_compare(rate->percentile, tb_decimal_from_int(100)) < 0)
        return TB_OK;
    return tb__book_refuse(p, value, "Must be above 0 and below 100, with at most 3 digits after the point.");
}

static tb_code check_mbps(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"Mbps"};
    int ignored;
    tb_code code = tb__book_choice(p, value, names, 1, "Must be Mbps: 10^6 bits a second.", &ignored);
    if (!code) memcpy(to, names[0], sizeof "Mbps");
    return code;
}

static const tb__book_key meter_keys[] = {
    RATE_KEYS(offsetof(raw_meter, price)), /* first: see check_beside_prices */
    {"per", true, set_per, offsetof(raw_meter, rate.per)},
    {"time", false, set_time, offsetof(raw_meter, rate.time)},
    {"scope", false, set_scope, offsetof(raw_meter, rate.by_resource)},
    {"by", false, set_by, offsetof(raw_meter, rate.by)},
    {"prices", false, tb__book_set_node, offsetof(raw_meter, prices)},
    {"percentile", false, set_percent, offsetof(raw_meter, rate)},
    {"minimum", false, tb__book_set_given, offsetof(raw_meter, minimum)},
};
enum { RATE_KEY_COUNT = 6 };

static const tb__book_key percentile_keys[] = {
    RATE_KEYS(offsetof(raw_meter, price)),
    {"per", true, check_mbps, offsetof(raw_meter, rate.per)},
    {"percentile", true, set_percent, offsetof(raw_meter, rate)},
};

/* With `prices`, each entry has a rate of its own, and none stands outside. */
static tb_code check_beside_prices(tb__book_parser *p, uint32_t object)
{
    for (uint32_t key = object + 1; key != p->doc.nodes[object].next; key = p->doc.nodes[key + 1].next)
        for (size_t i = 0; i < RATE_KEY_COUNT; i++)
            if (tb__node_is(&p->doc.nodes[key], meter_keys[i].name, strlen(meter_keys[i].name)))
                return tb__book_refuse_member(p, object, meter_keys[i].name, "Must stand in the entries of prices.");
    return TB_OK;
}

static tb_code read_prices(tb__book_parser *p, const raw_meter *raw, uint32_t object, tb_meter_rate *to)
{
    const size_t before = tb__book_enter_key(p, "prices", 6);
    tb_code code = read_members(p, raw->prices, VALUES_MAX, sizeof *to->rate, read_entry, &to->rate, &to->n);
    if (!code && to->n == 0) code = tb__book_refuse(p, raw->prices, "Must have a price.");
    if (code) return code;
    tb__book_leave(p, before);
    return check_beside_prices(p, object);
}

/* The rate when all its keys are known. */
static tb_code finish_meter(tb__book_parser *p, raw_meter *raw, uint32_t object, tb_meter_rate *to)
{
    *to = raw->rate;
    to->has_minimum = raw->minimum.given;
    to->minimum = raw->minimum.value;
    if (to->sampled && to->time != TB_RATE_NO_TIME)
        return tb__book_refuse_member(p, object, "time", "A price at a percentile has no time.");
    if (to->by[0] && !raw->prices)
        return tb__book_refuse_member(p, object, "prices", "This key is missing: by needs a price for each value.");
    if (raw->prices && !to->by[0])
        return tb__book_refuse_member(p, object, "by", "This key is missing: prices are by a dimension.");
    if (raw->prices) return read_prices(p, raw, object, to);
    to->n = 1;
    to->rate = tb__arena_take(p->scratch, sizeof *to->rate);
    if (!to->rate) return tb_no_memory(p->err);
    memset(to->rate, 0, sizeof *to->rate);
    return make_rate(p, &raw->price, object, to->rate);
}

static tb_code read_meter(tb__book_parser *p, uint32_t key, void *to)
{
    raw_meter raw = {.price = BLANK_RATE};
    tb_code code = tb__book_set_id(p, key, raw.rate.meter);
    if (!code && strcmp(raw.rate.meter, TB_METER_BANDWIDTH) == 0)
        code = tb__book_refuse(p, key + 1, "It is not billed by itself: bandwidth.percentile prices it.");
    if (!code) code = tb__book_walk(p, key + 1, TB__BOOK_KEYS(meter_keys), &raw);
    return code ? code : finish_meter(p, &raw, key + 1, to);
}

tb_code tb__book_set_meters(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    return read_members(p, value, TB_BOOK_METERS_MAX, sizeof *book->meters, read_meter, &book->meters, &book->n_meters);
}

tb_code tb__book_set_percentile(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    raw_meter raw = {.price = BLANK_RATE};
    tb_code code = tb__book_walk(p, value, TB__BOOK_KEYS(percentile_keys), &raw);
    if (!code) code = finish_meter(p, &raw, value, &book->percentile);
    book->has_percentile = !code;
    return code;
}

/* --- fees --- */

static tb_code set_name(tb__book_parser *p, uint32_t value, void *to)
{
    return copy_text(p, value, TB_METER_NAME_MAX, to);
}

static tb_code set_every(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"month", "year"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be month or year.", &choice);
    if (!code) *(bool *)to = choice == 1;
    return code;
}

static tb_code set_timing(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"arrears", "advance"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be arrears or advance.", &choice);
    if (!code) *(bool *)to = choice == 1;
    return code;
}

static tb_code set_bool(tb__book_parser *p, uint32_t value, void *to)
{
    const uint32_t type = p->doc.nodes[value].type;
    if (type != TB__TRUE && type != TB__FALSE) return tb__book_refuse_type(p, value, "true or false");
    *(bool *)to = type == TB__TRUE;
    return TB_OK;
}

static tb_code set_charge(tb__book_parser *p, uint32_t value, void *to)
{
    tb_code code = copy_text(p, value, TB_METER_CHARGE_MAX, to);
    if (!code && !tb_meter_charge_known(to))
        code = tb__book_refuse(p, value, "Must be a charge of GET /billing such as Storage or Shield.");
    return code;
}

static const tb__book_key fee_keys[] = {
    {"name", true, set_name, offsetof(tb_fee, name)},
    {"amount", true, tb__book_set_price, offsetof(tb_fee, amount)},
    {"every", false, set_every, offsetof(tb_fee, yearly)},
    {"timing", false, set_timing, offsetof(tb_fee, advance)},
    {"prorate", false, set_bool, offsetof(tb_fee, prorate)},
    {"charge", false, set_charge, offsetof(tb_fee, charge)},
};

static tb_code read_fee(tb__book_parser *p, uint32_t key, void *to)
{
    tb_fee *fee = to;
    fee->prorate = true;
    tb_code code = tb__book_set_id(p, key, fee->id);
    return code ? code : tb__book_walk(p, key + 1, TB__BOOK_KEYS(fee_keys), fee);
}

tb_code tb__book_set_fees(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    return read_members(p, value, TB_BOOK_FEES_MAX, sizeof *book->fees, read_fee, &book->fees, &book->n_fees);
}

/* --- one block of memory --- */

static void count_lists(const tb_meter_rate *rate, size_t *rates, size_t *tiers)
{
    *rates += rate->n;
    for (size_t i = 0; i < rate->n; i++)
        *tiers += rate->rate[i].n;
}

/* Copies the rate's lists to where *rates and *tiers point, and moves those past them. */
static void move_lists(tb_meter_rate *rate, tb_rate **rates, tb_rate_tier **tiers)
{
    if (!rate->n) return;
    memcpy(*rates, rate->rate, rate->n * sizeof **rates);
    rate->rate = *rates;
    *rates += rate->n;
    for (size_t i = 0; i < rate->n; i++) {
        tb_rate *one = &rate->rate[i];
        memcpy(*tiers, one->tier, one->n * sizeof **tiers);
        one->tier = *tiers;
        *tiers += one->n;
    }
}

tb_code tb__book_own_lists(tb_book *book, const tb_book *from, tb_error *err)
{
    const tb_meter_rate *meters = from->meters;
    const tb_fee *fees = from->fees;
    size_t n_rates = 0, n_tiers = 0;
    count_lists(&from->percentile, &n_rates, &n_tiers);
    for (size_t i = 0; i < from->n_meters; i++)
        count_lists(&meters[i], &n_rates, &n_tiers);
    /* All of these are aligned alike: they hold decimals. */
    const size_t fees_at = from->n_meters * sizeof *meters, rates_at = fees_at + from->n_fees * sizeof *fees,
                 tiers_at = rates_at + n_rates * sizeof(tb_rate), size = tiers_at + n_tiers * sizeof(tb_rate_tier);
    book->meters = NULL;
    book->fees = NULL;
    if (size == 0) return TB_OK;
    char *memory = tb_alloc_resize(book->alloc, NULL, 0, size);
    if (!memory) return tb_no_memory(err);
    book->memory = memory;
    book->memory_size = size;
    book->meters = (tb_meter_rate *)(void *)memory;
    book->fees = (tb_fee *)(void *)(memory + fees_at);
    if (book->n_meters) memcpy(book->meters, meters, fees_at);
    if (book->n_fees) memcpy(book->fees, fees, rates_at - fees_at);
    tb_rate *rates = (tb_rate *)(void *)(memory + rates_at);
    tb_rate_tier *tiers = (tb_rate_tier *)(void *)(memory + tiers_at);
    move_lists(&book->percentile, &rates, &tiers);
    for (size_t i = 0; i < book->n_meters; i++)
        move_lists(&book->meters[i], &rates, &tiers);
    return TB_OK;
}
