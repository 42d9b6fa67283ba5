/* The table of four digits, spelled by the preprocessor. */
#include "encode/number.h"

#define ONE(a, b, c, d) a, b, c, d
#define ONES(a, b, c)                                                                              \
    ONE(a, b, c, '0'), ONE(a, b, c, '1'), ONE(a, b, c, '2'), ONE(a, b, c, '3'), ONE(a, b, c, '4'), \
        ONE(a, b, c, '5'), ONE(a, b, c, '6'), ONE(a, b, c, '7'), ONE(a, b, c, '8'),                \
        ONE(a, b, c, '9')
#define TENS(a, b)                                                                                 \
    ONES(a, b, '0'), ONES(a, b, '1'), ONES(a, b, '2'), ONES(a, b, '3'), ONES(a, b, '4'),           \
        ONES(a, b, '5'), ONES(a, b, '6'), ONES(a, b, '7'), ONES(a, b, '8'), ONES(a, b, '9')
#define HUNDREDS(a)                                                                                \
    TENS(a, '0'), TENS(a, '1'), TENS(a, '2'), TENS(a, '3'), TENS(a, '4'), TENS(a, '5'),            \
        TENS(a, '6'), TENS(a, '7'), TENS(a, '8'), TENS(a, '9')

const char tb__four_digits[40000] = {
    HUNDREDS('0'), HUNDREDS('1'), HUNDREDS('2'), HUNDREDS('3'), HUNDREDS('4'),
    HUNDREDS('5'), HUNDREDS('6'), HUNDREDS('7'), HUNDREDS('8'), HUNDREDS('9'),
};
