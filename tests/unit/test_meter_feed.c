/* Usage lines of meters, from bytes to the store, against a model: random inputs are taken in any number of threads and parts,
 * withdrawn and taken again, in random order. TB_SEED reruns a failing run. */
#include "feed/withdraw.h"
#include "seed.h"
#include "store/core/internal.h"
#include "store_fixture.h"

#include "tollbook/calendar.h"
#include "tollbook/meterstore.h"
#include "tollbook/retain.h"
#include "tollbook/rollup.h"

#define INPUTS    6
#define RESOURCES 5 /* of each meter */
#define PLACES    2
#define HOURS     (3 * 24)
#define MOMENTS   40
#define SLOTS     (HOURS * 12)
#define LINES     400
#define ROOM      (LINES * 256)
#define DAY       10 /* of 2026-11, the first */

#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"meters\":["             \
    "{\"meter\":\"runs\",\"kind\":\"counter\",\"unit\":\"run\",\"resource\":\"script\",\"dimensions\":[\"region\"]}," \
    "{\"meter\":\"calls\",\"kind\":\"counter\",\"unit\":\"call\",\"resource\":\"script\",\"dimensions\":[\"region\"]}," \
    "{\"meter\":\"disk\",\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"disk\",\"dimensions\":[\"region\"]}," \
    "{\"meter\":\"port\",\"kind\":\"sample\",\"unit\":\"byte\",\"interval\":300,\"resource\":\"port\"}]}"

enum { RUNS, CALLS, DISK, PORT, METERS };
static const char *const meters[METERS] = {"runs", "calls", "disk", "port"};
static const char *const places[PLACES] = {"DE", "US"};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

static fixture f;

/* --- inputs --- */

typedef struct line {
    int meter, resource, place, at; /* at: hour, interval, or moment */
    int account;                    /* 0: left out */
    uint64_t value;
    bool accepted; /* when the input was taken last */
} line;

typedef struct input {
    char bytes[ROOM];
    size_t len;
    line lines[LINES];
    size_t n;
    unsigned taken; /* its place in the order of segments; 0: it is not in the store */
} input;

static input inputs[INPUTS];

/* A script counts for two meters, and has one account. */
static int resource_of(const line *l)
{
    return l->meter == CALLS ? RUNS * RESOURCES + l->resource : l->meter * RESOURCES + l->resource;
}

static int true_account(const line *l)
{
    return 1 + resource_of(l) % 2;
}

static void put_meter_line(input *in, line l)
{
    char time[24], dimensions[40] = "", account[24] = "";
    const int minute = l.meter == DISK ? l.at * 97 : l.meter == PORT ? l.at * 5 + (int)draw(5) : l.at * 60;
    tb_time_format((tb_month_first_day(682) + DAY - 1) * TB_US_PER_DAY + minute * INT64_C(60000000), time);
    if (l.meter != PORT) snprintf(dimensions, sizeof dimensions, ",\"dimensions\":{\"region\":\"%s\"}", places[l.place]);
    if (l.account) snprintf(account, sizeof account, ",\"account\":%d", l.account);
    in->len += (size_t)sprintf(in->bytes + in->len, "{\"meter\":\"%s\"%s,\"resource\":\"r%d\",\"%s\":\"%.20s\"%s,\"value\":%llu}\n",
                               meters[l.meter], account, l.resource, l.meter < DISK ? "hour" : "time", time, dimensions,
                               (unsigned long long)l.value);
    in->lines[in->n++] = l;
}

/* Its first line is its own: two inputs that begin alike are one. */
static void make_input(input *in, unsigned number)
{
    *in = (input){.n = 0};
    const size_t n = 1 + draw(LINES - 1);
    for (size_t i = 0; i < n; i++) {
        line l = {.meter = (int)draw(METERS), .resource = (int)draw(RESOURCES)};
        l.place = l.meter == PORT ? 0 : (int)draw(PLACES);
        l.at = (int)draw(l.meter == DISK ? MOMENTS : l.meter == PORT ? SLOTS : HOURS);
        l.value = i ? draw(1000) : 1000000 + number;
        l.account = draw(3) == 0 ? 0 : true_account(&l);
        if (draw(20) == 0) l.account = draw(2) ? 3 - true_account(&l) : 9;
        put_meter_line(in, l);
    }
}

/* --- the model --- */

static int known[DISK * RESOURCES * 4]; /* account of a resource; 0: none was named */
static unsigned segments;

