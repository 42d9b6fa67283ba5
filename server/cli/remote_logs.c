/* ingest --server: a log in pieces of whole lines, each one request.
 *
 * Pieces are cut by content alone (as many whole lines as fit PIECE_MAX), so the same log is cut
 * the same way again, and one that has grown differs from its last piece on. Without --batch a
 * piece carries no name and the server decides by its content: known pieces are nothing new, and
 * of a grown last piece only the new lines are taken. With --batch ID the pieces are the batches
 * ID, ID/2, ID/3 and so on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/meter.h"
#include "cli/remote.h"
#include "cli/remote_report.h"
#include "feed/source.h"

#define PIECE_MAX ((size_t)32 << 20)

typedef struct sending {
    const cli_call *call;
    client client;
    char path[160];
    const char *subject;
    feed_source *source;
    meter meter;
    bool take_partial, end;
    char *piece;
    size_t have;     /* bytes in piece */
    unsigned number; /* pieces sent */
    uint64_t bytes;
    feed_report report; /* of all pieces */
} sending;

static int fill(sending *s)
{
    size_t n;
    tb_error err;
    tb_code code = feed_source_read(s->source, s->piece + s->have, PIECE_MAX - s->have, &n, &err);
    if (code) return cli_fail(s->call, s->subject, &err);
    s->end = n < PIECE_MAX - s->have;
    s->have += n;
    return 0;
}

/* How many bytes of the piece are whole lines; at the end of the input the last one may lack its
 * end, and then it is taken or waits. */
static size_t whole_lines(sending *s)
{
    if (s->end && s->take_partial) return s->have;
    const char *last = s->have ? memrchr(s->piece, '\n', s->have) : NULL;
    size_t lines = last ? (size_t)(last - s->piece) + 1 : 0;
    if (s->end) s->report.waiting_bytes = s->have - lines;
    return lines;
}

static void add_report(sending *s, const feed_report *piece)
{
    feed_report *all = &s->report;
    uint64_t before = all->lines + all->known_lines;
    if (piece->first_line && !all->first_line) {
        all->first_line = before + piece->first_line;
        all->first_byte = piece->first_byte;
        all->first_reason = piece->first_reason;
    }
    all->lines += piece->lines;
    all->accepted += piece->accepted;
    all->rejected += piece->rejected;
    all->known_lines += piece->known_lines;
}

/* The piece's own name in *name, or NULL where it has none. */
static const char *batch_name(const sending *s, char *name, size_t size)
{
    const char *batch = cli_text(s->call, "batch");
    if (!batch || s->number == 0) return batch;
    snprintf(name, size, "%s/%u", batch, s->number + 1);
    return name;
}

static void show_progress(sending *s)
{
    feed_progress progress = {.lines = s->report.lines + s->report.known_lines,
                              .bytes = s->bytes,
                              .read = feed_source_stored_read(s->source),
                              .total_read = feed_source_stored_size(s->source)};
    if (cli_given(s->call, "progress")) meter_feed(&s->meter, &progress);
}

static int send_piece(sending *s, size_t len)
{
    char name[TB_BATCH_NAME_MAX + 16];
    feed_report piece;
    client_request request = {.method = "POST", .path = s->path, .type = "text/plain",
                              .body = s->piece, .len = len, .subject = s->subject,
                              .batch = batch_name(s, name, sizeof name)};
    int status = client_send(&s->client, &request);
    if (status) {
        meter_end(&s->meter);
        cli_say(s->call,
                "%s: that was the piece after line %" PRIu64 "; the lines up to there are in the "
                "database. %s the same command again to go on.",
                s->subject, s->report.lines + s->report.known_lines,
                status == tb_code_exit(TB_E_BUSY) ? "Run" : "Correct it and run");
        return status;
    }
    json_t *answer = client_json(&s->client);
    if (!answer) return tb_code_exit(TB_E_BAD_INPUT);
    report_read(answer, &piece);
    json_decref(answer);
    add_report(s, &piece);
    s->number++;
    s->bytes += len;
    show_progress(s);
    return 0;
}

static int send_all(sending *s)
{
    for (;;) {
        int status = fill(s);
        if (status) return status;
        size_t len = whole_lines(s);
        if (len == 0 && !s->end) {
            cli_say(s->call, "%s: a line is longer than %zu MiB. Ingest this log with --db.",
                    s->subject, PIECE_MAX >> 20);
            return tb_code_exit(TB_E_BAD_INPUT);
        }
        if (len > 0) status = send_piece(s, len);
        if (status || s->end) return status;
        s->have -= len;
        memmove(s->piece, s->piece + len, s->have);
    }
}

static int send_log(sending *s, const char *path)
{
    tb_error err;
    s->subject = path;
    s->number = 0;
    s->bytes = s->have = 0;
    s->report = (feed_report){0};
    if (feed_source_open(path, NULL, &s->source, &err)) return cli_fail(s->call, path, &err);
    s->take_partial = cli_given(s->call, "final") || !feed_source_grows(s->source);
    meter_init(&s->meter, path);
    int status = send_all(s);
    meter_end(&s->meter);
    feed_source_close(s->source);
    if (status) return status;
    s->report.nothing_new = s->report.lines == 0 && s->report.known_lines > 0;
    take_say(s->call, path, &s->report);
    return 0;
}

/* Zone and region were checked to need no escaping. */
static void make_path(sending *s, const feed_options *options)
{
    const tb_log_layout *layout = &options->layout;
    const char *on_error = options->stop_on_error ? "stop" : "skip";
    if (layout->format == TB_FORMAT_PIPE)
        snprintf(s->path, sizeof s->path, "/ingest/logs?format=pipe&onError=%s", on_error);
    else
        snprintf(s->path, sizeof s->path,
                 "/ingest/logs?format=combined&onError=%s&zone=%" PRId64 "&region=%.*s", on_error,
                 layout->zone, layout->edge_len, layout->edge);
}

int remote_ingest(const cli_call *call, const feed_options *options)
{
    sending s = {.call = call, .piece = malloc(PIECE_MAX)};
    int status = client_open(&s.client, call);
    if (status == 0 && !s.piece) {
        cli_say(call, "Out of memory.");
        status = tb_code_exit(TB_E_NOMEM);
    }
    make_path(&s, options);
    for (int i = 0; i < call->n_operands && status == 0; i++)
        status = send_log(&s, call->operands[i]);
    client_close(&s.client);
    free(s.piece);
    return status;
}
