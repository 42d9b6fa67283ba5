/* check.h: documents are the same when they are rated again from their terms, days and books alone, and what was changed is named. */
#include "billing_fixture.h"
#include "meter_fixture.h"

#include "check/terms.h"
#include "check_fixture.h"

static const uint8_t seed[TB_PROOF_SEED] = {7};

#define BOOK \
    "{\"book\":\"a\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\",\"minimum_monthly\":\"1.00\"," \
    "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\",\"NA\":\"0.02\",\"ASIA\":\"0.03\"}}," \
    "\"volume\":{\"per\":\"GB\",\"scope\":\"account\",\"mode\":\"graduated\",\"tiers\":[{\"from\":\"0\",\"to\":\"100\",\"price\":\"0.005\"}," \
    "{\"from\":\"100\",\"to\":null,\"price\":\"0.004\"}]},\"percentile\":{\"per\":\"Mbps\",\"percentile\":\"95\",\"price\":\"0.80\"}}," \
    "\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\",\"included_requests\":0," \
    "\"included_axis\":\"absolute\",\"mode\":\"graduated\",\"tiers\":[{\"from_millions\":0,\"to_millions\":null,\"price_per_million\":\"0.65\"}]}," \
    "\"meters\":{\"storage\":{\"per\":\"1000000000\",\"time\":\"month\",\"price\":\"0.01\"}}}"

