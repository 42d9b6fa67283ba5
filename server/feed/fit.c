/* Tries each form with its own reader, so that a form is only named if it does accept the lines. */
#include "feed/fit.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "feed/feed.h"
#include "tollbook/event.h"
#include "tollbook/intake.h"

static const struct {
    const char *name, *what, *command;
} forms[FEED_FORM_COUNT] = {
#define TB_X(name, label, what, command) [FEED_FORM_##name] = {label, what, command},
    FEED_FORMS(TB_X)
#undef TB_X
};

const char *feed_form_name(feed_form form)
{
    return forms[form].name;
}

const char *feed_form_what(feed_form form)
{
    return forms[form].what;
}

const char *feed_form_command(feed_form form)
{
    return forms[form].command;
}

/* The name of each log form in tb_log_layout; NULL: not a log. */
static const struct {
    const char *format, *map;
} layouts[FEED_FORM_COUNT] = {
    [FEED_FORM_PIPE] = {"pipe", ""},
    [FEED_FORM_COMBINED] = {"combined", ""},
    [FEED_FORM_VCOMBINED] = {"vcombined", ""},
    [FEED_FORM_VHOST] = {FEED_VHOST, ""},
    [FEED_FORM_VHOST_COMMON] = {FEED_VHOST_COMMON, ""},
    [FEED_FORM_CLOUDFRONT] = {"cloudfront", ""},
    [FEED_FORM_CADDY] = {"json", "caddy"},
    [FEED_FORM_CLOUDFLARE] = {"json", "cloudflare"},
    [FEED_FORM_FASTLY] = {"json", "fastly"},
};

#define ANY_TIME (INT64_MAX / 2) /* as now: no line is too new */

static tb_text take_word(tb_text *line)
{
    const char *space = memchr(line->data, ' ', line->len);
    const tb_text word = {line->data, space ? (size_t)(space - line->data) : line->len};
    const size_t taken = word.len + (space != NULL);
    *line = (tb_text){line->data + taken, line->len - taken};
    return word;
}

static bool is_address(tb_text text)
{
    struct in6_addr address;
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    return inet_pton(AF_INET, copy, &address) == 1 || inet_pton(AF_INET6, copy, &address) == 1;
}

/* A combined line begins with the client's address and then "-" (RFC 1413, which clients hardly send). So a line has a host
 * in front if it begins with a name, or if its second word is an address. */
static bool has_host_in_front(const char *line, size_t len)
{
    tb_text rest = {line, len};
    const tb_text first = take_word(&rest), second = take_word(&rest);
    return is_address(second) || (memchr(first.data, '.', first.len) && !is_address(first));
}

/* Which forms a line may have that begins with a host, or with none. */
static bool may_be(feed_form form, bool host)
{
    if (form == FEED_FORM_VCOMBINED || form == FEED_FORM_VHOST || form == FEED_FORM_VHOST_COMMON) return host;
    return form != FEED_FORM_COMBINED || !host;
}

static bool is_line(feed_form form, int64_t now_ms, const char *line, size_t len)
{
    tb_hit hit;
    tb_reject reject;
    tb_log_layout layout;
    tb_error err;
    tb_intake got = {.hits = &hit, .rejects = &reject, .room = 1};
    const char *format = layouts[form].format, *map = layouts[form].map;
    const tb_log_spec spec = {.format = {format, strlen(format)}, .map = {map, strlen(map)},
                              .zone = form == FEED_FORM_PIPE ? 0 : 1};
    if (tb_log_layout_init(&layout, &spec, &err) != TB_OK) return false;
    layout.now_ms = now_ms;
    tb_intake_lines(&layout, line, len, &got);
    tb_log_layout_release(&layout);
    return got.n_hits == 1;
}

/* Whether the lines were taken for this form already. */
static bool is_own(feed_form form, const tb_log_layout *layout)
{
    tb_log_spec spec;
    tb_log_layout_identity(layout, &spec);
    const char *format = layouts[form].format, *map = layouts[form].map;
    return spec.format.len == strlen(format) && memcmp(spec.format.data, format, spec.format.len) == 0 &&
           spec.map.len == strlen(map) && memcmp(spec.map.data, map, spec.map.len) == 0;
}

