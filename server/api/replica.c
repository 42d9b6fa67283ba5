/* The stream of pieces by which copies of the file follow, and how replication stands.
 *
 * GET /replica/pieces answers whole pieces. With nothing new the connection is suspended and the handler looks again after
 * the next commit, until the time that the client waits is over. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/acknowledge.h"
#include "http/replicas.h"
#include "http/clock.h"
#include "http/query.h"
#include "http/stream.h"
#include "tollbook/operation.h"

#define ANSWER_BYTES ((size_t)8 << 20) /* of several pieces; a single one may be larger */
#define WAIT_MAX_S   60
#define PIECES_TYPE  "application/octet-stream"

/* What is asked for; in request.work. */
typedef struct question {
    int64_t after, wait_s;
    tb_text digest; /* of piece `after`, as the follower has it; none: it does not say */
    int64_t until_us; /* monotonic */
    tb_follower follower; /* who asks; without a name: it did not say */
    tb_standby standby;   /* the same, if it is promotable */
    bool adds;            /* it is being listed as a standby, or has been */
    bool noted;
    /* For a header of the answer: the newest piece when it began. An answer that ends before it is not all. */
    char newest[24];
    const char *headers[3];
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "a question fits the request");

static const query_spec specs[] = {
    {"after", QUERY_INT, offsetof(question, after)},
    {"wait", QUERY_INT, offsetof(question, wait_s)},
    {"digest", QUERY_TEXT, offsetof(question, digest)},
};

static question *question_of(request *r)
{
    return (question *)(void *)r->work;
}

static tb_code read_question(request *r, question *q, tb_error *err)
{
    const tb_text query = request_query(r);
    *q = (question){.after = -1};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, q, r->scratch, err);
    if (code) return code;
    if (q->after < 0)
        return tb_fail(err, TB_E_VALIDATION, "after", "after is the number of the newest piece that you have, 0 or more.");
    if (q->wait_s < 0 || q->wait_s > WAIT_MAX_S)
        return tb_fail(err, TB_E_VALIDATION, "wait", "wait is a number of seconds from 0 to %d.", WAIT_MAX_S);
    q->until_us = r->start_us + q->wait_s * 1000000;
    return TB_OK;
}

static tb_code read_follower(request *r, question *q, tb_error *err)
{
    const tb_text header = request_header(r, HEADER_REPLICA);
    if (!header.len || followers_read(header, &q->follower, &q->standby)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "Tollbook-Replica",
                   "It is a name of at most %d letters, digits, dots, underscores and hyphens, and behind \"; \" each: promotable, "
                   "url=URL, schema=N.", TB_FOLLOWER_NAME);
}

static tb_code run_add(write_job *job, tb_store *store, tb_error *err)
{
    return tb_store_standby_add(store, &question_of(job->owner)->standby, err);
}

/* A promotable follower that is not listed yet, or with another address or schema, is listed before it has its answer. */
static bool add_standby(request *r, question *q)
{
    server *s = r->worker->server;
    if (q->adds || !q->follower.promotable || replicas_role(s) != ROLE_PRIMARY || acknowledge_lists(s->acknowledge, &q->standby))
        return false;
    q->adds = true;
    r->job.run = run_add;
    r->job.bytes = 0;
    request_submit(r);
    return true;
}

/* By asking it says what it has. */
static void note_follower(request *r, question *q, int64_t newest)
{
    server *s = r->worker->server;
    if (q->noted || !q->follower.name[0]) return;
    q->noted = true;
    q->follower.piece = q->after;
    followers_note(s->followers, &q->follower, clock_mono_us());
    r->conn->follows = q->follower.promotable;
    if (q->follower.promotable) acknowledge_note(s->acknowledge, q->follower.name, q->after, newest);
}

/* --- the answer --- */

typedef struct pieces {
    request *r;
    int64_t after;
    size_t sent, end; /* bytes before this piece of the answer; where it is long enough */
    tb_buf *out;
    bool more, failed;
} pieces;

/* The answer's piece ends with a whole piece of the stream: it is about STREAM_PIECE long, or as long as one of those. */
static bool add_piece(void *ctx, const tb_piece *piece)
{
    pieces *p = ctx;
    p->more = true;
    const size_t bytes = p->sent + p->out->len, len = TB_PIECE_HEAD + piece->len;
    if (p->out->len >= STREAM_PIECE || (bytes && bytes + len > ANSWER_BYTES)) return false;
    tb_piece_put(piece, p->out);
    p->after = piece->number;
    p->more = false;
    return !p->out->failed;
}

