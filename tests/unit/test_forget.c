/* Forgetting a customer: no byte of a name is left, and every figure is. */
#include "retain_fixture.h"

#include "logs/directory.h"
#include "store/logs/log_run.h"
#include "tollbook/containerstore.h"
#include "tollbook/retain.h"
#include "tollbook/logstore.h"
#include "tollbook/requestlog.h"

#define RED "\"id\":1,\"name\":\"Zephyrine Quux\",\"currency\":\"USD\",\"discounts\":{\"EUUSDiscount\":5}"
#define SETTINGS                                                                                   \
    "{\"Enabled\":true,\"PriceOverride\":\"0.0070\",\"EUUSDiscount\":10,\"OriginUrl\":"              \
    "\"https://origin.xylophia.example\",\"AllowedReferrers\":[\"xylophia.example\"]%s}"

/* What of the parties is declared: nothing while a month is made final, since its invoice keeps them. */
static const char *parties = "";
#define PARTIES                                                                                    \
    ",\"buyer\":{\"name\":\"Zephyrine SA\",\"country\":\"FR\",\"street\":\"1 rue Quux\","        \
    "\"contact\":{\"email\":\"z@xylophia.example\"}},\"labels\":{\"owner\":\"xylophia\"}"

static void apply(fixture *f, bool there, const char *more)
{
    char settings[400], text[2400];
    snprintf(settings, sizeof settings, SETTINGS, more);
    snprintf(text, sizeof text,
             "{\"accounts\":[%s%s%s%s{\"id\":2,\"name\":\"Obsidiana\"}],\"zones\":[%s%s%s{\"id\":201,\"account\":2,"
             "\"name\":\"obsidiana-live\",\"hostnames\":[\"live.obsidiana.example\"]}]%s}",
             there ? "{" RED : "", there ? parties : "", there ? "}" : "", there ? "," : "",
             there ? "{\"id\":101,\"labels\":{\"owner\":\"xylophia\"},\"account\":1,\"name\":\"xylophia-video\",\"created\":"
                     "\"2026-01-01T00:00:00Z\",\"hostnames\":[\"cdn.xylophia.example\"],\"settings\":"
                   : "",
             there ? settings : "", there ? "}," : "",
             there ? ",\"shield_zones\":[{\"id\":5,\"account\":1,\"name\":\"xylophia-shield\"}],"
                     "\"container_apps\":[{\"id\":\"shop\",\"account\":1,\"name\":\"xylophia-shop\"}]"
                   : "");
    fixture_apply(f, text, NOW_US, NULL);
}

static void refuse(fixture *f, uint64_t number, const char *reason, const char *text)
{
    tb_error err = {0};
    const tb_refused line = {.line = 1, .byte = 1, .reason = reason, .text = text, .len = strlen(text)};
    tb_segment segment = {.kind = TB_BATCH_LOG, .source = "x", .length = 9, .hash = {number, 7},
                          .head = {number, 8}, .rejected = 1, .final = true, .now_us = NOW_US};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_reject(f->store, &line, &err));
    ok(tb_store_add_segment(f->store, &segment, NULL, &err));
    ok(tb_store_commit(f->store, &err));
}

