/* When a follower asks: its time and its chance come in as values. And what a piece says of the
 * segments behind it. */
#include <unistd.h>

#include "follow/log.h"
#include "follow/pace.h"
#include "follow/stream.h"
#include "store_fixture.h"

#include "feed/feed.h"
#include "feed/hash.h"

static fixture f;

static void set_up(void)
{
    fixture_init(&f);
}

static void tear_down(void)
{
    fixture_release(&f);
}

/* --- pace --- */

START_TEST(all_is_due_once_in_every)
{
    pace p = {.every_ms = 2000};
    ck_assert(pace_full(&p, 10000));
    ck_assert(!pace_full(&p, 10001));
    ck_assert(!pace_full(&p, 11999));
    ck_assert(pace_full(&p, 12000));
    ck_assert_int_eq(pace_wait(&p, 12000), PACE_LOOK_MS);
    ck_assert_int_eq(pace_wait(&p, 13900), 100);
}
END_TEST

START_TEST(waits_double_up_to_the_longest)
{
    pace p = {.every_ms = 2000};
    int64_t now = 0, most = PACE_FIRST_MS;
    for (int i = 0; i < 20; i++) {
        ck_assert(pace_free(&p, now));
        pace_failed(&p, now, 0, UINT32_MAX);
        ck_assert(!pace_free(&p, now + most - 2));
        ck_assert(pace_free(&p, now + most));
        now += most;
        if (most * 2 <= PACE_MOST_MS)
            most *= 2;
        else
            most = PACE_MOST_MS;
    }
    pace_done(&p);
    ck_assert(pace_free(&p, now));
    pace_failed(&p, now, 0, UINT32_MAX);
    ck_assert(pace_free(&p, now + PACE_FIRST_MS));
}
END_TEST

START_TEST(chance_spreads_the_waits)
{
    for (uint64_t chance = 0; chance <= UINT32_MAX; chance += UINT32_MAX / 16) {
        pace p = {.every_ms = 2000};
        pace_failed(&p, 0, 0, (uint32_t)chance);
        int64_t expected = PACE_FIRST_MS / 2 + (int64_t)(PACE_FIRST_MS / 2 * chance >> 32);
        ck_assert_int_eq(pace_wait(&p, 0), expected);
    }
}
END_TEST

START_TEST(never_earlier_than_asked_for)
{
    for (int64_t asked = 0; asked <= 120000; asked += 7000) {
        pace p = {.every_ms = 2000};
        pace_failed(&p, 500, asked, 0);
        ck_assert(asked == 0 || !pace_free(&p, 500 + asked - 1));
        ck_assert(pace_free(&p, 500 + asked + PACE_FIRST_MS));
        ck_assert_int_le(pace_wait(&p, 500), 2000);
    }
}
END_TEST

START_TEST(a_clock_that_jumps_costs_one_wait)
{
    pace p = {.every_ms = 2000};
    ck_assert(pace_full(&p, 1000000));
    pace_failed(&p, 1000000, 3000, 0);
    ck_assert(!pace_free(&p, 1000000));
    ck_assert(pace_free(&p, 5000)); /* back: it is further ahead than any wait */
    ck_assert(pace_full(&p, 5000));
    ck_assert(pace_free(&p, 900000000));
    ck_assert(pace_full(&p, 900000000));
}
END_TEST

/* --- pieces that say what is behind them --- */

typedef struct log_text {
    char bytes[4000];
    size_t len;
    tb_hash128 head;
} log_text;

static log_text make_log(int lines)
{
    log_text log = {.len = 0};
    for (int i = 0; i < lines; i++)
        log.len +=
            (size_t)snprintf(log.bytes + log.len, sizeof log.bytes - log.len,
                             "HIT|200|%lld|%d|101|192.0.2.1|-|https://z/x|DE|agent|%032d|DE\n",
                             (long long)(NOW_US / 1000 - 3600000 + i), 100 + i, i);
    log.head = feed_hash_head(0, false, log.bytes, log.len);
    return log;
}

static tb_hash128 hash_of(const log_text *log, size_t len)
{
    feed_hash *hash = feed_hash_new(0);
    feed_hash_add(hash, log->bytes, len);
    tb_hash128 value = feed_hash_value(hash);
    feed_hash_free(hash);
    return value;
}

