/* Compaction against a stand-in for the servers: what goes, when, and who is refused then; how often a month is asked for. tests/http/test_usage_compaction.py
 * asks real ones. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"
#include "tollbook/usageservers.h"
#include "tollbook/retain.h"
#include "tollbook/rollup.h"
#include "unit/usage_writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE    600
#define NOVEMBER ((2026 - 1970) * 12 + 10)

static struct {
    bool folded, dropped, differs, away;
    unsigned asked_hours;
    unsigned inserts, left_over; /* partitions of a fold that failed: there, until they are dropped */
    uint64_t old_hours;          /* rows of account 1 that would go */
    uint64_t twice;              /* rows that something else has sent again */
    char counted[4096];          /* the last statement that adds rows up */
    char written[4096];          /* and the last that writes folded ones */
    size_t counted_len;
    uint64_t owner_rows;         /* that lie there; 0: 10 */
    unsigned owners;             /* that have so many, from 1 on; 0: pull zone 101 alone */
    uint32_t hours;              /* of an owner, each with as many; 0: one */
    unsigned plans, most;        /* statements that ask for owners, and how many owners one answered */
    uint64_t folded_rows;        /* that are written; 0: 10 */
    unsigned spans[16];          /* partitions, in place of those that the others say */
    size_t n_spans;
    uint64_t more;               /* rows more in the first of them once a fold has written */
    long long gone;              /* the generation that was named last before rows went */
    unsigned marks;              /* rows that name it */
    usage_writer writer;
} shard;

static void answer_numbers(tb_buf *to, const uint64_t *list, size_t n)
{
    tb_buf_add(to, list, n * sizeof *list);
}

static void answer_part(tb_buf *to, uint64_t span)
{
    const uint32_t month = 202611;
    tb_buf_add(to, "", 1); /* cell */
    tb_buf_add(to, &month, sizeof month);
    answer_numbers(to, (uint64_t[]){span, 10}, 2);
}

/* A shard with its partitions. */
static void answer_spans(const char *sql, tb_buf *answer)
{
    const char *at = strstr(sql, "DROP PARTITION (202611,");
    size_t n = 0;
    if (strncmp(sql, "SELECT toUInt8(table", 20) == 0)
        for (size_t i = 0; i < shard.n_spans; i++) {
            answer_part(answer, shard.spans[i]);
            uint64_t n_rows = 10;
            if (i == 0 && shard.inserts) n_rows += shard.more;
            if (shard.spans[i] == (unsigned long long)shard.gone) n_rows += shard.marks;
            memcpy(answer->data + answer->len - 8, &n_rows, 8);
        }
    if (strstr(sql, "rowNumberInAllBlocks"))
        shard.spans[shard.n_spans++] = (unsigned)(strtoull(strstr(sql, "toUInt64(") + 9, NULL, 10) >> TB__CH_ID_BITS);
    for (size_t i = 0; at && i < shard.n_spans; i++)
        if (shard.spans[i] != strtoul(at + 23, NULL, 10)) shard.spans[n++] = shard.spans[i];
    if (at) shard.n_spans = n;
    if (strstr(sql, "VALUES(0,0,0,")) shard.marks++, shard.gone = strtoll(strchr(strstr(sql, "VALUES(0,0,0,") + 13, ',') + 1, NULL, 10) >> TB__CH_ID_BITS;
}

static long long after(const char *sql, const char *what, long long otherwise)
{
    const char *at = strstr(sql, what);
    return at ? strtoll(at + strlen(what), NULL, 10) : otherwise;
}

static void answer_owners(const char *sql, tb_buf *answer, uint64_t lying)
{
    unsigned n = 0;
    shard.plans++;
    if (!shard.owners) answer_numbers(answer, (uint64_t[]){101, lying}, 2);
    for (long long owner = 1; owner <= shard.owners; owner++) {
        if (owner < after(sql, "owner>=", 0) || owner > after(sql, "owner<=", INT64_MAX)) continue;
        answer_numbers(answer, (uint64_t[]){(uint64_t)owner, lying}, 2);
        n++;
    }
    if (n > shard.most) shard.most = n;
}

static void answer_hours(tb_buf *answer, uint64_t lying)
{
    const uint32_t first = (uint32_t)tb_month_first_day(NOVEMBER) * 24, n = shard.hours ? shard.hours : 1;
    for (uint32_t hour = first; hour < first + n; hour++) {
        tb_buf_add(answer, &hour, sizeof hour);
        answer_numbers(answer, (uint64_t[]){lying / n}, 1);
    }
}