#define CATALOG \
    "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":{\"VATRate\":22},\"discounts\":{\"EUUSDiscount\":5}},{\"id\":2,\"name\":\"b\"," \
    "\"contract\":{\"bandwidth\":\"percentile\",\"discount_percent\":\"10\"}}],\"zones\":[" \
    "{\"id\":101,\"account\":1,\"name\":\"a\",\"settings\":{\"OptimizerEnabled\":true}}," \
    "{\"id\":102,\"account\":1,\"name\":\"v\",\"type\":\"volume\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]," \
    "\"load_balancers\":[{\"id\":7,\"account\":1,\"zones\":[101],\"created\":\"2026-01-10T00:00:00Z\"}]}"

#define COMMITTED "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"contract\":{\"commit\":{\"monthly\":\"1000\"}}}]}"

static fixture f;
static parts p;
static tb_check_rated rated;
static tb_book *books;
static size_t n_books;
static int64_t now_us;

/* --- documents --- */

/* A request that was not served from the cache: it reaches the zone's load balancer. */
static void add_hit(int64_t zone, const char *edge, int64_t hour)
{
    static uint64_t number = 90000;
    const tb_hit hit = {.zone = zone, .bytes = 700, .edge = edge, .edge_len = (uint8_t)strlen(edge), .hour = (int32_t)hour, .status = 200};
    const tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {++number, 1}, .head = {number, 1},
                                .accepted = 1, .final = true, .now_us = NOW_US};
    tb_error err = {0};
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    ok(tb_rollup_add_hits(rollup, &hit, 1, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_add_usage(f.store, cursor, &err));
    ok(tb_store_add_segment(f.store, &segment, NULL, &err));
    ok(tb_store_commit(f.store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}

static void add_requests(int64_t balancer, int64_t hour, uint64_t requests)
{
    static uint64_t number = 70000;
    tb_row row = row_of(balancer, "", (int32_t)hour, TB_M_REQUESTS, requests);
    row.balancer = true;
    fixture_add(&f, &row, 1, ++number);
}

static void make_final(int64_t account, int64_t month)
{
    tb_error err = {0};
    tb_month_books all;
    tb_issue draft;
    tb_invoice invoice;
    tb_issue_outcome outcome;
    now_us += TB_US_PER_DAY;
    const tb_issue_options options = {.now_us = now_us};
    ok(tb_store_begin(f.store, &err));
    ok(tb_month_books_read(f.store, &all, &err));
    ok(tb_issue_draft(f.store, account, month, &all, now_us, &draft, &err));
    for (size_t i = 0; i < draft.joined.bill.n_unpriced; i++)
        ck_abort_msg("%s: %s", draft.joined.bill.unpriced[i].resource, draft.joined.bill.unpriced[i].reason);
    ok(tb_issue_finalize(f.store, &draft, &options, &invoice, &outcome, &err));
    if (outcome == TB_ISSUE_MADE || outcome == TB_ISSUE_KNOWN) tb_invoice_release(&invoice);
    tb_issue_release(&draft);
    tb_month_books_release(&all);
    ok(tb_store_commit(f.store, &err));
}

static void begin(void)
{
    tb_error err = {0};
    now_us = NOW_US;
    fixture_init(&f);
    add_text_book(&f, BOOK);
    fixture_apply(&f, CATALOG, us_at(1, 1, 0), NULL);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_proof_start(f.store, seed, us_at(1, 1, 0), &err));
    ok(tb_store_commit(f.store, &err));
    add_bytes(&f, 101, "DE", at(9, 4, 3), UINT64_C(300000000000));
    add_bytes(&f, 101, "NY", at(9, 4, 3), UINT64_C(100000000000));
    add_bytes(&f, 101, "DE", at(9, 5, 7), UINT64_C(500000000000));
    add_bytes(&f, 102, "DE", at(9, 6, 0), UINT64_C(150000000000));
    add_bytes(&f, 201, "DE", at(9, 6, 0), UINT64_C(90000000000000));
    add_bytes(&f, 201, "NY", at(9, 7, 1), UINT64_C(80000000000000));
    add_hit(101, "DE", at(9, 8, 1));
    add_requests(7, at(9, 9, 2), 5000000);
}

static void end(void)
{
    tb_books_release(books, n_books);
    free(books);
    books = NULL;
    n_books = 0;
    fixture_release(&f);
}

/* The document's parts. */
static void take_parts(int64_t account, const char *number)
{
    tb_error err = {0};
    tb_invoice invoice;
    if (!books) ok(tb_store_books(f.store, &books, &n_books, &err));
    ok(tb_store_invoice(f.store, account, number, &invoice, &err));
    ok(parts_read(f.store, &invoice, books, n_books, &p, &err));
    tb_invoice_release(&invoice);
}

static void is_same(int64_t account, const char *number)
{
    tb_error err = {0};
    take_parts(account, number);
    ok(tb_check_rate(&p.of, &rated, &err));
    ck_assert_str_eq(rated.number, number);
    parts_release(&p);
}

/* Every stored document. */
static size_t all_same(void)
{
    tb_error err = {0};
    tb_invoice *all;
    size_t n = 0;
    ok(tb_store_invoices(f.store, 0, INT64_MIN, &all, &n, &err));
    for (size_t i = 0; i < n; i++) {
        is_same(all[i].account, all[i].number);
        tb_invoice_release(&all[i]);
    }
    free(all);
    return n;
}

/* --- changes --- */

/* The text with its first `from` replaced. */
static void change(tb_text *text, const char *from, const char *to)
{
    const char *at = strstr(text->data, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, text->data);
    tb_buf out;
    tb_buf_init(&out, (size_t)1 << 24, NULL);
    tb_buf_add(&out, text->data, (size_t)(at - text->data));
    tb_buf_str(&out, to);
    tb_buf_str(&out, at + strlen(from));
    text_drop(*text);
    *text = text_kept(out.data, out.len);
    tb_buf_release(&out);
}

/* Wherever it stands. */
static void change_all(tb_text *text, const char *from, const char *to)
{
    while (strstr(text->data, from))
        change(text, from, to);
}

static void says(tb_code wanted, const char *field, const char *words)
{
    tb_error err = {0};
    const tb_code code = tb_check_rate(&p.of, &rated, &err);
    ck_assert_msg(code == wanted, "%s, not %s: %s: %s", tb_code_name(code), tb_code_name(wanted), err.field, err.message);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, words) != NULL, "\"%s\" is not in \"%s\"", words, err.message);
    parts_release(&p);
}

