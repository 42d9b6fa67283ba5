#include "standby/standby.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standby/epochs.h"

#define PAUSE_US      INT64_C(100000) /* before the first try again; doubled each time */
#define PAUSE_MOST_US INT64_C(5000000)
#define BYTES_KEPT    ((size_t)8 << 20) /* of memory for pieces, for the next answer */
#define TELL_US       INT64_C(1000000) /* the old primary is told so often that it is the primary no longer */
#define GROUP         64 /* pieces that are applied in one transaction at most */
#define GROUP_BYTES   ((size_t)1 << 20) /* once so many bytes have come, their pieces are applied */
#define MISFITS       3 /* a piece that does not follow is fetched so often: it may have been damaged on its way */

/* What a server says of itself. */
typedef struct state {
    int64_t piece;
    char digest[STANDBY_DIGEST];
} state;

struct standby {
    standby_options options;
    primary_link link;
    pthread_t thread;
    bool started;
    _Atomic(const char *) primary; /* of the addresses, the one that is followed */
    _Atomic int64_t newest, applied; /* pieces: of the primary by its last answer, and of the copy */
    _Atomic int64_t current_us; /* monotonic: as of when the copy is known to have all */
    atomic_bool ended, connected;
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool asked, answered, over; /* over: the thread does not run, or is ending */
        int64_t epoch;
        tb_error err;
    } promotion;
    /* Of the thread: */
    tb_piece last; /* of the copy, without data */
    tb_buf bytes;  /* of a piece that is not whole yet */
    bool came;     /* this answer had a piece */
    unsigned misfits;
    bool ends;     /* for this reason: the state below, if `compared`, is the primary's */
    bool compared;
    char reason[sizeof ((tb_error *)0)->message];
    tb_code code;  /* of taking this answer's pieces */
    tb_error err;
    bool said;     /* that nothing can be taken, */
    long said_of;  /* with this status of the answer; 0: there was none */
    int64_t pause_us, compare_us; /* when to compare next */
    state theirs;  /* to be compared once the copy has this piece; piece 0: nothing waits */
};

static int64_t mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* --- the end --- */

static tb_code ask_state(standby *s, state *ret, tb_error *err)
{
    tb_code code = link_ask(&s->link, &(link_request){.path = "/replica/status"}, err);
    if (code) return code;
    if (s->link.status != 200) return link_refusal(&s->link, err);
    json_t *answer = link_json(&s->link);
    const char *digest = json_string_value(json_object_get(answer, "digest"));
    *ret = (state){.piece = json_integer_value(json_object_get(answer, "piece"))};
    if (digest) snprintf(ret->digest, sizeof ret->digest, "%s", digest);
    json_decref(answer);
    return digest ? TB_OK : tb_fail(err, TB_E_AWAY, NULL, "Its state cannot be read.");
}

static tb_code look_at_own(standby *s, state *ret, tb_error *err)
{
    tb_piece last;
    const tb_code code = s->options.look(s->options.ctx, &last, ret->digest, err);
    if (!code) ret->piece = last.number;
    return code;
}

/* Applying is to end; while an answer is taken nothing can be asked. */
static void end(standby *s, const char *reason)
{
    s->ends = true;
    snprintf(s->reason, sizeof s->reason, "%s", reason);
}

/* Whether the primary has a higher epoch, and the oldest piece that is kept here: then the next start finds the last piece that both
 * have. */
static bool can_rejoin(standby *s)
{
    epoch_answer primary;
    tb_piece oldest;
    tb_error ignored;
    bool there = false;
    if (epochs_ask_one(&s->link, &primary, &ignored) || primary.epoch <= s->last.epoch) return false;
    if (s->options.oldest(s->options.ctx, &oldest, &ignored)) return false;
    return link_has_piece(&s->link, &oldest, &there, &ignored) == TB_OK && there;
}