static tb_code ask(void *ctx, const tb_usage_statement *of, tb_buf *answer, tb_error *err)
{
    const uint32_t month = NOVEMBER;
    const uint64_t lying = shard.owner_rows ? shard.owner_rows : 10, folded = shard.folded_rows ? shard.folded_rows : 10;
    const bool parts = shard.n_spans > 0;
    (void)ctx;
    if (parts) answer_spans(of->sql, answer);
    if (of->len && shard.away) return tb_fail(err, TB_E_AWAY, "usage", "gone");
    if (strncmp(of->sql, "SELECT max(batch) FROM", 22) == 0) answer_numbers(answer, (uint64_t[]){0}, 1);
    if (usage_writer_answers(&shard.writer, of->sql, answer)) return TB_OK;
    if (strstr(of->sql, "max(shard)")) answer_numbers(answer, (uint64_t[]){1, 1}, 2);
    if (strncmp(of->sql, "SELECT toUInt8(table", 20) == 0 && !parts && !shard.dropped) answer_part(answer, 1);
    if (strncmp(of->sql, "SELECT toUInt8(table", 20) == 0 && !parts && shard.folded) answer_part(answer, 2);
    if (strncmp(of->sql, "SELECT toUInt8(table", 20) == 0 && shard.left_over) answer_part(answer, shard.left_over);
    if (strncmp(of->sql, "SELECT toUInt8(bitAnd(scope,4)!=0) AS days", 42) == 0 && shard.old_hours) {
        tb_buf_add(answer, "", 1);
        tb_buf_add(answer, &month, sizeof month);
        answer_numbers(answer, (uint64_t[]){shard.old_hours, 700}, 2);
    }
    if (strncmp(of->sql, "SELECT owner,count() FROM t.cell WHERE scope IN(1,5)", 52) == 0) answer_owners(of->sql, answer, lying);
    if (strstr(of->sql, "intDiv(h,1))")) shard.asked_hours++;
    if (strstr(of->sql, " GROUP BY t ORDER BY t")) answer_hours(answer, lying);
    if (strstr(of->sql, "cityHash64"))
        answer_numbers(answer, (uint64_t[]){folded, shard.differs && strstr(of->sql, "uniqExact"), folded}, 3);
    if (strstr(of->sql, "uniqExact(batch,row)")) answer_numbers(answer, (uint64_t[]){shard.twice}, 1);
    if (strstr(of->sql, "AS era")) shard.counted_len = (size_t)snprintf(shard.counted, sizeof shard.counted, "%s", of->sql);
    if (strstr(of->sql, "rowNumberInAllBlocks")) {
        snprintf(shard.written, sizeof shard.written, "%s", of->sql);
        shard.folded = true;
        shard.inserts++;
    }
    if (strstr(of->sql, "DROP PARTITION (202611,1)")) shard.dropped = true;
    if (strstr(of->sql, "DROP PARTITION") && !strstr(of->sql, "(202611,1)")) shard.left_over = 0;
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask, .remember = 1 << 20};
static char path[] = "/tmp/tollbook-compact-XXXXXX";

static tb_store *open_store(bool write)
{
    tb_store *store = NULL;
    const tb_store_options options = {.write = write, .owner = "test", .usage = &client};
    tb_error err;
    ck_assert_msg(tb_store_open(path, &options, &store, &err) == TB_OK, "%s", err.message);
    return store;
}

static void start(void)
{
    tb_error err;
    memset(&shard, 0, sizeof shard);
    strcpy(path + sizeof path - 7, "XXXXXX");
    close(mkstemp(path));
    unlink(path);
    ck_assert_int_eq(tb_store_create(path, NULL, &err), TB_OK);
}

static void differ(void *ctx, const char *sentence)
{
    (void)ctx;
    ck_abort_msg("%s", sentence);
}

static tb_code look(tb_store *store)
{
    tb__held_sums sums = {.newest_hour = INT64_MIN};
    tb_error err;
    return store->plane.counters->verify(store, &sums, differ, NULL, &err);
}

static tb_code work(tb_store *writer, tb_compaction *c)
{
    tb_error err;
    tb_code code;
    do code = tb_store_compact(writer, c, &err);
    while (!code && c->working);
    return code;
}