static tb_code read_pieces(void *ctx, tb_buf *out, bool *ret_done, tb_error *err)
{
    pieces *p = ctx;
    tb_store *store = p->r->worker->store;
    p->out = out;
    p->more = false;
    tb_code code = tb_store_read_begin(store, err);
    if (!code) code = tb_store_pieces(store, p->after, add_piece, p, err);
    tb_store_read_end(store);
    if (code == TB_E_NOT_FOUND && p->sent) code = TB_OK; /* trimmed meanwhile: the next request hears of it */
    p->sent += out->len;
    *ret_done = !p->more || p->sent >= ANSWER_BYTES || !out->len;
    return code;
}

static void answer_pieces(request *r, question *q, int64_t newest)
{
    pieces *p = calloc(1, sizeof *p);
    if (!p) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    *p = (pieces){.r = r, .after = q->after};
    request_answer_stream(r, (stream_source){.fill = read_pieces, .release = free, .ctx = p, .most = TB_PIECE_MAX + STREAM_PIECE},
                          PIECES_TYPE);
    snprintf(q->newest, sizeof q->newest, "%" PRId64, newest);
    q->headers[0] = "Tollbook-Piece";
    q->headers[1] = q->newest;
    q->headers[2] = NULL;
    r->reply.headers = q->headers;
    r->reply.compressible = false;
}

static tb_code check_after(const question *q, const tb_replication *now, tb_error *err)
{
    if (!now->last.number) return tb_fail(err, TB_E_REPLICA_OFF, NULL, NULL);
    if (q->after > now->last.number)
        return tb_fail(err, TB_E_REPLICA_GONE, "after", "The newest piece here is %" PRId64 ": begin from a new base.",
                       now->last.number);
    if (q->after + 1 < now->first)
        return tb_fail(err, TB_E_REPLICA_GONE, "after", "The oldest piece that is kept here is %" PRId64 ": begin from a new base.",
                       now->first);
    return TB_OK;
}

/* Whether the follower's history is this file's. A piece that is not kept any more cannot be compared: what follows it is
 * checked by the follower. */
