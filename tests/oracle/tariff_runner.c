/* Reads price books and questions, one a line, and answers each with a line:
 *   B JSON               the book from here on: its SHA-256, or "! PATH: REASON"
 *   v USED UNITS WHOLE   volume bandwidth: amount, free units, then TIER FROM TO AMOUNT of each
 *   b USED UNITS WHOLE   the load balancer's requests likewise
 * Where a stretch is a whole month, the prepared form answers too and must agree. */
#include "tollbook/tariff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    char *end = tb_decimal_put(text, value);
    fwrite(text, 1, (size_t)(end - text), stdout);
}

static void put_units(tb_i128 units)
{
    putchar(' ');
    put(tb_decimal_from_int(units));
}

/* False where the prepared form says something else. */
static bool prepared_agrees(const tb_tiers *tiers, uint64_t units, tb_decimal expected)
{
    tb_tariff tariff;
    tb_decimal amount;
    int64_t small;
    tb_i128 total;
    if (tiers->mode == TB_PACKAGE) return true;
    if (tb_tariff_prepare(tiers, &tariff, NULL)) return false;
    if (tb_tariff_amount(&tariff, units, &amount, NULL)) return false;
    if (tb_decimal_compare(amount, expected) != 0) return false;
    if (units > tariff.most_small) return true;
    return !tb_tariff_amounts(&tariff, &units, 1, &small, &total, NULL) &&
           small == amount.mantissa && total == small;
}

static void answer(const tb_tiers *tiers, const char *line)
{
    uint64_t used, units, whole;
    tb_rating rating;
    tb_error err;
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &used, &units, &whole) != 3) exit(1);
    if (tb_tariff_rate(tiers, (tb_stretch){used, units, whole}, &rating, &err)) {
        printf("! %s\n", err.message);
        return;
    }
    if (used == 0 && units == whole && !prepared_agrees(tiers, units, rating.amount)) {
        puts("! The prepared form differs.");
        return;
    }
    put(rating.amount);
    put_units(rating.free);
    for (size_t i = 0; i < rating.n; i++) {
        const tb_tier_segment *s = &rating.segment[i];
        printf(" %zu", s->tier);
        put_units(s->from);
        put_units(s->to);
        putchar(' ');
        put(s->amount);
    }
    putchar('\n');
}

int main(void)
{
    static char line[65536];
    tb_book book = {.has_volume = false};
    while (fgets(line, sizeof line, stdin)) {
        size_t len = strlen(line);
        tb_error err;
        if (line[0] != 'B') {
            answer(line[0] == 'v' ? &book.volume : &book.balancer, line + 2);
            continue;
        }
        tb_book_release(&book);
        if (tb_book_parse(line + 2, len - 2, NULL, &book, &err))
            printf("! %s: %s\n", err.field, err.message);
        else
            puts(book.sha256);
    }
    tb_book_release(&book);
    return 0;
}
