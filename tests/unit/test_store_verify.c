/* Verify: what is stored twice must agree; each kind of disagreement is found and named. */
#include "store_fixture.h"

#include "store/core/internal.h"
#include "store/usage/chunk.h"
#include "store/usage/country.h"

#define HOUR  498600 /* 2026-11-18T00:00 */
#define DAY   (HOUR / 24)
#define MONTH 682 /* November 2026 */

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":"
    "\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"}],\"load_balancers\":[{\"id\":7,\"account\":1,"
    "\"zones\":[101]}]}";

typedef struct sentences {
    char text[16384];
    uint64_t n;
} sentences;

static void on_sentence(void *ctx, const char *sentence)
{
    sentences *all = ctx;
    size_t len = strlen(all->text);
    ck_assert_uint_gt(strlen(sentence), 10);
    snprintf(all->text + len, sizeof all->text - len, "%s\n", sentence);
    all->n++;
}

static sentences found;

static uint64_t verify(fixture *f)
{
    tb_error err = {0};
    uint64_t differences = 99;
    found = (sentences){.n = 0};
    ok(tb_store_verify(f->store, on_sentence, &found, &differences, &err));
    ck_assert_uint_eq(differences, found.n);
    return differences;
}

static void sql(fixture *f, const char *text)
{
    char *message = NULL;
    ck_assert_msg(sqlite3_exec(f->store->db, text, NULL, NULL, &message) == SQLITE_OK, "%s: %s",
                  text, message);
}

static int64_t number(fixture *f, const char *text)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_step(s) == SQLITE_ROW, "%s", text);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

/* Two zones at three locations, two months, countries, a balancer, two segments. */
static void fill(fixture *f)
{
    static const tb_hit hits[] = {{.zone = 101,
                                   .bytes = 10,
                                   .edge = "DE",
                                   .edge_len = 2,
                                   .hour = HOUR,
                                   .status = 200,
                                   .country = 'D' << 8 | 'E'},
                                  {.zone = 101,
                                   .bytes = 20,
                                   .edge = "UK",
                                   .edge_len = 2,
                                   .hour = HOUR + 30,
                                   .status = 404,
                                   .country = 'G' << 8 | 'B',
                                   .cache = TB_CACHE_SERVED}};
    tb_error err = {0};
    fixture_init(f);
    fixture_apply(f, catalog, NOW_US, NULL);
    tb_row rows[] = {
        row_of(101, "DE", HOUR + 24 * 20, TB_M_REQUESTS, 3),
        row_of(101, "DE", HOUR + 1, TB_M_QUEUED_MAX, 5),
        row_of(101, "UK", HOUR + 1, TB_M_QUEUED_MAX, 9),
        row_of(102, "DE", HOUR + 2, TB_M_ORIGIN_BYTES, 1000),
        row_of(999, "ZZ", HOUR + 2, TB_M_REQUESTS, 1),
        {.balancer = true, .id = 7, .hour = HOUR + 5, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)}};
    rows[5].value[TB_M_REQUESTS] = 500;
    fixture_add(f, rows, sizeof rows / sizeof *rows, 1);
    tb_rollup *rollup = tb_rollup_new(1 << 10, NULL);
    ok(tb_rollup_add_hits(rollup, hits, 2, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    tb_segment s = {.kind = TB_BATCH_LOG,
                    .name = "night",
                    .source = "test",
                    .length = 200,
                    .accepted = 2,
                    .rejected = 2,
                    .now_us = NOW_US};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_usage(f->store, cursor, &err));
    ok(tb_store_add_reject(f->store, &(tb_refused){2, 1, "blank line", "", 0, 0}, &err));
    ok(tb_store_add_reject(f->store, &(tb_refused){4, 1, "blank line", "", 0, 0}, &err));
    ok(tb_store_add_segment(f->store, &s, NULL, &err));
    ok(tb_store_commit(f->store, &err));
    s = (tb_segment){.kind = TB_BATCH_LOG,
                     .name = "night",
                     .source = "test",
                     .start = 200,
                     .length = 300,
                     .lines_before = 4,
                     .final = true,
                     .now_us = NOW_US};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_segment(f->store, &s, NULL, &err));
    ok(tb_store_commit(f->store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    fixture_fold(f);
    fixture_place(f);
}

/* --- changing a chunk behind the store's back, checksum and all --- */

static int64_t series_of(fixture *f, int scope, int64_t owner, const char *edge)
{
    char text[200];
    snprintf(text, sizeof text,
             "SELECT id FROM series WHERE scope=%d AND owner=%lld AND edge=coalesce("
             "(SELECT id FROM edge WHERE code='%s'),0)",
             scope, (long long)owner, edge);
    return number(f, text);
}

static void load(fixture *f, int64_t key, tb_grid *grid)
{
    sqlite3_stmt *s;
    tb_error err = {0};
    ck_assert_int_eq(
        sqlite3_prepare_v2(f->store->db, "SELECT data FROM chunk WHERE key=?", -1, &s, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(s, 1, key);
    tb_grid_clear(grid);
    if (sqlite3_step(s) == SQLITE_ROW)
        ok(tb__chunk_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), key,
                            grid, &err));
    sqlite3_finalize(s);
}

static void put_blob(fixture *f, const char *text, const int64_t *ids, int n, const uint8_t *bytes,
                     size_t len)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL), SQLITE_OK);
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(s, i + 1, ids[i]);
    sqlite3_bind_blob(s, n + 1, bytes, (int)len, SQLITE_TRANSIENT);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_DONE);
    sqlite3_finalize(s);
}

