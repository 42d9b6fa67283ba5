#include "base/hash.h"

#include <sys/random.h>

uint64_t tb__hash_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uintptr_t)&seed; /* no such call: at least where the stack is */
    return seed;
}
