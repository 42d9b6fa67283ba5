/* Withdrawing: whatever was taken and taken back, in whichever parts and forms, the store answers as one
 * that never took it. TB_SEED reruns a failing run. */
#include "feed/withdraw.h"
#include "seed.h"
#include "store/core/internal.h"
#include "store_fixture.h"
#include "usage_cells.h"

#include "tollbook/usageservers.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"
#include "tollbook/retain.h"
#include "tollbook/series.h"
#include "tollbook/withdraw.h"

#include <fcntl.h>
#include <zlib.h>

#define LOGS  8
#define ROOM  (1 << 18)
#define ZONES 5
#define NOW_MONTH ((2026 - 1970) * 12 + 10) /* 2026-11 */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

#define Z(id, account) "{\"id\":" #id ",\"account\":" #account ",\"name\":\"z" #id "\"}"
#define CATALOG                                                                                    \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"load_balancers\":"      \
    "[{\"id\":7,\"account\":1,\"zones\":[]}],\"zones\":[" Z(101, 1) "," Z(102, 1) "," Z(103, 2)    \
    "," Z(104, 2) "]}" /* 105 has no account */

/* Zone 105 has an account. */
#define MOVED_CATALOG                                                                              \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"load_balancers\":"      \
    "[{\"id\":7,\"account\":1,\"zones\":[]}],\"zones\":[" Z(101, 1) "," Z(102, 1) "," Z(103, 2)    \
    "," Z(104, 2) "," Z(105, 1) "]}"

static fixture f;

static void set_up(void)
{
    fixture_init(&f);
    fixture_apply(&f, CATALOG, NOW_US, NULL);
}

static void tear_down(void)
{
    fixture_release(&f);
}

/* --- inputs --- */

typedef struct input {
    char bytes[ROOM];
    size_t len;
    size_t half; /* a line end in the midst of it */
    bool rows, packed;
    char batch[16]; /* "": none */
    bool taken;
} input;

static input inputs[LOGS];

static void put_log_line(input *in, bool junk)
{
    static const char *const edges[] = {"DE", "UK", "NY", "SG"};
    const long long ms = NOW_MS - 71LL * 3600000 + (long long)draw(70 * 3600) * 1000;
    if (junk && draw(9) == 0) {
        in->len += (size_t)sprintf(in->bytes + in->len, "not a line %llu\n",
                                   (unsigned long long)draw(1000));
        return;
    }
    in->len += (size_t)sprintf(
        in->bytes + in->len, "%s|%u|%lld|%u|%u|192.0.2.%u|-|https://e.example/%u|%s|agent|%032x|%s\n",
        draw(3) ? "HIT" : "MISS", draw(7) ? 200u : 404u, ms, (unsigned)draw(9999),
        101 + (unsigned)draw(ZONES), (unsigned)draw(250), (unsigned)draw(50), edges[draw(4)],
        (unsigned)draw(4) ? (unsigned)draw(1u << 30) : 7u, draw(4) ? "US" : "DE");
}

static void put_row(input *in)
{
    const int hour = (int)draw(24), day = 10 + (int)draw(8);
    if (draw(6) == 0)
        in->len += (size_t)sprintf(in->bytes + in->len,
                                   "{\"load_balancer\":7,\"hour\":\"2026-11-%02dT%02d:00:00Z\","
                                   "\"requests\":%u}\n",
                                   day, hour, 1 + (unsigned)draw(100));
    else
        in->len += (size_t)sprintf(
            in->bytes + in->len,
            "{\"zone\":%u,\"region\":\"%s\",\"hour\":\"2026-11-%02dT%02d:00:00Z\",\"requests\":%u,"
            "\"bytes\":%llu}\n",
            101 + (unsigned)draw(ZONES), draw(2) ? "DE" : "LA", day, hour, 1 + (unsigned)draw(100),
            (unsigned long long)draw(1u << 30));
}

/* Its first line is its own: two logs that begin alike are one. */
static void make_input(input *in, unsigned number)
{
    const size_t lines = 5 + draw(300);
    const bool junk = draw(2);
    in->len = 0;
    in->rows = draw(4) == 0;
    in->packed = draw(4) == 0;
    in->taken = false;
    snprintf(in->batch, sizeof in->batch, draw(3) ? "" : "batch %u", number);
    if (!in->rows) in->len = (size_t)sprintf(in->bytes, "first line of log %u\n", number);
    for (size_t i = 0; i < lines; i++) {
        if (in->rows) put_row(in);
        else put_log_line(in, junk);
        if (i == lines / 2) in->half = in->len;
    }
}

static size_t pack(const char *bytes, size_t len, char *out, size_t size)
{
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)size;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = z.total_out;
    deflateEnd(&z);
    return made;
}