static void save(fixture *f, int64_t key, const tb_grid *grid)
{
    uint8_t bytes[TB__CHUNK_MAX];
    size_t len = tb__chunk_encode(grid, key, bytes);
    put_blob(f, "INSERT OR REPLACE INTO chunk VALUES(?1,?2)", &key, 1, bytes, len);
}

static void change(fixture *f, int64_t key, tb_metric metric, unsigned slot, uint64_t more)
{
    tb_grid g;
    tb_error err = {0};
    load(f, key, &g);
    ok(tb_grid_add(&g, metric, slot, more, &err));
    save(f, key, &g);
}

static void expect(const char *part)
{
    ck_assert_msg(strstr(found.text, part) != NULL, "not found: %s\nin:\n%s", part, found.text);
}

static void expect_only(const char *sentence)
{
    char line[600];
    snprintf(line, sizeof line, "%s\n", sentence);
    ck_assert_str_eq(found.text, line);
}

/* A filled store, in which verify finds nothing. */
static void open_filled(fixture *f)
{
    static fixture_image filled;
    if (filled.bytes) {
        fixture_again(f, &filled);
        return;
    }
    fill(f);
    ck_assert_msg(verify(f) == 0, "%s", found.text);
    fixture_keep(f, &filled);
}

#define OPEN(f)                                                                                    \
    fixture f;                                                                                     \
    open_filled(&f)

START_TEST(a_store_that_only_the_store_wrote_agrees)
{
    OPEN(f);
    tb_store_close(f.store);
    fixture_open(&f, false);
    ck_assert_uint_eq(verify(&f), 0);
    ck_assert_int_eq(sqlite3_get_autocommit(f.store->db), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(an_empty_store_agrees)
{
    fixture f;
    fixture_init(&f);
    ck_assert_uint_eq(verify(&f), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_month_that_is_not_the_sum_of_its_hours_is_named)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 101, "DE");
    change(&f, tb__chunk_key(series, TB__GRAIN_DAYS, MONTH), TB_M_BYTES, 17, 1);
    verify(&f);
    expect_only("Pull zone 101, DE, 2026-11-18: bytes is 11; its hours make 10.");
    fixture_release(&f);
}
END_TEST

START_TEST(a_missing_month_is_named)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_BALANCER, 7, "");
    char text[100];
    snprintf(text, sizeof text, "DELETE FROM chunk WHERE key=%lld",
             (long long)tb__chunk_key(series, TB__GRAIN_DAYS, MONTH));
    sql(&f, text);
    verify(&f);
    expect_only("Load balancer 7, 2026-11-18: requests is 0; its hours make 500.");
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_that_is_not_the_sum_of_its_locations_is_named)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 101, "");
    change(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), TB_M_BYTES, 0, 5);
    verify(&f);
    expect(
        "Pull zone 101, all locations, 2026-11-18T00:00:00Z: bytes is 15; its locations make 10.");
    expect("Pull zone 101, all locations, 2026-11-18: bytes is 10; its hours make 15.");
    ck_assert_uint_eq(found.n, 2);
    fixture_release(&f);
}
END_TEST

START_TEST(a_maximum_is_the_larger_not_the_sum)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ACCOUNT, 1, "");
    tb_grid g;
    load(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), &g);
    ck_assert_uint_eq(g.v[TB_M_QUEUED_MAX][1], 9);
    g.v[TB_M_QUEUED_MAX][1] = 14;
    save(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), &g);
    verify(&f);
    expect(
        "Account 1, all locations, 2026-11-18T01:00:00Z: queued_max is 14; its locations make 9.");
    fixture_release(&f);
}
END_TEST

START_TEST(an_account_that_is_not_the_sum_of_its_zones_is_named)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ACCOUNT, 1, "DE");
    change(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), TB_M_ORIGIN_BYTES, 2, 24);
    verify(&f);
    expect("Account 1, DE, 2026-11-18T02:00:00Z: origin_bytes is 1024; its pull zones make 1000.");
    fixture_release(&f);
}
END_TEST

/* Everything above agrees with itself: only the batches know better. */
START_TEST(usage_that_no_batch_added_is_found)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 999, "ZZ");
    change(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), TB_M_REQUESTS, 2, 41);
    change(&f, tb__chunk_key(series, TB__GRAIN_DAYS, MONTH), TB_M_REQUESTS, 17, 41);
    verify(&f);
    expect_only("All batches together added 506 of requests; the hours sum to 547.");
    fixture_release(&f);
}
END_TEST

START_TEST(a_lost_day_is_found)
{
    OPEN(f);
    char text[200];
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 999, "ZZ");
    snprintf(text, sizeof text, "DELETE FROM chunk WHERE key>>18=%lld", (long long)series);
    sql(&f, text);
    verify(&f);
    expect_only("All batches together added 506 of requests; the hours sum to 505.");
    fixture_release(&f);
}
END_TEST