static size_t line_end(const log_text *log, int lines)
{
    const char *p = log->bytes;
    for (int i = 0; i < lines; i++)
        p = strchr(p, '\n') + 1;
    return (size_t)(p - log->bytes);
}

/* Lines from..to as a piece of which `behind` segments are known to start behind it. */
static tb_code send_piece(const log_text *log, int from, int to, int64_t behind,
                          feed_report *report)
{
    size_t start = line_end(log, from), end = line_end(log, to);
    feed_piece piece = {.start = start,
                        .length = end,
                        .lines_before = (uint64_t)from,
                        .head = log->head,
                        .hash = hash_of(log, end),
                        .known = -1,
                        .behind = behind};
    feed_options options = {.kind = TB_BATCH_LOG,
                            .piece = &piece,
                            .source = "t",
                            .take_partial_line = true,
                            .threads = 1,
                            .now_us = NOW_US,
                            .layout = {.now_ms = NOW_US / 1000}};
    tb_error err;
    ck_assert_int_eq(tb_store_begin(f.store, &err), TB_OK);
    const feed_body body = {log->bytes + start, end - start, FEED_PLAIN, SIZE_MAX};
    tb_code code = feed_memory(f.store, &body, &options, report, &err);
    if (code)
        tb_store_rollback(f.store);
    else
        ck_assert_int_eq(tb_store_commit(f.store, &err), TB_OK);
    return code;
}

START_TEST(a_piece_knows_what_is_behind_it)
{
    feed_report report;
    log_text log = make_log(10);
    ck_assert_int_eq(send_piece(&log, 0, 3, 0, &report), TB_OK);
    ck_assert_uint_eq(report.accepted, 3);
    ck_assert_int_eq(send_piece(&log, 3, 5, 0, &report), TB_OK);
    ck_assert_int_eq(send_piece(&log, 3, 5, 0, &report), TB_OK); /* the same again */
    ck_assert(report.nothing_new);
    /* One whose sender does not know of 3..5, from before it or from the beginning. */
    ck_assert_int_eq(send_piece(&log, 3, 6, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 0, 6, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 0, 6, 1, &report), TB_E_BATCH_CONFLICT);
    /* One that follows nothing. */
    ck_assert_int_eq(send_piece(&log, 6, 7, 0, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 5, 7, 0, &report), TB_OK);
    /* One that knows of all, and sends what they have. */
    ck_assert_int_eq(send_piece(&log, 3, 7, 2, &report), TB_E_BATCH_CONFLICT);
    ck_assert_int_eq(send_piece(&log, 0, 7, 3, &report), TB_E_BATCH_CONFLICT);
    /* One that knows all of it, and is another log from 3 on. */
    ck_assert_int_eq(send_piece(&log, 3, 8, 2, &report), TB_OK);
}
END_TEST

START_TEST(known_from_a_byte_on)
{
    feed_report report;
    tb_error err;
    log_text log = make_log(10);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(send_piece(&log, i, i + 1, 0, &report), TB_OK);
    for (int i = 0; i <= 10; i++) {
        tb_known *list;
        size_t n;
        bool there;
        uint64_t from = line_end(&log, i);
        ck_assert_int_eq(
            tb_store_known_from(f.store, TB_BATCH_LOG, log.head, from, &list, &n, &err), TB_OK);
        ck_assert_uint_eq(n, 10 - (size_t)i);
        if (n) ck_assert_uint_eq(list[0].start, from);
        free(list);
        ck_assert_int_eq(
            tb_store_known_end(f.store, &(tb_input_position){TB_BATCH_LOG, log.head, from, (uint64_t)i}, &there,
                               NULL, &err),
            TB_OK);
        ck_assert(there == (i > 0));
        ck_assert_int_eq(tb_store_known_end(f.store,
                                            &(tb_input_position){TB_BATCH_LOG, log.head, from, (uint64_t)i + 1},
                                            &there, NULL, &err),
                         TB_OK);
        ck_assert(!there);
    }
}
END_TEST

/* --- one log --- */

