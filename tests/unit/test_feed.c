/* The feed: whatever the split into blocks, segments and threads, whatever was killed, repeated or
 * has grown, the store holds what one clean run of the same bytes holds. */
#include "feed/feed.h"
#include "feed/known_options.h"
#include "feed/hash.h"
#include "seed.h"
#include "store_fixture.h"
#include "tollbook/intake.h"
#include "usage_cells.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

/* One in so many of the cuts and ways of a test: the long form takes all, a sanitizer, which is for
 * memory and threads, few. */
static size_t one_in(size_t few, size_t fewer)
{
    return test_long() ? 1 : TB_PART > 1 ? fewer : few;
}

#define FROM_HOUR (NOW_US / INT64_C(3600000000) - 72)

static fixture f;
static char input[128]; /* a file in the fixture's folder */

static void set_up(void)
{
    fixture_init(&f);
    snprintf(input, sizeof input, "%s/input", f.folder);
}

static void tear_down(void)
{
    unlink(input);
    fixture_release(&f);
}

static void again(void)
{
    tear_down();
    set_up();
}

/* --- inputs --- */

typedef struct text {
    char bytes[8 << 20];
    size_t len;
} text;

static text log_text, other_text;

static void put(text *t, const char *bytes, size_t len)
{
    ck_assert_uint_le(t->len + len, sizeof t->bytes);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void put_str(text *t, const char *str)
{
    put(t, str, strlen(str));
}

/* One accepted line; n decides everything. */
static void put_line(text *t, unsigned n)
{
    char line[400];
    long long ms = NOW_MS - 72LL * 3600000 + (long long)(n % 70) * 3600000 + n % 1000;
    int len = snprintf(line, sizeof line,
                       "%s|%u|%lld|%u|%u|192.0.2.%u|-|https://example.com/%u|%s|agent|%08x|%s\n",
                       n % 3 ? "HIT" : "MISS", n % 7 ? 200 : 404, ms, n * 17, 100 + n % 5, n % 250,
                       n, n % 2 ? "DE" : "NY", n, n % 4 ? "US" : "-");
    put(t, line, (size_t)len);
}

static void make_log(text *t, unsigned from, unsigned to, unsigned bad_every)
{
    t->len = 0;
    for (unsigned n = from; n < to; n++) {
        if (bad_every && n % bad_every == bad_every - 1)
            put_str(t, "not a line\n");
        else
            put_line(t, n);
    }
}

static void write_input(const char *bytes, size_t len)
{
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static size_t pack_gzip(const char *bytes, size_t len, char *out, size_t size)
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

/* --- running --- */

static feed_options plain_options(void)
{
    return (feed_options){.kind = TB_BATCH_LOG,
                          .layout = {.now_ms = NOW_MS},
                          .source = "input",
                          .threads = 1,
                          .now_us = NOW_US};
}

static feed_report feed_ok(const char *bytes, size_t len, const feed_options *options)
{
    feed_report report;
    tb_error err = {0};
    write_input(bytes, len);
    ok(feed_file(f.store, input, options, &report, &err));
    return report;
}

static tb_code feed_code(const char *bytes, size_t len, const feed_options *options,
                         feed_report *report, tb_error *err)
{
    write_input(bytes, len);
    return feed_file(f.store, input, options, report, err);
}

/* Feeds through a pipe as standard input. */
typedef struct piped {
    int fd;
    const char *bytes;
    size_t len;
} piped;

static void *write_pipe(void *arg)
{
    piped *p = arg;
    for (size_t at = 0; at < p->len;) {
        ssize_t n = write(p->fd, p->bytes + at, p->len - at);
        if (n <= 0) break;
        at += (size_t)n;
    }
    close(p->fd);
    return NULL;
}

static tb_code feed_pipe(const char *bytes, size_t len, const feed_options *options,
                         feed_report *report, tb_error *err)
{
    int fds[2], saved = dup(0);
    pthread_t thread;
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_ptr_ne(signal(SIGPIPE, SIG_IGN), SIG_ERR); /* where the feed gives up early */
    ck_assert_int_ge(dup2(fds[0], 0), 0);
    close(fds[0]);
    piped p = {fds[1], bytes, len};
    ck_assert_int_eq(pthread_create(&thread, NULL, write_pipe, &p), 0);
    tb_code code = feed_file(f.store, "-", options, report, err);
    ck_assert_int_ge(dup2(saved, 0), 0); /* the writer's end breaks where the feed gave up */
    close(saved);
    pthread_join(thread, NULL);
    return code;
}

/* Feeds bytes as a body, in a transaction of its own. */
static feed_report feed_bytes(const char *bytes, size_t len, const feed_options *options)
{
    feed_report report;
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    ok(feed_memory(f.store, &(feed_body){bytes, len, FEED_PLAIN, 1 << 24}, options, &report, &err));
    ok(tb_store_commit(f.store, &err));
    return report;
}

/* Feeds the log's first `len` bytes in one of the ways that take an unterminated last line. */
static feed_report feed_cut(int way, size_t len, feed_options options)
{
    static char packed[1 << 16];
    feed_report report;
    tb_error err = {0};
    if (way == 0) {
        ok(feed_pipe(log_text.bytes, len, &options, &report, &err));
        return report;
    }
    if (way == 1) return feed_bytes(log_text.bytes, len, &options);
    if (way == 2)
        return feed_ok(packed, pack_gzip(log_text.bytes, len, packed, sizeof packed), &options);
    options.take_partial_line = true;
    return feed_ok(log_text.bytes, len, &options);
}

/* --- what the store holds --- */

typedef struct sink {
    XXH64_state_t *hash;
    size_t rows;
} sink;

static bool hash_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    sink *s = ctx;
    for (int i = 0; i < n; i++)
        XXH64_update(s->hash, cells[i] ? cells[i] : "", cells[i] ? strlen(cells[i]) + 1 : 1);
    s->rows += !is_header;
    return true;
}

static uint64_t hash_query(const char *sql, size_t *ret_rows)
{
    tb_error err = {0};
    tb_store *reader;
    tb_store_options options = {.now_us = NOW_US, .usage = usage_plane_client(&f.plane)};
    sink s = {XXH64_createState(), 0};
    XXH64_reset(s.hash, 0);
    ok(tb_store_open(f.path, &options, &reader, &err));
    ok(tb_store_query(reader, sql, hash_row, &s, &err));
    tb_store_close(reader);
    uint64_t value = XXH64_digest(s.hash);
    XXH64_freeState(s.hash);
    if (ret_rows) *ret_rows = s.rows;
    return value;
}

static uint64_t usage_hash(void)
{
    tb_buf cells;
    if (!f.plane.client.shards)
        return hash_query("SELECT * FROM buckets ORDER BY 1,2,3,4", NULL);
    tb_buf_init(&cells, (size_t)64 << 20, NULL);
    usage_cells(f.store, &cells);
    const uint64_t value = XXH64(cells.data, cells.len, 0);
    tb_buf_release(&cells);
    return value;
}

static uint64_t reject_hash(size_t *ret_rows)
{
    return hash_query("SELECT line,byte,reason,text FROM reject ORDER BY line", ret_rows);
}

static uint64_t count_of(const char *sql)
{
    size_t rows;
    hash_query(sql, &rows);
    return rows;
}

static uint64_t segments(void)
{
    return count_of("SELECT id FROM segment");
}

/* --- splits --- */

START_TEST(any_block_and_segment_size_and_thread_count_give_the_same_store)
{
    make_log(&log_text, 0, 120, 13);
    feed_options options = plain_options();
    feed_report whole = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(whole.lines, 120);
    ck_assert_uint_eq(whole.rejected, 9);
    ck_assert_uint_eq(whole.accepted + whole.rejected, whole.lines);
    ck_assert_uint_eq(whole.first_line, 13);
    uint64_t usage = usage_hash(), rejects = reject_hash(NULL);
    static const size_t blocks[] = {1, 7, 117, 118, 500, 100000};
    static const uint64_t parts[] = {1, 300, 5000, 0};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            for (unsigned threads = 1; threads <= 3; threads += 2) {
                if ((b + p + threads / 2) % one_in(1, 5)) continue;
                again();
                options.block_bytes = blocks[b];
                options.segment_bytes = parts[p];
                options.threads = threads;
                feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
                ck_assert_uint_eq(report.accepted, whole.accepted);
                ck_assert_uint_eq(report.first_line, 13);
                ck_assert_uint_eq(usage_hash(), usage);
                ck_assert_uint_eq(reject_hash(NULL), rejects);
                if (parts[p] == 0) ck_assert_uint_eq(segments(), 1);
            }
    fixture_verify(&f);
}
END_TEST

START_TEST(a_full_rollup_starts_a_segment)
{
    make_log(&log_text, 0, 200, 0);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash();
    again();
    options.max_groups = 10;
    options.block_bytes = 600;
    feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.accepted, 200);
    ck_assert_uint_gt(segments(), 5);
    ck_assert_uint_eq(usage_hash(), usage);
}
END_TEST

