/* XXH3 from Debian's libxxhash, in the form that suits the processor (its dispatching functions use
 * AVX2 or AVX-512 if the processor has it, else the plain ones). */
#ifndef TOLLBOOK_BASE_HASH_H
#define TOLLBOOK_BASE_HASH_H

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

#endif
