/* ingest --server: a log in pieces of whole lines, each one request.
 *
 * The client reads and hashes the log exactly as a local run does, requests the known segments from the
 * server, skips them, and sends the rest in pieces that name their bytes of the log. So a log is one chain
 * of segments, however its parts were sent, and known bytes are never sent again.
 *
 * A piece is kept until the next block shows that it is full, or that the log ends: the last piece is marked.
 * An unterminated last line is sent alone, and the server decides. If another sender has stored a part of the
 * same log meanwhile, the server refuses the piece, and the client starts again from the beginning. It does so
 * with shorter pieces if the server, or a proxy before it, refuses their length. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/meter.h"
#include "cli/remote.h"
#include "cli/remote_known.h"
#include "cli/remote_report.h"
#include "feed/known_options.h"

#define PIECE_MAX   ((size_t)32 << 20)
#define BLOCK_BYTES ((size_t)256 << 10)
#define ATTEMPTS    8 /* how often a log is begun anew because another sender was faster */
#define PATH_MAX_   4096
#define SOURCE_MAX  255 /* bytes of a name that the server takes */

typedef struct sending {
    const cli_call *call;
    const feed_options *options;
    tb_log_layout layout; /* the options', with the columns that this log's head names */
    client client;
    const char *subject, *batch;
    meter meter;
    feed_source *source;
    feed_reader reader;
    feed_block block;
    tb_hash128 head;
    size_t known;       /* segments that the server has of this log or batch */
    bool complete;      /* the batch's final segment is among them */
    bool begin_anew;    /* the server's knowledge has changed */
    bool too_large;     /* the last piece was */
    size_t piece_max;
    tb_buf piece;       /* whole lines from `start` to `end` */
    uint64_t start, end, lines_before;
    tb_hash128 hash;    /* of the log up to `end` */
    feed_report report;
} sending;

static int fail(const sending *s, const tb_error *err)
{
    return cli_fail(s->call, s->subject, err);
}

/* --- a piece's request --- */

static void put_parameter(tb_buf *path, const char *name, tb_text text)
{
    if (text.len == 0) return;
    tb_buf_fmt(path, "&%s=", name);
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                           (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
        tb_buf_fmt(path, plain ? "%c" : "%%%02X", (unsigned char)c);
    }
}

static void put_layout(const tb_log_layout *layout, tb_buf *path)
{
    tb_log_spec spec;
    tb_log_layout_spec(layout, &spec);
    if (layout->format == TB_FORMAT_PIPE) return;
    put_parameter(path, "format", spec.format);
    put_parameter(path, "map", spec.map);
    put_parameter(path, "region", spec.region);
    if (spec.zone) tb_buf_fmt(path, "&zone=%" PRId64, spec.zone);
}

static void put_rungs(const feed_piece *piece, tb_buf *path)
{
    char hash[REMOTE_HASH_TEXT];
    const char *before = "&rungs=";
    for (size_t i = 0; i < piece->n_rungs; i++) {
        const tb_rung *one = &piece->rungs[i];
        if (one->length <= piece->start || one->length > piece->length) continue;
        remote_hash_text(one->hash, hash);
        tb_buf_fmt(path, "%s%" PRIu64 ":%s", before, one->length, hash);
        before = ",";
    }
}

static void put_place(const feed_piece *piece, tb_buf *path)
{
    char head[REMOTE_HASH_TEXT], hash[REMOTE_HASH_TEXT];
    remote_hash_text(piece->head, head);
    remote_hash_text(piece->hash, hash);
    tb_buf_fmt(path,
               "&start=%" PRIu64 "&length=%" PRIu64 "&linesBefore=%" PRIu64
               "&head=%s&hash=%s&final=%s",
               piece->start, piece->length, piece->lines_before, head, hash,
               piece->final ? "true" : "false");
}

