/* What an operation prints, in the format that was asked for: TB__PARAM_FORMAT. An operation prints its table, rows of
 * cells with a tab between under a head, or text for people; JSON is its answer. CSV is made of the rows, or of the
 * answer's fields where the table is text. */
#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "ops/operations.h"

#define BLANKS    " \t\r\n"
#define DEPTH_MAX 32 /* of an answer; ours have 6 */
#define PATH_MAX_ ((size_t)1 << 20)

/* --- an answer's fields --- */

/* Walks over an answer, which is well formed. The path leads to the value that is read: "days[0].net". */
typedef struct walk {
    tb_buf path, text;
    size_t depth;
    size_t outside[DEPTH_MAX]; /* the path's length outside the object or list */
    uint64_t index[DEPTH_MAX]; /* of the next value of a list */
    bool is_list[DEPTH_MAX];
} walk;

/* From the opening quote on; returns what follows the closing one. */
static const char *take_string(const char *at, const char *end, tb_buf *text)
{
    text->len = 0;
    for (at++; at < end && *at != '"';) {
        char decoded[8], *to = decoded;
        const size_t n = *at == '\\' ? tb__unescape(at, end, &to) : 0;
        tb_buf_add(text, n ? decoded : at, n ? (size_t)(to - decoded) : 1);
        at += n ? n : 1;
    }
    return at < end ? at + 1 : end;
}

/* A number or a word; null is an empty cell. */
static const char *take_plain(const char *at, const char *end, tb_buf *text)
{
    const char *after = at;
    while (after < end && !strchr(",}]" BLANKS, *after))
        after++;
    text->len = 0;
    if (after > at && *at != 'n') tb_buf_add(text, at, (size_t)(after - at));
    return after;
}

static const char *skip(const char *at, const char *end, const char *these)
{
    while (at < end && *at && strchr(these, *at))
        at++;
    return at;
}

/* The name or the index of the value that follows. */
static const char *take_step(walk *w, const char *at, const char *end)
{
    if (!w->depth) return at;
    if (w->is_list[w->depth - 1]) {
        tb_buf_fmt(&w->path, "[%" PRIu64 "]", w->index[w->depth - 1]++);
        return at;
    }
    at = take_string(at, end, &w->text);
    if (w->path.len) tb_buf_str(&w->path, ".");
    tb_buf_add(&w->path, w->text.data, w->text.len);
    return skip(at, end, ":" BLANKS);
}

static void put_fields(const char *at, const char *end, tb_buf *out)
{
    walk w = {.depth = 0};
    tb_buf_init(&w.path, PATH_MAX_, NULL);
    tb_buf_init(&w.text, TB_REPLY_MAX, NULL);
    tb_buf_str(out, "field\tvalue\n");
    while ((at = skip(at, end, "," BLANKS)) < end) {
        if (*at == '}' || *at == ']') {
            if (w.depth) w.path.len = w.outside[--w.depth];
            at++;
            continue;
        }
        const size_t outside = w.path.len;
        at = take_step(&w, at, end);
        if (at < end && (*at == '{' || *at == '[') && w.depth < DEPTH_MAX) {
            w.outside[w.depth] = outside;
            w.index[w.depth] = 0;
            w.is_list[w.depth++] = *at++ == '[';
            continue;
        }
        at = at < end && *at == '"' ? take_string(at, end, &w.text) : take_plain(at, end, &w.text);
        tb__put_cell(out, w.path.data, w.path.len);
        tb_buf_str(out, "\t");
        tb__put_cell(out, w.text.data, w.text.len);
        tb_buf_str(out, "\n");
        w.path.len = outside;
    }
    out->failed |= w.path.failed || w.text.failed;
    tb_buf_release(&w.path);
    tb_buf_release(&w.text);
}

void tb__print_answer(const tb_args *args, tb_reply *reply)
{
    if (tb_arg_is(args, "format", "json")) {
        reply->out.len = 0;
        tb__print_json(reply);
    } else if (!reply->out.len && reply->json.len) {
        put_fields(reply->json.data, reply->json.data + reply->json.len, &reply->out);
    }
}

/* --- CSV of rows --- */

static void put_csv_line(const char *at, const char *end, tb_buf *csv)
{
    for (const char *stop; at <= end; at = stop + 1) {
        stop = memchr(at, '\t', (size_t)(end - at));
        if (!stop) stop = end;
        tb_buf_csv_value(csv, at, (size_t)(stop - at));
        tb_buf_str(csv, stop < end ? "," : "\r\n");
    }
}

/* Whole lines become lines of CSV. */
static tb_code make_csv(tb_buf *out, tb_error *err)
{
    tb_buf csv;
    const char *at = out->data, *end = at ? at + out->len : NULL;
    tb_buf_init(&csv, TB_REPLY_MAX, NULL);
    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        put_csv_line(at, stop, &csv);
        at = stop + 1;
    }
    out->len = 0;
    tb_buf_add(out, csv.data, csv.len);
    tb_code code = tb_buf_check(&csv, err);
    tb_buf_release(&csv);
    return code;
}

static bool step_through(void *ctx, uint64_t done, uint64_t total)
{
    const tb_ops *ops = ctx;
    return !ops->step || ops->step(ops->ctx, done, total);
}

static tb_code drain_csv(void *ctx, tb_buf *out, tb_error *err)
{
    const tb_ops *ops = ctx;
    tb_code code = make_csv(out, err);
    return code ? code : ops->drain(ops->ctx, out, err);
}

tb_code tb__print_csv(tb_operation_part part, tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_ops inner = *ops;
    inner.step = step_through;
    inner.drain = ops->drain ? drain_csv : NULL;
    inner.ctx = ops;
    tb_code code = part(&inner, args, reply, err);
    return code ? code : make_csv(&reply->out, err);
}

tb_code tb__read_formatted(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_operation_part read = args->operation->read;
    const tb_arg *format = tb_arg_of(args, "format");
    const bool csv = format && strcmp(format->param->value, TB__FORMATS) == 0 && tb_arg_is(args, "format", "csv");
    return csv ? tb__print_csv(read, ops, args, reply, err) : read(ops, args, reply, err);
}
