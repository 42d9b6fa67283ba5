/* book.h: what a price book may say, and every way to be refused, with the path and the reason. */
#include "tollbook/book.h"
#include "unit/decimals.h"

#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JAN_2026 INT64_C(1767225600000000)

static tb_book take(const char *text)
{
    tb_book book;
    tb_error err = {0};
    ck_assert_msg(tb_book_parse(text, strlen(text), NULL, &book, &err) == TB_OK, "%s: %s in %s",
                  err.field, err.message, text);
    return book;
}

static void refused(const char *text, const char *field, const char *message)
{
    tb_book book;
    tb_error err = {0};
    ck_assert_msg(tb_book_parse(text, strlen(text), NULL, &book, &err) == TB_E_BOOK, "accepted: %s",
                  text);
    ck_assert_int_eq(err.code, TB_E_BOOK);
    ck_assert_str_eq(err.field, field);
    ck_assert_str_eq(err.message, message);
    ck_assert_uint_ge(err.byte, 1);
    ck_assert_uint_le(err.byte, strlen(text) + 1);
}

#define HEAD "\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\""
/* A book with these further members; one of volume tiers; one of a balancer's members. */
#define BOOK(members)     "{" HEAD "," members "}"
#define BANDWIDTH(member) BOOK("\"bandwidth\":{" member "}")
#define VOLUME(members)   BANDWIDTH("\"volume\":{\"per\":\"GB\"," members "}")
#define TIERS(list)       VOLUME("\"tiers\":[" list "]")
#define BALANCER(members) BOOK("\"load_balancer\":{\"monthly_fee\":\"9.50\"," members "}")
#define FROM_0_MILLIONS   "{\"from_millions\":0,\"to_millions\":null,\"price_per_million\":\"0.6\"}"

static void units_are(tb_i128 units, int64_t expected)
{
    ck_assert(units == expected);
}

static char *read_fixture(size_t *ret_len)
{
    const char *source = getenv("TB_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/fixtures/book.json", source ? source : ".");
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    char *text = malloc(1 << 16);
    *ret_len = fread(text, 1, 1 << 16, file);
    fclose(file);
    return text;
}

static void check_volume(const tb_tiers *t)
{
    static const char *const price[] = {"0.000000000005", "0.000000000004", "0.000000000003"},
                             *const shown[] = {"0.005", "0.004", "0.003"};
    ck_assert_int_eq(t->mode, TB_GRADUATED);
    ck_assert_uint_eq(t->n, 3);
    for (size_t k = 0; k < t->n; k++) {
        const tb_tier *tier = &t->tier[k];
        units_are(tier->from, (int64_t)k * INT64_C(500000000000000));
        units_are(tier->to, k < 2 ? (int64_t)(k + 1) * INT64_C(500000000000000) : 0);
        ck_assert_int_eq(tier->open, k == 2);
        is(tier->price, price[k]);
        is(tier->shown, shown[k]);
        is(tier->flat, "0");
    }
    units_are(t->included, 0);
    units_are(t->block, 0);
}

/* The public prices of contract 9.2, in the shape of billing.md 2. */
START_TEST(the_standard_book_is_taken)
{
    static const char *const premium[] = {"0.00000000001", "0.00000000001", "0.00000000003",
                                          "0.000000000045", "0.00000000006"};
    size_t len;
    char *text = read_fixture(&len);
    tb_book book;
    ck_assert_int_eq(tb_book_parse(text, len, NULL, &book, NULL), TB_OK);
    free(text);
    ck_assert_str_eq(book.id, "standard-2026");
    ck_assert_str_eq(book.currency, "USD");
    ck_assert_int_eq(book.minor_digits, 2);
    ck_assert_int_eq(book.effective_us, JAN_2026);
    ck_assert_int_eq(book.rounding, TB_HALF_UP);
    is(book.minimum_monthly, "1");
    ck_assert(book.has_premium && book.has_volume && book.has_optimizer && book.has_balancer);
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        ck_assert(book.region_priced[r]);
        is(book.region_price[r], premium[r]);
    }
    is(book.region_shown[TB_REGION_SA], "0.045");
    check_volume(&book.volume);
    is(book.optimizer_monthly, "9.5");
    is(book.balancer_fee, "9.5");
    units_are(book.balancer.included, 50000000);
    ck_assert(book.balancer.included_absolute);
    ck_assert_uint_eq(book.balancer.n, 1);
    units_are(book.balancer.tier[0].from, 50000000);
    ck_assert(book.balancer.tier[0].open);
    is(book.balancer.tier[0].price, "0.00000065");
    tb_book_release(&book);
    ck_assert_ptr_null(book.canonical);
    tb_book_release(&book);
}
END_TEST

