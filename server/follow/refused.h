/* When a follower, or a stream without end, reports refused lines: at the first, the tenth, the hundredth of all and so
 * on. So a log that is wrong as a whole is noticed, and clients that send garbage do not fill the journal. */
#ifndef TOLLBOOK_SERVER_FOLLOW_REFUSED_H
#define TOLLBOOK_SERVER_FOLLOW_REFUSED_H

#include "feed/feed.h"

#define FOLLOW_REFUSED_MAX (FEED_WHY_MAX + 200)

typedef uint64_t follow_refused_step; /* refused lines at the last report, a power of ten; 0: none */

/* Whether a report is due, with `rejected` of `lines` lines refused since the start; report: the newest piece. The text
 * follows the log's name: its newest refused line, then the numbers of all logs. */
bool follow_refused(follow_refused_step *told, uint64_t lines, uint64_t rejected, const feed_report *report,
                    char text[FOLLOW_REFUSED_MAX]);

#endif
