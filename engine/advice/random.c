/* MT19937 (Matsumoto and Nishimura, 1998), a whole state at a time: loops over arrays, which compilers turn into vector
 * instructions, in place of a call of GSL for each number. The numbers are GSL's, so that a seed keeps its forecast. */
#include "advice/random.h"

#include <string.h>

#define SHIFT     397
#define SEED_OF_0 4357 /* GSL's */

static inline uint32_t twisted(uint32_t high, uint32_t low, uint32_t shifted)
{
    const uint32_t y = (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));
    return shifted ^ (y >> 1) ^ (UINT32_C(0x9908b0df) & (0 - (low & 1)));
}

static inline uint32_t tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

void tb__random_seed(tb__random *random, uint32_t seed)
{
    uint32_t *s = random->state;
    s[0] = seed ? seed : SEED_OF_0;
    for (uint32_t i = 1; i < TB__RANDOM_WORDS; i++)
        s[i] = UINT32_C(1812433253) * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
    random->at = random->n = 0;
}

/* Of 2^32 words, 3 x 2^30 give a number, which is a third of theirs; the rest are passed over, as GSL does. */
static void draw(tb__random *random)
{
    uint32_t *s = random->state;
    uint32_t third[TB__RANDOM_WORDS];
    size_t n = 0;
    for (size_t i = 0; i < TB__RANDOM_WORDS - SHIFT; i++)
        s[i] = twisted(s[i], s[i + 1], s[i + SHIFT]);
    for (size_t i = TB__RANDOM_WORDS - SHIFT; i < TB__RANDOM_WORDS - 1; i++)
        s[i] = twisted(s[i], s[i + 1], s[i + SHIFT - TB__RANDOM_WORDS]);
    s[TB__RANDOM_WORDS - 1] = twisted(s[TB__RANDOM_WORDS - 1], s[0], s[SHIFT - 1]);
    for (size_t i = 0; i < TB__RANDOM_WORDS; i++)
        third[i] = tempered(s[i]) / 3;
    for (size_t i = 0; i < TB__RANDOM_WORDS; i++) {
        random->number[n] = third[i];
        n += third[i] >> TB__RANDOM_BITS == 0;
    }
    random->at = 0;
    random->n = n;
}

void tb__random_fill(tb__random *random, uint32_t *out, size_t n)
{
    while (n > 0) {
        if (random->at == random->n) draw(random);
        const size_t left = random->n - random->at, take = n < left ? n : left;
        memcpy(out, random->number + random->at, take * sizeof *out);
        random->at += take;
        out += take;
        n -= take;
    }
}