/* --- again, killed, grown --- */

START_TEST(the_same_file_again_changes_nothing)
{
    make_log(&log_text, 0, 50, 7);
    feed_options options = plain_options();
    options.segment_bytes = 1000;
    options.block_bytes = 300;
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash(), n = segments();
    feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert(report.nothing_new);
    ck_assert_uint_eq(report.lines, 0);
    ck_assert_uint_eq(report.known_lines, 50);
    ck_assert_uint_eq(report.known_bytes, log_text.len);
    ck_assert_uint_eq(usage_hash(), usage);
    ck_assert_uint_eq(segments(), n);
}
END_TEST

/* Every place near a line's end, and some inside lines. */
static bool worth_a_cut(const text *t, size_t at)
{
    for (size_t i = at > 2 ? at - 2 : 0; i < at + 2 && i < t->len; i++)
        if (t->bytes[i] == '\n') return true;
    return at % one_in(29, 97) == 0;
}

/* A run that saw a beginning, then one that sees the whole: as if there had been one. */
START_TEST(a_log_cut_anywhere_and_fed_again_whole_equals_one_clean_run)
{
    make_log(&log_text, 0, 6, 4);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash(), rejects = reject_hash(NULL);
    for (size_t cut = 0; cut <= log_text.len; cut++) {
        if (!worth_a_cut(&log_text, cut)) continue;
        again();
        feed_report first = feed_ok(log_text.bytes, cut, &options);
        feed_report second = feed_ok(log_text.bytes, log_text.len, &options);
        ck_assert_uint_eq(first.lines + second.lines, 6);
        ck_assert_uint_eq(second.known_lines, first.lines);
        ck_assert_uint_eq(first.bytes + first.waiting_bytes, cut);
        ck_assert_uint_eq(usage_hash(), usage);
        ck_assert_uint_eq(reject_hash(NULL), rejects);
    }
    fixture_verify(&f);
}
END_TEST

/* The same through a pipe, where nothing can be read twice: parsed first, thrown away when known.
 */
START_TEST(a_grown_stream_adds_only_its_new_lines)
{
    make_log(&log_text, 0, 40, 9);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash(), rejects = reject_hash(NULL);
    for (unsigned threads = 1; threads <= 2; threads++)
        for (size_t lines = 0; lines <= 40; lines += 4 * one_in(1, 5)) {
            again();
            make_log(&other_text, 0, (unsigned)lines, 9);
            options.threads = threads;
            options.block_bytes = 900;
            options.segment_bytes = 1500;
            options.max_groups = 5;
            ok(feed_pipe(other_text.bytes, other_text.len, &options, &report, &err));
            ck_assert_uint_eq(report.lines, lines);
            ok(feed_pipe(log_text.bytes, log_text.len, &options, &report, &err));
            ck_assert_uint_eq(report.lines, 40 - lines);
            ck_assert_uint_eq(report.known_lines, lines);
            ck_assert_uint_eq(report.known_bytes, other_text.len);
            ck_assert(report.nothing_new == (lines == 40));
            ck_assert_uint_eq(usage_hash(), usage);
            ck_assert_uint_eq(reject_hash(NULL), rejects);
        }
    fixture_verify(&f);
}
END_TEST

/* Candidates that are refuted only after some of their bytes were parsed. With few groups the first
 * log is many segments, and those that both begin with are known. */
START_TEST(an_input_that_only_begins_alike_is_new)
{
    make_log(&log_text, 0, 30, 0);
    make_log(&other_text, 0, 20, 0);
    for (unsigned n = 999; n < 1007; n++) /* past the next rung */
        put_line(&other_text, n);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    options.block_bytes = 500;
    for (int few = 0; few <= 1; few++)
        for (int pipe = 0; pipe <= 1; pipe++) {
            again();
            options.max_groups = few ? 4 : 0;
            feed_ok(log_text.bytes, log_text.len, &options);
            uint64_t n = segments();
            if (pipe)
                ok(feed_pipe(other_text.bytes, other_text.len, &options, &report, &err));
            else
                report = feed_ok(other_text.bytes, other_text.len, &options);
            ck_assert_uint_eq(report.known_lines + report.lines, 28);
            ck_assert((report.known_lines > 0) == (few == 1));
            ck_assert_uint_ge(report.lines, 8);
            ck_assert_uint_gt(segments(), n);
        }
    fixture_verify(&f);
}
END_TEST

/* The length of the log's first line end at or past `least`. */
static size_t line_end_from(const text *t, size_t least)
{
    const char *end = memchr(t->bytes + least - 1, '\n', t->len - least + 1);
    return (size_t)(end - t->bytes) + 1;
}

/* Told by the prefix hashes at 512, 1024, ... bytes. way: see feed_cut; 4 is a plain file. */
START_TEST(an_earlier_copy_of_a_known_log_is_nothing_new)
{
    make_log(&log_text, 0, 200, 30);
    feed_options options = plain_options();
    options.block_bytes = 900;
    for (int known = 0; known < 3; known++) {
        again();
        options.segment_bytes = known == 1 ? 3000 : 0;
        if (known == 2) { /* grown, and cut in a line when it was taken first */
            feed_cut(1, 1500, options);
            feed_cut(0, 7001, options);
        }
        feed_ok(log_text.bytes, log_text.len, &options);
        uint64_t usage = usage_hash(), n = segments();
        size_t first = line_end_from(&log_text, 512);
        for (size_t cut = first; cut <= log_text.len;
             cut += cut < 2200 ? 7 * one_in(2, 21) : 777 * one_in(1, 3))
            for (int way = 0; way < 5; way++) {
                feed_report report =
                    way < 4 ? feed_cut(way, cut, options) : feed_ok(log_text.bytes, cut, &options);
                ck_assert_msg(report.nothing_new, "known %d cut %zu way %d", known, cut, way);
                ck_assert_uint_eq(report.lines, 0);
                ck_assert_uint_eq(report.waiting_bytes, 0);
                ck_assert(report.earlier_copy || cut == report.known_bytes);
                ck_assert_uint_eq(report.known_bytes, cut);
            }
        ck_assert_uint_eq(usage_hash(), usage);
        ck_assert_uint_eq(segments(), n);
        fixture_verify(&f);
    }
}
END_TEST

/* Shorter than the first rung it cannot be told; after a rung that differs it is another log. */
START_TEST(a_short_copy_and_one_that_diverges_are_new)
{
    make_log(&log_text, 0, 200, 0);
    feed_options options = plain_options();
    for (int way = 0; way < 5; way++) {
        again();
        feed_ok(log_text.bytes, log_text.len, &options);
        size_t first = line_end_from(&log_text, 512), second = line_end_from(&log_text, 1024);
        feed_report report = way < 4 ? feed_cut(way, first - 1, options)
                                     : feed_ok(log_text.bytes, first - 1, &options);
        ck_assert(!report.nothing_new);
        log_text.bytes[second - 3] = 'Z'; /* a country, before the second rung */
        report = way < 4 ? feed_cut(way, second + 10, options)
                         : feed_ok(log_text.bytes, second + 10, &options);
        ck_assert(!report.nothing_new);
        ck_assert_uint_gt(report.known_lines + report.accepted, 10);
        log_text.bytes[second - 3] = 'U';
    }
}
END_TEST

/* The known part ends at a rung and the log has grown by less than reaches the next. */
START_TEST(a_log_that_has_grown_by_little_is_no_earlier_copy)
{
    make_log(&log_text, 0, 200, 0);
    feed_options options = plain_options();
    for (int way = 0; way < 5; way++)
        for (size_t rung = 512; rung < 5000; rung *= 2) {
            again();
            size_t at = line_end_from(&log_text, rung), more = line_end_from(&log_text, at + 1);
            feed_ok(log_text.bytes, at, &options);
            feed_report report =
                way < 4 ? feed_cut(way, more, options) : feed_ok(log_text.bytes, more, &options);
            ck_assert_uint_eq(report.accepted, 1);
            ck_assert(feed_cut(way % 4, at, options).nothing_new);
            ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &options).known_bytes, more);
        }
}
END_TEST

/* A name names exactly its bytes: what looks like an earlier copy is its own batch. */
START_TEST(a_named_batch_is_never_an_earlier_copy)
{
    make_log(&log_text, 0, 60, 0);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    options.batch = "x";
    ck_assert_uint_eq(feed_ok(log_text.bytes, line_end_from(&log_text, 1200), &options).accepted,
                      line_end_from(&log_text, 1200) / 84);
}
END_TEST

/* --- under other options --- */

static const tb_log_layout german = {
    .format = TB_FORMAT_COMBINED, .now_ms = NOW_MS, .zone = 1, .edge = "DE", .edge_len = 2};

/* Lines of the combined format, `different` of which on are of another log. */
static void make_combined(text *t, unsigned n, unsigned different)
{
    char line[200];
    t->len = 0;
    for (unsigned i = 0; i < n; i++) {
        snprintf(line, sizeof line,
                 "192.0.2.7 - - [17/Nov/2026:10:00:%02u +0000] \"GET /%u HTTP/1.1\" 200 %u \"-\" \"agent\"\n", i % 60, i,
                 i < different ? 51 : 52);
        put_str(t, line);
    }
}

