/* The random numbers of a property: the same state gives the same ones on every compiler. */
#ifndef TB_TESTS_PROP_RANDOM_H
#define TB_TESTS_PROP_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t seed, state;

static inline void begin(void)
{
    state = seed;
}

static inline uint64_t random_bits(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline int64_t below(int64_t n)
{
    return (int64_t)(random_bits() % (uint64_t)n);
}

static inline bool one_in(int n)
{
    return below(n) == 0;
}

#endif
