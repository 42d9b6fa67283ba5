/* See counted.h. */
#include "base/counted.h"

#include <inttypes.h>
#include <stdio.h>

const char *tb__counted(char out[TB__COUNTED_MAX], uint64_t n, const char *thing)
{
    snprintf(out, TB__COUNTED_MAX, "%" PRIu64 " %s%s", n, thing, n == 1 ? "" : "s");
    return out;
}