START_TEST(every_section_is_optional)
{
    tb_book book = take("{" HEAD "}");
    ck_assert(!book.has_premium && !book.has_volume && !book.has_optimizer && !book.has_balancer);
    ck_assert_int_eq(book.rounding, TB_HALF_UP);
    is(book.minimum_monthly, "0");
    tb_book_release(&book);
    book = take(BANDWIDTH(""));
    ck_assert(!book.has_premium && !book.has_volume);
    tb_book_release(&book);
    book = take(BANDWIDTH("\"premium\":{\"per\":\"GB\",\"regions\":{\"SA\":\"0.1\"}}"));
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++)
        ck_assert_int_eq(book.region_priced[r], r == TB_REGION_SA);
    tb_book_release(&book);
}
END_TEST

START_TEST(the_canonical_text_is_sorted_and_hashed)
{
    tb_book book = take("{ \"effective_from\" : \"2026-01-01T00:00:00Z\", \"currency\":\"USD\",\n"
                        "\"book\":\"b\", \"minimum_monthly\": 1.50 }");
    const char *canonical = "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":"
                            "\"2026-01-01T00:00:00Z\",\"minimum_monthly\":1.50}";
    ck_assert_str_eq(book.canonical, canonical);
    ck_assert_uint_eq(book.canonical_len, strlen(canonical));
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[65];
    crypto_hash_sha256(hash, (const unsigned char *)canonical, strlen(canonical));
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    ck_assert_str_eq(book.sha256, hex);
    tb_book again = take(canonical);
    ck_assert_str_eq(again.sha256, book.sha256);
    tb_book_release(&again);
    tb_book_release(&book);
    again = take("{" HEAD ",\"minimum_monthly\":1.5}");
    ck_assert_str_ne(again.sha256, hex);
    tb_book_release(&again);
}
END_TEST

START_TEST(prices_are_read_from_their_text)
{
    tb_book book = take(BOOK("\"optimizer\":{\"monthly\":0.1},\"minimum_monthly\":\"0.1\""));
    is(book.optimizer_monthly, "0.1");
    is(book.minimum_monthly, "0.1");
    tb_book_release(&book);
    book = take(BOOK("\"optimizer\":{\"monthly\":123456789012.345678}"));
    is(book.optimizer_monthly, "123456789012.345678");
    tb_book_release(&book);
}
END_TEST

START_TEST(prices_have_their_form)
{
    static const char field[] = "optimizer.monthly";
#define MONTHLY(value) BOOK("\"optimizer\":{\"monthly\":" value "}")
    refused(MONTHLY("1e-2"), field, "A decimal has only digits and one point.");
    refused(MONTHLY("\"1e-2\""), field, "A decimal has only digits and one point.");
    refused(MONTHLY("\"NaN\""), field, "A digit is expected here.");
    refused(MONTHLY("\"\""), field, "A digit is expected here.");
    refused(MONTHLY("\"-0.01\""), field, "Must not be negative.");
    refused(MONTHLY("-1"), field, "Must not be negative.");
    refused(MONTHLY("true"), field, "Must be a decimal, as a string or a number, is true.");
    refused(MONTHLY("null"), field, "Must be a decimal, as a string or a number, is null.");
    refused(MONTHLY("\"0.0000000000000001\""), field, "At most 15 digits may follow the point.");
    refused(MONTHLY("{}"), field, "Must be a decimal, as a string or a number, is an object.");
    tb_book book = take(MONTHLY("\"0.000000000000001\""));
    tb_book_release(&book);
    book = take(MONTHLY("\"-0\""));
    ck_assert_int_eq(tb_decimal_sign(book.optimizer_monthly), 0);
    tb_book_release(&book);
}
END_TEST