static const char *write_bytes(const fixture *to, const char *bytes, size_t len, bool packed)
{
    static char path[128], out[ROOM];
    snprintf(path, sizeof path, "%s/input", to->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    if (packed) {
        len = pack(bytes, len, out, sizeof out);
        bytes = out;
    }
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
    return path;
}

static feed_options options_of(const input *in)
{
    return (feed_options){.kind = in->rows ? TB_BATCH_BUCKETS : TB_BATCH_LOG,
                          .layout = {.now_ms = NOW_MS},
                          .source = "input",
                          .batch = in->batch[0] ? in->batch : NULL,
                          .whole = in->rows,
                          .threads = 1,
                          .now_us = NOW_US};
}

static void take(fixture *to, const input *in, size_t len, bool packed)
{
    feed_options options = options_of(in);
    feed_report report;
    tb_error err = {0};
    options.threads = 1 + (unsigned)draw(3);
    if (draw(2)) options.segment_bytes = 1 + draw(5000);
    if (draw(2)) options.block_bytes = 2000 + draw(9000);
    if (draw(3) == 0) options.max_groups = 40;
    const char *path = write_bytes(to, in->bytes, len, packed);
    ok(feed_file(to->store, path, &options, &report, &err));
    unlink(path);
}

static const feed_who who = {0, "", 0};
static feed_body body; /* of the running withdrawal */

/* As a server does: parsed in a reader's snapshot, subtracted by the writer. */
static feed_withdrawing *parse_apart(const input *in, feed_options *options, bool packed)
{
    static char out[ROOM];
    tb_error err = {0};
    tb_store *reader;
    feed_withdrawing *parsed;
    const tb_store_options reads = {.now_us = NOW_US, .usage = usage_plane_client(&f.plane)};
    body = (feed_body){in->bytes, in->len, FEED_DETECT, (size_t)1 << 30};
    if (packed) {
        body.len = pack(in->bytes, in->len, out, sizeof out);
        body.bytes = out;
    }
    ok(tb_store_directory(f.store, true, &options->directory, &err)); /* as it is published */
    ok(tb_store_open(f.path, &reads, &reader, &err));
    ok(tb_store_read_begin(reader, &err));
    ok(feed_withdraw_parse(reader, &body, options, &parsed, &err));
    tb_store_read_end(reader);
    tb_store_close(reader);
    return parsed;
}

/* Round by round. */
static tb_code take_apart(feed_withdrawing *parsed, feed_withdrawn *done, tb_error *ret_err)
{
    const tb_store_options reads = {.now_us = NOW_US, .usage = usage_plane_client(&f.plane)};
    tb_error err = {0};
    tb_code code;
    *done = (feed_withdrawn){0};
    do {
        feed_withdrawn round;
        tb_store *reader;
        ok(tb_store_begin(f.store, &err));
        code = feed_withdraw_take(parsed, &body, f.store, &who, &round, ret_err);
        if (!code && round.segments) ok(tb_store_commit(f.store, &err));
        else tb_store_rollback(f.store);
        if (code) break;
        feed_withdrawn_add(done, &round);
        if (!round.more) break;
        ok(tb_store_open(f.path, &reads, &reader, &err));
        ok(tb_store_read_begin(reader, &err));
        ok(feed_withdraw_next(parsed, &body, reader, &err));
        tb_store_read_end(reader);
        tb_store_close(reader);
    } while (true);
    feed_withdraw_free(parsed);
    return code;
}

/* The whole input in one of both ways, or the first bytes of it. */
static tb_code withdraw(const input *in, size_t len, bool packed, feed_withdrawn *done,
                        tb_error *err)
{
    feed_options options = options_of(in);
    options.threads = 1 + (unsigned)draw(3);
    if (draw(2)) options.block_bytes = 2000 + draw(9000);
    if (draw(4) == 0) options.max_groups = 40;
    if (draw(4) == 0) options.log_packed = 1; /* each block's lines go at once */
    if (len == in->len && draw(2)) {
        feed_withdrawing *parsed = parse_apart(in, &options, packed);
        return take_apart(parsed, done, err);
    }
    const char *path = write_bytes(&f, in->bytes, len, packed);
    tb_code code = feed_withdraw_file(f.store, path, &options, &who, done, err);
    unlink(path);
    return code;
}

/* --- comparing --- */

typedef struct text {
    char *bytes;
    size_t len, cap;
} text;

static void add_text(text *t, const char *cell, char end)
{
    while (t->len + strlen(cell) + 2 > t->cap)
        ck_assert_ptr_nonnull(t->bytes = realloc(t->bytes, t->cap = t->cap * 2 + 4096));
    t->len += (size_t)sprintf(t->bytes + t->len, "%s%c", cell, end);
}

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)is_header;
    for (int i = 0; i < n; i++)
        add_text(ctx, cells[i] ? cells[i] : "-", i + 1 < n ? ',' : '\n');
    return true;
}

static void say_rows(const fixture *of, const char *sql, text *t)
{
    tb_error err = {0};
    ok(tb_store_query(of->store, sql, on_row, t, &err));
}

static void say_cells(const fixture *of, text *t)
{
    tb_buf cells;
    tb_buf_init(&cells, (size_t)64 << 20, NULL);
    usage_cells(of->store, &cells);
    tb_buf_add(&cells, "", 1);
    add_text(t, cells.data, '\n');
    tb_buf_release(&cells);
}

