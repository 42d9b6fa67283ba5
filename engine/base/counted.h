/* How many of a thing there are, as people say it: "1 zone", "2 zones". The plural is the word and an
 * s. */
#ifndef TB__BASE_COUNTED_H
#define TB__BASE_COUNTED_H

#include <stdint.h>

#define TB__COUNTED_MAX 64
const char *tb__counted(char out[TB__COUNTED_MAX], uint64_t n, const char *thing);
/* The same in a text of its own, which lives as long as the block around it. */
#define TB__COUNTED(n, thing) tb__counted((char[TB__COUNTED_MAX]){0}, (n), (thing))

#endif
