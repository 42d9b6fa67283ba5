/* refused: the lines that were refused, of the 72 hours for which their text is kept: how many over time, for which
 * reasons and from which sources, and the lines themselves. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "encode/tally.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#define LOOKED_AT 500000 /* lines at most, the newest */
#define TOP       10     /* reasons and sources that are named */
#define DRAWN     5      /* reasons that have numbers of their own over time */
#define AT_ONCE   4096   /* lines between two looks at the clock */
#define POINTS    120    /* over time, at most */
#define LEAST_US  INT64_C(1000000)

typedef struct search {
    const tb_ops *ops;
    const char *reason, *source, *contains; /* NULL: any */
    int64_t from_us, to_us, first_us, step_us;
    size_t n_points;
    uint64_t looked_at, found, skip, limit;
    int64_t oldest_us; /* of the lines that were looked at */
    bool cut, stopped; /* there are more than LOOKED_AT; the deadline is over */
    tb_code code;
    tb_error *err;
    tb__tally reasons, sources;
    tb_reply *reply; /* gets the lines; NULL on the second pass */
    uint64_t *points; /* a point's lines, then those of each drawn reason; NULL on the first pass */
    tb_text drawn[DRAWN];
    size_t n_drawn;
} search;

static bool is_text(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

/* Readers of JSON stumble over a NUL: it is shown as other bytes are that are no text (U+FFFD). */
static void put_refused_line(const tb_refused_line *l, bool first, tb_reply *reply)
{
    char at[21] = {0}, text[TB_REJECT_TEXT_MAX];
    const size_t n = l->line.len < sizeof text ? l->line.len : sizeof text;
    for (size_t i = 0; i < n; i++)
        text[i] = l->line.text[i] ? l->line.text[i] : '\xff';
    tb_time_format(l->added_us, at);
    tb_buf_fmt(&reply->json, "%s{\"at\":\"%s\",\"source\":", first ? "" : ",", at);
    tb_json_string(&reply->json, l->source, strlen(l->source));
    tb_buf_fmt(&reply->json, ",\"line\":%" PRIu64 ",\"byte\":%" PRIu32 ",\"reason\":", l->line.line, l->line.byte);
    tb_json_string(&reply->json, l->line.reason, strlen(l->line.reason));
    tb_buf_str(&reply->json, ",\"text\":");
    if (n) tb_json_string(&reply->json, text, n);
    else tb_buf_str(&reply->json, "null");
    tb_buf_str(&reply->json, "}");
    tb_buf_fmt(&reply->out, "%s\t", at);
    tb__put_cell(&reply->out, l->source, strlen(l->source));
    tb_buf_fmt(&reply->out, "\t%" PRIu64 "\t%" PRIu32 "\t", l->line.line, l->line.byte);
    tb__put_cell(&reply->out, l->line.reason, strlen(l->line.reason));
    tb_buf_str(&reply->out, "\t");
    tb__put_cell(&reply->out, text, n);
    tb_buf_str(&reply->out, "\n");
}

/* The first pass: counts, and the lines. */
static void count_line(search *s, const tb_refused_line *l)
{
    const tb_text reason = {l->line.reason, strlen(l->line.reason)}, source = {l->source, strlen(l->source)};
    s->code = tb__tally_add(&s->reasons, reason, 1, 0, s->err);
    if (!s->code) s->code = tb__tally_add(&s->sources, source, 1, 0, s->err);
    if (s->found >= s->skip && s->found - s->skip < s->limit) put_refused_line(l, s->found == s->skip, s->reply);
    s->found++;
}

/* The second pass: over time, by the reasons that the first one found to be the most frequent. */
static void draw_line(search *s, const tb_refused_line *l)
{
    uint64_t *point = s->points + (size_t)((l->added_us - s->first_us) / s->step_us) * (1 + DRAWN);
    const size_t len = strlen(l->line.reason);
    point[0]++;
    for (size_t i = 0; i < s->n_drawn; i++)
        if (s->drawn[i].len == len && memcmp(s->drawn[i].data, l->line.reason, len) == 0) point[1 + i]++;
}

static bool look_at_line(void *ctx, const tb_refused_line *l)
{
    search *s = ctx;
    if (s->looked_at == LOOKED_AT) {
        s->cut = true;
        return false;
    }
    if (++s->looked_at % AT_ONCE == 0 && s->ops->step && !s->ops->step(s->ops->ctx, s->looked_at, 0)) {
        s->stopped = true;
        return false;
    }
    s->oldest_us = l->added_us;
    if (!is_text(s->reason, l->line.reason) || !is_text(s->source, l->source)) return true;
    if (s->contains && (!l->line.len || !memmem(l->line.text, l->line.len, s->contains, strlen(s->contains)))) return true;
    if (s->points) draw_line(s, l);
    else count_line(s, l);
    return s->code == TB_OK;
}

static tb_code pass(search *s, bool texts, tb_error *err)
{
    s->looked_at = 0;
    s->err = err;
    tb_code code = tb_store_refused_lines(s->ops->store, s->from_us, s->to_us, texts, look_at_line, s, err);
    if (!code) code = s->code;
    if (!code && s->stopped) code = tb_fail(err, TB_E_STOPPED, NULL, NULL);
    return code;
}

static void put_answer(const search *s, tb_buf *out)
{
    char at[21] = {0};
    tb_buf_fmt(out, "],\"hasMore\":%s,\"complete\":%s,", s->found > s->skip + s->limit ? "true" : "false",
               s->cut ? "false" : "true");
    tb_time_format(s->cut ? s->oldest_us : s->from_us, at);
    tb_buf_fmt(out, "\"from\":\"%s\",", at);
    tb_time_format(s->to_us, at);
    tb_buf_fmt(out, "\"to\":\"%s\",\"stepSeconds\":%" PRId64 ",\"totals\":{\"lines\":%" PRIu64 "},\"reasons\":[", at,
               s->step_us / 1000000, s->found);
    for (size_t i = 0; i < s->n_drawn; i++) {
        tb_buf_str(out, i ? "," : "");
        tb_json_string(out, s->drawn[i].data, s->drawn[i].len);
    }
    tb_buf_str(out, "],\"points\":[");
    for (size_t p = 0; p < s->n_points; p++) {
        tb_time_format(s->first_us + (int64_t)p * s->step_us, at);
        tb_buf_fmt(out, "%s{\"at\":\"%s\",\"lines\":%" PRIu64 ",\"byReason\":[", p ? "," : "", at, s->points[p * (1 + DRAWN)]);
        for (size_t i = 0; i < s->n_drawn; i++)
            tb_buf_fmt(out, "%s%" PRIu64, i ? "," : "", s->points[p * (1 + DRAWN) + 1 + i]);
        tb_buf_str(out, "]}");
    }
    tb_buf_str(out, "],\"top\":{");
    tb__tally_put(&s->reasons, "reason", TOP, "lines", false, out);
    tb_buf_str(out, ",");
    tb__tally_put(&s->sources, "source", TOP, "lines", false, out);
    tb_buf_str(out, "}}");
}

/* Only the 72 hours for which text is kept. */
static tb_code read_search(const tb_ops *ops, const tb_args *args, search *s, tb_error *err)
{
    const tb_arg *reason = tb_arg_of(args, "reason"), *source = tb_arg_of(args, "source"), *contains = tb_arg_of(args, "contains");
    s->to_us = ops->now_us + LEAST_US;
    s->from_us = ops->now_us - TB_REJECT_KEPT_US;
    tb_code code = tb_arg_moment(args, "to", &s->to_us, err);
    if (!code) code = tb_arg_moment(args, "from", &s->from_us, err);
    if (code) return code;
    if (s->from_us < ops->now_us - TB_REJECT_KEPT_US) s->from_us = ops->now_us - TB_REJECT_KEPT_US;
    if (s->to_us > ops->now_us + TB_REJECT_KEPT_US) s->to_us = ops->now_us + TB_REJECT_KEPT_US;
    if (s->to_us <= s->from_us)
        return tb_fail(err, TB_E_VALIDATION, "to", "to is after from, and both are within the last 72 hours.");
    s->reason = reason ? reason->text.data : NULL;
    s->source = source ? source->text.data : NULL;
    s->contains = contains ? contains->text.data : NULL;
    s->skip = (uint64_t)tb_arg_of(args, "offset")->number;
    s->limit = (uint64_t)tb_arg_of(args, "limit")->number;
    s->step_us = tb_step_ms((s->to_us - s->from_us + 999) / 1000, POINTS) * 1000;
    s->first_us = s->from_us - s->from_us % s->step_us;
    s->n_points = (size_t)((s->to_us - 1 - s->first_us) / s->step_us) + 1;
    return TB_OK;
}

static tb_code show_refused(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    search s = {.ops = ops, .reply = reply};
    const tb__tally_entry *top[DRAWN];
    tb_code code = read_search(ops, args, &s, err);
    if (code) return code;
    tb__tally_init(&s.reasons);
    tb__tally_init(&s.sources);
    tb_buf_str(&reply->out, "taken in\tsource\tline\tbyte\treason\ttext\n");
    tb_buf_str(&reply->json, "{\"lines\":[");
    code = pass(&s, true, err);
    if (!code) {
        s.n_drawn = tb__tally_top(&s.reasons, DRAWN, top);
        for (size_t i = 0; i < s.n_drawn; i++)
            s.drawn[i] = tb__tally_text(&s.reasons, top[i]);
        s.points = calloc(s.n_points * (1 + DRAWN), sizeof *s.points);
        code = s.points ? pass(&s, s.contains != NULL, err) : tb_no_memory(err);
    }
    if (!code) {
        put_answer(&s, &reply->json);
        tb_reply_say(reply, "%" PRIu64 " refused line%s%s.", s.found, s.found == 1 ? "" : "s",
                     s.cut ? ", of the newest 500,000" : "");
        tb__print_answer(args, reply);
    }
    free(s.points);
    tb__tally_release(&s.reasons);
    tb__tally_release(&s.sources);
    return code;
}
_Static_assert(LOOKED_AT == 500000, "as the sentence says");

static const tb_param params[] = {
    {.name = "from", .value = "TIME", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "lines that were taken in from then on; default: 72 hours ago"},
    {.name = "to", .value = "TIME", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "lines that were taken in before it; default: now"},
    {.name = "reason", .value = "TEXT", .kind = TB_PARAM_TEXT, .min = 1, .max = 1000, .help = "only lines with this reason"},
    {.name = "source", .value = "TEXT", .kind = TB_PARAM_TEXT, .min = 1, .max = 4096, .help = "only lines of this source"},
    {.name = "contains", .value = "TEXT", .kind = TB_PARAM_TEXT, .min = 1, .max = 1000,
     .help = "only lines with this in their text"},
    {.name = "limit", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = 1000, .otherwise = "100",
     .help = "how many lines are shown; default 100"},
    {.name = "offset", .value = "N", .kind = TB_PARAM_NUMBER, .min = 0, .max = LOOKED_AT, .otherwise = "0",
     .help = "how many lines to skip"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "refused",
     .summary = "List refused lines, the newest first, and count them by reason, source and time",
     .details = "Lines that were taken in within the last 72 hours, while their text is kept; at most the newest\n"
                "500,000 are looked at. As JSON the answer has counts over time, reasons and sources too.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = show_refused},
};
const tb__operations tb__refused_operations = TB__OPERATIONS(rows);
