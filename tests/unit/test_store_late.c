/* Late usage: what comes after an invoice is kept apart too, so that the month reads as it stood.
 */
#include "billing_fixture.h"

#include "tollbook/ledgerstore.h"

static const char catalog[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
    "\"account\":1,\"name\":\"a\"},{\"id\":201,\"account\":2,\"name\":\"b\"}],\"load_balancers\":["
    "{\"id\":7,\"account\":1,\"zones\":[101]}]}";

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, catalog, us_at(9, 1, 0), NULL);
    add_book(f, "a", "2026-01-01T00:00:00Z");
    add_bytes(f, 101, "DE", at(10, 4, 0), 1000);
}

static int64_t rows(fixture *f)
{
    return number(f, "SELECT count(*) FROM late");
}

static size_t waiting(fixture *f, int64_t account, tb_late *ret_first)
{
    tb_error err = {0};
    tb_late *list;
    size_t n;
    ok(tb_store_late(f->store, account, &list, &n, &err));
    if (n) *ret_first = list[0];
    free(list);
    return n;
}

START_TEST(usage_of_months_without_invoice_is_not_late)
{
    fixture f;
    tb_late late;
    fill(&f);
    ck_assert_int_eq(rows(&f), 0);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(11, 1, 0), 1);  /* another month, later */
    add_bytes(&f, 101, "DE", at(9, 30, 23), 1); /* another month, earlier */
    add_bytes(&f, 201, "DE", at(10, 4, 0), 1);  /* another account */
    add_bytes(&f, 999, "DE", at(10, 4, 0), 1);  /* nobody's */
    ck_assert_int_eq(rows(&f), 0);
    ck_assert_uint_eq(waiting(&f, 0, &late), 0);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

static tb_code try_close(fixture *f, const tb_closing *of, int64_t month)
{
    static char text[] = "{\"accruals\":[],\"codes\":{},\"reversed\":[],\"reversed_codes\":{}}";
    tb_closing closing = *of;
    tb_error err = {0};
    closing.month = month;
    closing.closed_us = NOW_US;
    closing.document = text;
    closing.len = strlen(text);
    ok(tb_store_begin(f->store, &err));
    tb_code code = tb_store_close_month(f->store, &closing, &err);
    if (code) tb_store_rollback(f->store);
    else ok(tb_store_commit(f->store, &err));
    return code;
}