static bool is_row(int64_t now_ms, const char *line, size_t len)
{
    tb_row row;
    tb_reject reject;
    tb_error why;
    return tb_event_line(line, len) || tb_meter_line_is(line, len) || tb_row_parse(line, len, now_ms, &row, &reject, &why);
}

void feed_fits_look(feed_fits *fits, tb_batch_kind kind, const tb_log_layout *layout,
                    const char *line, size_t len)
{
    char copy[TB_REJECT_TEXT_MAX + TB_INTAKE_SLACK];
    if (len == 0 || len > TB_REJECT_TEXT_MAX || fits->looked == FEED_FIT_LINES) return;
    memcpy(copy, line, len);
    memset(copy + len, 0, TB_INTAKE_SLACK);
    const bool log = kind == TB_BATCH_LOG, host = has_host_in_front(copy, len);
    fits->looked++;
    for (int form = 0; form < FEED_FORM_COUNT; form++)
        if (layouts[form].format && may_be((feed_form)form, host) && !(log && is_own((feed_form)form, layout)))
            fits->taken[form] += is_line((feed_form)form, layout->now_ms, copy, len);
    if (log) fits->taken[FEED_FORM_ROWS] += is_row(layout->now_ms, copy, len);
}

bool feed_fits_host(const tb_log_layout *layout, tb_text beginning, feed_form *ret_form)
{
    static const feed_form with_host[] = {FEED_FORM_VCOMBINED, FEED_FORM_VHOST, FEED_FORM_VHOST_COMMON};
    char line[TB_REJECT_TEXT_MAX + TB_INTAKE_SLACK] = {0};
    const char *end = beginning.len ? memchr(beginning.data, '\n', beginning.len) : NULL;
    const size_t len = end ? (size_t)(end - beginning.data) : beginning.len;
    if (layout->format != TB_FORMAT_COMBINED || len == 0 || len > TB_REJECT_TEXT_MAX) return false;
    memcpy(line, beginning.data, len);
    if (!has_host_in_front(line, len) || !is_line(FEED_FORM_COMBINED, ANY_TIME, line, len)) return false;
    for (size_t i = 0; i < sizeof with_host / sizeof *with_host; i++) {
        *ret_form = with_host[i];
        if (is_line(with_host[i], ANY_TIME, line, len)) return true;
    }
    *ret_form = FEED_FORM_VHOST;
    return true;
}

void feed_fits_warn(feed_form form, char text[FEED_HOST_WARNING])
{
    snprintf(text, FEED_HOST_WARNING,
             "warning: a host stands in front of its first line, and --zone gives every line to one pull zone, whatever "
             "its host. `ingest --withdraw` takes back what was taken. Each line goes to the pull zone that has its host "
             "with: %s",
             feed_form_command(form));
}

bool feed_place_warn(const feed_report *report, const tb_log_layout *layout, char text[FEED_PLACE_WARNING])
{
    const bool zone = report->undeclared_zone, region = report->unnamed_region;
    int n = 0;
    if (report->accepted == 0 || (!zone && !region)) return false;
    if (zone)
        n = snprintf(text, FEED_PLACE_WARNING,
                     "warning: no catalogue declares pull zone %" PRId64 ": its usage belongs to no account and is "
                     "not billed until one does.", layout->zone);
    if (region)
        snprintf(text + n, FEED_PLACE_WARNING - (size_t)n,
                 "%s no region has the edge location %.*s: usage there has no price until the catalogue's regions name it.",
                 zone ? " And" : "warning:", layout->edge_len, layout->edge);
    return true;
}

bool feed_fits_best(const feed_fits *fits, feed_form *ret_form)
{
    for (int form = 0; form < FEED_FORM_COUNT; form++) {
        if (fits->taken[form] * 2 <= fits->looked) continue;
        *ret_form = (feed_form)form;
        return true;
    }
    return false;
}