/* What a hook of the operator's printed. */
static void deploy(fixture *f)
{
    static const char output[] = "pulls images.xylophia.example for Zephyrine\n";
    tb_error err = {0};
    tb_deployment one;
    size_t n = 0;
    const tb_deployment_end end = {.succeeded = true};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_deploy(f->store, 1, (tb_text){"shop", 4}, false, NOW_US, &err));
    ok(tb_store_deployments(f->store, &one, 1, &n, &err));
    ck_assert_uint_eq(n, 1);
    ok(tb_store_deployed(f->store, &one, &end, (tb_text){output, sizeof output - 1}, NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

static void make_key(fixture *f)
{
    tb_error err = {0};
    tb_key key = {.account = 1, .roles = 1, .created_us = NOW_US, .revoked_us = INT64_MAX, .name = "Zephyrine's reports"};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_key_add(f->store, &key, &err));
    ok(tb_store_commit(f->store, &err));
}

static void fill(fixture *f)
{
    fixture_init(f);
    parties = "";
    apply(f, true, "");
    apply(f, true, ",\"OriginHostHeader\":\"old.xylophia.example\""); /* history has more */
    retain_book(f, "a", "2023-01-01T00:00:00Z");
    add_bytes(f, 101, "DE", at(10, 4, 0), UINT64_C(123000000000));
    add_bytes(f, 201, "DE", at(10, 4, 0), UINT64_C(45000000000));
    fixture_fold(f);
    finalize_months(f, OCTOBER, OCTOBER, "");
    parties = PARTIES;
    apply(f, true, "");
    add_bytes(f, 101, "DE", at(11, 4, 0), UINT64_C(7000000000)); /* not final */
    deploy(f);
    make_key(f);
    refuse(f, 71, "host cdn.xylophia.example is unknown", "GET cdn.xylophia.example");
    refuse(f, 72, "too short", "Zephyrine Quux");
}

/* How often a text is in the file and its WAL. */
static size_t found(const fixture *f, const char *text)
{
    static const char *const suffix[] = {"", "-wal"};
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", f->path, suffix[i]);
        FILE *file = fopen(name, "rb");
        if (!file) continue;
        ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
        size_t len = (size_t)ftell(file);
        rewind(file);
        char *bytes = malloc(len + 1);
        ck_assert_ptr_nonnull(bytes);
        ck_assert_uint_eq(fread(bytes, 1, len, file), len);
        for (char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), text, strlen(text))); at++)
            n++;
        free(bytes);
        fclose(file);
    }
    return n;
}

static const char *const names[] = {"Zephyrine", "Quux", "xylophia"};

START_TEST(no_byte_of_a_name_is_left)
{
    fixture f;
    fill(&f);
    source before = input_of(&f, 1, OCTOBER);
    const tb_i128 bytes = bytes_in(&before);
    source_release(&before);
    ck_assert_int_eq(run_calls(&f, "forget account=1", 9).code, TB_E_NOT_DELETED);
    ck_assert_int_eq(run_calls(&f, "forget account=9", 9).code, TB_E_NOT_FOUND);
    apply(&f, false, "");
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(found(&f, names[i]) > 0, "%s", names[i]);

    const int64_t audits = number(&f, "SELECT count(*) FROM audit");
    said dry = run_words(&f, "forget account=1 dry-run");
    ck_assert_ptr_nonnull(strstr(dry.said, "would be forgotten: 7 rows of the catalogue"));
    ck_assert_ptr_nonnull(strstr(dry.said, "2 refused lines. Nothing changed."));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit"), audits);
    said done = run_words(&f, "forget account=1");
    ck_assert_ptr_nonnull(strstr(done.said, "Account 1 is forgotten: 7 rows of the catalogue"));
    tb_store_scrub(f.store);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(found(&f, names[i]) == 0, "%s", names[i]);
    ck_assert_uint_gt(found(&f, "obsidiana"), 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='forget'"), 1);

    verify_all(&f, NULL); /* invoices rated again: prices and discounts stayed */
    source after = input_of(&f, 1, OCTOBER);
    ck_assert(bytes_in(&after) == bytes);
    source_release(&after);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM zone WHERE id=101 AND name='forgotten' AND"
                                " settings->'$.PriceOverride' IS NOT NULL AND"
                                " document->>'$.settings.PriceOverride'='0.0070'"), 1);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1").said, "nothing left to forget"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='forget'"), 1);
    finalize_months(&f, OCTOBER, OCTOBER, "");
    fixture_release(&f);
}
END_TEST