/* Which lines count, as somebody reads them from the first to the last. */
static uint64_t judge(input *in)
{
    uint64_t accepted = 0;
    for (size_t i = 0; i < in->n; i++) {
        line *l = &in->lines[i];
        int *account = &known[resource_of(l)];
        if (!*account && l->account != 9) *account = l->account;
        l->accepted = *account && (!l->account || l->account == *account);
        accepted += l->accepted;
    }
    return accepted;
}

static uint64_t counted(int meter, int resource, int place, int at)
{
    uint64_t sum = 0;
    for (int i = 0; i < INPUTS; i++)
        for (size_t k = 0; inputs[i].taken && k < inputs[i].n; k++) {
            const line *l = &inputs[i].lines[k];
            if (l->accepted && l->meter == meter && l->resource == resource && l->place == place && l->at == at) sum += l->value;
        }
    return sum;
}

/* -1: none. */
static int64_t held(int resource, int place, int at)
{
    unsigned best = 0;
    int64_t value = -1;
    for (int i = 0; i < INPUTS; i++)
        for (size_t k = 0; inputs[i].taken && k < inputs[i].n; k++) {
            const line *l = &inputs[i].lines[k];
            if (!l->accepted || l->meter != DISK || l->resource != resource || l->place != place || l->at != at) continue;
            if (inputs[i].taken < best) continue;
            best = inputs[i].taken;
            value = (int64_t)l->value;
        }
    return value;
}

/* --- the store --- */

static int64_t number_of(const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_msg(sqlite3_prepare_v2(f.store->db, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(f.store->db));
    const int64_t number = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    return number;
}

static int64_t series_of(int meter, int resource, int place)
{
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT s.id FROM meter_series s JOIN meter m ON m.id=s.meter WHERE m.name='%s' AND s.resource='r%d' AND"
             " s.dimension_1='%s' AND s.dimension_2=''",
             meters[meter], resource, meter == PORT ? "" : places[place]);
    return number_of(sql);
}

static uint64_t stored(int64_t series, int hour, int slot)
{
    char sql[120];
    uint64_t hours[32];
    tb_error err = {0};
    snprintf(sql, sizeof sql, "SELECT id FROM series WHERE scope=4 AND owner=%lld", (long long)series);
    const int64_t id = number_of(sql);
    if (series < 0 || id < 0) return 0;
    ok(f.store->plane.counters->hours(f.store, id, (tb_metric)slot, tb_month_first_day(682) + DAY - 1 + hour / 24, hours, &err));
    return hours[hour % 24];
}

static int64_t stored_value(int64_t series, int at)
{
    char sql[240];
    const int64_t at_us = (tb_month_first_day(682) + DAY - 1) * TB_US_PER_DAY + at * 97 * INT64_C(60000000);
    snprintf(sql, sizeof sql,
             "SELECT value FROM gauge WHERE series=%lld AND at_us=%lld AND gone_version=9223372036854775807 ORDER BY segment DESC"
             " LIMIT 1",
             (long long)series, (long long)at_us);
    return number_of(sql);
}

static void say(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "%s\n", sentence);
}

