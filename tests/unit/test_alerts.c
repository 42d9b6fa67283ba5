/* The outbox's states, the pauses between tries, what a round of alerts reads, and anomalies at their
 * edges. */
#include "billing_fixture.h"

#include "tollbook/alerts.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

/* --- the outbox --- */

static void put(fixture *f, const char *type, int64_t account, int64_t now_us, const char *text,
                char id[TB_MESSAGE_ID + 1])
{
    char bytes[64];
    tb_error err = {0};
    snprintf(bytes, sizeof bytes, "%s", text);
    const tb_buf body = {.data = bytes, .len = strlen(text), .cap = sizeof bytes, .max = sizeof bytes};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_outbox_put(f->store, type, account, now_us, &body, id, &err));
    ok(tb_store_commit(f->store, &err));
}

static void turn(fixture *f, bool on)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_outbox_turn(f->store, on, &err));
    ok(tb_store_commit(f->store, &err));
}

static bool due(fixture *f, int64_t now_us, int64_t but, tb_message *m)
{
    tb_error err = {0};
    bool there = false;
    ok(tb_store_outbox_due(f->store, now_us, &but, but != 0, m, &there, &err));
    if (there) free(m->body);
    return there;
}

static void tried(fixture *f, const tb_message *m, int status, int64_t now_us)
{
    const tb_delivery came = {status, "as it was", 0};
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_outbox_tried(f->store, m, &came, now_us, 5 * SECOND, &err));
    ok(tb_store_commit(f->store, &err));
}

static tb_message only(fixture *f)
{
    tb_message *all = NULL, m;
    size_t n = 0;
    tb_error err = {0};
    ok(tb_store_outbox(f->store, 0, 10, &all, &n, &err));
    ck_assert_uint_eq(n, 1);
    m = all[0];
    free(all);
    return m;
}

START_TEST(nothing_is_put_until_it_is_wanted)
{
    fixture f;
    char id[TB_MESSAGE_ID + 1];
    fixture_init(&f);
    put(&f, "t", 1, NOW_US, "{}", id);
    ck_assert_str_eq(id, "");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 0);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{}", id);
    ck_assert_uint_eq(strlen(id), TB_MESSAGE_ID);
    turn(&f, false);
    ck_assert_int_eq(only(&f).state, TB_MESSAGE_FAILED);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(an_id_is_of_what_is_said)
{
    fixture f;
    char id[6][TB_MESSAGE_ID + 1];
    fixture_init(&f);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{}", id[0]);
    put(&f, "t", 1, NOW_US, "{}", id[1]);
    put(&f, "u", 1, NOW_US, "{}", id[2]);
    put(&f, "t", 2, NOW_US, "{}", id[3]);
    put(&f, "t", 1, NOW_US + 1, "{}", id[4]);
    put(&f, "t", 1, NOW_US, "{ }", id[5]);
    ck_assert_str_eq(id[0], id[1]);
    for (int a = 1; a < 6; a++)
        for (int b = a + 1; b < 6; b++)
            ck_assert_str_ne(id[a], id[b]);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 5);
    ck_assert_int_eq(number(&f, "SELECT value FROM meta WHERE name='data_version'"), 0);
    fixture_release(&f);
}
END_TEST

