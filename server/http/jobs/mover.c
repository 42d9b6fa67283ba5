#include "http/jobs/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/message.h"
#include "http/new_file.h"
#include "tollbook/usageservers.h"

#define LOOK_US   INT64_C(1000000) /* how often is looked for a request */
#define AGAIN_US  INT64_C(5000000) /* after a failure that may pass */
#define TELL_US   INT64_C(250000)
#define LITTLE_US INT64_C(1000000) /* a pass of this time leaves little for the switch */
#define MOST_US   INT64_C(8000000) /* so does one of this time that did not get shorter */
#define HOLD_US   INT64_C(15000000) /* writers wait no longer than this for the switch */

struct mover {
    const char *db;
    usage_servers *servers;
    void (*moved)(void *ctx);
    void *ctx;
    writer *writer;
    job_pool *pool;
    atomic_bool works;
    /* Of the lane's thread: */
    usage_servers *target;
    bool since_open; /* the request was there when the store was opened */
    tb_usage_move move;
    int64_t again_us, told_us, looked_us;
    int64_t held_from_us, held_us;
    bool given_up;
    move_state state;
    write_job job;
    char url[MOVE_URL_MAX];
    char place[MOVE_URL_MAX]; /* where the usage is; "": at the servers of --usage */
};

/* --- files beside the database --- */

#define REQUEST "usage-move"
#define STATE   "usage-move-state"
#define MOVED   "usage-moved"

static bool path_of(const char *db, const char *what, char out[NEW_FILE_PATH_MAX])
{
    const int n = snprintf(out, NEW_FILE_PATH_MAX, "%s-%s", db, what);
    return n > 0 && n < NEW_FILE_PATH_MAX;
}

/* false: there is no such line, counted from 0, or it is empty. */
static bool read_line(const char *db, const char *what, int line, char *out, size_t size)
{
    char path[NEW_FILE_PATH_MAX];
    FILE *file = path_of(db, what, path) ? fopen(path, "re") : NULL;
    bool found = file != NULL;
    for (int i = 0; found && i <= line; i++)
        found = fgets(out, (int)size, file) != NULL;
    if (file) fclose(file);
    out[found ? strcspn(out, "\n") : 0] = 0;
    return out[0] != 0;
}

static bool put_line(const char *db, const char *what, const char *line, size_t len)
{
    char path[NEW_FILE_PATH_MAX];
    errno = ENAMETOOLONG;
    return path_of(db, what, path) && new_file_put(AT_FDCWD, path, 0666, line, len);
}

static void remove_file(const char *db, const char *what)
{
    char path[NEW_FILE_PATH_MAX];
    if (path_of(db, what, path)) unlink(path);
}

bool move_request_read(const char *db, char ret_url[MOVE_URL_MAX])
{
    return read_line(db, REQUEST, 0, ret_url, MOVE_URL_MAX);
}

tb_code move_request_put(const char *db, const char *url, tb_error *err)
{
    char line[MOVE_URL_MAX + 1];
    const int n = snprintf(line, sizeof line, "%s\n", url);
    remove_file(db, STATE);
    if (n > 0 && (size_t)n < sizeof line && put_line(db, REQUEST, line, (size_t)n)) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s-" REQUEST " cannot be written: %s. The server of the database reads it.", db, strerror(errno));
}

void move_request_remove(const char *db)
{
    remove_file(db, REQUEST);
    remove_file(db, STATE);
    remove_file(db, MOVED);
}

static const char *const phase_name[MOVE_PHASES] = {"none", "copies", "waits", "failed", "done"};