#define INVOICE "2026-000001"

static void begin_one(void)
{
    begin();
    make_final(1, 680);
}

/* --- the same --- */

START_TEST(an_invoice_is_the_same)
{
    begin_one();
    is_same(1, INVOICE);
    ck_assert_uint_eq(rated.cells, 6);
    ck_assert_str_eq(rated.month, "2026-09");
    ck_assert_str_eq(rated.currency, "USD");
    ck_assert(rated.bytes == (tb_i128)300000000000 + 100000000000 + 500000000000 + 150000000000 + 700);
    ck_assert(rated.requests == 5000001); /* one of them is a zone's */
    end();
}
END_TEST

START_TEST(bandwidth_at_a_percentile_is_the_same)
{
    begin();
    make_final(2, 680);
    is_same(2, INVOICE);
    take_parts(2, INVOICE);
    change(&p.days[0].text, "bytes=90000000000000", "bytes=90000000000001");
    says(TB_E_DIFFERENT, "invoice", "its usage is of other days");
    end();
}
END_TEST

START_TEST(corrections_and_credit_notes_are_the_same)
{
    begin_one();
    add_bytes(&f, 101, "DE", at(9, 5, 9), 7000000000);
    add_bytes(&f, 102, "NY", at(9, 20, 9), 9000000000);
    make_final(1, 681);
    fixture_apply(&f, CATALOG, us_at(11, 20, 0), NULL);
    take_parts(1, "2026-000002");
    ck_assert_uint_eq(p.of.n_earlier, 1);
    tb_error err = {0};
    ok(tb_check_rate(&p.of, &rated, &err));
    ck_assert_uint_eq(rated.corrected, 1);
    p.of.n_earlier = 0;
    says(TB_E_NOT_FOUND, "earlier", "Document " INVOICE);
    ck_assert_uint_eq(all_same(), 2);
    end();
}
END_TEST

/* Gauges hold what they had before the month. */
START_TEST(gauges_are_the_same)
{
    begin();
    add_meter(&f, 1, "storage", "\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"storage_zone\"");
    add_series(&f, 1, 1, 1, "sz-1", "");
    add_series(&f, 2, 1, 1, "sz-2", "");
    add_gauge(&f, 1, us_at(8, 20, 0), 1, UINT64_C(40000000000));
    add_gauge(&f, 1, us_at(9, 10, 5) + 90, 1, UINT64_C(80000000000));
    add_gauge(&f, 2, us_at(9, 12, 0), 2, UINT64_C(1000000000));
    make_final(1, 680);
    is_same(1, INVOICE);
    take_parts(1, INVOICE);
    change(&p.of.terms, "\"value\":40000000000", "\"value\":40000000001");
    says(TB_E_DIFFERENT, "invoice", "Line");
    take_parts(1, INVOICE);
    change(&p.of.terms, ",{\"dimension_1\":null,\"dimension_2\":null,\"meter\":0,\"part\":0,\"resource\":\"sz-2\"}", "");
    says(TB_E_DIFFERENT, "days", "was left out");
    take_parts(1, INVOICE);
    change(&p.of.terms, "\"dimensions\":0", "\"dimensions\":3");
    says(TB_E_VALIDATION, "terms", "a meter has a value that none can have");
    end();
}
END_TEST