/* 10^18 units must fit 127 bits: 170141.183... at 15 digits after the point. */
START_TEST(the_safe_price_is_checked)
{
    static const char message[] = "10^18 units at this price pass 2^127-1.";
    tb_book book = take(MONTHLY("\"170141.183460469231731\""));
    tb_book_release(&book);
    refused(MONTHLY("\"170141.183460469231732\""), "optimizer.monthly", message);
    book = take(MONTHLY("\"170142.000\""));
    tb_book_release(&book);
    book = take(MONTHLY("\"170141183460469231731\""));
    tb_book_release(&book);
    refused(MONTHLY("170141183460469231732"), "optimizer.monthly", message);
#define REGION(price) BANDWIDTH("\"premium\":{\"per\":\"GB\",\"regions\":{\"ASIA\":\"" price "\"}}")
    book = take(REGION("170141.183460469231731"));
    tb_book_release(&book);
    refused(REGION("170141.183460469231732"), "bandwidth.premium.regions.ASIA", message);
}
END_TEST

/* Sums over tiers have the finest scale among them. */
START_TEST(the_safe_price_is_checked_at_the_scale_of_all_tiers)
{
    static const char message[] = "10^18 units at this price pass 2^127-1.";
#define TWO(first, second, more)                                                                   \
    TIERS("{\"from\":0,\"to\":1,\"price\":\"" first                                                \
          "\"},{\"from\":1,\"to\":null,\"price\":\"" second "\"" more "}")
    tb_book book = take(TWO("170141", "0.000000000000001", ""));
    tb_book_release(&book);
    refused(TWO("170142", "0.000000000000001", ""), "bandwidth.volume.tiers[0].price", message);
    book = take(TWO("170142", "0.00000000000001", ""));
    tb_book_release(&book);
    refused(TWO("0.000000000000001", "170141.183460469231731", ",\"flat\":\"1000000000\""),
            "bandwidth.volume.tiers[1].price", message);
}
END_TEST

START_TEST(unknown_keys_are_refused_with_their_path)
{
    static const char message[] = "Unknown key.";
    refused(BOOK("\"x\":1"), "x", message);
    refused(BANDWIDTH("\"gold\":{}"), "bandwidth.gold", message);
    refused(BANDWIDTH("\"premium\":{\"per\":\"GB\",\"regions\":{\"OC\":\"1\"}}"),
            "bandwidth.premium.regions.OC", message);
    refused(BANDWIDTH("\"premium\":{\"per\":\"GB\",\"regions\":{\"eu\":\"1\"}}"),
            "bandwidth.premium.regions.eu", "Unknown key. Did you mean \"EU\"?");
    refused(VOLUME("\"tiers\":[],\"included_requests\":1"), "bandwidth.volume.included_requests",
            message);
    refused(TIERS("{\"from\":0,\"to\":null,\"price\":1,\"price_per_million\":1}"),
            "bandwidth.volume.tiers[0].price_per_million", message);
    refused(BOOK("\"optimizer\":{\"monthly\":1,\"yearly\":1}"), "optimizer.yearly", message);
    refused(BALANCER("\"tiers\":[" FROM_0_MILLIONS ",{\"from\":1}]"), "load_balancer.tiers[1].from",
            message);
    refused("{\"\\u0007a\\nb\":1}", "?a?b", message);
}
END_TEST

START_TEST(paths_are_cut_inside_no_character)
{
    char text[200], field[sizeof((tb_error *)NULL)->field];
    memset(field, 'x', sizeof field);
    field[sizeof field - 1] = 0;
    snprintf(text, sizeof text, "{\"%sxx\":1}", field);
    refused(text, field, "Unknown key.");
    /* A character of two bytes, of which only one would fit. */
    field[sizeof field - 2] = 0;
    snprintf(text, sizeof text, "{\"%s\xc3\xa9\":1}", field);
    refused(text, field, "Unknown key.");
    snprintf(text, sizeof text, "{%s,\"bandwidth\":{\"%sx\":1}}", HEAD, field);
    memcpy(field, "bandwidth.", 10);
    memset(field + 10, 'x', sizeof field - 11);
    field[sizeof field - 1] = 0;
    refused(text, field, "Unknown key.");
}
END_TEST