/* "PHASE BEAT DONE ALL WHY". A line that is none is as if there were none. */
void move_state_read(const char *db, move_state *ret)
{
    char line[MOVE_WHY_MAX + 100], *at = line;
    uint64_t value[3] = {0, 0, 0};
    *ret = (move_state){.phase = MOVE_NONE};
    if (!read_line(db, STATE, 0, line, sizeof line)) return;
    const size_t len = strcspn(line, " ");
    at += len;
    for (int i = 0; i < 3; i++)
        value[i] = strtoull(at, &at, 10);
    for (int i = 0; i < MOVE_PHASES; i++)
        if (strlen(phase_name[i]) == len && memcmp(line, phase_name[i], len) == 0) ret->phase = (move_phase)i;
    ret->beat = value[0];
    ret->done = value[1];
    ret->all = value[2];
    snprintf(ret->why, sizeof ret->why, "%s", *at ? at + 1 : "");
}

static void tell(mover *m, move_phase phase, uint64_t done, uint64_t all, const char *why)
{
    char line[MOVE_WHY_MAX + 100];
    m->told_us = clock_mono_us();
    m->state.beat++;
    const int n = snprintf(line, sizeof line, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", phase_name[phase], m->state.beat, done, all, why);
    if (n > 0 && (size_t)n < sizeof line) (void)put_line(m->db, STATE, line, (size_t)n); /* the log has it too */
}

/* --- where the usage may be --- */

static int64_t own_address(const mover *m)
{
    return usage_servers_client(m->servers)->address;
}

/* Before a switch, so that a start with the same --usage finds the usage where it is now, or at the servers of the request. The
 * first line is the number of --usage: an operator who changes it says himself where the usage is. */
static tb_code note_places(const mover *m, tb_error *err)
{
    char text[2 * MOVE_URL_MAX + 40];
    const int n = snprintf(text, sizeof text, "%" PRId64 "\n%s%s%s\n", own_address(m), m->place, m->place[0] ? "\n" : "", m->url);
    if (n > 0 && (size_t)n < sizeof text && put_line(m->db, MOVED, text, (size_t)n)) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s-" MOVED " cannot be written: %s. A start with the same --usage reads it after the move.", m->db,
                   strerror(errno));
}

static void set_place(mover *m, const char *url)
{
    snprintf(m->place, sizeof m->place, "%s", usage_address_number(url) == own_address(m) ? "" : url);
}

/* The servers of one line of the file; NULL: there are none, or --usage is another one by now. */
static usage_servers *moved_servers(const mover *m, int line, char url[MOVE_URL_MAX])
{
    usage_servers *servers = NULL;
    tb_error err;
    if (!read_line(m->db, MOVED, 0, url, MOVE_URL_MAX) || strtoll(url, NULL, 10) != own_address(m)) return NULL;
    return read_line(m->db, MOVED, line, url, MOVE_URL_MAX) && usage_servers_add(m->servers, url, &servers, &err) == TB_OK ? servers : NULL;
}

/* --- a move --- */

static void show_progress(void *ctx, uint64_t done, uint64_t all)
{
    mover *m = ctx;
    if (clock_mono_us() - m->told_us < TELL_US) return;
    m->state.done = done;
    m->state.all = all;
    tell(m, MOVE_COPIES, done, all, m->state.why);
}

/* For usage_wait_for: whether the server stops, or the request was taken back. Also shows that the server is alive. */
static bool move_is_over(void *ctx)
{
    mover *m = ctx;
    char url[MOVE_URL_MAX];
    if (clock_mono_us() - m->looked_us >= LOOK_US) {
        m->looked_us = clock_mono_us();
        m->given_up = !move_request_read(m->db, url) || strcmp(url, m->url) != 0;
        if (!m->given_up && m->looked_us - m->told_us >= LOOK_US) tell(m, MOVE_COPIES, m->state.done, m->state.all, m->state.why);
    }
    return m->given_up || job_pool_stopping(m->pool, LANE_MOVE);
}

/* The same on the writer's thread during the switch. */
static bool holds_too_long(void *ctx)
{
    const mover *m = ctx;
    return clock_mono_us() - m->held_from_us > HOLD_US || job_pool_stopping(m->pool, LANE_MOVE);
}

static tb_code run_begin(write_job *job, tb_store *store, tb_error *err)
{
    mover *m = job->owner;
    return tb_store_begin_usage_move(store, &m->move, err);
}