/* Named again, it comes back with what is said then, and is forgotten again. */
START_TEST(a_customer_may_come_back)
{
    fixture f;
    fill(&f);
    apply(&f, false, "");
    run_words(&f, "forget account=1");
    tb_store_scrub(f.store); /* what follows empties the WAL by itself */
    apply(&f, true, "");
    ck_assert_int_eq(run_calls(&f, "forget account=1", 9).code, TB_E_NOT_DELETED);
    verify_all(&f, NULL);
    apply(&f, false, "");
    run_words(&f, "forget account=1");
    tb_store_scrub(f.store);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(found(&f, names[i]) == 0, "%s", names[i]);
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

enum { MANY = 2 * TB_FORGET_AT_ONCE + 40 };

static void apply_many(fixture *f, bool there)
{
    tb_buf text;
    tb_buf_init(&text, 1 << 20, NULL);
    tb_buf_str(&text, "{\"accounts\":[{\"id\":2,\"name\":\"b\"}");
    if (there) tb_buf_str(&text, ",{\"id\":1,\"name\":\"Zephyrine\"}");
    tb_buf_str(&text, "],\"zones\":[");
    for (int i = 0; there && i < MANY; i++)
        tb_buf_fmt(&text, "%s{\"id\":%d,\"account\":1,\"name\":\"z%d\"}", i ? "," : "", 1000 + i, i);
    tb_buf_add(&text, "]}", 3);
    fixture_apply(f, text.data, NOW_US, NULL);
    tb_buf_release(&text);
}

static void one_line(void *ctx, size_t i, tb_logline *ret)
{
    static const tb_log_layout layout = {.now_ms = NOW_MS};
    const char *text = ctx;
    (void)i;
    tb_logline_read(&layout, text, strlen(text), ret);
}

static void keep_line(fixture *f, int64_t zone, bool waits)
{
    const int64_t time = NOW_MS - 1000;
    const uint64_t place = 0;
    char text[120];
    tb_error err = {0};
    tb_loginfo info;
    tb_buf out, directory;
    tb_logpack *pack = tb_logpack_new();
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    tb_buf_init(&directory, TB_LOGBLOCK_MAX, NULL);
    snprintf(text, sizeof text, "HIT|200|%lld|9|%lld|1.2.3.4|-|/xylophia|DE|-|-|-", (long long)time,
             (long long)zone);
    ok(tb_logpack_block(pack, &(tb_loglines){zone, &time, 1, one_line, text}, &out, &info, &err));
    tb__log_directory_put(&zone, 1, &place, 1, (tb_text){out.data, out.len}, &directory);
    const tb_logmixed mixed = {info, {directory.data, directory.len}, {out.data, out.len}};
    if (waits) ok(tb_store_mix_logs(f->store, &mixed, &err));
    else ok(tb_store_add_logs(f->store, &info, out.data, out.len, &err));
    tb_buf_release(&directory);
    tb_buf_release(&out);
    tb_logpack_free(pack);
}

/* A line of n zones of account 1, which has left. */
static void keep_many(fixture *f, int n, bool waits)
{
    tb_error err = {0};
    fixture_init(f);
    apply_many(f, true);
    ok(tb_store_begin(f->store, &err));
    for (int i = 0; i < n; i++)
        keep_line(f, 1000 + i, waits);
    ok(tb_store_commit(f->store, &err));
    apply_many(f, false);
}

/* So that no other write waits for long. What was interrupted goes on when it is asked for again. */
START_TEST(many_logs_go_some_at_a_time)
{
    fixture f;
    keep_many(&f, MANY, false);
    said cut = run_calls(&f, "forget account=1", 1);
    ck_assert_str_eq(cut.said, "");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), MANY - TB_FORGET_AT_ONCE);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM zone WHERE name<>'forgotten'"), 0);
    said done = run_words(&f, "forget account=1");
    ck_assert_uint_eq(done.calls, 2);
    ck_assert_msg(strstr(done.said, "is forgotten: 0 rows") && strstr(done.said, "168 blocks of request"),
                  "%s", done.said);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 0);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1").said, "nothing left to forget"));
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

/* A call that finds nothing left says what the ones before it did. */
START_TEST(as_many_as_go_at_a_time_are_told_too)
{
    fixture f;
    keep_many(&f, TB_FORGET_AT_ONCE, false);
    said done = run_words(&f, "forget account=1");
    ck_assert_uint_eq(done.calls, 2);
    ck_assert_ptr_nonnull(strstr(done.said, "is forgotten"));
    ck_assert_ptr_nonnull(strstr(done.said, "128 blocks of request"));
    fixture_release(&f);
}
END_TEST