void remote_put_withdrawal(const tb_log_layout *layout, const feed_piece *piece, const char *source, int64_t entry,
                           tb_buf *path)
{
    const size_t len = strlen(source);
    tb_buf_str(path, layout ? "/ingest/logs/withdraw?onError=skip"
                            : "/ingest/buckets/withdraw?onError=skip");
    if (layout) put_layout(layout, path);
    if (piece) put_place(piece, path);
    if (piece && piece->n_rungs) put_rungs(piece, path);
    if (entry) tb_buf_fmt(path, "&entry=%" PRId64, entry);
    put_parameter(path, "source", (tb_text){source, len < SOURCE_MAX ? len : SOURCE_MAX});
    tb_buf_add(path, "", 1);
}

static void put_piece(const tb_log_layout *layout, const feed_piece *piece, tb_buf *path)
{
    put_layout(layout, path);
    put_place(piece, path);
    if (piece->known >= 0) tb_buf_fmt(path, "&known=%" PRId64, piece->known);
    if (piece->behind >= 0) tb_buf_fmt(path, "&behind=%" PRId64, piece->behind);
    put_rungs(piece, path);
    tb_buf_add(path, "", 1);
}

void remote_put_piece(const tb_log_layout *layout, bool stop_on_error, const feed_piece *piece,
                      tb_buf *path)
{
    tb_buf_fmt(path, "/ingest/logs?onError=%s", stop_on_error ? "stop" : "skip");
    put_piece(layout, piece, path);
}

void remote_put_cells(const tb_log_layout *layout, const feed_piece *piece, tb_buf *path)
{
    tb_buf_str(path, "/ingest/cells?onError=skip");
    put_piece(layout, piece, path);
}

static void show_progress(sending *s)
{
    feed_progress progress = {.lines = s->lines_before,
                              .bytes = s->reader.at,
                              .read = feed_source_stored_read(s->source),
                              .total_read = feed_source_stored_size(s->source)};
    if (cli_given(s->call, "progress")) meter_feed(&s->meter, &progress);
}

static int take_answer(sending *s)
{
    feed_report piece;
    json_t *answer = client_json(&s->client);
    if (!answer) return tb_code_exit(TB_E_BAD_INPUT);
    report_read(answer, &piece);
    json_decref(answer);
    feed_report_add(&s->report, &piece);
    s->lines_before += piece.lines + piece.known_lines;
    s->known++;
    s->start = s->end;
    s->piece.len = 0;
    show_progress(s);
    return 0;
}

/* Sends the piece. */
static int send_piece(sending *s, bool final)
{
    tb_buf path;
    tb_error err;
    const feed_piece piece = {.start = s->start,
                              .length = s->end,
                              .lines_before = s->lines_before,
                              .head = s->head,
                              .hash = s->hash,
                              .final = final,
                              .known = (int64_t)s->known,
                              .behind = -1,
                              .rungs = s->reader.rungs.own,
                              .n_rungs = s->reader.rungs.n_own};
    tb_buf_init(&path, PATH_MAX_, NULL);
    remote_put_piece(&s->layout, s->options->stop_on_error, &piece, &path);
    if (tb_buf_check(&path, &err)) {
        tb_buf_release(&path);
        return fail(s, &err);
    }
    const bool may_halve = s->piece_max > BLOCK_BYTES && strcmp(s->subject, "-") != 0; /* a file can be read again */
    client_request request = {.method = "POST", .path = path.data, .type = "text/plain",
                              .body = s->piece.data, .len = s->piece.len, .subject = s->subject,
                              .batch = s->batch, .repeats = true, .conflict = &s->begin_anew,
                              .too_large = may_halve ? &s->too_large : NULL};
    int status = client_send(&s->client, &request);
    tb_buf_release(&path);
    return status ? status : take_answer(s);
}

/* --- the log --- */

static bool is_empty(const sending *s)
{
    return s->end == s->start;
}

static int add_block(sending *s)
{
    tb_error err;
    const feed_block *block = &s->block;
    bool whole = block->len > 0 && block->bytes[block->len - 1] == '\n';
    int status = 0;
    if (!is_empty(s) && s->piece.len + block->len >= s->piece_max) status = send_piece(s, false);
    if (status) return status;
    tb_buf_add(&s->piece, block->bytes, block->len);
    if (!whole && !s->reader.tail) tb_buf_str(&s->piece, "\n"); /* cut: too long a line */
    s->end = s->reader.at;
    s->hash = feed_hash_value(s->reader.hash);
    return tb_buf_check(&s->piece, &err) ? fail(s, &err) : 0;
}