START_TEST(missing_keys_are_refused_with_their_path)
{
    static const char message[] = "This key is missing.";
    refused("{}", "book", message);
    refused("{\"book\":\"b\"}", "currency", message);
    refused("{\"book\":\"b\",\"currency\":\"USD\"}", "effective_from", message);
    refused(BANDWIDTH("\"premium\":{\"per\":\"GB\"}"), "bandwidth.premium.regions", message);
    refused(BANDWIDTH("\"premium\":{\"regions\":{}}"), "bandwidth.premium.per", message);
    refused(BANDWIDTH("\"volume\":{\"tiers\":[]}"), "bandwidth.volume.per", message);
    refused(VOLUME("\"scope\":\"account\""), "bandwidth.volume.tiers", message);
    refused(BOOK("\"optimizer\":{}"), "optimizer.monthly", message);
    refused(BALANCER("\"mode\":\"volume\""), "load_balancer.tiers", message);
    refused(BOOK("\"load_balancer\":{\"tiers\":[]}"), "load_balancer.monthly_fee", message);
    refused(TIERS("{\"to\":null,\"price\":1}"), "bandwidth.volume.tiers[0].from", message);
    refused(TIERS("{\"from\":0,\"price\":1}"), "bandwidth.volume.tiers[0].to", message);
    refused(TIERS("{\"from\":0,\"to\":null}"), "bandwidth.volume.tiers[0].price", message);
    refused(BALANCER("\"tiers\":[{\"from_millions\":0,\"to_millions\":null}]"),
            "load_balancer.tiers[0].price_per_million", message);
}
END_TEST

START_TEST(values_have_their_type_and_form)
{
    static const char id[] = "Must be 1 to 64 letters, digits, '.', '_' and '-'.",
                      currency[] = "Must be three capital letters such as USD.",
                      when[] = "Must be an RFC 3339 time such as 2026-01-01T00:00:00Z.";
    refused("[]", "", "Must be an object, is an array.");
    refused("{\"book\":1}", "book", "Must be a string, is a number.");
    refused("{\"book\":\"\"}", "book", id);
    refused("{\"book\":\"a b\"}", "book", id);
    refused("{\"book\":\"a/b\"}", "book", id);
    refused("{\"currency\":null}", "currency", "Must be a string, is null.");
    refused("{\"currency\":\"US\"}", "currency", currency);
    refused("{\"currency\":\"USDT\"}", "currency", currency);
    refused("{\"currency\":\"usd\"}", "currency", currency);
    refused("{\"effective_from\":1}", "effective_from", "Must be a string, is a number.");
    refused("{\"effective_from\":\"2026-01-01\"}", "effective_from", when);
    refused("{\"effective_from\":\"2026-01-01T00:30:00Z\"}", "effective_from",
            "Must be on an hour.");
    refused("{\"effective_from\":\"2026-01-01T00:00:00.000001Z\"}", "effective_from",
            "Must be on an hour.");
    refused(BOOK("\"rounding\":\"down\""), "rounding", "Must be half_up or half_even.");
    refused(BOOK("\"rounding\":0"), "rounding", "Must be a string, is a number.");
    refused(BOOK("\"bandwidth\":[]"), "bandwidth", "Must be an object, is an array.");
    refused(BANDWIDTH("\"premium\":{\"per\":\"TB\"}"), "bandwidth.premium.per",
            "Must be GB: 10^9 bytes.");
    refused(VOLUME("\"scope\":\"zone\""), "bandwidth.volume.scope", "Must be account.");
    refused(VOLUME("\"mode\":\"tiered\""), "bandwidth.volume.mode",
            "Must be graduated, volume or package.");
    refused(VOLUME("\"included_axis\":\"whole\""), "bandwidth.volume.included_axis",
            "Must be absolute or net.");
    refused(VOLUME("\"tiers\":{}"), "bandwidth.volume.tiers", "Must be an array, is an object.");
    refused(TIERS("0"), "bandwidth.volume.tiers[0]", "Must be an object, is a number.");
}
END_TEST

START_TEST(ids_have_at_most_64_bytes)
{
    char id[66], text[256];
    memset(id, 'i', sizeof id);
    id[64] = 0;
    snprintf(text, sizeof text,
             "{\"book\":\"%s\",\"currency\":\"EUR\","
             "\"effective_from\":\"2026-01-01T02:00:00+02:00\",\"rounding\":\"half_even\"}",
             id);
    tb_book book = take(text);
    ck_assert_str_eq(book.id, id);
    ck_assert_int_eq(book.effective_us, JAN_2026);
    ck_assert_int_eq(book.rounding, TB_HALF_EVEN);
    tb_book_release(&book);
    id[64] = 'i';
    id[65] = 0;
    snprintf(text, sizeof text, "{\"book\":\"%s\"}", id);
    refused(text, "book", "Must be 1 to 64 letters, digits, '.', '_' and '-'.");
}
END_TEST