/* What waits goes to its place, then the runs go, then the blocks, a part with each call. */
START_TEST(what_waits_goes_some_at_a_time)
{
    enum { SLICE = 100, FOLDS = (MANY + SLICE - 1) / SLICE, RUNS = (MANY + 15) / 16 };
    fixture f;
    keep_many(&f, MANY, true);
    tb__log_compaction_of(f.store)->slice = SLICE;
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_run"), MANY);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1 dry-run").said, "296 blocks of request"));
    ck_assert_ptr_null(strstr(run_calls(&f, "forget account=1", 1 + FOLDS - 1).said, "forgotten"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 200);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_run"), MANY);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1 dry-run").said, "296 blocks of request"));
    ck_assert_ptr_null(strstr(run_calls(&f, "forget account=1", 1 + RUNS).said, "forgotten"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_run"), 0);
    said done = run_words(&f, "forget account=1");
    ck_assert_uint_eq(done.calls, 3);
    ck_assert_msg(strstr(done.said, "296 blocks of request"), "%s", done.said);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='forget'"), 3); /* one of each run */
    tb_store_scrub(f.store);
    ck_assert_uint_eq(found(&f, "xylophia"), 0);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1").said, "nothing left to forget"));
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

/* Refused lines, of which nobody knows whose they are; and an account that is declared again meanwhile. */
START_TEST(refused_lines_go_some_at_a_time)
{
    enum { LINES = 20000 };
    fixture f;
    tb_error err = {0};
    char next[200];
    tb_segment segment = {.kind = TB_BATCH_LOG, .source = "t", .length = 1, .hash = {9, 1}, .head = {9, 2},
                          .rejected = LINES, .final = true, .now_us = NOW_US};
    fixture_init(&f);
    apply_many(&f, true);
    ok(tb_store_begin(f.store, &err));
    for (uint64_t line = 1; line <= LINES; line++)
        ok(tb_store_add_reject(f.store, &(tb_refused){line, 1, "blank line", "xylophia", 8, 0}, &err));
    ok(tb_store_add_segment(f.store, &segment, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    apply_many(&f, false);
    snprintf(next, sizeof next, "%s", run_calls(&f, "forget account=1", 1).next);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM reject WHERE length(text)>0"), LINES - 8192);
    apply_many(&f, true);
    apply_many(&f, false);
    said s = run_from(&f, "forget account=1", (calling){.most = 9, .next = next, .now_us = NOW_US});
    ck_assert_uint_eq(s.calls, 2);
    ck_assert_ptr_nonnull(strstr(s.said, "20000 refused lines"));
    ck_assert_ptr_nonnull(strstr(run_words(&f, "forget account=1").said, "nothing left to forget"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='forget'"), 1);
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

static said go_on_from(fixture *f, const char *words, const char *next, int64_t key)
{
    return run_from(f, words, (calling){.most = 1, .next = next, .key = key, .now_us = NOW_US});
}

/* `next` names the entry of the first call. One that is made up names none, or none that tells of this. */
START_TEST(nothing_goes_that_no_entry_tells_of)
{
    static const char *const wrong[] = {"99 0 0 0 0 0", "1 0 0 0 0", "0 0", "x"};
    fixture f;
    char next[200];
    keep_many(&f, MANY, false);
    said s = go_on_from(&f, "forget account=1", "0 0 0 0 0 0", 7);
    ck_assert_int_eq(s.code, TB_OK);
    snprintf(next, sizeof next, "%s", s.next);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(go_on_from(&f, "forget account=1", wrong[i], 7).code, TB_E_VALIDATION);
    ck_assert_int_eq(go_on_from(&f, "forget account=1", next, 8).code, TB_E_VALIDATION);
    ck_assert_int_eq(go_on_from(&f, "retain logs=1m", "1 0 0 0 0 0 0 0 0 0 0 0 0", 7).code, TB_E_VALIDATION);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), MANY - TB_FORGET_AT_ONCE);
    ck_assert_int_eq(go_on_from(&f, "forget account=1", next, 7).code, TB_OK);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), MANY - 2 * TB_FORGET_AT_ONCE);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE \"key\"=7"), 1);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("forget");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_byte_of_a_name_is_left);
    tcase_add_test(t, a_customer_may_come_back);
    tcase_add_test(t, many_logs_go_some_at_a_time);
    tcase_add_test(t, as_many_as_go_at_a_time_are_told_too);
    tcase_add_test(t, what_waits_goes_some_at_a_time);
    tcase_add_test(t, refused_lines_go_some_at_a_time);
    tcase_add_test(t, nothing_goes_that_no_entry_tells_of);
    Suite *s = suite_create("forget");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
