/* retain: deletes old usage and request logs, a bounded part in each commit. A call goes on where the
 * last one stopped: `next` is the entry in the audit log, the account, where in it, and what went so far. What is
 * too old is what was when the entry was made.
 *
 * Usage that has gone never comes back, and what still comes for its months is not billed. So a clock alone lets
 * none go: a month is old by the newest usage, too. Months count back from the clock's month, or from the
 * month after that of the newest usage, whichever is earlier. Request logs go by the clock alone, for they hold
 * addresses of people, and must go also where nothing new comes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/billsource.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/logstore.h"
#include "tollbook/eventids.h"
#include "tollbook/retain.h"

#define MONTHS_MIN 25
#define MONTHS_MAX 1200
#define ROOM       8192 /* rows and series that one commit looks at */
#define LOGS_ROOM  128  /* blocks of request logs that go with one commit */
#define OPEN_MOST  20   /* accounts with an open month that one call names */

/* What went, or would. */
typedef struct went {
    int64_t hour_rows, hour_bytes, day_rows, day_bytes, log_blocks, log_bytes;
} went;

typedef struct retaining {
    tb_ops *ops;
    tb_reply *reply;
    tb_kept before;  /* months before these are old enough */
    int64_t running, clocks; /* the month that they count back from, and the clock's */
    int64_t logs_ms; /* lines before it; 0: no logs are asked about */
    int64_t at_logs; /* not 0: accounts are over, and some of the lines may have gone */
    tb__told told;
    tb_retain_walk walk;
    went went;
    int64_t later; /* not 0: usage servers are rid of some of it later */
    size_t open; /* accounts with an open month */
} retaining;

/* --- arguments --- */

bool tb_retain_time(const char *text, int64_t *ret_ms)
{
    int64_t n = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && n < 100000; at++)
        n = n * 10 + (*at - '0');
    if (at == text || (*at != 'h' && *at != 'm') || at[1]) return false;
    *ret_ms = n * (*at == 'h' ? INT64_C(3600000) : INT64_C(60000));
    return *ret_ms >= 60000 && *ret_ms <= TB_LOG_KEPT_MS;
}

static tb_code read_logs(const tb_args *args, int64_t now_us, int64_t *ret_ms, tb_error *err)
{
    const char *text = tb_arg_text(args, "logs");
    int64_t kept_ms = 0;
    if (!text) return TB_OK;
    if (!tb_retain_time(text, &kept_ms))
        return tb_fail(err, TB_E_VALIDATION, "logs",
                       "It must be a time from 1m to 72h, such as 24h: lines are never kept longer.");
    *ret_ms = now_us / 1000 - kept_ms;
    return TB_OK;
}

static tb_code find_running(retaining *r, tb_error *err)
{
    int64_t newest = 0;
    tb_code code = tb_store_newest_hour(r->ops->store, &newest, err);
    r->running = r->clocks = tb_month_from_us(r->told.begun_us);
    if (code || newest == INT64_MIN) return code;
    const int64_t next = tb_month_from_us(newest * TB_US_PER_HOUR) + 1;
    if (next < r->running) r->running = next;
    return TB_OK;
}

/* How many months are kept: "25mo" of --keep-hours, or 25 of its older name. *ret 0: nothing of it goes. */
static tb_code read_months(const tb_args *args, const char *name, const char *old, int64_t *ret, tb_error *err)
{
    const char *text = tb_arg_text(args, name), *at = text;
    int64_t n = 0;
    *ret = tb_arg_number(args, old, 0);
    if (!text) return TB_OK;
    if (*ret) return tb_fail(err, TB_E_VALIDATION, old, "It is the older name of --%s. Give --%s alone.", name, name);
    for (; *at >= '0' && *at <= '9' && n < 100000; at++)
        n = n * 10 + (*at - '0');
    if (at == text || strcmp(at, "mo") != 0)
        return tb_fail(err, TB_E_VALIDATION, name, "\"%s\" is not a number of months. Write it like 25mo.", text);
    if (n < MONTHS_MIN || n > MONTHS_MAX)
        return tb_fail(err, TB_E_VALIDATION, name, "It takes from %dmo to %dmo: the last two years and the running month are"
                       " always kept.", MONTHS_MIN, MONTHS_MAX);
    *ret = n;
    return TB_OK;
}

static int64_t months_before(const retaining *r, int64_t kept)
{
    return kept > 0 && kept < r->running ? r->running - kept : 0;
}

