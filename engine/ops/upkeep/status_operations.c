/* status: what runs, how new the data is, the disk, the last backup and verify, and what is wrong with any of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/status.h"

#define HOURS_MAX   (100 * 366 * 24)
#define HOURS       26   /* of backup and verify: nightly ones, with an hour or two to run */
#define FREE_MIB    1024 /* as in docs/prometheus-rules.yml */
#define TIME_TEXT   21
#define SENTENCE    400

/* --- sentences --- */

static const char *format_time(int64_t us, char out[TIME_TEXT])
{
    tb_time_format(us, out);
    out[TIME_TEXT - 1] = 0;
    return out;
}

/* "6 hours" in the largest unit of which there are two. */
static void format_age(int64_t us, char *out, size_t size)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {{"day", 24 * TB_US_PER_HOUR}, {"hour", TB_US_PER_HOUR}, {"minute", TB_US_PER_HOUR / 60}, {"second", TB_US_PER_S}};
    size_t i = 0;
    if (us < 0) us = 0;
    while (i + 1 < sizeof units / sizeof *units && us < 2 * units[i].us)
        i++;
    const int64_t n = us / units[i].us;
    snprintf(out, size, "%" PRId64 " %s%s", n, units[i].name, n == 1 ? "" : "s");
}

/* "2026-11-04T09:00:00Z, 6 hours ago" */
static void format_moment(int64_t us, int64_t now_us, char *out, size_t size)
{
    char time[TIME_TEXT], age[40];
    format_age(now_us - us, age, sizeof age);
    snprintf(out, size, "%s, %s ago", format_time(us, time), age);
}

/* A run that is noted beside the database: "The last backup is of ..." */
static void say_run(const char *what, int64_t at_us, int64_t now_us, char *out)
{
    char when[80];
    if (at_us == INT64_MIN) {
        snprintf(out, SENTENCE, "No %s was made yet: run tollbook %s.", what, what);
        return;
    }
    format_moment(at_us, now_us, when, sizeof when);
    snprintf(out, SENTENCE, "The last %s that succeeded began at %s.", what, when);
}

static void say_problem(tb_status_problem p, const tb_status *s, const tb_machine *m, int64_t now_us, char out[SENTENCE])
{
    char when[80];
    const int64_t intake_us = tb_status_intake_us(s);
    switch (p) {
    case TB_STATUS_SERVER: snprintf(out, SENTENCE, "The server is not ready: %s", m->why); break;
    case TB_STATUS_DISK:
        snprintf(out, SENTENCE, "Only %" PRIu64 " MiB are free on the database's disk.", m->disk_free >> 20);
        break;
    case TB_STATUS_BACKUP: say_run("backup", tb_status_backup_us(m), now_us, out); break;
    case TB_STATUS_VERIFY: say_run("verify", m->verify_us, now_us, out); break;
    case TB_STATUS_INTAKE:
        format_moment(intake_us == INT64_MIN ? 0 : intake_us, now_us, when, sizeof when);
        if (intake_us == INT64_MIN) snprintf(out, SENTENCE, "No log line and no row of an import was stored yet.");
        else snprintf(out, SENTENCE, "The newest log lines were stored at %s.", when);
        break;
    case TB_STATUS_OUTBOX:
    case TB_STATUS_COUNT:
        format_moment(s->outbox.oldest_us, now_us, when, sizeof when);
        snprintf(out, SENTENCE, "%" PRIu64 " messages wait to be delivered, the oldest since %s: see tollbook alerts.",
                 s->outbox.waiting, when);
    }
}

/* --- the answer --- */

static void put_member_text(tb_buf *json, const char *text)
{
    tb_json_string(json, text, strlen(text));
}

/* ,"name":"2026-11-04T09:00:00Z" or null */
static void put_member_time(tb_buf *json, const char *name, int64_t us)
{
    char time[TIME_TEXT];
    if (us == INT64_MIN || us == INT64_MAX) tb_buf_fmt(json, ",\"%s\":null", name);
    else tb_buf_fmt(json, ",\"%s\":\"%s\"", name, format_time(us, time));
}