static tb_code run_switch(write_job *job, tb_store *store, tb_error *err)
{
    mover *m = job->owner;
    m->held_from_us = clock_mono_us();
    usage_wait_for(holds_too_long, m);
    const tb_code code = tb_store_switch_usage(store, &m->move, err);
    usage_wait_for(NULL, NULL);
    m->held_us = clock_mono_us() - m->held_from_us;
    if (tb_store_usage_client(store) != usage_servers_client(m->target))
        return code != TB_E_STOPPED ? code : tb_fail(err, TB_E_BUSY, "to", "The switch took more than %d s, so writes went on without it.",
                                                     (int)(HOLD_US / 1000000));
    usage_servers_use(m->servers, m->target);
    m->moved(m->ctx);
    return TB_OK; /* if the writer could not begin there, it tries again by itself */
}

static tb_code run_on_writer(mover *m, tb_code (*run)(write_job *job, tb_store *store, tb_error *err), tb_error *err)
{
    const write_job job = {.run = run, .owner = m, .alone = true, .bare = true};
    return writer_run(m->writer, &job, err);
}

static void tell_too_much(mover *m, int64_t took_us)
{
    if (m->state.why[0]) return;
    snprintf(m->state.why, sizeof m->state.why,
             "A copy of what came meanwhile takes %" PRId64 " s and does not get shorter. Writes would wait as long for the switch, so it "
             "goes on copying. Send less usage for a while, or stop the server and run this command again.", took_us / 1000000);
    message_say(MESSAGE_WARNING, "usage move: %s", m->state.why);
}

/* Passes until writers may wait for one more: one was short, or no shorter than the one before, as it consists of statements more
 * than of rows. */
static tb_code copy_most(mover *m, tb_store *reader, tb_error *err)
{
    int64_t before_us = INT64_MAX;
    for (unsigned pass = 1;; pass++) {
        const int64_t from_us = clock_mono_us();
        const tb_code code = tb_store_copy_usage(reader, &m->move, err);
        const int64_t took_us = clock_mono_us() - from_us;
        message_say(MESSAGE_DEBUG, "usage move: pass %u took %" PRId64 " ms; %" PRIu64 " rows so far", pass, took_us / 1000, m->move.rows);
        const bool steady = took_us > before_us / 4 * 3;
        if (code || (pass > 1 && (took_us < LITTLE_US || (steady && took_us < MOST_US)))) return code;
        if (move_is_over(m)) return tb_fail(err, TB_E_BUSY, "to", "The server stops.");
        if (steady) tell_too_much(m, took_us);
        before_us = took_us;
    }
}

static tb_code move_usage(mover *m, tb_store *reader, tb_error *err)
{
    m->move = (tb_usage_move){.client = usage_servers_client(m->target), .progress = show_progress, .ctx = m, .since_open = m->since_open};
    if (!usage_servers_up(m->target, err)) return err->code;
    tb_code code = tb_store_read_begin(reader, err); /* so that the reader finds where the usage is now */
    if (code) return code;
    tb_store_read_end(reader);
    code = run_on_writer(m, run_begin, err);
    if (!code) code = note_places(m, err);
    if (!code) code = copy_most(m, reader, err);
    return code ? code : run_on_writer(m, run_switch, err);
}

static bool may_pass(tb_code code)
{
    return code == TB_E_AWAY || code == TB_E_BUSY || code == TB_E_LOCKED || code == TB_E_GONE;
}

static void fail_for_good(mover *m, const char *why)
{
    message_say(MESSAGE_ERROR, "usage is not moved: %s", why);
    tell(m, MOVE_FAILED, 0, 0, why);
    remove_file(m->db, REQUEST);
    atomic_store(&m->works, false);
}

/* The usage is at the servers of the request. */
static void end_request(mover *m, uint64_t rows, uint64_t held_ms)
{
    move_state before;
    set_place(m, m->url);
    move_state_read(m->db, &before);
    if (before.phase != MOVE_DONE) tell(m, MOVE_DONE, rows, held_ms, "");
    remove_file(m->db, REQUEST);
    atomic_store(&m->works, false);
}

