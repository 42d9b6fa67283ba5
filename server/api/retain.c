/* Every round deletes expired request logs; usage is looked at once a UTC day, because a walk over all series takes
 * some seconds in a large file, even if nothing has expired. Warnings are printed when they are new, because most are
 * the same every day. */
#include "api/retain.h"

#include <stdlib.h>
#include <string.h>

#include "api/said.h"
#include "tollbook/operation.h"
#include "tollbook/retain.h"

#define OPERATION  "retain"
#define ORIGIN     "serve --retain"
#define WARNED_MAX ((size_t)16 << 20)

typedef struct retaining {
    char part[3][16];      /* hours, days, logs; "": no limit */
    tb_args args;          /* of the running round */
    int64_t day;           /* of the last round with usage */
    bool usage;            /* the running round includes usage */
    tb_buf warned, before; /* warnings of this round, and of the last one with usage */
} retaining;

static const char *const names[3] = {"hours", "days", "logs"};

static tb_code add_part(retaining *r, int i, tb_error *err)
{
    const tb_param *p = tb_param_find(r->args.operation, names[i], strlen(names[i]));
    return r->part[i][0] ? tb_args_add(&r->args, p, r->part[i], strlen(r->part[i]), err) : TB_OK;
}

/* usage: with hours and days. */
static tb_code begin_round(retaining *r, bool usage, tb_error *err)
{
    tb_code code = TB_OK;
    tb_args_release(&r->args);
    tb_args_init(&r->args, tb_operation_find(OPERATION, strlen(OPERATION)));
    tb_buf_release(&r->warned);
    tb_buf_init(&r->warned, WARNED_MAX, NULL);
    r->usage = usage;
    for (int i = usage ? 0 : 2; !code && i < 3; i++)
        code = add_part(r, i, err);
    return code ? code : tb_args_end(&r->args, false, err);
}

static tb_code run_step(retaining *r, tb_store *store, int64_t now_us, bool *ret_more, tb_error *err)
{
    tb_ops ops = {.store = store, .now_us = now_us, .from = ORIGIN, .shared = true};
    tb_reply reply;
    tb_reply_init(&reply);
    tb_code code = tb_operation_write(&ops, &r->args, &reply, err);
    if (!code) code = tb_args_next(&r->args, reply.next.data, reply.next.len, err);
    if (!code) *ret_more = r->args.next != NULL;
    if (!code) tb_buf_add(&r->warned, reply.warned.data, reply.warned.len);
    tb_reply_release(&reply);
    return code;
}

static tb_code take_step(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more,
                         tb_error *err)
{
    retaining *r = ctx;
    const int64_t day = now_us / (INT64_C(86400) * 1000000);
    const bool usage = (r->part[0][0] || r->part[1][0]) && day != r->day;
    tb_code code = TB_OK;
    if (!again) {
        r->usage = false;
        if (!usage && !r->part[2][0]) return TB_OK;
        code = begin_round(r, usage, err);
        if (!code && usage) r->day = day;
    }
    if (!code) code = run_step(r, store, now_us, ret_more, err);
    if (code) r->day = -1; /* a failure is tried again in the next round */
    return code;
}

static void end_round(void *ctx, int64_t now_us, bool failed)
{
    retaining *r = ctx;
    (void)now_us;
    if (failed || !r->usage) return;
    api_say(OPERATION, &r->warned, &r->before);
    tb_buf_release(&r->before);
    r->before = r->warned;
    tb_buf_init(&r->warned, WARNED_MAX, NULL);
}

/* Reads one of three parts, separated by commas. */
static bool read_part(retaining *r, int i, const char **at)
{
    const size_t len = strcspn(*at, ",");
    const bool last = (*at)[len] == 0;
    if (!len || len >= sizeof r->part[i] || last != (i == 2)) return false;
    if (len > 1 || **at != '-') memcpy(r->part[i], *at, len);
    if (i < 2 && len > 2 && strcmp(r->part[i] + len - 2, "mo") == 0) r->part[i][len - 2] = 0; /* months, said or not */
    *at += len + !last;
    return true;
}

static tb_code check_parts(retaining *r, const char *text, tb_error *err)
{
    int64_t ms;
    bool good = true;
    tb_args_init(&r->args, tb_operation_find(OPERATION, strlen(OPERATION)));
    for (int i = 0; good && i < 3; i++)
        good = read_part(r, i, &text) && add_part(r, i, NULL) == TB_OK;
    good = good && (!r->part[2][0] || tb_retain_time(r->part[2], &ms)) &&
           (!r->part[0][0] || !r->part[1][0] || tb_arg_number(&r->args, names[0], 0) <=
                                                    tb_arg_number(&r->args, names[1], 0));
    return good ? TB_OK
                : tb_fail(err, TB_E_USAGE, NULL,
                          "It is HOURS,DAYS,LOGS, such as 25mo,60mo,72h: months of hours (25 at least) and "
                          "of days (no fewer), and how long request logs are kept (72h at most); \"-\" "
                          "keeps all.");
}

tb_code api_retain(const char *text, periodic_task *ret_task, tb_error *err)
{
    static retaining r;
    r = (retaining){.day = -1};
    tb_buf_init(&r.before, WARNED_MAX, NULL);
    tb_code code = check_parts(&r, text, err);
    if (!code) *ret_task = (periodic_task){.name = ORIGIN, .write = take_step, .over = end_round, .ctx = &r};
    return code;
}
