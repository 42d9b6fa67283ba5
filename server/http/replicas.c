#include "http/replicas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http/acknowledge.h"
#include "http/clock.h"
#include "http/message.h"
#include "standby/epochs.h"

#define TRIM_PIECES  500 /* deleted in one transaction */
#define TRIM_WAIT_US INT64_C(60000000)
#define ASK_WAIT_US  INT64_C(3000000)
#define TRY_AGAIN_US INT64_C(1000000)

static tb_code switch_on(tb_store *store, void *ctx, tb_error *err)
{
    const server *s = ctx;
    return tb_store_replicate(store, clock_now_us(s->options.fixed_now_us), err);
}

/* A primary is no standby of its own, as it may be listed after the promotion of a file that nobody served. */
static tb_code drop_own_name(tb_store *store, void *ctx, tb_error *err)
{
    const tb_code code = tb_store_standby_drop(store, ctx, err);
    return code == TB_E_NOT_FOUND ? TB_OK : code;
}

/* One of the standbys may have taken this file's place while no server ran here. Those that do not answer soon are not
 * waited for: they can be told later, as no answer is acknowledged without them (acknowledge.h). */
static tb_code ask_standbys(server *s, const tb_piece *last, tb_error *err)
{
    const int64_t epoch = last->epoch;
    tb_standby list[TB_STANDBYS_MAX];
    char own[LINK_NAME_MAX + 1];
    const char *urls[TB_STANDBYS_MAX];
    epoch_answer answers[TB_STANDBYS_MAX];
    size_t n, kept = 0;
    bool listed = false;
    tb_code code = tb_store_standbys(s->store, list, &n, err);
    copy_name(s, own);
    for (size_t i = 0; i < n; i++) {
        const bool is_own = strcmp(list[i].name, own) == 0;
        listed |= is_own;
        if (!is_own && list[i].url[0]) list[kept++] = list[i];
    }
    if (!code && listed) code = tb_store_write(s->store, drop_own_name, own, err);
    for (size_t i = 0; i < kept; i++)
        urls[i] = list[i].url;
    if (!code) epochs_ask(urls, kept, s->options.ca, answers);
    for (size_t i = 0; !code && i < kept; i++) {
        tb_error why;
        if (answers[i].primary && answers[i].epoch == epoch)
            message_say(MESSAGE_ERROR, "%s, which is listed as a standby, is a primary too, with the same epoch: two servers have taken one "
                        "place. Stop one of them, and start it with --standby-of the other.", list[i].url);
        if (!answers[i].primary && answers[i].epoch == epoch && answers[i].piece > last->number)
            return tb_fail(err, TB_E_USAGE, NULL, "Its standby %s has piece %" PRId64 ", and the newest piece of %.250s is %" PRId64 ": this is an older "
                           "state of the file, from a backup perhaps. Promote that standby, and start this server with --standby-of %s; or, where "
                           "the older state is wanted, begin anew with `replica off`.", list[i].name, answers[i].piece, s->options.db, last->number,
                           list[i].url);
        if (answers[i].epoch <= epoch) continue;
        if (tb_store_supersede(s->store, answers[i].epoch, &why))
            message_say(MESSAGE_ERROR, "%s cannot be marked as superseded: %s", s->options.db, why.message);
        return tb_fail(err, TB_E_REPLICA_SUPERSEDED, NULL, "The standby %s was promoted: it has epoch %" PRId64 ", and %.250s has epoch %" PRId64
                       ". Start this server with --standby-of %s.", list[i].name, answers[i].epoch, s->options.db, epoch, list[i].url);
    }
    return code;
}

tb_code replicas_open(server *s, tb_error *err)
{
    tb_replication now;
    tb_code code = tb_store_replication(s->store, &now, err);
    if (code) return code;
    s->replicated = now.last.number > 0;
    if (!s->replicated && !s->options.replicas && s->options.acknowledge_standby)
        return tb_fail(err, TB_E_USAGE, NULL, "--acknowledge-after standby: %s is not replicated. Give --replicas too.", s->options.db);
    if (s->replicated && !s->options.copy.link.url && !s->options.idle) return ask_standbys(s, &now.last, err);
    if (s->replicated || !s->options.replicas || s->options.copy.link.url) return TB_OK;
    code = tb_store_write(s->store, switch_on, s, err);
    if (code) return code;
    s->replicated = true;
    message_say(MESSAGE_INFO, "replication of %s is on: each commit makes a piece, also of commands and without --replicas, until "
                "`replica off`.", s->options.db);
    return TB_OK;
}