/* As a file, through a pipe, packed, or as a body. */
static tb_code feed_way(int way, const text *t, const feed_options *options, feed_report *report)
{
    static char packed[1 << 16];
    tb_error err = {0};
    if (way == 0) return feed_code(t->bytes, t->len, options, report, &err);
    if (way == 1) return feed_pipe(t->bytes, t->len, options, report, &err);
    if (way == 2)
        return feed_code(packed, pack_gzip(t->bytes, t->len, packed, sizeof packed), options, report, &err);
    ok(tb_store_begin(f.store, &err));
    tb_code code = feed_memory(f.store, &(feed_body){t->bytes, t->len, FEED_PLAIN, 1 << 24}, options, report, &err);
    if (code) tb_store_rollback(f.store);
    else ok(tb_store_commit(f.store, &err));
    return code;
}

/* Under another zone, edge, or format: whole, grown, and as a copy that is shorter. */
START_TEST(a_log_that_is_known_under_other_options_is_refused)
{
    static const unsigned known[] = {2, 40, 900}, sent[] = {2, 90, 899};
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < 3; i++) {
            feed_report report;
            feed_options options = plain_options();
            again();
            options.layout = german;
            make_combined(&log_text, known[i], UINT_MAX);
            ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
            ck_assert_uint_eq(report.accepted, known[i]);
            const uint64_t usage = usage_hash(), n = segments();
            make_combined(&log_text, sent[i], UINT_MAX);
            options.layout.zone = 2;
            ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_E_OTHER_OPTIONS);
            options.layout = german;
            options.layout.edge = "NY";
            ck_assert_int_eq(feed_way((way + 1) % 4, &log_text, &options, &report), TB_E_OTHER_OPTIONS);
            ck_assert_uint_eq(usage_hash(), usage);
            ck_assert_uint_eq(segments(), n);
            options.batch = "again";
            ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
            ck_assert_uint_eq(report.accepted, sent[i]);
            options.batch = NULL;
            options.layout = german;
            const bool more = sent[i] > known[i]; /* is known by that batch than by its own options */
            ck_assert_int_eq(feed_way(way, &log_text, &options, &report), more ? TB_E_OTHER_OPTIONS : TB_OK);
            ck_assert(more || report.earlier_copy || report.known_lines + report.lines == sent[i]);
            if (way == 0) fixture_verify(&f);
        }
}
END_TEST

/* A line that begins two logs, one that goes on differently before anything of it is known, and one of which nothing counted. */
START_TEST(other_logs_under_other_options_are_new)
{
    feed_report report;
    for (int way = 0; way < 4; way++) {
        feed_options options = plain_options();
        again();
        options.layout = german;
        make_combined(&log_text, 1, UINT_MAX);
        ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
        make_combined(&other_text, 100, UINT_MAX);
        options.layout.zone = 2;
        ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
        ck_assert_uint_eq(report.accepted, 1);
        options.layout.zone = 3;
        ck_assert_int_eq(feed_way(way, &other_text, &options, &report), TB_OK);
        ck_assert_uint_eq(report.accepted, 100);
        make_combined(&other_text, 100, 3);
        options.layout.zone = 4;
        ck_assert_int_eq(feed_way(way, &other_text, &options, &report), TB_OK);
        ck_assert_uint_eq(report.accepted, 100);
        options.layout = (tb_log_layout){.now_ms = NOW_MS};
        make_combined(&other_text, 50, 0);
        ck_assert_int_eq(feed_way(way, &other_text, &options, &report), TB_OK);
        ck_assert_uint_eq(report.rejected, 50);
        options.layout = german;
        ck_assert_int_eq(feed_way(way, &other_text, &options, &report), TB_OK);
        ck_assert_uint_eq(report.accepted, 50);
    }
}
END_TEST

/* Lines that several logs begin with: the known log goes on otherwise, or as far as is known not at all. */
/* Where as much is known under both options, only the one with the greater seed sends no more. */
START_TEST(of_two_clients_that_know_as_much_one_yields)
{
    const feed_log_options low = {.seed = 1}, high = {.seed = 2};
    const feed_other_options even = {.as = low, .bytes = 600, .own = 600, .tells = true};
    feed_other_options of = even;
    ck_assert(feed_should_yield(&of, high, 600));
    ck_assert(feed_should_yield(&of, high, 100000)); /* beyond what was looked at */
    of.as = high;
    ck_assert(!feed_should_yield(&of, low, 600));
    of.own = 500;
    ck_assert(feed_should_yield(&of, low, 500)); /* more is known otherwise */
    ck_assert(!feed_should_yield(&of, low, 700));
    of = even;
    of.tells = false;
    ck_assert(!feed_should_yield(&of, high, 0));
}
END_TEST

START_TEST(logs_that_begin_alike_are_told_apart_by_512_bytes)
{
    feed_report report;
    for (int way = 0; way < 4; way++)
        for (unsigned alike = 2; alike < 9; alike++) {
            feed_options options = plain_options();
            again();
            options.layout = german;
            make_combined(&log_text, alike, UINT_MAX);
            const size_t bytes = log_text.len;
            ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
            make_combined(&log_text, 100, UINT_MAX);
            if (alike % 2) ck_assert_int_eq(feed_way(way, &log_text, &options, &report), TB_OK);
            make_combined(&other_text, 100, alike);
            options.layout.zone = 2;
            ck_assert_int_eq(feed_way(way, &other_text, &options, &report), bytes < 512 ? TB_OK : TB_E_OTHER_OPTIONS);
            make_combined(&other_text, alike, UINT_MAX);
            options.layout.zone = 3;
            ck_assert_int_eq(feed_way(way, &other_text, &options, &report), TB_E_OTHER_OPTIONS);
        }
}
END_TEST

/* The same log as two bodies that are parsed beside each other, under options that are noted by now. */
START_TEST(of_two_bodies_at_a_time_one_counts)
{
    feed_options de = plain_options(), ny = plain_options();
    tb_error err = {0};
    feed_report report;
    feed_run *first, *second;
    bool stale;
    de.layout = ny.layout = german;
    ny.layout.edge = "NY";
    for (int i = 0; i < 2; i++) { /* logs that begin with the same line, so that both are noted */
        const feed_options *noted = i ? &ny : &de;
        make_combined(&other_text, 4, 1 + (unsigned)i);
        feed_ok(other_text.bytes, other_text.len, noted);
    }
    ck_assert_int_eq(segments(), 2);
    make_combined(&log_text, 90, UINT_MAX);
    const feed_body body = {log_text.bytes, log_text.len, FEED_PLAIN, 1 << 24};
    ok(feed_parse(f.store, &body, &de, &first, &err));
    ok(feed_parse(f.store, &body, &ny, &second, &err));
    ok(tb_store_begin(f.store, &err));
    ok(feed_take(first, f.store, &report, &stale, &err));
    ck_assert(!stale);
    ck_assert_uint_eq(report.accepted, 90);
    ok(feed_take(second, f.store, &report, &stale, &err));
    ck_assert(stale);
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(feed_way(3, &log_text, &ny, &report), TB_E_OTHER_OPTIONS);
    feed_run_free(first);
    feed_run_free(second);
}
END_TEST

/* Where a log parts from the known one behind a rung, no more than was the same is said to be known. */
START_TEST(of_a_fork_no_more_is_said_to_be_known)
{
    feed_report report;
    feed_options options = plain_options();
    tb_error err = {0};
    unsigned long long said = 0;
    again();
    options.layout = german;
    make_combined(&log_text, 500, UINT_MAX);
    const size_t same = log_text.len;
    make_combined(&log_text, 900, UINT_MAX);
    ck_assert_int_eq(feed_way(0, &log_text, &options, &report), TB_OK);
    make_combined(&other_text, 700, 500);
    options.layout.zone = 2;
    ck_assert_int_eq(feed_code(other_text.bytes, other_text.len, &options, &report, &err), TB_E_OTHER_OPTIONS);
    ck_assert_int_eq(sscanf(err.message, "Its first %llu bytes", &said), 1);
    ck_assert(said > 32 << 10 && said <= same);
}
END_TEST

/* However many logs begin with one line, of a few it is looked whether they go on alike. */
START_TEST(looking_under_other_options_has_a_bound)
{
    feed_report report;
    feed_options options = plain_options();
    tb_error err = {0};
    tb_known *list;
    const size_t logs = TB_PART > 1 ? 60 : TB_KNOWN_BEFORE + 10;
    size_t n;
    again();
    options.layout = german;
    ok(tb_store_begin(f.store, &err));
    for (size_t i = 0; i < logs; i++) {
        make_combined(&log_text, 1, UINT_MAX);
        char line[100];
        snprintf(line, sizeof line, "192.0.2.7 - - [17/Nov/2026:10:00:00 +0000] \"GET /x/%zu HTTP/1.1\" 200 5 \"-\" \"-\"\n", i);
        put_str(&log_text, line);
        ok(feed_memory(f.store, &(feed_body){log_text.bytes, log_text.len, FEED_PLAIN, 1 << 24}, &options, &report, &err));
        ck_assert_uint_eq(report.accepted, 2);
    }
    ok(tb_store_commit(f.store, &err));
    const tb_hash128 head =
        feed_hash_head(feed_hash_seed(TB_BATCH_LOG, &options.layout), false, log_text.bytes, log_text.len);
    ok(tb_store_known_before(f.store, TB_BATCH_LOG, head, 1 << 16, &list, &n, &err));
    free(list);
    ck_assert_uint_eq(n, logs < TB_KNOWN_BEFORE ? logs : TB_KNOWN_BEFORE);
}
END_TEST