/* A folder in a log's place, and then a log again: an inode is given to both. */
START_TEST(an_inode_that_becomes_a_file_is_another_log)
{
    const struct stat folder = {.st_dev = 1, .st_ino = 2, .st_mode = S_IFDIR, .st_size = 4096};
    const struct stat file = {.st_dev = 1, .st_ino = 2, .st_mode = S_IFREG, .st_size = 99};
    follow_log *log = follow_log_new("a.log", &folder, 1000);
    ck_assert_ptr_nonnull(log);
    ck_assert_uint_eq(follow_log_lag(log), 0); /* nobody waits for it */
    log->trouble = TB_E_BAD_INPUT;
    log->again_ms = 31000;
    log->fresh = false;
    follow_log_seen(log, &file, 2000, true);
    ck_assert(log->regular);
    ck_assert(log->fresh);
    ck_assert_int_eq(log->trouble, TB_OK);
    ck_assert_int_eq(log->again_ms, 0);
    ck_assert_uint_eq(follow_log_lag(log), 99);
    follow_log_free(log);
}
END_TEST

/* --- a follower of one log, and a sink that does as it is told --- */

#define DAY_MS ((int64_t)24 * 3600 * 1000)

typedef struct told {
    tb_code code;      /* of every piece; TB_OK: it is taken */
    size_t most;       /* longer ones are TB_E_TOO_LARGE; 0: none is */
    bool others;       /* with each question one more segment is known behind the first byte */
    size_t known;      /* so many */
    unsigned pieces;   /* that were taken */
    unsigned asked;    /* pieces and questions */
    uint64_t first;    /* where the last one began */
    size_t longest;    /* of those taken */
    unsigned said;
    follow_held held, held_next; /* what it says of the first proof, and of all others */
    unsigned held_asked;         /* questions about proofs; not among `asked` */
    uint64_t proof_end;          /* of the last of them */
} told;

static tb_code answer_known(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known, tb_error *err)
{
    told *t = ctx;
    (void)head, (void)from, (void)err;
    t->asked++;
    if (t->others) t->known++;
    ret_known->list = calloc(t->known + 1, sizeof *ret_known->list);
    ck_assert_ptr_nonnull(ret_known->list);
    for (; ret_known->n < t->known; ret_known->n++)
        ret_known->list[ret_known->n] = (tb_known){.start = 1 << 20, .length = (1 << 20) + 1 + ret_known->n};
    return TB_OK;
}

static tb_code answer_piece(void *ctx, const feed_piece *piece, const follow_body *body, feed_report *ret_report,
                            tb_error *err)
{
    told *t = ctx;
    *ret_report = (feed_report){.lines = 1, .accepted = 1};
    t->asked++;
    t->first = piece->start;
    if (t->most && body->len > t->most) return tb_fail(err, TB_E_TOO_LARGE, NULL, NULL);
    if (t->code) return tb_fail(err, t->code, NULL, NULL);
    t->pieces++;
    if (body->len > t->longest) t->longest = body->len;
    return TB_OK;
}

static int64_t answer_wait(void *ctx)
{
    (void)ctx;
    return 0;
}

static tb_code answer_held(void *ctx, const follow_proof *proof, follow_held *ret_held, tb_error *err)
{
    told *t = ctx;
    t->proof_end = proof->length;
    t->held_asked++;
    if (t->code == TB_E_IO) return tb_fail(err, t->code, NULL, NULL);
    *ret_held = t->held;
    t->held = t->held_next;
    return TB_OK;
}

static void hear(void *ctx, const char *path, const char *sentence)
{
    told *t = ctx;
    (void)path, (void)sentence;
    t->said++;
}

static uint32_t no_chance(void *ctx)
{
    (void)ctx;
    return 0;
}

static char log_path[300];
static char *log_names[] = {log_path};

typedef tb_code asked_known(void *, tb_hash128, uint64_t, follow_known *, tb_error *);
typedef tb_code asked_held(void *, const follow_proof *, follow_held *, tb_error *);

static follow *follow_with(told *t, asked_known *knows, asked_held *holds)
{
    const follow_sink sink = {t, knows, answer_piece, answer_wait, holds};
    const follow_options options = {.names = log_names,
                                    .n_names = 1,
                                    .every_ms = 1000,
                                    .bytes = 1 << 20,
                                    .descriptors = 10,
                                    .say = hear,
                                    .chance = no_chance,
                                    .ctx = t};
    const char *folder = getenv("TMPDIR");
    snprintf(log_path, sizeof log_path, "%s/follow-%d.log", folder ? folder : "/tmp", (int)getpid());
    (void)unlink(log_path);
    follow *one = follow_new(&options, &sink);
    ck_assert_ptr_nonnull(one);
    return one;
}

