/* The rounds.
 *
 * A round looks at every name, gives the logs that are due turns until none has more, and ends early after
 * PIECES_A_ROUND, so that names are looked at again. A log keeps its descriptor: it can be renamed and deleted, and is
 * read to its end. If there are more logs than descriptors, some of the logs that have a name are closed. Packed logs
 * hold no fresh lines, so they have their turns when no other log has more, one at a time, and a round ends when it has
 * unpacked some of them, so that lines that came meanwhile go first.
 *
 * A sink loses data only when it is restored from a backup: then it lacks what it took last. So before anything new is
 * sent, the follower asks for that segment after a failure, and after a while without a piece. If it is gone, or a
 * log's own turn finds that out, all logs are marked: after the logs with new lines, and for some logs a round, the
 * sink is asked whether it still has the log's last segment. A log that was withdrawn is left alone. */
#include "follow/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow/pace.h"
#include "follow/table.h"

#define PIECES_A_ROUND 64
#define PACKED_A_ROUND ((uint64_t)16 << 20) /* bytes of packed logs, about */
#define OPENED_MOST    16    /* logs that may be open beyond the limit for a moment */
#define AGAIN_MS       30000 /* before a refused piece is tried again: a clock may be set, a zone made */
#define PROBE_MS       10000 /* how often the sink is asked for the segment that it took last */
#define VERIFIED_A_ROUND 64 /* logs that the sink is asked about */
#define MARK_MS        ((int64_t)600 * 1000) /* between two verifications of all logs: two servers may share one name */
#define LABEL_MOST     ((size_t)4 << 12) /* a path, each byte as four */
#define GONE_MS        60000 /* a log without a name that is quiet for so long gets no more lines */
#define REFUSED_MS     ((int64_t)24 * 3600 * 1000) /* a refused log without a name is dropped after this time */

struct follow {
    follow_options options;
    follow_sink sink;
    follow_table table;
    follow_shared shared;
    pace pace;
    tb_code sink_error; /* the sink's last failure that was reported; TB_OK: it works */
    uint64_t round;
    int64_t verified_ms; /* when the sink was last known to have its newest segment */
    bool lost_data;      /* the sink lost data: all logs are to be marked */
    int64_t marked_ms; /* when logs were marked last; 0: never */
    size_t unverified;  /* logs that are left to verify */
    uint64_t lacked; /* of them, logs of which the sink lacked something */
};

follow *follow_new(const follow_options *options, const follow_sink *sink)
{
    follow *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->options = *options;
    f->sink = *sink;
    f->shared = (follow_shared){.options = &f->options, .sink = &f->sink};
    f->pace.every_ms = options->every_ms;
    tb_buf_init(&f->shared.piece, LOG_PIECE_MAX + TB_LINE_MAX * 4, NULL);
    return f;
}

void follow_free(follow *f)
{
    if (!f) return;
    follow_table_release(&f->table);
    tb_buf_release(&f->shared.piece);
    free(f);
}

static void say(const follow *f, const char *path, const char *sentence)
{
    f->options.say(f->options.ctx, path, sentence);
}