/* Files of an hour without a request have their heads alone: they are the same for every zone. */
START_TEST(heads_alone_are_no_log_of_other_options)
{
    static const char heads[] = "#Version: 1.0\n#Fields: date time sc-status sc-bytes\n";
    tb_error err = {0};
    for (int64_t zone = 1; zone <= 20; zone++) {
        feed_options options = plain_options();
        const tb_log_spec spec = {{"cloudfront", 10}, {"", 0}, {"DE", 2}, zone};
        ok(tb_log_layout_init(&options.layout, &spec, &err));
        options.layout.now_ms = NOW_MS;
        ck_assert_uint_eq(feed_ok(heads, sizeof heads - 1, &options).rejected, 0);
        char log[200];
        const int n = snprintf(log, sizeof log, "%s2026-11-17\t10:00:%02d\t200\t51\n2026-11-17\t10:00:%02d\t200\t51\n",
                               heads, (int)zone, (int)zone);
        ck_assert_uint_eq(feed_ok(log, (size_t)n, &options).accepted, 4);
        tb_log_layout_release(&options.layout);
    }
}
END_TEST

/* --- the last line --- */

START_TEST(a_blank_line_after_a_known_end_is_a_line)
{
    make_log(&log_text, 0, 3, 0);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    put_str(&log_text, "\n");
    feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.lines, 1);
    ck_assert_int_eq(report.first_reason, TB_REJECT_BLANK);
    ck_assert_uint_eq(report.first_line, 4);
}
END_TEST

/* What was flushed on the way to a known end is rolled back. */
START_TEST(a_known_stream_that_does_not_fit_the_rollup_changes_nothing)
{
    make_log(&log_text, 0, 60, 9);
    make_log(&other_text, 0, 45, 9);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash(), rejects = reject_hash(NULL);
    again();
    ok(feed_pipe(other_text.bytes, other_text.len, &options, &report, &err));
    ck_assert_uint_eq(segments(), 1);
    options.block_bytes = 500;
    options.max_groups = 3;
    ok(feed_pipe(other_text.bytes, other_text.len, &options, &report, &err));
    ck_assert(report.nothing_new);
    ok(feed_pipe(log_text.bytes, log_text.len, &options, &report, &err));
    ck_assert_uint_eq(report.known_lines, 45);
    ck_assert_uint_eq(usage_hash(), usage);
    ck_assert_uint_eq(reject_hash(NULL), rejects);
    fixture_verify(&f);
}
END_TEST

START_TEST(an_unterminated_last_line_of_a_plain_file_waits)
{
    make_log(&log_text, 0, 3, 0);
    feed_options options = plain_options();
    feed_report report = feed_ok(log_text.bytes, log_text.len - 1, &options);
    ck_assert_uint_eq(report.lines, 2);
    ck_assert_uint_gt(report.waiting_bytes, 0);
    ck_assert_uint_eq(report.bytes + report.waiting_bytes, log_text.len - 1);
    report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.lines, 1);
    ck_assert_uint_eq(report.waiting_bytes, 0);
}
END_TEST

START_TEST(final_takes_an_unterminated_last_line_and_its_end_is_no_line)
{
    make_log(&log_text, 0, 3, 0);
    feed_options options = plain_options();
    options.take_partial_line = true;
    ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len - 1, &options).lines, 3);
    options.take_partial_line = false;
    feed_report report = feed_ok(log_text.bytes, log_text.len - 1, &options);
    ck_assert(report.nothing_new);
    ck_assert_uint_eq(report.waiting_bytes, 0);
    report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert(report.nothing_new);
    put_line(&log_text, 3);
    report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.lines, 1);
    ck_assert_uint_eq(report.accepted, 1);
    ck_assert(feed_ok(log_text.bytes, log_text.len, &options).nothing_new);
}
END_TEST

START_TEST(streams_and_compressed_files_take_an_unterminated_last_line)
{
    static char packed[1 << 16];
    make_log(&log_text, 0, 3, 0);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    ok(feed_pipe(log_text.bytes, log_text.len - 1, &options, &report, &err));
    ck_assert_uint_eq(report.lines, 3);
    again();
    size_t n = pack_gzip(log_text.bytes, log_text.len - 1, packed, sizeof packed);
    ck_assert_uint_eq(feed_ok(packed, n, &options).lines, 3);
}
END_TEST

/* Whether the cut leaves a line that parses as it is: all but its country, which may be empty. */
static bool cut_parses(size_t cut)
{
    return cut > 0 && log_text.bytes[cut - 1] == '|' &&
           memchr(log_text.bytes + cut, '\n', 3) != NULL;
}

/* A cut line was refused; whole it is read once, however either came. */
START_TEST(a_refused_last_line_without_end_is_read_anew_once_it_has_grown)
{
    make_log(&log_text, 0, 6, 4);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash();
    options.block_bytes = 300;
    for (size_t cut = 0; cut <= log_text.len; cut++)
        for (int way = 0; way < 16; way++) {
            if (!worth_a_cut(&log_text, cut) || cut_parses(cut)) continue;
            /* Two ways a cut, all in turn. */
            if ((cut + (size_t)way + (size_t)way / 4) % one_in(8, 32)) continue;
            again();
            feed_cut(way % 4, cut, options);
            uint64_t n = segments();
            ck_assert(feed_cut(way / 4, cut, options).nothing_new == (cut > 0));
            ck_assert_uint_eq(segments(), n);
            feed_report report = feed_cut(way / 4, log_text.len, options);
            ck_assert_uint_eq(report.known_lines + report.lines, 6);
            ck_assert_uint_eq(usage_hash(), usage);
            ck_assert(feed_ok(log_text.bytes, log_text.len, &options).nothing_new);
            if (cut % 50 == 0) fixture_verify(&f);
        }
}
END_TEST

START_TEST(a_live_log_posted_whole_again_and_again_counts_each_line_once)
{
    make_log(&log_text, 0, 60, 0);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash();
    for (size_t step = test_long() ? 1 : 4 * one_in(1, 10); step < log_text.len;
         step = step * 3 + 1) {
        again();
        uint64_t accepted = 0;
        for (size_t len = step; len < log_text.len; len += step * 7 % 611 + step / 5 + 1)
            if (!cut_parses(len)) accepted += feed_bytes(log_text.bytes, len, &options).accepted;
        accepted += feed_bytes(log_text.bytes, log_text.len, &options).accepted;
        ck_assert_uint_eq(accepted, 60);
        ck_assert_uint_eq(usage_hash(), usage);
    }
    fixture_verify(&f);
}
END_TEST

/* Its end alone makes it no other line: with CR LF too, and with more after it. */
START_TEST(a_refused_last_line_that_only_gets_its_end_stays_known)
{
    static const char *const ends[] = {"\n", "\r\n"};
    feed_options options = plain_options();
    for (int way = 0; way < 4; way++)
        for (int end = 0; end < 2; end++) {
            again();
            make_log(&log_text, 0, 3, 0);
            put_str(&log_text, "not a line");
            ck_assert_uint_eq(feed_cut(way, log_text.len, options).rejected, 1);
            put_str(&log_text, ends[end]);
            ck_assert(feed_cut(way, log_text.len, options).nothing_new);
            put_line(&log_text, 3);
            feed_report report = feed_cut(way, log_text.len, options);
            ck_assert_uint_eq(report.known_lines, 4);
            ck_assert_uint_eq(report.lines, 1);
            ck_assert_uint_eq(report.accepted, 1);
            ck_assert(feed_cut(way, log_text.len, options).nothing_new);
            ck_assert_uint_eq(count_of("SELECT 1 FROM reject"), 1);
            fixture_verify(&f);
        }
}
END_TEST

/* --- long lines --- */

static void make_long(size_t len)
{
    static char junk[1 << 16];
    memset(junk, 'x', sizeof junk);
    make_log(&log_text, 0, 2, 0);
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, log_text.bytes, log_text.len), (ssize_t)log_text.len);
    for (size_t at = 0; at < len;) {
        size_t n = len - at < sizeof junk ? len - at : sizeof junk;
        ck_assert_int_eq(write(fd, junk, n), (ssize_t)n);
        at += n;
    }
    ck_assert_int_eq(write(fd, "\n", 1), 1);
    ck_assert_int_eq(write(fd, log_text.bytes, log_text.len), (ssize_t)log_text.len);
    close(fd);
}