START_TEST(a_message_goes_from_state_to_state)
{
    fixture f;
    char id[TB_MESSAGE_ID + 1];
    tb_message m, other;
    tb_error err = {0};
    fixture_init(&f);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{\"a\":1}", id);
    ck_assert(due(&f, NOW_US, 0, &m));
    ck_assert(!due(&f, NOW_US, m.number, &other));
    tried(&f, &m, 500, NOW_US);
    m = only(&f);
    ck_assert_int_eq(m.state, TB_MESSAGE_WAITING);
    ck_assert_int_eq(m.attempts, 1);
    ck_assert_str_eq(m.error, "as it was");
    ck_assert_int_eq(m.next_us, NOW_US + tb_outbox_pause(id, 1, 5 * SECOND));
    ck_assert(!due(&f, m.next_us - 1, 0, &other));
    ck_assert(due(&f, m.next_us, 0, &m));
    tried(&f, &m, 204, m.next_us);
    m = only(&f);
    ck_assert_int_eq(m.state, TB_MESSAGE_DELIVERED);
    ck_assert_str_eq(m.error, "");
    ck_assert_int_eq(m.delivered_us, m.next_us - tb_outbox_pause(id, 2, 5 * SECOND));
    tried(&f, &m, 500, NOW_US + MINUTE); /* too late to matter */
    ck_assert_int_eq(only(&f).state, TB_MESSAGE_DELIVERED);

    ok(tb_store_begin(f.store, &err));
    ok(tb_store_outbox_again(f.store, id, NOW_US + MINUTE, &err));
    ck_assert_int_eq(tb_store_outbox_again(f.store, "msg_", NOW_US, &err), TB_E_NOT_FOUND);
    ok(tb_store_commit(f.store, &err));
    ck_assert(due(&f, NOW_US + MINUTE, 0, &m));
    ck_assert_str_eq(m.id, id);
    ck_assert_int_eq(m.attempts, 0);
    tried(&f, &m, 410, NOW_US + MINUTE);
    ck_assert_int_eq(only(&f).state, TB_MESSAGE_FAILED);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_receiver_is_left_alone_as_long_as_it_asks)
{
    static const int64_t minutes[][2] = {{60, 60}, {119, 119}, {600, 120}}; /* asked, given */
    fixture f;
    char id[TB_MESSAGE_ID + 1];
    tb_message m;
    tb_error err = {0};
    fixture_init(&f);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{}", id);
    for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++) {
        const tb_delivery asked = {429, "", minutes[i][0] * MINUTE};
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_outbox_again(f.store, id, NOW_US, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert(due(&f, NOW_US, 0, &m));
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_outbox_tried(f.store, &m, &asked, NOW_US, 5 * SECOND, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_int_eq(only(&f).next_us - NOW_US, minutes[i][1] * MINUTE);
    }
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_new_goes_first)
{
    fixture f;
    char id[TB_MESSAGE_ID + 1];
    tb_message m;
    sqlite3_stmt *s;
    fixture_init(&f);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{}", id);
    ck_assert(due(&f, NOW_US, 0, &m));
    tried(&f, &m, 503, NOW_US);
    put(&f, "t", 2, NOW_US + MINUTE, "{}", id);
    put(&f, "t", 3, NOW_US + MINUTE - 1, "{}", id);
    for (int64_t account = 3; account > 0; account--) { /* the two that are new, by when they came */
        ck_assert(due(&f, NOW_US + MINUTE, 0, &m));
        ck_assert_int_eq(m.account, account);
        tried(&f, &m, 200, NOW_US + MINUTE);
    }
    ck_assert_int_eq(sqlite3_prepare_v2(f.store->db, "EXPLAIN QUERY PLAN SELECT id FROM outbox WHERE state="
                                        "'waiting' AND min(attempts,1)=?3 AND next_us<=?1 ORDER BY next_us,id",
                                        -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    ck_assert_ptr_nonnull(strstr((const char *)sqlite3_column_text(s, 3), "outbox_waiting"));
    ck_assert_int_eq(sqlite3_step(s), SQLITE_DONE);
    sqlite3_finalize(s);
    fixture_release(&f);
}
END_TEST

START_TEST(what_nobody_takes_is_given_up_after_a_while)
{
    fixture f;
    char id[TB_MESSAGE_ID + 1];
    tb_message m;
    tb_outbox_figures figures;
    tb_error err = {0};
    int64_t now_us = NOW_US;
    int tries = 0;
    fixture_init(&f);
    turn(&f, true);
    put(&f, "t", 1, NOW_US, "{}", id);
    while (due(&f, now_us, 0, &m)) {
        ok(tb_store_outbox_figures(f.store, &figures, &err));
        ck_assert_int_eq(figures.oldest_us, NOW_US);
        tried(&f, &m, tries % 2 ? 0 : 503, now_us);
        now_us = only(&f).next_us;
        tries++;
    }
    ck_assert_int_gt(tries, 40); /* 72 hours, two apart at the end */
    ck_assert_int_lt(tries, 70);
    m = only(&f);
    ck_assert_int_eq(m.state, TB_MESSAGE_FAILED);
    ck_assert_int_ge(now_us, NOW_US + TB_OUTBOX_PATIENCE_US);
    ok(tb_store_outbox_figures(f.store, &figures, &err));
    ck_assert_uint_eq(figures.waiting, 0);
    ck_assert_uint_eq(figures.failed, 1);
    ck_assert_int_eq(figures.oldest_us, INT64_MAX);
    put(&f, "t", 1, NOW_US + TB_OUTBOX_KEPT_US, "{}", id);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 2);
    put(&f, "t", 1, NOW_US + TB_OUTBOX_KEPT_US + 1, "{}", id);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 2); /* the oldest is gone */
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(pauses_double_and_spread)
{
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 200; i++) {
        char id[16];
        snprintf(id, sizeof id, "msg_%d", i);
        const int64_t first = tb_outbox_pause(id, 1, 5 * SECOND);
        least = first < least ? first : least;
        most = first > most ? first : most;
        ck_assert_int_eq(first, tb_outbox_pause(id, 1, 5 * SECOND));
        for (int n = 1; n < 40; n++) {
            int64_t whole = n < 12 ? 5 * SECOND << (n - 1) : TB_OUTBOX_PAUSE_MOST;
            if (whole > TB_OUTBOX_PAUSE_MOST) whole = TB_OUTBOX_PAUSE_MOST;
            ck_assert_int_ge(tb_outbox_pause(id, n, 5 * SECOND), whole / 4 * 3);
            ck_assert_int_le(tb_outbox_pause(id, n, 5 * SECOND), whole / 4 * 5);
        }
    }
    ck_assert_int_lt(least, 4 * SECOND);
    ck_assert_int_gt(most, 6 * SECOND);
}
END_TEST

/* --- rounds --- */

static void declare(fixture *f, int accounts, int with)
{
    tb_buf text;
    tb_buf_init(&text, 1 << 20, NULL);
    tb_buf_str(&text, "{\"accounts\":[");
    for (int i = 1; i <= accounts; i++)
        tb_buf_fmt(&text, "%s{\"id\":%d,\"name\":\"\\\"alerts\\\":[{\"%s}", i > 1 ? "," : "", i,
                   i <= with ? ",\"alerts\":[{\"id\":\"a\",\"kind\":\"balance\",\"below\":\"0\"}]" : "");
    tb_buf_str(&text, "],\"zones\":[]}");
    tb_buf_add(&text, "", 1);
    fixture_apply(f, text.data, NOW_US, NULL);
    tb_buf_release(&text);
}

/* A whole round; how many alerts were raised and cleared. */
static size_t go_round(fixture *f, tb_alert_watch *w, bool all, int64_t now_us)
{
    size_t n = 0;
    bool complete = false, moved = false;
    tb_error err = {0};
    tb_alert_watch_begin(w, all);
    while (!complete) {
        tb_alert_changes changes;
        ok(tb_store_begin(f->store, &err));
        ok(tb_alerts_look(f->store, w, now_us, NULL, NULL, &changes, &err));
        ok(tb_alerts_note(f->store, &changes, now_us, &moved, &err));
        ok(tb_store_commit(f->store, &err));
        ck_assert(!moved);
        n += changes.n;
        complete = changes.complete;
        tb_alert_changes_release(&changes);
    }
    return n;
}

static void enter(fixture *f, int64_t account, int64_t amount, const char *reference)
{
    tb_ledger_entry e = {.account = account, .at_us = NOW_US, .kind = TB_LEDGER_ADJUSTMENT,
                         .currency = "USD", .amount = {amount, 2}};
    bool known;
    tb_error err = {0};
    snprintf(e.reference, sizeof e.reference, "%s", reference);
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_ledger_add(f->store, &e, &known, &err));
    ok(tb_store_commit(f->store, &err));
}