static void say_views(const fixture *of, text *t)
{
    char number[32];
    for (int64_t zone = 100; zone <= 104; zone++) {
        for (int64_t account = 1; account <= 2; account++) {
            tb_view view = {.account = account, .zone = zone == 100 ? TB_ALL : zone,
                            .region = TB_ALL};
            tb_range range = {NOW_US / TB_US_PER_DAY - 20, 22, false};
            tb_series series;
            tb_geo *geo;
            size_t n;
            tb_error err = {0};
            if (zone > 100 && account != (zone <= 102 ? 1 : 2)) continue;
            ok(tb_series_init(&series, range, TB_METRIC_ALL, NULL, &err));
            ok(tb_store_read_view(of->store, &view, &series, &geo, &n, &err));
            for (int m = 0; m < TB_METRIC_COUNT; m++)
                for (uint32_t i = 0; i < range.count; i++) {
                    snprintf(number, sizeof number, "%llu",
                             (unsigned long long)series.value[m][i]);
                    add_text(t, number, ' ');
                }
            for (size_t i = 0; i < n; i++) {
                snprintf(number, sizeof number, "%llu", (unsigned long long)geo[i].bytes);
                if (geo[i].bytes) add_text(t, geo[i].name, ' '), add_text(t, number, '\n');
            }
            tb_series_release(&series);
            free(geo);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Kept lines of one time lie in the order of their storing: they are sorted. */
static void say_logs(const fixture *of, text *t)
{
    static const tb_log_filter everything = {.from_ms = 0, .to_ms = INT64_MAX};
    static char *lines[LOGS * 400];
    size_t n = 0;
    for (int64_t zone = 101; zone <= 104; zone++) {
        tb_error err = {0};
        tb_log_cursor *cursor;
        tb_log_step step;
        tb_logrow row;
        tb_buf out;
        ok(tb_store_read_begin(of->store, &err));
        ok(tb_store_logs(of->store, zone, &everything, false, &cursor, &err));
        do {
            ok(tb_log_next(cursor, &step, &err));
            if (step != TB_LOG_LINE) continue;
            ok(tb_log_line(cursor, &row, &err));
            tb_buf_init(&out, 4096, NULL);
            tb_logrow_pipe(&row, zone, false, &out);
            lines[n++] = strndup(out.data, out.len);
            tb_buf_release(&out);
        } while (step != TB_LOG_END);
        tb_log_cursor_free(cursor);
        tb_store_read_end(of->store);
    }
    qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n; i++) {
        add_text(t, lines[i], '\n');
        free(lines[i]);
    }
}

static void say_all(const fixture *of, text *t)
{
    t->len = 0;
    if (of->plane.client.shards) {
        say_cells(of, t);
    } else {
        say_rows(of, "SELECT * FROM buckets", t);
        say_rows(of, "SELECT * FROM balancer_buckets", t);
        say_rows(of, "SELECT * FROM countries", t);
    }
    say_rows(of, "SELECT line,byte,reason,text FROM reject ORDER BY 1,2,3,4", t);
    say_rows(of, "SELECT head,length,hash FROM rung", t);
    say_rows(of, "SELECT value FROM meta WHERE name='newest_hour'", t);
    say_rows(of, "SELECT sum(accepted),sum(rejected) FROM segment WHERE id NOT IN"
                 "(SELECT segment FROM withdrawal)", t);
    say_views(of, t);
    say_logs(of, t);
}

static void check_same(const fixture *of, const fixture *as)
{
    static text t[2];
    say_all(of, &t[0]);
    say_all(as, &t[1]);
    size_t at = 0;
    while (at < t[0].len && at < t[1].len && t[0].bytes[at] == t[1].bytes[at])
        at++;
    const bool same = t[0].len == t[1].len && at == t[0].len;
    for (int back = 0; back < 200 && at && t[0].bytes[at - 1] != '\n'; back++)
        at--;
    ck_assert_msg(same, "withdrawn: %.300s\nnever taken: %.300s",
                  t[0].bytes + at, t[1].bytes + at);
}

/* A store that took only what is left. */
static void check_never_taken(void)
{
    fixture other;
    fixture_init(&other);
    fixture_apply(&other, CATALOG, NOW_US, NULL);
    for (int i = 0; i < LOGS; i++)
        if (inputs[i].taken) take(&other, &inputs[i], inputs[i].len, false);
    check_same(&f, &other);
    fixture_verify(&f);
    fixture_release(&other);
}

/* --- segments that are folded --- */

static uint64_t folded; /* rows that went, in all */

static int64_t ask(const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f.store->db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

/* Blocks of so many ids, a power of 2. */
static void set_block(int ids)
{
    char sql[80];
    snprintf(sql, sizeof sql, "UPDATE meta SET value=%d WHERE name='fold_ids'", ids - 1);
    ck_assert_int_eq(sqlite3_exec(f.store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* A day later: `most` rows at most. Nothing else is too old. */
static void fold_segments(size_t most)
{
    tb_ageing room = {.segments = most};
    tb_error err = {0};
    const int64_t rows = ask("SELECT count(*) FROM segment");
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_drop_aged(f.store, NOW_US + TB_US_PER_DAY, &room, &err));
    ok(tb_store_commit(f.store, &err));
    folded += (uint64_t)(rows - ask("SELECT count(*) FROM segment"));
}

/* --- tests --- */

static void take_somehow(input *in)
{
    if (!in->rows && !in->batch[0] && draw(2)) take(&f, in, in->half, false);
    take(&f, in, in->len, in->packed);
    in->taken = true;
}

static void withdraw_somehow(input *in)
{
    feed_withdrawn done;
    tb_error err = {0};
    ok(withdraw(in, in->len, draw(2), &done, &err));
    ck_assert_msg((done.segments > 0) == in->taken, "%llu segments of an input that was%s taken",
                  (unsigned long long)done.segments, in->taken ? "" : " not");
    in->taken = false;
}

/* What others do between the two steps: the same input is withdrawn, more of it is taken, a zone gets
 * another account. */
START_TEST(what_changes_after_it_was_parsed_is_seen)
{
    static const struct {
        bool withdraw, more, apply;
        unsigned segments;
    } cases[] = {{false, false, false, 1}, {true, false, false, 0}, {false, true, false, 2},
                 {false, false, true, 1}};
    static input in;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tb_error err = {0};
        feed_withdrawn done;
        set_up();
        do
            make_input(&in, 1);
        while (in.rows || in.batch[0]);
        feed_options options = options_of(&in);
        feed_report report;
        const char *path = write_bytes(&f, in.bytes, in.half, false);
        ok(feed_file(f.store, path, &options, &report, &err));
        feed_withdrawing *parsed = parse_apart(&in, &options, i % 2);
        if (cases[i].withdraw) ok(feed_withdraw_file(f.store, path, &options, &who, &done, &err));
        if (cases[i].more) path = write_bytes(&f, in.bytes, in.len, false);
        if (cases[i].more) ok(feed_file(f.store, path, &options, &report, &err));
        if (cases[i].apply) fixture_apply(&f, MOVED_CATALOG, NOW_US, NULL);
        unlink(path);
        ok(take_apart(parsed, &done, &err));
        ck_assert_uint_eq(done.segments, cases[i].segments);
        fixture other;
        fixture_init(&other);
        fixture_apply(&other, CATALOG, NOW_US, NULL);
        if (cases[i].apply) fixture_apply(&other, MOVED_CATALOG, NOW_US, NULL);
        check_same(&f, &other);
        fixture_verify(&f);
        fixture_release(&other);
        tear_down();
    }
}
END_TEST

/* Whatever is folded meanwhile. */
START_TEST(what_is_withdrawn_was_never_taken)
{
    const int rounds = test_long() ? 200 : usage_plane_shards() ? 1 : TB_PART > 1 ? 2 : 8;
    for (int round = 0; round < rounds; round++) {
        set_up();
        set_block(1 << draw(6));
        for (unsigned i = 0; i < LOGS; i++)
            make_input(&inputs[i], i);
        for (unsigned step = 0; step < usage_plane_part(24, 12); step++) {
            input *in = &inputs[draw(LOGS)];
            if (draw(6) == 0) fixture_fold(&f);
            if (draw(3) == 0) fold_segments(draw(2) ? SIZE_MAX : 1 + draw(20));
            if (draw(5) < 3) take_somehow(in);
            else withdraw_somehow(in);
            if (step % 6 == 5) check_never_taken();
        }
        for (int i = 0; i < LOGS; i++)
            withdraw_somehow(&inputs[i]);
        check_never_taken();
        tear_down();
    }
    ck_assert(rounds < 200 || folded > 0); /* a third of the seeds fold nothing in 8 rounds */
}
END_TEST

static void make_small(input *in, const char *bytes)
{
    *in = (input){.len = strlen(bytes)};
    memcpy(in->bytes, bytes, in->len);
}

#define ROW_OF(zone, counters)                                                                                         \
    "{\"zone\":" #zone ",\"region\":\"DE\",\"hour\":\"2026-11-12T05:00:00Z\"," counters "}\n"
#define LINE(id) "HIT|200|1794900000000|100|101|192.0.2.1|-|https://e/" id "|DE|a|" id "|US\n"

/* Everything that the store holds, to see that nothing changed. */
static void remember(text *t)
{
    t->len = 0;
    say_rows(&f, "SELECT * FROM chunk", t);
    say_rows(&f, "SELECT * FROM segment", t);
    say_rows(&f, "SELECT * FROM rung", t);
    say_rows(&f, "SELECT * FROM withdrawal", t);
    say_rows(&f, "SELECT * FROM audit", t);
    say_rows(&f, "SELECT * FROM meta", t);
    say_rows(&f, "SELECT * FROM reject", t);
}

static unsigned count_rows(const char *table)
{
    static text t;
    char sql[80];
    t.len = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    say_rows(&f, sql, &t);
    return (unsigned)atoi(strchr(t.bytes, '\n') + 1);
}

static text before, after;

static void check_unchanged(void)
{
    remember(&after);
    ck_assert_uint_eq(before.len, after.len);
    ck_assert_mem_eq(before.bytes, after.bytes, after.len);
    fixture_verify(&f);
}

/* Two zones of an account, and two inputs of one of them, that say that there was nothing in the same hour. */
START_TEST(an_hour_that_several_say_was_empty_goes_with_the_first)
{
    static const char *const texts[] = {
        ROW_OF(101, "\"requests\":0"), ROW_OF(102, "\"bytes\":0"), ROW_OF(101, "\"bytes\":0"),
        ROW_OF(101, "\"retried\":0") ROW_OF(102, "\"bytes\":7"),
        "{\"load_balancer\":7,\"hour\":\"2026-11-12T05:00:00Z\",\"requests\":0}\n",
        "{\"hour\":\"2026-11-12T05:00:00Z\",\"load_balancer\":7,\"requests\":0}\n"};
    enum { N = sizeof texts / sizeof *texts };
    for (size_t first = 0; first < N; first += usage_plane_part(1, 3)) {
        feed_withdrawn done;
        tb_error err = {0};
        set_up();
        for (size_t i = 0; i < N; i++) {
            make_small(&inputs[i], texts[i]);
            inputs[i].rows = true;
            take(&f, &inputs[i], inputs[i].len, false);
        }
        for (size_t i = 0; i < N; i++) {
            const input *in = &inputs[(first + i) % N];
            err.message[0] = 0;
            ck_assert_msg(withdraw(in, in->len, i % 2, &done, &err) == TB_OK, "%zu behind %zu: %s", i, first,
                          err.message);
            ck_assert_uint_eq(done.segments, 1);
            fixture_verify(&f);
        }
        if (!f.plane.client.shards) {
            ck_assert_uint_eq(count_rows("buckets"), 0);
            ck_assert_uint_eq(count_rows("balancer_buckets"), 0);
        }
        tear_down();
    }
}
END_TEST

START_TEST(what_was_not_taken_changes_nothing)
{
    static input in, other;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    make_small(&other, LINE("c"));
    take(&f, &in, in.len, false);
    fixture_fold(&f);
    remember(&before);
    ok(withdraw(&other, other.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 0);
    check_unchanged();
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 1);
    ck_assert_uint_eq(done.lines, 2);
    ck_assert_uint_eq(done.kept_lines, 2);
    remember(&before);
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 0);
    check_unchanged();
    tear_down();
}
END_TEST

START_TEST(a_shorter_copy_is_refused_and_the_longest_one_goes)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a") LINE("b") LINE("c"));
    take(&f, &in, in.len / 3, false);
    take(&f, &in, in.len, false);
    fixture_fold(&f);
    remember(&before);
    ck_assert_int_eq(withdraw(&in, in.len / 3, false, &done, &err), TB_E_WITHDRAWAL);
    ck_assert_ptr_nonnull(strstr(err.message, "longest copy"));
    check_unchanged();
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 2);
    ck_assert_uint_eq(done.lines, 3);
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* A last line that was cut is refused, and read anew with its end: both go. */
START_TEST(a_cut_line_goes_with_its_whole)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    take(&f, &in, in.len - 20, true); /* a packed file's last line needs no end */
    take(&f, &in, in.len, false);
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 3);
    ck_assert_uint_eq(done.accepted, 2);
    ck_assert_uint_eq(done.rejected, 1);
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* A last line that was taken without its end: the end belongs to the next segment. */
START_TEST(a_line_end_that_came_later_is_no_line)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    take(&f, &in, in.len / 2 - 1, true);
    take(&f, &in, in.len, false);
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 2);
    ck_assert_uint_eq(done.lines, 2);
    fixture_verify(&f);
    tear_down();
}
END_TEST