START_TEST(nothing_is_closed_where_what_it_rests_on_has_moved)
{
    fixture f;
    tb_error err = {0};
    tb_closing basis = {.document = NULL};
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER - 1, "5.00");
    ok(tb_store_next_closing(f.store, &basis, &err));
    add_bytes(&f, 101, "DE", at(11, 1, 0), 1); /* of a month that it does not accrue */
    tb_closing again = basis;
    again.id++;
    ck_assert_int_eq(try_close(&f, &again, OCTOBER), TB_E_BUSY); /* another one was made */
    add_bytes(&f, 101, "DE", at(9, 1, 0), 1);
    ck_assert_int_eq(try_close(&f, &basis, OCTOBER), TB_E_BUSY);
    ok(tb_store_next_closing(f.store, &basis, &err));
    ok(try_void(&f, i.number, &err));
    ck_assert_int_eq(try_close(&f, &basis, OCTOBER), TB_E_BUSY);
    ok(tb_store_next_closing(f.store, &basis, &err));
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_set_ledger_begin(f.store, OCTOBER - 2, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(try_close(&f, &basis, OCTOBER), TB_E_BUSY);
    ok(tb_store_next_closing(f.store, &basis, &err));
    ok(try_close(&f, &basis, OCTOBER));
    ck_assert_int_eq(rows(&f), 1); /* of September, which was run */
    add_bytes(&f, 201, "DE", at(10, 5, 0), 7); /* from now on, run or not */
    add_bytes(&f, 201, "DE", at(11, 5, 0), 7);
    ck_assert_int_eq(rows(&f), 2);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_look_back_that_fails_leaves_today)
{
    fixture f;
    tb_error err = {0};
    tb_closing basis = {.document = NULL};
    fill(&f);
    ok(tb_store_next_closing(f.store, &basis, &err));
    sql(&f, "CREATE TEMP VIEW zone AS SELECT 1");
    ck_assert_int_ne(tb_store_look_back(f.store, &basis, &err), TB_OK);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM temp.sqlite_schema WHERE type='view'"), 0);
    ok(tb_store_look_back(f.store, &basis, &err));
    ok(tb_store_look_forward(f.store, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(a_month_reads_as_it_stood_at_any_watermark)
{
    fixture f;
    tb_error err = {0};
    uint64_t marks[3];
    char hashes[3][33];
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    static const uint64_t more[] = {1, 20, 300};
    for (int n = 0; n < 3; n++) {
        ok(tb_store_version(f.store, &marks[n], &err));
        source in = input_of(&f, 1, OCTOBER);
        memcpy(hashes[n], in.s.input.bytes[0].evidence.hash, 33);
        source_release(&in);
        add_bytes(&f, 101, n == 1 ? "UK" : "DE", at(10, 4 + n, 5), more[n]);
    }
    ck_assert_int_eq(rows(&f), 3);
    static const int64_t sums[] = {1000, 1001, 1021};
    for (int n = 0; n < 3; n++) {
        source in = input_at(&f, 1, OCTOBER, marks[n], NOW_US);
        ck_assert_int_eq((int64_t)bytes_in(&in), sums[n]);
        ck_assert_str_eq(in.s.input.bytes[0].evidence.hash, hashes[n]);
        ck_assert_uint_eq(in.s.watermark, marks[n]);
        source_release(&in);
    }
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1321);
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_cut_day_is_read_back_by_its_hours)
{
    fixture f;
    fill(&f);
    add_book(&f, "b", "2026-10-04T12:00:00Z");
    add_bytes(&f, 101, "DE", at(10, 4, 13), 2000);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 4, 11), 1);
    add_bytes(&f, 101, "DE", at(10, 4, 12), 2);
    source in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_uint_eq(in.s.input.n_bytes, 2);
    ck_assert_int_eq((int64_t)in.s.input.bytes[0].bytes, 1000);
    ck_assert_int_eq((int64_t)in.s.input.bytes[1].bytes, 2000);
    source_release(&in);
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)in.s.input.bytes[0].bytes, 1001);
    ck_assert_int_eq((int64_t)in.s.input.bytes[1].bytes, 2002);
    source_release(&in);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(balancer_rows_and_attached_zones_are_late_too)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_row row = {.balancer = true,
                  .id = 7,
                  .hour = (int32_t)at(10, 9, 3),
                  .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    row.value[TB_M_REQUESTS] = 50;
    fixture_add(&f, &row, 1, 1);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    row.value[TB_M_REQUESTS] = 7;
    fixture_add(&f, &row, 1, 2);
    row.hour = (int32_t)at(11, 9, 3);
    fixture_add(&f, &row, 1, 3);
    row.id = 8; /* nobody's */
    row.hour = (int32_t)at(10, 9, 3);
    fixture_add(&f, &row, 1, 4);
    tb_hit hit = {.zone = 101,
                  .bytes = 0,
                  .hour = (int32_t)at(10, 9, 4),
                  .status = 200,
                  .edge = "DE",
                  .edge_len = 2,
                  .cache = TB_CACHE_REVALIDATED};
    tb_rollup *rollup = tb_rollup_new(1 << 10, NULL);
    ok(tb_rollup_add_hits(rollup, &hit, 1, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    tb_segment s = {.kind = TB_BATCH_LOG,
                    .source = "test",
                    .length = 1,
                    .hash = {77, 1},
                    .head = {77, 2},
                    .accepted = 1,
                    .final = true,
                    .now_us = NOW_US};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_add_usage(f.store, cursor, &err));
    ok(tb_store_add_segment(f.store, &s, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    ck_assert_int_eq(rows(&f), 2);
    source in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_int_eq((int64_t)in.s.input.balancers[0].requests, 50);
    source_release(&in);
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)in.s.input.balancers[0].requests, 58);
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(usage_that_finds_its_account_late_is_late)
{
    fixture f;
    tb_late late;
    fill(&f);
    add_bytes(&f, 102, "DE", at(10, 5, 0), 70);
    add_bytes(&f, 102, "DE", at(11, 5, 0), 7);
    tb_row row = {.balancer = true,
                  .id = 8,
                  .hour = (int32_t)at(10, 9, 3),
                  .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    row.value[TB_M_REQUESTS] = 50;
    fixture_add(&f, &row, 1, 1);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    fixture_apply(
        &f,
        "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":["
        "{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"c\""
        "}],\"load_balancers\":[{\"id\":8,\"account\":1,\"zones\":[]}]}",
        NOW_US, NULL);
    ck_assert_int_eq(rows(&f), 2);
    ck_assert_uint_eq(waiting(&f, 1, &late), 1);
    ck_assert_uint_eq(late.deltas, 2);
    source in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1000);
    ck_assert_uint_eq(in.s.input.n_balancers, 1); /* 7: it was there then */
    source_release(&in);
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1070);
    ck_assert_uint_eq(in.s.input.n_balancers, 2);
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(an_undone_batch_leaves_nothing_late)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    const tb_row row = row_of(101, "DE", (int32_t)at(10, 5, 0), TB_M_BYTES, 4);
    ok(tb_store_begin(f.store, &err));
    ok(add_rows(&f, &row, 1, &err));
    ck_assert_int_eq(rows(&f), 1);
    tb_store_rollback(f.store);
    ck_assert_int_eq(rows(&f), 0);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ok(add_rows(&f, &row, 1, &err));
    tb_store_back_to_mark(f.store);
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(rows(&f), 0);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_batch_that_fails_leaves_nothing_for_the_next)
{
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(11, 1, 0), TB_COUNTER_MAX);
    const tb_row full[2] = {row_of(101, "DE", (int32_t)at(10, 5, 0), TB_M_BYTES, 4),
                            row_of(101, "DE", (int32_t)at(11, 1, 0), TB_M_BYTES, 1)};
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_mark(f.store, &err));
    ck_assert_int_eq(add_rows(&f, full, 2, &err), TB_E_OVERFLOW);
    tb_store_back_to_mark(f.store);
    ok(tb_store_commit(f.store, &err));
    add_bytes(&f, 101, "DE", at(10, 6, 0), 7);
    ck_assert_int_eq(rows(&f), 1);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* Each question between rows of usage makes these land: there is one for thousands of late days. */
START_TEST(many_late_days_are_asked_about_together)
{
    enum { EDGES = 170, DAYS = 30 };
    static tb_row list[EDGES * DAYS];
    fixture f;
    tb_error err = {0};
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    sqlite3_stmt *next;
    ok(tb__sql(f.store, TB__SQL_LATE_NEXT, &next, &err));
    sqlite3_stmt_status(next, SQLITE_STMTSTATUS_RUN, 1);
    for (int n = 0; n < EDGES * DAYS; n++) {
        const char edge[3] = {(char)('A' + n / DAYS / 26), (char)('A' + n / DAYS % 26), 0};
        list[n] = row_of(101, edge, (int32_t)at(10, 1 + n % DAYS, 3), TB_M_BYTES, 1 + (uint64_t)n);
    }
    fixture_add(&f, list, EDGES * DAYS, 1);
    ck_assert_int_le(sqlite3_stmt_status(next, SQLITE_STMTSTATUS_RUN, 0), 2);
    ck_assert_int_eq(rows(&f), EDGES * DAYS);
    add_bytes(&f, 101, "DE", at(10, 6, 0), 7);
    ck_assert_int_eq(number(&f, "SELECT max(id) FROM late"), EDGES * DAYS + 1);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* An invoice that was undone must not leave the month marked. */
START_TEST(an_undone_invoice_makes_nothing_late)
{
    fixture f;
    tb_error err = {0};
    bool known;
    fill(&f);
    tb_invoice i = invoice_of(&f, 1, OCTOBER, "5.00");
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_finalize(f.store, &i, finish_text, &i, &known, &err));
    const tb_row row = row_of(101, "DE", (int32_t)at(10, 5, 0), TB_M_BYTES, 4);
    ok(add_rows(&f, &row, 1, &err));
    ck_assert_int_eq(rows(&f), 1);
    tb_store_rollback(f.store);
    add_bytes(&f, 101, "DE", at(10, 5, 0), 5);
    ck_assert_int_eq(rows(&f), 0);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* --- corrections --- */

static tb_code correct(fixture *f, int64_t month, const char *total, const tb_late *late,
                       tb_invoice *ret, tb_error *err)
{
    bool known;
    *ret = invoice_of(f, 1, month, total);
    ret->finalized_us = us_at(12, 5, 0);
    ret->corrects = late;
    ret->n_corrects = 1;
    return try_finalize(f, ret, &known, err);
}

START_TEST(late_usage_waits_until_an_invoice_corrects_it)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    add_bytes(&f, 101, "UK", at(10, 5, 0), 4);
    ck_assert_uint_eq(waiting(&f, 2, &late), 0);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ck_assert_int_eq(late.account, 1);
    ck_assert_int_eq(late.month, OCTOBER);
    ck_assert_str_eq(late.invoice, i.number);
    ck_assert_uint_eq(late.since, i.watermark);
    ck_assert_uint_eq(late.run, i.watermark);
    ck_assert_uint_eq(late.deltas, 2);
    ok(correct(&f, NOVEMBER, "6.00", &late, &next, &err));
    ck_assert_uint_eq(waiting(&f, 0, &late), 0);
    uint64_t billed = next.watermark;
    add_bytes(&f, 101, "UK", at(10, 6, 0), 4);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ck_assert_uint_eq(late.since, billed);
    ck_assert_uint_eq(late.run, i.watermark);
    ck_assert_uint_eq(late.deltas, 1);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    tb_invoice_release(&next);
    fixture_release(&f);
}
END_TEST

START_TEST(nothing_is_corrected_twice)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    tb_late wrong = late;
    wrong.since++;
    ck_assert_int_eq(correct(&f, NOVEMBER, "6.00", &wrong, &next, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "corrects");
    ck_assert_int_eq(correct(&f, OCTOBER - 1, "6.00", &late, &next, &err), TB_E_VALIDATION);
    ok(correct(&f, NOVEMBER, "6.00", &late, &next, &err));
    tb_invoice_release(&next);
    ck_assert_int_eq(correct(&f, NOVEMBER + 1, "6.00", &late, &next, &err), TB_E_VALIDATION);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_credit_note_corrects_its_own_month)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    bool known;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    tb_invoice credit = invoice_of(&f, 1, OCTOBER, "1.00");
    snprintf(credit.kind, sizeof credit.kind, "credit_note");
    credit.since = late.since;
    ck_assert_int_eq(try_finalize(&f, &credit, &known, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "total");
    snprintf(credit.total, sizeof credit.total, "-1.00");
    ok(try_finalize(&f, &credit, &known, &err));
    ck_assert_str_eq(credit.number, "2026-000002");
    tb_decimal balance;
    ok(tb_store_balance(f.store, 1, &balance, &err));
    ck_assert_int_eq(tb_decimal_compare(balance, tb_decimal_from_int(-4)), 0);
    ck_assert_uint_eq(waiting(&f, 0, &late), 0);
    tb_invoice again = credit;
    ok(try_finalize(&f, &again, &known, &err));
    ck_assert(known);
    tb_invoice_release(&again);
    /* more of the same month later: a second one */
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    tb_invoice second = invoice_of(&f, 1, OCTOBER, "-1.00");
    snprintf(second.kind, sizeof second.kind, "credit_note");
    second.since = late.since;
    ok(try_finalize(&f, &second, &known, &err));
    ck_assert(!known);
    /* what rests on another goes first */
    ck_assert_int_eq(try_void(&f, i.number, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, "void 2026-000003 first"));
    ck_assert_int_eq(try_void(&f, credit.number, &err), TB_E_VALIDATION);
    ok(try_void(&f, second.number, &err));
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ok(try_void(&f, credit.number, &err));
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ck_assert_uint_eq(late.since, i.watermark);
    ck_assert_uint_eq(late.deltas, 2);
    /* nothing of it is billed then: its own run does */
    ok(try_void(&f, i.number, &err));
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ck_assert(late.outcome == TB_RUN_VOID && !tb_late_is_billed(&late) && !late.invoice[0]);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    tb_invoice_release(&credit);
    tb_invoice_release(&second);
    fixture_release(&f);
}
END_TEST

START_TEST(an_invoice_that_was_corrected_is_voided_last)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ok(correct(&f, NOVEMBER, "6.00", &late, &next, &err));
    ck_assert_int_eq(try_void(&f, i.number, &err), TB_E_VALIDATION);
    ok(try_void(&f, next.number, &err));
    ok(try_void(&f, i.number, &err));
    /* the void one still reads as it stood, also after what came when none was in force */
    add_bytes(&f, 101, "DE", at(10, 7, 0), 9);
    source in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1000);
    source_release(&in);
    tb_invoice again = finalize(&f, 1, OCTOBER, "5.50");
    ck_assert_uint_eq(waiting(&f, 0, &late), 0);
    in = input_at(&f, 1, OCTOBER, again.watermark, NOW_US);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1013);
    source_release(&in);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    tb_invoice_release(&next);
    tb_invoice_release(&again);
    fixture_release(&f);
}
END_TEST

