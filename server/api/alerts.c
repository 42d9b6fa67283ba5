/* The engine evaluates alerts, webhook.h sends messages; the job pool has the threads. */
#include "api/alerts.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/alerts.h"
#include "tollbook/operation.h"
#include "webhook/webhook.h"
#include "http/clock.h"
#include "http/message.h"

#define POLL_US INT64_C(200000)     /* between two checks for a commit */
#define ALL_US  INT64_C(3600000000) /* between two rounds over all accounts */

typedef struct alerting {
    const char *url, *ca;
    int64_t limit_us;
    webhook *senders[OUTBOX_THREADS]; /* made when they are first needed */
    /* Of the periodic task: */
    alert_rounds rounds;
    bool running, all, moved; /* a round runs; it covers all accounts; alerts moved, so it could not note everything */
    int64_t began_us;       /* monotonic */
    tb_alert_watch *watch;
    tb_alert_changes changes;
    uint64_t counting;         /* accounts without a price, of the running round */
    _Atomic uint64_t unpriced; /* of the last round over all */
} alerting;

/* --- sending --- */

static bool is_stopping(void *ctx)
{
    return job_pool_stopping(ctx, LANE_OUTBOX);
}

static tb_delivery send_message(void *ctx, unsigned thread, const job_pool *pool, const tb_message *m,
                                const void *secret, int64_t now_us, char error[TB_MESSAGE_ERROR_MAX + 1])
{
    alerting *a = ctx;
    const webhook_message message = {.url = a->url, .id = m->id, .body = m->body,
                                     .body_len = m->body_len, .now_s = now_us / 1000000,
                                     .limit_us = a->limit_us, .ca = a->ca, .stop = is_stopping,
                                     .ctx = (void *)(uintptr_t)pool};
    if (!a->senders[thread]) a->senders[thread] = webhook_new();
    webhook_answer answer = {0, 0};
    if (a->senders[thread]) answer = webhook_send(a->senders[thread], &message, secret, error);
    else snprintf(error, TB_MESSAGE_ERROR_MAX + 1, "There is no memory.");
    const int64_t most_s = TB_OUTBOX_PAUSE_MOST / 1000000;
    return (tb_delivery){answer.status, error,
                         (answer.after_s < most_s ? answer.after_s : most_s) * 1000000};
}
_Static_assert(WEBHOOK_ERROR_MAX == TB_MESSAGE_ERROR_MAX, "a message fits");

/* --- enabling the outbox --- */

/* As the command `alerts --on`, so that the audit log records a change. */
static tb_code want_messages(void *ctx, tb_store *store, int64_t now_us, tb_error *err)
{
    tb_ops ops = {.store = store, .now_us = now_us, .from = "serve", .shared = true};
    tb_args args;
    tb_reply reply;
    (void)ctx;
    tb_args_init(&args, tb_operation_find("alerts", strlen("alerts")));
    tb_reply_init(&reply);
    tb_code code = tb_args_json(&args, "{\"on\":true}", 11, err);
    if (!code) code = tb_args_end(&args, false, err);
    if (!code) code = tb_operation_write(&ops, &args, &reply, err);
    tb_reply_release(&reply);
    tb_args_release(&args);
    return code;
}

/* --- rounds over the alerts --- */

const alert_rounds alert_no_round = {.next_us = INT64_MIN, .last_all_us = INT64_MIN / 2};

bool alert_round_due(const alert_rounds *r, int64_t now_us, uint64_t version, bool *ret_all)
{
    *ret_all = r->again || now_us - r->last_all_us >= ALL_US;
    return now_us >= r->next_us && (*ret_all || version != r->version);
}

void alert_round_over(alert_rounds *r, bool all, bool again, bool failed, int64_t began_us, int64_t ended_us)
{
    const int64_t share_us = 9 * (ended_us - began_us);
    const int64_t pause_us = share_us < ROUND_PAUSE_US ? ROUND_PAUSE_US : share_us;
    r->again = failed || again;
    /* A change after a round over all accounts need not wait. */
    if (!all || failed) r->next_us = ended_us + (pause_us < ROUND_PAUSE_MOST_US ? pause_us : ROUND_PAUSE_MOST_US);
    if (all) r->last_all_us = began_us;
}