START_TEST(a_damaged_chunk_is_named_once_and_does_not_hide_the_rest)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 101, "DE");
    int64_t key = tb__chunk_key(series, TB__GRAIN_HOURS, DAY);
    put_blob(&f, "UPDATE chunk SET data=?2 WHERE key=?1", &key, 1, (const uint8_t *)"nonsense", 8);
    change(&f, tb__chunk_key(series, TB__GRAIN_DAYS, MONTH + 1), TB_M_REQUESTS, 7, 1);
    verify(&f);
    expect("Pull zone 101, DE, 2026-11-18: its hours are damaged.");
    expect("Pull zone 101, DE, 2026-12-08: requests is 4; its hours make 3.");
    ck_assert_uint_eq(found.n, 2);
    fixture_release(&f);
}
END_TEST

START_TEST(a_damaged_month_is_named)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 102, "DE");
    int64_t key = tb__chunk_key(series, TB__GRAIN_DAYS, MONTH);
    put_blob(&f, "UPDATE chunk SET data=?2 WHERE key=?1", &key, 1, (const uint8_t *)"", 0);
    verify(&f);
    expect_only("Pull zone 102, DE, 2026-11: its days are damaged.");
    fixture_release(&f);
}
END_TEST

START_TEST(hours_past_23_and_days_past_the_month_are_found)
{
    OPEN(f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 102, "DE");
    change(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY), TB_M_BYTES, 24, 0);
    verify(&f);
    expect("Pull zone 102, DE, 2026-11-18: it has more than 24 hours.");
    fixture_release(&f);
    fill(&f);
    series = series_of(&f, TB__SCOPE_ZONE, 102, "DE");
    change(&f, tb__chunk_key(series, TB__GRAIN_DAYS, MONTH), TB_M_BYTES, 30, 0);
    verify(&f);
    expect_only("Pull zone 102, DE, 2026-11: it has more days than the month.");
    fixture_release(&f);
}
END_TEST

START_TEST(an_all_locations_series_is_there_exactly_where_needed)
{
    OPEN(f);
    sql(&f, "DELETE FROM series_placed WHERE scope=1 AND owner=101 AND edge=0");
    verify(&f);
    expect("Pull zone 101, all locations: the series is missing, with 2 locations.");
    expect("which does not exist."); /* its chunks have no series now */
    sql(&f,
        "INSERT INTO series_placed VALUES(1,102,0,50,0); UPDATE meta SET value=50 WHERE name='series_id'");
    verify(&f);
    expect("Pull zone 102, all locations: the series is there, with 1 location.");
    fixture_release(&f);
}
END_TEST

START_TEST(series_of_the_account_and_of_its_zones_go_together)
{
    OPEN(f);
    sql(&f, "DELETE FROM series_placed WHERE scope=2 AND owner=1"
            " AND edge=(SELECT id FROM edge WHERE code='UK')");
    verify(&f);
    expect("Account 1, UK: the account has no series; its pull zones have usage there.");
    sql(&f, "INSERT INTO series_placed SELECT 2,1,id,60,0 FROM edge WHERE code='ZZ'");
    verify(&f);
    expect("Account 1, ZZ: the account has a series; no pull zone of it does.");
    fixture_release(&f);
}
END_TEST

START_TEST(countries_stay_within_the_day)
{
    OPEN(f);
    tb__country list[] = {{'D' << 8 | 'E', 1, 999}};
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    const int64_t ids[2] = {101, DAY};
    size_t len = tb__country_encode(list, 1, tb__country_seed(101, DAY), bytes);
    put_blob(&f, "UPDATE country_day SET data=?3 WHERE zone=?1 AND day=?2", ids, 2, bytes, len);
    verify(&f);
    expect("Pull zone 101, 2026-11-18: its countries have more bytes than the day.");
    expect("All batches together added 30 of countries' bytes; the days sum to 1019.");
    ck_assert_uint_eq(found.n, 2);
    bytes[0] ^= 1;
    put_blob(&f, "UPDATE country_day SET data=?3 WHERE zone=?1 AND day=?2", ids, 2, bytes, len);
    verify(&f);
    expect_only("Pull zone 101, 2026-11-18: its countries are damaged.");
    fixture_release(&f);
}
END_TEST

