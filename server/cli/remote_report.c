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

void report_read_applied(const json_t *answer, tb_applied *ret_applied)
{
    *ret_applied = (tb_applied){
        .accounts_added = report_number(answer, "accountsAdded"),
        .zones_added = report_number(answer, "zonesAdded"),
        .balancers_added = report_number(answer, "loadBalancersAdded"),
        .shields_added = report_number(answer, "shieldZonesAdded"),
        .containers_added = report_number(answer, "containersAdded"),
        .changed = report_number(answer, "changed"),
        .deleted = report_number(answer, "deleted"),
        .restored = report_number(answer, "restored"),
        .adopted = report_number(answer, "adopted"),
        .rebilled = report_number(answer, "rebilled"),
    };
}

void report_applied(const cli_call *call, const tb_applied *done)
{
    const size_t added = done->accounts_added + done->zones_added + done->balancers_added +
                         done->shields_added + done->containers_added;
    char containers[100] = "";
    if (added + done->changed + done->deleted + done->restored + done->adopted == 0) {
        cli_say(call, "%s: nothing changed.", call->operands[0]);
        return;
    }
    if (done->containers_added)
        snprintf(containers, sizeof containers,
                 ", and %zu container applications, limits and registries", done->containers_added);
    cli_say(call,
            "%s: %zu accounts, %zu zones, %zu load balancers and %zu shield zones added%s; %zu "
            "changed, %zu deleted, %zu restored; %zu zones with usage joined their account.",
            call->operands[0], done->accounts_added, done->zones_added, done->balancers_added,
            done->shields_added, containers, done->changed, done->deleted, done->restored,
            done->adopted);
    if (done->rebilled)
        cli_say(call,
                "%zu edge locations with usage are billed as another region from now on, in final "
                "invoices excepted. See: SELECT * FROM region_billing ORDER BY version DESC",
                done->rebilled);
}
