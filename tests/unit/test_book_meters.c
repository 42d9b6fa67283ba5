/* book.h: meters, fees and bandwidth.percentile of a price book, and every way to be refused. */
#include "tollbook/book.h"
#include "unit/decimals.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOK(members) "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\"," members "}"
#define METER(members)      BOOK("\"meters\":{\"m\":{" members "}}")
#define FEE(members)        BOOK("\"fees\":{\"f\":{" members "}}")
#define PERCENTILE(members) BOOK("\"bandwidth\":{\"percentile\":{" members "}}")
#define TIERS "[{\"from\":\"0\",\"to\":\"1000\",\"price\":\"0.90\"},{\"from\":\"1000\",\"to\":null,\"price\":\"0.70\",\"flat\":\"5\"}]"

static tb_book take(const char *text)
{
    tb_book book;
    tb_error err = {0};
    ck_assert_msg(tb_book_parse(text, strlen(text), NULL, &book, &err) == TB_OK, "%s: %s in %s", err.field,
                  err.message, text);
    return book;
}

static void refused(const char *text, const char *field, const char *message)
{
    tb_book book;
    tb_error err = {0};
    ck_assert_msg(tb_book_parse(text, strlen(text), NULL, &book, &err) == TB_E_BOOK, "accepted: %s", text);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_uint_ge(err.byte, 1);
    ck_assert_uint_le(err.byte, strlen(text) + 1);
}

/* The example that the documents show. */
static const char whole[] = BOOK(
    "\"meters\":{"
    "\"storage\":{\"per\":\"GB\",\"time\":\"month\",\"by\":\"region\",\"prices\":{\"DE\":{\"price\":\"0.01\"},"
    "\"*\":{\"price\":\"0.02\"}}},"
    "\"script_requests\":{\"per\":1000000,\"scope\":\"account\",\"mode\":\"graduated\",\"included\":\"10\","
    "\"included_axis\":\"net\",\"tiers\":[{\"from\":\"0\",\"to\":null,\"price\":\"0.20\"}]},"
    "\"port\":{\"percentile\":\"95\",\"scope\":\"resource\",\"per\":\"Mbps\",\"tiers\":" TIERS ",\"minimum\":\"100.00\"}},"
    "\"bandwidth\":{\"percentile\":{\"per\":\"Mbps\",\"percentile\":\"99.5\",\"price\":\"0.80\"}},"
    "\"fees\":{\"shield\":{\"name\":\"Shield Advanced\",\"amount\":\"9.50\",\"every\":\"month\",\"timing\":\"arrears\","
    "\"prorate\":true,\"charge\":\"Shield\"},"
    "\"gold\":{\"name\":\"Gold support\",\"amount\":1200,\"every\":\"year\",\"timing\":\"advance\",\"prorate\":false}}");

static void check_whole(const tb_book *book)
{
    ck_assert_uint_eq(book->n_meters, 3);
    const tb_meter_rate *port = &book->meters[0], *requests = &book->meters[1], *storage = &book->meters[2];
    ck_assert_str_eq(port->meter, "port");
    ck_assert(port->sampled && port->by_resource && port->has_minimum && port->time == TB_RATE_NO_TIME);
    is(port->percentile, "95");
    is(port->minimum, "100");
    ck_assert_str_eq(port->per, "Mbps");
    ck_assert_uint_eq(port->n, 1);
    ck_assert_uint_eq(port->rate[0].n, 2);
    is(port->rate[0].tier[0].to, "1000");
    is(port->rate[0].tier[1].from, "1000");
    is(port->rate[0].tier[1].price, "0.7");
    is(port->rate[0].tier[1].flat, "5");
    ck_assert(port->rate[0].tier[1].open && !port->rate[0].tier[0].open);
    ck_assert_str_eq(requests->per, "1000000");
    ck_assert(!requests->sampled && !requests->by_resource && !requests->has_minimum);
    is(requests->rate[0].included, "10");
    ck_assert(!requests->rate[0].included_absolute);
    ck_assert_str_eq(storage->by, "region");
    ck_assert_int_eq(storage->time, TB_RATE_MONTH);
    ck_assert_uint_eq(storage->n, 2);
    ck_assert_str_eq(storage->rate[0].value, "*");
    ck_assert_str_eq(storage->rate[1].value, "DE");
    is(storage->rate[1].tier[0].price, "0.01");
    ck_assert(book->has_percentile && book->percentile.sampled);
    is(book->percentile.percentile, "99.5");
    is(book->percentile.rate[0].tier[0].price, "0.8");
    ck_assert_uint_eq(book->n_fees, 2);
    ck_assert_str_eq(book->fees[0].id, "gold");
    ck_assert(book->fees[0].yearly && book->fees[0].advance && !book->fees[0].prorate && !book->fees[0].charge[0]);
    ck_assert_str_eq(book->fees[1].name, "Shield Advanced");
    ck_assert_str_eq(book->fees[1].charge, "Shield");
    ck_assert(!book->fees[1].yearly && !book->fees[1].advance && book->fees[1].prorate);
    is(book->fees[1].amount, "9.5");
}