START_TEST(a_round_reads_what_has_changed)
{
    fixture f;
    tb_alert_watch *w = tb_alert_watch_new();
    fixture_init(&f);
    declare(&f, 300, 120);
    turn(&f, true);
    ck_assert_uint_eq(go_round(&f, w, true, NOW_US), 0);
    enter(&f, 7, -100, "a");
    enter(&f, 200, -100, "b"); /* has no alerts */
    ck_assert_uint_eq(go_round(&f, w, false, NOW_US), 1);
    ck_assert_uint_eq(go_round(&f, w, false, NOW_US), 0);
    /* What the round does not see, since nothing of account 8 has changed, the next one over all does. */
    sql(&f, "UPDATE alert SET account=8");
    ck_assert_uint_eq(go_round(&f, w, false, NOW_US), 0);
    sql(&f, "UPDATE alert SET account=7");
    enter(&f, 7, 100, "c");
    ck_assert_uint_eq(go_round(&f, w, false, NOW_US), 1);
    enter(&f, 120, -1, "d");
    ck_assert_uint_eq(go_round(&f, w, true, NOW_US + MINUTE), 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 3);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox WHERE type='alert.cleared'"), 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM alert a JOIN outbox o ON o.message=a.raised"), 2);
    verify_finds(&f, NULL);
    tb_alert_watch_free(w);
    fixture_release(&f);
}
END_TEST