static tb_code read_args(retaining *r, const tb_args *args, tb_error *err)
{
    int64_t hours = 0, days = 0;
    tb_code code = read_months(args, "keep-hours", "hours", &hours, err);
    if (!code) code = read_months(args, "keep-days", "days", &days, err);
    if (code) return code;
    if (!hours && !days && !tb_arg_given(args, "logs"))
        return tb_fail(err, TB_E_VALIDATION, "keep-hours",
                       "Nothing is said to go. Give --keep-hours 25mo, --keep-days 25mo or --logs 24h.");
    if (hours && days && days < hours)
        return tb_fail(err, TB_E_VALIDATION, "keep-days",
                       "Days are kept at least as long as hours: give --keep-days the larger number.");
    code = find_running(r, err);
    if (code) return code;
    if (!args->next && (tb_arg_given(args, "hours") || tb_arg_given(args, "days")))
        tb_reply_say(r->reply, "--hours and --days are older names, of numbers of months: write --keep-hours 25mo and"
                               " --keep-days 25mo.");
    r->before = (tb_kept){months_before(r, hours), months_before(r, days)};
    return read_logs(args, r->told.begun_us, &r->logs_ms, err);
}

/* --- going on --- */

static tb_code read_next(retaining *r, const char *next, tb_error *err)
{
    int64_t *const places[] = {&r->walk.account,    &r->walk.at[0],     &r->walk.at[1],
                               &r->walk.at[2],      &r->went.hour_rows, &r->went.hour_bytes,
                               &r->went.day_rows,   &r->went.day_bytes, &r->went.log_blocks,
                               &r->went.log_bytes,  &r->at_logs,        &r->later};
    for (size_t i = 0; next && i < sizeof places / sizeof *places; i++)
        if (!tb__next_number(&next, places[i])) return tb__next_wrong(err);
    return TB_OK;
}

static void put_next(const retaining *r)
{
    tb_buf_fmt(&r->reply->next,
               "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
               " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
               r->told.entry, r->walk.account, r->walk.at[0], r->walk.at[1], r->walk.at[2], r->went.hour_rows,
               r->went.hour_bytes, r->went.day_rows, r->went.day_bytes,
               r->went.log_blocks, r->went.log_bytes, r->at_logs, r->later);
}

/* --- accounts --- */

static void say_open(retaining *r, int64_t month)
{
    char text[8];
    if (++r->open > OPEN_MOST) return;
    tb_month_format(month, text);
    tb_reply_warn(r->reply,
                  "Account %" PRId64 " keeps all from %s on: that month is not final, or something of it "
                  "waits to be billed. Make it final with: tollbook invoice --month %s --finalize",
                  r->walk.account, text, text);
}

/* How far the account's may go. Once it has begun, as far as was written then. */
static tb_code find_bounds(retaining *r, tb_error *err)
{
    const bool begun = r->walk.at[0] || r->walk.at[1] || r->walk.at[2];
    int64_t open = -1;
    if (begun) return tb_store_kept(r->ops->store, r->walk.account, &r->walk.kept, err);
    tb_code code = tb_store_may_go(r->ops->store, r->walk.account, r->before, &r->walk.kept, &open,
                                   err);
    if (!code && open >= 0) say_open(r, open);
    return code;
}