/* Nor does a value count that was reported meanwhile: it holds from the account's return on. */
START_TEST(gauges_hold_nothing_while_the_account_is_deleted)
{
    begin();
    add_meter(&f, 1, "storage", "\"kind\":\"gauge\",\"unit\":\"byte\",\"resource\":\"storage_zone\"");
    add_series(&f, 1, 1, 1, "sz-1", "");
    add_gauge(&f, 1, us_at(8, 20, 0), 1, UINT64_C(40000000000));
    fixture_apply(&f, "{\"accounts\":[{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":201,\"account\":2,\"name\":\"b\"}]}", us_at(9, 15, 7), NULL);
    add_gauge(&f, 1, us_at(9, 16, 0), 1, UINT64_C(90000000000));
    fixture_apply(&f, CATALOG, us_at(9, 18, 12), NULL);
    make_final(1, 680);
    is_same(1, INVOICE);
    take_parts(1, INVOICE);
    ck_assert_ptr_nonnull(strstr(p.of.terms.data, "\"gaps\":[{\"from\":\"2026-09-15T07:00:00Z\",\"to\":\"2026-09-18T12:00:00Z\"}]"));
    change(&p.of.terms, "\"to\":\"2026-09-18T12:00:00Z\"", "\"to\":\"2026-09-18T11:00:00Z\"");
    says(TB_E_DIFFERENT, "invoice", "the document counts 146592000000000000 byte-second");
    end();
}
END_TEST

/* --- changed --- */

START_TEST(changed_usage_is_named)
{
    begin_one();
    take_parts(1, INVOICE);
    change(&p.days[0].text, "bytes=300000000000", "bytes=310000000000");
    says(TB_E_DIFFERENT, "invoice", "Line 1 (Bandwidth, zone 101, EU)");
    take_parts(1, INVOICE);
    change(&p.days[0].text, "bytes=300000000000", "bytes=300000000001");
    says(TB_E_DIFFERENT, "invoice", "the document counts 800000000700 byte, and its usage comes to 800000000701.");
    take_parts(1, INVOICE);
    change(&p.days[0].text, "\tDE\t", "\tZZ\t");
    says(TB_E_DIFFERENT, "days", "Usage of 2026-09-04 was left out (the terms do not say where that region is billed)");
    take_parts(1, INVOICE);
    change(&p.days[0].text, "zone\t101", "zone\t100");
    says(TB_E_DIFFERENT, "days", "the terms have no entry for it");
    take_parts(1, INVOICE);
    change(&p.days[0].text, "T03:00:00Z", "T03:30:00Z");
    says(TB_E_VALIDATION, "days", "line 1: a pull zone, a region and an hour");
    take_parts(1, INVOICE);
    p.of.days++;
    p.of.n_days--;
    says(TB_E_NOT_FOUND, "days", "The usage of 2026-09-04, entry");
    end();
}
END_TEST

START_TEST(lines_ascend)
{
    begin_one();
    take_parts(1, INVOICE);
    const tb_text twice = text_kept(p.days[1].text.data, p.days[1].text.len);
    change(&p.days[1].text, "zone", twice.data);
    text_drop(twice);
    says(TB_E_VALIDATION, "days", "cannot be read: line");
    end();
}
END_TEST