static tb_code check_digest(tb_store *store, const question *q, tb_error *err)
{
    char text[2 * TB_PIECE_CHAIN + 1];
    tb_piece piece;
    if (!q->digest.len) return TB_OK;
    tb_code code = tb_store_piece_head(store, q->after, &piece, err);
    for (int i = 0; i < TB_PIECE_CHAIN; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", piece.chain[i]);
    if (code || !piece.number || (q->digest.len == sizeof text - 1 && memcmp(q->digest.data, text, q->digest.len) == 0)) return code;
    return tb_fail(err, TB_E_REPLICA_GONE, "digest", "Piece %" PRId64 " here is another: begin from a new base.", q->after);
}

static void look(request *r)
{
    question *q = question_of(r);
    server *s = r->worker->server;
    const int64_t commits = waiting_reached(s->waiting, WAIT_COMMIT);
    tb_replication now;
    tb_error err;
    tb_code code = tb_store_read_begin(r->worker->store, &err);
    if (!code) code = tb_store_replication(r->worker->store, &now, &err);
    if (!code) code = check_after(q, &now, &err);
    if (!code) code = check_digest(r->worker->store, q, &err);
    tb_store_read_end(r->worker->store);
    const int64_t left_us = q->until_us - clock_mono_us();
    if (!code && add_standby(r, q)) return;
    if (!code) note_follower(r, q, now.last.number);
    if (code) {
        request_fail_as(r, &err);
    } else if (now.last.number > q->after) {
        answer_pieces(r, q, now.last.number);
    } else if (left_us <= 0 || r->method == HTTP_HEAD || atomic_load(&s->stopping)) {
        request_text(r);
        request_answer_text(r, 200, PIECES_TYPE);
    } else {
        request_wait(r, commits, left_us);
    }
}

void api_replica_pieces(request *r)
{
    question *q = question_of(r);
    tb_error err;
    if (!r->worker->server->replicated) {
        request_fail(r, TB_E_REPLICA_OFF, NULL, NULL);
        return;
    }
    if (api_replica_meets(r)) return;
    tb_code code = read_question(r, q, &err);
    if (!code) code = api_replica_check_role(r, &err);
    if (!code) code = read_follower(r, q, &err);
    if (code) request_fail_as(r, &err);
    else look(r);
}

void api_replica_pieces_done(request *r)
{
    if (api_replica_met(r)) return;
    if (question_of(r)->adds && !question_of(r)->noted && r->job.code) request_fail_as(r, &r->job.err);
    else look(r);
}

/* --- the state --- */

tb_replica_server api_replica_known(server *s, tb_follower list[FOLLOWERS_SHOWN])
{
    size_t n = s->followers ? followers_list(s->followers, clock_mono_us(), list) : 0;
    if (s->replicated && replicas_role(s) != ROLE_STANDBY) n = acknowledge_add_listed(s->acknowledge, list, n);
    const copy_server *copy = replicas_copy(s);
    return (tb_replica_server){.role = replicas_role_name(s), .followers = list, .n_followers = n,
                               .lag_us = copy ? copy_lag_us(copy) : 0};
}

/* The operation's answer, at once: a follower should not wait behind computations. */
static void answer_state(request *r)
{
    server *s = r->worker->server;
    tb_follower list[FOLLOWERS_SHOWN];
    const tb_replica_server known = api_replica_known(s, list);
    tb_args args;
    tb_reply made;
    tb_error err;
    tb_ops ops = {.store = r->worker->store, .now_us = request_now_us(r), .key = r->key, .roles = r->roles, .replica = &known};
    tb_args_init(&args, tb_operation_find("replica status", strlen("replica status")));
    tb_reply_init(&made);
    tb_code code = tb_args_end(&args, false, &err);
    if (!code) code = tb_operation_read(&ops, &args, &made, &err);
    if (code) {
        request_fail_as(r, &err);
    } else {
        tb_buf_add(request_text(r), made.json.data, made.json.len);
        request_answer_text(r, 200, "application/json");
    }
    tb_reply_release(&made);
    tb_args_release(&args);
}

void api_replica_status(request *r)
{
    if (!api_replica_meets(r)) answer_state(r);
}

void api_replica_status_done(request *r)
{
    if (!api_replica_met(r)) answer_state(r);
}

/* --- metrics --- */

static void put_lags(request *r, const tb_replica_server *known, tb_buf *out)
{
    tb_buf_str(out, "# HELP tollbook_replica_follower_lag_seconds How long a follower has lacked the next piece.\n"
                    "# TYPE tollbook_replica_follower_lag_seconds gauge\n");
    for (size_t i = 0; i < known->n_followers; i++) {
        const tb_follower *one = &known->followers[i];
        int64_t lag_us;
        if (tb_store_replica_lag(r->worker->store, one->piece, request_now_us(r), &lag_us, NULL)) continue;
        tb_buf_fmt(out, "tollbook_replica_follower_lag_seconds{name=\"%s\"} %" PRId64 ".%03" PRId64 "\n", one->name, lag_us / 1000000,
                   lag_us / 1000 % 1000);
    }
}

/* Where the file is replicated. */
void api_replica_metrics(request *r, tb_buf *out)
{
    server *s = r->worker->server;
    tb_follower list[FOLLOWERS_SHOWN];
    tb_replication now;
    tb_error err;
    if (!s->replicated || api_replica_state(r->worker->store, &now, &err) || !now.last.number) return;
    const int64_t asked = (int64_t)followers_list(s->followers, clock_mono_us(), list);
    const tb_replica_server known = api_replica_known(s, list);
    const struct {
        const char *name, *help;
        int64_t value;
    } rows[] = {
        {"tollbook_replica_piece", "Number of the newest piece for copies.", now.last.number},
        {"tollbook_replica_epoch", "A promotion raises it.", now.last.epoch},
        {"tollbook_replica_bytes_kept", "Bytes of the pieces that are kept.", now.bytes},
        {"tollbook_replica_followers", "Copies that asked for pieces within the last hour.", asked},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        metrics_sample(out, rows[i].name, "gauge", rows[i].help, (uint64_t)rows[i].value);
    tb_buf_fmt(out, "# HELP tollbook_replica_role 1 for the role that this server has.\n# TYPE tollbook_replica_role gauge\n"
                    "tollbook_replica_role{role=\"%s\"} 1\n", known.role);
    if (s->options.acknowledge_standby) {
        metrics_sample(out, "tollbook_replica_answers_waiting", "gauge", "Answers to writes that wait for a standby.",
                       waiting_count(s->waiting, WAIT_PIECE));
        metrics_sample(out, "tollbook_unprotected", "gauge", "1 while answers to writes do not wait for a standby that is away.",
                       acknowledge_unprotected(s->acknowledge));
    }
    put_lags(r, &known, out);
}