static void put_members_server(tb_buf *json, const tb_status *s, const tb_machine *m)
{
    tb_buf_str(json, ",\"writer\":");
    if (s->written) {
        tb_buf_str(json, "{\"name\":");
        put_member_text(json, s->writer.name);
        put_member_time(json, "since", s->writer.since_us);
        tb_buf_str(json, "}");
    } else {
        tb_buf_str(json, "null");
    }
    tb_buf_str(json, ",\"server\":");
    if (!m->serving) {
        tb_buf_str(json, "null");
        return;
    }
    tb_buf_fmt(json, "{\"ready\":%s,\"listen\":[", m->ready ? "true" : "false");
    for (size_t i = 0; i < m->n_addresses; i++) {
        tb_buf_str(json, i ? "," : "");
        put_member_text(json, m->addresses[i]);
    }
    tb_buf_str(json, "]");
    put_member_time(json, "since", m->since_us);
    tb_buf_fmt(json, ",\"writesWaiting\":%" PRIu64 "}", m->queue);
}

static void put_status_json(const tb_status *s, const tb_machine *m, int64_t now_us, tb_buf *json)
{
    char sentence[SENTENCE];
    const char *comma = "";
    tb_buf_fmt(json, "{\"healthy\":%s,\"problems\":[", s->problems ? "false" : "true");
    for (int p = 0; p < TB_STATUS_COUNT; p++) {
        if (!(s->problems >> p & 1)) continue;
        say_problem((tb_status_problem)p, s, m, now_us, sentence);
        tb_buf_fmt(json, "%s{\"problem\":\"%s\",\"text\":", comma, tb_status_problem_name((tb_status_problem)p));
        put_member_text(json, sentence);
        tb_buf_str(json, "}");
        comma = ",";
    }
    tb_buf_fmt(json, "],\"version\":\"" TB_VERSION "\",\"schema\":%d", s->schema);
    put_members_server(json, s, m);
    put_member_time(json, "newestUsage", s->store.newest_hour == INT64_MIN ? INT64_MIN : s->store.newest_hour * TB_US_PER_HOUR);
    put_member_time(json, "newestLog", s->store.newest_log_us);
    put_member_time(json, "newestImport", s->store.newest_buckets_us);
    tb_buf_fmt(json, ",\"messages\":{\"waiting\":%" PRIu64 ",\"failed\":%" PRIu64, s->outbox.waiting, s->outbox.failed);
    put_member_time(json, "oldest", s->outbox.oldest_us);
    tb_buf_fmt(json, "},\"disk\":{\"database\":%" PRIu64 ",\"wal\":%" PRIu64, s->store.file_bytes, s->store.wal_bytes);
    if (m->disk_known) tb_buf_fmt(json, ",\"free\":%" PRIu64 "}", m->disk_free);
    else tb_buf_str(json, ",\"free\":null}");
    put_member_time(json, "lastBackup", m->backup_us);
    put_member_time(json, "lastBase", m->base_us);
    put_member_time(json, "lastVerify", m->verify_us);
    tb_buf_str(json, "}");
}

/* --- the table --- */

static void put_fact(tb_buf *out, const char *what, const char *text)
{
    tb_buf_fmt(out, "%s\t", what);
    tb__put_cell(out, text, strlen(text));
    tb_buf_str(out, "\n");
}

static void put_fact_time(tb_buf *out, const char *what, int64_t us, int64_t now_us)
{
    char when[80];
    if (us != INT64_MIN) format_moment(us, now_us, when, sizeof when);
    put_fact(out, what, us == INT64_MIN ? "never" : when);
}

static void put_fact_bytes(tb_buf *out, const char *what, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    char text[40];
    size_t i = 0;
    uint64_t tenths = bytes * 10;
    for (; i + 1 < sizeof units / sizeof *units && tenths >= 10240; i++)
        tenths /= 1024;
    if (i) snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[i]);
    else snprintf(text, sizeof text, "%" PRIu64 " bytes", bytes);
    put_fact(out, what, text);
}