/* One step deletes a few pieces, so that no client waits for more. */
static tb_code trim(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more, tb_error *err)
{
    const server *s = ctx;
    (void)again;
    bases_age(s->bases);
    return tb_store_trim_pieces(store, now_us - s->options.keep_us, s->options.keep_bytes, TRIM_PIECES, ret_more, err);
}

static int64_t trim_wait_us(void *ctx, int64_t now_us)
{
    (void)ctx, (void)now_us;
    return TRIM_WAIT_US;
}

/* --- standbys that are silent --- */

static tb_code run_supersede(write_job *job, tb_store *store, tb_error *err)
{
    return tb_store_supersede(store, *(int64_t *)job->owner, err);
}

/* A standby that asks no more may have been promoted, and may be unable to tell: it was cut off from here when it did, and has been
 * started again since. */
static tb_code ask_silent(void *ctx, tb_store *reader, bool again, int64_t now_us, bool *ret_found, bool *ret_more, tb_error *err)
{
    server *s = ctx;
    tb_standby list[TB_STANDBYS_MAX];
    const char *urls[TB_STANDBYS_MAX];
    epoch_answer answers[TB_STANDBYS_MAX];
    tb_replication now;
    const size_t n = acknowledge_silent(s->acknowledge, list);
    (void)again, (void)now_us;
    *ret_found = *ret_more = false;
    if (!n) return TB_OK;
    const tb_code code = tb_store_replication(reader, &now, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++)
        urls[i] = list[i].url;
    epochs_ask(urls, n, s->options.ca, answers);
    for (size_t i = 0; i < n; i++) {
        const write_job note = {.run = run_supersede, .owner = &answers[i].epoch, .alone = true, .bare = true};
        if (answers[i].epoch <= now.last.epoch) continue;
        replicas_end_primary(s, answers[i].epoch, urls[i]);
        job_pool_write(s->pool, LANE_PERIODIC, s->writer, &note, TRY_AGAIN_US);
        break;
    }
    return TB_OK;
}

static int64_t ask_wait_us(void *ctx, int64_t now_us)
{
    (void)ctx, (void)now_us;
    return ASK_WAIT_US;
}

/* --- the role --- */

server_role replicas_role(const server *s)
{
    return atomic_load(&s->role);
}

const char *replicas_role_name(const server *s)
{
    static const char *const names[] = {[ROLE_PRIMARY] = "primary", [ROLE_STANDBY] = "standby", [ROLE_SUPERSEDED] = "superseded"};
    return names[replicas_role(s)];
}

copy_server *replicas_copy(const server *s)
{
    return replicas_role(s) == ROLE_STANDBY ? s->copy : NULL;
}

const char *replicas_primary(const server *s)
{
    const copy_server *c = replicas_copy(s);
    return c ? copy_primary(c) : s->superseded_by;
}

tb_code replicas_check_write(const server *s, tb_error *err)
{
    switch (replicas_role(s)) {
    case ROLE_PRIMARY: return TB_OK;
    case ROLE_STANDBY:
        return tb_fail(err, TB_E_REPLICA_READ_ONLY, NULL, "This server is a copy and only read. Send it to its primary, %.200s.",
                       replicas_primary(s));
    default:
        return tb_fail(err, TB_E_REPLICA_SUPERSEDED, NULL, "Another server%s%s has taken this one's place. Send it there.",
                       s->superseded_by[0] ? ", at " : "", s->superseded_by);
    }
}

/* --- a change of the role --- */

