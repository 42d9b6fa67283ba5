/* Runs of months: what comes after a month was run is late whatever the run made of it, and is billed
 * once. */
#include "billing_fixture.h"

#include "store/core/internal.h"
#include "store/usage/entry.h"
#include "tollbook/batches.h"

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
    "\"account\":1,\"name\":\"a\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]}";

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, catalog, us_at(9, 1, 0), NULL);
    add_book(f, "a", "2026-01-01T00:00:00Z");
}

static void note(fixture *f, int64_t account, int64_t month, tb_run_outcome outcome,
                 const char *reason)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_note_run(f->store, account, month, outcome, reason, NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

static int64_t rows(fixture *f)
{
    return number(f, "SELECT count(*) FROM late");
}

static size_t waiting(fixture *f, tb_late *ret_first)
{
    tb_error err = {0};
    tb_late *list;
    size_t n;
    ok(tb_store_late(f->store, 0, &list, &n, &err));
    if (n) *ret_first = list[0];
    free(list);
    return n;
}

/* An invoice of account 1 with corrections of one month. */
static tb_code carry(fixture *f, int64_t month, const tb_late *late, tb_invoice *ret, tb_error *err)
{
    bool known;
    *ret = invoice_of(f, 1, month, "6.00");
    ret->finalized_us = us_at(12, 31, 0) + 31 * TB_US_PER_DAY;
    ret->corrects = late;
    ret->n_corrects = 1;
    return try_finalize(f, ret, &known, err);
}

static void make_void(fixture *f, const char *numbered)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_void(f->store, numbered, us_at(12, 31, 0) + 31 * TB_US_PER_DAY, &err));
    ok(tb_store_commit(f->store, &err));
}

