/* tb_intake_lines: the choice of the parser, and the plain loop over lines that formats without a
 * scan of their own take. */
#include "intake/line.h"
#include "intake/reject.h"

#include <string.h>

void tb__line_take(const tb_log_layout *layout, const char *line, size_t len, tb_intake *out)
{
    tb_hit *hit = &out->hits[out->n_hits];
    tb_reject *reject = &out->rejects[out->n_rejects];
    tb__pipe_parts parts = {.ambiguous = false};
    const bool accepted = layout->format == TB_FORMAT_COMBINED
                              ? tb__combined_line(layout, line, len, hit, reject)
                              : tb__pipe_read(layout, line, len, hit, &parts, reject);
    if (accepted) {
        out->n_ambiguous += parts.ambiguous;
        if (out->spans)
            out->spans[out->n_hits] = (tb_span){.line = line, .len = (uint32_t)len};
        out->n_hits++;
        return;
    }
    reject->line = (uint64_t)out->n_hits + out->n_rejects + 1;
    out->n_rejects++;
}

static size_t take_each(const tb_log_layout *layout, const char *bytes, size_t len, tb_intake *out)
{
    size_t at = 0;
    while (at < len && out->n_hits + out->n_rejects < out->room) {
        const char *line = bytes + at;
        const char *newline = memchr(line, '\n', len - at);
        const char *end = newline ? newline : bytes + len;
        tb__line_take(layout, line, tb__line_len(line, end), out);
        at = (size_t)(end - bytes) + (newline != NULL);
    }
    return at;
}

static tb__unit best_unit(void)
{
    tb__unit unit = TB__UNIT_PORTABLE;
    for (unsigned i = 0; i < TB__UNIT_MAX_; i++)
        if (tb__unit_here((tb__unit)i)) unit = (tb__unit)i;
    return unit;
}

size_t tb_intake_lines(const tb_log_layout *layout, const char *bytes, size_t len, tb_intake *out)
{
    out->n_hits = out->n_rejects = out->n_ambiguous = 0;
    if (layout->format == TB_FORMAT_COMBINED) return take_each(layout, bytes, len, out);
    return tb__pipe_scan(best_unit(), layout, bytes, len, out);
}