/* Ends applying for good, and says what is here and what is there. */
static void say_end(standby *s)
{
    state own = {.piece = s->last.number}, theirs = s->theirs;
    tb_error ignored;
    if (can_rejoin(s)) {
        s->options.warn("%s has a higher epoch and not all of the pieces that %s has. This server stops: its next start saves those pieces "
                        "beside the file, and makes a new copy. %s", s->link.options.url, s->options.db, s->reason);
        atomic_store(&s->ended, true);
        s->options.restart(s->options.ctx);
        return;
    }
    if (look_at_own(s, &own, &ignored)) snprintf(own.digest, sizeof own.digest, "unknown");
    if (!s->compared && ask_state(s, &theirs, &ignored)) theirs = (state){.digest = "unknown"};
    s->options.warn("this copy follows its primary no longer. %s Here: piece %" PRId64 ", digest %s; there: piece %" PRId64
                   ", digest %s. Stop this server, remove %s and start it again: a new copy is made.",
                   s->reason, own.piece, own.digest, theirs.piece, theirs.digest, s->options.db);
    atomic_store(&s->ended, true);
}

/* --- digests --- */

/* Where the copy has just the piece that the primary's digest was of. */
static void compare_digests(standby *s)
{
    state own;
    tb_error err;
    if (!s->theirs.piece || s->theirs.piece != s->last.number || look_at_own(s, &own, &err) || own.piece != s->theirs.piece)
        return;
    s->compared = strcmp(own.digest, s->theirs.digest) != 0;
    if (s->compared) end(s, "Its content is another than the primary's.");
    else s->theirs.piece = 0;
}

static tb_code compare_if_due(standby *s, tb_error *err)
{
    if (mono_us() < s->compare_us) return TB_OK;
    tb_code code = ask_state(s, &s->theirs, err);
    if (code) return code;
    s->compare_us = mono_us() + STANDBY_COMPARE_US;
    compare_digests(s);
    return TB_OK;
}

/* --- pieces --- */

static tb_code misfit(standby *s, const tb_piece *piece, tb_error *err)
{
    tb_fail(err, TB_E_AWAY, NULL, "Piece %" PRId64 " that came does not follow piece %" PRId64 " of this copy.", piece->number,
            s->last.number);
    if (++s->misfits >= MISFITS) end(s, err->message);
    return TB_E_AWAY;
}

/* Where a group does not fit, its pieces are taken one by one, up to the one that is the reason. */
static tb_code take_pieces(standby *s, const tb_piece *pieces, size_t n, tb_error *err)
{
    tb_code code = n ? s->options.apply(s->options.ctx, pieces, n, err) : TB_OK;
    if ((code == TB_E_DIFFERENT || code == TB_E_NEWER) && n > 1) {
        code = TB_OK;
        for (size_t i = 0; !code && i < n; i++)
            code = take_pieces(s, &pieces[i], 1, err);
        return code;
    }
    if (code == TB_E_DIFFERENT && !tb_piece_follows(pieces, &s->last)) return misfit(s, pieces, err);
    if (code == TB_E_DIFFERENT) end(s, err->message);
    if (code || n == 0 || pieces[n - 1].number <= s->last.number) return code;
    s->last = pieces[n - 1];
    s->last.data = NULL;
    atomic_store(&s->applied, s->last.number);
    s->came = true;
    s->misfits = 0;
    compare_digests(s);
    return TB_OK;
}

/* Reads a group of whole pieces out of what has come. It ends with the piece whose digest is to be compared. */
static tb_code read_group(standby *s, size_t *at, tb_piece pieces[GROUP], size_t *ret_n, tb_error *err)
{
    size_t n = 0, len = 1;
    tb_code code = TB_OK;
    while (!code && len && n < GROUP && *at < s->bytes.len && !(n && pieces[n - 1].number == s->theirs.piece)) {
        code = tb_piece_read(s->bytes.data + *at, s->bytes.len - *at, &pieces[n], &len, err);
        if (code || !len) break;
        *at += len;
        n++;
    }
    *ret_n = n;
    return n ? TB_OK : code; /* what cannot be read is met again behind the group */
}

/* Takes the whole pieces out of what has come. */
static void take_whole(standby *s)
{
    size_t at = 0, n = 1;
    tb_piece pieces[GROUP];
    while (!s->code && n && !s->ends) {
        s->code = read_group(s, &at, pieces, &n, &s->err);
        if (!s->code) s->code = take_pieces(s, pieces, n, &s->err);
    }
    if (at) memmove(s->bytes.data, s->bytes.data + at, s->bytes.len - at);
    s->bytes.len -= at;
}