START_TEST(changed_terms_are_named)
{
    static const struct {
        const char *from, *to;
        tb_code code;
        const char *field, *words;
    } rows[] = {
        {"\"discount\":5", "\"discount\":6", TB_E_DIFFERENT, "invoice", "too much"},
        {"\"discount\":5", "\"discount\":4", TB_E_DIFFERENT, "invoice", "too little"},
        {"{\"code\":\"NY\",\"region\":\"NA\"}", "{\"code\":\"NY\",\"region\":\"EU\"}", TB_E_DIFFERENT, "invoice", "Line 1 ("},
        {"{\"code\":\"DE\",\"region\":\"EU\"}", "{\"code\":\"DE\",\"region\":\"AF\"}", TB_E_DIFFERENT, "days", "the terms have no entry for it"},
        {"\"percent\":\"22\"", "\"percent\":\"21\"", TB_E_DIFFERENT, "invoice", "the total does not"},
        {"\"balancer\":7,\"part\":0", "\"balancer\":8,\"part\":0", TB_E_DIFFERENT, "days", "the terms have no entry for its requests"},
        {"\"seconds\":2592000,\"zone\":101", "\"seconds\":2591000,\"zone\":101", TB_E_DIFFERENT, "invoice", "Optimizer"},
        {"\"watermark\":", "\"watermark\":1", TB_E_DIFFERENT, "terms", "of watermark"},
        {"\"number\":\"2026-000001\"", "\"number\":\"2026-000002\"", TB_E_DIFFERENT, "terms", "2026-000002"},
        {"\"v\":1", "\"v\":2", TB_E_VALIDATION, "terms", "version 2"},
        {"\"v\":1", "\"v\": 1", TB_E_VALIDATION, "terms", "one form"},
        {"\"discount\":5", "\"discount\":05", TB_E_VALIDATION, "terms", ""},
        {"\"account\":1", "\"Account\":1", TB_E_VALIDATION, "terms", "\"account\""},
        {"\"from\":\"2026-09-01T00:00:00Z\"", "\"from\":\"2026-09-01T00:00:00+00:00\"", TB_E_VALIDATION, "terms", "one form"},
        {"[\"2026-09-04\",", "[\"2026-08-04\",", TB_E_VALIDATION, "terms", "not its own"},
    };
    begin_one();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        take_parts(1, INVOICE);
        change(&p.of.terms, rows[i].from, rows[i].to);
        says(rows[i].code, rows[i].field, rows[i].words);
    }
    end();
}
END_TEST

START_TEST(changed_books_are_named)
{
    char sha256[65];
    tb_error err = {0};
    tb_book book;
    begin_one();
    take_parts(1, INVOICE);
    change(&p.books[0], "\"EU\":\"0.01\"", "\"EU\":\"0.02\"");
    says(TB_E_NOT_FOUND, "books", "price book a");
    take_parts(1, INVOICE);
    p.of.n_books = 0;
    says(TB_E_NOT_FOUND, "books", "price book a");
    take_parts(1, INVOICE);
    change(&p.books[0], "\"EU\":\"0.01\"", "\"EU\":\"0.02\"");
    ok(tb_book_parse(p.books[0].data, p.books[0].len, NULL, &book, &err));
    memcpy(sha256, book.sha256, sizeof sha256);
    tb_book_release(&book);
    change_all(&p.of.terms, books[0].sha256, sha256);
    says(TB_E_DIFFERENT, "invoice", "the document says 7.60 USD, and its usage, terms and prices come to 15.20 USD: 7.60 USD too little.");
    end();
}
END_TEST

/* What was billed before is what the earlier document says, whatever the terms say. */
START_TEST(corrections_begin_at_what_was_billed)
{
    begin_one();
    add_bytes(&f, 101, "DE", at(9, 5, 9), UINT64_C(700000000000));
    make_final(1, 681);
    take_parts(1, "2026-000002");
    char *const before = strstr((char *)(uintptr_t)p.of.terms.data, "\"before\":[");
    char *const day = before ? strstr(before, "[\"2026-09-04\",") : NULL;
    ck_assert_ptr_nonnull(day);
    char *const next = strchr(day, ']') + 2; /* the day that follows */
    memmove(day, next, strlen(next) + 1);
    p.of.terms.len = strlen(p.of.terms.data);
    says(TB_E_DIFFERENT, "earlier", "Earlier documents billed ");
    end();
}
END_TEST

/* A month below its commit costs the same with a byte less. */
START_TEST(corrections_begin_at_the_usage_that_was_billed)
{
    begin();
    fixture_apply(&f, COMMITTED, us_at(1, 1, 1), NULL);
    make_final(1, 680);
    add_bytes(&f, 101, "DE", at(9, 5, 9), UINT64_C(700000000000));
    make_final(1, 681);
    is_same(1, "2026-000002");
    take_parts(1, "2026-000002");
    char *const before = strstr((char *)(uintptr_t)p.of.terms.data, "\"before\":[");
    char *const day = before ? strstr(before, "[\"2026-09-04\",") : NULL;
    ck_assert_ptr_nonnull(day);
    char *const next = strchr(day, ']') + 2; /* the day that follows */
    memmove(day, next, strlen(next) + 1);
    p.of.terms.len = strlen(p.of.terms.data);
    says(TB_E_DIFFERENT, "earlier", "billed: it has 300,000,000,000 fewer byte of zone:101, EU.");
    end();
}
END_TEST