static tb_code run_move(write_job *job, tb_store *reader, tb_error *err)
{
    mover *m = job->owner;
    m->given_up = false;
    m->state.done = m->state.all = 0;
    m->state.why[0] = 0;
    tell(m, MOVE_COPIES, 0, 0, "");
    usage_wait_for(move_is_over, m);
    const tb_code code = move_usage(m, reader, err);
    usage_wait_for(NULL, NULL);
    m->again_us = clock_mono_us() + AGAIN_US;
    if (code && m->given_up) fail_for_good(m, "the request was taken back.");
    else if (code && may_pass(code)) tell(m, MOVE_WAITS, 0, 0, err->message);
    else if (code) fail_for_good(m, err->message);
    if (code) return TB_OK;
    end_request(m, m->move.rows, (uint64_t)m->held_us / 1000);
    message_say(MESSAGE_WARNING, "usage is on other servers now: %" PRIu64 " rows. Writes waited %" PRId64 " ms for the switch. Start this "
                "server with the new --usage the next time.", m->move.rows, m->held_us / 1000);
    return TB_OK;
}

static void move_done(write_job *job)
{
    (void)job;
}

/* Whether the request asks for something that is not done yet. */
static bool find_request(mover *m)
{
    tb_error err;
    if (!move_request_read(m->db, m->url)) return false;
    if (usage_servers_add(m->servers, m->url, &m->target, &err) == TB_OK) return !usage_servers_are_used(m->servers, m->target);
    fail_for_good(m, err.message);
    m->url[0] = 0;
    return false;
}

static write_job *next_move(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    mover *m = ctx;
    (void)thread;
    (void)reader;
    *wait_us = LOOK_US;
    const bool wanted = find_request(m);
    atomic_store(&m->works, wanted);
    if (!wanted) m->since_open = false;
    if (!wanted && m->url[0]) end_request(m, 0, 0); /* an earlier move ended there, and was cut off before it said so */
    if (!wanted || clock_mono_us() < m->again_us) return NULL;
    m->job = (write_job){.run = run_move, .done = move_done, .owner = m};
    return &m->job;
}

/* --- open and close --- */

mover *mover_new(const char *db, usage_servers *servers, void (*moved)(void *ctx), void *ctx)
{
    mover *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->db = db;
    m->servers = servers;
    m->moved = moved;
    m->ctx = ctx;
    for (int line = 1; line <= 2; line++)
        (void)moved_servers(m, line, m->place);
    m->place[0] = 0;
    m->since_open = find_request(m);
    atomic_init(&m->works, m->since_open);
    return m;
}

void mover_opened(mover *m, const tb_store *store)
{
    char url[MOVE_URL_MAX];
    const tb_usage_client *client = tb_store_usage_client(store);
    for (int line = 1; line <= 2; line++) {
        usage_servers *moved = moved_servers(m, line, url);
        if (!moved || client != usage_servers_client(moved)) continue;
        usage_servers_use(m->servers, moved);
        set_place(m, url);
    }
    if (m->target && client == usage_servers_client(m->target)) {
        usage_servers_use(m->servers, m->target);
        m->since_open = false;
        atomic_store(&m->works, false);
    }
    for (int line = 1; line <= 2; line++)
        if (read_line(m->db, MOVED, line, url, sizeof url) && usage_address_number(url) == own_address(m) && !m->place[0])
            remove_file(m->db, MOVED); /* --usage is the address itself now */
}

void mover_start(mover *m, writer *to, job_pool *pool)
{
    m->writer = to;
    m->pool = pool;
    job_pool_set_source(pool, LANE_MOVE, next_move, m);
}

void mover_free(mover *m)
{
    free(m);
}

bool mover_works(const mover *m)
{
    return m && atomic_load(&m->works);
}