static void put_facts(const tb_status *s, const tb_machine *m, int64_t now_us, tb_buf *out)
{
    char text[SENTENCE];
    const int64_t newest = s->store.newest_hour;
    tb_buf_str(out, "what\tstate\n");
    put_fact(out, "health", s->problems ? "not healthy" : "healthy");
    for (int p = 0; p < TB_STATUS_COUNT; p++) {
        if (!(s->problems >> p & 1)) continue;
        say_problem((tb_status_problem)p, s, m, now_us, text);
        put_fact(out, "problem", text);
    }
    snprintf(text, sizeof text, "%s, schema %d", TB_VERSION, s->schema);
    put_fact(out, "version", text);
    for (size_t i = 0; i < m->n_addresses; i++)
        put_fact(out, "listens on", m->addresses[i]);
    put_fact(out, "written by", s->written ? s->writer.name : "no process");
    if (s->written) put_fact_time(out, "since", m->serving ? m->since_us : s->writer.since_us, now_us);
    put_fact_time(out, "newest usage", newest == INT64_MIN ? newest : newest * TB_US_PER_HOUR, now_us);
    put_fact_time(out, "logs stored", s->store.newest_log_us, now_us);
    put_fact_time(out, "imports stored", s->store.newest_buckets_us, now_us);
    snprintf(text, sizeof text, "%" PRIu64 " waiting, %" PRIu64 " given up", s->outbox.waiting, s->outbox.failed);
    put_fact(out, "messages", text);
    put_fact_bytes(out, "database", s->store.file_bytes);
    put_fact_bytes(out, "write-ahead log", s->store.wal_bytes);
    if (m->disk_known) put_fact_bytes(out, "free on its disk", m->disk_free);
    put_fact_time(out, "last backup", m->backup_us, now_us);
    put_fact_time(out, "last base", m->base_us, now_us);
    put_fact_time(out, "last verify", m->verify_us, now_us);
}

static tb_code show_status(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_status status;
    tb_machine machine = {.backup_us = INT64_MIN, .verify_us = INT64_MIN, .base_us = INT64_MIN};
    const tb_status_bounds bounds = {
        .free_bytes = (uint64_t)tb_arg_number(args, "min-free-mb", FREE_MIB) << 20,
        .backup_us = tb_arg_number(args, "backup-hours", HOURS) * TB_US_PER_HOUR,
        .verify_us = tb_arg_number(args, "verify-hours", HOURS) * TB_US_PER_HOUR,
        .intake_us = tb_arg_number(args, "intake-hours", 0) * TB_US_PER_HOUR,
    };
    if (tb_arg_given(args, "json") && tb_arg_is(args, "format", "csv"))
        return tb_fail(err, TB_E_VALIDATION, "json", "Give --json or --format csv, not both.");
    if (ops->machine) ops->machine(ops->ctx, &machine);
    tb_code code = tb_status_read(ops->store, &machine, &bounds, ops->now_us, &status, err);
    if (code) return code;
    put_status_json(&status, &machine, ops->now_us, &reply->json);
    if (tb_arg_given(args, "json")) tb__print_json(reply);
    else put_facts(&status, &machine, ops->now_us, &reply->out);
    if (!tb_arg_given(args, "json")) tb__print_answer(args, reply);
    reply->no = status.problems != 0;
    return TB_OK;
}

#define PARAM_HOURS(name_, help_)                                                                  \
    {                                                                                              \
        .name = (name_), .value = "N", .kind = TB_PARAM_NUMBER, .min = 0, .max = HOURS_MAX, .help = (help_)                 \
    }

static const tb_param params[] = {
    PARAM_HOURS("backup-hours", "the greatest age of the last backup in hours; 0: any; default 26"),
    PARAM_HOURS("verify-hours", "the greatest age of the last verify in hours; 0: any; default 26"),
    PARAM_HOURS("intake-hours", "the greatest age of the newest stored log lines or rows in hours; default 0: any"),
    {.name = "min-free-mb", .value = "N", .kind = TB_PARAM_NUMBER, .min = 0, .max = INT64_C(1) << 40,
     .help = "how many MiB must be free on the database's disk; default 1024"},
    {.name = "json", .kind = TB_PARAM_FLAG, .help = "short for --format json"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "status",
     .summary = "Show whether all is well: the server, new data, the disk, the last backup and verify",
     .details =
         "Exits with 0 if all is well, with 1 if something is wrong, and with 3 if the server or the\n"
         "database cannot be reached. What is wrong comes first. Wrong is: a server that is not\n"
         "ready, little free disk, an old backup or verify, messages that were not delivered for half\n"
         "an hour, and with --intake-hours logs that stopped. Whether a server runs is for --server:\n"
         "with --db no process has to. With --server and no key it only asks whether that server is\n"
         "ready. Without --db and --server it looks at /var/lib/tollbook/tollbook.db, which the\n"
         "package's service uses.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = show_status},
};
const tb__operations tb__status_operations = TB__OPERATIONS(rows);
