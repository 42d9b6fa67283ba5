/* Finds the known segments that belong to an input: those whose hash equals the input's up to their end, and that begin at
 * byte 0 or at the end of another such segment. */
#ifndef TOLLBOOK_SERVER_FEED_CHAIN_H
#define TOLLBOOK_SERVER_FEED_CHAIN_H

#include "feed/reader.h"

typedef struct feed_link {
    tb_known known;
    bool same;   /* its bytes are the input's */
    char before; /* the byte before its first one; 0 at byte 0 */
} feed_link;

/* Reads the head of an input, and into `layout` (NULL: usage rows) the columns that a log names there. spool: the input is
 * first copied to a temporary file, in which every byte can be sought. The reader was not used before. */
TB_MUST_USE tb_code feed_chain_begin(feed_reader *reader, tb_log_layout *layout, bool spool, tb_hash128 *ret_head,
                                     bool *ret_empty, tb_error *err);
/* links ascend by (start, length), known is filled in. seed: feed_hash_seed. The source can seek;
 * where it stands afterwards is not said. */
TB_MUST_USE tb_code feed_chain_find(feed_source *source, uint64_t seed, feed_link *links, size_t n,
                                    tb_error *err);

#endif