START_TEST(meters_fees_and_percentiles_are_taken)
{
    tb_book book = take(whole);
    check_whole(&book);
    ck_assert(strstr(book.canonical, "\"per\":1000000") != NULL);
    tb_book_release(&book);
    ck_assert_ptr_null(book.memory);
}
END_TEST

START_TEST(a_copy_lives_on_its_own)
{
    tb_error err = {0};
    tb_book book = take(whole), copy;
    ck_assert_int_eq(tb_book_copy(&book, &copy, &err), TB_OK);
    ck_assert_ptr_ne(copy.meters, book.meters);
    ck_assert_ptr_ne(copy.meters[0].rate, book.meters[0].rate);
    ck_assert_ptr_ne(copy.percentile.rate[0].tier, book.percentile.rate[0].tier);
    tb_book_release(&book);
    check_whole(&copy);
    tb_book_release(&copy);
    book = take(BOOK("\"meters\":{},\"fees\":{}"));
    ck_assert_ptr_null(book.memory);
    ck_assert_int_eq(tb_book_copy(&book, &copy, &err), TB_OK);
    tb_book_release(&book);
    tb_book_release(&copy);
}
END_TEST

START_TEST(fees_have_defaults)
{
    tb_book book = take(FEE("\"name\":\"Port\",\"amount\":\"0\""));
    ck_assert(!book.fees[0].yearly && !book.fees[0].advance && book.fees[0].prorate);
    tb_book_release(&book);
    refused(FEE("\"amount\":\"1\""), "fees.f.name", "missing");
    refused(FEE("\"name\":\"a\""), "fees.f.amount", "missing");
    refused(FEE("\"name\":\"a\\u0001\",\"amount\":\"1\""), "fees.f.name", "1 to 96 bytes");
    refused(FEE("\"name\":\"a\",\"amount\":\"-1\""), "fees.f.amount", "negative");
    refused(FEE("\"name\":\"a\",\"amount\":\"1\",\"every\":\"week\""), "fees.f.every", "month or year");
    refused(FEE("\"name\":\"a\",\"amount\":\"1\",\"timing\":\"now\""), "fees.f.timing", "arrears or advance");
    refused(FEE("\"name\":\"a\",\"amount\":\"1\",\"prorate\":1"), "fees.f.prorate", "true or false");
    refused(FEE("\"name\":\"a\",\"amount\":\"1\",\"charge\":\"Taxes\""), "fees.f.charge", "GET /billing");
    refused(FEE("\"name\":\"a\",\"amount\":\"1\",\"unit\":\"x\""), "fees.f.unit", "Unknown key");
    refused(BOOK("\"fees\":{\"a b\":{\"name\":\"a\",\"amount\":\"1\"}}"), "fees.a b", "letters");
    refused(BOOK("\"fees\":[]"), "fees", "an object");
}
END_TEST

START_TEST(a_rate_has_a_price_or_tiers)
{
    refused(METER("\"per\":\"GB\""), "meters.m.price", "price, or tiers");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"tiers\":" TIERS), "meters.m.tiers", "not both");
    refused(METER("\"per\":\"GB\",\"price\":\"-1\""), "meters.m.price", "negative");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"mode\":\"package\",\"block\":\"1\""), "meters.m.mode", "needs tiers");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"block\":\"1\""), "meters.m.block", "Only mode package");
    refused(METER("\"price\":\"1\""), "meters.m.per", "missing");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"rate\":1"), "meters.m.rate", "Unknown key");
    refused(BOOK("\"meters\":{\"m\":1}"), "meters.m", "an object");
    refused(BOOK("\"meters\":{\"m/n\":{\"per\":\"GB\",\"price\":\"1\"}}"), "meters.m/n", "letters");
    tb_book book = take(METER("\"per\":\"GB\",\"price\":\"1\",\"included\":\"10.5\""));
    is(book.meters[0].rate[0].included, "10.5");
    tb_book_release(&book);
}
END_TEST