static bool take_bytes(void *ctx, const char *bytes, size_t len)
{
    standby *s = ctx;
    tb_buf_add(&s->bytes, bytes, len);
    s->code = tb_buf_check(&s->bytes, &s->err);
    if (s->bytes.len >= GROUP_BYTES) take_whole(s);
    return !s->code && !s->ends;
}

/* It has all that the answering server had at this moment: another standby, perhaps, which lags itself. */
static void note_current(standby *s, int64_t at_us)
{
    if (s->link.lag_ms > INT64_MAX / 2000) return;
    const int64_t current_us = at_us - s->link.lag_ms * 1000;
    if (current_us > atomic_load(&s->current_us)) atomic_store(&s->current_us, current_us);
}

/* Whether a 410 ends following. TB_OK: it does. TB_E_AWAY: the server cannot be asked now, or is a standby with fewer pieces. Where two
 * servers start as standbys of each other the last primary has more pieces, and the other one fetches them from it. */
static tb_code check_gone(standby *s, tb_error *err)
{
    epoch_answer other;
    const tb_code code = epochs_ask_one(&s->link, &other, err);
    if (code) return code;
    const bool lags = other.standby && other.epoch <= s->last.epoch && other.piece < s->last.number;
    return lags ? tb_fail(err, TB_E_AWAY, NULL, "It is a standby, and has fewer pieces than this copy.") : TB_OK;
}

static tb_code follow(standby *s, tb_error *err)
{
    char path[LINK_PATH_MAX];
    const int64_t asked_us = mono_us();
    link_path_after(&s->last, STANDBY_WAIT_S, path);
    const link_request request = {.path = path, .take = take_bytes, .ctx = s};
    s->link.epoch = s->last.epoch;
    if (s->bytes.cap > BYTES_KEPT) tb_buf_release(&s->bytes);
    s->bytes.len = 0;
    s->bytes.failed = s->came = false;
    s->code = TB_OK;
    tb_code code = link_ask(&s->link, &request, err);
    /* Also of an answer that was cut off, or that a promotion ends: it may be all that is left of the primary. */
    if (code != TB_E_STOPPED || !atomic_load(&s->link.cut)) take_whole(s);
    if (code || s->ends) return code;
    if (s->code) {
        *err = s->err;
        return s->code;
    }
    if (s->link.status != 200) {
        tb_error why;
        code = link_refusal(&s->link, err);
        if (s->link.status != 410) return code;
        const tb_code unsure = check_gone(s, &why);
        if (!unsure) end(s, err->message);
        else *err = why;
        return unsure ? unsure : code;
    }
    if (s->bytes.len) return tb_fail(err, TB_E_AWAY, NULL, "Its answer ends within a piece.");
    atomic_store(&s->newest, s->link.piece);
    if (!s->came && s->last.number < s->link.piece)
        return tb_fail(err, TB_E_AWAY, NULL, "Its answer lacks the pieces that it announces.");
    /* Where more pieces are left, the head of the answer says so, or its state said so before. */
    if (s->last.number >= s->link.piece && s->last.number >= s->theirs.piece)
        note_current(s, s->came && !s->link.piece ? asked_us : s->link.answered_us);
    return TB_OK;
}

/* --- the thread --- */

static void note_away(standby *s, const tb_error *err)
{
    atomic_store(&s->connected, false);
    if (!s->said || s->said_of != s->link.status)
        s->options.warn("nothing can be taken from the primary %s: %s It is tried again until it can.", s->link.options.url,
                       err->message);
    s->said = true;
    s->said_of = s->link.status;
    s->compare_us = 0; /* it may be another file when it is back */
}

static void note_back(standby *s)
{
    if (!atomic_exchange(&s->connected, true))
        s->options.note("following %s from piece %" PRId64 " on", s->link.options.url, s->last.number);
    s->said = false;
    s->pause_us = PAUSE_US;
}

/* Of several addresses, the one to ask from now on. */
static void choose_primary(standby *s)
{
    const char *before = s->link.options.url;
    epochs_choose(&s->link.options);
    if (before != s->link.options.url) s->options.note("%s is asked from now on, as the primary is there", s->link.options.url);
    atomic_store(&s->primary, s->link.options.url);
}