START_TEST(books_begin_when_they_say)
{
    begin();
    add_text_book(&f, "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-09-20T00:00:00Z\",\"minimum_monthly\":\"1.00\","
                  "\"bandwidth\":{\"percentile\":{\"per\":\"Mbps\",\"percentile\":\"95\",\"price\":\"0.90\"}}}");
    make_final(2, 680);
    is_same(2, INVOICE);
    take_parts(2, INVOICE);
    change_all(&p.of.terms, "2026-09-20T00:00:00Z", "2026-09-19T00:00:00Z");
    says(TB_E_DIFFERENT, "terms", "price book b in force from another moment");
    end();
}
END_TEST

/* Every entry of bytes is needed, and none may be there twice. */
START_TEST(each_cell_goes_into_one_entry)
{
    static const char entry[] = "{\"charge\":\"premium\",\"discount\":5,\"from\":\"2026-09-01T00:00:00Z\",\"location\":null,\"part\":0,"
                                "\"price\":\"0\",\"region\":\"EU\",\"to\":\"2026-10-01T00:00:00Z\",\"zone\":101},";
    char twice[2 * sizeof entry];
    begin_one();
    take_parts(1, INVOICE);
    change(&p.of.terms, entry, "");
    says(TB_E_DIFFERENT, "days", "the terms have no entry for it");
    take_parts(1, INVOICE);
    snprintf(twice, sizeof twice, "%s%s", entry, entry);
    change(&p.of.terms, entry, twice);
    says(TB_E_VALIDATION, "terms", "two entries are of the usage of one hour");
    end();
}
END_TEST

/* What nobody wrote is refused, whatever it is. */
START_TEST(terms_are_read_strictly)
{
    tb_error err = {0};
    begin_one();
    take_parts(1, INVOICE);
    for (size_t i = 0; i < p.of.terms.len; i++) {
        char *const at = (char *)(uintptr_t)&p.of.terms.data[i];
        const char was = *at;
        tb__doc_terms terms;
        *at = ' ';
        if (was != ' ' && tb__terms_read(p.of.terms, &terms, &err) == TB_OK) tb__terms_release(&terms); /* within a text */
        *at = 0;
        ck_assert_int_eq(tb__terms_read(p.of.terms, &terms, &err), TB_E_VALIDATION);
        *at = was;
    }
    parts_release(&p);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check_rate");
    TCase *same = tcase_create("same"), *changed = tcase_create("changed");
    tcase_add_test(same, an_invoice_is_the_same);
    tcase_add_test(same, bandwidth_at_a_percentile_is_the_same);
    tcase_add_test(same, corrections_and_credit_notes_are_the_same);
    tcase_add_test(same, gauges_are_the_same);
    tcase_add_test(same, gauges_hold_nothing_while_the_account_is_deleted);
    tcase_add_test(changed, changed_usage_is_named);
    tcase_add_test(changed, lines_ascend);
    tcase_add_test(changed, changed_terms_are_named);
    tcase_add_test(changed, changed_books_are_named);
    tcase_add_test(changed, corrections_begin_at_what_was_billed);
    tcase_add_test(changed, corrections_begin_at_the_usage_that_was_billed);
    tcase_add_test(changed, books_begin_when_they_say);
    tcase_add_test(changed, each_cell_goes_into_one_entry);
    tcase_add_test(changed, terms_are_read_strictly);
    suite_add_tcase(suite, same);
    suite_add_tcase(suite, changed);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
