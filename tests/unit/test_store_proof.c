/* The log of documents in the store: what is appended when, days that change, checkpoints, and what verify finds. */
#include "billing_fixture.h"

#include "store/proof/log.h"

static const uint8_t seed[TB_PROOF_SEED] = {7};

static void fill(fixture *f)
{
    fixture_init(f);
    fixture_apply(f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,\"account\":1,"
                     "\"name\":\"a\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]}", us_at(9, 1, 0), NULL);
    add_book(f, "a", "2026-01-01T00:00:00Z");
    add_bytes(f, 101, "DE", at(10, 4, 3), 1000);
    add_bytes(f, 101, "AT", at(10, 4, 3), 5);
    add_bytes(f, 201, "DE", at(10, 6, 0), 2000);
}

static void start(fixture *f)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_proof_start(f->store, seed, NOW_US, &err));
    ok(tb_store_commit(f->store, &err));
}

/* Closes days through one of October; as many calls as it takes. */
static int close_days(fixture *f, int day, uint64_t most)
{
    tb_error err = {0};
    bool more = true;
    int calls = 0;
    for (; more; calls++) {
        ok(tb_store_begin(f->store, &err));
        ok(tb_store_proof_close(f->store, tb_day_from_us(us_at(10, day, 0)), most, &more, &err));
        ok(tb_store_commit(f->store, &err));
    }
    return calls;
}

static tb_proof_log log_of(fixture *f)
{
    tb_error err = {0};
    tb_proof_log log;
    ok(tb_store_proof_log(f->store, &log, &err));
    return log;
}

static tb_note_secret key_of(const char *name)
{
    tb_error err = {0};
    tb_note_secret secret;
    ok(tb_note_secret_make(name, strlen(name), TB_NOTE_ED25519, seed, &secret, &err));
    return secret;
}

static void sign(fixture *f)
{
    const tb_note_secret secret = key_of("log");
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_proof_sign(f->store, &secret, &err));
    ok(tb_store_commit(f->store, &err));
}

/* The entry commits to this text. */
static void holds(fixture *f, int64_t index, const char *text)
{
    char sql_text[100];
    uint8_t salt[TB_PROOF_SALT];
    char hash[TB_MERKLE_BASE64];
    tb__proof_salt(seed, index, (tb_text){text, strlen(text)}, salt);
    const tb_merkle_hash commit = tb_proof_commit(salt, text, strlen(text));
    tb_merkle_write(&commit, hash);
    snprintf(sql_text, sizeof sql_text, "SELECT instr(entry,'%s')>0 FROM proof_entry WHERE id=%lld", hash, (long long)index);
    ck_assert_msg(number(f, sql_text) == 1, "entry %lld: %s", (long long)index, text);
}

START_TEST(nothing_is_written_without_a_log)
{
    fixture f;
    tb_error err = {0};
    bool more;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    ck_assert_int_eq(number(&f, "SELECT (SELECT count(*) FROM proof_entry)+(SELECT count(*) FROM proof_change)"), 0);
    ck_assert(!log_of(&f).begun);
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_proof_close(f.store, 1, 1, &more, &err), TB_E_NOT_FOUND);
    tb_store_rollback(f.store);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_log_begins_with_what_is_there_and_grows_with_it)
{
    fixture f;
    tb_error err = {0};
    char text[200];
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    ok(try_void(&f, i.number, &err));
    start(&f);
    ck_assert_int_eq(log_of(&f).size, 3);
    ck_assert_int_eq(log_of(&f).open, tb_day_from_us(us_at(10, 4, 0)));
    holds(&f, 1, i.text);
    ck_assert_int_eq(close_days(&f, 6, 1), 7);
    ck_assert_int_eq(log_of(&f).size, 5);
    holds(&f, 3, "zone\t101\tAT\t2026-10-04T03:00:00Z\tbytes=5\nzone\t101\tDE\t2026-10-04T03:00:00Z\tbytes=1000\n");
    holds(&f, 4, "zone\t201\tDE\t2026-10-06T00:00:00Z\tbytes=2000\n");
    add_book(&f, "b", "2027-01-01T00:00:00Z");
    tb_invoice again = finalize(&f, 1, OCTOBER, "5.00");
    ok(try_void(&f, again.number, &err));
    holds(&f, 6, again.text);
    snprintf(text, sizeof text, "{\"terms of\":\"%s\"}", again.number);
    holds(&f, 7, text);
    snprintf(text, sizeof text, "{\"number\":\"%s\",\"voided\":\"2026-12-18T00:00:00Z\"}", again.number);
    holds(&f, 8, text);
    ok(tb_store_begin(f.store, &err));
    ck_assert_int_eq(tb_store_proof_start(f.store, seed, NOW_US, &err), TB_E_USAGE);
    tb_store_rollback(f.store);
    verify_finds(&f, NULL);
    tb_invoice_release(&i);
    tb_invoice_release(&again);
    fixture_release(&f);
}
END_TEST

