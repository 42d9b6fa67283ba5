/* What must hold for tb_intake_lines on any bytes, for the property test and the fuzzer alike:
 *
 *   - each line is accepted or rejected, and the line numbers of the rejected ones ascend;
 *   - records hold to the limits that intake.h promises;
 *   - every vector unit reads what the careful parser of one line reads;
 *   - reading in two calls, cut at any line's end, gives the same records;
 *   - what lies behind the input changes nothing;
 *   - a line's columns are the same where the reading noted them and where they are looked for.
 *
 * Each check names what it found wrong, or is NULL. */
#ifndef TB_TESTS_INTAKE_CHECK_H
#define TB_TESTS_INTAKE_CHECK_H

#include "intake/line.h"
#include "intake/reject.h"
#include "tollbook/requestlog.h"

#include <stdlib.h>
#include <string.h>

/* Everything a run over some bytes says. */
typedef struct intake_run {
    tb_hit *hits;
    tb_reject *rejects;
    tb_span *spans;
    size_t n_hits, n_rejects, n_heads, n_ambiguous, cap;
} intake_run;

typedef size_t intake_reader(const tb_log_layout *layout, const char *bytes, size_t len,
                             tb_intake *out);

static size_t read_with_portable(const tb_log_layout *layout, const char *bytes, size_t len,
                                 tb_intake *out)
{
    out->n_hits = out->n_rejects = out->n_heads = out->n_ambiguous = 0;
    return tb__pipe_scan(TB__UNIT_PORTABLE, layout, bytes, len, out);
}

static size_t read_with_avx2(const tb_log_layout *layout, const char *bytes, size_t len,
                             tb_intake *out)
{
    out->n_hits = out->n_rejects = out->n_ambiguous = 0;
    return tb__pipe_scan(TB__UNIT_AVX2, layout, bytes, len, out);
}

static size_t read_with_avx512(const tb_log_layout *layout, const char *bytes, size_t len,
                               tb_intake *out)
{
    out->n_hits = out->n_rejects = out->n_ambiguous = 0;
    return tb__pipe_scan(TB__UNIT_AVX512, layout, bytes, len, out);
}

/* One line after the other through the parser that decides. */
static size_t read_carefully(const tb_log_layout *layout, const char *bytes, size_t len,
                             tb_intake *out)
{
    size_t at = 0;
    out->n_hits = out->n_rejects = out->n_ambiguous = 0;
    while (at < len && out->n_hits + out->n_rejects < out->room) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        const size_t end = newline ? (size_t)(newline - bytes) : len;
        tb__line_take(layout, bytes + at, tb__line_len(bytes + at, bytes + end), out);
        at = end + (newline != NULL);
    }
    return at;
}

/* Reads all of bytes, `room` lines a call; the rejects' lines are numbered through. */
static void intake_run_all(intake_run *run, intake_reader *reader, const tb_log_layout *layout,
                           const char *bytes, size_t len, size_t room)
{
    size_t at = 0;
    while (at < len) {
        tb_intake out = {.hits = run->hits + run->n_hits,
                         .rejects = run->rejects + run->n_rejects,
                         .spans = run->spans + run->n_hits,
                         .room = room};
        const uint64_t before = run->n_hits + run->n_rejects + run->n_heads;
        if (run->cap - before < room) out.room = run->cap - before;
        at += reader(layout, bytes + at, len - at, &out);
        for (size_t i = 0; i < out.n_rejects; i++)
            out.rejects[i].line += before;
        run->n_hits += out.n_hits;
        run->n_rejects += out.n_rejects;
        run->n_heads += out.n_heads;
        run->n_ambiguous += out.n_ambiguous;
    }
}

static void intake_run_make(intake_run *run, size_t lines)
{
    *run = (intake_run){.cap = lines + 1};
    run->hits = calloc(run->cap, sizeof *run->hits);
    run->rejects = calloc(run->cap, sizeof *run->rejects);
    run->spans = calloc(run->cap, sizeof *run->spans);
    if (!run->hits || !run->rejects || !run->spans) abort();
}

static void intake_run_free(intake_run *run)
{
    free(run->hits);
    free(run->rejects);
    free(run->spans);
}

static bool same_hit(const tb_hit *a, const tb_hit *b)
{
    return a->zone == b->zone && a->bytes == b->bytes && a->hour == b->hour &&
           a->status == b->status && a->country == b->country && a->cache == b->cache &&
           a->edge_len == b->edge_len && memcmp(a->edge, b->edge, a->edge_len) == 0;
}

static bool same_reject(const tb_reject *a, const tb_reject *b)
{
    return a->line == b->line && a->byte == b->byte && a->len == b->len && a->reason == b->reason &&
           memcmp(a->text, b->text, a->len) == 0;
}