/* After the last line; a batch is complete once a final segment says so. */
static int end_log(sending *s)
{
    bool waiting = s->reader.waiting > 0;
    s->report.waiting_bytes = s->reader.waiting;
    if (is_empty(s) && (waiting || !s->batch || s->complete)) return 0;
    return send_piece(s, !waiting);
}

static int send_rest(sending *s)
{
    for (;;) {
        tb_error err;
        feed_turn turn;
        int status = 0;
        if (feed_reader_next(&s->reader, &s->block, &turn, &err)) return fail(s, &err);
        if (turn == FEED_TURN_END) return end_log(s);
        if (turn == FEED_TURN_BLOCK) status = add_block(s);
        else if (!is_empty(s)) status = send_piece(s, false); /* before the last line */
        if (status) return status;
    }
}

/* Skips the known part. Only a file that can seek can be read twice, so a stream is copied first. */
static int skip_known(sending *s, remote_known *known)
{
    tb_error err;
    bool same = true;
    const char *folder = getenv("TMPDIR");
    tb_code code = TB_OK;
    if (known->n > 0 && !feed_source_seekable(s->source))
        code = feed_reader_spool(&s->reader, folder && *folder ? folder : "/tmp", &err);
    if (code) {
        remote_known_release(known);
        return fail(s, &err);
    }
    if (s->batch) {
        free(known->rungs);
        code = feed_reader_skip_named(&s->reader, TB_BATCH_LOG, known->list, known->n, &same,
                                      &s->complete, &err);
    } else {
        feed_reader_expect(&s->reader, known->list, known->n);
        feed_reader_expect_rungs(&s->reader, known->rungs, known->n_rungs);
        code = feed_reader_skip_known(&s->reader, &err);
    }
    if (code == TB_OK && !same) code = feed_conflict(s->batch, &err);
    if (code == TB_OK && !s->reader.earlier) {
        s->start = s->end = s->reader.at;
        code = feed_reader_skip_line_end(&s->reader, &err);
    }
    return code ? fail(s, &err) : 0;
}

static tb_code known_there(void *ctx, tb_hash128 head, uint64_t from, feed_log_known *ret_known, tb_error *err)
{
    sending *s = ctx;
    remote_known known = {0};
    s->client.into = err;
    s->client.patient = true;
    const int status = remote_known_from(&s->client, NULL, head, from, &known);
    s->client.into = NULL;
    *ret_known = (feed_log_known){known.list, known.n, known.rungs, known.n_rungs};
    return status ? err->code : TB_OK;
}

/* Keeps the beginning of a log of which a part is known, for check_options: in the piece, which is empty. */
static tb_code keep_beginning(sending *s, tb_error *err)
{
    if (s->known == 0 || s->batch) return TB_OK;
    tb_code code = feed_reader_look(&s->reader, FEED_IDENTIFY_WINDOW, err);
    const tb_text text = feed_reader_beginning(&s->reader);
    tb_buf_add(&s->piece, text.data, text.len);
    return code ? code : tb_buf_check(&s->piece, err);
}

/* TB_E_OTHER_OPTIONS: the log is known under other options. The server judges the beginning by itself, and sees
 * nothing but the new lines of what comes behind it. */
static tb_code check_options(sending *s, tb_error *err)
{
    const feed_known_source known_source = {s, known_there};
    const feed_log_options own = feed_log_options_of(&s->layout);
    const tb_text text = {s->piece.data, s->piece.len};
    feed_other_options other = {.tells = false};
    bool end = true;
    tb_code code = feed_reader_at_end(&s->reader, &end, err);
    if (!code && !end && own.seed && s->start > 0 && text.len > 0)
        code = feed_known_options_find_in(&known_source, text, own, &other, err);
    s->piece.len = 0;
    return code || !feed_should_yield(&other, own, s->start) ? code : feed_known_options_refuse(own, &other, err);
}