START_TEST(a_closed_day_that_changed_is_closed_again)
{
    fixture f;
    fill(&f);
    start(&f);
    close_days(&f, 10, 100);
    ck_assert_int_eq(log_of(&f).size, 3);
    add_bytes(&f, 101, "DE", at(10, 4, 3), 7);
    add_bytes(&f, 201, "DE", at(9, 1, 0), 1);   /* before the first closed day */
    add_bytes(&f, 201, "DE", at(10, 11, 0), 1); /* not closed yet */
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM proof_change"), 2);
    verify_finds(&f, NULL);
    ck_assert_int_eq(close_days(&f, 10, 1), 3);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM proof_change"), 0);
    ck_assert_int_eq(log_of(&f).size, 5);
    ck_assert_int_eq(number(&f, "SELECT json_extract(entry,'$.of') FROM proof_entry WHERE subject='2026-10-04' AND id>1"), 1);
    ck_assert_int_eq(number(&f, "SELECT json_extract(entry,'$.of') IS NULL FROM proof_entry WHERE subject='2026-09-01'"), 1);
    sql(&f, "INSERT INTO proof_change(account,day) VALUES(1,20730)"); /* 4 October: nothing changed */
    close_days(&f, 10, 100);
    ck_assert_int_eq(log_of(&f).size, 5);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_day_is_closed_in_parts)
{
    fixture f;
    tb_error err = {0};
    bool more = false;
    fill(&f);
    add_bytes(&f, 201, "DE", at(10, 4, 0), 9);
    start(&f);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_proof_close(f.store, tb_day_from_us(us_at(10, 4, 0)), 1, &more, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert(more);
    ck_assert_int_eq(log_of(&f).size, 2);
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1); /* of the account that is done, and of the one that waits */
    add_bytes(&f, 201, "DE", at(10, 4, 0), 1);
    verify_finds(&f, NULL);
    ck_assert_int_eq(close_days(&f, 4, 1), 3);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM proof_entry WHERE type='usage' AND account=1"), 2);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM proof_entry WHERE type='usage' AND account=2"), 1);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

static void day_was(fixture *f, int64_t account, int64_t known, const char *text)
{
    tb_error err = {0};
    tb_buf out;
    tb_buf_init(&out, 1 << 20, NULL);
    ok(tb__proof_day_text(f->store, account, tb_day_from_us(us_at(10, 4, 0)), known, &out, &err));
    ck_assert_msg(out.len == strlen(text) && memcmp(out.data ? out.data : "", text, out.len) == 0, "%.*s", (int)out.len, out.data);
    tb_buf_release(&out);
}

