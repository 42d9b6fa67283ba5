/* Members that are missing count as nothing: the server may be an older one. */
#include "cli/remote_report.h"

#include <stdio.h>
#include <string.h>

uint64_t report_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;
    return n > 0 ? (uint64_t)n : 0;
}

static tb_reject_reason reason_of(const char *name)
{
    for (int reason = 0; name && reason < TB_REJECT_MAX_; reason++)
        if (strcmp(name, tb_reject_name((tb_reject_reason)reason)) == 0)
            return (tb_reject_reason)reason;
    return TB_REJECT_COLUMNS;
}

void report_read(const json_t *answer, feed_report *ret_report)
{
    const json_t *first = json_object_get(answer, "firstReject");
    const json_t *fits = json_object_get(answer, "fits");
    *ret_report = (feed_report){
        .lines = report_number(answer, "lines"),
        .accepted = report_number(answer, "accepted"),
        .rejected = report_number(answer, "rejected"),
        .ambiguous = report_number(answer, "ambiguous"),
        .fits.looked = report_number(fits, "looked"),
        .known_lines = report_number(answer, "knownLines"),
        .known_refused = json_is_true(json_object_get(answer, "knownRefused")),
        .undeclared_zone = json_is_true(json_object_get(answer, "undeclaredZone")),
        .unnamed_region = json_is_true(json_object_get(answer, "unnamedRegion")),
        .nothing_new = json_is_true(json_object_get(answer, "duplicate")),
        .first_line = report_number(first, "line"),
        .first_byte = report_number(first, "byte"),
        .first_reason = reason_of(json_string_value(json_object_get(first, "reason"))),
    };
    for (int form = 0; form < FEED_FORM_COUNT; form++)
        ret_report->fits.taken[form] = report_number(fits, feed_form_name((feed_form)form));
    const char *why = json_string_value(json_object_get(first, "message"));
    snprintf(ret_report->first_why, sizeof ret_report->first_why, "%s", why ? why : "");
}