START_TEST(currencies_have_their_minor_digits)
{
    ck_assert_int_eq(tb_currency_minor_digits("USD"), 2);
    ck_assert_int_eq(tb_currency_minor_digits("EUR"), 2);
    ck_assert_int_eq(tb_currency_minor_digits("QQQ"), 2);
    ck_assert_int_eq(tb_currency_minor_digits("JPY"), 0);
    ck_assert_int_eq(tb_currency_minor_digits("KRW"), 0);
    ck_assert_int_eq(tb_currency_minor_digits("KWD"), 3);
    ck_assert_int_eq(tb_currency_minor_digits("BHD"), 3);
    ck_assert_int_eq(tb_currency_minor_digits("CLF"), 4);
    tb_book book = take("{\"book\":\"b\",\"currency\":\"JPY\","
                        "\"effective_from\":\"2026-01-01T00:00:00Z\"}");
    ck_assert_int_eq(book.minor_digits, 0);
    tb_book_release(&book);
}
END_TEST

START_TEST(names_of_regions_and_modes_read_back)
{
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        tb_billing_region region;
        ck_assert(tb_billing_region_parse(tb_billing_region_name((tb_billing_region)r), &region));
        ck_assert_int_eq(region, r);
    }
    tb_billing_region region = TB_REGION_SA;
    ck_assert(!tb_billing_region_parse("OC", &region) && region == TB_REGION_SA);
    ck_assert(!tb_billing_region_parse("", &region));
    ck_assert_str_eq(tb_billing_region_name(TB_BILLING_REGION_COUNT), "");
    ck_assert_str_eq(tb_tier_mode_name(TB_GRADUATED), "graduated");
    ck_assert_str_eq(tb_tier_mode_name(TB_PACKAGE), "package");
    ck_assert_str_eq(tb_tier_mode_name((tb_tier_mode)9), "");
}
END_TEST

/* --- tiers --- */

#define TIER(from, to) "{\"from\":" from ",\"to\":" to ",\"price\":\"0.01\"}"

START_TEST(tiers_touch_and_rise_strictly)
{
#define FROM(k) "bandwidth.volume.tiers[" #k "].from"
    refused(TIERS(TIER("0", "10") "," TIER("11", "null")), FROM(1),
            "Tiers leave a gap: the one before ends at 10.");
    refused(TIERS(TIER("0", "10.5") "," TIER("10", "null")), FROM(1),
            "Tiers overlap: the one before ends at 10.5.");
    refused(TIERS(TIER("0", "10") "," TIER("10", "20") "," TIER("5", "null")), FROM(2),
            "Tiers must rise: the one before starts at 10.");
    refused(TIERS(TIER("0", "10") "," TIER("0", "null")), FROM(1),
            "Tiers must rise: the one before starts at 0.");
    refused(TIERS(TIER("0", "0") "," TIER("0", "null")), "bandwidth.volume.tiers[0].to",
            "Must be above where the tier starts.");
    refused(TIERS(TIER("0", "10") "," TIER("10", "9") "," TIER("9", "null")),
            "bandwidth.volume.tiers[1].to", "Must be above where the tier starts.");
    tb_book book = take(TIERS(TIER("0", "0.000000001") "," TIER("\"0.000000001\"", "null")));
    units_are(book.volume.tier[0].to, 1);
    units_are(book.volume.tier[1].from, 1);
    tb_book_release(&book);
}
END_TEST

START_TEST(exactly_the_last_tier_is_open)
{
    refused(TIERS(TIER("0", "null") "," TIER("10", "null")), "bandwidth.volume.tiers[0].to",
            "Only the last tier may be open.");
    refused(TIERS(TIER("0", "10") "," TIER("10", "20")), "bandwidth.volume.tiers[1].to",
            "The last tier must be open: null.");
    refused(TIERS(""), "bandwidth.volume.tiers", "Must have 1 to 64 tiers.");
}
END_TEST

START_TEST(the_first_tier_starts_at_0_without_included_units)
{
    refused(TIERS(TIER("1", "null")), FROM(0), "The first tier must start at 0.");
    refused(BALANCER("\"tiers\":[{\"from_millions\":50,\"to_millions\":null,"
                     "\"price_per_million\":1}]"),
            "load_balancer.tiers[0].from_millions", "The first tier must start at 0.");
}
END_TEST

