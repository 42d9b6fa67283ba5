/* The search for the known prefix of an input, for its reader (reader.h). */
#ifndef TOLLBOOK_SERVER_FEED_PREFIX_H
#define TOLLBOOK_SERVER_FEED_PREFIX_H

#include "feed/reader.h"

/* Where the next candidate could end: the least length past reader->at of those whose start is known. 0: there is none.
 * Candidates longer than the input are none. */
uint64_t feed_prefix_next(const feed_reader *reader);
/* Whether a candidate ends at reader->at with the running hash; then the known prefix does too. whole: a line ends there. */
bool feed_prefix_met(feed_reader *reader, bool whole);
/* Whether the end of the input may show that it is an earlier copy: a known log continues, and the last rung passed is one
 * of its rungs. */
bool feed_prefix_may_be_earlier(const feed_reader *reader);

#endif