/* --- verify --- */

/* --- what the catalogue says afterwards --- */

#define WHO       "\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]"
#define OWN       "{\"id\":101,\"account\":1,\"name\":\"a\"}"
#define HIS       "{\"id\":201,\"account\":2,\"name\":\"b\"}"
#define SEVEN     "{\"id\":7,\"account\":1,\"zones\":[101]"
#define OPTIMIZED "\"settings\":{\"OptimizerEnabled\":true}"
#define NEW_ZONE(more)                                                                             \
    "{" WHO ",\"zones\":[" OWN "," HIS ",{\"id\":102,\"account\":1,\"name\":\"n\"" more            \
    "}],\"load_balancers\":[" SEVEN "}]}"
#define BALANCERS(list)    "{" WHO ",\"zones\":[" OWN "," HIS "],\"load_balancers\":[" list "]}"
#define NEW_BALANCER(more) BALANCERS(SEVEN "},{\"id\":8,\"account\":1,\"zones\":[]" more "}")

/* deltas: 0, for no usage came late. */
static const struct {
    const char *catalog;
    bool waits;
} afterwards[] = {
    {NEW_ZONE(",\"created\":\"2026-11-01T00:00:00Z\"," OPTIMIZED), false},
    {NEW_ZONE(",\"created\":\"2026-10-31T23:59:59Z\"," OPTIMIZED), true},
    {NEW_ZONE("," OPTIMIZED), true},                            /* always there */
    {NEW_ZONE(",\"created\":\"2026-10-15T00:00:00Z\""), false}, /* costs nothing */
    {NEW_BALANCER(",\"created\":\"2026-10-20T00:00:00Z\""), true},
    {NEW_BALANCER(",\"created\":\"2026-11-20T00:00:00Z\""), false},
    {NEW_BALANCER(",\"deleted\":\"2026-10-01T00:00:00Z\""), false},
    {NEW_BALANCER(",\"deleted\":\"2026-10-01T00:00:01Z\""), true},
    {BALANCERS(SEVEN ",\"created\":\"2026-10-10T00:00:00Z\"}"), true},
    {BALANCERS(SEVEN ",\"created\":\"2026-09-10T00:00:00Z\"}"), false},
    {BALANCERS(SEVEN ",\"deleted\":\"2026-10-30T00:00:00Z\"}"), true},
    {BALANCERS(SEVEN ",\"deleted\":null}"), false},
    {BALANCERS(""), false}, /* gone from now on */
    {"{\"regions\":[{\"id\":1,\"code\":\"DE\",\"name\":\"EU: X, DE\",\"billing\":\"AF\"}]," WHO
     ",\"zones\":[" OWN "," HIS "],\"load_balancers\":[" SEVEN "}]}",
     false},
};

