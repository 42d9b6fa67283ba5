/* Compaction against a stand-in for the servers: what goes, when, and who is refused then. tests/http/test_usage_compaction.py
 * asks real ones. */
#include "store/core/internal.h"
#include "tollbook/compaction.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE 600

static struct {
    bool folded, dropped, differs;
    unsigned inserts;
} shard;

static void answer_numbers(tb_buf *to, const uint64_t *list, size_t n)
{
    tb_buf_add(to, list, n * sizeof *list);
}

static void answer_part(tb_buf *to, uint64_t span)
{
    const uint32_t month = 202611;
    tb_buf_add(to, &month, sizeof month);
    answer_numbers(to, (uint64_t[]){span, 10}, 2);
}

static tb_code ask(void *ctx, size_t number, const char *sql, const void *body, size_t len, tb_buf *answer, tb_error *err)
{
    const uint8_t scope = 1;
    (void)ctx, (void)number, (void)body, (void)len, (void)err;
    if (strstr(sql, "max(batch) FROM") && !strstr(sql, "scope=0")) answer_numbers(answer, (uint64_t[]){0}, 1);
    if (strstr(sql, "max(shard)")) answer_numbers(answer, (uint64_t[]){1, 1}, 2);
    if (strstr(sql, "system.parts") && !shard.dropped) answer_part(answer, 1);
    if (strstr(sql, "system.parts") && shard.folded) answer_part(answer, 2);
    if (strncmp(sql, "SELECT scope,owner,count()", 26) == 0) {
        tb_buf_add(answer, &scope, 1);
        answer_numbers(answer, (uint64_t[]){101, 10}, 2);
    }
    if (strstr(sql, "cityHash64")) answer_numbers(answer, (uint64_t[]){10, shard.differs && strstr(sql, "uniqExact"), 10}, 3);
    if (strstr(sql, "rowNumberInAllBlocks")) {
        shard.folded = true;
        shard.inserts++;
    }
    if (strstr(sql, "DROP PARTITION (202611,1)")) shard.dropped = true;
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask};
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
    shard.folded = false; /* what is there under its id goes with a later one */
    shard.differs = false;
    c.rows_min = 11;
    ck_assert_int_eq(work(writer, &c), TB_OK);
    ck_assert(c.folded == 0 && c.waiting == 10 && shard.inserts == 1);
    c.rows_min = 0;
    ck_assert_int_eq(tb_store_compact(writer, &c, &(tb_error){0}), TB_OK);
    ck_assert(c.working);
    tb_store_close(writer); /* in the middle */
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_compact");
    TCase *t = tcase_create("usage_compact");
    tcase_add_test(t, who_reads_an_older_snapshot_is_refused_once_it_goes);
    tcase_add_test(t, what_is_not_what_it_was_made_of_never_counts);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