START_TEST(tiers_keep_the_rules_of_all_tiers)
{
    refused(METER("\"per\":\"GB\",\"tiers\":[]"), "meters.m.tiers", "1 to 64");
    refused(METER("\"per\":\"GB\",\"tiers\":[{\"from\":\"1\",\"to\":null,\"price\":\"1\"}]"), "meters.m.tiers[0].from",
            "start at 0");
    refused(METER("\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"1.5\",\"price\":\"1\"},{\"from\":\"1.6\",\"to\":null,"
                  "\"price\":\"1\"}]"),
            "meters.m.tiers[1].from", "gap: the one before ends at 1.5");
    refused(METER("\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"1\",\"price\":\"1\"}]"), "meters.m.tiers[0].to", "open");
    refused(METER("\"per\":\"GB\",\"included\":\"5\",\"tiers\":" TIERS), "meters.m.included_axis", "absolute or net");
    refused(METER("\"per\":\"GB\",\"mode\":\"package\",\"tiers\":" TIERS), "meters.m.block", "block above 0");
    refused(METER("\"per\":\"GB\",\"included\":\"1000000000000000001\",\"price\":\"1\""), "meters.m.included", "at most 10^18");
    refused(METER("\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":null,\"price\":\"1000000\",\"flat\":"
                  "\"0.000000000000001\"},{}]"),
            "meters.m.tiers[1].from", "missing");
    tb_book book = take(METER("\"per\":\"1\",\"mode\":\"package\",\"block\":\"0.5\",\"tiers\":[{\"from\":\"0\",\"to\":null,"
                              "\"price_per_block\":\"170141\"}]"));
    is(book.meters[0].rate[0].block, "0.5");
    tb_book_release(&book);
}
END_TEST

START_TEST(a_price_is_for_a_number_or_a_unit)
{
    static const char *const good[] = {"\"GB\"", "1", "\"1000000000000000000\"", "\"CPU second\""};
    static const char *const bad[] = {"0", "\"0\"", "1.5", "\"1.5\"", "1e6", "-1", "\"-1\"", "\"1000000000000000001\"", "\"1GB\"", "\"+1\""};
    char text[512];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, METER("\"price\":\"1\",\"per\":%s"), good[i]);
        tb_book book = take(text);
        tb_book_release(&book);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, METER("\"price\":\"1\",\"per\":%s"), bad[i]);
        refused(text, "meters.m.per", "a whole number from 1 to 10^18");
    }
    refused(METER("\"price\":\"1\",\"per\":\"\""), "meters.m.per", "1 to 32 bytes");
    refused(METER("\"price\":\"1\",\"per\":\"a unit of more than thirty-two bytes\""), "meters.m.per", "1 to 32 bytes");
    refused(METER("\"price\":\"1\",\"per\":[]"), "meters.m.per", "a number or a unit");
    refused(METER("\"price\":\"1\",\"per\":{\"x\":1}"), "meters.m.per", "a number or a unit");
}
END_TEST

START_TEST(prices_by_a_dimension_stand_in_entries)
{
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"price\":\"1\""), "meters.m.prices", "missing");
    refused(METER("\"per\":\"GB\",\"prices\":{\"DE\":{\"price\":\"1\"}}"), "meters.m.by", "missing");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{}"), "meters.m.prices", "Must have a price");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{\"DE\":{\"price\":\"1\"}},\"included\":\"1\""),
            "meters.m.included", "in the entries");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{\"DE\":{}}"), "meters.m.prices.DE.price", "missing");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{\"\":{\"price\":\"1\"}}"), "meters.m.prices.", "1 to 32");
    refused(METER("\"per\":\"GB\",\"by\":\"\",\"prices\":{\"DE\":{\"price\":\"1\"}}"), "meters.m.by", "1 to 32");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{\"DE\":{\"per\":\"GB\",\"price\":\"1\"}}"),
            "meters.m.prices.DE.per", "Unknown key");
    refused(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":[]"), "meters.m.prices", "an object");
    tb_book book = take(METER("\"per\":\"GB\",\"by\":\"region\",\"prices\":{\"DE\":{\"included\":\"1\",\"included_axis\":\"net\","
                              "\"tiers\":" TIERS "}}"));
    is(book.meters[0].rate[0].included, "1");
    tb_book_release(&book);
}
END_TEST

