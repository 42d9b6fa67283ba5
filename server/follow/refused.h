/* When a follower, or a stream without end, tells of refused lines: at the first, the tenth, the hundredth of all
 * and so on. So a log that is wrong as a whole is noticed, and clients that send nonsense fill no journal. */
#ifndef TOLLBOOK_SERVER_FOLLOW_REFUSED_H
#define TOLLBOOK_SERVER_FOLLOW_REFUSED_H

#include "feed/feed.h"

#define FOLLOW_REFUSED_MAX (FEED_WHY_MAX + 200)

typedef uint64_t follow_refused_step; /* so many have been told of; 0: none */

/* Whether there is something to say, of `rejected` lines of `lines` since the start; report: the newest of them.
 * The text stands behind a log's name: its newest refused line, then how many of all logs. */
bool follow_refused(follow_refused_step *told, uint64_t lines, uint64_t rejected, const feed_report *report,
                    char text[FOLLOW_REFUSED_MAX]);

#endif