/* What is shown to strict clients is an integer; what is only compared may be finer. */
START_TEST(a_book_that_bills_has_balancer_thresholds_of_whole_millions)
{
#define AT(n)    "{\"from_millions\":" n ",\"to_millions\":null,\"price_per_million\":1}"
#define UP_TO(n) "{\"from_millions\":0,\"to_millions\":" n ",\"price_per_million\":1}"
    static const struct {
        const char *text, *field;
    } cases[] = {
        {BALANCER("\"tiers\":[" UP_TO("2") "," AT("2.0") "]"), NULL},
        {BALANCER("\"included_requests\":500000,\"included_axis\":\"absolute\",\"tiers\":[" AT(
             "0.5") "]"),
         "load_balancer.tiers[0].from_millions"},
        {BALANCER("\"tiers\":[" UP_TO("0.999999") "," AT("0.999999") "]"),
         "load_balancer.tiers[0].to_millions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tb_error err = {0};
        tb_book book = take(cases[i].text);
        tb_code code = tb_book_check_shown(&book, &err);
        ck_assert_int_eq(code, cases[i].field ? TB_E_BOOK : TB_OK);
        if (cases[i].field) ck_assert_str_eq(err.field, cases[i].field);
        tb_book_release(&book);
    }
}
END_TEST

START_TEST(thresholds_are_whole_base_units)
{
    refused(TIERS(TIER("0", "\"0.0000000001\"") "," TIER("1", "null")),
            "bandwidth.volume.tiers[0].to", "Finer than one byte.");
    refused(TIERS(TIER("-1", "null")), FROM(0), "Must not be negative.");
    refused(BALANCER("\"tiers\":[{\"from_millions\":\"0.0000001\"}]"),
            "load_balancer.tiers[0].from_millions", "Finer than one request.");
    refused(BALANCER("\"included_requests\":0.5,\"tiers\":[]"), "load_balancer.included_requests",
            "Finer than one request.");
    tb_book book = take(BALANCER("\"included_requests\":\"3.0\",\"included_axis\":\"net\","
                                 "\"tiers\":[" FROM_0_MILLIONS "]"));
    units_are(book.balancer.included, 3);
    tb_book_release(&book);
}
END_TEST

START_TEST(thresholds_end_at_10_to_the_18_units)
{
    static const char message[] = "Must be at most 10^18 bytes or requests.";
    tb_book book = take(TIERS(TIER("0", "1000000000") "," TIER("1000000000", "null")));
    units_are(book.volume.tier[1].from, TB_UNITS_MAX);
    tb_book_release(&book);
    refused(TIERS(TIER("0", "1000000000.000000001") "," TIER("1", "null")),
            "bandwidth.volume.tiers[0].to", message);
    refused(TIERS(TIER("0", "170141183460469231731687303715884105727")),
            "bandwidth.volume.tiers[0].to", message);
    refused(BALANCER("\"included_requests\":1000000000000000001,\"tiers\":[]"),
            "load_balancer.included_requests", message);
}
END_TEST

START_TEST(a_list_has_at_most_64_tiers)
{
    char text[8192];
    for (int n = 64; n <= 65; n++) {
        int len = snprintf(text, sizeof text,
                           "{%s,\"bandwidth\":{\"volume\":{\"per\":\"GB\","
                           "\"tiers\":[",
                           HEAD);
        for (int k = 0; k < n - 1; k++)
            len += snprintf(text + len, sizeof text - (size_t)len,
                            "{\"from\":%d,\"to\":%d,\"price\":1},", k, k + 1);
        snprintf(text + len, sizeof text - (size_t)len, "{\"from\":%d,\"to\":null,\"price\":1}]}}}",
                 n - 1);
        if (n > 64) {
            refused(text, "bandwidth.volume.tiers", "Must have 1 to 64 tiers.");
            continue;
        }
        tb_book book = take(text);
        ck_assert_uint_eq(book.volume.n, 64);
        units_are(book.volume.tier[63].from, INT64_C(63000000000));
        tb_book_release(&book);
    }
}
END_TEST

START_TEST(included_units_name_their_axis)
{
    refused(BALANCER("\"included_requests\":10,\"tiers\":[" FROM_0_MILLIONS "]"),
            "load_balancer.included_axis",
            "Must be absolute or net where tiers start at 0 and units are included.");
    tb_book book = take(BALANCER("\"tiers\":[" FROM_0_MILLIONS "],\"included_requests\":0"));
    tb_book_release(&book);
    book = take(BALANCER("\"included_requests\":10,\"included_axis\":\"net\","
                         "\"tiers\":[" FROM_0_MILLIONS "]"));
    ck_assert(!book.balancer.included_absolute);
    tb_book_release(&book);
    book = take(BALANCER("\"included_requests\":10,\"included_axis\":\"absolute\","
                         "\"tiers\":[" FROM_0_MILLIONS "]"));
    ck_assert(book.balancer.included_absolute);
    tb_book_release(&book);
}
END_TEST

START_TEST(tiers_may_start_where_included_units_end)
{
#define FROM_1 "\"tiers\":[{\"from_millions\":1,\"to_millions\":null,\"price_per_million\":1}]"
    static const char field[] = "load_balancer.tiers[0].from_millions";
    tb_book book = take(BALANCER("\"included_requests\":1000000," FROM_1));
    ck_assert(book.balancer.included_absolute);
    units_are(book.balancer.tier[0].from, 1000000);
    tb_book_release(&book);
    refused(BALANCER("\"included_requests\":1000000,\"included_axis\":\"net\"," FROM_1), field,
            "Tiers on the net axis must start at 0.");
    refused(BALANCER("\"included_requests\":2000000," FROM_1), field,
            "The first tier must start at 0 or where the included units end, 2.");
}
END_TEST

START_TEST(bandwidth_may_include_gigabytes)
{
    tb_book book = take(VOLUME("\"included\":\"0.5\",\"included_axis\":\"net\","
                               "\"tiers\":[" TIER("0", "null") "]"));
    units_are(book.volume.included, 500000000);
    ck_assert(!book.volume.included_absolute);
    tb_book_release(&book);
    refused(VOLUME("\"included\":1,\"tiers\":[" TIER("0", "null") "]"),
            "bandwidth.volume.included_axis",
            "Must be absolute or net where tiers start at 0 and units are included.");
}
END_TEST

START_TEST(packages_have_blocks_and_their_price)
{
#define BLOCKS(block)                                                                              \
    VOLUME("\"mode\":\"package\"," block "\"tiers\":[{\"from\":0,\"to\":null,"                     \
           "\"price_per_block\":\"2.50\"}]")
    static const char needs[] = "Mode package needs a block above 0.";
    tb_book book = take(BLOCKS("\"block\":\"0.1\","));
    ck_assert_int_eq(book.volume.mode, TB_PACKAGE);
    units_are(book.volume.block, 100000000);
    is(book.volume.tier[0].price, "2.5");
    is(book.volume.tier[0].shown, "2.5");
    tb_book_release(&book);
    book = take(BALANCER("\"mode\":\"package\",\"block\":5,\"tiers\":[{\"from_millions\":0,"
                         "\"to_millions\":null,\"price_per_block\":3}]"));
    units_are(book.balancer.block, 5000000);
    is(book.balancer.tier[0].price, "3");
    tb_book_release(&book);
    refused(BLOCKS(""), "bandwidth.volume.block", needs);
    refused(BLOCKS("\"block\":0,"), "bandwidth.volume.block", needs);
    refused(BLOCKS("\"block\":\"0.00000000001\","), "bandwidth.volume.block",
            "Finer than one byte.");
    refused(VOLUME("\"block\":1,\"tiers\":[" TIER("0", "null") "]"), "bandwidth.volume.block",
            "Only mode package has blocks.");
    refused(VOLUME("\"mode\":\"package\",\"block\":1,\"tiers\":[" TIER("0", "null") "]"),
            "bandwidth.volume.tiers[0].price",
            "Tiers of mode package have price_per_block instead.");
    refused(TIERS("{\"from\":0,\"to\":null,\"price_per_block\":1}"),
            "bandwidth.volume.tiers[0].price_per_block", "Only tiers of mode package have this.");
    refused(VOLUME("\"mode\":\"package\",\"block\":1,\"tiers\":[{\"from\":0,\"to\":null}]"),
            "bandwidth.volume.tiers[0].price_per_block", "This key is missing.");
}
END_TEST

START_TEST(tiers_may_have_flats)
{
    tb_book book = take(VOLUME("\"mode\":\"volume\",\"tiers\":[{\"from\":0,\"to\":null,\"price\":"
                               "\"0.01\",\"flat\":\"5.00\"}]"));
    ck_assert_int_eq(book.volume.mode, TB_VOLUME);
    is(book.volume.tier[0].flat, "5");
    tb_book_release(&book);
    refused(TIERS("{\"from\":0,\"to\":null,\"price\":1,\"flat\":-5}"),
            "bandwidth.volume.tiers[0].flat", "Must not be negative.");
}
END_TEST

/* --- the document --- */

START_TEST(syntax_errors_name_their_byte)
{
    tb_book book;
    tb_error err = {0};
    ck_assert_int_eq(tb_book_parse("{\"book\":}", 9, NULL, &book, &err), TB_E_BOOK);
    ck_assert_uint_eq(err.byte, 9);
    ck_assert_int_eq(tb_book_parse("", 0, NULL, &book, NULL), TB_E_BOOK);
    refused("{\"book\":\"b\",\"book\":\"b\"}", "", "Duplicate key.");
}
END_TEST

START_TEST(a_document_past_the_limit_is_too_large)
{
    tb_book book;
    tb_error err;
    ck_assert_int_eq(tb_book_parse("", TB_BOOK_MAX + 1, NULL, &book, &err), TB_E_TOO_LARGE);
    char *text = malloc(TB_BOOK_MAX);
    memset(text, ' ', TB_BOOK_MAX);
    memcpy(text, "{" HEAD "}", sizeof "{" HEAD "}" - 1);
    ck_assert_int_eq(tb_book_parse(text, TB_BOOK_MAX, NULL, &book, &err), TB_OK);
    tb_book_release(&book);
    free(text);
}
END_TEST

/* Fails the n-th allocation; counts what is held. */
typedef struct chaos {
    int left;
    int held;
} chaos;

static void *chaos_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)old;
    chaos *c = ctx;
    if (size == 0) {
        c->held -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (c->left-- == 0) return NULL;
    c->held += ptr == NULL;
    return realloc(ptr, size);
}

