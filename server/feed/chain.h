/* Which known segments are an input's: those whose hash agrees with the input's up to their end, and that
 * begin at byte 0 or where another one ends that is the input's. */
#ifndef TOLLBOOK_SERVER_FEED_CHAIN_H
#define TOLLBOOK_SERVER_FEED_CHAIN_H

#include "feed/source.h"

typedef struct feed_link {
    tb_known known;
    bool same;   /* its bytes are the input's */
    char before; /* the byte before its first one; 0 at byte 0 */
} feed_link;

/* links ascend by (start, length), known is filled in. seed: feed_hash_seed. The source can seek;
 * where it stands afterwards is not said. */
TB_MUST_USE tb_code feed_chain_find(feed_source *source, uint64_t seed, feed_link *links, size_t n,
                                    tb_error *err);

#endif
