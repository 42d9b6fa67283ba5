/* Linux, unlike POSIX, counts niceness by thread; a new thread has that of the thread that started it. */
#include "http/jobs/background.h"

#include <errno.h>
#include <sys/resource.h>

#define STEPS 7 /* of niceness, a fifth less each: 7 are a fifth */

void run_in_background(void)
{
    errno = 0;
    const int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) (void)!setpriority(PRIO_PROCESS, 0, now + STEPS); /* past 19 it is 19 */
}
