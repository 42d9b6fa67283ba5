/* Received lines are stored at intervals. While the store or the server does not accept them, some are kept in memory, and
 * no more are read, so that the writing program has to wait.
 *
 * With --confirm the writer waits for an answer to each line, as rsyslog's omprog does: OK once the
 * line is stored. Between its marks lines are answered with DEFER_COMMIT, and the mark at the end
 * with OK once all of them are stored. No answer says that it failed: rsyslog does not send a
 * failed transaction again, so the answer is delayed instead. */
#include "cli/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/clocks.h"
#include "cli/duration.h"
#include "cli/sinks.h"
#include "follow/pace.h"
#include "follow/refused.h"
#include "follow/stream.h"

#define EVERY_MS   5000
#define BYTES      ((int64_t)1 << 20)
#define WAITING    ((size_t)16 << 20) /* no more is read while the sink does not accept it */
#define READ_BYTES ((size_t)64 << 10)
#define MARK_MOST  64
#define LAST_TRIES 6
#define LAST_MS    2000
#define HELD_MS    2000 /* text that may be a copy of a known log is held back for at least this long */

static const char mark_begin[] = "BEGIN TRANSACTION", mark_commit[] = "COMMIT TRANSACTION";

typedef struct streaming {
    const cli_call *call;
    const feed_options *options;
    int64_t every_ms;
    size_t bytes;
    bool confirm, remote;
    server_sink server;
    store_sink store;
    follow_stream *stream;
    pace pace;
    tb_code said; /* the last printed state of the sink */
    uint64_t base; /* follow_stream_base, as it was said last */
    bool lost;     /* the sink has lost something of it */
    feed_report total;
    follow_refused_step refused;
    int64_t leave_ms;
    int64_t since_ms; /* when the oldest pending line came; 0: none is pending */
    uint64_t known;   /* lines that were known then */
    bool said_another, said_copied;
    bool in_transaction;
    bool within;          /* the beginning of the current line was passed on */
    char line[MARK_MOST]; /* the beginning of a line, which may be a mark */
    size_t len;
} streaming;

bool stream_asked(const cli_call *call)
{
    return cli_given(call, "every") || cli_given(call, "bytes") || cli_given(call, "confirm");
}

