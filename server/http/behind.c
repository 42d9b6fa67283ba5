/* Linux counts niceness by thread, other than POSIX, and a new thread has that of who started it. */
#include "http/behind.h"

#include <errno.h>
#include <sys/resource.h>

#define BEHIND 7 /* steps of niceness, a fifth less each: 7 are a fifth */

void behind_others(void)
{
    errno = 0;
    const int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) (void)!setpriority(PRIO_PROCESS, 0, now + BEHIND); /* past 19 it is 19 */
}