START_TEST(a_named_batch_goes_by_its_name_alone)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    strcpy(in.batch, "one");
    take(&f, &in, in.len, false);
    fixture_fold(&f);
    remember(&before);
    in.batch[0] = 0;
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 0);
    ck_assert_uint_eq(done.named, 1);
    ck_assert_str_eq(done.batch, "one");
    strcpy(in.batch, "one");
    ck_assert_int_eq(withdraw(&in, in.len / 2, false, &done, &err), TB_E_BATCH_CONFLICT);
    check_unchanged();
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 1);
    take(&f, &in, in.len, false); /* the name is free again */
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.segments, 1);
    fixture_verify(&f);
    tear_down();
}
END_TEST

#define HOSTS(a, b)                                                                                \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":"     \
    "\"z\",\"hostnames\":[\"" a "\"]},{\"id\":102,\"account\":1,\"name\":\"y\",\"hostnames\":[\""  \
    b "\"]}]}"
#define VISIT(host) host ":80 192.0.2.1 - - [17/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 "

/* Two zones have changed their hostnames, and each has more than would be taken off. */
START_TEST(a_catalogue_that_reads_lines_otherwise_is_noticed)
{
    const tb_log_spec spec = {.format = {"vcombined", 9}};
    static input in;
    feed_withdrawn done;
    feed_report report;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, HOSTS("a.example", "b.example"), NOW_US, NULL);
    make_small(&in, VISIT("a.example") "500 \"-\" \"-\"\n" VISIT("b.example") "500 \"-\" \"-\"\n"
                    VISIT("a.example") "500 \"-\" \"-\"\n" VISIT("b.example") "800 \"-\" \"-\"\n");
    feed_options options = options_of(&in);
    ok(tb_log_layout_init(&options.layout, &spec, &err));
    options.layout.now_ms = NOW_MS;
    const char *path = write_bytes(&f, in.bytes, in.len, false);
    ok(feed_file(f.store, path, &options, &report, &err));
    ck_assert_uint_eq(report.accepted, 4);
    options.batch = "more"; /* so that there is enough */
    ok(feed_file(f.store, path, &options, &report, &err));
    ck_assert_uint_eq(report.accepted, 4);
    options.batch = "more";
    fixture_apply(&f, HOSTS("b.example", "a.example"), NOW_US, NULL);
    fixture_fold(&f);
    remember(&before);
    ck_assert_int_eq(feed_withdraw_file(f.store, path, &options, &who, &done, &err),
                     TB_E_WITHDRAWAL);
    check_unchanged();
    fixture_apply(&f, HOSTS("a.example", "b.example"), NOW_US, NULL);
    ok(feed_withdraw_file(f.store, path, &options, &who, &done, &err));
    ck_assert_uint_eq(done.accepted, 4);
    fixture_verify(&f);
    tb_log_layout_release(&options.layout);
    unlink(path);
    tear_down();
}
END_TEST