/* Until it ends, or is told to: stopped, or promoted. */
static void follow_on(standby *s)
{
    tb_error err = {0};
    for (;;) {
        tb_code code = follow(s, &err);
        if (!code && !s->ends) code = compare_if_due(s, &err);
        if (code == TB_E_STOPPED || s->ends || atomic_load(&s->link.finish_us)) break;
        if (!code) {
            note_back(s);
            continue;
        }
        note_away(s, &err);
        if (!s->came && !link_pause(&s->link, s->pause_us)) break;
        choose_primary(s);
        s->pause_us = s->pause_us * 2 < PAUSE_MOST_US ? s->pause_us * 2 : PAUSE_MOST_US;
    }
    if (s->ends) say_end(s);
    atomic_store(&s->connected, false);
}

/* --- promotion --- */

/* Answers who waits for the promotion. */
static void answer_promotion(standby *s, const tb_error *err, int64_t epoch)
{
    pthread_mutex_lock(&s->promotion.lock);
    s->promotion.err = *err;
    s->promotion.epoch = epoch;
    s->promotion.asked = false;
    s->promotion.answered = true;
    pthread_cond_broadcast(&s->promotion.changed);
    pthread_mutex_unlock(&s->promotion.lock);
}

static bool is_promotion_asked(standby *s)
{
    pthread_mutex_lock(&s->promotion.lock);
    const bool asked = s->promotion.asked;
    pthread_mutex_unlock(&s->promotion.lock);
    return asked;
}

/* Of a copy that follows no longer. */
static void wait_for_promotion(standby *s)
{
    pthread_mutex_lock(&s->promotion.lock);
    while (!s->promotion.asked && !s->promotion.over)
        pthread_cond_wait(&s->promotion.changed, &s->promotion.lock);
    pthread_mutex_unlock(&s->promotion.lock);
}

/* Whether the copy is the primary now. */
static bool take_over(standby *s)
{
    tb_error err = {0};
    int64_t epoch = 0;
    if (!is_promotion_asked(s)) return false;
    const bool done = s->options.take_over(s->options.ctx, &epoch, &err) == TB_OK;
    if (done) s->link.epoch = epoch;
    link_go_on(&s->link);
    answer_promotion(s, &err, epoch);
    return done;
}

/* Whether the old primary knows by now. *ret_twin: it is a primary, and its epoch is not lower than the one here. */
static bool has_heard(standby *s, bool *ret_twin)
{
    json_t *answer = link_json(&s->link);
    const char *key = json_string_value(json_object_get(answer, "ErrorKey"));
    const char *role = json_string_value(json_object_get(answer, "role"));
    const bool heard = (key && strcmp(key, "replica.superseded") == 0) || (role && strcmp(role, "primary") != 0);
    *ret_twin = !heard && json_integer_value(json_object_get(answer, "epoch")) >= s->link.epoch;
    json_decref(answer);
    return heard || *ret_twin;
}

/* Tells every address at which a primary may be until it has heard, since it may come back. */
static void tell_others(standby *s)
{
    const link_request request = {.path = "/replica/status"};
    link_options *o = &s->link.options;
    bool heard[LINK_URLS_MAX] = {false}, twin;
    size_t left = o->n_urls;
    tb_error err;
    do {
        for (size_t i = 0; i < o->n_urls; i++) {
            o->url = o->urls[i];
            if (heard[i] || link_ask(&s->link, &request, &err) || !has_heard(s, &twin)) continue;
            heard[i] = true;
            left--;
            if (!twin) s->options.note("%s knows that it is the primary no longer", o->url);
            else if (strcmp(o->url, o->own_url) != 0)
                s->options.warn("%s is a primary too, with epoch %" PRId64 " or a higher one. If that is not this server itself, two "
                                "standbys were promoted: stop one of them, and start it with --standby-of the other.", o->url,
                                s->link.epoch);
        }
    } while (left && link_pause(&s->link, TELL_US));
}