START_TEST(a_percentile_is_within_its_bounds)
{
    static const char *const bad[] = {"0", "100", "-1", "\"95.0001\""};
    char text[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, METER("\"per\":\"Mbps\",\"price\":\"1\",\"percentile\":%s"), bad[i]);
        refused(text, "meters.m.percentile", i == 2 ? "negative" : "above 0 and below 100");
    }
    refused(METER("\"per\":\"Mbps\",\"price\":\"1\",\"percentile\":95,\"time\":\"hour\""), "meters.m.time", "no time");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"time\":\"day\""), "meters.m.time", "hour or month");
    refused(METER("\"per\":\"GB\",\"price\":\"1\",\"scope\":\"zone\""), "meters.m.scope", "account or resource");
    refused(PERCENTILE("\"per\":\"GB\",\"percentile\":95,\"price\":\"1\""), "bandwidth.percentile.per", "Mbps");
    refused(PERCENTILE("\"per\":\"Mbps\",\"price\":\"1\""), "bandwidth.percentile.percentile", "missing");
    refused(PERCENTILE("\"per\":\"Mbps\",\"percentile\":95"), "bandwidth.percentile.price", "missing");
    refused(PERCENTILE("\"per\":\"Mbps\",\"percentile\":95,\"price\":1,\"minimum\":1"), "bandwidth.percentile.minimum",
            "Unknown key");
}
END_TEST

START_TEST(lists_are_bounded)
{
    const size_t room = 64 * (TB_BOOK_METERS_MAX + 2);
    char *text = malloc(room);
    for (int more = 0; more < 2; more++) {
        size_t n = (size_t)snprintf(text, room, "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":"
                                                "\"2026-01-01T00:00:00Z\",\"meters\":{");
        for (int i = 0; i < TB_BOOK_METERS_MAX + more; i++)
            n += (size_t)snprintf(text + n, room - n, "%s\"m%d\":{\"per\":\"GB\",\"price\":\"%d\"}", i ? "," : "", i, i);
        snprintf(text + n, room - n, "}}");
        if (more) {
            refused(text, "meters", "at most 256");
            continue;
        }
        tb_book book = take(text);
        ck_assert_uint_eq(book.n_meters, TB_BOOK_METERS_MAX);
        ck_assert_str_eq(book.meters[255].meter, "m99");
        is(book.meters[255].rate[0].tier[0].price, "99");
        tb_book_release(&book);
    }
    free(text);
}
END_TEST

/* An id's path may be longer than an error has room for. */
START_TEST(long_keys_are_cut)
{
    char text[1024], id[300];
    tb_book book;
    tb_error err = {0};
    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = 0;
    snprintf(text, sizeof text, BOOK("\"meters\":{\"%s\":{\"per\":\"GB\",\"price\":\"1\"}}"), id);
    ck_assert_int_eq(tb_book_parse(text, strlen(text), NULL, &book, &err), TB_E_BOOK);
    ck_assert_uint_eq(strlen(err.field), sizeof err.field - 1);
    id[64] = 0;
    snprintf(text, sizeof text, BOOK("\"meters\":{\"%s\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"1\",\"price\":\"1\"}]}}"), id);
    ck_assert_int_eq(tb_book_parse(text, strlen(text), NULL, &book, &err), TB_E_BOOK);
    ck_assert_uint_eq(strlen(err.field), sizeof err.field - 1);
}
END_TEST

/* --- without memory --- */

static void *count_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    int *left = ctx;
    (void)old;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(ptr, size) : NULL;
}

START_TEST(out_of_memory_leaves_nothing)
{
    int left = 0, after = 0;
    tb_alloc alloc = {.resize = count_resize, .ctx = &left};
    tb_book book, copy;
    tb_error err = {0};
    tb_code code = TB_E_NOMEM;
    for (int allowed = 0; code; allowed++) {
        left = allowed;
        ck_assert_int_lt(allowed, 1000);
        code = tb_book_parse(whole, strlen(whole), &alloc, &book, &err);
        ck_assert(!code || code == TB_E_NOMEM);
    }
    for (code = TB_E_NOMEM; code; after++) {
        left = after;
        code = tb_book_copy(&book, &copy, &err);
    }
    ck_assert_int_eq(after, 3);
    check_whole(&copy);
    tb_book_release(&copy);
    tb_book_release(&book);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("book_meters");
    TCase *t = tcase_create("book_meters");
    tcase_add_test(t, meters_fees_and_percentiles_are_taken);
    tcase_add_test(t, a_copy_lives_on_its_own);
    tcase_add_test(t, fees_have_defaults);
    tcase_add_test(t, a_rate_has_a_price_or_tiers);
    tcase_add_test(t, tiers_keep_the_rules_of_all_tiers);
    tcase_add_test(t, a_price_is_for_a_number_or_a_unit);
    tcase_add_test(t, prices_by_a_dimension_stand_in_entries);
    tcase_add_test(t, a_percentile_is_within_its_bounds);
    tcase_add_test(t, lists_are_bounded);
    tcase_add_test(t, long_keys_are_cut);
    tcase_add_test(t, out_of_memory_leaves_nothing);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