START_TEST(largest_values_stay_and_are_named)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&in, "{\"zone\":101,\"region\":\"DE\",\"hour\":\"2026-11-10T10:00:00Z\","
                    "\"requests\":5,\"queued_max\":9}\n");
    in.rows = true;
    take(&f, &in, in.len, false);
    ok(withdraw(&in, in.len, false, &done, &err));
    ck_assert_uint_eq(done.maxima, TB_METRIC_BIT(TB_M_QUEUED_MAX));
    fixture_verify(&f);
    after.len = 0;
    say_cells(&f, &after);
    ck_assert_ptr_nonnull(strstr(after.bytes, "1,101,DE,"));
    ck_assert_ptr_nonnull(strstr(after.bytes, ",9,"));
    if (!f.plane.client.shards) {
        after.len = 0;
        say_rows(&f, "SELECT requests,queued_max FROM buckets", &after);
        ck_assert_ptr_nonnull(strstr(after.bytes, "0,9\n"));
    }
    tear_down();
}
END_TEST

/* On usage servers months are compacted, which leaves no row of what was taken off. */
START_TEST(what_was_withdrawn_is_no_hour_once_it_is_folded)
{
    static input old, newest;
    feed_withdrawn done;
    tb_error err = {0};
    tb_compaction c = {.now_us = NOW_US};
    set_up();
    make_small(&old, "{\"zone\":101,\"region\":\"DE\",\"hour\":\"2026-11-10T10:00:00Z\",\"requests\":5}\n");
    make_small(&newest, "{\"zone\":101,\"region\":\"DE\",\"hour\":\"2026-11-12T10:00:00Z\",\"requests\":5}\n");
    old.rows = newest.rows = true;
    take(&f, &old, old.len, false);
    take(&f, &newest, newest.len, false);
    ok(withdraw(&newest, newest.len, false, &done, &err));
    do
        ok(tb_store_compact(f.store, &c, &err));
    while (c.working);
    ck_assert_uint_eq(c.folded, f.plane.client.shards ? 1 : 0);
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* Its series are there, and nothing is in them. */
START_TEST(a_zone_that_was_emptied_finds_its_account)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    fixture_init(&f);
    make_small(&in, LINE("a") LINE("b"));
    take(&f, &in, in.len, false);
    ok(withdraw(&in, in.len, false, &done, &err));
    fixture_apply(&f, CATALOG, NOW_US, NULL);
    fixture_verify(&f);
    take(&f, &in, in.len, false);
    fixture_verify(&f);
    ok(withdraw(&in, in.len, false, &done, &err));
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* Segments of an older file do not say to which places their counters went. */
START_TEST(less_than_is_there_is_never_taken_off)
{
    static input in;
    feed_withdrawn done;
    tb_error err = {0};
    sqlite3 *db;
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    take(&f, &in, in.len, false);
    fixture_fold(&f);
    tb_store_close(f.store);
    ck_assert_int_eq(sqlite3_open(f.path, &db), SQLITE_OK);
    edit(db, "DELETE FROM chunk");
    sqlite3_close(db);
    fixture_open(&f, true);
    remember(&before);
    ck_assert_int_eq(withdraw(&in, in.len, false, &done, &err), TB_E_WITHDRAWAL);
    ck_assert_ptr_nonnull(strstr(err.message, "Pull zone 101, DE, 2026-11-17"));
    remember(&after);
    ck_assert_uint_eq(before.len, after.len);
    tear_down();
}
END_TEST

/* Two lines of an hour in which another log has one. */
START_TEST(what_others_brought_is_never_taken_off)
{
    static input two, one;
    feed_withdrawn done;
    tb_error err = {0};
    sqlite3 *db;
    set_up();
    make_small(&two, LINE("a") LINE("b"));
    make_small(&one, LINE("c"));
    take(&f, &two, two.len, false);
    take(&f, &one, one.len, false);
    ok(withdraw(&two, two.len, false, &done, &err));
    tb_store_close(f.store);
    ck_assert_int_eq(sqlite3_open(f.path, &db), SQLITE_OK);
    edit(db, "DELETE FROM withdrawal"); /* as if it were known still */
    sqlite3_close(db);
    fixture_open(&f, true);
    ck_assert_int_eq(withdraw(&two, two.len, false, &done, &err), TB_E_WITHDRAWAL);
    ck_assert_ptr_nonnull(strstr(err.message, "there is less usage (requests)"));
    tear_down();
}
END_TEST

/* Counters and countries, once each: what comes meanwhile waits. */
START_TEST(usage_that_waits_is_folded_part_by_part)
{
    static input in[3];
    tb_compact_walk walk = {.logs = false};
    tb_error err = {0};
    bool more = true;
    int parts = 0;
    set_up();
    make_small(&in[0], LINE("a"));
    make_small(&in[1], LINE("b"));
    make_small(&in[2], LINE("c"));
    take(&f, &in[0], in[0].len, false);
    take(&f, &in[1], in[1].len, false);
    while (more) {
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_compact_pending(f.store, &walk, &more, &err));
        ok(tb_store_commit(f.store, &err));
        if (++parts == 1) take(&f, &in[2], in[2].len, false);
        ck_assert_int_lt(parts, 20);
    }
    if (!f.plane.client.shards) {
        ck_assert_int_eq(ask("SELECT count(*) FROM usage_run WHERE kind=0"), 1);
        ck_assert_int_gt(ask("SELECT count(*) FROM country_day"), 0);
        ck_assert_int_gt(ask("SELECT value FROM meta WHERE name='cell_max'"), 0);
    }
    fixture_verify(&f);
    tear_down();
}
END_TEST