START_TEST(who_reads_an_older_snapshot_is_refused_once_it_goes)
{
    tb_error err;
    tb_compaction c = {.rows_min = 10, .now_us = 1000, .grace_us = GRACE};
    start();
    tb_store *writer = open_store(true), *reader = open_store(false);
    ck_assert_int_eq(tb_store_read_begin(reader, &err), TB_OK);
    ck_assert_int_eq(look(reader), TB_OK);
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 1 && c.waiting == 0 && shard.inserts == 1);
    c.now_us += GRACE - 1;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(!shard.dropped);
    ck_assert_int_eq(look(reader), TB_OK);
    c.now_us++;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(shard.dropped);
    ck_assert_int_eq(look(reader), TB_E_AWAY);
    tb_store_read_end(reader);
    ck_assert_int_eq(look(reader), TB_OK);
    ck_assert_int_eq(look(writer), TB_OK);
    ck_assert(c.folded == 1 && shard.inserts == 1);
    tb_store_close(reader);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

START_TEST(what_is_not_what_it_was_made_of_never_counts)
{
    tb_compaction c = {.rows_min = 10};
    start();
    shard.differs = true;
    tb_store *writer = open_store(true);
    ck_assert_int_eq(work(writer, &c), TB_E_CORRUPT);
    ck_assert(c.folded == 0 && !shard.dropped && shard.inserts == 1);
    shard.folded = false;
    shard.differs = false;
    shard.left_over = 2; /* what is there under its id goes, and never waits for anything */
    c.rows_min = 11;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 0 && c.waiting == 10 && c.leaving == 10 && shard.inserts == 1);
    ck_assert(!shard.left_over && !shard.dropped);
    c.rows_min = 0;
    ck_assert_int_eq(tb_store_compact(writer, &c, &(tb_error){0}), TB_OK);
    ck_assert(c.working);
    tb_store_close(writer); /* in the middle */
    unlink(path);
}
END_TEST

/* Others change no answer, and so count no version on. */
START_TEST(a_fold_of_rows_that_lay_there_twice_changes_answers)
{
    for (uint64_t twice = 0; twice <= 3; twice += 3) {
        tb_compaction c = {.rows_min = 10};
        uint64_t before = 0, after = 0;
        int64_t mended = 0, folded = 0;
        char name[40];
        start();
        shard.twice = twice;
        tb_store *writer = open_store(true);
        ck_assert_int_eq(tb_store_version(writer, &before, NULL), TB_OK);
        ck_assert_int_eq(work(writer, &c), TB_OK);
        ck_assert_int_eq(tb_store_version(writer, &after, NULL), TB_OK);
        ck_assert(c.folded == 1 && (after > before) == (twice > 0));
        snprintf(name, sizeof name, "usage_mended_%d", NOVEMBER);
        ck_assert_int_eq(tb__ch_meta(writer, name, 0, &mended, &(tb_error){0}), TB_OK);
        snprintf(name, sizeof name, "usage_month_%d", NOVEMBER);
        ck_assert_int_eq(tb__ch_meta(writer, name, 0, &folded, &(tb_error){0}), TB_OK);
        ck_assert_int_eq(mended, twice ? folded << TB__CH_ID_BITS : 0);
        tb_store_close(writer);
        unlink(path);
    }
}
END_TEST

/* Rows that were sent and not committed are a gap; the fold behind them is none. */
static tb_code add_some(tb_store *store, void *ctx, tb_error *err)
{
    const int64_t day = tb_month_first_day(NOVEMBER) + (ctx ? *(const int64_t *)ctx : 0);
    void *b = NULL;
    tb_grid hours;
    tb_grid_clear(&hours);
    tb_code code = tb_grid_add(&hours, TB_M_REQUESTS, 5, 7, err);
    if (!code) code = store->plane.counters->begin(store, &b, err);
    if (!code) code = store->plane.counters->add(b, &(tb__day_of){1, 101, 1, 0, day}, &hours, err);
    if (!code) code = store->plane.counters->end(b, day * 24 + 5, err);
    store->plane.counters->free(b);
    return code;
}

START_TEST(a_fold_behind_a_batch_that_was_never_committed_counts)
{
    tb_compaction c = {.rows_min = 10};
    long long first = 0, last = 0;
    int64_t folded = 0;
    char month[40];
    start();
    tb_store *writer = open_store(true);
    shard.away = true;
    ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_E_AWAY);
    shard.away = false;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 1);
    ck_assert_int_eq(look(writer), TB_OK);
    snprintf(month, sizeof month, "usage_month_%d", NOVEMBER);
    ck_assert_int_eq(tb__ch_meta(writer, month, 0, &folded, &(tb_error){0}), TB_OK);
    folded <<= TB__CH_ID_BITS;
    const char *at = strstr(shard.counted, " AND batch>");
    ck_assert(at && sscanf(at, " AND batch>%lld AND batch<=%lld", &first, &last) == 2);
    ck_assert_msg(folded > first && folded <= last, "%lld: %lld to %lld", (long long)folded, first, last);
    ck_assert(!strstr(shard.counted, "NOT batch")); /* the gap is below the first */
    tb_store_close(writer);
    unlink(path);
}
END_TEST