static bool same_text(tb_text a, tb_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* An accepted line by its span and by itself. */
static bool same_columns(const tb_log_layout *layout, const tb_hit *hit, const tb_span *span)
{
    tb_logline a, b;
    tb_logline_of(layout, hit, span, &a);
    tb_logline_read(layout, span->line, span->len, &b);
    return a.time_ms == b.time_ms && a.time_ms / 3600000 == hit->hour && a.bytes == b.bytes &&
           a.bytes == hit->bytes && a.body_bytes == b.body_bytes && same_text(a.cache, b.cache) &&
           same_text(a.status, b.status) && same_text(a.ip, b.ip) &&
           same_text(a.referer, b.referer) && same_text(a.origin, b.origin) &&
           same_text(a.path, b.path) && same_text(a.edge, b.edge) &&
           a.edge.len == hit->edge_len && a.edge.data == hit->edge &&
           same_text(a.agent, b.agent) && same_text(a.id, b.id) &&
           same_text(a.country, b.country) && same_text(a.range, b.range) &&
           same_text(a.authorization, b.authorization);
}

static bool same_spans(const tb_log_layout *layout, const intake_run *run)
{
    for (size_t i = 0; i < run->n_hits; i++)
        if (!same_columns(layout, &run->hits[i], &run->spans[i])) return false;
    return true;
}

static bool same_run(const intake_run *a, const intake_run *b)
{
    if (a->n_hits != b->n_hits || a->n_rejects != b->n_rejects) return false;
    if (a->n_ambiguous != b->n_ambiguous) return false;
    for (size_t i = 0; i < a->n_hits; i++)
        if (!same_hit(&a->hits[i], &b->hits[i])) return false;
    for (size_t i = 0; i < a->n_rejects; i++)
        if (!same_reject(&a->rejects[i], &b->rejects[i])) return false;
    return true;
}

static const char *check_hit(const tb_log_layout *layout, const tb_hit *hit)
{
    if (hit->zone < 1) return "zone out of range";
    if (hit->bytes > TB_HIT_BYTES_MAX) return "bytes out of range";
    if (hit->status < 100 || hit->status > 599) return "status out of range";
    if (hit->cache > TB_CACHE_UNKNOWN) return "cache out of range";
    if (hit->edge_len < 1 || hit->edge_len > TB_EDGE_MAX) return "edge length out of range";
    if (hit->hour < TB_OLDEST_MS / 3600000) return "hour too old";
    if (hit->hour > (layout->now_ms + TB_AHEAD_MS) / 3600000) return "hour too new";
    return NULL;
}

static const char *check_records(const tb_log_layout *layout, const intake_run *run)
{
    const char *wrong;
    for (size_t i = 0; i < run->n_hits; i++)
        if ((wrong = check_hit(layout, &run->hits[i])) != NULL) return wrong;
    for (size_t i = 0; i < run->n_rejects; i++) {
        const tb_reject *reject = &run->rejects[i];
        if (i && reject->line <= run->rejects[i - 1].line) return "reject lines do not ascend";
        if (reject->byte < 1 || reject->byte > reject->len + 1) return "reject outside its line";
        if ((unsigned)reject->reason >= TB_REJECT_MAX_) return "reject without a reason";
    }
    return NULL;
}

static size_t count_lines(const char *bytes, size_t len)
{
    size_t lines = 0;
    for (size_t i = 0; i < len; i++)
        lines += bytes[i] == '\n';
    return lines + (len > 0 && bytes[len - 1] != '\n');
}

/* A copy with TB_INTAKE_SLACK bytes behind it, all of them `behind`. */
static char *with_slack(const char *bytes, size_t len, int behind)
{
    char *copy = malloc(len + TB_INTAKE_SLACK);
    if (!copy) abort();
    if (len) memcpy(copy, bytes, len);
    memset(copy + len, behind, TB_INTAKE_SLACK);
    return copy;
}

/* Reads with another reader, other slack, other room and a cut, and compares. */
static const char *check_same(const intake_run *want, intake_reader *reader,
                              const tb_log_layout *layout, const char *bytes, size_t len,
                              size_t cut, size_t room, int behind)
{
    intake_run run;
    intake_run_make(&run, want->cap - 1);
    char *first = with_slack(bytes, cut, behind);
    char *second = with_slack(bytes + cut, len - cut, behind);
    intake_run_all(&run, reader, layout, first, cut, room);
    intake_run_all(&run, reader, layout, second, len - cut, room);
    const bool same = same_run(want, &run), spans = same_spans(layout, &run);
    intake_run_free(&run);
    free(first);
    free(second);
    if (!same) return "another way of reading gives other records";
    return spans ? NULL : "a line's span gives other columns";
}

/* The end of a line, anywhere from `from` on, or 0. */
static size_t find_cut(const char *bytes, size_t len, size_t from)
{
    const char *newline = from < len ? memchr(bytes + from, '\n', len - from) : NULL;
    return newline ? (size_t)(newline - bytes) + 1 : 0;
}

/* All of it; `choice` picks cut and room. */
static const char *intake_check(const tb_log_layout *layout, const char *bytes, size_t len,
                                uint64_t choice)
{
    static intake_reader *const scans[TB__UNIT_MAX_] = {read_with_portable, read_with_avx2,
                                                        read_with_avx512};
    const size_t lines = count_lines(bytes, len), room = 1 + choice % 7 * 30;
    const size_t cut = find_cut(bytes, len, len ? (size_t)(choice >> 8) % len : 0);
    intake_run want;
    intake_run_make(&want, lines);
    intake_run_all(&want, read_carefully, layout, bytes, len, lines + 1);
    const char *wrong = check_records(layout, &want);
    if (!wrong && want.n_hits + want.n_rejects + want.n_heads != lines) wrong = "lines are lost";
    if (!wrong && want.n_ambiguous > want.n_hits) wrong = "more is ambiguous than accepted";
    if (!wrong) wrong = check_same(&want, tb_intake_lines, layout, bytes, len, 0, lines + 1, '|');
    if (!wrong) wrong = check_same(&want, tb_intake_lines, layout, bytes, len, cut, room, '\n');
    for (unsigned u = 0; u < TB__UNIT_MAX_ && !wrong && layout->format == TB_FORMAT_PIPE; u++)
        if (tb__unit_here((tb__unit)u))
            wrong = check_same(&want, scans[u], layout, bytes, len, cut, room, '9');
    intake_run_free(&want);
    return wrong;
}

#endif