#define LARGE ((size_t)400 << 10)

/* Parsed with a limit for small bodies, which its first line does not pass; then all of it comes in. */
START_TEST(a_body_that_turns_out_large_is_held_to_its_own_limit)
{
    static input in;
    static char all[LARGE];
    size_t len = 0;
    feed_withdrawn done;
    feed_withdrawing *parsed;
    feed_report report;
    tb_error err = {0};
    set_up();
    make_small(&in, LINE("a"));
    for (; len + in.len <= LARGE; len += in.len)
        memcpy(all + len, in.bytes, in.len);
    feed_options options = options_of(&in);
    const feed_body whole = {all, len, FEED_DETECT, (size_t)1 << 30};
    feed_body small = whole;
    small.plain_max = (size_t)256 << 10;
    ok(tb_store_begin(f.store, &err));
    ok(feed_withdraw_parse(f.store, &small, &options, &parsed, &err));
    tb_store_rollback(f.store);
    const char *path = write_bytes(&f, all, len, true);
    ok(feed_file(f.store, path, &options, &report, &err));
    unlink(path);
    body = whole;
    ok(take_apart(parsed, &done, &err));
    ck_assert_uint_eq(done.segments, 1);
    ck_assert_uint_eq(done.lines, report.lines);
    fixture_verify(&f);
    tear_down();
}
END_TEST

/* --- what has changed since --- */

#define EXTENDED(id) "HIT|200|1794900000000|100|101|192.0.2.1|-|https://e/" id "|DE|a|" id "|US|90|bytes=0-9|secret\n"
#define SET(settings)                                                                                                  \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,\"account\":1,"  \
    "\"name\":\"z101\",\"settings\":{" settings "}}]}"

static int64_t kept_lines(void)
{
    static text t;
    t.len = 0;
    say_rows(&f, "SELECT coalesce((SELECT sum(lines) FROM log_block),0)", &t);
    return atoll(strchr(t.bytes, '\n') + 1);
}

