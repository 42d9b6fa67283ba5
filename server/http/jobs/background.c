/* On Linux, unlike POSIX, niceness belongs to a thread; a new thread inherits it. */
#include "http/jobs/background.h"

#include <errno.h>
#include <sys/resource.h>

#define STEPS 7 /* of niceness; each is a fifth less, so 7 leave a fifth */

void run_in_background(void)
{
    errno = 0;
    const int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) (void)!setpriority(PRIO_PROCESS, 0, now + STEPS); /* past 19 it is 19 */
}
