/* Decimals as tests write them. */
#ifndef TESTS_UNIT_DECIMALS_H
#define TESTS_UNIT_DECIMALS_H

#include "tollbook/decimal.h"

#include <check.h>
#include <string.h>

static inline tb_decimal dec(const char *text)
{
    tb_decimal value;
    ck_assert_msg(tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, NULL) == TB_OK, "%s", text);
    return value;
}

static inline void is(tb_decimal value, const char *expected)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, value) = 0;
    ck_assert_str_eq(text, expected);
}

#endif