/* Each other way in which lines may be kept now, and not at all. */
START_TEST(kept_lines_go_whatever_is_kept_now)
{
    static const char *const settings[] = {
        SET("\"EnableExtendedLogging\":true"), SET("\"EnableExtendedLogging\":false"), SET("\"EnableLogging\":false"),
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[]}"};
    static input in, other;
    make_small(&in, EXTENDED("a") EXTENDED("b") LINE("c"));
    make_small(&other, EXTENDED("d") LINE("e"));
    for (size_t then = 0; then < 2; then++)
        for (size_t now = 0; now < sizeof settings / sizeof *settings; now += usage_plane_part(1, 3)) {
            feed_withdrawn done;
            tb_error err = {0};
            set_up();
            fixture_apply(&f, settings[then], NOW_US, NULL);
            take(&f, &in, in.len, false);
            take(&f, &other, other.len, false);
            fixture_apply(&f, settings[now], NOW_US + 1, NULL);
            ok(withdraw(&in, in.len, false, &done, &err));
            ck_assert_msg(done.kept_lines == 3, "kept under %zu, withdrawn under %zu: %llu", then, now,
                          (unsigned long long)done.kept_lines);
            if (!f.plane.client.shards) ck_assert_int_eq(kept_lines(), 2);
            fixture_verify(&f);
            tear_down();
        }
}
END_TEST

START_TEST(what_was_let_go_is_named_as_the_cause)
{
    static input in, later;
    feed_withdrawn done;
    tb_error err = {0};
    tb_retain_walk walk = {.account = 1, .kept = {NOW_MONTH + 1, NOW_MONTH}, .room = 1000};
    bool over;
    set_up();
    make_small(&in, LINE("a") LINE("b"));
    take(&f, &in, in.len, false);
    fixture_fold(&f);
    ok(tb_store_begin(f.store, &err));
    do
        ok(tb_store_retain(f.store, &walk, &over, &err));
    while (!over);
    ok(tb_store_commit(f.store, &err));
    free(walk.months);
    make_small(&later, LINE("c") LINE("d") LINE("e")); /* of the same hour: enough to take the others off it */
    for (int i = 0; i < 2; i++) {
        if (i == 1) take(&f, &later, later.len, false);
        fixture_fold(&f);
        remember(&before);
        ck_assert_int_eq(withdraw(&in, in.len, false, &done, &err), TB_E_WITHDRAWAL);
        ck_assert_msg(strstr(err.message, "Pull zone 101, 2026-11-17: usage by the hour of that month was let go"),
                      "%s", err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "`ledger adjust`"));
        check_unchanged();
    }
    tear_down();
}
END_TEST

/* --- many segments --- */

#define MANY usage_plane_part(600, 70) /* more than go in a round */

static void take_line_by_line(input *in)
{
    in->len = 0;
    for (unsigned i = 0; i < MANY; i++)
        in->len += (size_t)sprintf(in->bytes + in->len,
                                   "HIT|200|1794900000000|100|101|192.0.2.1|-|https://e/%u|DE|a|%u|US\n", i, i);
    feed_options options = options_of(in);
    feed_report report;
    tb_error err = {0};
    options.segment_bytes = 1;
    options.block_bytes = 80; /* a line */
    const char *path = write_bytes(&f, in->bytes, in->len, false);
    ok(feed_file(f.store, path, &options, &report, &err));
    unlink(path);
    ck_assert_uint_eq(count_rows("segment"), MANY);
}

/* A body goes in rounds, the last segments first: what is left is known, so it is nothing new, and the same body
 * goes on there. The audit log tells of it once. */
START_TEST(a_body_of_many_segments_goes_in_rounds)
{
    static input in;
    feed_withdrawn done;
    feed_report report;
    tb_error err = {0};
    set_up();
    take_line_by_line(&in);
    const unsigned audited = count_rows("audit");
    feed_options options = options_of(&in);
    feed_withdrawing *parsed = parse_apart(&in, &options, false);
    ok(tb_store_begin(f.store, &err));
    ok(feed_withdraw_take(parsed, &body, f.store, &who, &done, &err));
    ok(tb_store_commit(f.store, &err));
    feed_withdraw_free(parsed);
    ck_assert(done.more && done.segments > 0 && done.segments <= 64);
    const unsigned gone = count_rows("withdrawal");
    ck_assert_uint_eq(gone, done.segments);
    fixture_verify(&f);
    options = options_of(&in);
    const char *path = write_bytes(&f, in.bytes, in.len, false);
    ok(feed_file(f.store, path, &options, &report, &err));
    ck_assert_uint_eq(report.lines, gone); /* those alone count again */
    options = options_of(&in);
    ok(take_apart(parse_apart(&in, &options, true), &done, &err));
    ck_assert_uint_eq(done.lines, MANY);
    ck_assert_uint_eq(count_rows("audit"), audited + 2);
    ok(feed_file(f.store, path, &options, &report, &err));
    ck_assert_uint_eq(report.lines, MANY);
    fixture_verify(&f);
    unlink(path);
    tear_down();
}
END_TEST

/* Pieces of a log, a day later, are what one large segment would have left: known whole, grown, compressed and as a
 * beginning, and withdrawn as a whole. */