/* Each is a gap that stays: a condition for each made statements of megabytes. Tries in a row are one. */
START_TEST(commits_that_fail_make_statements_no_longer_than_a_few_bytes_each)
{
    enum { FAILED = 80 };
    int64_t last = 0;
    start();
    tb_store *writer = open_store(true), *reader = open_store(false);
    ck_assert_int_eq(look(reader), TB_OK);
    const size_t before = shard.counted_len;
    for (int i = 0; i < 2 * FAILED; i++) {
        shard.away = true;
        ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_E_AWAY);
        if (i % 2) continue;
        shard.away = false;
        ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_OK);
    }
    shard.away = false;
    ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_OK);
    ck_assert_uint_eq(tb__ch_of(writer)->n_gaps, 1);
    ck_assert_int_eq(look(reader), TB_OK);
    ck_assert_uint_lt(shard.counted_len, before + 300 + 3 * FAILED);
    ck_assert(strstr(shard.counted, "toUInt32OrZero(substring('0") && !strstr(shard.counted, "NOT batch BETWEEN"));
    ck_assert_int_eq(tb__ch_meta(reader, "usage_batch", 0, &last, &(tb_error){0}), TB_OK);
    ck_assert_int_eq(last >> TB__CH_ID_BITS, 1); /* no partition more */
    tb_store_close(reader);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

/* A fold's grace is its own: with folds that come closer than that, nothing would ever go. */
START_TEST(what_is_old_goes_while_months_are_folded_again)
{
    tb_compaction c = {.rows_min = 10, .now_us = 1000, .grace_us = GRACE};
    int64_t generation[4] = {0};
    char month[40];
    tb_error err;
    start();
    snprintf(month, sizeof month, "usage_month_%d", NOVEMBER);
    shard.n_spans = 1;
    shard.spans[0] = 1;
    tb_store *writer = open_store(true), *reader = open_store(false);
    for (int fold = 1; fold <= 3; fold++) { /* at 1000, 1400, 1800 */
        ck_assert_int_eq(work(writer, &c), TB_OK);
        ck_assert_uint_eq(c.folded, (unsigned)fold);
        ck_assert_int_eq(tb__ch_meta(writer, month, 0, &generation[fold], &err), TB_OK);
        shard.spans[shard.n_spans++] = (unsigned)generation[fold] + 1; /* what comes then */
        if (fold == 2) ck_assert_int_eq(tb_store_read_begin(reader, &err), TB_OK);
        if (fold == 2) ck_assert_int_eq(look(reader), TB_OK);
        c.now_us += 400;
    }
    c.rows_min = 1000;
    c.now_us = 1400 + GRACE; /* 200 behind the third */
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 3 && shard.n_spans == 4);
    for (size_t i = 0; i < shard.n_spans; i++)
        ck_assert_int_ge(shard.spans[i], generation[2]);
    ck_assert_int_eq(shard.gone, generation[2]);
    ck_assert_int_eq(look(reader), TB_OK); /* of the second: nothing of it went */
    c.now_us = 1800 + GRACE;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(shard.n_spans == 2 && shard.gone == generation[3]);
    c.rows_min = 10;
    c.now_us += 1; /* what tells that rows went is none that came again */
    shard.spans[shard.n_spans++] = 1;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 4);
    snprintf(month, sizeof month, "usage_mended_%d", NOVEMBER);
    ck_assert_int_eq(tb__ch_meta(writer, month, 0, &generation[0], &err), TB_OK);
    ck_assert_int_eq(generation[0], 0);
    ck_assert_int_eq(look(reader), TB_E_AWAY);
    tb_store_read_end(reader);
    ck_assert_int_eq(look(reader), TB_OK);
    tb_store_close(reader);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