static bool signalled(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

static bool time_is_over(void *ctx)
{
    streaming *s = ctx;
    return signalled() && clock_leaves(&s->leave_ms, LAST_MS);
}

/* --- storing --- */

static void add_report(streaming *s, const feed_report *report)
{
    char text[FOLLOW_REFUSED_MAX], place[FEED_PLACE_WARNING];
    const bool told = s->total.undeclared_zone || s->total.unnamed_region;
    feed_report_add(&s->total, report);
    if (!told && feed_place_warn(&s->total, &s->options->layout, place)) cli_warn(s->call, "-: %s", place);
    if (follow_refused(&s->refused, s->total.lines, s->total.rejected, report, text))
        cli_warn(s->call, "-: %s", text);
}

/* A hint: the command that ingests the bytes of this range again. */
static void put_command(char *text, size_t cap, uint64_t from, uint64_t to)
{
    char skip[64] = "";
    if (from) snprintf(skip, sizeof skip, "tail -c +%" PRIu64 " FILE | ", from + 1);
    snprintf(text, cap, "%shead -c %" PRIu64 "%s | tollbook ingest -", skip, to - from, from ? "" : " FILE");
}

/* The sink lacks bytes that it acknowledged. */
static void say_base(streaming *s)
{
    char command[160];
    bool withdrawn;
    const uint64_t from = s->base, to = follow_stream_base(s->stream, &withdrawn);
    if (to == from) return;
    s->base = to;
    put_command(command, sizeof command, from, to);
    if (withdrawn) {
        cli_warn(s->call,
                "-: What was taken of this stream up to byte %" PRIu64 " was withdrawn, and is not taken again by "
                "itself. What comes behind it is stored as a new log; to count nothing of that, stop this command. To "
                "take it in once more, where a file has the stream from its first byte on: %s",
                to, command);
        return;
    }
    s->lost = true;
    cli_warn(s->call,
            "-: The server does not know any more what it acknowledged of this stream: was it restored from a "
            "backup? What came behind byte %" PRIu64 " is stored as a new log. To bring back what is missing, where a "
            "file has the stream from its first byte on: %s",
            to, command);
}

static void say_held(streaming *s)
{
    uint64_t same;
    if (follow_stream_is_another(s->stream) && !s->said_another)
        cli_warn(s->call, "-: It begins like a log that is known, and is another one.");
    s->said_another = follow_stream_is_another(s->stream);
    if (!follow_stream_copied(s->stream, &same)) s->said_copied = false;
    else if (!s->said_copied)
        cli_warn(s->call, "-: A log that is known has the same first %llu bytes: what comes is not counted again as "
                         "long as it may be that log.", (unsigned long long)same);
    s->said_copied = follow_stream_copied(s->stream, &same) != 0;
}

static tb_code ship(streaming *s, follow_stream_when when)
{
    feed_report report;
    tb_error err;
    const follow_sink *sink = s->remote ? &s->server.sink : &s->store.sink;
    tb_code code = follow_stream_ship(s->stream, when, &report, &err);
    say_base(s);
    if (code == TB_OK) {
        add_report(s, &report);
        if (when == FOLLOW_STREAM_LATER) say_held(s);
        pace_done(&s->pace);
        if (s->said) cli_note(s->call, "It takes what it is sent again.");
        s->said = TB_OK;
        return TB_OK;
    }
    if (code != s->said) cli_fail(s->call, NULL, &err);
    s->said = code;
    pace_failed(&s->pace, clock_now_ms(), sink->retry_after_ms(sink->ctx), clock_chance());
    return code;
}

/* A stream that is known under other options is not taken however often it is sent. */
static bool is_refused(const streaming *s)
{
    return s->said == TB_E_OTHER_OPTIONS;
}

/* Until it is stored or refused, or a signal's time is over. */
static tb_code ship_surely(streaming *s)
{
    tb_code code = ship(s, FOLLOW_STREAM_NOW);
    while (code && !is_refused(s) && !time_is_over(s)) {
        clock_wait(signalled() ? 100 : pace_wait(&s->pace, clock_now_ms()), &take_stop);
        if (pace_free(&s->pace, clock_now_ms()) || signalled()) code = ship(s, FOLLOW_STREAM_NOW);
    }
    return code;
}

/* Stores the rest, at the end of the input or after a signal. */
static int ship_last(streaming *s, bool end)
{
    const follow_stream_when when = end ? FOLLOW_STREAM_END : FOLLOW_STREAM_LATER;
    tb_code code = ship(s, when);
    for (int i = 1; code && i < LAST_TRIES && !is_refused(s) && !time_is_over(s); i++) {
        while (!signalled() && !pace_free(&s->pace, clock_now_ms()))
            clock_wait(pace_wait(&s->pace, clock_now_ms()), &take_stop);
        code = ship(s, when);
    }
    if (code == TB_OK) return 0;
    cli_say(s->call, "%zu bytes that came last are not stored.", follow_stream_pending(s->stream));
    return tb_code_exit(code);
}

/* --- answers --- */

static bool answer(const char *word)
{
    return puts(word) >= 0 && fflush(stdout) == 0;
}

static bool is_mark(const streaming *s, const char *mark)
{
    return s->len == strlen(mark) && memcmp(s->line, mark, s->len) == 0;
}

static tb_code pass_on(streaming *s, const char *bytes, size_t len, tb_error *err)
{
    tb_code code = TB_OK;
    if (s->len) code = follow_stream_add(s->stream, s->line, s->len, err);
    s->len = 0;
    s->within = true;
    return code ? code : follow_stream_add(s->stream, bytes, len, err);
}

/* A line's end has come: it is answered. false: it could not be. */
static bool line_over(streaming *s, tb_code *ret_code, tb_error *err)
{
    if (!s->within && is_mark(s, mark_begin)) {
        s->len = 0;
        s->in_transaction = true;
        return answer("OK");
    }
    bool commit = !s->within && is_mark(s, mark_commit);
    if (commit)
        s->len = 0;
    else
        *ret_code = pass_on(s, "\n", 1, err);
    s->within = false;
    if (*ret_code) return true;
    if (s->in_transaction && !commit) return answer("DEFER_COMMIT");
    s->in_transaction = false;
    return ship_surely(s) == TB_OK && answer("OK");
}

static tb_code take_confirmed(streaming *s, const char *bytes, size_t len, bool *ret_answered,
                              tb_error *err)
{
    tb_code code = TB_OK;
    while (len > 0 && code == TB_OK && *ret_answered) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end ? (size_t)(end - bytes) : len;
        if (!s->within && s->len + n < MARK_MOST) {
            memcpy(s->line + s->len, bytes, n);
            s->len += n;
        } else {
            code = pass_on(s, bytes, n, err);
        }
        bytes += n;
        len -= n;
        if (!end || code) break;
        bytes++;
        len--;
        *ret_answered = line_over(s, &code, err);
    }
    return code;
}

/* --- reading --- */

/* How long to wait for more bytes; 0: the pending ones are due. */
static int64_t until_due(const streaming *s, int64_t now_ms)
{
    if (s->confirm) return s->every_ms;
    if (follow_stream_pending(s->stream) == 0) return s->every_ms;
    return pace_wait(&s->pace, now_ms);
}

/* How long the pending bytes have been held back without a match. */
static int64_t waited(streaming *s, int64_t now_ms)
{
    const uint64_t known = follow_stream_known_lines(s->stream);
    if (!s->since_ms || s->known != known) s->since_ms = now_ms;
    s->known = known;
    return now_ms - s->since_ms;
}

static void ship_due(streaming *s)
{
    const int64_t now_ms = clock_now_ms();
    if (follow_stream_pending(s->stream) == 0) s->since_ms = 0;
    if (s->confirm || follow_stream_pending(s->stream) == 0 || !pace_free(&s->pace, now_ms)) return;
    const follow_stream_when when = waited(s, now_ms) < HELD_MS ? FOLLOW_STREAM_NOW : FOLLOW_STREAM_LATER;
    if (pace_full(&s->pace, now_ms) || follow_stream_pending(s->stream) >= s->bytes)
        (void)!ship(s, when);
}