/* Each statement breaks one reference; the text is part of the sentence that tells. */
START_TEST(each_broken_reference_is_named)
{
    static const struct {
        const char *sql, *part;
    } broken[] = {
        {"INSERT INTO chunk VALUES((900<<18)+5,x'00')", "series 900, which does not exist"},
        {"INSERT INTO chunk VALUES(-5,x'00')", "series -1, which does not exist"},
        {"DELETE FROM edge WHERE code='ZZ'", "edge location"},
        {"INSERT INTO series_placed VALUES(2,55,1,2,0)", "account 55, which does not exist"},
        {"INSERT INTO series_new VALUES(3,8,1,2,0)", "has an edge location"},
        {"INSERT INTO series_new VALUES(3,8,0,64,0)", "Series 64 is used 2 times"},
        {"UPDATE meta SET value=1 WHERE name='series_id'", "newer than the last one given"},
        {"UPDATE meta SET value=value+1 WHERE name='newest_hour'", "The newest hour is noted"},
        {"DELETE FROM attachment; INSERT INTO attachment VALUES(5,7,0,1,0,0,0)",
         "attached to pull zone 5, which does not exist"},
        {"INSERT INTO attachment VALUES(101,9,0,1,0,0,0)",
         "attached to load balancer 9, which does not exist"},
        {"INSERT INTO account SELECT 2,'o',document,declared_us,deleted_us,0 FROM account;"
         "UPDATE balancer SET account=2",
         "Pull zone 101 of account 1 is attached to load balancer 7 of account 2"},
        {"PRAGMA foreign_keys=OFF; UPDATE balancer SET account=77", "names a row of table account"},
        {"UPDATE zone_count SET n=n+1", "are counted"},
        {"INSERT INTO country_day VALUES(4444,20000,x'00')",
         "Pull zone 4444 has countries and no usage"},
        {"INSERT INTO segment SELECT 50,kind,'night','',400,500,hash,head,4,0,0,1,0,sums,0"
         " FROM segment WHERE id=3",
         "Batch night: segment 50 begins at byte 400; the one before ends at 300"},
        {"INSERT INTO segment SELECT 50,kind,'night','',300,500,hash,head,9,0,0,1,0,sums,0"
         " FROM segment WHERE id=3",
         "Batch night: segment 50 begins after line 9; 4 lines are before it"},
        {"INSERT INTO segment SELECT 50,kind,'morning','',5,500,hash,head,0,0,0,1,0,sums,0"
         " FROM segment WHERE id=3",
         "Batch morning: segment 50 begins at byte 5; the one before ends at 0"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',7,500,hash,head,0,0,0,1,0,sums,0"
         " FROM segment WHERE id=3",
         "Segment 50 begins at byte 7, where no other one ends"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',0,500,hash,head,3,0,0,1,0,sums,0"
         " FROM segment WHERE id=3",
         "Segment 50 begins at byte 0 after 3 lines"},
        {"INSERT INTO reject VALUES(2,3,1,'x',x'')", "Segment 2 keeps 3 refused lines of 2"},
        {"INSERT INTO reject VALUES(3,9,1,'x',x'')", "refused line 9, which is not one of its"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',0,5,hash,head,0,0,0,1,0,'{\"bytes\":\"1x\"}',0"
         " FROM segment WHERE id=3",
         "Segment 50: its sum of bytes cannot be read"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',0,5,hash,head,0,0,0,1,0,'{\"byte\":\"1\"}',0"
         " FROM segment WHERE id=3",
         "Segment 50: its sum of byte cannot be read"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',0,5,hash,head,0,0,0,1,0,"
         "'{\"bytes\":\"340282366920938463463374607431768211456\"}',0 FROM segment WHERE id=3",
         "Segment 50: its sum of bytes cannot be read"},
        {"INSERT INTO segment SELECT 50,kind,NULL,'',0,5,hash,head,0,0,0,1,0,"
         "'{\"bytes\":\"20000000000000000000\"}',0 FROM segment WHERE id=3",
         "All batches together added 20000000000000000030 of bytes; the hours sum to 30"},
        {"DELETE FROM declaration WHERE kind='zone' AND id=101",
         "Pull zone 101 has 0 declarations in force"},
        {"UPDATE declaration SET from_us=5 WHERE kind='zone' AND id=101",
         "Pull zone 101 has no declaration since its beginning"},
        {"UPDATE declaration SET document='{}' WHERE kind='account'",
         "Account 1 is not what it was declared to be"},
        {"UPDATE zone SET document=replace(document,'\"b\"','\"c\"') WHERE id=102",
         "Pull zone 102 is not what it was declared to be"},
        {"UPDATE balancer SET deleted_us=5", "Load balancer 7 has 1 declarations in force"},
        {"INSERT INTO declaration VALUES('zone',555,0,1,'{}',0,0,0)",
         "A declaration is of the zone 555, which does not exist"},
        {"INSERT INTO account SELECT 2,'o',document,declared_us,deleted_us,0 FROM account;"
         "UPDATE zone SET account=2 WHERE id=102",
         "Pull zone 102 is not of the account that its document names"},
        {"UPDATE zone SET document='nonsense' WHERE id=102",
         "Pull zone 102 is not of the account that its document names"},
        {"INSERT INTO attachment VALUES(101,8,5,10,0,0,0)",
         "Pull zone 101 has two load balancers at once"},
        {"DELETE FROM attachment", "Load balancer 7 is declared with 1 pull zones; 0 are attached"},
        {"INSERT INTO key VALUES(5,44,1,zeroblob(32),'hint',0,0,NULL,0,0,'')",
         "Key 5 is of account 44, which does not exist"},
        {"INSERT INTO key VALUES(5,1,1<<30,zeroblob(32),'hint',0,0,NULL,0,0,'')",
         "Key 5 has roles that do not exist"},
        {"DELETE FROM reject WHERE line=4", "Segment 2 kept 2 refused lines; 1 are there"},
        {"DROP TRIGGER segment_no_update", "The trigger segment_no_update is missing"},
        {"DROP TRIGGER segment_no_delete; CREATE TRIGGER segment_no_delete BEFORE DELETE ON segment"
         " BEGIN SELECT 1; END",
         "The trigger segment_no_delete is not declared as it should be"},
        {"CREATE TRIGGER mine AFTER INSERT ON chunk BEGIN SELECT 1; END",
         "The trigger mine is not the store's"},
        {"CREATE VIEW Buckets AS SELECT 1 AS zone", "The view Buckets is not the store's"},
        {"CREATE TABLE balancer_buckets(a)", "The table balancer_buckets is not the store's"},
        {"CREATE TABLE countries(a)", "The table countries is not the store's"},
        {"DROP INDEX zone_by_account", "The index zone_by_account is missing"},
        {"DROP TABLE extra", "The table extra is missing"},
        {"DROP TABLE attachment", "The table attachment is missing"},
        {"ALTER TABLE region ADD COLUMN more TEXT", "The table region is not declared as it should be"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        OPEN(f);
        sql(&f, broken[i].sql);
        ck_assert_msg(verify(&f) > 0, "%s", broken[i].sql);
        expect(broken[i].part);
        fixture_release(&f);
    }
}
END_TEST

/* A unique index turns an insert ON CONFLICT into an update or into nothing; what else is added by
 * somebody for himself does no harm. */
START_TEST(a_unique_index_of_another_is_named)
{
    OPEN(f);
    sql(&f, "CREATE TABLE mine(a UNIQUE, b); CREATE UNIQUE INDEX mine_b ON mine(b);"
            "CREATE INDEX mine_too ON ledger(amount)");
    ck_assert_uint_eq(verify(&f), 0);
    sql(&f, "CREATE UNIQUE INDEX theirs ON declaration(kind,id) WHERE kind='zone' AND id=101");
    ck_assert_uint_eq(verify(&f), 1);
    expect_only("The table declaration has other unique indexes than the store's.");
    fixture_release(&f);
}
END_TEST

/* A rowid as SQLite keeps it: 7 bits a byte, the first ones first; numbers of up to 28 bits. */
static size_t varint(int64_t value, uint8_t out[4])
{
    size_t n = value >> 21 ? 4 : value >> 14 ? 3 : 2;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((value >> 7 * (n - 1 - i) & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

/* Puts another key where one stands in the file, which is then out of order. */
static void change_key(fixture *f, int64_t from, int64_t to)
{
    static uint8_t file[1 << 20];
    uint8_t before[4], after[4];
    size_t n = varint(from, before), changed = 0;
    ck_assert_uint_eq(varint(to, after), n);
    FILE *db = fopen(f->path, "r+b");
    ck_assert_ptr_nonnull(db);
    size_t len = fread(file, 1, sizeof file, db);
    for (size_t at = 0; at + n <= len; at++) {
        if (memcmp(file + at, before, n) != 0) continue;
        memcpy(file + at, after, n);
        changed++;
    }
    rewind(db);
    ck_assert_uint_eq(fwrite(file, 1, len, db), len);
    ck_assert_int_eq(fclose(db), 0);
    ck_assert_uint_eq(changed, 1);
}

/* SQLite gives rows of a damaged tree that the statement does not ask for. */
START_TEST(keys_out_of_order_are_found)
{
    OPEN(f);
    tb_row rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = row_of(31, "DE", HOUR + 24 * i, TB_M_REQUESTS, 7);
    fixture_add(&f, rows, 4, 11);
    fixture_fold(&f);
    int64_t series = series_of(&f, TB__SCOPE_ZONE, 31, "DE");
    tb_store_close(f.store);
    change_key(&f, tb__chunk_key(series, TB__GRAIN_HOURS, DAY + 2),
               tb__chunk_key(series, TB__GRAIN_HOURS, 1));
    fixture_open(&f, false);
    verify(&f);
    expect("Pull zone 31, DE, 2026-11: its days are out of order.");
    expect("out of order");
    fixture_release(&f);
}
END_TEST

/* Only seals know: both series hold what they held, and every sum is right. */
START_TEST(series_that_were_swapped_are_found)
{
    static const char swap[] =
        "UPDATE series_placed SET owner=-1 WHERE scope=1 AND owner=999;"
        "UPDATE series_placed SET owner=999 WHERE scope=1 AND owner=998;"
        "UPDATE series_placed SET owner=998 WHERE scope=1 AND owner=-1";
    OPEN(f);
    tb_row row = row_of(998, "ZZ", HOUR + 2, TB_M_REQUESTS, 7);
    fixture_add(&f, &row, 1, 9);
    fixture_place(&f);
    ck_assert_uint_eq(verify(&f), 0);
    edit(f.store->db, swap);
    verify(&f);
    expect("(pull zone 999) is not as it was sealed.");
    expect("(pull zone 998) is not as it was sealed.");
    ck_assert_uint_eq(found.n, 2);
    fixture_release(&f);
}
END_TEST

/* The text with one table for each '@' and the other one for each '#'. */
static void name_tables(const char *from, const char *const in[2], char *to)
{
    for (; *from; from++)
        if (*from == '@' || *from == '#') to += strlen(strcpy(to, in[*from == '#']));
        else *to++ = *from;
    *to = 0;
}

/* What is done to a row of either table: past the triggers, and with them. */
START_TEST(a_row_of_series_is_held_wherever_it_stands)
{
    static const struct {
        const char *sql, *part;
        bool past;
    } done[] = {
        {"UPDATE @ SET id=id+1 WHERE scope=1 AND owner=102", "(pull zone 102) is not as it was sealed", true},
        {"UPDATE @ SET edge=9 WHERE scope=1 AND owner=102", "(pull zone 102) is not as it was sealed", false},
        {"DELETE FROM @ WHERE scope=1 AND owner=102", "Table series has 8 rows; 9 were written.", true},
        {"DELETE FROM @ WHERE scope=1 AND owner=102", "Table series has 8 rows; 9 were written.", false},
        {"INSERT INTO # SELECT * FROM @ WHERE scope=1 AND owner=102", "Series 192 is used 2 times.", true},
        {"INSERT INTO # SELECT * FROM @ WHERE scope=1 AND owner=102", "Series 192 is used 2 times.", false},
        {"INSERT INTO # SELECT scope,owner,edge,id+1,0 FROM @ WHERE scope=1 AND owner=102",
         "Series 192 and 193 are of one owner at one location.", false},
        {"INSERT INTO # SELECT * FROM @; DELETE FROM @", NULL, true},
    };
    for (size_t i = 0; i < 2 * sizeof done / sizeof *done; i++) {
        const char *const in[2] = {i % 2 ? "series_placed" : "series_new", i % 2 ? "series_new" : "series_placed"};
        char text[300];
        OPEN(f);
        name_tables(done[i / 2].sql, in, text);
        if (i % 2 == 0)
            edit(f.store->db, "INSERT INTO series_new SELECT * FROM series_placed; DELETE FROM series_placed");
        ck_assert_uint_eq(verify(&f), 0);
        if (done[i / 2].past) edit(f.store->db, text);
        else sql(&f, text);
        verify(&f);
        if (done[i / 2].part) expect(done[i / 2].part);
        else ck_assert_uint_eq(found.n, 0);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(edge_locations_that_were_swapped_are_found)
{
    OPEN(f);
    edit(f.store->db,
         "UPDATE edge SET code='?' WHERE code='DE'; UPDATE edge SET code='DE' WHERE code='UK';"
         "UPDATE edge SET code='UK' WHERE code='?'");
    verify(&f);
    expect("(DE) is not as it was sealed.");
    expect("(UK) is not as it was sealed.");
    ck_assert_uint_eq(found.n, 2);
    fixture_release(&f);
}
END_TEST

START_TEST(lost_and_moved_countries_are_found)
{
    OPEN(f);
    char text[200];
    snprintf(text, sizeof text, "DELETE FROM country_day WHERE zone=101 AND day=%d", DAY);
    sql(&f, text);
    verify(&f);
    expect("All batches together added 2 of countries' requests; the days sum to 1.");
    expect("All batches together added 30 of countries' bytes; the days sum to 20.");
    ck_assert_uint_eq(found.n, 2);
    fixture_release(&f);
    fill(&f);
    snprintf(text, sizeof text, "UPDATE country_day SET zone=102 WHERE zone=101 AND day=%d", DAY);
    sql(&f, text);
    verify(&f);
    expect_only("Pull zone 102, 2026-11-18: its countries are damaged.");
    fixture_release(&f);
}
END_TEST

START_TEST(a_changed_segment_is_found)
{
    static const struct {
        const char *sql, *part;
    } changes[] = {
        {"UPDATE segment SET hash=zeroblob(16) WHERE id=1", "Segment 1 is not as it was sealed"},
        {"UPDATE segment SET head=zeroblob(16) WHERE id=1", "Segment 1 is not as it was sealed"},
        {"UPDATE segment SET source='other' WHERE id=1", "Segment 1 is not as it was sealed"},
        {"UPDATE segment SET name='' WHERE id=1", "Segment 1 is not as it was sealed"},
        {"UPDATE segment SET name=source,source=name WHERE id=2",
         "Segment 2 is not as it was sealed"},
        {"UPDATE segment SET added_us=1 WHERE id=3", "Segment 3 is not as it was sealed"},
        {"UPDATE segment SET final=0 WHERE id=3", "Segment 3 is not as it was sealed"},
        {"UPDATE segment SET accepted=3,rejected=1 WHERE id=2",
         "Segment 2 accepted 3 lines and added 2 requests"},
        {"UPDATE segment SET sums='{' WHERE id=1", "Segment 1: its sum of ? cannot be read"},
        {"DELETE FROM segment WHERE id=1", "Segment 1 is missing: segment 2 follows segment 0"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        OPEN(f);
        edit(f.store->db, changes[i].sql);
        ck_assert_msg(verify(&f) > 0, "%s", changes[i].sql);
        expect(changes[i].part);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(lost_changed_and_added_rungs_are_found)
{
    static const char *const changes[] = {
        "DELETE FROM rung WHERE length=512", "UPDATE rung SET hash=zeroblob(16) WHERE length=512",
        "UPDATE rung SET length=513 WHERE length=512",
        "INSERT INTO rung VALUES(zeroblob(16),700,zeroblob(16))"};
    static const tb_rung rungs[] = {{512, {1, 2}}, {1024, {3, 4}}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fixture f;
        tb_error err = {0};
        fixture_init(&f);
        for (unsigned known = 0; known < 2; known++) { /* the second time nothing is added */
            tb_segment s = {.kind = TB_BATCH_LOG, .source = "t", .length = 2000, .head = {9, known}};
            ok(tb_store_begin(f.store, &err));
            ok(tb_store_add_rungs(f.store, (tb_hash128){9, 0}, rungs, 2, &err));
            ok(tb_store_add_segment(f.store, &s, NULL, &err));
            ok(tb_store_commit(f.store, &err));
        }
        ck_assert_msg(verify(&f) == 0, "%s", found.text);
        sql(&f, changes[i]);
        verify(&f);
        expect_only("The hashes of inputs' beginnings (rungs) are not those that were written.");
        fixture_release(&f);
    }
}
END_TEST

/* --- segments that are folded --- */

#define SOURCES 3
#define ROUNDS  500 /* a piece of each log in a round */

static void add_pieces(fixture *f, uint64_t round)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    for (uint64_t log = 0; log < SOURCES; log++) {
        tb_segment s = {.kind = TB_BATCH_LOG, .source = "edge-log", .start = round * 100, .length = round * 100 + 100,
                        .head = {log, 1}, .hash = {log, round}, .ambiguous = round, .now_us = NOW_US + (int64_t)round};
        ok(tb_store_add_segment(f->store, &s, NULL, &err));
    }
    ok(tb_store_commit(f->store, &err));
}

static void fold_pieces(fixture *f, size_t most)
{
    tb_ageing room = {.segments = most};
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_drop_aged(f->store, NOW_US + ROUNDS + TB_US_PER_DAY, &room, &err));
    ok(tb_store_commit(f->store, &err));
}

/* A log that forks inside a row is known up to the row's start: so a row covers a mebibyte at most, however many pieces
 * it is made of. */
START_TEST(a_folded_segment_covers_a_mebibyte_at_most)
{
    enum { PIECES = 16, BYTES = 300 << 10 };
    tb_error err = {0};
    fixture f;
    fixture_init(&f);
    sql(&f, "UPDATE meta SET value=15 WHERE name='fold_ids'");
    for (uint64_t i = 0; i < PIECES; i++) {
        const tb_segment s = {.kind = TB_BATCH_LOG, .source = "edge-log", .start = i * BYTES, .length = (i + 1) * BYTES,
                              .head = {1, 1}, .hash = {1, i}, .now_us = NOW_US};
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_add_segment(f.store, &s, NULL, &err));
        ok(tb_store_commit(f.store, &err));
    }
    fold_pieces(&f, SIZE_MAX);
    ck_assert_int_lt(number(&f, "SELECT count(*) FROM segment"), PIECES / 2);
    ck_assert_int_le(number(&f, "SELECT max(length-start) FROM segment"), 1 << 20);
    ck_assert_uint_eq(verify(&f), 0);
    fixture_release(&f);
}
END_TEST

static uint64_t against(fixture *f, const char *digest)
{
    tb_error err = {0};
    uint64_t differences = 99;
    found = (sentences){.n = 0};
    ok(tb_store_verify_against(f->store, digest, on_sentence, &found, &differences, &err));
    return differences;
}

/* Digests of before, of between and of after agree with what is there, and the file grows by logs. */
START_TEST(segments_that_are_folded_stay_anchored)
{
    enum { BLOCK = 256, ANCHORS = 6 };
    static const char *const edits[] = {
        "UPDATE segment SET sums='{\"ambiguous\":\"1\"}' WHERE id=255", "DELETE FROM segment WHERE id=255",
        "UPDATE segment SET hash=zeroblob(16) WHERE id=510", "UPDATE segment SET start=start-100 WHERE id=511",
        "UPDATE segment SET source='x' WHERE id>1490",
    };
    static char digest[ANCHORS][TB_ANCHOR_MAX];
    tb_error err = {0};
    fixture f;
    fixture_init(&f);
    sql(&f, "UPDATE meta SET value=255 WHERE name='fold_ids'");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (round % 100 == 37) ok(tb_store_anchor(f.store, digest[round / 100], &err));
        add_pieces(&f, round);
        if (round % 100 == 80) fold_pieces(&f, 70);
    }
    ok(tb_store_anchor(f.store, digest[ANCHORS - 1], &err));
    fold_pieces(&f, SIZE_MAX);
    const int64_t blocks = SOURCES * ROUNDS / BLOCK, tail = SOURCES * ROUNDS % BLOCK + 1;
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM segment"), SOURCES * blocks + tail);
    ck_assert_msg(verify(&f) == 0, "%s", found.text);
    for (int i = 0; i < ANCHORS; i++) {
        ck_assert_msg(against(&f, digest[i]) == 0, "%d: %s", i, found.text);
        ck_assert_uint_eq(found.n, i < ANCHORS - 2); /* some were folded since that it had one by one */
    }
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        sql(&f, "SAVEPOINT edited");
        edit(f.store->db, edits[i]);
        ck_assert_msg(against(&f, digest[ANCHORS - 1]) == 1, "%s", edits[i]);
        ck_assert_msg(verify(&f) > 0, "%s", edits[i]);
        sql(&f, "ROLLBACK TO edited; RELEASE edited");
    }
    fixture_release(&f);
}
END_TEST

/* Neither those of before, nor those that are not due. */
START_TEST(no_other_segment_changes)
{
    static const char *const edits[] = {
        "DELETE FROM segment WHERE id=4", "UPDATE segment SET start=0 WHERE id=4", "DELETE FROM segment WHERE id=1",
        "UPDATE segment SET start=0,lines_before=0 WHERE id=1", "UPDATE segment SET sums='{}' WHERE id=3",
        "UPDATE segment SET start=start-1,length=length+1 WHERE id=3", "UPDATE segment SET seal=0,hash=head WHERE id=3",
    };
    fixture f;
    fixture_init(&f);
    for (uint64_t round = 0; round < 2; round++)
        add_pieces(&f, round);
    sql(&f, "UPDATE meta SET value=2 WHERE name='segments_before'; UPDATE meta SET value=3 WHERE name='segments_folding'");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *message = NULL;
        ck_assert_int_eq(sqlite3_exec(f.store->db, edits[i], NULL, NULL, &message) & 0xff, SQLITE_CONSTRAINT);
        ck_assert_str_eq(message, "segments are append-only");
        sqlite3_free(message);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(refused_lines_that_were_not_kept_are_no_difference)
{
    fixture f;
    tb_error err = {0};
    tb_segment s = {.kind = TB_BATCH_LOG, .source = "t", .length = 9, .rejected = 7, .final = true};
    fixture_init(&f);
    ok(tb_store_begin(f.store, &err));
    for (uint64_t line = 1; line < 4; line++) /* the feed's room for their text was full then */
        ok(tb_store_add_reject(f.store, &(tb_refused){line, 1, "blank line", "", 0, 0}, &err));
    ok(tb_store_add_segment(f.store, &s, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_msg(verify(&f) == 0, "%s", found.text);
    fixture_release(&f);
}
END_TEST

START_TEST(what_was_declared_changed_deleted_and_restored_agrees)
{
    static const char *const catalogs[] = {
        catalog,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":"
        "\"x\"}],\"load_balancers\":[{\"id\":8,\"account\":1,\"zones\":[101]}]}",
        "{\"accounts\":[]}", catalog, catalog};
    fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof catalogs / sizeof *catalogs; i++) {
        fixture_apply(&f, catalogs[i], NOW_US + (int64_t)i, NULL);
        ck_assert_msg(verify(&f) == 0, "%zu: %s", i, found.text);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(it_reads_one_snapshot_also_inside_a_transaction_of_the_caller)
{
    OPEN(f);
    tb_error err = {0};
    ok(tb_store_read_begin(f.store, &err));
    ck_assert_uint_eq(verify(&f), 0);
    ck_assert_int_eq(sqlite3_get_autocommit(f.store->db), 0);
    tb_store_read_end(f.store);
    fixture_release(&f);
}
END_TEST

START_TEST(the_count_needs_no_listener)
{
    OPEN(f);
    tb_error err = {0};
    uint64_t differences = 0;
    sql(&f, "UPDATE meta SET value=0 WHERE name IN('series_id','newest_hour')");
    ok(tb_store_verify(f.store, NULL, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 2);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store verify");
    TCase *t = tcase_create("verify");
    tcase_add_test(t, a_store_that_only_the_store_wrote_agrees);
    tcase_add_test(t, an_empty_store_agrees);
    tcase_add_test(t, a_month_that_is_not_the_sum_of_its_hours_is_named);
    tcase_add_test(t, a_missing_month_is_named);
    tcase_add_test(t, a_zone_that_is_not_the_sum_of_its_locations_is_named);
    tcase_add_test(t, a_maximum_is_the_larger_not_the_sum);
    tcase_add_test(t, an_account_that_is_not_the_sum_of_its_zones_is_named);
    tcase_add_test(t, usage_that_no_batch_added_is_found);
    tcase_add_test(t, a_lost_day_is_found);
    tcase_add_test(t, a_damaged_chunk_is_named_once_and_does_not_hide_the_rest);
    tcase_add_test(t, a_damaged_month_is_named);
    tcase_add_test(t, hours_past_23_and_days_past_the_month_are_found);
    tcase_add_test(t, an_all_locations_series_is_there_exactly_where_needed);
    tcase_add_test(t, series_of_the_account_and_of_its_zones_go_together);
    tcase_add_test(t, countries_stay_within_the_day);
    tcase_add_test(t, each_broken_reference_is_named);
    tcase_add_test(t, a_unique_index_of_another_is_named);
    tcase_add_test(t, keys_out_of_order_are_found);
    tcase_add_test(t, series_that_were_swapped_are_found);
    tcase_add_test(t, a_row_of_series_is_held_wherever_it_stands);
    tcase_add_test(t, edge_locations_that_were_swapped_are_found);
    tcase_add_test(t, lost_and_moved_countries_are_found);
    tcase_add_test(t, a_changed_segment_is_found);
    tcase_add_test(t, a_folded_segment_covers_a_mebibyte_at_most);
    tcase_add_test(t, segments_that_are_folded_stay_anchored);
    tcase_add_test(t, no_other_segment_changes);
    tcase_add_test(t, lost_changed_and_added_rungs_are_found);
    tcase_add_test(t, refused_lines_that_were_not_kept_are_no_difference);
    tcase_add_test(t, what_was_declared_changed_deleted_and_restored_agrees);
    tcase_add_test(t, it_reads_one_snapshot_also_inside_a_transaction_of_the_caller);
    tcase_add_test(t, the_count_needs_no_listener);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
