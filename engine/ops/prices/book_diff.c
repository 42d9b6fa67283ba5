/* What two price books price differently: each book as lines "what<TAB>price", then the lines that
 * differ. */
#include <stdio.h>
#include <string.h>

#include "ops/prices/books.h"
#include "tollbook/calendar.h"

static void put_line(tb_buf *out, const char *what, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    size_t len = (size_t)(tb_decimal_put(text, value) - text);
    tb_buf_fmt(out, "%s\t%.*s\n", what, (int)len, text);
}

static void put_word(tb_buf *out, const char *what, const char *word)
{
    tb_buf_fmt(out, "%s\t%s\n", what, word);
}

/* The line of a member: "what.key". */
static void put_member(tb_buf *out, const char *what, const char *key, tb_decimal value)
{
    tb_buf_fmt(out, "%s.", what);
    put_line(out, key, value);
}

static void put_choice(tb_buf *out, const char *what, const char *key, const char *word)
{
    tb_buf_fmt(out, "%s.%s\t%s\n", what, key, word);
}

static void put_tier(tb_buf *out, const char *what, tb_decimal from, tb_decimal price, tb_decimal flat)
{
    char start[TB_DECIMAL_TEXT_MAX + 1], key[TB_DECIMAL_TEXT_MAX + 16];
    *tb_decimal_put(start, from) = 0;
    snprintf(key, sizeof key, "from %s.price", start);
    put_member(out, what, key, price);
    snprintf(key, sizeof key, "from %s.flat", start);
    if (tb_decimal_sign(flat)) put_member(out, what, key, flat);
}

static void put_tiers(tb_buf *out, const char *what, const tb_tiers *tiers)
{
    put_choice(out, what, "mode", tb_tier_mode_name(tiers->mode));
    put_member(out, what, "included", tb_decimal_from_int(tiers->included));
    if (tiers->included) put_choice(out, what, "included_axis", tiers->included_absolute ? "absolute" : "net");
    for (size_t i = 0; i < tiers->n; i++)
        put_tier(out, what, tb_decimal_from_int(tiers->tier[i].from), tiers->tier[i].shown, tiers->tier[i].flat);
}

static void put_rate(tb_buf *out, const char *what, const tb_rate *rate)
{
    put_choice(out, what, "mode", tb_tier_mode_name(rate->mode));
    put_member(out, what, "included", rate->included);
    if (tb_decimal_sign(rate->included))
        put_choice(out, what, "included_axis", rate->included_absolute ? "absolute" : "net");
    if (rate->mode == TB_PACKAGE) put_member(out, what, "block", rate->block);
    for (size_t i = 0; i < rate->n; i++)
        put_tier(out, what, rate->tier[i].from, rate->tier[i].price, rate->tier[i].flat);
}

static void put_meter(tb_buf *out, const char *what, const tb_meter_rate *meter)
{
    char name[256];
    put_choice(out, what, "per", meter->per);
    if (meter->time) put_choice(out, what, "time", meter->time == TB_RATE_HOUR ? "hour" : "month");
    if (meter->by_resource) put_choice(out, what, "scope", "resource");
    if (meter->by[0]) put_choice(out, what, "by", meter->by);
    if (meter->sampled) put_member(out, what, "percentile", meter->percentile);
    if (meter->has_minimum) put_member(out, what, "minimum", meter->minimum);
    for (size_t i = 0; i < meter->n; i++) {
        snprintf(name, sizeof name, "%s%s%s", what, meter->by[0] ? ".prices." : "", meter->rate[i].value);
        put_rate(out, name, &meter->rate[i]);
    }
}

static void put_fee(tb_buf *out, const tb_fee *fee)
{
    char name[80];
    snprintf(name, sizeof name, "fees.%s", fee->id);
    put_choice(out, name, "name", fee->name);
    put_member(out, name, "amount", fee->amount);
    put_choice(out, name, "every", fee->yearly ? "year" : "month");
    put_choice(out, name, "timing", fee->advance ? "advance" : "arrears");
    put_choice(out, name, "prorate", fee->prorate ? "true" : "false");
    if (fee->charge[0]) put_choice(out, name, "charge", fee->charge);
}

static void put_regions(tb_buf *out, const tb_book *book)
{
    char name[64];
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        tb_decimal per_gb;
        if (!book->region_priced[r]) continue;
        if (tb_decimal_shift(book->region_price[r], -9, &per_gb, NULL)) continue;
        snprintf(name, sizeof name, "bandwidth.premium.%s",
                 tb_billing_region_name((tb_billing_region)r));
        put_line(out, name, per_gb);
    }
}

static void put_book(tb_buf *out, const tb_book *book)
{
    char from[21] = "";
    tb_time_format(book->effective_us, from);
    put_word(out, "currency", book->currency);
    put_word(out, "effective_from", from);
    if (book->supersedes[0]) put_word(out, "supersedes", book->supersedes);
    if (book->contract) put_word(out, "scope", "contract");
    put_word(out, "rounding", book->rounding == TB_HALF_UP ? "half_up" : "half_even");
    put_line(out, "minimum_monthly", book->minimum_monthly);
    if (book->has_premium) put_regions(out, book);
    if (book->has_volume) put_tiers(out, "bandwidth.volume", &book->volume);
    if (book->has_optimizer) put_line(out, "optimizer.monthly", book->optimizer_monthly);
    if (book->has_balancer) {
        put_line(out, "load_balancer.monthly_fee", book->balancer_fee);
        put_tiers(out, "load_balancer", &book->balancer);
    }
    if (book->has_percentile) put_meter(out, "bandwidth.percentile", &book->percentile);
    for (size_t i = 0; i < book->n_meters; i++) {
        char name[80];
        snprintf(name, sizeof name, "meters.%s", book->meters[i].meter);
        put_meter(out, name, &book->meters[i]);
    }
    for (size_t i = 0; i < book->n_fees; i++)
        put_fee(out, &book->fees[i]);
}

/* The line of `text` that starts with the first `len` bytes of `key` and a tab; NULL: none. */
static const char *line_of(const tb_buf *text, const char *key, size_t len)
{
    for (const char *at = text->data, *end = text->data + text->len; at < end;) {
        size_t n = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);
        if (n > len && memcmp(at, key, len + 1) == 0) return at;
        at += n + 1;
    }
    return NULL;
}

static void put_missing(const tb_buf *of, const tb_buf *in, char sign, tb_buf *out)
{
    for (const char *at = of->data, *end = of->data + of->len; at < end;) {
        size_t n = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);
        size_t key = (size_t)((const char *)memchr(at, '\t', n) - at);
        const char *other = line_of(in, at, key);
        if (!other || memcmp(other, at, n + 1) != 0) tb_buf_fmt(out, "%c %.*s\n", sign, (int)n, at);
        at += n + 1;
    }
}

tb_code tb__book_diff(const tb_book *a, const tb_book *b, tb_buf *out, tb_error *err)
{
    tb_buf la, lb;
    tb_buf_init(&la, TB_BOOK_MAX, NULL);
    tb_buf_init(&lb, TB_BOOK_MAX, NULL);
    put_book(&la, a);
    put_book(&lb, b);
    tb_code code = tb_buf_check(&la, err);
    if (!code) code = tb_buf_check(&lb, err);
    if (!code) {
        put_missing(&la, &lb, '-', out);
        put_missing(&lb, &la, '+', out);
    }
    tb_buf_release(&la);
    tb_buf_release(&lb);
    return code;
}