START_TEST(a_month_waits_for_what_is_declared_afterwards)
{
    fixture f;
    tb_error err = {0};
    tb_late late;
    tb_invoice next;
    for (size_t n = 0; n < sizeof afterwards / sizeof *afterwards; n++) {
        fill(&f);
        tb_invoice i = finalize(&f, 1, OCTOBER, "5.00"), other = finalize(&f, 2, OCTOBER, "1.00");
        fixture_apply(&f, afterwards[n].catalog, NOW_US, NULL);
        ck_assert_msg((waiting(&f, 0, &late) == 1) == afterwards[n].waits, "%s",
                      afterwards[n].catalog);
        ck_assert_uint_eq(waiting(&f, 2, &late), 0);
        ck_assert_uint_eq(waiting(&f, 1, &late), afterwards[n].waits);
        if (afterwards[n].waits) {
            ck_assert(late.account == 1 && late.month == OCTOBER && late.deltas == 0);
            ck_assert_uint_ge(late.declared, 1);
            ck_assert_uint_eq(late.since, i.watermark);
            ok(correct(&f, NOVEMBER, "6.00", &late, &next, &err));
            tb_invoice_release(&next);
            ck_assert_uint_eq(waiting(&f, 0, &late), 0);
        }
        verify_finds(&f, NULL);
        tb_invoice_release(&i);
        tb_invoice_release(&other);
        fixture_release(&f);
    }
}
END_TEST