START_TEST(a_line_longer_than_the_limit_is_one_rejected_line)
{
    static const size_t lengths[] = {TB_LINE_MAX - 1, TB_LINE_MAX,     TB_LINE_MAX + 1,
                                     TB_LINE_MAX + 2, TB_LINE_MAX + 3, 3 * TB_LINE_MAX};
    static const size_t blocks[] = {0, 4096, TB_LINE_MAX + 3};
    feed_options options = plain_options();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            feed_report report;
            tb_error err = {0};
            again();
            make_long(lengths[i]);
            options.block_bytes = blocks[b];
            ok(feed_file(f.store, input, &options, &report, &err));
            ck_assert_uint_eq(report.lines, 5);
            ck_assert_uint_eq(report.rejected, 1);
            ck_assert_uint_eq(report.first_line, 3);
            ck_assert_int_eq(report.first_reason,
                             lengths[i] > TB_LINE_MAX ? TB_REJECT_TOO_LONG : TB_REJECT_COLUMNS);
            ok(feed_file(f.store, input, &options, &report, &err));
            ck_assert(report.nothing_new);
        }
}
END_TEST

START_TEST(a_too_long_last_line_without_end_waits_too)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    make_long(2 * TB_LINE_MAX);
    struct stat st;
    ck_assert_int_eq(stat(input, &st), 0);
    ck_assert_int_eq(truncate(input, st.st_size - (off_t)log_text.len - 1), 0);
    ok(feed_file(f.store, input, &options, &report, &err));
    ck_assert_uint_eq(report.lines, 2);
    ck_assert_uint_eq(report.waiting_bytes, 2 * TB_LINE_MAX);
    make_long(2 * TB_LINE_MAX);
    ok(feed_file(f.store, input, &options, &report, &err));
    ck_assert_uint_eq(report.known_lines, 2);
    ck_assert_uint_eq(report.lines, 3);
    ck_assert_uint_eq(report.rejected, 1);
}
END_TEST

START_TEST(a_too_long_last_line_without_end_that_was_refused_may_grow_too)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    struct stat st;
    static const size_t blocks[] = {0, 4096, TB_LINE_MAX + 3};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        again();
        options.block_bytes = blocks[b];
        options.take_partial_line = true;
        make_long(2 * TB_LINE_MAX);
        ck_assert_int_eq(stat(input, &st), 0);
        ck_assert_int_eq(truncate(input, st.st_size - (off_t)log_text.len - 9), 0);
        ok(feed_file(f.store, input, &options, &report, &err));
        ck_assert_uint_eq(report.lines, 3);
        ck_assert_uint_eq(report.rejected, 1);
        ok(feed_file(f.store, input, &options, &report, &err));
        ck_assert(report.nothing_new);
        make_long(2 * TB_LINE_MAX);
        ok(feed_file(f.store, input, &options, &report, &err));
        ck_assert_uint_eq(report.known_lines, 2);
        ck_assert_uint_eq(report.lines, 3);
        ck_assert_uint_eq(report.rejected, 1);
    }
}
END_TEST

/* --- compressed input --- */

START_TEST(gzip_members_and_zstd_frames_one_after_another_are_one_input)
{
    static char packed[1 << 18];
    make_log(&log_text, 0, 60, 0);
    feed_options options = plain_options();
    feed_ok(log_text.bytes, log_text.len, &options);
    size_t half = log_text.len / 2;
    size_t n = pack_gzip(log_text.bytes, half, packed, sizeof packed);
    n += pack_gzip(log_text.bytes + half, log_text.len - half, packed + n, sizeof packed - n);
    feed_report report = feed_ok(packed, n, &options);
    ck_assert(report.nothing_new); /* compressed or not, the content decides */
    memset(packed + n, 0, 512);
    ck_assert(feed_ok(packed, n + 512, &options).nothing_new);
    n = ZSTD_compress(packed, sizeof packed, log_text.bytes, half, 3);
    n +=
        ZSTD_compress(packed + n, sizeof packed - n, log_text.bytes + half, log_text.len - half, 3);
    ck_assert(feed_ok(packed, n, &options).nothing_new);
    again();
    ck_assert_uint_eq(feed_ok(packed, n, &options).accepted, 60);
}
END_TEST

START_TEST(a_grown_compressed_log_adds_only_its_new_lines)
{
    static char packed[1 << 18];
    feed_options options = plain_options();
    options.block_bytes = 700;
    make_log(&log_text, 0, 60, 0);
    feed_ok(log_text.bytes, log_text.len, &options);
    uint64_t usage = usage_hash();
    again();
    make_log(&other_text, 0, 25, 0);
    size_t n = pack_gzip(other_text.bytes, other_text.len, packed, sizeof packed);
    ck_assert_uint_eq(feed_ok(packed, n, &options).lines, 25);
    n = pack_gzip(log_text.bytes, log_text.len, packed, sizeof packed);
    feed_report report = feed_ok(packed, n, &options);
    ck_assert_uint_eq(report.lines, 35);
    ck_assert_uint_eq(report.known_lines, 25);
    ck_assert_uint_eq(usage_hash(), usage);
}
END_TEST

START_TEST(compressed_input_cut_anywhere_is_an_error_that_names_the_byte)
{
    static char packed[2][1 << 16];
    make_log(&log_text, 0, 20, 0);
    size_t n[2] = {pack_gzip(log_text.bytes, log_text.len, packed[0], sizeof packed[0]),
                   ZSTD_compress(packed[1], sizeof packed[1], log_text.bytes, log_text.len, 3)};
    feed_options options = plain_options();
    for (int codec = 0; codec < 2; codec++)
        for (size_t cut = 4; cut < n[codec]; cut += one_in(3, 17)) {
            feed_report report;
            tb_error err = {0};
            ck_assert_int_eq(feed_code(packed[codec], cut, &options, &report, &err),
                             TB_E_BAD_INPUT);
            ck_assert_uint_eq(err.byte, cut + 1);
            ck_assert_uint_eq(segments(), 0);
        }
}
END_TEST

START_TEST(damaged_compressed_input_or_something_after_it_is_an_error)
{
    static char packed[1 << 16];
    make_log(&log_text, 0, 20, 0);
    size_t n = pack_gzip(log_text.bytes, log_text.len, packed, sizeof packed);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    packed[n - 5] = (char)(packed[n - 5] ^ 1); /* the checksum */
    ck_assert_int_eq(feed_code(packed, n, &options, &report, &err), TB_E_BAD_INPUT);
    packed[n - 5] = (char)(packed[n - 5] ^ 1);
    packed[n] = 'x';
    ck_assert_int_eq(feed_code(packed, n + 1, &options, &report, &err), TB_E_BAD_INPUT);
    ck_assert_uint_eq(err.byte, n + 1);
    ck_assert_uint_eq(segments(), 0);
    ck_assert_uint_eq(feed_ok(packed, n, &options).accepted, 20);
}
END_TEST

START_TEST(a_file_that_is_unpacked_elsewhere_is_named_with_the_command)
{
    static char tar[600] = "access.log";
    memcpy(tar + 257, "ustar", 6);
    const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } files[] = {
#define B(bytes, says) {bytes, sizeof bytes - 1, says}
        B("BZh91AY&SY\x7f\1\2\3", "bzip2 -dc FILE | tollbook ingest -"),
        B("\xfd" "7zXZ\0\0\4", "xz -dc FILE |"),
        B("\x5d\0\0\x80\0\xff", "xz -dc FILE |"),
        B("LZIP\1\x14", "lzip -dc FILE |"),
        B("\x04\x22\x4d\x18\x64", "lz4 -dc FILE |"),
        B("\x89LZO\0\r\n", "lzop -dc FILE |"),
        B("\xff\x06\0\0sNaPpY", "snzip -dc FILE |"),
        B("\x1f\x9d\x90", "gzip -dc FILE |"),
        B("PK\3\4\x14", "unzip -p FILE |"),
        B("7z\xbc\xaf\x27\x1c", "7z x -so FILE |"),
        B("Rar!\x1a\7\1", "unrar p -inul FILE |"),
        B("PAR1\x15\4", "duckdb"),
        B("\xff\xfe" "1\0" "9\0", "iconv -f UTF-16 -t UTF-8 FILE |"),
        B("\xfe\xff\0" "1", "iconv -f UTF-16"),
        B("\xff\xfe\0\0" "1\0\0\0", "iconv -f UTF-32"),
        B("LPKSHHRH\0", "journalctl -o cat --file FILE |"),
#undef B
        {tar, sizeof tar, "tar -xOf FILE |"},
    };
    static char packed[4096];
    feed_options options = plain_options();
    feed_report report;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        tb_error err = {0};
        ck_assert_msg(feed_code(files[i].bytes, files[i].len, &options, &report, &err) == TB_E_BAD_INPUT, "%s", files[i].says);
        ck_assert_msg(strstr(err.message, files[i].says), "%s", err.message);
        const size_t n = pack_gzip(files[i].bytes, files[i].len, packed, sizeof packed); /* in gzip too: logs.tar.gz */
        ck_assert_int_eq(feed_code(packed, n, &options, &report, &err), TB_E_BAD_INPUT);
    }
    ck_assert_uint_eq(segments(), 0);
    ck_assert_uint_eq(feed_ok("BZh91AY&SY|200|\n", 16, &options).rejected, 1); /* a client's: a line like others */
}
END_TEST