static bool stopped(const follow *f)
{
    const atomic_bool *stop = f->options.stop;
    return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

/* --- what went wrong --- */

static void sink_failed(follow *f, int64_t now_ms, const tb_error *err)
{
    int64_t retry_ms = f->sink.retry_after_ms(f->sink.ctx);
    f->shared.totals.failures++;
    pace_failed(&f->pace, now_ms, retry_ms, f->options.chance(f->options.ctx));
    if (f->sink_error == err->code) return;
    f->sink_error = err->code;
    say(f, NULL, err->message);
}

static void log_failed(follow *f, follow_log *log, int64_t now_ms, const tb_error *err)
{
    log->more = false;
    if (err->code == TB_E_BATCH_CONFLICT) {
        /* The sink lost data: everything is sent again at once. A sink that keeps losing data, such as two servers
         * behind one name, does not make us read the log over and over. */
        log->more = log->forgot_ms == 0 || now_ms - log->forgot_ms >= AGAIN_MS;
        log->forgot_ms = now_ms;
        f->lost_data = true;
    }
    if (follow_is_logs(err->code) && !log->more) log->again_ms = now_ms + AGAIN_MS;
    /* A log that cannot be unpacked may still be being written: report it once it is quiet. */
    const bool still_written = log->damaged && !f->options.once && log->looks < LOG_PATIENT;
    if (err->code == TB_E_NOT_FOUND || still_written || log->trouble == err->code) return;
    if (!log->trouble) log->trouble_ms = now_ms;
    log->trouble = err->code;
    f->shared.totals.troubles++;
    say(f, log->path, err->message);
}

/* Reports an earlier copy once it has stopped growing: a log that is still being copied looks like one. */
static void note_earlier(follow *f, follow_log *log)
{
    char sentence[200];
    const bool quiet = log->settled || log->packed || f->options.once;
    if (log->earlier_bytes == 0) log->told_earlier = false;
    if (log->earlier_bytes == 0 || log->told_earlier || !quiet) return;
    log->told_earlier = true;
    f->shared.totals.earlier_copies++;
    snprintf(sentence, sizeof sentence,
             "It is an earlier copy of a log that was taken further before: its %" PRIu64
             " bytes add nothing. It counts as another log as soon as it differs.",
             log->earlier_bytes);
    say(f, log->path, sentence);
}

/* --- turns --- */

static tb_code give_turn(follow *f, follow_log *log, int64_t now_ms, tb_error *err)
{
    tb_error why = {0};
    const uint64_t pieces = f->shared.totals.pieces;
    log->round = f->round;
    tb_code code = follow_log_turn(log, &f->shared, &log->more, &why);
    if (f->shared.totals.pieces > pieces) {
        pace_done(&f->pace);
        if (f->sink_error) say(f, NULL, "It accepts data again.");
        f->sink_error = TB_OK;
        f->verified_ms = now_ms;
    }
    if (code == TB_OK) {
        if (!log->damaged) log->trouble = TB_OK;
        note_earlier(f, log);
        return TB_OK;
    }
    log->more = false;
    if (code == TB_E_NOMEM && !f->shared.sink_failed) return tb_no_memory(err);
    if (f->shared.sink_failed)
        sink_failed(f, now_ms, &why);
    else
        log_failed(f, log, now_ms, &why);
    return TB_OK;
}

static bool is_waiting(const follow *f, const follow_log *log, int64_t now_ms)
{
    const int64_t left = log->again_ms - now_ms;
    return !f->options.once && left > 0 && left <= AGAIN_MS;
}

static bool is_due(const follow *f, const follow_log *log, int64_t now_ms, bool full)
{
    if (!log->regular || log->packed || log->damaged || is_waiting(f, log, now_ms)) return false;
    if (log->more) return true;
    if (!log->fresh || log->round == f->round) return false;
    return full || follow_log_lag(log) >= f->options.bytes;
}

static bool is_packed_due(const follow *f, const follow_log *log, int64_t now_ms)
{
    if (!log->packed || !log->fresh || log->damaged || is_waiting(f, log, now_ms)) return false;
    if (log->source) return true;
    return log->round != f->round && (log->settled || f->options.once);
}

/* Whether the round goes on. */
static bool goes_on(const follow *f, int64_t now_ms)
{
    return pace_free(&f->pace, now_ms) && !stopped(f);
}

/* Whether the log is open or there is a descriptor for it. Logs without a name keep theirs, so there may be none for a
 * while; then the log has its turn in a later round. */
static bool may_open(follow *f, const follow_log *log, size_t *open)
{
    const size_t most = f->options.descriptors;
    if (log->fd >= 0) return true;
    if (*open >= most + OPENED_MOST) *open = follow_table_limit_open(&f->table, most);
    if (*open >= most + OPENED_MOST) return false;
    ++*open;
    return true;
}

/* One turn for each log that is due. */
static tb_code give_turns(follow *f, int64_t now_ms, bool full, bool *ret_more, tb_error *err)
{
    tb_code code = TB_OK;
    size_t open = follow_table_limit_open(&f->table, f->options.descriptors);
    *ret_more = false;
    for (size_t i = 0; code == TB_OK && i < f->table.n && goes_on(f, now_ms); i++) {
        follow_log *log = f->table.logs[i];
        if (!is_due(f, log, now_ms, full) || !may_open(f, log, &open)) continue;
        code = give_turn(f, log, now_ms, err);
        *ret_more |= log->more;
    }
    (void)follow_table_limit_open(&f->table, f->options.descriptors);
    return code;
}

/* --- a sink that was restored from a backup --- */

/* Asks the sink whether it still has the last segment it took, after a failure and every PROBE_MS. */
static void check_last_segment(follow *f, int64_t now_ms)
{
    follow_held held;
    tb_error err;
    const int64_t since = now_ms - f->verified_ms;
    if (!f->sink.holds || f->options.once || f->shared.last.length == 0) return;
    if (!f->sink_error && since >= 0 && since < PROBE_MS) return;
    if (f->sink.holds(f->sink.ctx, &f->shared.last, &held, &err)) {
        sink_failed(f, now_ms, &err);
        return;
    }
    f->verified_ms = now_ms;
    if (held != FOLLOW_LACKED) return;
    f->lost_data = true;
    f->shared.last = (follow_proof){.length = 0};
}

/* After a loss: marks all logs for verification, except those known to be withdrawn, which no sink takes again. */
static void mark_all(follow *f, int64_t now_ms)
{
    if (!f->lost_data || !f->sink.holds || (f->marked_ms && now_ms - f->marked_ms < MARK_MS)) return;
    f->lost_data = false;
    f->marked_ms = now_ms;
    f->unverified = 0;
    f->lacked = 0;
    for (size_t i = 0; i < f->table.n; i++) {
        follow_log *log = f->table.logs[i];
        log->unverified = log->proof.length && log->trouble != TB_E_WITHDRAWAL;
        f->unverified += log->unverified;
    }
}

/* Asks the sink about up to VERIFIED_A_ROUND marked logs; one that the sink lacks is read again. */
static void verify_logs(follow *f, int64_t now_ms)
{
    char sentence[300];
    size_t asked = 0, left = 0;
    if (f->unverified == 0) return;
    for (size_t i = 0; i < f->table.n; i++) {
        follow_log *log = f->table.logs[i];
        if (log->unverified && asked < VERIFIED_A_ROUND && goes_on(f, now_ms)) {
            follow_held held;
            tb_error err;
            asked++;
            if (f->sink.holds(f->sink.ctx, &log->proof, &held, &err)) {
                sink_failed(f, now_ms, &err);
            } else {
                log->unverified = false;
                if (held == FOLLOW_LACKED) {
                    follow_log_lacked(log);
                    f->lacked++;
                }
            }
        }
        left += log->unverified;
    }
    f->unverified = left;
    if (left > 0 || f->lacked == 0) return;
    snprintf(sentence, sizeof sentence,
             "The server lacks something of %" PRIu64 " log%s that it had: was it restored from a backup? Logs that "
             "grow no more are read again, too, and what is missing is sent.",
             f->lacked, f->lacked == 1 ? "" : "s");
    say(f, NULL, sentence);
}

/* --- packed logs --- */

static tb_code ship_packed(follow *f, int64_t now_ms, uint64_t end, bool *ret_more, tb_error *err)
{
    uint64_t unpacked = 0;
    tb_code code = TB_OK;
    *ret_more = true;
    while (code == TB_OK && unpacked < PACKED_A_ROUND && f->shared.totals.pieces < end && goes_on(f, now_ms)) {
        follow_log *log = NULL; /* the one that is being unpacked, else the first that is due */
        for (size_t i = 0; i < f->table.n; i++) {
            follow_log *one = f->table.logs[i];
            if (one->source) log = one;
            else if (!log && is_packed_due(f, one, now_ms)) log = one;
            if (one->source) break;
        }
        *ret_more = log != NULL;
        if (!log) break;
        unpacked += log->source ? LOG_PIECE_MAX / 4 : log->size;
        code = give_turn(f, log, now_ms, err);
    }
    return code;
}

static tb_code ship_all(follow *f, int64_t now_ms, bool full, bool *ret_more, tb_error *err)
{
    const uint64_t end = f->shared.totals.pieces + PIECES_A_ROUND;
    tb_code code = TB_OK;
    *ret_more = true;
    while (code == TB_OK && *ret_more && f->shared.totals.pieces < end && goes_on(f, now_ms))
        code = give_turns(f, now_ms, full, ret_more, err);
    if (code || *ret_more) return code;
    verify_logs(f, now_ms);
    return ship_packed(f, now_ms, end, ret_more, err);
}

/* --- logs that are gone --- */

/* Whether a log without a name can be dropped: nothing more of it will be sent. A withdrawn log is never taken again;
 * any other refusal may still be resolved by an administrator. */
static bool is_over(const follow_log *log, int64_t now_ms)
{
    if (log->there) return false;
    if (log->fd < 0) return true;
    if (now_ms - log->quiet_ms < GONE_MS) return false;
    if (log->trouble == TB_E_WITHDRAWAL) return true;
    if (log->trouble) return now_ms - log->trouble_ms >= REFUSED_MS;
    return !log->fresh && !log->source && !log->unverified;
}

static void remove_gone(follow *f, int64_t now_ms)
{
    char sentence[160];
    for (size_t i = f->table.n; i > 0; i--) {
        follow_log *log = f->table.logs[i - 1];
        if (!is_over(log, now_ms)) continue;
        const uint64_t lag = follow_log_lag(log), waiting = follow_log_waiting(log);
        if (!log->packed && lag + waiting > 0) {
            if (lag && log->trouble != TB_E_WITHDRAWAL) f->shared.totals.lost_logs++;
            snprintf(sentence, sizeof sentence,
                     lag ? "It is gone, and %" PRIu64 " bytes at its end were not shipped."
                         : "It is gone, and %" PRIu64 " bytes at its end are a line without an end.",
                     lag ? lag : waiting);
            say(f, log->path, sentence);
        }
        follow_table_remove(&f->table, i - 1);
    }
}

static void note_lags(follow *f, int64_t now_ms)
{
    for (size_t i = 0; i < f->table.n; i++) {
        follow_log *log = f->table.logs[i];
        tb_error err;
        if (follow_log_lag(log) == 0) log->caught_up_ms = now_ms;
        if (log->regular || log->trouble) continue;
        (void)!tb_fail(&err, TB_E_BAD_INPUT, NULL, "It is not a regular file, and is not followed.");
        log_failed(f, log, now_ms, &err);
    }
}

/* --- rounds --- */

tb_code follow_round(follow *f, int64_t now_ms, int64_t *ret_wait_ms, tb_error *err)
{
    bool more = false;
    f->round++;
    tb_code code = follow_table_scan(&f->table, &f->options, now_ms, err);
    if (code) return code;
    note_lags(f, now_ms);
    if (goes_on(f, now_ms)) check_last_segment(f, now_ms);
    mark_all(f, now_ms);
    if (goes_on(f, now_ms)) {
        bool full = pace_full(&f->pace, now_ms) || f->options.once;
        code = ship_all(f, now_ms, full, &more, err);
    }
    note_lags(f, now_ms);
    remove_gone(f, now_ms);
    *ret_wait_ms = more && goes_on(f, now_ms) ? 0 : pace_wait(&f->pace, now_ms);
    return code;
}

void follow_last(follow *f, int64_t now_ms, bool (*leave)(void *ctx), void *ctx)
{
    tb_error err;
    f->round++;
    tb_code code = follow_table_scan(&f->table, &f->options, now_ms, &err);
    size_t open = follow_table_limit_open(&f->table, f->options.descriptors);
    for (size_t i = 0; code == TB_OK && i < f->table.n; i++) {
        follow_log *log = f->table.logs[i];
        log->more = log->begun && log->fresh && !log->packed;
        if (!log->more || !may_open(f, log, &open)) continue;
        while (code == TB_OK && log->more && !leave(ctx))
            code = give_turn(f, log, now_ms, &err);
    }
    (void)follow_table_limit_open(&f->table, f->options.descriptors);
}

bool follow_caught_up(const follow *f)
{
    for (size_t i = 0; i < f->table.n; i++) {
        const follow_log *log = f->table.logs[i];
        if (log->regular && !log->trouble && (log->fresh || follow_log_lag(log))) return false;
    }
    return f->sink_error == TB_OK;
}

/* Whether the file of this name cannot be accessed. A name that was given twice counts once. */
static bool is_unreadable(const follow *f, size_t name)
{
    if (!f->table.sight || f->table.sight[name] != FOLLOW_UNREADABLE) return false;
    for (size_t i = 0; i < name; i++)
        if (strcmp(f->options.names[i], f->options.names[name]) == 0) return false;
    return true;
}

bool follow_troubled(const follow *f)
{
    for (size_t i = 0; i < f->table.n; i++)
        if (f->table.logs[i]->trouble) return true;
    for (size_t i = 0; i < f->options.n_names; i++)
        if (is_unreadable(f, i)) return true;
    return false;
}

bool follow_once_troubled(const follow *f)
{
    bool troubled = follow_troubled(f);
    for (size_t i = 0; i < f->options.n_names; i++)
        troubled |= f->table.sight && f->table.sight[i] == FOLLOW_MISSING;
    for (size_t i = 0; i < f->table.n; i++) {
        const follow_log *log = f->table.logs[i];
        /* The same rule as `ingest` has (feed_all_refused). */
        if (log->earlier || log->rejected < log->lines || (log->rejected == 0 && !log->known_refused)) continue;
        say(f, log->path, "Every line was refused: is this the log's format? --format names another one.");
        troubled = true;
    }
    return troubled;
}

bool follow_sink_works(const follow *f)
{
    return f->sink_error == TB_OK;
}

follow_totals follow_sums(const follow *f)
{
    return f->shared.totals;
}

/* --- figures --- */

/* Escapes a label. The exposition format is UTF-8, and one invalid text would make the whole file invalid. */
static void put_label(tb_buf *out, const char *text)
{
    tb_buf shown;
    tb_buf_init(&shown, LABEL_MOST, NULL);
    tb_buf_shown(&shown, text, strlen(text));
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.data[i] == '\\' || shown.data[i] == '"') tb_buf_str(out, "\\");
        tb_buf_add(out, shown.data + i, 1);
    }
    out->failed |= shown.failed;
    tb_buf_release(&shown);
}

