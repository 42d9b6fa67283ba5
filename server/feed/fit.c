/* Each form is asked through its own reader, so that what is said to fit does. */
#include "feed/fit.h"

#include <string.h>

#include "tollbook/event.h"

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

static bool is_line(tb_log_format format, int64_t now_ms, const char *line, size_t len)
{
    tb_hit hit;
    tb_reject reject;
    tb_intake got = {.hits = &hit, .rejects = &reject, .room = 1};
    const tb_log_layout layout = {
        .format = format, .now_ms = now_ms, .zone = 1, .edge = "-", .edge_len = 1};
    tb_intake_lines(&layout, line, len, &got);
    return got.n_hits == 1;
}

static bool is_row(int64_t now_ms, const char *line, size_t len)
{
    tb_row row;
    tb_reject reject;
    tb_error why;
    return tb_event_line(line, len) || tb_row_parse(line, len, now_ms, &row, &reject, &why);
}

void feed_fits_look(feed_fits *fits, tb_batch_kind kind, const tb_log_layout *layout,
                    const char *line, size_t len)
{
    char copy[TB_REJECT_TEXT_MAX + TB_INTAKE_SLACK];
    if (len == 0 || len > TB_REJECT_TEXT_MAX || fits->looked == FEED_FIT_LINES) return;
    memcpy(copy, line, len);
    memset(copy + len, 0, TB_INTAKE_SLACK);
    const bool log = kind == TB_BATCH_LOG, combined = log && layout->format == TB_FORMAT_COMBINED;
    fits->looked++;
    if (!log || combined)
        fits->taken[FEED_FORM_PIPE] += is_line(TB_FORMAT_PIPE, layout->now_ms, copy, len);
    if (!log || !combined)
        fits->taken[FEED_FORM_COMBINED] += is_line(TB_FORMAT_COMBINED, layout->now_ms, copy, len);
    if (log) fits->taken[FEED_FORM_ROWS] += is_row(layout->now_ms, copy, len);
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