/* --- named batches --- */

START_TEST(a_named_batch_names_exactly_its_bytes)
{
    make_log(&log_text, 0, 20, 0);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    options.batch = "one";
    ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &options).accepted, 20);
    ck_assert(feed_ok(log_text.bytes, log_text.len, &options).nothing_new);
    uint64_t usage = usage_hash();
    log_text.bytes[0] = 'X';
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                     TB_E_BATCH_CONFLICT);
    log_text.bytes[0] = 'M';
    put_line(&log_text, 20);
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                     TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(feed_code(log_text.bytes, 200, &options, &report, &err), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(feed_code("", 0, &options, &report, &err), TB_E_BATCH_CONFLICT);
    options.kind = TB_BATCH_BUCKETS;
    make_log(&log_text, 0, 20, 0);
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                     TB_E_BATCH_CONFLICT);
    ck_assert_uint_eq(usage_hash(), usage);
    options.kind = TB_BATCH_LOG;
    options.batch = "two"; /* a name decides alone: the same bytes once more */
    ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &options).accepted, 20);
}
END_TEST

START_TEST(a_named_batch_that_was_cut_short_goes_on)
{
    make_log(&log_text, 0, 30, 0);
    make_log(&other_text, 0, 10, 0);
    put_str(&other_text, "HI");
    feed_options options = plain_options();
    options.batch = "one";
    options.segment_bytes = 600;
    options.block_bytes = 300;
    feed_report report = feed_ok(other_text.bytes, other_text.len, &options);
    ck_assert_uint_eq(report.lines, 10);
    ck_assert_uint_eq(report.waiting_bytes, 2);
    ck_assert(feed_ok(other_text.bytes, other_text.len, &options).nothing_new);
    report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.known_lines, 10);
    ck_assert_uint_eq(report.lines, 20);
    ck_assert(feed_ok(log_text.bytes, log_text.len, &options).nothing_new);
    tb_error err = {0};
    ck_assert_int_eq(feed_pipe(other_text.bytes, other_text.len, &options, &report, &err),
                     TB_E_BATCH_CONFLICT);
    ok(feed_pipe(log_text.bytes, log_text.len, &options, &report, &err));
    ck_assert(report.nothing_new);
}
END_TEST

START_TEST(an_empty_input_is_no_line_and_an_empty_named_one_is_a_batch)
{
    feed_options options = plain_options();
    feed_report report = feed_ok("", 0, &options);
    ck_assert_uint_eq(report.lines, 0);
    ck_assert(!report.nothing_new);
    ck_assert_uint_eq(segments(), 0);
    options.batch = "empty";
    ck_assert(!feed_ok("", 0, &options).nothing_new);
    ck_assert(feed_ok("", 0, &options).nothing_new);
    ck_assert_uint_eq(segments(), 1);
}
END_TEST

/* --- refused lines --- */

START_TEST(stop_ends_at_the_first_refused_line_in_input_order)
{
    make_log(&log_text, 0, 200, 60);
    feed_options options = plain_options();
    options.stop_on_error = true;
    for (unsigned threads = 1; threads <= 3; threads++) {
        feed_report report;
        tb_error err = {0};
        again();
        options.threads = threads;
        options.block_bytes = 250;
        options.segment_bytes = 1500;
        ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                         TB_E_BAD_LINE);
        ck_assert_uint_eq(err.line, 60);
        ck_assert_uint_eq(report.stop_line, 60);
        ck_assert_uint_ge(err.byte, 1);
        ck_assert_uint_lt(report.lines, 60);
        ck_assert_uint_eq(report.rejected, 0);
        ck_assert_uint_eq(count_of("SELECT line FROM reject"), 0);
        uint64_t before = report.lines;
        make_log(&other_text, 0, 200, 0); /* the line is corrected: the run goes on */
        report = feed_ok(other_text.bytes, other_text.len, &options);
        ck_assert_uint_eq(report.known_lines, before);
        ck_assert_uint_eq(report.known_lines + report.accepted, 200);
    }
}
END_TEST

/* By a wrong clock alone: then nothing is recorded, or the right one could not take them. */
START_TEST(lines_that_are_all_too_new_are_no_input)
{
    make_log(&log_text, 0, 40, 0);
    feed_options options = plain_options(), early = options;
    early.layout.now_ms = NOW_MS - 100LL * 24 * 3600000;
    for (int way = 0; way < 4; way++) {
        feed_report report;
        tb_error err = {0};
        again();
        early.segment_bytes = options.segment_bytes = way == 3 ? 900 : 0;
        early.block_bytes = options.block_bytes = way == 3 ? 300 : 0;
        early.take_partial_line = way == 0;
        if (way == 1)
            ck_assert_int_eq(feed_pipe(log_text.bytes, log_text.len, &early, &report, &err),
                             TB_E_BAD_INPUT);
        else
            ck_assert_int_eq(
                feed_code(log_text.bytes, log_text.len - (way % 2 == 0), &early, &report, &err),
                TB_E_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "TOLLBOOK_NOW"));
        ck_assert_ptr_nonnull(strstr(err.message, "very line"));
        ck_assert_ptr_nonnull(strstr(err.message, "-08-"));
        ck_assert_uint_eq(report.lines, 0);
        ck_assert_uint_eq(segments(), 0);
        ck_assert_uint_eq(count_of("SELECT 1 FROM reject"), 0);
        ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &options).accepted, 40);
    }
}
END_TEST

/* A line of a known zone, so many milliseconds after the clock. */
static void put_at(text *to, int64_t after_ms, int number)
{
    char line[200];
    put(to, line, (size_t)snprintf(line, sizeof line, "HIT|200|%lld|100|101|192.0.2.1|-|https://z/%d|DE|agent|-|DE\n",
                                   (long long)(NOW_MS + after_ms), number));
}

#define HOURS_MS(n) ((n)*INT64_C(3600000))

/* What else stands in the piece does not make the clock right: junk, or lines of before. Nothing of it is
 * recorded, and the right clock takes all. */
START_TEST(lines_that_are_too_new_wait_beside_others)
{
    const struct {
        int old, at_limit, too_new, junk; /* lines, in this order */
    } pieces[] = {{0, 0, 5, 1}, {0, 0, 5, 40}, {1, 0, 5, 0}, {5, 0, 6, 0}, {60, 3, 20, 2}, {60, 1, 1, 0}};
    feed_options options = plain_options(), early = options;
    early.layout.now_ms = NOW_MS - HOURS_MS(200);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        feed_report report;
        tb_error err = {0};
        again();
        log_text.len = 0;
        for (int n = 0; n < pieces[i].old; n++)
            put_at(&log_text, -HOURS_MS(300) + n, n);
        for (int n = 0; n < pieces[i].at_limit; n++)
            put_at(&log_text, -HOURS_MS(155) + n, n);
        for (int n = 0; n < pieces[i].too_new; n++)
            put_at(&log_text, n - 100, n);
        for (int n = 0; n < pieces[i].junk; n++)
            put(&log_text, "junk\n", 5);
        ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &early, &report, &err), TB_E_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "more than 48 hours ahead of this machine's clock"));
        ck_assert_uint_eq(segments(), 0);
        ck_assert_uint_eq(count_of("SELECT 1 FROM reject"), 0);
        report = feed_ok(log_text.bytes, log_text.len, &options);
        ck_assert_int_eq((int)report.accepted, pieces[i].old + pieces[i].at_limit + pieces[i].too_new);
        ck_assert_int_eq((int)report.rejected, pieces[i].junk);
    }
}
END_TEST

/* A wrong time among good ones holds nothing, wherever it stands. */
START_TEST(lines_that_are_too_new_among_good_ones_are_refused_alone)
{
    feed_options options = plain_options();
    for (int bad = 0; bad < 3; bad++) {
        log_text.len = 0;
        again();
        for (int n = 0; n < 1000; n++) {
            put_at(&log_text, n - 2000, n);
            if (n % 400 == 150 * bad) put_at(&log_text, HOURS_MS(24 * 365 * 70), n);
        }
        put_at(&log_text, HOURS_MS(24 * 365 * 70), 0); /* it is the last, too */
        feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
        ck_assert_uint_eq(report.accepted, 1000);
        ck_assert_uint_ge(report.rejected, 3);
        ck_assert_int_eq(report.first_reason, TB_REJECT_TOO_NEW);
        ck_assert(feed_ok(log_text.bytes, log_text.len, &options).nothing_new);
    }
}
END_TEST

static void put_junk(text *to, size_t len)
{
    static char junk[TB_LINE_MAX + 100];
    memset(junk, 'x', len);
    junk[len] = '\n';
    put(to, junk, len + 1);
}