static void compare_with_model(void)
{
    tb_error err = {0};
    uint64_t differences = 0;
    for (int m = 0; m < METERS; m++)
        for (int r = 0; r < RESOURCES; r++)
            for (int p = 0; p < (m == PORT ? 1 : PLACES); p++) {
                const int64_t series = series_of(m, r, p);
                for (int at = 0; m == DISK && at < MOMENTS; at++)
                    ck_assert_int_eq(stored_value(series, at), held(r, p, at));
                for (int at = 0; m < DISK && at < HOURS; at++)
                    ck_assert_uint_eq(stored(series, at, 0), counted(m, r, p, at));
                for (int i = 0; m == PORT && i < 60; i++) {
                    const int at = (int)draw(SLOTS);
                    ck_assert_uint_eq(stored(series, at / 12, at % 12), counted(m, r, p, at));
                }
            }
    ok(tb_store_verify(f.store, say, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 0);
}

static feed_options random_options(void)
{
    feed_options options = {.kind = TB_BATCH_BUCKETS, .layout = {.now_ms = NOW_MS}, .source = "input", .whole = true,
                            .threads = 1 + (unsigned)draw(4), .now_us = NOW_US};
    options.block_bytes = 300 + draw(6000);
    if (draw(2)) options.max_groups = 20 + draw(100);
    return options;
}

static const char *write_input(const input *in)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/input", f.folder);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(in->bytes, 1, in->len, file), in->len);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void open_reader(tb_store **ret)
{
    tb_error err = {0};
    const tb_store_options reads = {.now_us = NOW_US, .usage = usage_plane_client(&f.plane)};
    ok(tb_store_open(f.path, &reads, ret, &err));
    ok(tb_store_read_begin(*ret, &err));
}

/* As a server does: parsed in a reader's snapshot with the published directory. */
static void take_body(const input *in, feed_options *options, feed_report *report)
{
    const feed_body body = {in->bytes, in->len, FEED_PLAIN, ROOM};
    bool stale = true;
    tb_error err = {0};
    options->max_groups = 0;
    for (int i = 0; stale; i++) {
        feed_run *run;
        tb_store *reader;
        ck_assert_int_lt(i, 2);
        ok(tb_store_directory(f.store, true, &options->directory, &err));
        open_reader(&reader);
        ok(feed_parse(reader, &body, options, &run, &err));
        tb_store_read_end(reader);
        tb_store_close(reader);
        ok(tb_store_begin(f.store, &err));
        ok(feed_take(run, f.store, report, &stale, &err));
        ok(tb_store_commit(f.store, &err));
        feed_run_free(run);
    }
}

static void take_input(input *in)
{
    feed_options options = random_options();
    feed_report report;
    tb_error err = {0};
    const uint64_t accepted = judge(in);
    if (draw(3) == 0) take_body(in, &options, &report);
    else ok(feed_file(f.store, write_input(in), &options, &report, &err));
    in->taken = ++segments;
    ck_assert_uint_eq(report.accepted, accepted);
    ck_assert_uint_eq(report.rejected, in->n - accepted);
}

static const feed_who who = {0, "", 0};

static void withdraw_input(input *in)
{
    feed_options options = random_options();
    feed_withdrawn done;
    tb_error err = {0};
    if (draw(2)) {
        ok(feed_withdraw_file(f.store, write_input(in), &options, &who, &done, &err));
    } else {
        const feed_body body = {in->bytes, in->len, FEED_PLAIN, ROOM};
        feed_withdrawing *parsed;
        tb_store *reader;
        ok(tb_store_directory(f.store, true, &options.directory, &err));
        open_reader(&reader);
        ok(feed_withdraw_parse(reader, &body, &options, &parsed, &err));
        tb_store_read_end(reader);
        tb_store_close(reader);
        ok(tb_store_begin(f.store, &err));
        ok(feed_withdraw_take(parsed, &body, f.store, &who, &done, &err));
        ok(tb_store_commit(f.store, &err));
        feed_withdraw_free(parsed);
    }
    ck_assert_uint_eq(done.segments, 1);
    in->taken = 0;
}

static void set_up(void)
{
    fixture_init(&f);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    memset(known, 0, sizeof known);
    memset(inputs, 0, sizeof inputs);
    segments = 0;
}

START_TEST(random_inputs_count_as_in_the_model)
{
    set_up();
    const unsigned steps = usage_plane_part(test_long() ? 200 : 30, 12);
    for (unsigned i = 0; i < INPUTS; i++)
        make_input(&inputs[i], i);
    for (unsigned step = 0; step < steps; step++) {
        input *in = &inputs[draw(INPUTS)];
        if (in->taken) withdraw_input(in);
        else take_input(in);
        if (step % 4 == 3 || step + 1 == steps) compare_with_model();
    }
    fixture_release(&f);
}
END_TEST

/* --- single rules --- */

static void give(input *in, const char *text)
{
    in->len = (size_t)sprintf(in->bytes, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static tb_code take_text(const char *text, feed_report *ret, tb_error *err)
{
    static input in;
    feed_options options = {.kind = TB_BATCH_BUCKETS, .layout = {.now_ms = NOW_MS}, .source = "input", .whole = true,
                            .threads = 2, .now_us = NOW_US, .stop_on_error = true};
    give(&in, text);
    return feed_file(f.store, write_input(&in), &options, ret, err);
}

#define AT "\"time\":\"2026-11-10T13:07:30.25Z\""

START_TEST(refused_lines_name_line_byte_and_key)
{
    static const struct {
        const char *line, *says;
        unsigned byte;
    } cases[] = {
        {"{\"meter\":\"dsk\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1}", "Did you mean \"disk\"?", 10},
        {"{\"meter\":\"disk\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1}", "lacks the meter's dimension \"region\"", 1},
        {"{\"meter\":\"disk\",\"account\":1,\"resource\":\"d\",\"hour\":\"2026-11-10T13:00:00Z\",\"value\":1}", "\"hour\" does not belong", 51},
        {"{\"meter\":\"runs\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1}", "\"time\" does not belong", 51},
        {"{\"meter\":\"port\",\"account\":1,\"resource\":\"d\"," AT ",\"dimensions\":{\"x\":\"y\"},\"value\":1}", "does not have: \"x\"", 90},
        {"{\"meter\":\"port\",\"resource\":\"d\"," AT ",\"value\":1}", "\"account\" is missing", 28},
        {"{\"meter\":\"port\",\"account\":9,\"resource\":\"d\"," AT ",\"value\":1}", "no catalogue declares", 27},
        {"{\"meter\":\"port\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1}\n"
         "{\"meter\":\"port\",\"account\":2,\"resource\":\"d\"," AT ",\"value\":1}", "belongs to account 1", 27},
        {"{\"meter\":\"port\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1000000000000000001}", "\"value\" must be a whole number", 85},
    };
    set_up();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        feed_report report;
        tb_error err = {0};
        ck_assert_msg(take_text(cases[i].line, &report, &err) == TB_E_BAD_LINE, "%zu was accepted", i);
        ck_assert_msg(strstr(err.message, cases[i].says) != NULL, "%zu: %s", i, err.message);
        ck_assert_msg(err.byte == cases[i].byte, "%zu: %llu", i, (unsigned long long)err.byte);
        ck_assert_uint_eq(err.line, strchr(cases[i].line, '\n') ? 2 : 1);
    }
    ck_assert_int_eq(number_of("SELECT count(*) FROM meter_resource"), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_withdrawal_brings_the_earlier_value_of_a_moment_back)
{
    static input later;
    feed_options options = {.kind = TB_BATCH_BUCKETS, .layout = {.now_ms = NOW_MS}, .source = "input", .whole = true,
                            .threads = 1, .now_us = NOW_US};
    feed_report report;
    feed_withdrawn done;
    tb_error err = {0};
    const char *now = "SELECT value FROM gauge WHERE gone_version=9223372036854775807 ORDER BY segment DESC LIMIT 1";
    set_up();
    ok(take_text("{\"meter\":\"disk\",\"account\":1,\"resource\":\"d\"," AT ",\"dimensions\":{\"region\":\"DE\"},\"value\":5}\n", &report, &err));
    give(&later, "{\"meter\":\"disk\",\"resource\":\"d\"," AT ",\"dimensions\":{\"region\":\"DE\"},\"value\":6}\n"
                 "{\"meter\":\"disk\",\"resource\":\"d\",\"time\":\"2026-11-10T13:07:30Z\",\"dimensions\":{\"region\":\"DE\"},\"value\":7}\n");
    ok(feed_file(f.store, write_input(&later), &options, &report, &err));
    ck_assert_int_eq(number_of(now), 7); /* the later line of one moment */
    ck_assert_int_eq(number_of("SELECT count(*) FROM gauge"), 2);
    ok(feed_withdraw_file(f.store, write_input(&later), &options, &who, &done, &err));
    ck_assert_int_eq(number_of(now), 5);
    fixture_release(&f);
}
END_TEST

START_TEST(a_resource_that_another_body_named_meanwhile_is_seen)
{
    static input one;
    feed_options options = {.kind = TB_BATCH_BUCKETS, .layout = {.now_ms = NOW_MS}, .source = "input", .threads = 1, .now_us = NOW_US};
    tb_store *reader;
    feed_run *run;
    feed_report report;
    bool stale = false;
    tb_error err = {0};
    set_up();
    give(&one, "{\"meter\":\"port\",\"account\":2,\"resource\":\"d\"," AT ",\"value\":1}\n");
    const feed_body body = {one.bytes, one.len, FEED_PLAIN, ROOM};
    ok(tb_store_directory(f.store, true, &options.directory, &err));
    open_reader(&reader);
    ok(feed_parse(reader, &body, &options, &run, &err));
    tb_store_read_end(reader);
    tb_store_close(reader);
    ok(take_text("{\"meter\":\"port\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1}\n", &report, &err));
    ok(tb_store_begin(f.store, &err));
    ok(feed_take(run, f.store, &report, &stale, &err));
    tb_store_rollback(f.store);
    ck_assert(stale);
    feed_run_free(run);
    fixture_release(&f);
}
END_TEST

START_TEST(a_sum_past_the_largest_counter_is_refused_as_a_whole)
{
    feed_report report;
    tb_error err = {0};
    static char text[12 * 200];
    size_t len = 0;
    set_up();
    for (int i = 0; i < 10; i++)
        len += (size_t)sprintf(text + len, "{\"meter\":\"port\",\"account\":1,\"resource\":\"d\"," AT ",\"value\":1000000000000000000}\n");
    ck_assert_int_eq(take_text(text, &report, &err), TB_E_OVERFLOW);
    ck_assert_msg(strstr(err.message, "Meter \"port\", port \"d\", 2026-11-10T13:05:00Z") != NULL, "%s", err.message);
    len = 0;
    for (int i = 0; i < 10; i++) /* each hour fits, the day does not */
        len += (size_t)sprintf(text + len, "{\"meter\":\"runs\",\"account\":1,\"resource\":\"s\",\"hour\":\"2026-11-10T%02d:00:00Z\","
                                           "\"dimensions\":{\"region\":\"DE\"},\"value\":1000000000000000000}\n", i);
    ck_assert_int_eq(take_text(text, &report, &err), TB_E_OVERFLOW);
    ck_assert_msg(strstr(err.message, "Meter \"runs\", script \"s\", 2026-11-10: the sum") != NULL, "%s", err.message);
    fixture_release(&f);
}
END_TEST

#define VALUE(month, day, value)                                                                   \
    "{\"meter\":\"disk\",\"account\":1,\"resource\":\"d\",\"time\":\"2026-" month "-" day              \
    "T00:00:00Z\",\"dimensions\":{\"region\":\"DE\"},\"value\":" value "}\n"
#define SUM(month, value)                                                                          \
    "{\"meter\":\"port\",\"account\":1,\"resource\":\"p\",\"time\":\"2026-" month "-05T00:10:00Z\",\"value\":" value "}\n"

/* All of the account, some rows at a time. */
static uint64_t retain(tb_kept kept, size_t room, bool dry)
{
    tb_retain_walk walk = {.account = 1, .kept = kept, .dry = dry};
    uint64_t rows = 0;
    bool over = false;
    tb_error err = {0};
    for (int i = 0; !over; i++) {
        ck_assert_int_lt(i, 100);
        walk.room = room;
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_retain(f.store, &walk, &over, &err));
        ok(tb_store_commit(f.store, &err));
    }
    for (size_t i = 0; i < walk.n; i++)
        rows += walk.months[i].hour_rows + walk.months[i].day_rows;
    free(walk.months);
    return rows;
}

START_TEST(old_usage_goes_and_the_value_that_holds_stays)
{
    static input first;
    feed_options options = {.kind = TB_BATCH_BUCKETS, .layout = {.now_ms = NOW_MS}, .source = "input", .whole = true,
                            .threads = 1, .now_us = NOW_US};
    feed_report report;
    feed_withdrawn done;
    tb_error err = {0};
    const tb_kept kept = {.hours = 682, .days = 681}; /* 2026-11, 2026-10 */
    set_up();
    give(&first, VALUE("07", "01", "1") VALUE("08", "01", "2") VALUE("08", "09", "3") VALUE("10", "01", "4") SUM("08", "5") SUM("10", "6"));
    ok(feed_file(f.store, write_input(&first), &options, &report, &err));
    ok(take_text(VALUE("09", "01", "9"), &report, &err));
    ok(take_text(VALUE("11", "02", "5") SUM("11", "7"), &report, &err));
    give(&inputs[1], VALUE("09", "03", "8"));
    ok(feed_file(f.store, write_input(&inputs[1]), &options, &report, &err));
    ok(feed_withdraw_file(f.store, write_input(&inputs[1]), &options, &who, &done, &err));
    ok(tb_store_begin(f.store, &err));
    ok(tb__usage_compact_all(f.store, &err));
    ok(tb_store_commit(f.store, &err));
    /* Values of July and August and the one that was withdrawn; hours of August and October, a day row of August. */
    ck_assert_uint_eq(retain(kept, SIZE_MAX, true), 4 + 2 + 1);
    ck_assert_uint_eq(retain(kept, 2, false), 4 + 2 + 1);
    ck_assert_uint_eq(retain(kept, 2, false), 0);
    ck_assert_int_eq(number_of("SELECT min(value) FROM gauge"), 4);
    ck_assert_int_eq(number_of("SELECT count(*) FROM gauge"), 3); /* 9 of September holds when October begins */
    uint64_t differences = 0;
    ok(tb_store_verify(f.store, say, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 0);
    ck_assert_int_eq(feed_withdraw_file(f.store, write_input(&first), &options, &who, &done, &err), TB_E_WITHDRAWAL);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("meter_feed");
    TCase *t = tcase_create("meter_feed");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, random_inputs_count_as_in_the_model);
    tcase_add_test(t, refused_lines_name_line_byte_and_key);
    tcase_add_test(t, a_withdrawal_brings_the_earlier_value_of_a_moment_back);
    tcase_add_test(t, a_resource_that_another_body_named_meanwhile_is_seen);
    tcase_add_test(t, a_sum_past_the_largest_counter_is_refused_as_a_whole);
    tcase_add_test(t, old_usage_goes_and_the_value_that_holds_stays);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
