/* Looking at alerts is the library's, sending them the webhook's; the courier has the threads. */
#include "api/alerts.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/alerts.h"
#include "tollbook/operation.h"
#include "webhook/webhook.h"
#include "http/process.h"

typedef struct alerting {
    const char *url, *ca;
    int64_t limit_us;
    webhook *senders[COURIER_THREADS]; /* made when they are first needed */
    tb_alert_watch *watch;
    tb_alert_changes changes;
    uint64_t counting;         /* accounts without a price, of the round that goes on */
    _Atomic uint64_t unpriced; /* of the last round over all */
} alerting;

/* --- sending --- */

static bool is_stopping(void *ctx)
{
    return courier_stopping(ctx);
}

static tb_delivery send_message(void *ctx, unsigned thread, const courier *c, const tb_message *m,
                                const void *secret, int64_t now_us, char error[TB_MESSAGE_ERROR_MAX + 1])
{
    alerting *a = ctx;
    const webhook_message message = {.url = a->url, .id = m->id, .body = m->body,
                                     .body_len = m->body_len, .now_s = now_us / 1000000,
                                     .limit_us = a->limit_us, .ca = a->ca, .stop = is_stopping,
                                     .ctx = (void *)(uintptr_t)c};
    if (!a->senders[thread]) a->senders[thread] = webhook_new();
    webhook_answer answer = {0, 0};
    if (a->senders[thread]) answer = webhook_send(a->senders[thread], &message, secret, error);
    else snprintf(error, TB_MESSAGE_ERROR_MAX + 1, "There is no memory.");
    const int64_t most_s = TB_OUTBOX_PAUSE_MOST / 1000000;
    return (tb_delivery){answer.status, error,
                         (answer.after_s < most_s ? answer.after_s : most_s) * 1000000};
}
_Static_assert(WEBHOOK_ERROR_MAX == TB_MESSAGE_ERROR_MAX, "what is said fits");

/* --- wanting --- */

/* As the command does it, so that the audit log has it where it changes something. */
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

/* --- looking --- */

static void say_trouble(void *ctx, const char *sentence)
{
    (void)ctx;
    process_say("%s", sentence);
}

/* Once, and again when it had gone away in between. */
static void end_round(alerting *a)
{
    if (a->counting && !atomic_load(&a->unpriced))
        process_say("%" PRIu64 " account%s with alerts on money %s usage without a price, which these"
                " do not count. `alerts --evaluate` lists it.",
                a->counting, a->counting == 1 ? "" : "s", a->counting == 1 ? "has" : "have");
    atomic_store(&a->unpriced, a->counting);
}

static tb_code look_at_alerts(void *ctx, tb_store *store, bool begin, bool all, int64_t now_us, bool *ret_found,
                    bool *ret_over, tb_error *err)
{
    alerting *a = ctx;
    if (!a->watch) a->watch = tb_alert_watch_new();
    if (!a->watch) return tb_no_memory(err);
    if (begin) tb_alert_watch_begin(a->watch, all);
    tb_alert_changes_release(&a->changes);
    tb_code code = tb_alerts_look(store, a->watch, now_us, all ? say_trouble : NULL, NULL, &a->changes,
                                  ret_over, err);
    *ret_found = a->changes.n > 0;
    if (begin) a->counting = 0;
    a->counting += a->changes.n_unpriced;
    if (!code && all && *ret_over) end_round(a);
    return code;
}

static tb_code note_alerts(void *ctx, tb_store *store, int64_t now_us, bool *ret_moved, tb_error *err)
{
    alerting *a = ctx;
    bool moved = false;
    tb_code code = tb_alerts_note(store, &a->changes, now_us, &moved, err);
    if (moved) *ret_moved = true;
    return code;
}

static void end_alerts(void *ctx)
{
    alerting *a = ctx;
    for (unsigned i = 0; i < COURIER_THREADS; i++)
        webhook_free(a->senders[i]);
    tb_alert_watch_free(a->watch);
    tb_alert_changes_release(&a->changes);
    *a = (alerting){0};
}

tb_code api_alerts(const char *url, const char *ca, int64_t limit_us, int64_t pause_us, courier_work *ret_work,
                   tb_error *err)
{
    static alerting a;
    tb_code code = webhook_check_url(url, err);
    if (code) return code;
    a = (alerting){.url = url, .ca = ca, .limit_us = limit_us};
    *ret_work = (courier_work){.want = want_messages, .send = send_message, .look = look_at_alerts, .note = note_alerts, .end = end_alerts, .ctx = &a,
                               .unpriced = &a.unpriced, .pause_us = pause_us};
    return TB_OK;
}
