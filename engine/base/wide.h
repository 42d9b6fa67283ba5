/* Products of more than 128 bits, of which only the quotients must fit (decimal.c). */
#ifndef TOLLBOOK_BASE_WIDE_H
#define TOLLBOOK_BASE_WIDE_H

#include "base/quick.h"

/* a x b / d, rounded down, and its rest. d in 1..2^127. False: the quotient passes 2^127 - 1. */
TB_MUST_USE bool tb__multiply_divide(tb__u128 a, tb__u128 b, tb__u128 d, tb__u128 *ret_quotient,
                                     tb__u128 *ret_rest);

#endif
