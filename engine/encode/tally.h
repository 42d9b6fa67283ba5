/* The most frequent values of a tally as JSON. */
#ifndef TOLLBOOK_ENCODE_TALLY_H
#define TOLLBOOK_ENCODE_TALLY_H

#include "base/tally.h"

#include <stdbool.h>

#define TB__TALLY_TOP 100 /* most values that tb__tally_put appends */

/* Appends "name":{"exact":true,"distinct":N,"values":[{"value":"...","COUNTED":N}]}, the most frequent values; where counts are
 * not exact, "exact":false and "missed" in place of "distinct". with_bytes: each value has its "bytes" too. */
void tb__tally_put(const tb__tally *tally, const char *name, size_t most, const char *counted, bool with_bytes, tb_buf *out);

#endif
