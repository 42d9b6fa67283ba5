/* tb_intake_lines: the choice of the parser, and the plain loop over lines that formats without a
 * scan of their own take. */
#include "intake/columns.h"
#include "intake/line.h"
#include "intake/reject.h"

#include <string.h>

/* What one line is, by its format's parser. */
static bool read_line(const tb_log_layout *layout, const char *line, size_t len, tb__memo *memo,
                      tb_hit *hit, tb_reject *reject, bool *ret_ambiguous)
{
    if (layout->format == TB_FORMAT_COMBINED)
        return tb__combined_line(layout, line, len, hit, reject);
    if (layout->format == TB_FORMAT_COLUMNS) {
        const bool accepted = tb__columns_read(layout, line, len, memo, hit, &memo->parts, reject);
        *ret_ambiguous = memo->parts.ambiguous;
        return accepted;
    }
    tb__pipe_parts parts = {.ambiguous = false};
    const bool accepted = tb__pipe_read(layout, line, len, hit, &parts, reject);
    *ret_ambiguous = parts.ambiguous;
    return accepted;
}

/* A head: accepted, or refused where it names other columns. */
static bool take_head(const tb_log_layout *layout, const char *line, size_t len, tb_intake *out)
{
    bool good;
    if (layout->format != TB_FORMAT_COLUMNS || !tb__columns_head(layout->columns, line, len, &good))
        return false;
    if (good) {
        out->n_heads++;
        return true;
    }
    tb_reject *reject = &out->rejects[out->n_rejects];
    (void)tb__reject(reject, line, len, line, TB_REJECT_HEAD);
    reject->line = (uint64_t)out->n_hits + out->n_rejects + out->n_heads + 1;
    out->n_rejects++;
    return true;
}

/* What was refused begins with its byte order mark. */
static void put_back(tb_reject *reject, size_t mark)
{
    reject->text -= mark;
    reject->len += (uint32_t)mark;
    reject->byte += (uint32_t)mark;
}

/* A byte order mark is skipped at the beginning of any line: files with one may be concatenated, and no format has a
 * line that begins with it. */
static void take_line(const tb_log_layout *layout, const char *line, size_t len, tb__memo *memo,
                      tb_intake *out)
{
    tb_hit *hit = &out->hits[out->n_hits];
    tb_reject *reject = &out->rejects[out->n_rejects];
    bool ambiguous = false;
    const size_t mark = tb__mark_len(line, len);
    line += mark;
    len -= mark;
    if (take_head(layout, line, len, out)) return;
    if (read_line(layout, line, len, memo, hit, reject, &ambiguous)) {
        out->n_ambiguous += ambiguous;
        if (out->spans)
            out->spans[out->n_hits] = (tb_span){.line = line, .len = (uint32_t)len};
        out->n_hits++;
        return;
    }
    put_back(reject, mark);
    reject->line = (uint64_t)out->n_hits + out->n_rejects + out->n_heads + 1;
    out->n_rejects++;
}

void tb__line_take(const tb_log_layout *layout, const char *line, size_t len, tb_intake *out)
{
    tb__memo memo;
    tb__memo_init(&memo);
    take_line(layout, line, len, &memo, out);
}

static size_t take_each(const tb_log_layout *layout, const char *bytes, size_t len, tb_intake *out)
{
    size_t at = 0;
    tb__memo memo;
    tb__memo_init(&memo);
    while (at < len && out->n_hits + out->n_rejects < out->room) {
        const char *line = bytes + at;
        const char *newline = memchr(line, '\n', len - at);
        const char *end = newline ? newline : bytes + len;
        take_line(layout, line, tb__line_len(line, end), &memo, out);
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
    out->n_hits = out->n_rejects = out->n_heads = out->n_ambiguous = 0;
    if (layout->format != TB_FORMAT_PIPE) return take_each(layout, bytes, len, out);
    return tb__pipe_scan(best_unit(), layout, bytes, len, out);
}