static void *run_standby(void *arg)
{
    standby *s = arg;
    const tb_error stopped = {.code = TB_E_STOPPED, .message = "The server is stopping."};
    bool promoted = false;
    while (!promoted && !atomic_load(&s->link.cut)) {
        if (s->ends) wait_for_promotion(s);
        else follow_on(s);
        promoted = take_over(s);
    }
    if (promoted) tell_others(s);
    pthread_mutex_lock(&s->promotion.lock);
    s->promotion.over = true;
    const bool asked = s->promotion.asked;
    pthread_mutex_unlock(&s->promotion.lock);
    if (asked) answer_promotion(s, &stopped, 0);
    return NULL;
}

tb_code standby_promote(standby *s, int64_t *ret_epoch, tb_error *err)
{
    pthread_mutex_lock(&s->promotion.lock);
    const bool over = s->promotion.over;
    s->promotion.asked = !over;
    s->promotion.answered = false;
    pthread_cond_broadcast(&s->promotion.changed);
    if (!over) link_finish(&s->link);
    while (!over && !s->promotion.answered)
        pthread_cond_wait(&s->promotion.changed, &s->promotion.lock);
    const tb_error answer = s->promotion.err;
    *ret_epoch = s->promotion.epoch;
    pthread_mutex_unlock(&s->promotion.lock);
    if (over) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    if (answer.code && err) *err = answer;
    return answer.code;
}

/* --- start and stop --- */

static void set_over(standby *s, bool over)
{
    pthread_mutex_lock(&s->promotion.lock);
    s->promotion.over = over;
    pthread_cond_broadcast(&s->promotion.changed);
    pthread_mutex_unlock(&s->promotion.lock);
}

tb_code standby_new(const standby_options *options, standby **ret, tb_error *err)
{
    standby *s = calloc(1, sizeof *s);
    if (!s) return tb_no_memory(err);
    s->options = *options;
    s->pause_us = PAUSE_US;
    s->promotion.over = true;
    pthread_mutex_init(&s->promotion.lock, NULL);
    pthread_cond_init(&s->promotion.changed, NULL);
    tb_buf_init(&s->bytes, TB_PIECE_MAX + TB_PIECE_HEAD + CURL_MAX_WRITE_SIZE, NULL);
    char digest[STANDBY_DIGEST];
    tb_code code = link_open(&s->link, &options->link, err);
    if (!code) code = options->look(options->ctx, &s->last, digest, err);
    if (!code && !s->last.number)
        code = tb_fail(err, TB_E_USAGE, NULL, "%s is no copy of a replicated database: remove it or name another --db, and a copy is made.",
                       options->db);
    atomic_init(&s->primary, options->link.url);
    atomic_init(&s->applied, s->last.number);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - s->last.at_us;
    atomic_init(&s->current_us, mono_us() - (age_us > 0 ? age_us : 0));
    if (code) standby_free(s);
    else *ret = s;
    return code;
}

tb_code standby_start(standby *s, tb_error *err)
{
    set_over(s, false);
    s->started = pthread_create(&s->thread, NULL, run_standby, s) == 0;
    return s->started ? TB_OK : tb_fail(err, TB_E_IO, NULL, "The standby's thread does not start.");
}

void standby_stop(standby *s)
{
    link_cut(&s->link);
    set_over(s, true);
    if (s->started) pthread_join(s->thread, NULL);
    s->started = false;
}

void standby_free(standby *s)
{
    if (!s) return;
    link_close(&s->link);
    tb_buf_release(&s->bytes);
    pthread_cond_destroy(&s->promotion.changed);
    pthread_mutex_destroy(&s->promotion.lock);
    free(s);
}

/* --- what others ask --- */

void standby_use_key(standby *s, const char *key)
{
    link_use_key(&s->link, key);
}

int64_t standby_lag_us(const standby *s)
{
    return mono_us() - atomic_load(&s->current_us);
}

bool standby_ended(const standby *s)
{
    return atomic_load(&s->ended);
}

const char *standby_primary(const standby *s)
{
    return atomic_load(&s->primary);
}

bool standby_lacks(const standby *s)
{
    return atomic_load(&s->newest) > atomic_load(&s->applied);
}

bool standby_is_connected(const standby *s)
{
    return atomic_load(&s->connected);
}
