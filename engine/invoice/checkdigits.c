/* A table of schemes. Invariant: a number is refused if one of the rules PEPPOL-COMMON-R040 to R043, R049 and R050
 * refuses it, or blanks surround it; each check reads digits only, for the form was checked before. */
#include "invoice/checkdigits.h"

#include <stddef.h>
#include <string.h>

static bool are_digits(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789") == len;
}

static unsigned digit_at(const char *text, size_t i)
{
    return (unsigned)(text[i] - '0');
}

/* The rest of a number modulo `by`. */
static unsigned rest_of(const char *digits, size_t len, unsigned by)
{
    unsigned rest = 0;
    for (size_t i = 0; i < len; i++)
        rest = (rest * 10 + digit_at(digits, i)) % by;
    return rest;
}

/* GS1: weights 3 and 1 by turns from the right, of any length. */
static bool is_gln(const char *number)
{
    const size_t len = strlen(number);
    unsigned sum = 0;
    if (len == 0 || !are_digits(number, len)) return false;
    for (size_t i = 1; i < len; i++)
        sum = (sum + digit_at(number, len - 1 - i) * (i % 2 ? 3 : 1)) % 10;
    return (10 - sum) % 10 == digit_at(number, len - 1);
}

/* Modulo 11 with weights 2 to 7 from the right. A rest of 1 has no check digit. */
static bool is_norwegian(const char *number)
{
    unsigned sum = 0;
    if (!are_digits(number, 9) || strcmp(number, "000000000") == 0) return false;
    for (unsigned i = 0; i < 8; i++)
        sum += digit_at(number, 7 - i) * (i % 6 + 2);
    return (11 - sum % 11) % 11 == digit_at(number, 8);
}

static bool is_danish(const char *number)
{
    return are_digits(strncmp(number, "DK", 2) == 0 ? number + 2 : number, 8);
}

static bool is_belgian(const char *number)
{
    return are_digits(number, 10) && 97 - rest_of(number, 8, 97) == rest_of(number + 8, 2, 100);
}

/* Luhn. */
static bool is_swedish(const char *number)
{
    unsigned sum = 0;
    if (!are_digits(number, 10)) return false;
    for (size_t i = 0; i < 9; i++) {
        const unsigned weighted = digit_at(number, i) * (i % 2 ? 1 : 2);
        sum += weighted / 10 + weighted % 10;
    }
    return (10 - sum % 10) % 10 == digit_at(number, 9);
}

/* The first digit less 1, then all weighted: a multiple of 89. */
static bool is_australian(const char *number)
{
    static const int weights[] = {10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19};
    int sum = -weights[0];
    if (!are_digits(number, 11)) return false;
    for (size_t i = 0; i < 11; i++)
        sum += (int)digit_at(number, i) * weights[i];
    return sum % 89 == 0;
}

static const struct {
    const char *scheme;
    bool (*fits)(const char *number);
} schemes[] = {{"0007", is_swedish}, {"0088", is_gln},       {"0151", is_australian},
               {"0184", is_danish},  {"0192", is_norwegian}, {"0208", is_belgian}};

bool tb__number_fits(const char *scheme, const char *number)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strcmp(schemes[i].scheme, scheme) == 0) return schemes[i].fits(number);
    return true;
}