START_TEST(every_allocation_may_fail)
{
    size_t len;
    char *text = read_fixture(&len);
    for (int fail = 0;; fail++) {
        chaos c = {.left = fail};
        tb_alloc alloc = {chaos_resize, &c};
        tb_book book;
        tb_error err = {0};
        tb_code code = tb_book_parse(text, len, &alloc, &book, &err);
        if (code == TB_OK) {
            ck_assert_int_gt(fail, 3);
            ck_assert_int_eq(c.held, 1);
            tb_book_release(&book);
            ck_assert_int_eq(c.held, 0);
            break;
        }
        ck_assert_int_eq(code, TB_E_NOMEM);
        ck_assert_int_eq(err.code, TB_E_NOMEM);
        ck_assert_int_eq(c.held, 0);
    }
    free(text);
}
END_TEST

static void add_values(TCase *t)
{
    tcase_add_test(t, the_standard_book_is_taken);
    tcase_add_test(t, every_section_is_optional);
    tcase_add_test(t, the_canonical_text_is_sorted_and_hashed);
    tcase_add_test(t, prices_are_read_from_their_text);
    tcase_add_test(t, prices_have_their_form);
    tcase_add_test(t, the_safe_price_is_checked);
    tcase_add_test(t, the_safe_price_is_checked_at_the_scale_of_all_tiers);
    tcase_add_test(t, unknown_keys_are_refused_with_their_path);
    tcase_add_test(t, paths_are_cut_inside_no_character);
    tcase_add_test(t, missing_keys_are_refused_with_their_path);
    tcase_add_test(t, values_have_their_type_and_form);
    tcase_add_test(t, ids_have_at_most_64_bytes);
    tcase_add_test(t, currencies_have_their_minor_digits);
    tcase_add_test(t, names_of_regions_and_modes_read_back);
}

static void add_tiers(TCase *t)
{
    tcase_add_test(t, tiers_touch_and_rise_strictly);
    tcase_add_test(t, exactly_the_last_tier_is_open);
    tcase_add_test(t, the_first_tier_starts_at_0_without_included_units);
    tcase_add_test(t, thresholds_are_whole_base_units);
    tcase_add_test(t, a_book_that_bills_has_balancer_thresholds_of_whole_millions);
    tcase_add_test(t, thresholds_end_at_10_to_the_18_units);
    tcase_add_test(t, a_list_has_at_most_64_tiers);
    tcase_add_test(t, included_units_name_their_axis);
    tcase_add_test(t, tiers_may_start_where_included_units_end);
    tcase_add_test(t, bandwidth_may_include_gigabytes);
    tcase_add_test(t, packages_have_blocks_and_their_price);
    tcase_add_test(t, tiers_may_have_flats);
}

int main(void)
{
    Suite *suite = suite_create("book");
    TCase *t = tcase_create("book");
    add_values(t);
    add_tiers(t);
    tcase_add_test(t, syntax_errors_name_their_byte);
    tcase_add_test(t, a_document_past_the_limit_is_too_large);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
