/* The generator of forecasts: MT19937, drawn in bulk. */
#ifndef TOLLBOOK_ADVICE_RANDOM_H
#define TOLLBOOK_ADVICE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define TB__RANDOM_BITS  30
#define TB__RANDOM_WORDS 624

typedef struct tb__random {
    uint32_t state[TB__RANDOM_WORDS];
    uint32_t number[TB__RANDOM_WORDS]; /* drawn and not handed out: from `at` to `n` */
    size_t at, n;
} tb__random;

void tb__random_seed(tb__random *random, uint32_t seed);
/* The next numbers below 2^TB__RANDOM_BITS: those of gsl_rng_uniform_int with gsl_rng_mt19937. */
void tb__random_fill(tb__random *random, uint32_t *out, size_t n);

#endif