enum { LAG_BYTES, LAG_SECONDS, WAITING_BYTES, EARLIER_BYTES, TROUBLE, LOG_FIGURES };

static int64_t figure_of(const follow_log *log, int figure, int64_t now_ms)
{
    switch (figure) {
    case LAG_BYTES: return (int64_t)follow_log_lag(log);
    case LAG_SECONDS: return follow_log_lag(log) ? (now_ms - log->caught_up_ms) / 1000 : 0;
    case WAITING_BYTES: return (int64_t)follow_log_waiting(log);
    case EARLIER_BYTES: return (int64_t)log->earlier_bytes;
    default: return log->trouble != TB_OK;
    }
}

static void put_figure(tb_buf *out, const char *name, const char *path, int64_t value)
{
    tb_buf_fmt(out, "tollbook_follow_%s{file=\"", name);
    put_label(out, path);
    tb_buf_fmt(out, "\"} %" PRId64 "\n", value);
}

static void put_figures(const follow *f, int64_t now_ms, tb_buf *out)
{
    static const struct {
        const char *name, *help;
    } all[LOG_FIGURES] = {
        [LAG_BYTES] = {"lag_bytes", "Bytes of a log that are not shipped"},
        [LAG_SECONDS] = {"lag_seconds", "Seconds since all of a log was shipped"},
        [WAITING_BYTES] = {"waiting_bytes", "Bytes of a last line that has no end yet"},
        [EARLIER_BYTES] = {"earlier_bytes", "Bytes of an earlier copy of a known log, which add nothing"},
        [TROUBLE] = {"trouble", "1: the log cannot be read, or was refused"}, /* last: names that lead nowhere follow */
    };
    for (int k = 0; k < LOG_FIGURES; k++) {
        tb_buf_fmt(out, "# HELP tollbook_follow_%s %s\n# TYPE tollbook_follow_%s gauge\n",
                   all[k].name, all[k].help, all[k].name);
        for (size_t i = 0; i < f->table.n; i++) {
            const follow_log *log = f->table.logs[i];
            /* Logs are labelled by name, so those without one are left out, and packed logs that are done. */
            if (log->there && (!log->packed || follow_log_lag(log) || log->trouble || log->earlier_bytes))
                put_figure(out, all[k].name, log->path, figure_of(log, k, now_ms));
        }
    }
    for (size_t i = 0; i < f->options.n_names; i++)
        if (is_unreadable(f, i)) put_figure(out, "trouble", f->options.names[i], 1);
}

