/* Shield events in the store: blocks that stay sorted and apart, events once each, whatever the order
 * of batches; reading from any key; days dropped; owners; damage found. */
#include "store_fixture.h"

#include "seed.h"
#include "store/core/internal.h"
#include "tollbook/logstore.h"

#define DAY_MS  TB_EVENT_MS_PER_DAY
#define TODAY   (NOW_MS / DAY_MS)
#define MODEL   20000

/* What should be there: an event is its zone, time and number; alike ones count up. */
typedef struct said {
    int64_t zone, time_ms;
    int id;    /* of a given logId; -1: none */
    int count; /* without one: how many are alike */
} said;

static said model[MODEL];
static size_t n_model;
static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* --- a batch --- */

typedef struct batch {
    tb_buf bytes;
    size_t at[4096];
    int64_t zone[4096];
    size_t n;
    uint64_t added;
} batch;

static void batch_init(batch *b)
{
    b->n = 0;
    tb_buf_init(&b->bytes, 64 << 20, NULL);
}

static void batch_line(batch *b, tb_event_reader *reader, const char *line)
{
    tb_event event;
    tb_reject reject;
    tb_error err = {0};
    ck_assert_msg(tb_event_parse(reader, line, strlen(line), NOW_MS, &event, &reject, &err), "%s: %s",
                  line, err.message);
    b->at[b->n] = b->bytes.len;
    b->zone[b->n++] = event.zone;
    tb_event_pack(&event, &b->bytes);
    ck_assert(!b->bytes.failed);
}

/* In the open transaction. */
static tb_code batch_add(batch *b, tb_store *store, size_t *places, size_t *bytes, tb_error *err)
{
    tb_event_ref *refs = malloc((b->n + 1) * sizeof *refs);
    for (size_t i = 0; i < b->n; i++) {
        const size_t end = i + 1 < b->n ? b->at[i + 1] : b->bytes.len;
        ck_assert(tb_event_ref_set(&refs[i], b->zone[i], i, b->bytes.data + b->at[i],
                                   end - b->at[i]));
    }
    qsort(refs, b->n, sizeof *refs, tb_event_ref_compare);
    uint64_t added = 0;
    tb_code code = tb_store_find_events(store, refs, b->n, places, bytes, err);
    if (!code) code = tb_store_add_events(store, refs, b->n, &added, err);
    b->added = added;
    free(refs);
    tb_buf_release(&b->bytes);
    return code;
}

static uint64_t batch_store(batch *b, tb_store *store)
{
    tb_error err = {0};
    size_t places, bytes;
    ok(tb_store_begin(store, &err));
    ok(batch_add(b, store, &places, &bytes, &err));
    ok(tb_store_commit(store, &err));
    return b->added;
}

static uint64_t store_line(fixture *f, tb_event_reader *reader, const char *line)
{
    batch b;
    batch_init(&b);
    batch_line(&b, reader, line);
    return batch_store(&b, f->store);
}

/* --- reading --- */

typedef struct walk {
    size_t n, bytes;
    tb_event_key last;
    bool down;
    tb_event_key keys[256]; /* of a block, backwards */
} walk;

static void see(walk *w, const tb_event_key *key)
{
    if (w->n++) {
        const int order = tb_event_key_compare(key, &w->last);
        ck_assert(w->down ? order < 0 : order > 0);
    }
    w->last = *key;
}

static bool on_block(void *ctx, const void *block, size_t len)
{
    walk *w = ctx;
    tb_event_record record;
    tb_event_key keys[TB_EVENT_BLOCK / 32];
    size_t n = 0;
    w->bytes += len;
    for (size_t at = 0; at < len;) {
        ck_assert(tb_event_next(block, len, &at, &record));
        ck_assert(!record.made);
        tb_event_record_key(&record, &keys[n++]);
    }
    ck_assert(n == 1 || len <= TB_EVENT_BLOCK);
    for (size_t i = 0; i < n; i++)
        see(w, &keys[w->down ? n - 1 - i : i]);
    return true;
}