/* Numbers of rows are 32 bits, and are given to those that are written. */
START_TEST(rows_are_numbered_as_they_are_written)
{
    tb_compaction c = {.rows_min = 10};
    start();
    tb_store *writer = open_store(true);
    shard.owner_rows = UINT64_C(5) << 32;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert_uint_eq(c.folded, 1);
    tb_store_close(writer);
    unlink(path);
    start();
    writer = open_store(true);
    shard.folded_rows = UINT64_C(1) << 32;
    ck_assert_int_eq(work(writer, &c), TB_E_OVERFLOW);
    ck_assert_uint_eq(c.folded, 1);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

/* The steps until a fold is over: what they fold together, and at most. */
static uint64_t fold_all(tb_store *store, tb_compaction *c, uint64_t *ret_most)
{
    uint64_t rows = 0;
    *ret_most = 0;
    do {
        ck_assert_int_eq(tb_store_compact(store, c, &(tb_error){0}), TB_OK);
        rows += c->rows;
        if (c->rows > *ret_most) *ret_most = c->rows;
    } while (!c->folded);
    return rows;
}

START_TEST(a_step_folds_as_many_rows_as_it_may)
{
    static const struct {
        unsigned owners;
        uint64_t rows;
        uint32_t hours;
        uint64_t may, most; /* most: that a step has, then */
    } list[] = {
        {1, 10, 0, 0, 10},
        {40, 10000, 0, 0, 200000},
        {40, 10000, 0, 35000, 30000},
        {40, 10000, 0, 1, 10000},        /* what is planned as one is not divided */
        {3, 700000, 700, 0, 192000},     /* by hours, of which 12 are planned as one */
        {3, 700000, 700, 30000, 28000},
        {3, 700000, 1, 30000, 700000},   /* an hour is not divided */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        tb_compaction c = {.rows_min = 10, .rows_most = list[i].may};
        uint64_t most = 0;
        start();
        shard.owners = list[i].owners;
        shard.owner_rows = list[i].rows;
        shard.hours = list[i].hours;
        tb_store *writer = open_store(true);
        ck_assert_uint_eq(fold_all(writer, &c, &most), list[i].owners * list[i].rows);
        ck_assert_msg(most == list[i].most, "%zu: %llu", i, (unsigned long long)most);
        tb_store_close(writer);
        unlink(path);
    }
}
END_TEST

/* The file knows the even ones. */
START_TEST(a_plan_is_of_some_owners)
{
    for (uint64_t rows = 100; rows <= 100000; rows *= 1000) {
        tb_compaction c = {.rows_min = 10};
        uint64_t most = 0;
        start();
        shard.owners = 3000;
        shard.owner_rows = rows;
        tb_store *writer = open_store(true);
        ck_assert_int_eq(sqlite3_exec(writer->db,
                                      "WITH RECURSIVE n(i) AS(SELECT 2 UNION ALL SELECT i+2 FROM n WHERE i<2990)"
                                      " INSERT INTO series_placed SELECT 1,i,1,i,0 FROM n", NULL, NULL, NULL), SQLITE_OK);
        ck_assert_uint_eq(fold_all(writer, &c, &most), 3000 * rows);
        ck_assert_msg(rows == 100 ? shard.plans == 3 : shard.plans > 50, "%u", shard.plans);
        ck_assert_msg(rows == 100 ? shard.most > 1500 : shard.most == 512, "%u", shard.most);
        tb_store_close(writer);
        unlink(path);
    }
}
END_TEST

/* Behind the span that was looked at: the partition has more rows than when the fold began. */
START_TEST(rows_that_come_again_while_a_month_is_folded_change_answers)
{
    for (uint64_t more = 0; more < 2; more++) {
        tb_compaction c = {.rows_min = 10};
        int64_t mended = 0;
        char name[40];
        start();
        shard.n_spans = 1;
        shard.spans[0] = 1;
        shard.more = more;
        tb_store *writer = open_store(true);
        ck_assert_int_eq(work(writer, &c), TB_OK);
        ck_assert_uint_eq(c.folded, 1);
        snprintf(name, sizeof name, "usage_mended_%d", NOVEMBER);
        ck_assert_int_eq(tb__ch_meta(writer, name, 0, &mended, &(tb_error){0}), TB_OK);
        ck_assert_int_eq(mended > 0, more);
        tb_store_close(writer);
        unlink(path);
    }
}
END_TEST

/* As `verify` asks for days that usage came late to. */
START_TEST(hours_of_a_month_are_asked_for_once)
{
    static const tb_metric metrics[] = {TB_M_REQUESTS, TB_M_BYTES, TB_M_BALANCER_REQUESTS};
    int64_t series = 0;
    tb_error err;
    start();
    tb_store *writer = open_store(true);
    for (int64_t day = 0; day < 5; day++)
        ck_assert_int_eq(tb_store_write(writer, add_some, &day, &err), TB_OK);
    tb_store *reader = open_store(false);
    ck_assert_int_eq(tb__int_of(reader, TB__SQL_SERIES_OF_OWNER_ID, (int64_t[]){1, 101}, 2, 0, &series, &err), TB_OK);
    for (int64_t day = 0; day < 5; day++)
        for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
            uint64_t hours[32];
            const tb_code code =
                reader->plane.counters->hours(reader, series, metrics[i], tb_month_first_day(NOVEMBER) + day, hours, &err);
            ck_assert_msg(!code, "%s", err.message);
        }
    ck_assert_uint_eq(shard.asked_hours, 1);
    tb_store_close(reader);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

static tb_code retain(tb_store *store, void *ctx, tb_error *err)
{
    bool over = false;
    tb_code code = tb_store_retain(store, ctx, &over, err);
    ck_assert(code || over);
    return code;
}

/* A month is due until it was compacted without what goes, and begins once nobody calls for it any more. */
START_TEST(what_was_let_go_of_goes_with_a_fold_of_its_month)
{
    tb_compaction c = {.rows_min = 1000};
    tb_retain_walk walk = {.account = 1, .kept = {NOVEMBER + 1, 0}, .room = 1000};
    uint64_t before = 0, after = 0;
    start();
    tb_store *writer = open_store(true);
    ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_OK);
    shard.old_hours = 12;
    ck_assert_int_eq(tb_store_write(writer, retain, &walk, &(tb_error){0}), TB_OK);
    ck_assert(walk.n == 1 && walk.months[0].month == NOVEMBER && walk.months[0].hour_rows == 12 && walk.later);
    ck_assert_int_eq(tb_store_version(writer, &before, NULL), TB_OK);
    ck_assert_int_eq(tb_store_compact(writer, &c, &(tb_error){0}), TB_OK);
    ck_assert(c.due == 1 && !c.working && !shard.inserts); /* who lets go may not be done yet */
    ck_assert_int_eq(tb_store_write(writer, retain, &walk, &(tb_error){0}), TB_OK);
    ck_assert_int_eq(tb_store_compact(writer, &c, &(tb_error){0}), TB_OK);
    ck_assert(!c.working);
    ck_assert_int_eq(tb_store_compact(writer, &c, &(tb_error){0}), TB_OK);
    ck_assert(c.working && !shard.inserts);
    tb_store_close(writer); /* in the middle: it is still due */
    writer = open_store(true);
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.due == 1 && c.expired == 0);
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.due == 0 && c.expired == 1 && c.folded == 1 && shard.inserts == 1);
    ck_assert_int_eq(tb_store_version(writer, &after, NULL), TB_OK);
    ck_assert(after > before); /* answers are others */
    walk.n = 0; /* nothing came since: nobody is asked */
    walk.later = false;
    ck_assert_int_eq(tb_store_write(writer, retain, &walk, &(tb_error){0}), TB_OK);
    ck_assert(!walk.later && !walk.further && walk.n == 0);
    ck_assert_int_eq(tb_store_write(writer, add_some, NULL, &(tb_error){0}), TB_OK);
    ck_assert_int_eq(tb_store_write(writer, retain, &walk, &(tb_error){0}), TB_OK);
    ck_assert(walk.later && walk.n == 1);
    free(walk.months);
    tb_store_close(writer);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_compact");
    TCase *t = tcase_create("usage_compact");
    tcase_add_test(t, who_reads_an_older_snapshot_is_refused_once_it_goes);
    tcase_add_test(t, what_is_not_what_it_was_made_of_never_counts);
    tcase_add_test(t, a_fold_of_rows_that_lay_there_twice_changes_answers);
    tcase_add_test(t, a_fold_behind_a_batch_that_was_never_committed_counts);
    tcase_add_test(t, commits_that_fail_make_statements_no_longer_than_a_few_bytes_each);
    tcase_add_test(t, what_is_old_goes_while_months_are_folded_again);
    tcase_add_test(t, rows_are_numbered_as_they_are_written);
    tcase_add_test(t, a_step_folds_as_many_rows_as_it_may);
    tcase_add_test(t, a_plan_is_of_some_owners);
    tcase_add_test(t, rows_that_come_again_while_a_month_is_folded_change_answers);
    tcase_add_test(t, hours_of_a_month_are_asked_for_once);
    tcase_add_test(t, what_was_let_go_of_goes_with_a_fold_of_its_month);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