static void put_one(tb_buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    tb_buf_fmt(out, "# HELP tollbook_follow_%s %s\n# TYPE tollbook_follow_%s %s\n", name, help,
               name, type);
    tb_buf_fmt(out, "tollbook_follow_%s %" PRIu64 "\n", name, value);
}

void follow_metrics(const follow *f, int64_t now_ms, int64_t unix_ms, tb_buf *out)
{
    const follow_totals *all = &f->shared.totals;
    size_t open = 0;
    uint64_t gone_bytes = 0;
    for (size_t i = 0; i < f->table.n; i++) {
        const follow_log *log = f->table.logs[i];
        open += log->fd >= 0;
        if (!log->there) gone_bytes += follow_log_lag(log);
    }
    put_one(out, "written_seconds", "gauge", "When these figures were written, Unix time",
            (uint64_t)(unix_ms / 1000));
    put_one(out, "up", "gauge", "0: the last piece was not taken", f->sink_error == TB_OK);
    put_one(out, "logs", "gauge", "Logs that are followed", f->table.n);
    put_one(out, "open_logs", "gauge", "Logs that are open", open);
    put_one(out, "gone_lag_bytes", "gauge", "Bytes that are not shipped of logs without a name",
            gone_bytes);
    put_one(out, "shipped_bytes_total", "counter", "Bytes that were acknowledged", all->bytes);
    put_one(out, "lines_total", "counter", "Lines that were acknowledged", all->lines);
    put_one(out, "rejected_lines_total", "counter", "Lines of them that do not parse",
            all->rejected);
    put_one(out, "pieces_total", "counter", "Pieces that were acknowledged", all->pieces);
    put_one(out, "failures_total", "counter",
            "Pieces and questions that were not answered or not taken", all->failures);
    put_one(out, "conflicts_total", "counter", "Pieces that another sender had sent",
            all->conflicts);
    put_one(out, "restarts_total", "counter", "Logs that were truncated or written anew in place",
            all->restarts);
    put_one(out, "earlier_copies_total", "counter",
            "Earlier copies of known logs, of which nothing was taken", all->earlier_copies);
    put_one(out, "lost_logs_total", "counter",
            "Logs that were gone before they were read to their end", all->lost_logs);
    put_one(out, "troubles_total", "counter", "Logs that could not be read or were refused",
            all->troubles);
    put_figures(f, now_ms, out);
}
