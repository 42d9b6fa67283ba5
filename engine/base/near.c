/* What was meant by a word that there is none of: the nearest one of a list. And how values are refused, in one form
 * wherever they are given. */
#include <stdio.h>
#include <string.h>

#include "tollbook/error.h"

#define LONGEST 32 /* longer words are no slips */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '_' ? '-' : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters are to be added, left out or changed; two neighbours in the other order are one change. Letter case
 * costs nothing. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

size_t tb_nearest(const char *words, const char *text, size_t len, const char **ret_word)
{
    size_t found = 0;
    unsigned best = LONGEST;
    if (len == 0 || len > LONGEST) return 0;
    for (const char *word = words; *word;) {
        const size_t n = strcspn(word, "|");
        const unsigned apart = n && n <= LONGEST ? distance(text, len, word, n) : LONGEST;
        if (apart < best && apart <= (n < 3 ? 0 : n < 5 ? 1 : (n + 2) / 3)) {
            best = apart;
            found = n;
            *ret_word = word;
        }
        word += n + (word[n] == '|');
    }
    return found;
}

const char *tb_meant(const char *words, const char *before, const char *text, size_t len, char out[TB_MEANT_MAX])
{
    const char *word = "";
    const size_t n = tb_nearest(words, text, len, &word);
    out[0] = 0;
    if (n) snprintf(out, TB_MEANT_MAX, " Did you mean \"%.24s%.*s\"?", before, (int)n, word);
    return out;
}

/* --- refusals --- */

#define SHOWN(len) ((int)((len) < 64 ? (len) : 64))

const char *tb_words(const char *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *word = words; *word && used < size;) {
        const size_t n = strcspn(word, "|");
        const bool last = !word[n];
        const int wrote = snprintf(out + used, size - used, "%s%.*s", !used ? "" : last ? " or " : ", ", (int)n, word);
        if (wrote > 0) used += (size_t)wrote;
        word += n + !last;
    }
    return out;
}

tb_code tb_refuse_word(tb_error *err, const char *field, const char *words, const char *text, size_t len)
{
    char meant[TB_MEANT_MAX], list[200];
    tb_words(words, list, sizeof list);
    if (!strchr(words, '|'))
        return tb_fail(err, TB_E_VALIDATION, field, "\"%.*s\" is not %s, which is all there is.", SHOWN(len), text, list);
    return tb_fail(err, TB_E_VALIDATION, field, "\"%.*s\" is not one of %s.%s", SHOWN(len), text, list,
                   tb_meant(words, "", text, len, meant));
}

tb_code tb_refuse_number(tb_error *err, const char *field, const char *text, size_t len, int64_t min, int64_t max)
{
    char range[64];
    const size_t sign = len > 1 && *text == '-';
    size_t digits = 0;
    while (sign + digits < len && text[sign + digits] >= '0' && text[sign + digits] <= '9')
        digits++;
    if (max == INT64_MAX) snprintf(range, sizeof range, "from %lld up", (long long)min);
    else snprintf(range, sizeof range, "from %lld to %lld", (long long)min, (long long)max);
    const bool number = digits && sign + digits == len;
    return tb_fail(err, TB_E_VALIDATION, field, "\"%.*s\" is %s a whole number %s.", SHOWN(len), text,
                   number ? "out of range: it takes" : "not", range);
}
