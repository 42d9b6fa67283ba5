/* Fuzzes the reader of decimals: the first byte is the scale's limit, the rest the text. What is
 * taken writes as the text it was, but for a sign before zero; what is refused names a place in it.
 * Text that parses then goes through rounding and a product, which may refuse but not go wrong. */
#include "tollbook/decimal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void check_value(const char *text, size_t len, tb_decimal value)
{
    char out[TB_DECIMAL_TEXT_MAX];
    char *end = tb_decimal_put_fixed(out, value, value.scale);
    if (tb_decimal_sign(value) == 0 && *text == '-') text++, len--;
    MUST((size_t)(end - out) == len && memcmp(out, text, len) == 0);
    tb_decimal back;
    end = tb_decimal_put(out, value);
    MUST(tb_decimal_parse(out, (size_t)(end - out), TB_DECIMAL_SCALE_MAX, &back, NULL) == TB_OK);
    MUST(tb_decimal_compare(back, value) == 0 && back.scale <= value.scale);
}

static void check_arithmetic(tb_decimal value, int scale)
{
    tb_decimal result, back;
    tb_error err;
    for (int mode = TB_HALF_UP; mode <= TB_HALF_EVEN; mode++)
        if (!tb_decimal_round(value, scale, (tb_rounding)mode, &result, &err))
            MUST(result.scale == scale &&
                 (scale < value.scale || tb_decimal_compare(result, value) == 0));
    if (!tb_decimal_mul(value, value, &result, &err)) MUST(result.mantissa >= 0);
    if (!tb_decimal_add(value, value, &result, &err))
        MUST(!tb_decimal_divide(result, 1, 2, value.scale, TB_HALF_UP, &back, &err) &&
             back.mantissa == value.mantissa);
    if (!tb_decimal_shift(value, scale, &result, &err) && result.scale == value.scale + scale)
        MUST(!tb_decimal_shift(result, -scale, &back, &err) && back.mantissa == value.mantissa);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    int max_scale = data[0] % (TB_DECIMAL_SCALE_MAX + 4);
    size_t len = size - 1;
    char *text = malloc(len ? len : 1);
    memcpy(text, data + 1, len);
    tb_decimal value;
    tb_error err;
    tb_code code = tb_decimal_parse(text, len, max_scale, &value, &err);
    if (code) {
        MUST(code == TB_E_VALIDATION && err.code == code && err.message[0]);
        MUST(err.byte >= 1 && err.byte <= len + 1);
    } else {
        MUST(value.scale >= 0 && value.scale <= max_scale && value.scale <= TB_DECIMAL_SCALE_MAX);
        check_value(text, len, value);
        check_arithmetic(value, max_scale % (TB_DECIMAL_SCALE_MAX + 1));
    }
    free(text);
    return 0;
}
