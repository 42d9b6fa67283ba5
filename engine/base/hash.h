/* XXH3 from Debian's libxxhash, in the form that suits the processor (its dispatching functions use
 * AVX2 or AVX-512 if the processor has it, else the plain ones). */
#ifndef TOLLBOOK_BASE_HASH_H
#define TOLLBOOK_BASE_HASH_H

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

/* A secret for the hashes of one table in memory. Strangers choose the texts of a log: a table of
 * such texts hashes them with XXH3_64bits_withSeed and this, else they could choose texts that all
 * fall on one place, and each look would go through all of them. */
uint64_t tb__hash_seed(void);

#endif