static int64_t poll_wait(void *ctx, int64_t now_us)
{
    (void)ctx;
    (void)now_us;
    return POLL_US;
}

/* Begins a round if one is due; most of the task's rounds find none. */
static tb_code begin_round(alerting *a, tb_store *store, tb_error *err)
{
    uint64_t version;
    a->began_us = clock_mono_us();
    a->running = false;
    tb_code code = tb_store_version(store, &version, err);
    if (code || !alert_round_due(&a->rounds, a->began_us, version, &a->all)) return code;
    if (!a->watch) a->watch = tb_alert_watch_new();
    if (!a->watch) return tb_no_memory(err);
    if (!a->url) tb_alert_watch_caps(a->watch);
    a->running = true;
    a->moved = false;
    a->counting = 0;
    a->rounds.version = version;
    tb_alert_watch_begin(a->watch, a->all);
    return TB_OK;
}

static void report_problem(void *ctx, const char *sentence)
{
    (void)ctx;
    message_say(MESSAGE_WARNING, "%s", sentence);
}

static tb_code read_alerts(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_found, bool *ret_more,
                              tb_error *err)
{
    alerting *a = ctx;
    tb_code code = again ? TB_OK : begin_round(a, store, err);
    if (code || !a->running) return code;
    tb_alert_changes_release(&a->changes);
    code = tb_alerts_look(store, a->watch, now_us, a->all ? report_problem : NULL, NULL, &a->changes, err);
    *ret_found = a->changes.n > 0;
    *ret_more = !a->changes.complete;
    a->counting += a->changes.n_unpriced;
    return code;
}

static tb_code note_alerts(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more, tb_error *err)
{
    alerting *a = ctx;
    bool moved = false;
    (void)again;
    (void)ret_more;
    tb_code code = tb_alerts_note(store, &a->changes, now_us, &moved, err);
    a->moved |= moved;
    return code;
}

/* Usage without a price is reported once, and again if it had gone meanwhile. */
static void end_round(void *ctx, int64_t now_us, bool failed)
{
    alerting *a = ctx;
    (void)now_us;
    if (!a->running) return;
    a->running = false;
    alert_round_over(&a->rounds, a->all, a->moved, failed, a->began_us, clock_mono_us());
    if (failed || !a->all) return;
    if (a->counting && !atomic_load(&a->unpriced))
        message_say(MESSAGE_WARNING, "%" PRIu64 " account%s with alerts on money %s usage without a price, which these"
                    " do not count. `alerts --evaluate` lists it.",
                    a->counting, a->counting == 1 ? "" : "s", a->counting == 1 ? "has" : "have");
    atomic_store(&a->unpriced, a->counting);
}

/* --- setup --- */

static alerting state;

uint64_t api_alerts_unpriced(void)
{
    return atomic_load(&state.unpriced);
}

static void end_alerts(void *ctx)
{
    alerting *a = ctx;
    for (unsigned i = 0; i < OUTBOX_THREADS; i++)
        webhook_free(a->senders[i]);
    tb_alert_watch_free(a->watch);
    tb_alert_changes_release(&a->changes);
    *a = (alerting){0};
}

static periodic_task alerts_task(void)
{
    return (periodic_task){.name = "alerts", .read = read_alerts, .write = note_alerts, .over = end_round,
                           .wait_us = poll_wait, .ctx = &state};
}

periodic_task api_caps(void)
{
    state = (alerting){.rounds = alert_no_round};
    return alerts_task();
}

tb_code api_alerts(const char *url, const char *ca, int64_t limit_us, int64_t pause_us, outbox_work *ret_work,
                   periodic_task *ret_task, tb_error *err)
{
    tb_code code = webhook_check_url(url, err);
    if (code) return code;
    state = (alerting){.url = url, .ca = ca, .limit_us = limit_us, .rounds = alert_no_round};
    *ret_work = (outbox_work){.want = want_messages, .send = send_message, .end = end_alerts, .ctx = &state,
                              .pause_us = pause_us};
    *ret_task = alerts_task();
    return TB_OK;
}
