/* The class table is spelled out by ranges, so that one look shows what a column may hold. */
#include "intake/chars.h"

#define DIGIT  (TB__CHAR_TOKEN | TB__CHAR_EDGE | TB__CHAR_DIGIT)
#define LETTER (TB__CHAR_TOKEN | TB__CHAR_EDGE | TB__CHAR_LETTER)

const uint8_t tb__char_class[256] = {
    ['0' ... '9'] = DIGIT,
    ['A' ... 'Z'] = LETTER,
    ['a' ... 'z'] = LETTER,
    ['_'] = TB__CHAR_TOKEN | TB__CHAR_EDGE,
    ['-'] = TB__CHAR_TOKEN | TB__CHAR_EDGE,
    ['.'] = TB__CHAR_EDGE,
};

size_t tb__char_span(const char *p, const char *end, unsigned classes)
{
    const char *at = p;
    while (at < end && tb__char_is(*at, classes))
        at++;
    return (size_t)(at - p);
}

bool tb__number(const char *p, const char *end, uint64_t max, uint64_t *ret, const char **ret_stop)
{
    uint64_t value = 0;
    const char *at = p;
    for (; at < end && tb__digit(*at) && at - p < 19; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    if (at == end && at > p && value <= max) {
        *ret = value;
        return true;
    }
    *ret_stop = at == end || tb__digit(*at) ? p : at;
    return false;
}

static bool is_no_answer(const char *p, size_t len)
{
    static const char *const words[] = {"000", "009", "0", "-1", "-"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && memcmp(words[i], p, len) == 0) return true;
    return false;
}

bool tb__status(const char *p, size_t len, uint16_t *ret, const char **ret_stop)
{
    uint64_t status = 0;
    *ret_stop = p;
    const bool number = len == 3 && tb__number(p, p + 3, 599, &status, ret_stop);
    if (number && status >= 100) {
        *ret = (uint16_t)status;
        return true;
    }
    *ret = TB__STATUS_NONE;
    return is_no_answer(p, len);
}