static follow *follow_one(told *t)
{
    return follow_with(t, answer_known, NULL);
}

static void add_to_log(size_t lines, size_t len)
{
    FILE *file = fopen(log_path, "ab");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < lines; i++)
        fprintf(file, "%0*zu\n", (int)len - 1, i);
    ck_assert_int_eq(fclose(file), 0);
}

static void round_at(follow *one, int64_t now_ms)
{
    tb_error err;
    int64_t wait;
    ck_assert_int_eq(follow_round(one, now_ms, &wait, &err), TB_OK);
}

static int64_t figure(follow *one, const char *name)
{
    tb_buf text;
    tb_buf_init(&text, 1 << 20, NULL);
    follow_metrics(one, 0, 0, &text);
    tb_buf_add(&text, "", 1);
    const char *at = strstr(text.data, name);
    ck_assert_ptr_nonnull(at);
    const int64_t value = strtoll(at + strlen(name), NULL, 10);
    tb_buf_release(&text);
    return value;
}

/* A log without a name that is refused: what was withdrawn is let go like one that is done, the rest a day later. */
START_TEST(a_deleted_log_that_is_refused_is_let_go)
{
    static const struct {
        tb_code code;
        int64_t after_ms;
    } all[] = {{TB_E_WITHDRAWAL, 60000}, {TB_E_BAD_INPUT, DAY_MS}, {TB_E_OVERFLOW, DAY_MS}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        told t = {.code = TB_OK};
        follow *one = follow_one(&t);
        add_to_log(3, 100);
        round_at(one, 1000);
        ck_assert_uint_eq(t.pieces, 1);
        add_to_log(3, 100);
        t.code = all[i].code;
        round_at(one, 3000);
        ck_assert(follow_troubled(one));
        ck_assert_int_eq(unlink(log_path), 0);
        round_at(one, 5000);
        round_at(one, 3000 + all[i].after_ms - 1000);
        ck_assert_int_eq(figure(one, "\ntollbook_follow_open_logs "), 1);
        ck_assert_int_eq(figure(one, "\ntollbook_follow_gone_lag_bytes "), 300);
        round_at(one, 5000 + all[i].after_ms);
        ck_assert_int_eq(figure(one, "\ntollbook_follow_open_logs "), 0);
        ck_assert_uint_eq(follow_sums(one).lost_logs, all[i].code != TB_E_WITHDRAWAL);
        follow_free(one);
    }
}
END_TEST

/* But not one that is refused for the first time long after it was deleted, nor while the sink is away. */
START_TEST(a_deleted_log_waits_for_its_sink)
{
    told t = {.code = TB_E_IO};
    follow *one = follow_one(&t);
    add_to_log(3, 100);
    round_at(one, 1000);
    ck_assert_int_eq(unlink(log_path), 0);
    for (int day = 1; day < 5; day++)
        round_at(one, day * DAY_MS);
    t.code = TB_E_BAD_INPUT;
    round_at(one, 5 * DAY_MS);
    ck_assert_int_eq(figure(one, "\ntollbook_follow_open_logs "), 1);
    t.code = TB_OK;
    round_at(one, 5 * DAY_MS + 40000);
    ck_assert_uint_eq(t.pieces, 1);
    ck_assert_uint_eq(follow_sums(one).lost_logs, 0);
    follow_free(one);
}
END_TEST

