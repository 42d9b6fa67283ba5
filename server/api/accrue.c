/* Steps take the time of the round from the writer's clock, or from the fixed one of tests. */
#include "api/accrue.h"

#include <stdatomic.h>
#include <string.h>

#include "api/said.h"
#include "tollbook/audit.h"
#include "tollbook/calendar.h"
#include "tollbook/operation.h"

#define OPERATION "ledger accrue"
#define ORIGIN    "serve"
#define PAST_S    300 /* after midnight, when the last logs of the day have come */
#define SAID_MAX  ((size_t)16 << 20)

typedef struct accruing {
    tb_args args;
    int64_t day; /* of the last complete round; -1: none */
    /* Of the running round: */
    int64_t round_day;
    bool began, changed, left_out;
    tb_buf said;
    _Atomic int64_t done_us;
    _Atomic uint64_t failures;
} accruing;

static accruing state = {.day = -1, .done_us = INT64_MIN};

accrue_figures api_accrue_figures(void)
{
    return (accrue_figures){.done_us = atomic_load(&state.done_us),
                            .failures = atomic_load(&state.failures)};
}

static int64_t accrued_day_of(int64_t now_us)
{
    return tb_day_from_us(now_us - PAST_S * TB_US_PER_S);
}

static int64_t until_midnight(void *ctx, int64_t now_us)
{
    (void)ctx;
    const int64_t next_us = (accrued_day_of(now_us) + 1) * TB_US_PER_DAY + PAST_S * TB_US_PER_S;
    return next_us - now_us + TB_US_PER_S;
}

static tb_code run_step(accruing *a, tb_store *store, int64_t now_us, bool *ret_more, tb_error *err)
{
    tb_ops ops = {.store = store, .now_us = now_us, .from = ORIGIN, .shared = true};
    const uint64_t before = tb_store_changes(store);
    tb_reply reply;
    tb_reply_init(&reply);
    tb_code code = tb_operation_write(&ops, &a->args, &reply, err);
    if (!code) code = tb_args_next(&a->args, reply.next.data, reply.next.len, err);
    if (!code) {
        *ret_more = a->args.next != NULL;
        a->left_out |= reply.no;
        a->changed |= tb_store_changes(store) != before;
        tb_buf_add(&a->said, reply.said.data, reply.said.len);
    }
    tb_reply_release(&reply);
    return code;
}

static tb_code take_step(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more,
                         tb_error *err)
{
    accruing *a = ctx;
    tb_code code = TB_OK;
    if (!again) {
        a->began = false;
        if (accrued_day_of(now_us) == a->day) return TB_OK;
        a->round_day = accrued_day_of(now_us);
        tb_args_release(&a->args);
        tb_args_init(&a->args, tb_operation_find(OPERATION, strlen(OPERATION)));
        tb_buf_release(&a->said);
        tb_buf_init(&a->said, SAID_MAX, NULL);
        a->began = true;
        a->changed = a->left_out = false;
        code = tb_args_end(&a->args, false, err);
    }
    return code ? code : run_step(a, store, now_us, ret_more, err);
}

/* After the commit. A round that changed nothing prints nothing. */
static void end_round(void *ctx, int64_t now_us, bool failed)
{
    accruing *a = ctx;
    if (!a->began && !failed) return;
    if (!failed && (a->changed || a->left_out)) api_say(OPERATION, &a->said, NULL);
    tb_buf_release(&a->said);
    if (failed || a->left_out) {
        atomic_fetch_add(&a->failures, 1);
        return;
    }
    a->day = a->round_day;
    atomic_store(&a->done_us, now_us);
}

periodic_task api_accrue(void)
{
    return (periodic_task){.name = OPERATION, .write = take_step, .over = end_round, .wait_us = until_midnight,
                           .ctx = &state};
}