/* From the reader's beginning. */
static int send_new(sending *s)
{
    tb_error err;
    bool empty;
    remote_known known = {0};
    s->reader.heads = tb_log_layout_heads(&s->layout);
    s->reader.layout = s->reader.heads ? &s->layout : NULL;
    if (feed_reader_head(&s->reader, &s->head, &empty, &err)) return fail(s, &err);
    const tb_text beginning = feed_reader_beginning(&s->reader);
    s->report.host_in_front = feed_fits_host(&s->layout, beginning, &s->report.host_form);
    if (tb_log_layout_head(&s->layout, beginning.data, beginning.len, &err)) return fail(s, &err);
    if (empty && !s->batch) return 0;
    int status = remote_known_read(&s->client, s->subject, s->batch, s->head, &known);
    if (status) return status;
    s->known = known.n;
    if (keep_beginning(s, &err)) {
        remote_known_release(&known);
        return fail(s, &err);
    }
    status = skip_known(s, &known);
    if (status) return status;
    if (!s->reader.earlier && check_options(s, &err)) return fail(s, &err);
    s->report.known_bytes = s->reader.known.bytes;
    s->report.known_lines = s->lines_before = s->reader.known.lines;
    s->report.known_refused = s->reader.known.lines > 0 && !s->reader.known.taken;
    s->report.earlier_copy = s->reader.earlier;
    s->hash = feed_hash_value(s->reader.hash);
    if (s->reader.earlier || (s->batch && s->complete)) return 0;
    return send_rest(s);
}

static int attempt(sending *s)
{
    tb_error err;
    const feed_options *options = s->options;
    uint64_t seed = feed_hash_seed(TB_BATCH_LOG, &options->layout);
    s->report = (feed_report){0};
    s->start = s->end = s->lines_before = 0;
    s->complete = s->begin_anew = s->too_large = false;
    s->piece.len = 0;
    if (feed_source_open(s->subject, NULL, &s->source, &err)) return fail(s, &err);
    int status = 0;
    if (feed_reader_init(&s->reader, s->source, seed, BLOCK_BYTES, options->take_partial_line, &err))
        status = fail(s, &err);
    else status = send_new(s);
    s->report.unended = s->reader.tail;
    feed_reader_release(&s->reader);
    feed_source_close(s->source);
    return status;
}

/* How far the log is in the database, where a part of it is. */
static void say_where(const sending *s)
{
    uint64_t lines = s->report.known_lines + s->report.lines;
    if (lines)
        cli_say(s->call,
                "%s: its lines 1 to %" PRIu64 " are in the database. Run the same command again "
                "to go on.",
                s->subject, lines);
}

static int send_log(sending *s, const char *path)
{
    s->subject = path;
    meter_init(&s->meter, path);
    int status = attempt(s), again = 1;
    while (s->too_large || (s->begin_anew && again++ < ATTEMPTS && strcmp(path, "-") != 0)) {
        if (s->too_large) s->piece_max /= 2;
        status = attempt(s);
    }
    meter_end(&s->meter);
    if (status) {
        if (s->begin_anew) cli_say(s->call, "%s: another sender takes in the same log. Run the same "
                                   "command again once it has ended.", path);
        else say_where(s);
        return status;
    }
    s->report.nothing_new = s->report.lines == 0 && (s->report.known_lines || s->complete ||
                                                     s->report.earlier_copy);
    return take_say(s->call, path, s->options, &s->report);
}

int remote_ingest(const cli_call *call, const feed_options *options)
{
    sending s = {.call = call, .options = options, .layout = options->layout,
                 .batch = cli_text(call, "batch"), .piece_max = PIECE_MAX};
    int status = client_open(&s.client, call);
    tb_buf_init(&s.piece, PIECE_MAX + TB_LINE_MAX * 2, NULL);
    for (int i = 0; i < call->n_operands && status <= 1; i++) { /* 1: all of one was refused */
        const int one = send_log(&s, call->operands[i]);
        if (one) status = one;
    }
    client_close(&s.client);
    feed_block_release(&s.block);
    tb_buf_release(&s.piece);
    return status;
}