static bool may_read(const streaming *s)
{
    return s->said == TB_OK || follow_stream_pending(s->stream) < WAITING;
}

/* Some bytes; *ret_n 0 and *ret_end: no more come. */
static int read_some(streaming *s, char *bytes, size_t *ret_n, bool *ret_end)
{
    *ret_n = 0;
    if (!may_read(s) || !clock_wait_input(STDIN_FILENO, until_due(s, clock_now_ms()), &take_stop)) {
        if (!may_read(s)) clock_wait(pace_wait(&s->pace, clock_now_ms()), &take_stop);
        return 0;
    }
    ssize_t n = read(STDIN_FILENO, bytes, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    if (n < 0) {
        cli_say(s->call, "-: Reading failed: %s.", strerror(errno));
        return tb_code_exit(TB_E_IO);
    }
    *ret_n = (size_t)n;
    *ret_end = n == 0;
    return 0;
}

static int take_all(streaming *s)
{
    char bytes[READ_BYTES];
    bool end = false, answered = true;
    int status = 0;
    if (s->confirm && !answer("OK")) return cli_done(s->call);
    while (!end && !signalled() && answered && status == 0 && !is_refused(s)) {
        tb_error err;
        size_t n;
        status = read_some(s, bytes, &n, &end);
        if (status) break;
        tb_code code = s->confirm ? take_confirmed(s, bytes, n, &answered, &err)
                                  : follow_stream_add(s->stream, bytes, n, &err);
        if (code)
            status = cli_fail(s->call, "-", &err);
        else
            ship_due(s);
    }
    if (status || !answered) return status ? status : tb_code_exit(is_refused(s) ? s->said : TB_E_IO);
    if (end && s->len) {
        tb_error err;
        if (pass_on(s, "", 0, &err)) return cli_fail(s->call, "-", &err);
    }
    return s->in_transaction ? 0 : ship_last(s, end);
}

/* --- around it --- */

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static int read_options(streaming *s)
{
    const cli_call *call = s->call;
    if (call->n_operands != 1 || strcmp(call->operands[0], "-") != 0)
        return usage(
            call, "--every, --bytes and --confirm are for standard input: name \"-\", and nothing "
                  "else. `follow` follows files.");
    if (cli_given(call, "batch") || s->options->stop_on_error || cli_given(call, "progress"))
        return usage(call,
                     "A stream that is stored as it comes takes no --batch, no --on-error stop and "
                     "no --progress.");
    s->confirm = cli_given(call, "confirm");
    if (s->confirm && (cli_given(call, "every") || cli_given(call, "bytes")))
        return usage(call,
                     "--confirm stores each line, or transaction, when it comes: leave out --every "
                     "and --bytes.");
    s->bytes = (size_t)cli_number(call, "bytes", BYTES);
    return duration_option(call, "every", EVERY_MS, &s->every_ms);
}

static int open_sink(streaming *s)
{
    s->remote = cli_given(s->call, "server");
    if (!s->remote) return store_sink_open(&s->store, s->call, s->options);
    int status = server_sink_open(&s->server, s->call, s->options);
    s->server.client.leave = time_is_over;
    s->server.client.leave_ctx = s;
    return status;
}

static int run(streaming *s)
{
    const follow_sink *sink = s->remote ? &s->server.sink : &s->store.sink;
    s->stream = follow_stream_new(sink, &s->options->layout, !s->confirm);
    s->pace.every_ms = s->every_ms;
    if (!s->stream) {
        cli_say(s->call, "Out of memory.");
        return tb_code_exit(TB_E_NOMEM);
    }
    (void)pace_full(&s->pace, clock_now_ms());
    take_catch_signals();
    int status = take_all(s);
    uint64_t same, copied = follow_stream_copied(s->stream, &same);
    if (follow_stream_known_lines(s->stream))
        cli_note(s->call, "-: its first %llu lines were taken before.",
                (unsigned long long)follow_stream_known_lines(s->stream));
    if (copied)
        cli_note(s->call, "-: its last %llu lines were not counted: a known log has the same first %llu bytes and "
                         "goes on, so this is taken for a shorter copy of it.",
                (unsigned long long)copied, (unsigned long long)same);
    cli_note(s->call, "-: %llu lines: %llu accepted, %llu rejected.",
            (unsigned long long)s->total.lines, (unsigned long long)s->total.accepted,
            (unsigned long long)s->total.rejected);
    follow_stream_free(s->stream);
    if (s->lost && !status) status = 1;
    return status || s->total.accepted || !s->total.rejected ? status : 1;
}

int stream_ingest(const cli_call *call, const feed_options *options)
{
    streaming s = {.call = call, .options = options};
    cli_use_messages(call, true);
    int status = read_options(&s);
    if (status == 0) status = open_sink(&s);
    if (status) return status;
    status = run(&s);
    if (s.remote)
        server_sink_close(&s.server);
    else
        store_sink_close(&s.store);
    return status;
}