/* Accounts without alerts are not read: SQLite walks the index of those that have some. */
START_TEST(accounts_without_alerts_cost_nothing)
{
    fixture f;
    sqlite3_stmt *s;
    int scans = 0;
    fixture_init(&f);
    declare(&f, 20, 1);
    ck_assert_int_eq(sqlite3_prepare_v2(f.store->db, "EXPLAIN QUERY PLAN SELECT id FROM account WHERE id>?1"
                                        " AND " TB__ALERTS_DECLARED, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        scans += strstr((const char *)sqlite3_column_text(s, 3), "account_with_alerts") != NULL;
    sqlite3_finalize(s);
    ck_assert_int_eq(scans, 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM account WHERE " TB__ALERTS_DECLARED), 1);
    fixture_release(&f);
}
END_TEST

START_TEST(what_has_moved_is_left_out)
{
    fixture f;
    tb_alert_watch *w = tb_alert_watch_new();
    tb_alert_changes changes;
    bool moved;
    tb_error err = {0};
    fixture_init(&f);
    declare(&f, 3, 3);
    turn(&f, true);
    enter(&f, 2, -1, "a");
    ok(tb_alerts_look(f.store, w, NOW_US, NULL, NULL, &changes, &err));
    ck_assert_uint_eq(changes.n, 1);
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(f.store, &err));
        ok(tb_alerts_note(f.store, &changes, NOW_US + i, &moved, &err));
        ok(tb_store_commit(f.store, &err));
        ck_assert_int_eq(moved, i);
    }
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM alert"), 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM outbox"), 1);
    tb_alert_changes_release(&changes);
    tb_alert_watch_free(w);
    fixture_release(&f);
}
END_TEST

/* --- anomalies --- */

START_TEST(anomalies_at_their_edges)
{
    static uint64_t hours[TB_ANOMALY_SPAN];
    const size_t last = TB_ANOMALY_SPAN - 1;
    tb_anomaly a;
    ck_assert(!tb_anomaly_find(hours, (tb_decimal){15, 1}, &a)); /* nothing at all */
    ck_assert_uint_eq(a.n, 0);
    for (int w = 1; w <= 4; w++)
        hours[last - 168 * w] = 10 + w; /* 11 12 13 14: the median is 12.5 */
    hours[last] = 25;
    ck_assert(!tb_anomaly_find(hours, (tb_decimal){2, 0}, &a)); /* twice, not more */
    hours[last] = 26;
    ck_assert(tb_anomaly_find(hours, (tb_decimal){2, 0}, &a));
    ck_assert_uint_eq(a.hour, last);
    ck_assert_uint_eq((uint64_t)a.expected2, 25);
    ck_assert_uint_eq(a.n, 4);
    ck_assert_uint_eq(a.value[0], 11);
    hours[0] = 1; /* the account is older: weeks without usage count as such */
    ck_assert(!tb_anomaly_find(hours, (tb_decimal){2, 0}, &a) || a.expected2 < 25);
    for (int w = 1; w <= 8; w++)
        hours[last - 168 * w] = UINT64_MAX;
    hours[last] = UINT64_MAX;
    ck_assert(!tb_anomaly_find(hours, (tb_decimal){1001, 3}, &a));
    ck_assert(tb_anomaly_find(hours, (tb_decimal){999, 3}, &a)); /* the door asks for more than 1 */
    ck_assert(a.expected2 == (tb_u128)UINT64_MAX * 2);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("alerts");
    tcase_add_test(t, nothing_is_put_until_it_is_wanted);
    tcase_add_test(t, an_id_is_of_what_is_said);
    tcase_add_test(t, a_message_goes_from_state_to_state);
    tcase_add_test(t, a_receiver_is_left_alone_as_long_as_it_asks);
    tcase_add_test(t, what_is_new_goes_first);
    tcase_add_test(t, what_nobody_takes_is_given_up_after_a_while);
    tcase_add_test(t, pauses_double_and_spread);
    tcase_add_test(t, a_round_reads_what_has_changed);
    tcase_add_test(t, accounts_without_alerts_cost_nothing);
    tcase_add_test(t, what_has_moved_is_left_out);
    tcase_add_test(t, anomalies_at_their_edges);
    Suite *s = suite_create("alerts");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