void replicas_settle(server *s)
{
    const server_role role = replicas_role(s);
    job_pool_rest(s->pool, LANE_OUTBOX, role != ROLE_PRIMARY);
    job_pool_rest(s->pool, LANE_DEPLOY, role != ROLE_PRIMARY);
    job_pool_rest(s->pool, LANE_WITNESS, role != ROLE_PRIMARY);
    job_pool_rest(s->pool, LANE_PERIODIC, role == ROLE_SUPERSEDED);
    periodic_rest(s->periodic, role != ROLE_PRIMARY);
    if (s->acknowledge) acknowledge_new_role(s->acknowledge);
    if (replicas_role(s) != role) replicas_settle(s); /* another thread changed it meanwhile: the last to settle has the newest */
}

typedef struct promotion {
    server *server;
    const char *name;
    int64_t epoch;
} promotion;

/* The role changes before any later job of the writer runs. */
static tb_code run_promotion(write_job *job, tb_store *store, tb_error *err)
{
    promotion *p = job->owner;
    const tb_code code = tb_store_promote(store, p->name, &p->epoch, err);
    if (!code) atomic_store(&p->server->role, ROLE_PRIMARY);
    return code;
}

static tb_code run_want(write_job *job, tb_store *store, tb_error *err)
{
    const server_options *o = job->owner;
    return o->outbox.want(o->outbox.ctx, store, clock_now_us(o->fixed_now_us), err);
}

tb_code replicas_take_over(server *s, const char *name, int64_t *ret_epoch, tb_error *err)
{
    promotion p = {.server = s, .name = name};
    tb_error why;
    const write_job promote = {.run = run_promotion, .owner = &p, .alone = true, .bare = true};
    const write_job want = {.run = run_want, .owner = &s->options};
    const tb_code code = writer_run(s->writer, &promote, err);
    if (code) return code;
    *ret_epoch = p.epoch;
    if (s->options.outbox.send && writer_run(s->writer, &want, &why))
        message_say(MESSAGE_ERROR, "no messages are put into the outbox until the next start: %s", why.message);
    replicas_settle(s);
    message_say(MESSAGE_INFO, "this server is the primary now, with epoch %" PRId64, p.epoch);
    return TB_OK;
}

void replicas_end_primary(server *s, int64_t epoch, const char *url)
{
    pthread_mutex_lock(&s->role_lock);
    const bool ends = replicas_role(s) == ROLE_PRIMARY;
    if (ends) snprintf(s->superseded_by, sizeof s->superseded_by, "%s", url);
    if (ends) atomic_store(&s->role, ROLE_SUPERSEDED);
    pthread_mutex_unlock(&s->role_lock);
    if (!ends) return;
    replicas_settle(s);
    message_say(MESSAGE_ERROR, "another server%s%s%s has taken this one's place, with epoch %" PRId64 ". This one takes no writes any more, and "
                "answers what only reads from what it has. Stop it, and start it with --standby-of that server.", url[0] ? ", " : "", url,
                url[0] ? "," : "", epoch);
}

tb_code replicas_not_standby(const server *s, tb_error *err)
{
    return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "This server is %s, and no standby.",
                   replicas_role(s) == ROLE_PRIMARY ? "the primary already" : "superseded: start it with --standby-of its new primary");
}

tb_code replicas_promote(server *s, bool force, int64_t *ret_epoch, tb_error *err)
{
    return s->copy ? copy_promote(s->copy, force, ret_epoch, err) : replicas_not_standby(s, err);
}

/* --- start and end --- */

bool replicas_start(server *s)
{
    server_options *o = &s->options;
    s->waiting = waiting_new(s->pool);
    s->followers = followers_new();
    s->bases = bases_new(o->db);
    s->acknowledge = acknowledge_new(s);
    if (!o->idle || replicas_copy(s)) {
        o->tasks[o->n_tasks++] = (periodic_task){.name = "serve --replicas", .write = trim, .wait_us = trim_wait_us, .ctx = s,
                                                  .on_copies = true};
        o->tasks[o->n_tasks++] = (periodic_task){.name = "asking silent standbys", .read = ask_silent, .wait_us = ask_wait_us, .ctx = s};
    }
    if (!s->waiting || !s->followers || !s->bases || !s->acknowledge) return false;
    acknowledge_take_list(s->acknowledge, s->store);
    return true;
}

void replicas_free(server *s)
{
    acknowledge_free(s->acknowledge);
    waiting_free(s->waiting);
    followers_free(s->followers);
    bases_free(s->bases);
}