static size_t count_zone(fixture *f, int64_t zone)
{
    tb_error err = {0};
    walk up = {.down = false}, down = {.down = true};
    tb_event_key low, high;
    char highest[TB_EVENT_ID_MAX];
    memset(highest, 0xff, sizeof highest);
    tb_event_key_set(&low, 0, "", 0);
    tb_event_key_set(&high, INT64_MAX, highest, sizeof highest);
    ok(tb_store_events_up(f->store, zone, &low, on_block, &up, &err));
    ok(tb_store_events_down(f->store, zone, &high, on_block, &down, &err));
    ck_assert_uint_eq(up.n, down.n);
    return up.n;
}

/* --- the model --- */

static void say(int64_t zone, int64_t time_ms, int id)
{
    for (size_t i = 0; i < n_model; i++) {
        said *s = &model[i];
        if (s->zone != zone || s->time_ms != time_ms || s->id != id) continue;
        if (id < 0) s->count++;
        return;
    }
    ck_assert_uint_lt(n_model, MODEL);
    model[n_model++] = (said){zone, time_ms, id, 1};
}

static size_t said_of(int64_t zone)
{
    size_t n = 0;
    for (size_t i = 0; i < n_model; i++)
        if (model[i].zone == zone) n += (size_t)model[i].count;
    return n;
}

/* Times that crowd, so that keys meet; texts long enough for blocks to split. */
static void random_line(batch *b, tb_event_reader *reader)
{
    char line[1200], id[40] = "";
    const int64_t zone = 1 + (int64_t)(next_random() % 2);
    const int64_t time_ms = (TODAY - (int64_t)(next_random() % 3)) * DAY_MS +
                            (int64_t)(next_random() % 300) * 1000;
    const int given = next_random() % 2 ? (int)(next_random() % 3) : -1;
    if (given >= 0) snprintf(id, sizeof id, ",\"logId\":\"id-%d\"", given);
    snprintf(line, sizeof line,
             "{\"shield_zone\":%d,\"timestamp\":%lld%s,\"url\":\"%0800d\"}", (int)zone,
             (long long)time_ms, id, 0);
    say(zone, time_ms, given);
    batch_line(b, reader, line);
}

