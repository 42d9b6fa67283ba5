#include "follow/refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool follow_refused(follow_refused_step *told, uint64_t lines, uint64_t rejected, const feed_report *report,
                    char text[FOLLOW_REFUSED_MAX])
{
    if (report->rejected == 0 || rejected / 10 < *told) return false;
    for (*told = 1; rejected / 10 >= *told;)
        *told *= 10;
    const size_t len = strlen(report->first_why);
    int n = 0;
    if (report->first_line)
        n = snprintf(text, FOLLOW_REFUSED_MAX, "line %" PRIu64 ", byte %" PRIu64 ": %s%s ", report->first_line, report->first_byte,
                     report->first_why, len && report->first_why[len - 1] == '.' ? "" : ".");
    snprintf(text + n, FOLLOW_REFUSED_MAX - (size_t)n, "In all %" PRIu64 " of %" PRIu64 " line%s since the start %s refused.",
             rejected, lines, lines == 1 ? "" : "s", rejected == 1 ? "was" : "were");
    return true;
}