/* A clock that was set back: what is ended or changed then reaches into the month. */
START_TEST(a_month_waits_for_what_is_ended_in_it_afterwards)
{
    fixture f;
    tb_late late;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    fixture_apply(&f, BALANCERS(""), us_at(10, 20, 0), NULL);
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    ck_assert_uint_eq(late.declared, 1);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* A region that came after the invoice prices what came to a location that had none. */
START_TEST(a_final_month_keeps_its_regions)
{
    fixture f;
    tb_late late;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "ZZ", at(10, 5, 0), 4);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert(in.s.input.bytes[0].priced && !in.s.input.bytes[1].priced);
    source_release(&in);
    static const char *const said[] = {"SA", "NA", "AF"};
    for (int n = 0; n < 3; n++) {
        char document[600];
        snprintf(document, sizeof document,
                 "{\"regions\":[{\"id\":1,\"code\":\"DE\",\"name\":\"EU: X, "
                 "DE\",\"billing\":\"%s\"},{\"id\":2,"
                 "\"code\":\"ZZ\",\"name\":\"EU: X, ZZ\",\"billing\":\"%s\"}]," WHO
                 ",\"zones\":[" OWN "," HIS "],\"load_balancers\":[" SEVEN "}]}",
                 said[n], said[n]);
        fixture_apply(&f, document, NOW_US + n, NULL);
        in = input_of(&f, 1, OCTOBER);
        ck_assert_uint_eq(in.s.input.n_bytes, 2);
        ck_assert_int_eq(in.s.input.bytes[0].region, TB_REGION_EU);
        ck_assert_int_eq(in.s.input.bytes[1].region, TB_REGION_SA);
        source_release(&in);
        in = input_at(&f, 1, OCTOBER, i.watermark, NOW_US);
        ck_assert_uint_eq(in.s.input.n_bytes, 1);
        ck_assert_int_eq(in.s.input.bytes[0].region, TB_REGION_EU);
        source_release(&in);
        add_bytes(&f, 101, "DE", at(11, 5, n), 4);
        in = input_of(&f, 1, NOVEMBER); /* not final: as it is now */
        ck_assert_int_eq(in.s.input.bytes[0].region, n == 0   ? TB_REGION_SA
                                                     : n == 1 ? TB_REGION_NA
                                                              : TB_REGION_AF);
        source_release(&in);
    }
    ck_assert_uint_eq(waiting(&f, 0, &late), 1);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(verify_finds_changed_late_usage)
{
    static const struct {
        const char *sql, *found;
    } cases[] = {
        {"UPDATE late SET data=zeroblob(length(data))", "Late usage 1 is damaged"},
        {"UPDATE late SET day=day+1", "Late usage 1 is damaged"},
        {"UPDATE late SET version=99", "Late usage 1 is of data version 99; the file is at"},
        {"UPDATE late SET account=2", "that was neither run nor closed"},
        {"UPDATE late SET owner=201", "pull zone 201 is of another"},
        {"UPDATE late SET scope=3", "load balancer 101 is of another"},
        {"INSERT INTO late SELECT 2,version,account,month,scope,owner,edge,day,data,0 FROM late",
         "Late usage 2 has 8 bytes in hour 0; there are 4."},
    };
    fixture f;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        fill(&f);
        tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
        add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
        verify_finds(&f, NULL);
        sql_refused(&f, "UPDATE late SET day=day", "append-only");
        sql_refused(&f, "DELETE FROM late", "append-only");
        sql(&f, "DROP TRIGGER late_no_update");
        sql(&f, cases[n].sql);
        verify_finds(&f, cases[n].found);
        tb_invoice_release(&i);
        fixture_release(&f);
    }
}
END_TEST