START_TEST(batches_in_any_order_hold_each_event_once)
{
    fixture f;
    seed = test_seed() * 2654435761u + 1;
    tb_event_reader *reader = tb_event_reader_new();
    fixture_init(&f);
    n_model = 0;
    for (int i = 0; i < 40; i++) {
        batch b;
        batch_init(&b);
        for (uint64_t k = next_random() % 200 + 1; k; k--)
            random_line(&b, reader);
        batch_store(&b, f.store);
        for (int64_t zone = 1; zone <= 2; zone++)
            if (i % 8 == 7) ck_assert_uint_eq(count_zone(&f, zone), said_of(zone));
    }
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

START_TEST(the_same_again_is_nothing_new_where_ids_are_given)
{
    fixture f;
    fixture_init(&f);
    tb_event_reader *reader = tb_event_reader_new();
    static const char line[] = "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"a\"}";
    static const char other[] =
        "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"a\",\"ip\":\"1\"}";
    static const char none[] = "{\"shield_zone\":1,\"timestamp\":1794950000000}";
    ck_assert_uint_eq(store_line(&f, reader, line), 1);
    ck_assert_uint_eq(store_line(&f, reader, line), 0);
    ck_assert_uint_eq(store_line(&f, reader, other), 0); /* the first one stays */
    ck_assert_uint_eq(store_line(&f, reader, none), 1);
    ck_assert_uint_eq(store_line(&f, reader, none), 1); /* another one that is alike */
    ck_assert_uint_eq(count_zone(&f, 1), 3);
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

static size_t count_blocks(fixture *f)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, "SELECT count(*) FROM event_block", -1, &s, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const size_t n = (size_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

/* Events that come in order, one at a time, fill blocks up. */
START_TEST(what_comes_in_order_fills_blocks)
{
    fixture f;
    fixture_init(&f);
    tb_event_reader *reader = tb_event_reader_new();
    for (int i = 0; i < 300; i++) {
        char line[1200];
        snprintf(line, sizeof line, "{\"shield_zone\":1,\"timestamp\":%lld,\"url\":\"%01000d\"}",
                 (long long)(TODAY * DAY_MS + i), 0);
        store_line(&f, reader, line);
    }
    ck_assert_uint_eq(count_zone(&f, 1), 300);
    ck_assert_uint_le(count_blocks(&f), 300 * 1100 / TB_EVENT_BLOCK + 1);
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

START_TEST(days_are_dropped_whole)
{
    fixture f;
    tb_error err = {0};
    uint64_t dropped = 0;
    fixture_init(&f);
    tb_event_reader *reader = tb_event_reader_new();
    for (int64_t day = TODAY - 2; day <= TODAY; day++)
        for (int64_t ms = 0; ms < DAY_MS; ms += DAY_MS - 1) { /* the day's first and last */
            char line[200];
            snprintf(line, sizeof line, "{\"shield_zone\":1,\"timestamp\":%lld}",
                     (long long)(day * DAY_MS + ms));
            store_line(&f, reader, line);
        }
    static const struct {
        int64_t now_ms;
        size_t left;
    } steps[] = {{NOW_MS, 6},
                 {(TODAY + 1) * DAY_MS - 1, 6},
                 {(TODAY + 1) * DAY_MS, 4},
                 {(TODAY + 2) * DAY_MS, 2},
                 {(TODAY + 9) * DAY_MS, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_drop_events(f.store, steps[i].now_ms, &dropped, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_uint_eq(count_zone(&f, 1), steps[i].left);
        fixture_verify(&f);
    }
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

START_TEST(the_catalogue_says_whose_they_are)
{
    fixture f;
    tb_error err = {0};
    tb_applied applied;
    static const char two[] =
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
        "\"account\":1,\"name\":\"z\"}],\"shield_zones\":[{\"id\":42,\"account\":1,\"zone\":101,"
        "\"name\":\"s\"},{\"id\":43,\"account\":2}]}";
    fixture_init(&f);
    ck_assert_int_eq(tb_store_shield_check(f.store, 1, 42, &err), TB_E_SHIELD_NOT_FOUND);
    fixture_apply(&f, two, NOW_US, &applied);
    ck_assert_uint_eq(applied.shields_added, 2);
    ok(tb_store_shield_check(f.store, 1, 42, &err));
    ok(tb_store_shield_check(f.store, 2, 43, &err));
    ck_assert_int_eq(tb_store_shield_check(f.store, 2, 42, &err), TB_E_SHIELD_NOT_FOUND);
    ck_assert_int_eq(tb_store_shield_check(f.store, 0, 42, &err), TB_E_SHIELD_NOT_FOUND);
    ck_assert_int_eq(tb_store_shield_check(f.store, 1, 44, &err), TB_E_SHIELD_NOT_FOUND);
    fixture_apply(&f, two, NOW_US, &applied);
    ck_assert_uint_eq(applied.shields_added + applied.changed + applied.deleted, 0);
    /* what a catalogue leaves out stays its account's */
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}", NOW_US + 1,
                  &applied);
    ok(tb_store_shield_check(f.store, 1, 42, &err));
    tb_catalog c;
    static const char moved[] =
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],"
        "\"shield_zones\":[{\"id\":42,\"account\":2}]}";
    ok(tb_catalog_parse(moved, strlen(moved), &c, &err));
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_apply_catalog(f.store, &c, NOW_US + 2, &applied, &err), TB_E_CATALOG);
    tb_store_rollback(f.store);
    tb_catalog_release(&c);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(the_secret_is_made_once)
{
    fixture f;
    tb_error err = {0};
    uint8_t got[TB_EVENT_SECRET], again[TB_EVENT_SECRET];
    const uint8_t first[TB_EVENT_SECRET] = {1}, second[TB_EVENT_SECRET] = {2};
    fixture_init(&f);
    ok(tb_store_event_secret(f.store, first, got, &err));
    ck_assert_int_eq(memcmp(got, first, sizeof got), 0);
    ok(tb_store_event_secret(f.store, second, again, &err));
    ck_assert_int_eq(memcmp(again, first, sizeof got), 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

/* --- damage --- */

static char said_text[400];

static void hear(void *ctx, const char *sentence)
{
    (void)ctx;
    snprintf(said_text, sizeof said_text, "%s", sentence);
}

static void finds(fixture *f, const char *sql, const char *sentence)
{
    tb_error err = {0};
    uint64_t n = 0;
    sqlite3 *db = f->store->db;
    ck_assert_int_eq(sqlite3_exec(db, "SAVEPOINT damage", NULL, NULL,
                                  NULL), SQLITE_OK);
    edit(db, sql);
    *said_text = 0;
    ok(tb_store_verify(f->store, hear, NULL, &n, &err));
    ck_assert_msg(n > 0 && strstr(said_text, sentence), "%s: %s", sql, said_text);
    sqlite3_exec(db, "ROLLBACK TO damage; RELEASE damage", NULL, NULL, NULL);
}

static size_t added_bytes; /* of the events that add_spread packed last */

/* An event in each of so many shield zones. */
static tb_code add_spread(fixture *f, tb_event_reader *reader, int from, int zones, size_t *places, size_t *bytes, tb_error *err)
{
    batch b;
    char line[200];
    batch_init(&b);
    for (int i = 0; i < zones; i++) {
        snprintf(line, sizeof line, "{\"shield_zone\":%d,\"timestamp\":%lld,\"logId\":\"e%d\"}", 1 + i,
                 (long long)(TODAY * DAY_MS + from + i), from);
        batch_line(&b, reader, line);
    }
    added_bytes = b.bytes.len;
    return batch_add(&b, f->store, places, bytes, err);
}

/* What was undone leaves no trace in the sum of seals, and what stood before the mark stays in it. */
START_TEST(what_is_undone_to_the_mark_is_gone)
{
    fixture f;
    size_t places, bytes;
    tb_error err = {0};
    tb_event_reader *reader = tb_event_reader_new();
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    for (int i = 0; i < 4; i++) {
        ok(tb_store_mark(f.store, &err));
        ok(add_spread(&f, reader, i, 20, &places, &bytes, &err));
        if (i % 2 == 0) ok(tb_store_keep_mark(f.store, &err));
        else tb_store_back_to_mark(f.store);
    }
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(count_zone(&f, 7), 2);
    fixture_verify(&f);
    ok(tb_store_begin(f.store, &err));
    ok(add_spread(&f, reader, 4, 20, &places, &bytes, &err));
    tb_store_rollback(f.store);
    ok(tb_store_begin(f.store, &err));
    ok(add_spread(&f, reader, 5, 20, &places, &bytes, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_uint_eq(count_zone(&f, 7), 3);
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

/* Where others wait it is asked before how much of what is there would be read and written anew. On usage servers nothing is. */
START_TEST(what_events_go_among_is_found)
{
    fixture f;
    tb_error err = {0};
    size_t places, bytes, before = 0;
    tb_event_reader *reader = tb_event_reader_new();
    const bool file = !usage_plane_shards();
    fixture_init(&f);
    for (int i = 0; i < 3; i++) {
        ok(tb_store_begin(f.store, &err));
        ok(add_spread(&f, reader, i, 20, &places, &bytes, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_uint_eq(places, file ? 20 : 0);
        ck_assert_uint_eq(bytes, before); /* the blocks that are there, each of i events */
        before += file ? added_bytes : 0;
    }
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

START_TEST(damage_is_found)
{
    fixture f;
    tb_error err = {0};
    uint8_t got[TB_EVENT_SECRET];
    const uint8_t random[TB_EVENT_SECRET] = {1};
    fixture_init(&f);
    tb_event_reader *reader = tb_event_reader_new();
    store_line(&f, reader, "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"a\"}");
    store_line(&f, reader, "{\"shield_zone\":2,\"timestamp\":1794950000000,\"logId\":\"b\"}");
    ok(tb_store_event_secret(f.store, random, got, &err));
    fixture_verify(&f);
    finds(&f, "DELETE FROM event_block WHERE id=1", "not all those that were written");
    finds(&f, "UPDATE event_block SET zone=3 WHERE id=2", "not as it was sealed");
    finds(&f, "UPDATE event_block SET day=day+1 WHERE id=2", "not as it was sealed");
    finds(&f, "UPDATE event_block SET events=2 WHERE id=2", "not as it was sealed");
    finds(&f, "UPDATE event_block SET data=CAST(replace(data,x'62',x'63') AS BLOB) WHERE id=2",
          "not as it was sealed");
    finds(&f, "UPDATE event_block SET seal=seal+1 WHERE id=2", "not all those that were written");
    finds(&f, "UPDATE secret SET value=zeroblob(32)", "The secret of shield event tokens is not as it was sealed");
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

static tb_event_key greatest(fixture *f, int64_t zone)
{
    tb_error err = {0};
    walk up = {.down = false};
    tb_event_key low;
    tb_event_key_set(&low, 0, "", 0);
    ok(tb_store_events_up(f->store, zone, &low, on_block, &up, &err));
    return up.last;
}

/* A made id counts on from the greatest of its like, though that one was given. */
START_TEST(a_made_id_counts_on_from_the_last_of_its_like)
{
    static const char none[] = "{\"shield_zone\":1,\"timestamp\":1794950000000,\"ip\":\"1\"}";
    enum { HASH = 8, COUNT = 8 + 24, END = 8 + 32 }; /* bytes of a key: time, hash, count */
    char given[200];
    fixture f;
    fixture_init(&f);
    tb_event_reader *reader = tb_event_reader_new();
    store_line(&f, reader, none);
    tb_event_key key = greatest(&f, 1);
    ck_assert_uint_eq(key.len, END);
    ck_assert_mem_eq(key.bytes + COUNT, "00000000", 8);
    store_line(&f, reader, none);
    store_line(&f, reader, none);
    key = greatest(&f, 1);
    ck_assert_mem_eq(key.bytes + COUNT, "00000002", 8);
    snprintf(given, sizeof given,
             "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"%.24s0000fedf\"}",
             (const char *)key.bytes + HASH);
    ck_assert_uint_eq(store_line(&f, reader, given), 1);
    ck_assert_uint_eq(store_line(&f, reader, none), 1);
    key = greatest(&f, 1);
    ck_assert_mem_eq(key.bytes + COUNT, "0000fee0", 8);
    ck_assert_uint_eq(count_zone(&f, 1), 5);
    fixture_verify(&f);
    tb_event_reader_free(reader);
    fixture_release(&f);
}
END_TEST

/* Of events with one id in a batch the first one counts; zone and key go before that. */
START_TEST(refs_stand_by_zone_then_key_then_order)
{
    static const char *const text[] = {
        "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"b\"}",
        "{\"shield_zone\":1,\"timestamp\":1794950000000,\"logId\":\"b\",\"ip\":\"1\"}",
        "{\"shield_zone\":1,\"timestamp\":1794950000001,\"logId\":\"a\"}",
        "{\"shield_zone\":2,\"timestamp\":1794940000000,\"logId\":\"a\"}"};
    enum { N = sizeof text / sizeof *text };
    tb_event_ref refs[N];
    batch b;
    tb_event_reader *reader = tb_event_reader_new();
    batch_init(&b);
    for (size_t i = 0; i < N; i++)
        batch_line(&b, reader, text[i]);
    for (size_t i = 0; i < N; i++)
        ck_assert(tb_event_ref_set(&refs[i], b.zone[i], i < 2 ? i : 0, b.bytes.data + b.at[i],
                                   (i + 1 < N ? b.at[i + 1] : b.bytes.len) - b.at[i]));
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            const int order = tb_event_ref_compare(&refs[i], &refs[k]);
            ck_assert_int_eq((order > 0) - (order < 0), (i > k) - (i < k));
        }
    tb_buf_release(&b.bytes);
    tb_event_reader_free(reader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store events");
    TCase *tc = tcase_create("events");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, batches_in_any_order_hold_each_event_once);
    tcase_add_test(tc, the_same_again_is_nothing_new_where_ids_are_given);
    tcase_add_test(tc, what_comes_in_order_fills_blocks);
    tcase_add_test(tc, days_are_dropped_whole);
    tcase_add_test(tc, the_catalogue_says_whose_they_are);
    tcase_add_test(tc, the_secret_is_made_once);
    tcase_add_test(tc, what_is_undone_to_the_mark_is_gone);
    tcase_add_test(tc, what_events_go_among_is_found);
    tcase_add_test(tc, damage_is_found);
    tcase_add_test(tc, a_made_id_counts_on_from_the_last_of_its_like);
    tcase_add_test(tc, refs_stand_by_zone_then_key_then_order);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