/* A log was silent for a day, then all is too new, and that is less than half: time goes on across the limit.
 * Junk tells no time. In blocks for several threads, too, and in parts: a line that is too long ends one. */
START_TEST(lines_that_are_too_new_wait_where_none_is_allowed_behind_them)
{
    const struct {
        int old, too_new, junk, last; /* lines, in this order; junk stands before and behind the new ones, too */
        bool waits;
    } pieces[] = {{60, 20, 1, 0, true}, {600, 2, 0, 0, true}, {600, 300, 2, 0, true},  {60, 1, 2, 0, false},
                  {60, 2, 2, 1, false}, {600, 300, 0, 1, false}, {60, 1, 0, 1, false}};
    feed_options options = plain_options(), early = options;
    early.layout.now_ms = NOW_MS - HOURS_MS(200);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces * 3; i++) {
        feed_report report;
        tb_error err = {0};
        const int way = (int)(i % 3), old = pieces[i / 3].old, too_new = pieces[i / 3].too_new;
        const size_t junk = way == 2 ? TB_LINE_MAX + 99 : 4;
        again();
        early.threads = options.threads = way ? 3 : 1;
        early.block_bytes = options.block_bytes = way == 1 ? 700 : way == 2 ? 5000 : 0;
        log_text.len = 0;
        for (int n = 0; n < old; n++)
            put_at(&log_text, -HOURS_MS(300) + n, n);
        for (int n = 0; n < pieces[i / 3].junk; n++)
            put_junk(&log_text, junk);
        for (int n = 0; n < too_new; n++)
            put_at(&log_text, n - 1000, n);
        for (int n = 0; n < pieces[i / 3].junk; n++)
            put_junk(&log_text, junk);
        for (int n = 0; n < pieces[i / 3].last; n++)
            put_at(&log_text, -HOURS_MS(299) + n, n);
        tb_code code = feed_code(log_text.bytes, log_text.len, &early, &report, &err);
        ck_assert_int_eq(code, pieces[i / 3].waits ? TB_E_BAD_INPUT : TB_OK);
        if (!pieces[i / 3].waits) continue;
        ck_assert_ptr_nonnull(strstr(err.message, "set the clock"));
        ck_assert_uint_eq(segments(), 0);
        report = feed_ok(log_text.bytes, log_text.len, &options);
        ck_assert_int_eq((int)report.accepted, old + too_new);
        ck_assert_int_eq((int)report.rejected, 2 * pieces[i / 3].junk);
    }
}
END_TEST

/* A hostname that nobody has is looked up last: the clock had nothing against its line. */
START_TEST(lines_of_unknown_hosts_tell_the_time_too)
{
    static const char format[] = "nginx:$msec $status $bytes_sent $host";
    feed_options options = plain_options();
    ck_assert_int_eq(
        tb_log_layout_init(&options.layout, &(tb_log_spec){.format = {format, strlen(format)}}, NULL), TB_OK);
    options.layout.now_ms = NOW_MS;
    log_text.len = 0;
    put_str(&log_text, "4100000000.000 200 7 b.example\n");
    for (int n = 0; n < 50; n++)
        put_str(&log_text, "1794950000.000 200 7 b.example\n");
    feed_report report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.rejected, 51);
    tb_log_layout_release(&options.layout);
}
END_TEST

/* After what is known all is too new: the place is said, and what was taken stays. */
START_TEST(lines_that_are_too_new_wait_behind_what_is_known)
{
    feed_options options = plain_options(), early = options;
    feed_report report;
    tb_error err = {0};
    early.layout.now_ms = NOW_MS - HOURS_MS(200);
    log_text.len = 0;
    for (int n = 0; n < 40; n++)
        put_at(&log_text, -HOURS_MS(300) + n, n);
    ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &early).accepted, 40);
    const uint64_t known = segments();
    for (int n = 0; n < 19; n++)
        put_at(&log_text, n - 100, n);
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &early, &report, &err), TB_E_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "from line 41 on"));
    ck_assert_uint_eq(segments(), known);
    ck_assert_uint_eq(feed_ok(log_text.bytes, log_text.len, &options).accepted, 19);
}
END_TEST

START_TEST(refused_lines_keep_their_number_across_segments_and_runs)
{
    make_log(&log_text, 0, 30, 10);
    feed_options options = plain_options();
    options.segment_bytes = 500;
    options.block_bytes = 200;
    feed_ok(log_text.bytes, log_text.len / 2, &options);
    feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(
        count_of(
            "SELECT 1 FROM reject WHERE line IN (10,20,30) AND text=CAST('not a line' AS BLOB)"),
        3);
    ck_assert_uint_eq(count_of("SELECT 1 FROM reject"), 3);
}
END_TEST

/* 6000 long and 6000 short ones in turn: more text than a segment may keep, twice. */
static void write_refused_lines(void)
{
    static char line[2002];
    memset(line, 'x', sizeof line);
    line[2000] = '\n';
    line[2001] = '\n';
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 12000; i++)
        ck_assert_int_eq(write(fd, line, sizeof line), sizeof line);
    close(fd);
}

START_TEST(of_too_many_refused_lines_the_first_of_each_segment_are_kept)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    uint64_t kept = 0;
    for (unsigned threads = one_in(1, 3) == 1 ? 1 : 3; threads <= 3; threads += 2) {
        again();
        write_refused_lines();
        options.threads = threads;
        options.segment_bytes = 12 << 20;
        ok(feed_file(f.store, input, &options, &report, &err));
        ck_assert_uint_eq(report.rejected, 24000);
        ck_assert_uint_eq(segments(), 2);
        ck_assert_uint_eq(count_of("SELECT 1 FROM segment JOIN reject ON segment.id = segment "
                                   "GROUP BY segment.id HAVING min(line) = lines_before + 1 "
                                   "AND max(line) - min(line) + 1 = count(*)"),
                          2);
        ck_assert_uint_lt(count_of("SELECT 1 FROM reject"), 24000);
        const uint64_t hash = reject_hash(NULL);
        ck_assert(!kept || hash == kept);
        kept = hash;
    }
}
END_TEST

/* --- bucket rows --- */

static const char two_rows[] =
    "{\"zone\":101,\"hour\":\"2026-11-17T13:00:00Z\",\"region\":\"DE\",\"requests\":120}\n"
    "{\"zone\":101,\"hour\":\"2026-11-17T14:00:00Z\",\"region\":\"DE\",\"requests\":5}\n";

static feed_options import_options(void)
{
    feed_options options = plain_options();
    options.kind = TB_BATCH_BUCKETS;
    options.whole = options.take_partial_line = options.stop_on_error = true;
    return options;
}

START_TEST(an_import_is_whole_or_nothing)
{
    feed_options options = import_options();
    feed_report report;
    tb_error err = {0};
    options.max_groups = 1;
    options.block_bytes = 100;
    options.segment_bytes = 1;
    log_text.len = 0;
    put_str(&log_text, two_rows);
    put_str(&log_text, "{\"zone\":101,\"hour\":\"2026-11-17T14:00:00Z\",\"colour\":5}\n");
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                     TB_E_BAD_LINE);
    ck_assert_uint_eq(err.line, 3);
    ck_assert_ptr_nonnull(strstr(err.message, "colour"));
    ck_assert_uint_eq(segments(), 0);
    if (!f.plane.client.shards) ck_assert_uint_eq(count_of("SELECT 1 FROM buckets"), 0);
    report = feed_ok(two_rows, sizeof two_rows - 2, &options); /* the last line without its end */
    ck_assert_uint_eq(report.accepted, 2);
    ck_assert_uint_eq(segments(), 1);
    ck_assert(feed_ok(two_rows, sizeof two_rows - 1, &options).nothing_new);
    options.stop_on_error = false;
    options.batch = "x";
    report = feed_ok(log_text.bytes, log_text.len, &options);
    ck_assert_uint_eq(report.accepted, 2);
    ck_assert_uint_eq(report.rejected, 1);
}
END_TEST

/* A CR before the line end is a part of the end, and no byte of the row. */
START_TEST(a_row_as_long_as_may_be_may_end_with_cr_and_lf)
{
    static char row[TB_LINE_MAX + 2];
    feed_options options = import_options();
    memset(row, ' ', sizeof row);
    memcpy(row, two_rows, strcspn(two_rows, "}"));
    memcpy(row + TB_LINE_MAX - 1, "}\r\n", 3);
    ck_assert_uint_eq(feed_ok(row, sizeof row, &options).accepted, 1);
}
END_TEST

START_TEST(a_row_that_overflows_a_counter_is_named)
{
    feed_options options = import_options();
    feed_report report;
    tb_error err = {0};
    log_text.len = 0;
    put_str(&log_text, two_rows);
    for (int i = 0; i < 10; i++)
        put_str(&log_text, "{\"zone\":101,\"hour\":\"2026-11-17T14:00:00Z\",\"region\":\"DE\","
                           "\"bytes\":1000000000000000000}\n");
    options.block_bytes = 90;
    ck_assert_int_eq(feed_code(log_text.bytes, log_text.len, &options, &report, &err),
                     TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 12);
    ck_assert_uint_eq(segments(), 0);
}
END_TEST