START_TEST(pieces_that_are_folded_are_still_known)
{
    static input in, start;
    feed_withdrawn done;
    feed_report report;
    tb_error err = {0};
    fixture never;
    set_up();
    set_block(64);
    take_line_by_line(&in);
    feed_options options = options_of(&in);
    fold_segments(SIZE_MAX);
    const unsigned left = count_rows("segment");
    ck_assert_uint_eq(left, MANY / 64 + MANY % 64 + 1);
    ck_assert_int_eq(ask("SELECT sum(accepted) FROM segment"), MANY);
    fixture_verify(&f);
    for (int packed = 0; packed < 2; packed++) {
        ok(feed_file(f.store, write_bytes(&f, in.bytes, in.len, packed), &options, &report, &err));
        ck_assert(report.nothing_new && report.known_lines == MANY);
    }
    start = in;
    for (start.len = in.len / 5; start.bytes[start.len - 1] != '\n'; start.len--) {}
    ok(feed_file(f.store, write_bytes(&f, start.bytes, start.len, false), &options, &report, &err));
    ck_assert(report.nothing_new && report.earlier_copy);
    in.len += (size_t)sprintf(in.bytes + in.len, LINE("x") LINE("y"));
    ok(feed_file(f.store, write_bytes(&f, in.bytes, in.len, true), &options, &report, &err));
    ck_assert(report.lines == 2 && report.known_lines == MANY);
    ck_assert_int_eq(withdraw(&start, start.len, false, &done, &err) == TB_OK && done.segments, 0);
    ok(withdraw(&in, in.len, true, &done, &err));
    ck_assert_uint_eq(done.lines, MANY + 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM withdrawal"), left + 1);
    fixture_init(&never);
    fixture_apply(&never, CATALOG, NOW_US, NULL);
    check_same(&f, &never);
    fixture_verify(&f);
    fixture_release(&never);
    tear_down();
}
END_TEST

/* What would be lost stays as it is: of a younger day, withdrawn, refused, named, another one's beginning. */
START_TEST(pieces_that_say_more_are_not_folded)
{
    static const char *const cases[] = {
        "UPDATE segment SET added_us=added_us+1 WHERE id=7",
        "UPDATE segment SET source='another' WHERE id IN(2,4,6,8)",
        "UPDATE segment SET name=id",
        "UPDATE segment SET final=1",
        "UPDATE segment SET rejected=1,lines_before=2*(id-1)",
        "INSERT INTO withdrawal VALUES(4,1,1,'',0,0);INSERT INTO withdrawal VALUES(8,1,1,'',0,0)",
        "INSERT INTO segment SELECT id+100,kind,name,source,start,length+1,hash,head,lines_before,accepted,rejected,final,"
        "added_us,sums,seal FROM segment WHERE id IN(2,4,6,8)",
    };
    static input in;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_up();
        set_block(8);
        take_line_by_line(&in);
        edit(f.store->db, "DELETE FROM segment WHERE id>9");
        edit(f.store->db, cases[i]);
        const unsigned all = count_rows("segment");
        fold_segments(SIZE_MAX);
        ck_assert_msg(count_rows("segment") == all, "%s: %u of %u rows", cases[i],
                      count_rows("segment"), all);
        tear_down();
    }
}
END_TEST

/* An entry tells of no other undo, whoever names it. */
START_TEST(an_entry_is_of_its_undo_alone)
{
    static input one, two;
    feed_withdrawn done;
    tb_error err = {0};
    set_up();
    make_small(&one, LINE("a"));
    make_small(&two, LINE("b"));
    take(&f, &one, one.len, false);
    take(&f, &two, two.len, false);
    feed_options options = options_of(&one);
    ok(take_apart(parse_apart(&one, &options, false), &done, &err));
    const unsigned audited = count_rows("audit");
    const feed_who others[] = {{0, "", done.entry}, {0, "", done.entry + 100}, {0, "", -1}};
    for (size_t i = 0; i < 3; i++) { /* of another log, none, none */
        options = options_of(&two);
        feed_withdrawing *parsed = parse_apart(&two, &options, false);
        ok(tb_store_begin(f.store, &err));
        ok(feed_withdraw_take(parsed, &body, f.store, &others[i], &done, &err));
        ok(tb_store_commit(f.store, &err));
        feed_withdraw_free(parsed);
        ck_assert_uint_eq(done.segments, 1);
        ck_assert_uint_eq(count_rows("audit"), audited + 1 + i);
        take(&f, &two, two.len, false);
    }
    tear_down();
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("withdraw");
    TCase *t = tcase_create("withdraw");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, what_changes_after_it_was_parsed_is_seen);
    tcase_add_test(t, what_is_withdrawn_was_never_taken);
    tcase_add_test(t, an_hour_that_several_say_was_empty_goes_with_the_first);
    tcase_add_test(t, what_was_not_taken_changes_nothing);
    tcase_add_test(t, a_shorter_copy_is_refused_and_the_longest_one_goes);
    tcase_add_test(t, a_cut_line_goes_with_its_whole);
    tcase_add_test(t, a_line_end_that_came_later_is_no_line);
    tcase_add_test(t, a_named_batch_goes_by_its_name_alone);
    tcase_add_test(t, a_catalogue_that_reads_lines_otherwise_is_noticed);
    tcase_add_test(t, largest_values_stay_and_are_named);
    tcase_add_test(t, what_was_withdrawn_is_no_hour_once_it_is_folded);
    tcase_add_test(t, a_zone_that_was_emptied_finds_its_account);
    tcase_add_test(t, less_than_is_there_is_never_taken_off);
    tcase_add_test(t, what_others_brought_is_never_taken_off);
    tcase_add_test(t, usage_that_waits_is_folded_part_by_part);
    tcase_add_test(t, a_body_that_turns_out_large_is_held_to_its_own_limit);
    tcase_add_test(t, kept_lines_go_whatever_is_kept_now);
    tcase_add_test(t, what_was_let_go_is_named_as_the_cause);
    tcase_add_test(t, a_body_of_many_segments_goes_in_rounds);
    tcase_add_test(t, pieces_that_are_folded_are_still_known);
    tcase_add_test(t, pieces_that_say_more_are_not_folded);
    tcase_add_test(t, an_entry_is_of_its_undo_alone);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
