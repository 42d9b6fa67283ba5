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

static void put_tiers(tb_buf *out, const char *what, const tb_tiers *tiers)
{
    char name[96], from[TB_DECIMAL_TEXT_MAX + 1];
    snprintf(name, sizeof name, "%s.mode", what);
    put_word(out, name, tb_tier_mode_name(tiers->mode));
    snprintf(name, sizeof name, "%s.included", what);
    put_line(out, name, tb_decimal_from_int(tiers->included));
    if (tiers->included) {
        snprintf(name, sizeof name, "%s.included_axis", what);
        put_word(out, name, tiers->included_absolute ? "absolute" : "net");
    }
    for (size_t i = 0; i < tiers->n; i++) {
        *tb_decimal_put(from, tb_decimal_from_int(tiers->tier[i].from)) = 0;
        snprintf(name, sizeof name, "%s.from %s.price", what, from);
        put_line(out, name, tiers->tier[i].shown);
        if (tb_decimal_sign(tiers->tier[i].flat) == 0) continue;
        snprintf(name, sizeof name, "%s.from %s.flat", what, from);
        put_line(out, name, tiers->tier[i].flat);
    }
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
    if (!book->has_balancer) return;
    put_line(out, "load_balancer.monthly_fee", book->balancer_fee);
    put_tiers(out, "load_balancer", &book->balancer);
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