/* --- memory --- */

START_TEST(memory_is_fed_inside_the_callers_transaction)
{
    make_log(&log_text, 0, 30, 0);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    ok(feed_memory(f.store, &(feed_body){log_text.bytes, log_text.len - 1, FEED_DETECT, 1 << 20},
                   &options, &report, &err));
    ck_assert_uint_eq(report.accepted, 30);
    tb_store_rollback(f.store);
    ck_assert_uint_eq(segments(), 0);
    ok(tb_store_begin(f.store, &err));
    for (int i = 0; i < 2; i++) {
        options.batch = "one";
        ok(feed_memory(f.store, &(feed_body){log_text.bytes, log_text.len, FEED_PLAIN, 1 << 20},
                       &options, &report, &err));
        ck_assert(report.nothing_new == (i == 1));
        options.batch = NULL;
        ok(feed_memory(f.store, &(feed_body){log_text.bytes, log_text.len, FEED_PLAIN, 1 << 20},
                       &options, &report, &err));
        ck_assert(report.nothing_new); /* without a name the content decides */
    }
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(segments(), 1);
    fixture_verify(&f);
}
END_TEST

START_TEST(memory_that_decompresses_to_more_than_allowed_is_refused)
{
    static char packed[1 << 16];
    make_log(&log_text, 0, 30, 0);
    size_t n = pack_gzip(log_text.bytes, log_text.len, packed, sizeof packed);
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(feed_memory(f.store, &(feed_body){packed, n, FEED_GZIP, log_text.len - 1},
                                 &options, &report, &err),
                     TB_E_TOO_LARGE);
    ck_assert_int_eq(feed_memory(f.store,
                                 &(feed_body){log_text.bytes, log_text.len, FEED_GZIP, 1 << 20},
                                 &options, &report, &err),
                     TB_E_BAD_INPUT);
    ok(feed_memory(f.store, &(feed_body){packed, n, FEED_GZIP, log_text.len}, &options, &report,
                   &err));
    ck_assert_uint_eq(report.accepted, 30);
    tb_store_rollback(f.store);
}
END_TEST

/* --- stopping and failing --- */

static atomic_bool stop;

static void stop_now(void *ctx, const feed_progress *progress)
{
    (void)ctx;
    ck_assert_uint_gt(progress->lines, 0);
    ck_assert_uint_gt(progress->total_read, 0);
    atomic_store(&stop, true);
}

START_TEST(a_stopped_run_keeps_what_it_took_and_goes_on_later)
{
    feed_options options = plain_options();
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (unsigned part = 0; part < 20; part++) {
        make_log(&log_text, part * 6000, part * 6000 + 6000, 0);
        ck_assert_int_eq(write(fd, log_text.bytes, log_text.len), (ssize_t)log_text.len);
    }
    close(fd);
    feed_report report, rest;
    tb_error err = {0};
    atomic_store(&stop, false);
    options.stop = &stop;
    options.progress = stop_now;
    ok(feed_file(f.store, input, &options, &report, &err));
    ck_assert(report.interrupted);
    ck_assert_uint_gt(report.lines, 0);
    ck_assert_uint_lt(report.lines, 120000);
    atomic_store(&stop, false);
    options.progress = NULL;
    ok(feed_file(f.store, input, &options, &rest, &err));
    ck_assert(!rest.interrupted);
    ck_assert_uint_eq(rest.known_lines, report.lines);
    ck_assert_uint_eq(rest.known_lines + rest.lines, 120000);
    fixture_verify(&f);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_an_error)
{
    feed_options options = plain_options();
    feed_report report;
    tb_error err = {0};
    ck_assert_int_eq(feed_file(f.store, "/nonexistent/log", &options, &report, &err),
                     TB_E_BAD_INPUT);
    ck_assert_int_eq(feed_file(f.store, f.folder, &options, &report, &err), TB_E_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed");
    TCase *tc = tcase_create("feed");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    TCase *threads = tcase_create("threads");
    tcase_add_checked_fixture(threads, set_up, tear_down);
    tcase_set_timeout(threads, 120);
    tcase_add_test(threads, any_block_and_segment_size_and_thread_count_give_the_same_store);
    tcase_add_test(tc, a_full_rollup_starts_a_segment);
    tcase_add_test(tc, the_same_file_again_changes_nothing);
    tcase_add_test(tc, a_log_cut_anywhere_and_fed_again_whole_equals_one_clean_run);
    tcase_add_test(threads, a_grown_stream_adds_only_its_new_lines);
    tcase_add_test(tc, an_input_that_only_begins_alike_is_new);
    tcase_add_test(tc, an_earlier_copy_of_a_known_log_is_nothing_new);
    tcase_add_test(tc, a_short_copy_and_one_that_diverges_are_new);
    tcase_add_test(tc, a_log_that_has_grown_by_little_is_no_earlier_copy);
    tcase_add_test(tc, a_named_batch_is_never_an_earlier_copy);
    tcase_add_test(tc, a_log_that_is_known_under_other_options_is_refused);
    tcase_add_test(tc, other_logs_under_other_options_are_new);
    tcase_add_test(tc, logs_that_begin_alike_are_told_apart_by_512_bytes);
    tcase_add_test(tc, of_two_clients_that_know_as_much_one_yields);
    tcase_add_test(tc, of_two_bodies_at_a_time_one_counts);
    tcase_add_test(tc, of_a_fork_no_more_is_said_to_be_known);
    tcase_add_test(tc, looking_under_other_options_has_a_bound);
    tcase_add_test(tc, heads_alone_are_no_log_of_other_options);
    tcase_add_test(tc, a_blank_line_after_a_known_end_is_a_line);
    tcase_add_test(tc, a_known_stream_that_does_not_fit_the_rollup_changes_nothing);
    tcase_add_test(tc, an_unterminated_last_line_of_a_plain_file_waits);
    tcase_add_test(tc, final_takes_an_unterminated_last_line_and_its_end_is_no_line);
    tcase_add_test(tc, streams_and_compressed_files_take_an_unterminated_last_line);
    tcase_add_test(tc, a_refused_last_line_without_end_is_read_anew_once_it_has_grown);
    tcase_add_test(tc, a_live_log_posted_whole_again_and_again_counts_each_line_once);
    tcase_add_test(tc, a_refused_last_line_that_only_gets_its_end_stays_known);
    tcase_add_test(tc, a_line_longer_than_the_limit_is_one_rejected_line);
    tcase_add_test(tc, a_too_long_last_line_without_end_waits_too);
    tcase_add_test(tc, a_too_long_last_line_without_end_that_was_refused_may_grow_too);
    tcase_add_test(tc, gzip_members_and_zstd_frames_one_after_another_are_one_input);
    tcase_add_test(tc, a_grown_compressed_log_adds_only_its_new_lines);
    tcase_add_test(tc, compressed_input_cut_anywhere_is_an_error_that_names_the_byte);
    tcase_add_test(tc, damaged_compressed_input_or_something_after_it_is_an_error);
    tcase_add_test(tc, a_file_that_is_unpacked_elsewhere_is_named_with_the_command);
    tcase_add_test(tc, a_named_batch_names_exactly_its_bytes);
    tcase_add_test(tc, a_named_batch_that_was_cut_short_goes_on);
    tcase_add_test(tc, an_empty_input_is_no_line_and_an_empty_named_one_is_a_batch);
    tcase_add_test(threads, stop_ends_at_the_first_refused_line_in_input_order);
    tcase_add_test(tc, lines_that_are_all_too_new_are_no_input);
    tcase_add_test(tc, lines_that_are_too_new_wait_beside_others);
    tcase_add_test(tc, lines_that_are_too_new_among_good_ones_are_refused_alone);
    tcase_add_test(tc, lines_that_are_too_new_wait_where_none_is_allowed_behind_them);
    tcase_add_test(tc, lines_of_unknown_hosts_tell_the_time_too);
    tcase_add_test(tc, lines_that_are_too_new_wait_behind_what_is_known);
    tcase_add_test(tc, refused_lines_keep_their_number_across_segments_and_runs);
    tcase_add_test(threads, of_too_many_refused_lines_the_first_of_each_segment_are_kept);
    tcase_add_test(tc, an_import_is_whole_or_nothing);
    tcase_add_test(tc, a_row_as_long_as_may_be_may_end_with_cr_and_lf);
    tcase_add_test(tc, a_row_that_overflows_a_counter_is_named);
    tcase_add_test(tc, memory_is_fed_inside_the_callers_transaction);
    tcase_add_test(tc, memory_that_decompresses_to_more_than_allowed_is_refused);
    tcase_add_test(tc, a_stopped_run_keeps_what_it_took_and_goes_on_later);
    tcase_add_test(tc, a_file_that_cannot_be_read_is_an_error);
    if (test_without_threads()) suite_add_tcase(suite, tc);
    suite_add_tcase(suite, threads);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