START_TEST(pieces_grow_again_after_a_limit_is_gone)
{
    told t = {.most = 600 << 10};
    follow *one = follow_one(&t);
    add_to_log(320, 100 << 10);
    round_at(one, 1000);
    ck_assert_uint_gt(t.pieces, 40);
    ck_assert_uint_le(t.longest, 600 << 10);
    t.most = 0;
    for (int i = 2; i < 12 && t.longest <= 900 << 10; i++) {
        add_to_log(320, 100 << 10);
        round_at(one, 2000 * i);
    }
    ck_assert_uint_gt(t.longest, 900 << 10);
    ck_assert_uint_eq(t.said, 0);
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

START_TEST(parts_of_a_stream_grow_again_after_a_limit_is_gone)
{
    static char text[1 << 20];
    tb_error err;
    feed_report report;
    told t = {.most = 300 << 10};
    const follow_sink sink = {&t, answer_known, answer_piece, answer_wait, NULL};
    const tb_log_layout layout = {.now_ms = NOW_US / 1000};
    follow_stream *stream = follow_stream_new(&sink, &layout, false);
    ck_assert_ptr_nonnull(stream);
    memset(text, 'x', sizeof text);
    for (size_t at = 99; at < sizeof text; at += 100)
        text[at] = '\n';
    for (int i = 0; i < 60 && t.longest <= 300 << 10; i++) {
        ck_assert_int_eq(follow_stream_add(stream, text, sizeof text / 100 * 100, &err), TB_OK);
        ck_assert_int_eq(follow_stream_ship(stream, FOLLOW_STREAM_NOW, &report, &err), TB_OK);
        ck_assert_uint_eq(follow_stream_pending(stream), 0);
        if (i == 0) ck_assert_uint_gt(t.pieces, 3);
        t.most = 0;
    }
    ck_assert_uint_gt(t.longest, 300 << 10);
    follow_stream_free(stream);
}
END_TEST

START_TEST(a_line_of_a_stream_waits_for_its_end)
{
    tb_error err;
    feed_report report;
    told t = {.most = 0};
    const follow_sink sink = {&t, answer_known, answer_piece, answer_wait, NULL};
    const tb_log_layout layout = {.now_ms = NOW_US / 1000};
    follow_stream *stream = follow_stream_new(&sink, &layout, false);
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(follow_stream_add(stream, "one\ntw", 6, &err), TB_OK);
    ck_assert_uint_eq(follow_stream_pending(stream), 4);
    ck_assert_int_eq(follow_stream_ship(stream, FOLLOW_STREAM_NOW, &report, &err), TB_OK);
    ck_assert_uint_eq(t.longest, 4);
    ck_assert_uint_eq(follow_stream_pending(stream), 0);
    ck_assert_int_eq(follow_stream_add(stream, "o\nthree", 7, &err), TB_OK);
    ck_assert_uint_eq(follow_stream_pending(stream), 4);
    ck_assert_int_eq(follow_stream_ship(stream, FOLLOW_STREAM_NOW, &report, &err), TB_OK);
    ck_assert_uint_eq(t.first, 4);
    ck_assert_int_eq(follow_stream_ship(stream, FOLLOW_STREAM_NOW, &report, &err), TB_OK);
    ck_assert_uint_eq(t.pieces, 2);
    ck_assert_int_eq(follow_stream_ship(stream, FOLLOW_STREAM_END, &report, &err), TB_OK);
    ck_assert_uint_eq(t.pieces, 3);
    ck_assert_uint_eq(t.first, 8);
    ck_assert_uint_eq(t.longest, 5);
    follow_stream_free(stream);
}
END_TEST

/* A sink that refuses for ever what it took: the log is begun anew once, and then every half a minute. */
START_TEST(a_sink_that_forgets_for_ever_is_not_asked_without_end)
{
    told t = {.code = TB_OK};
    follow *one = follow_one(&t);
    add_to_log(3, 100);
    round_at(one, 1000);
    add_to_log(3, 100);
    t.code = TB_E_BATCH_CONFLICT;
    t.said = t.asked = 0;
    round_at(one, 3000);
    ck_assert_uint_eq(t.first, 0); /* it was begun anew */
    ck_assert_uint_le(t.asked, 10);
    ck_assert_uint_eq(t.said, 1);
    ck_assert(follow_troubled(one));
    const unsigned asked = t.asked;
    for (int64_t now = 5000; now < 33000; now += 1000)
        round_at(one, now);
    ck_assert_uint_eq(t.asked, asked);
    t.code = TB_OK;
    round_at(one, 34000);
    ck_assert_uint_eq(t.pieces, 2);
    ck_assert_uint_eq(t.first, 0);
    ck_assert(!follow_troubled(one));
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

/* While others send parts of the log, more is known each time: nothing was forgotten, and a later round goes on. */
START_TEST(others_that_send_are_no_sink_that_forgets)
{
    told t = {.code = TB_OK};
    follow *one = follow_one(&t);
    add_to_log(3, 100);
    round_at(one, 1000);
    add_to_log(3, 100);
    t.code = TB_E_BATCH_CONFLICT;
    t.others = true;
    round_at(one, 3000);
    ck_assert_uint_eq(t.said, 0);
    ck_assert_uint_eq(t.first, 300);
    ck_assert(!follow_troubled(one));
    ck_assert(!follow_caught_up(one));
    t.code = TB_OK;
    round_at(one, 5000);
    ck_assert_uint_eq(t.pieces, 2);
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

/* All of the log, from this byte on, as somebody else's segment. */
static tb_known all_from(uint64_t from)
{
    char bytes[2000];
    FILE *file = fopen(log_path, "rb");
    feed_hash *hash = feed_hash_new(feed_hash_seed(TB_BATCH_LOG, &(tb_log_layout){0}));
    ck_assert_ptr_nonnull(file);
    const size_t len = fread(bytes, 1, sizeof bytes, file);
    ck_assert_int_eq(fclose(file), 0);
    feed_hash_add(hash, bytes, len);
    const tb_known known = {.start = from, .length = len, .lines = len / 100, .accepted = (len - from) / 100,
                            .hash = feed_hash_value(hash), .kind = TB_BATCH_LOG};
    feed_hash_free(hash);
    return known;
}

/* While the question is under way the log grows by four lines, which another sender takes. */
static tb_code answer_overtaken(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known, tb_error *err)
{
    told *t = ctx;
    (void)head, (void)err;
    t->asked++;
    t->code = TB_OK;
    add_to_log(4, 100);
    ret_known->list = calloc(1, sizeof *ret_known->list);
    ck_assert_ptr_nonnull(ret_known->list);
    ret_known->list[ret_known->n++] = all_from(from);
    return TB_OK;
}

/* What another sender took is passed over, though the log was shorter when it was opened. */
START_TEST(what_others_took_meanwhile_is_passed_over)
{
    told t = {.code = TB_OK};
    follow *one = follow_with(&t, answer_overtaken, NULL);
    add_to_log(3, 100);
    round_at(one, 1000);
    ck_assert(follow_caught_up(one));
    add_to_log(3, 100);
    t.code = TB_E_BATCH_CONFLICT; /* of the piece; then it asks */
    round_at(one, 3000);
    ck_assert_uint_eq(t.first, 700);
    ck_assert(follow_caught_up(one));
    ck_assert_uint_eq(t.pieces, 0);
    add_to_log(1, 100);
    round_at(one, 5000);
    ck_assert_uint_eq(t.pieces, 1);
    ck_assert_uint_eq(t.first, 1400);
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

/* --- a sink that was restored from a backup --- */

START_TEST(what_was_taken_last_is_asked_for)
{
    told t = {.code = TB_OK};
    follow *one = follow_with(&t, answer_known, answer_held);
    add_to_log(3, 100);
    round_at(one, 1000);
    ck_assert_uint_eq(t.pieces, 1);
    for (int64_t now = 2000; now < 11000; now += 1000)
        round_at(one, now);
    ck_assert_uint_eq(t.held_asked, 0); /* it was there a moment ago */
    round_at(one, 11000);
    ck_assert_uint_eq(t.held_asked, 1);
    ck_assert_uint_eq(t.proof_end, 300);
    add_to_log(1, 100);
    t.code = TB_E_IO;
    round_at(one, 20000);
    round_at(one, 20100); /* nobody is asked so soon */
    ck_assert_uint_eq(t.held_asked, 1);
    round_at(one, 22000); /* after a failure it comes before what is new */
    ck_assert_uint_eq(t.held_asked, 2);
    ck_assert_uint_eq(t.asked, 3);
    t.code = TB_OK;
    round_at(one, 30000);
    ck_assert_uint_eq(t.held_asked, 3);
    ck_assert_uint_eq(t.pieces, 2);
    ck_assert_uint_eq(t.first, 300);
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

#define LOGS 200 /* more than are asked about in a round */

static void make_logs(const char *folder, bool gone)
{
    for (int i = 0; i < LOGS; i++) {
        snprintf(log_path, sizeof log_path, "%s/follow-%d-%03d.log", folder, (int)getpid(), i);
        if (gone) ck_assert_int_eq(unlink(log_path), 0);
        else add_to_log(3, 100);
    }
}

/* All logs are asked about, some a round and behind what is new; those that it lacks are sent again, once. */
START_TEST(all_logs_are_asked_about_when_the_sink_lacks_something)
{
    static const struct {
        follow_held held;
        unsigned again;
    } all[] = {{FOLLOW_LACKED, LOGS}, {FOLLOW_HELD, 0}, {FOLLOW_LEFT, 0}};
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        told t = {.held_next = all[i].held};
        follow *one = follow_with(&t, answer_known, answer_held);
        make_logs(folder, false);
        snprintf(log_path, sizeof log_path, "%s/follow-%d-*.log", folder, (int)getpid());
        for (int64_t now = 1000; now < 8000; now += 1000)
            round_at(one, now);
        ck_assert_uint_eq(t.pieces, LOGS);
        t.held = FOLLOW_LACKED;
        snprintf(log_path, sizeof log_path, "%s/follow-%d-100.log", folder, (int)getpid());
        add_to_log(1, 100); /* behind what the sink has, which this one takes */
        snprintf(log_path, sizeof log_path, "%s/follow-%d-*.log", folder, (int)getpid());
        round_at(one, 20000);
        ck_assert_uint_eq(t.pieces, LOGS + 1);
        ck_assert_uint_eq(t.first, 300);
        ck_assert_uint_le(t.held_asked, 65);
        for (int64_t now = 20250; now < 28000; now += 250)
            round_at(one, now);
        ck_assert_uint_eq(t.held_asked, 1 + LOGS);
        ck_assert_uint_eq(t.pieces, LOGS + 1 + all[i].again);
        ck_assert_uint_eq(t.said, all[i].again > 0);
        ck_assert(follow_caught_up(one));
        ck_assert_int_eq(follow_sums(one).troubles, 0);
        follow_free(one);
        make_logs(folder, true);
    }
}
END_TEST

/* Two servers behind one name lack something again and again: all logs are asked about every ten minutes. */
START_TEST(a_sink_that_always_lacks_something_is_not_asked_without_end)
{
    told t = {.held = FOLLOW_LACKED, .held_next = FOLLOW_LACKED};
    follow *one = follow_with(&t, answer_known, answer_held);
    add_to_log(3, 100);
    for (int64_t now = 1000; now < 600000; now += 1000)
        round_at(one, now);
    ck_assert_uint_eq(t.pieces, 2);
    ck_assert_uint_lt(t.held_asked, 70);
    for (int64_t now = 600000; now < 1000000; now += 1000)
        round_at(one, now);
    ck_assert_uint_eq(t.pieces, 3);
    ck_assert_int_eq(unlink(log_path), 0);
    follow_free(one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("follow");
    TCase *paced = tcase_create("pace"), *pieces = tcase_create("pieces"),
          *logs = tcase_create("logs");
    tcase_add_test(paced, all_is_due_once_in_every);
    tcase_add_test(paced, waits_double_up_to_the_longest);
    tcase_add_test(paced, chance_spreads_the_waits);
    tcase_add_test(paced, never_earlier_than_asked_for);
    tcase_add_test(paced, a_clock_that_jumps_costs_one_wait);
    tcase_add_test(logs, an_inode_that_becomes_a_file_is_another_log);
    tcase_add_test(logs, a_deleted_log_that_is_refused_is_let_go);
    tcase_add_test(logs, a_deleted_log_waits_for_its_sink);
    tcase_add_test(logs, pieces_grow_again_after_a_limit_is_gone);
    tcase_add_test(logs, parts_of_a_stream_grow_again_after_a_limit_is_gone);
    tcase_add_test(logs, a_line_of_a_stream_waits_for_its_end);
    tcase_add_test(logs, a_sink_that_forgets_for_ever_is_not_asked_without_end);
    tcase_add_test(logs, others_that_send_are_no_sink_that_forgets);
    tcase_add_test(logs, what_others_took_meanwhile_is_passed_over);
    tcase_add_test(logs, what_was_taken_last_is_asked_for);
    tcase_add_test(logs, all_logs_are_asked_about_when_the_sink_lacks_something);
    tcase_add_test(logs, a_sink_that_always_lacks_something_is_not_asked_without_end);
    tcase_add_checked_fixture(pieces, set_up, tear_down);
    tcase_add_test(pieces, a_piece_knows_what_is_behind_it);
    tcase_add_test(pieces, known_from_a_byte_on);
    suite_add_tcase(suite, paced);
    suite_add_tcase(suite, pieces);
    suite_add_tcase(suite, logs);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