START_TEST(more_late_than_there_is_stops_the_input)
{
    fixture f;
    tb_error err = {0};
    tb_bill_source s;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 5, 0), 4);
    sql(&f, "INSERT INTO late SELECT 2,version,account,month,scope,owner,edge,day,data,0 FROM late");
    ck_assert_int_eq(
        tb_store_bill_input(f.store, &(tb_bill_query){1, OCTOBER, i.watermark, NULL, 0, NOW_US}, &s, &err),
        TB_E_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.message, "Pull zone 101"));
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("late");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, usage_of_months_without_invoice_is_not_late);
    tcase_add_test(t, nothing_is_closed_where_what_it_rests_on_has_moved);
    tcase_add_test(t, a_look_back_that_fails_leaves_today);
    tcase_add_test(t, a_month_reads_as_it_stood_at_any_watermark);
    tcase_add_test(t, a_cut_day_is_read_back_by_its_hours);
    tcase_add_test(t, balancer_rows_and_attached_zones_are_late_too);
    tcase_add_test(t, usage_that_finds_its_account_late_is_late);
    tcase_add_test(t, an_undone_batch_leaves_nothing_late);
    tcase_add_test(t, a_batch_that_fails_leaves_nothing_for_the_next);
    tcase_add_test(t, many_late_days_are_asked_about_together);
    tcase_add_test(t, an_undone_invoice_makes_nothing_late);
    tcase_add_test(t, late_usage_waits_until_an_invoice_corrects_it);
    tcase_add_test(t, nothing_is_corrected_twice);
    tcase_add_test(t, a_credit_note_corrects_its_own_month);
    tcase_add_test(t, an_invoice_that_was_corrected_is_voided_last);
    tcase_add_test(t, a_month_waits_for_what_is_declared_afterwards);
    tcase_add_test(t, a_month_waits_for_what_is_ended_in_it_afterwards);
    tcase_add_test(t, a_final_month_keeps_its_regions);
    tcase_add_test(t, verify_finds_changed_late_usage);
    tcase_add_test(t, more_late_than_there_is_stops_the_input);
    Suite *s = suite_create("store_late");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