/* Counters that no bill needs count too, and a zone that finds its account after the month was run. */
START_TEST(a_closed_day_is_made_again_as_of_a_version)
{
    static const char before[] = "zone\t101\tAT\t2026-10-04T03:00:00Z\tbytes=5\nzone\t101\tDE\t2026-10-04T03:00:00Z\tbytes=1000\n";
    fixture f;
    fill(&f);
    add_bytes(&f, 102, "DE", at(10, 4, 3), 70);
    const tb_row most = row_of(101, "DE", (int32_t)at(10, 4, 3), TB_M_CONCURRENT_MAX, 5);
    fixture_add(&f, &most, 1, 9);
    start(&f);
    close_days(&f, 31, 1000);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    const int64_t known = (int64_t)i.watermark;
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    const tb_row requests = row_of(101, "DE", (int32_t)at(10, 4, 4), TB_M_REQUESTS, 3);
    fixture_add(&f, &requests, 1, 7);
    const tb_row larger = row_of(101, "DE", (int32_t)at(10, 4, 3), TB_M_CONCURRENT_MAX, 9);
    fixture_add(&f, &larger, 1, 8);
    const int64_t later = number(&f, "SELECT value FROM meta WHERE name='data_version'");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM late"), 1);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,\"account\":1,"
                      "\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"c\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]}",
                  us_at(12, 1, 0), NULL);
    day_was(&f, 1, known, before);
    day_was(&f, 1, later, "zone\t101\tAT\t2026-10-04T03:00:00Z\tbytes=5\nzone\t101\tDE\t2026-10-04T03:00:00Z\tbytes=1001\n"
                          "zone\t101\tDE\t2026-10-04T04:00:00Z\trequests=3\n");
    day_was(&f, 1, INT64_MAX, "zone\t101\tAT\t2026-10-04T03:00:00Z\tbytes=5\nzone\t101\tDE\t2026-10-04T03:00:00Z\tbytes=1001\n"
                              "zone\t101\tDE\t2026-10-04T04:00:00Z\trequests=3\nzone\t102\tDE\t2026-10-04T03:00:00Z\tbytes=70\n");
    verify_finds(&f, NULL);
    close_days(&f, 31, 1000);
    verify_finds(&f, NULL);
    sql_refused(&f, "DELETE FROM proof_late", "append-only");
    sql(&f, "INSERT INTO proof_late(version,account,day,scope,owner,edge,data) SELECT version,account,day,scope,owner,edge,data"
            " FROM proof_late WHERE id=1");
    verify_finds(&f, "does not commit");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