/* Accounts from the running one on, until there is no room left. *ret_over: there are no more. */
static tb_code walk_accounts(retaining *r, bool *ret_over, tb_error *err)
{
    uint64_t done = 0, all = 0;
    tb_code code = tb_store_accounts_before(r->ops->store, r->walk.account, &done, &all, err);
    while (!code && r->walk.room) {
        int64_t account = 0;
        bool over = false;
        code = tb_store_account_from(r->ops->store, r->walk.account, &account, err);
        *ret_over = !code && !account;
        if (code || !account) return code;
        if (account != r->walk.account) memset(r->walk.at, 0, sizeof r->walk.at);
        r->walk.account = account;
        code = find_bounds(r, err);
        if (!code) code = tb_store_retain(r->ops->store, &r->walk, &over, err);
        r->walk.room -= r->walk.room > 0;
        if (!code && over && account == INT64_MAX) *ret_over = true;
        if (*ret_over) return code;
        if (!code && over) r->walk.account = account + 1;
        done += over;
        if (r->ops->step && !r->ops->step(r->ops->ctx, done, all))
            return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
    return code;
}

static void add_up(retaining *r)
{
    for (size_t i = 0; i < r->walk.n; i++) {
        const tb_retain_month *m = &r->walk.months[i];
        r->went.hour_rows += (int64_t)m->hour_rows;
        r->went.hour_bytes += (int64_t)m->hour_bytes;
        r->went.day_rows += (int64_t)m->day_rows;
        r->went.day_bytes += (int64_t)m->day_bytes;
    }
    if (r->walk.later) r->later = 1;
}

/* --- what is said --- */

static void put_months(const retaining *r)
{
    char text[8];
    tb_buf_str(&r->reply->out, "month\thour rows\tbytes\tday rows\tbytes\n");
    for (size_t i = 0; i < r->walk.n; i++) {
        const tb_retain_month *m = &r->walk.months[i];
        tb_month_format(m->month, text);
        tb_buf_fmt(&r->reply->out, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", text,
                   m->hour_rows, m->hour_bytes, m->day_rows, m->day_bytes);
        tb_buf_fmt(&r->reply->json,
                   "%s{\"month\":\"%s\",\"hourRows\":%" PRIu64 ",\"hourBytes\":%" PRIu64
                   ",\"dayRows\":%" PRIu64 ",\"dayBytes\":%" PRIu64 "}",
                   i ? "," : "", text, m->hour_rows, m->hour_bytes, m->day_rows, m->day_bytes);
    }
}

/* months: those of this call, which is the only one of a dry run. */
static void put_answer(const retaining *r, bool months)
{
    const went *w = &r->went;
    tb_buf_fmt(&r->reply->json,
               "{\"hourRows\":%" PRId64 ",\"hourBytes\":%" PRId64 ",\"dayRows\":%" PRId64
               ",\"dayBytes\":%" PRId64 ",\"logBlocks\":%" PRId64 ",\"logBytes\":%" PRId64,
               w->hour_rows, w->hour_bytes, w->day_rows, w->day_bytes, w->log_blocks, w->log_bytes);
    if (months) {
        tb_buf_str(&r->reply->json, ",\"months\":[");
        put_months(r);
        tb_buf_str(&r->reply->json, "]");
    }
    tb_buf_str(&r->reply->json, "}");
}

/* Where the clock has gone on without usage. */
static void say_running(const retaining *r)
{
    char running[8], newest[8], clocks[8];
    if (r->running == r->clocks || (!r->before.hours && !r->before.days)) return;
    tb_month_format(r->running, running);
    tb_month_format(r->running - 1, newest);
    tb_month_format(r->clocks, clocks);
    tb_reply_warn(r->reply,
                  "Months count back from %s, for the newest usage is of %s, and not from this machine's clock (%s): "
                  "what goes is old by both. If the clock is wrong, set it, or TOLLBOOK_NOW.",
                  running, newest, clocks);
}

static void say_went(const retaining *r, bool dry)
{
    const went *w = &r->went;
    say_running(r);
    if (r->open > OPEN_MOST)
        tb_reply_warn(r->reply, "%s more have an open month.", TB__COUNTED(r->open - OPEN_MOST, "account"));
    if (w->hour_rows + w->day_rows + w->log_blocks == 0) {
        tb_reply_say(r->reply, dry ? "No usage and no request logs would go." : "No usage and no request logs were to go.");
        return;
    }
    tb_reply_say(r->reply,
                 "%s of hours (%" PRId64 " bytes), %s of days (%" PRId64 " bytes) and %s of request "
                 "logs (%" PRId64 " bytes) %s. %s",
                 TB__COUNTED((uint64_t)w->hour_rows, "row"), w->hour_bytes,
                 TB__COUNTED((uint64_t)w->day_rows, "row"), w->day_bytes,
                 TB__COUNTED((uint64_t)w->log_blocks, "block"), w->log_bytes,
                 dry ? "would go" : r->later ? "go" : "went",
                 dry             ? "Nothing changed."
                 : r->later     ? "Usage servers are rid of them with the next compaction (tollbook_usage_months_to_let_go)."
                                 : "The file uses their space again (tollbook size: free).");
}

/* --- the operation --- */

static tb_code dry_run(retaining *r, tb_error *err)
{
    bool over = r->before.hours == 0 && r->before.days == 0;
    uint64_t blocks = 0, bytes = 0;
    r->walk.dry = true;
    r->walk.room = SIZE_MAX;
    tb_code code = over ? TB_OK : walk_accounts(r, &over, err);
    if (!code && r->logs_ms)
        code = tb_store_logs_before(r->ops->store, r->logs_ms, &blocks, &bytes, err);
    if (code) return code;
    r->went.log_blocks = (int64_t)blocks;
    r->went.log_bytes = (int64_t)bytes;
    add_up(r);
    put_answer(r, true);
    say_went(r, true);
    return TB_OK;
}

static tb_code try_retain(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    retaining r = {.ops = ops, .reply = reply, .told = {.begun_us = ops->now_us}};
    if (!tb_arg_given(args, "dry-run")) return TB_OK;
    reply->settled = true;
    tb_code code = read_args(&r, args, err);
    if (!code) code = dry_run(&r, err);
    if (!code) tb__print_answer(args, reply);
    free(r.walk.months);
    return code;
}

/* After the last account. */
static tb_code drop_logs(retaining *r, bool *ret_over, tb_error *err)
{
    size_t room = LOGS_ROOM;
    uint64_t blocks = 0, bytes = 0, dropped;
    tb_code code = TB_OK;
    if (!r->logs_ms) return TB_OK;
    if (!r->at_logs) {
        code = tb_store_logs_before(r->ops->store, r->logs_ms, &blocks, &bytes, err);
        r->went.log_blocks = (int64_t)blocks;
        r->went.log_bytes = (int64_t)bytes;
        r->at_logs = 1;
    }
    if (!code) code = tb_store_drop_some_logs(r->ops->store, r->logs_ms, &room, &dropped, err);
    *ret_over = room > 0;
    return code;
}

static tb_code retain_some(retaining *r, const tb_args *args, tb_error *err)
{
    bool over = r->at_logs || (r->before.hours == 0 && r->before.days == 0);
    r->walk.room = ROOM;
    tb_code code = over ? TB_OK : walk_accounts(r, &over, err);
    add_up(r);
    if (!code && over) code = drop_logs(r, &over, err);
    if (!code && over) {
        bool more = false;
        code = tb_store_expire_event_ids(r->ops->store, r->told.begun_us, &more, err);
        over = !more;
    }
    if (!code) code = tb__told_end(r->ops, args, &r->told, r->reply, err);
    if (code) return code;
    if (!over) {
        put_next(r);
        return TB_OK;
    }
    put_answer(r, false);
    say_went(r, false);
    return TB_OK;
}

static tb_code retain(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    retaining r = {.ops = ops, .reply = reply};
    const char *next = args->next;
    tb_code code = tb__told_begin(ops, args, &next, &r.told, err);
    if (!code) code = read_args(&r, args, err);
    if (!code) code = read_next(&r, next, err);
    if (!code) code = retain_some(&r, args, err);
    free(r.walk.months);
    return code;
}

static const tb_param params[] = {
    {.name = "keep-hours", .value = "MONTHS", .kind = TB_PARAM_TEXT, .min = 1, .max = 8,
     .help = "keep hours of the running month and of so many months before it: 25mo, the least, or more"},
    {.name = "keep-days", .value = "MONTHS", .kind = TB_PARAM_TEXT, .min = 1, .max = 8,
     .help = "keep days of the running month and of so many months before it, no fewer than of hours"},
    {.name = "hours", .value = "MONTHS", .kind = TB_PARAM_NUMBER, .min = MONTHS_MIN, .max = MONTHS_MAX,
     .help = "the older name of --keep-hours 25mo: a number of months, 25 at least"},
    {.name = "days", .value = "MONTHS", .kind = TB_PARAM_NUMBER, .min = MONTHS_MIN, .max = MONTHS_MAX,
     .help = "the older name of --keep-days 25mo"},
    {.name = "logs", .value = "TIME", .kind = TB_PARAM_TEXT, .min = 1, .max = 8,
     .help = "keep lines of request logs so long, as 24h or 30m; never longer than 72h"},
    {.name = "dry-run", .kind = TB_PARAM_FLAG, .help = "say what would go, by month, and change nothing"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "retain",
     .summary = "Delete old hours, old days and request logs",
     .details =
         "Without it everything is kept, but for request logs, which go after 72 hours. Months count back\n"
         "from the clock's, and no further than from the one after that of the newest usage. Of each account\n"
         "the usage of old months goes up to the first month that is not final or has something that\n"
         "waits to be billed. Those months are closed then: what still comes for them is counted and\n"
         "not billed. Invoices stay as they are, with their evidence; bills whose prices and settings changed\n"
         "at midnight are rated again from days. Usage of pull zones that no account has stays. It works\n"
         "in small commits; after an interruption run it again. `serve --retain` does it daily.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(params),
     .slow = true,
     .read = try_retain,
     .write = retain},
};
const tb__operations tb__retain_operations = TB__OPERATIONS(rows);