START_TEST(usage_of_months_that_were_run_is_late)
{
    static const struct {
        int64_t account;
        tb_run_outcome outcome;
        int64_t late; /* rows of account 1, of account 2 */
        int64_t other;
    } cases[] = {
        {1, TB_RUN_NOTHING, 1, 0},
        {1, TB_RUN_REFUSED, 1, 0},
        {0, TB_RUN_NOTHING, 1, 1},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fixture f;
        tb_late late;
        fill(&f);
        add_bytes(&f, 101, "DE", at(10, 4, 0), 1000);
        note(&f, cases[n].account, OCTOBER, cases[n].outcome, "");
        add_bytes(&f, 101, "DE", at(11, 1, 0), 1);
        add_bytes(&f, 101, "DE", at(9, 30, 23), 1);
        ck_assert_int_eq(rows(&f), 0);
        add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
        ck_assert_int_eq(rows(&f), cases[n].late);
        add_bytes(&f, 201, "DE", at(10, 5, 0), 7);
        ck_assert_int_eq(rows(&f), cases[n].late + cases[n].other);
        ck_assert_uint_eq(waiting(&f, &late), (size_t)(cases[n].late + cases[n].other));
        ck_assert(late.account == 1 && late.month == OCTOBER && late.deltas == 1);
        ck_assert(late.outcome == cases[n].outcome && !tb_late_is_billed(&late));
        ck_assert_str_eq(late.invoice, "");
        source in = input_at(&f, 1, OCTOBER, late.run, NOW_US);
        ck_assert_int_eq((int64_t)bytes_in(&in), 1000);
        source_release(&in);
        verify_finds(&f, NULL);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(usage_that_finds_its_account_after_a_run_is_late)
{
    fixture f;
    tb_late late;
    fill(&f);
    add_bytes(&f, 301, "DE", at(10, 5, 0), 7); /* nobody's */
    note(&f, 0, OCTOBER, TB_RUN_NOTHING, "");
    ck_assert_uint_eq(waiting(&f, &late), 0);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"},{\"id\":3,"
                  "\"name\":\"c\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":"
                  "201,\"account\":2,\"name\":\"b\"},{\"id\":301,\"account\":3,\"name\":\"c\"}]}",
                  NOW_US, NULL);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    ck_assert(late.account == 3 && late.deltas == 1 && late.outcome == TB_RUN_NOTHING);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(the_same_run_again_changes_nothing)
{
    fixture f;
    tb_error err = {0};
    uint64_t before, after;
    fill(&f);
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    note(&f, 2, OCTOBER, TB_RUN_REFUSED, "why");
    note(&f, 0, OCTOBER, TB_RUN_NOTHING, "");
    ok(tb_store_version(f.store, &before, &err));
    for (int n = 0; n < 2; n++) {
        note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
        note(&f, 2, OCTOBER, TB_RUN_REFUSED, "why");
        note(&f, 0, OCTOBER, TB_RUN_NOTHING, "");
    }
    ok(tb_store_version(f.store, &after, &err));
    ck_assert_uint_eq(before, after);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM month_run"), 3);
    /* another reason, another outcome, or usage since: a row */
    note(&f, 2, OCTOBER, TB_RUN_REFUSED, "another");
    note(&f, 2, OCTOBER, TB_RUN_NOTHING, "");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM month_run"), 6);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_long_reason_is_cut_between_characters)
{
    char reason[400] = "x";
    fixture f;
    for (size_t n = 1; n + 2 < sizeof reason; n += 2)
        memcpy(reason + n, "\xc3\xa9", 3);
    fill(&f);
    note(&f, 1, OCTOBER, TB_RUN_REFUSED, reason);
    note(&f, 1, OCTOBER, TB_RUN_REFUSED, reason);
    ck_assert_int_eq(number(&f, "SELECT max(length(CAST(reason AS BLOB))) FROM month_run"),
                     TB_RUN_REASON_MAX - 1);
    ck_assert_int_eq(number(&f, "SELECT length(reason) FROM month_run"), TB_RUN_REASON_MAX / 2);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM month_run"), 1);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(what_was_billed_elsewhere_is_not_billed_again)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next, more, own;
    char where[24];
    tb_billed_by *chain;
    size_t n;
    bool known;
    fill(&f);
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    tb_late wrong = late;
    wrong.since++;
    ck_assert_int_eq(carry(&f, NOVEMBER, &wrong, &next, &err), TB_E_VALIDATION);
    ok(carry(&f, NOVEMBER, &late, &next, &err));
    ck_assert_int_eq(carry(&f, NOVEMBER + 1, &late, &more, &err), TB_E_VALIDATION);
    ck_assert_uint_eq(waiting(&f, &wrong), 0);
    ok(tb_store_billed_elsewhere(f.store, 1, OCTOBER, where, &err));
    ck_assert_str_eq(where, next.number);
    ok(tb_store_billed_chain(f.store, 1, OCTOBER, late.since, &chain, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(chain);
    ok(tb_store_billed_chain(f.store, 1, OCTOBER, next.watermark, &chain, &n, &err));
    ck_assert(n == 1 && chain[0].is_invoice);
    ck_assert_str_eq(chain[0].number, next.number);
    free(chain);
    own = invoice_of(&f, 1, OCTOBER, "5.00");
    ck_assert_int_eq(try_finalize(&f, &own, &known, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, next.number));
    /* nor past the code */
    sql_refused(&f,
                "INSERT INTO invoice SELECT 2,year,2,'2026-000002','invoice','final',account,681,"
                "watermark,since,currency,total,sha256,sha256,'',finalized_us,voided_us,document,"
                "0 FROM invoice",
                "no invoice beside them");
    sql_refused(&f, "INSERT INTO correction SELECT 2,account,month,since,0 FROM correction",
                "billed once");
    /* a second batch goes on from the first */
    add_bytes(&f, 101, "DE", at(10, 6, 0), 7);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    ck_assert(late.since == next.watermark && late.since != late.run && late.deltas == 1);
    ok(carry(&f, NOVEMBER + 1, &late, &more, &err));
    verify_finds(&f, NULL);
    make_void(&f, more.number);
    make_void(&f, next.number);
    ok(tb_store_billed_elsewhere(f.store, 1, OCTOBER, where, &err));
    ck_assert_str_eq(where, "");
    ck_assert_uint_eq(waiting(&f, &late), 1);
    ck_assert(late.since == late.run && late.deltas == 2);
    ok(try_finalize(&f, &own, &known, &err) == TB_E_VALIDATION ? TB_OK : TB_E_INTERNAL);
    tb_invoice fresh = finalize(&f, 1, OCTOBER, "5.00");
    ck_assert_uint_eq(waiting(&f, &late), 0);
    verify_finds(&f, NULL);
    tb_invoice_release(&fresh);
    tb_invoice_release(&next);
    tb_invoice_release(&more);
    fixture_release(&f);
}
END_TEST

static void has_book(fixture *f, uint64_t watermark, const char *id)
{
    source in = input_at(f, 1, OCTOBER, watermark, NOW_US);
    ck_assert_str_eq(in.s.input.parts[in.s.input.n_parts - 1].book->id, id);
    source_release(&in);
}

static void supersede(fixture *f, const char *id, const char *old)
{
    char text[512];
    tb_error err = {0};
    tb_book book;
    bool known;
    snprintf(text, sizeof text,
             "{\"book\":\"%s\",\"supersedes\":\"%s\",\"currency\":\"USD\",\"effective_from\":"
             "\"2026-01-01T00:00:00Z\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
             "\"EU\":\"0.02\"}}}}",
             id, old);
    ok(tb_book_parse(text, strlen(text), NULL, &book, &err));
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_book(f->store, &book, NOW_US, &known, &err));
    ok(tb_store_commit(f->store, &err));
    tb_book_release(&book);
}

/* The prices of the first correction that stands hold for all that follow. */
START_TEST(a_month_keeps_the_prices_it_was_billed_with_first)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next, more;
    fill(&f);
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    supersede(&f, "b", "a");
    has_book(&f, TB_NOW, "b"); /* nothing is billed: today's */
    add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    has_book(&f, late.since, "a");
    ok(carry(&f, NOVEMBER, &late, &next, &err));
    supersede(&f, "c", "b");
    has_book(&f, TB_NOW, "b");
    has_book(&f, next.watermark, "b");
    add_bytes(&f, 101, "DE", at(10, 6, 0), 7);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    ok(carry(&f, NOVEMBER + 1, &late, &more, &err));
    has_book(&f, more.watermark, "b");
    has_book(&f, TB_NOW, "b");
    make_void(&f, more.number);
    has_book(&f, TB_NOW, "b");
    make_void(&f, next.number);
    has_book(&f, TB_NOW, "c");
    has_book(&f, more.watermark, "b"); /* as it was */
    has_book(&f, next.watermark, "b");
    ck_assert_uint_eq(waiting(&f, &late), 1);
    tb_invoice_release(&next);
    ok(carry(&f, NOVEMBER, &late, &next, &err));
    has_book(&f, TB_NOW, "c");
    has_book(&f, next.watermark, "c");
    verify_finds(&f, NULL);
    tb_invoice_release(&next);
    tb_invoice_release(&more);
    fixture_release(&f);
}
END_TEST

START_TEST(billed_months_count_corrections_of_months_without_an_invoice)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next;
    tb_billed_month *list;
    size_t n;
    fill(&f);
    note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
    ok(tb_store_billed_months(f.store, 0, INT64_MIN, INT64_MAX, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(list);
    ck_assert_uint_eq(waiting(&f, &late), 1);
    ok(carry(&f, NOVEMBER, &late, &next, &err));
    ok(tb_store_billed_months(f.store, 1, OCTOBER, NOVEMBER, &list, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert(list[0].month == OCTOBER && list[0].watermark == next.watermark);
    ck_assert_str_eq(list[0].invoice, "");
    ck_assert_str_eq(list[0].currency, "USD");
    ck_assert_str_eq(list[1].invoice, next.number);
    free(list);
    make_void(&f, next.number);
    ok(tb_store_billed_months(f.store, 0, INT64_MIN, INT64_MAX, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    free(list);
    tb_invoice_release(&next);
    fixture_release(&f);
}
END_TEST

START_TEST(an_undone_run_makes_nothing_late)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_note_run(f.store, 1, OCTOBER, TB_RUN_NOTHING, "", NOW_US, &err));
    tb_store_rollback(f.store);
    add_bytes(&f, 101, "DE", at(10, 5, 0), 5);
    ck_assert_int_eq(rows(&f), 0);
    ck_assert_int_eq(number(&f, "SELECT n FROM head WHERE name='month_run'"), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_changed_runs)
{
    static const struct {
        const char *sql, *found;
    } cases[] = {
        {"UPDATE month_run SET watermark=watermark-1 WHERE outcome='nothing'", "is not as it was sealed"},
        {"UPDATE month_run SET run_us=run_us+1 WHERE outcome='nothing'", "is not as it was sealed"},
        {"UPDATE month_run SET reason='x' WHERE outcome='refused'", "is not as it was sealed"},
        {"UPDATE month_run SET month=month+1 WHERE account=0", "is not as it was sealed"},
        {"UPDATE month_run SET account=2 WHERE outcome='refused'", "is not as it was sealed"},
        {"UPDATE month_run SET outcome='refused' WHERE id=2", "is not as it was sealed"},
        {"UPDATE month_run SET seal=seal+1 WHERE id=2", "is not as it was sealed"},
        {"UPDATE month_run SET watermark=watermark-1 WHERE outcome='final'", "Run 1 is of invoice"},
        {"UPDATE month_run SET month=month-1 WHERE outcome='final'", "Run 1 is of invoice"},
        {"UPDATE month_run SET account=2 WHERE outcome='final'", "Run 1 is of invoice"},
        {"UPDATE month_run SET run_us=run_us+1 WHERE outcome='final'", "Run 1 is of invoice"},
        {"UPDATE month_run SET reason='x' WHERE outcome='final'", "Run 1 is of invoice"},
        {"UPDATE month_run SET seal=1 WHERE outcome='final'", "Run 1 is not as it was sealed"},
        {"UPDATE month_run SET invoice='x' WHERE outcome='final'", "has no run of its month"},
        {"DELETE FROM month_run WHERE outcome='final'", "has no run of its month"},
        {"DELETE FROM month_run WHERE id=2", "Table month_run has 3 rows; 4 were written"},
        {"DELETE FROM month_run WHERE id=(SELECT max(id) FROM month_run)",
         "Table month_run has 3 rows; 4 were written"},
        {"INSERT INTO month_run SELECT 5,account,month,watermark,outcome,invoice,run_us,reason,seal"
         " FROM month_run WHERE id=2",
         "Run 5 is of version 3, before that of run 4"},
        {"UPDATE head SET seals=seals+1 WHERE name='month_run'",
         "The rows of table month_run are not all those that were written"},
        {"UPDATE month_run SET watermark=99 WHERE id=4", "of data version 99; the file is at"},
    };
    fixture f;
    fixture_image run;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    note(&f, 2, OCTOBER, TB_RUN_NOTHING, "");
    note(&f, 1, NOVEMBER, TB_RUN_REFUSED, "why");
    note(&f, 0, OCTOBER, TB_RUN_NOTHING, "");
    verify_finds(&f, NULL);
    sql_refused(&f, "UPDATE month_run SET run_us=0", "append-only");
    sql_refused(&f, "DELETE FROM month_run", "append-only");
    sql_refused(&f,
                "INSERT INTO month_run SELECT 7,account,month,watermark,outcome,'',run_us,"
                "reason,seal FROM month_run WHERE id=2",
                "in turn");
    sql(&f, "DROP TRIGGER month_run_no_update");
    sql(&f, "DROP TRIGGER month_run_no_delete");
    sql(&f, "DROP TRIGGER month_run_in_turn");
    fixture_keep(&f, &run);
    fixture_release(&f);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fixture_again(&f, &run);
        sql(&f, cases[n].sql);
        verify_finds(&f, cases[n].found);
        fixture_release(&f);
    }
    free(run.bytes);
    tb_invoice_release(&i);
}
END_TEST

START_TEST(verify_finds_what_is_billed_twice)
{
    static const struct {
        const char *sql, *found;
    } cases[] = {
        {"UPDATE correction SET since=(SELECT min(since) FROM correction)", "what stands has billed"},
        {"UPDATE correction SET since=since+1", "where nothing ended"},
        {"UPDATE correction SET month=month-1", "where nothing ended"},
        {"UPDATE invoice SET month=681 WHERE id=2", "that 2027-000001 has billed already"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fixture f;
        tb_error err = {0};
        tb_late late;
        tb_invoice next, more;
        fill(&f);
        note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
        add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
        ck_assert_uint_eq(waiting(&f, &late), 1);
        ok(carry(&f, NOVEMBER, &late, &next, &err));
        add_bytes(&f, 101, "DE", at(10, 6, 0), 7);
        ck_assert_uint_eq(waiting(&f, &late), 1);
        ok(carry(&f, NOVEMBER + 1, &late, &more, &err));
        verify_finds(&f, NULL);
        sql(&f, "DROP TRIGGER correction_no_update");
        sql(&f, "DROP TRIGGER invoice_no_update");
        sql(&f, cases[n].sql);
        verify_finds(&f, cases[n].found);
        tb_invoice_release(&next);
        tb_invoice_release(&more);
        fixture_release(&f);
    }
}
END_TEST

/* --- numbers that no row can have --- */

static void seal_run(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_int64(ctx, tb__lsm_seal(sqlite3_value_int64(argv[0]), TB__LSM_COUNTERS, 0, 1, 0, "", 0));
}

static void damage(fixture *f, const char *text)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(f->path, &db), SQLITE_OK);
    sqlite3_create_function(db, "tb_test_seal", 1, SQLITE_UTF8, NULL, seal_run, NULL, NULL);
    edit(db, text);
    sqlite3_close(db);
}

#define TOO_LARGE "9007199254740992" /* 2^53 */
#define LARGEST   "9223372036854775807"

static tb_code add_usage(fixture *f, tb_error *err)
{
    static uint64_t number = 2000;
    const tb_row rows[2] = {row_of(101, "DE", (int32_t)at(10, 6, 0), TB_M_BYTES, 7),
                            row_of(101, "FR", (int32_t)at(10, 6, 0), TB_M_BYTES, 7)};
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {++number, 1},
                          .head = {number, 1}, .accepted = 2, .final = true, .now_us = NOW_US};
    tb_code code = add_rows(f, rows, 2, err);
    return code ? code : tb_store_add_segment(f->store, &segment, NULL, err);
}

static tb_code add_run(fixture *f, tb_error *err)
{
    tb_code code = tb_store_group_batches(f->store, true, err);
    return code ? code : add_usage(f, err);
}

static tb_code read_month(fixture *f, tb_error *err)
{
    tb_bill_source bill;
    tb_code code = tb_store_bill_input(f->store, &(tb_bill_query){1, OCTOBER, TB_NOW, NULL, 0, NOW_US}, &bill, err);
    if (!code) tb_bill_source_release(&bill);
    return code;
}

static tb_code read_zone(fixture *f, tb_error *err)
{
    const tb_view view = {1, 101, -1};
    tb_series series;
    tb_code code = tb_series_init(&series, (tb_range){at(10, 1, 0), 31 * 24, true}, TB_METRIC_BIT(TB_M_BYTES), NULL, err);
    if (!code) code = tb_store_read_series(f->store, &view, &series, err);
    tb_series_release(&series);
    return code;
}

static tb_code note_month(fixture *f, tb_error *err)
{
    return tb_store_note_run(f->store, 2, OCTOBER, TB_RUN_NOTHING, "", NOW_US, err);
}

static tb_code make_invoice(fixture *f, tb_error *err)
{
    tb_invoice i = invoice_of(f, 2, OCTOBER, "1.00");
    bool known;
    tb_code code = tb_store_finalize(f->store, &i, finish_text, &i, &known, err);
    tb_invoice_release(&i);
    return code;
}

START_TEST(a_number_that_no_row_can_have_is_damage)
{
    static const struct {
        const char *sql;
        tb_code (*act)(fixture *f, tb_error *err);
    } cases[] = {
        {"UPDATE segment SET id=" TOO_LARGE " WHERE id=2", add_usage},
        {"UPDATE segment SET id=" LARGEST " WHERE id=2", add_usage},
        {"UPDATE edge SET id=" TOO_LARGE, add_usage},
        {"UPDATE edge SET id=" LARGEST, add_usage},
        {"UPDATE edge SET id=1<<45", add_usage},
        {"UPDATE series_placed SET edge=1<<45 WHERE edge>0;UPDATE series_new SET edge=1<<45 WHERE edge>0", add_usage},
        {"UPDATE late SET id=" LARGEST, add_usage},
        {"UPDATE meta SET value=" LARGEST " WHERE name='data_version'", add_usage},
        {"UPDATE meta SET value=" LARGEST " WHERE name='series_id'", add_usage},
        {"UPDATE meta SET value=1<<46 WHERE name='series_id'", add_usage},
        {"UPDATE series_placed SET id=1<<46;UPDATE series_new SET id=1<<46", add_usage},
        {"INSERT INTO usage_run VALUES(" TOO_LARGE ",0,0,1,0,tb_test_seal(" TOO_LARGE "),x'')", add_run},
        {"INSERT INTO usage_run VALUES(" LARGEST ",0,0,1,0,tb_test_seal(" LARGEST "),x'')", add_run},
        {"INSERT INTO usage_run VALUES(" TOO_LARGE ",0,0,1,0,tb_test_seal(" TOO_LARGE "),x'')", read_month},
        {"UPDATE series_placed SET id=1<<46;UPDATE series_new SET id=1<<46", read_zone},
        {"UPDATE month_run SET id=" TOO_LARGE " WHERE id=(SELECT max(id) FROM month_run)", note_month},
        {"UPDATE month_run SET id=" LARGEST " WHERE id=(SELECT max(id) FROM month_run)", note_month},
        {"UPDATE invoice SET id=" LARGEST, make_invoice},
        {"UPDATE invoice SET serial=" LARGEST, make_invoice},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fixture f;
        tb_error err = {0};
        fixture_init_in_file(&f);
        fixture_apply(&f, catalog, us_at(9, 1, 0), NULL);
        add_book(&f, "a", "2026-01-01T00:00:00Z");
        add_bytes(&f, 101, "DE", at(10, 4, 0), 1000);
        tb_invoice first = finalize(&f, 1, OCTOBER, "6.00");
        tb_invoice_release(&first);
        note(&f, 1, OCTOBER, TB_RUN_NOTHING, "");
        add_bytes(&f, 101, "DE", at(10, 5, 0), 7);
        tb_store_close(f.store);
        damage(&f, cases[n].sql);
        fixture_open(&f, true);
        ok(tb_store_begin(f.store, &err));
        const tb_code code = cases[n].act(&f, &err);
        const tb_code end = code ? code : tb_store_commit(f.store, &err);
        ck_assert_msg(end == TB_E_CORRUPT, "%s: %s: %s", cases[n].sql, tb_code_name(end), err.message);
        ck_assert_msg(strstr(err.message, "estore a backup") != NULL, "%s: %s", cases[n].sql, err.message);
        if (tb_store_begin(f.store, &err) == TB_OK) tb_store_rollback(f.store);
        fixture_release(&f);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("runs");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, usage_of_months_that_were_run_is_late);
    tcase_add_test(t, usage_that_finds_its_account_after_a_run_is_late);
    tcase_add_test(t, the_same_run_again_changes_nothing);
    tcase_add_test(t, a_long_reason_is_cut_between_characters);
    tcase_add_test(t, what_was_billed_elsewhere_is_not_billed_again);
    tcase_add_test(t, a_month_keeps_the_prices_it_was_billed_with_first);
    tcase_add_test(t, billed_months_count_corrections_of_months_without_an_invoice);
    tcase_add_test(t, an_undone_run_makes_nothing_late);
    tcase_add_test(t, verify_finds_changed_runs);
    tcase_add_test(t, verify_finds_what_is_billed_twice);
    tcase_add_test(t, a_number_that_no_row_can_have_is_damage);
    Suite *s = suite_create("store_runs");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