/* "DAY:INDEX DAY:INDEX", or the sentence of the error. */
static void days_are(fixture *f, int64_t account, uint64_t known, const char *wanted)
{
    tb_error err = {0};
    tb_proof_day *days = NULL;
    size_t n = 0;
    char text[200] = "";
    const tb_code code = tb_store_proof_days(f->store, account, OCTOBER, known, &days, &n, &err);
    for (size_t i = 0; !code && i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d:%lld", i ? " " : "", tb_date_from_day(days[i].day).day, (long long)days[i].index);
    if (!code) free(days);
    ck_assert_msg(strstr(code ? err.message : text, wanted) && (code || strlen(text) == strlen(wanted)), "%s%s", text, code ? err.message : "");
}

START_TEST(making_a_document_final_closes_its_days_first)
{
    fixture f;
    fill(&f);
    start(&f);
    close_days(&f, 4, 100); /* entry 1 */
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    add_bytes(&f, 101, "DE", at(10, 9, 3), 1);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    ck_assert_int_eq(log_of(&f).open, tb_day_from_us(us_at(11, 1, 0)));
    days_are(&f, 1, i.watermark, "4:2 9:3");
    ck_assert_int_eq(log_of(&f).size, 6); /* with the invoice and its terms */
    days_are(&f, 2, UINT64_MAX, "");
    verify_finds(&f, NULL);
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    add_bytes(&f, 101, "DE", at(10, 5, 3), 1);
    close_days(&f, 31, 100);
    days_are(&f, 1, i.watermark, "4:2 9:3");
    days_are(&f, 1, UINT64_MAX, "4:6 5:7 9:3");
    days_are(&f, 2, UINT64_MAX, "6:8"); /* the other account's, which waited */
    verify_finds(&f, NULL);
    sql(&f, "DROP TRIGGER proof_entry_no_delete;DELETE FROM proof_entry WHERE type='terms'");
    verify_finds(&f, "has 0 terms of 2026-000001");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(a_document_older_than_the_log_has_the_first_entries)
{
    fixture f;
    fill(&f);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00");
    tb_invoice other = finalize(&f, 2, OCTOBER, "5.00");
    add_bytes(&f, 201, "DE", at(10, 6, 0), 1);
    start(&f);
    close_days(&f, 31, 100);
    days_are(&f, 1, i.watermark, "4:3");
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    add_bytes(&f, 101, "DE", at(10, 5, 3), 1); /* had no usage when the log began */
    const tb_row requests = row_of(101, "DE", (int32_t)at(10, 7, 4), TB_M_REQUESTS, 3); /* of which no bill knows */
    fixture_add(&f, &requests, 1, 7);
    close_days(&f, 31, 100);
    days_are(&f, 1, i.watermark, "4:3");
    days_are(&f, 2, other.watermark, "the usage of 2026-10-06 changed");
    verify_finds(&f, NULL);
    sql(&f, "INSERT INTO late SELECT 9,version,1,month,scope,101,edge,20731,data,seal FROM late LIMIT 1"); /* nothing is left of it */
    days_are(&f, 1, i.watermark, "the usage of 2026-10-05 changed");
    tb_invoice_release(&i);
    tb_invoice_release(&other);
    fixture_release(&f);
}
END_TEST

/* What an entry commits to, or the sentence of the error. */
static void opens(fixture *f, int64_t index, const char *terms, const char *wanted)
{
    tb_error err = {0};
    tb_proof_opened opened;
    tb_buf out;
    tb_buf_init(&out, 1 << 20, NULL);
    tb_buf_str(&out, "before");
    const tb_code code = tb_store_proof_open(f->store, index, (tb_text){terms, strlen(terms)}, &opened, &out, &err);
    if (code) ck_assert_msg(strstr(err.message, wanted) != NULL, "%s", err.message);
    else ck_assert_msg(opened.len == strlen(wanted) && memcmp(out.data + opened.at, wanted, opened.len) == 0, "%.*s", (int)opened.len, out.data + opened.at);
    tb_buf_release(&out);
}

START_TEST(entries_are_opened_with_what_is_stored)
{
    fixture f;
    tb_error err = {0};
    int64_t index = 0;
    fill(&f);
    start(&f);
    close_days(&f, 31, 100);
    tb_invoice i = finalize(&f, 1, OCTOBER, "5.00"); /* book, two days, invoice, terms */
    opens(&f, 3, "", i.text);
    opens(&f, 4, "{\"terms of\":\"2026-000001\"}", "{\"terms of\":\"2026-000001\"}");
    opens(&f, 4, "{\"terms of\":\"2026-000002\"}", "(terms 2026-000001) is no longer kept.");
    add_bytes(&f, 101, "DE", at(10, 4, 3), 1);
    opens(&f, 1, "", "zone\t101\tAT\t2026-10-04T03:00:00Z\tbytes=5\nzone\t101\tDE\t2026-10-04T03:00:00Z\tbytes=1000\n");
    add_bytes(&f, 201, "DE", at(10, 6, 0), 1); /* its month was not run */
    opens(&f, 2, "", "its usage changed before the month was run");
    opens(&f, 5, "", "has no entry 5");
    ok(try_void(&f, i.number, &err));
    opens(&f, 5, "", "{\"number\":\"2026-000001\",\"voided\":\"2026-12-18T00:00:00Z\"}");
    ok(tb_store_proof_find(f.store, TB_PROOF_VOID, 1, i.number, &index, &err));
    ck_assert_int_eq(index, 5);
    ok(tb_store_proof_find(f.store, TB_PROOF_VOID, 2, i.number, &index, &err));
    ck_assert_int_eq(index, -1);
    sql(&f, "INSERT INTO retention(account,hours_month,days_month) VALUES(1,682,0)");
    opens(&f, 1, "", "no longer kept by the hour");
    tb_invoice_release(&i);
    fixture_release(&f);
}
END_TEST

START_TEST(checkpoints_are_of_the_whole_log)
{
    fixture f;
    tb_error err = {0};
    tb_note note;
    tb_checkpoint checkpoint;
    tb_merkle_hash root;
    tb_note_signer signer = {.key = key_of("log").key};
    int64_t size;
    tb_buf out;
    fill(&f);
    start(&f);
    tb_buf_init(&out, TB_BUNDLE_MAX, NULL);
    ck_assert_int_eq(tb_store_proof_checkpoint(f.store, &out, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_proof_tile(f.store, &(tb_tile){0, 1, 0}, &out, &err), TB_E_NOT_FOUND);
    sign(&f);
    close_days(&f, 10, 100);
    sign(&f);
    sign(&f);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM proof_checkpoint"), 2);
    ok(tb_store_proof_checkpoint(f.store, &out, &err));
    ok(tb_note_read(out.data, out.len, &note, &err));
    ok(tb_checkpoint_open(&note, &signer, 1, &checkpoint, &err));
    ok(tb_store_proof_root(f.store, &size, &root, &err));
    ck_assert_int_eq(checkpoint.size, size);
    ck_assert(tb_merkle_same(&checkpoint.root, &root));
    out.len = 0;
    ok(tb_store_proof_tile(f.store, &(tb_tile){0, 3, 0}, &out, &err));
    ck_assert_uint_eq(out.len, 3 * 32);
    ck_assert_int_eq(tb_store_proof_tile(f.store, &(tb_tile){0, 4, 0}, &out, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_proof_tile(f.store, &(tb_tile){1, 1, 0}, &out, &err), TB_E_NOT_FOUND);
    sql_refused(&f, "INSERT INTO proof_checkpoint(size,note) VALUES(2,'')", "checkpoints grow");
    sql_refused(&f, "DELETE FROM proof_entry", "append-only");
    tb_buf_release(&out);
    verify_finds(&f, NULL);
    fixture_release(&f);
}
END_TEST

/* Changes that keep every seal. */
static void append_books(fixture *f, int n)
{
    tb_error err = {0};
    for (int i = 0; i < n; i++)
        ok(tb__proof_book(f->store, "b", "text", 4, &err));
}

/* The tiles make the tree of the entries. */
static void tiles_hold_entries(fixture *f, int64_t entries)
{
    const int64_t all[2] = {0, INT64_MAX};
    tb_merkle_edge *edge = calloc(1, sizeof *edge);
    tb_error err = {0};
    sqlite3_stmt *s;
    tb_merkle_hash root;
    int64_t size;
    bool row = true;
    ck_assert_ptr_nonnull(edge);
    ok(tb__sql_ints(f->store, TB__SQL_PROOF_ENTRIES, all, 2, &s, &err));
    while (tb__step(f->store, s, &row, &err) == TB_OK && row) {
        const tb_merkle_hash leaf = tb_merkle_leaf(sqlite3_column_blob(s, 4), (size_t)sqlite3_column_bytes(s, 4));
        ok(tb_merkle_append(edge, &leaf, NULL, &err));
    }
    ok(tb_store_proof_root(f->store, &size, &root, &err));
    const tb_merkle_hash expected = tb_merkle_edge_root(edge);
    ck_assert_int_eq(size, entries);
    ck_assert_int_eq(edge->size, entries);
    ck_assert_msg(tb_merkle_same(&root, &expected), "of %lld entries", (long long)entries);
    free(edge);
}

/* The second part of a transaction is rolled back: its entries are in no tile. */
START_TEST(a_part_that_is_rolled_back_leaves_no_entry)
{
    static const struct {
        int before, gone, after;
    } parts[] = {{0, 3, 2}, {2, 1, 0}, {3, 400, 5}, {300, 2, 1}, {2, 0, 3}, {0, 5, 0}, {220, 300, 300}};
    fixture f;
    tb_error err = {0};
    int64_t entries = 1;
    fill(&f);
    start(&f);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ok(tb_store_begin(f.store, &err));
        append_books(&f, parts[i].before);
        ok(tb_store_mark(f.store, &err));
        append_books(&f, parts[i].gone);
        tb_store_back_to_mark(f.store);
        append_books(&f, parts[i].after);
        if (i % 2) tiles_hold_entries(&f, entries + parts[i].before + parts[i].after);
        if (i == 1) tb_store_rollback(f.store);
        else ok(tb_store_commit(f.store, &err));
        entries += i == 1 ? 0 : parts[i].before + parts[i].after;
        tiles_hold_entries(&f, entries);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(verify_compares_the_log_with_what_is_stored)
{
    static const struct {
        const char *change, *sentence;
    } cases[] = {
        {"UPDATE proof_tile SET hashes=zeroblob(32) WHERE level=0", "Tile 0 of level 0"},
        {"INSERT INTO proof_tile(level,number,hashes) VALUES(0,9,zeroblob(32))", "has 2 tiles"},
        {"INSERT INTO proof_entry(id,type,account,subject,entry,version) VALUES(9,'void',1,'2026-000009','{}',1)", "not in its place"},
        {"INSERT INTO proof_entry(id,type,account,subject,entry,version) SELECT 5,type,account,subject,entry,version FROM proof_entry WHERE id=1",
         "does not commit"},
        {"UPDATE proof_checkpoint SET note=replace(note,'log','gol')||'x'", "is not of these entries"},
        {"INSERT INTO proof_checkpoint(size,note) VALUES(99,'')", "checkpoint of 99 entries"},
        {"DROP TRIGGER proof_entry_no_delete;DELETE FROM proof_entry WHERE id=4", "no entry of the usage of account 2"},
        {"DROP TRIGGER proof_entry_no_delete;DELETE FROM proof_entry WHERE id=1", "has 0 entries of invoice"},
        {"DROP TRIGGER proof_entry_no_delete;DELETE FROM proof_entry WHERE id=2", "has 0 entries of the void"},
        {"DROP TRIGGER proof_entry_no_delete;DELETE FROM proof_entry WHERE id=0", "has 0 entries of book"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        tb_error err = {0};
        fill(&f);
        tb_invoice invoice = finalize(&f, 1, OCTOBER, "5.00");
        ok(try_void(&f, invoice.number, &err));
        tb_invoice_release(&invoice);
        start(&f);
        close_days(&f, 10, 100);
        sign(&f);
        verify_finds(&f, NULL);
        sql(&f, cases[i].change);
        verify_finds(&f, cases[i].sentence);
        fixture_release(&f);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store_proof");
    TCase *tc = tcase_create("proof");
    tcase_add_test(tc, nothing_is_written_without_a_log);
    tcase_add_test(tc, a_log_begins_with_what_is_there_and_grows_with_it);
    tcase_add_test(tc, a_closed_day_that_changed_is_closed_again);
    tcase_add_test(tc, a_day_is_closed_in_parts);
    tcase_add_test(tc, a_closed_day_is_made_again_as_of_a_version);
    tcase_add_test(tc, making_a_document_final_closes_its_days_first);
    tcase_add_test(tc, a_document_older_than_the_log_has_the_first_entries);
    tcase_add_test(tc, entries_are_opened_with_what_is_stored);
    tcase_add_test(tc, checkpoints_are_of_the_whole_log);
    tcase_add_test(tc, a_part_that_is_rolled_back_leaves_no_entry);
    tcase_add_test(tc, verify_compares_the_log_with_what_is_stored);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
