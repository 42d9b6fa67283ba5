/* Inputs of bills: what an account's month holds, and where it is cut. */
#include "store/money/billing.h"

#include "billing_fixture.h"

#include "base/hash.h"
#include "tollbook/billsource.h"

#define BOOK "2026-01-01T00:00:00Z"

static const char zone_101[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":[{\"id\":101,"
    "\"account\":1,\"name\":\"a\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]}";

/* A catalogue of account 1 with these members, and zone 101 with these. */
static void apply_with(fixture *f, const char *account, const char *zone, int64_t now_us)
{
    char text[2000];
    snprintf(text, sizeof text,
             "{\"accounts\":[{\"id\":1,\"name\":\"a\"%s}],\"zones\":[{\"id\":101,\"account\":1,"
             "\"name\":\"a\"%s}]}",
             account, zone);
    fixture_apply(f, text, now_us, NULL);
}

static tb_code try_input(fixture *f, int64_t account, int64_t month, tb_error *err)
{
    tb_bill_source s;
    tb_code code = tb_store_bill_input(f->store, &(tb_bill_query){account, month, TB_NOW, NULL, 0, NOW_US}, &s, err);
    if (!code) tb_bill_source_release(&s);
    return code;
}

static void check_bytes(const source *in, size_t i, uint32_t part, const char *where, int64_t bytes,
                        int64_t from_us, int64_t to_us)
{
    ck_assert_uint_lt(i, in->s.input.n_bytes);
    const tb_bill_bytes *b = &in->s.input.bytes[i];
    ck_assert_uint_eq(b->part, part);
    ck_assert_str_eq(b->priced ? tb_billing_region_name(b->region) : b->location, where);
    ck_assert_int_eq((int64_t)b->bytes, bytes);
    ck_assert_int_eq(b->evidence.from_us, from_us);
    ck_assert_int_eq(b->evidence.to_us, to_us);
}

#define OCT us_at(10, 1, 0)
#define NOV us_at(11, 1, 0)

START_TEST(a_month_is_half_open_and_locations_join_their_region)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    add_book(&f, "a", BOOK);
    add_bytes(&f, 101, "DE", at(9, 30, 23), 1000);
    add_bytes(&f, 101, "DE", at(10, 1, 0), 1);
    add_bytes(&f, 101, "UK", at(10, 31, 23), 2);
    add_bytes(&f, 101, "SG", at(10, 15, 5), 4);
    add_bytes(&f, 101, "DE", at(11, 1, 0), 5000);
    add_bytes(&f, 201, "DE", at(10, 1, 0), 8);  /* another account's */
    add_bytes(&f, 999, "DE", at(10, 1, 0), 16); /* nobody's */
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_parts, 1);
    ck_assert_str_eq(in.s.input.parts[0].book->id, "a");
    ck_assert_uint_eq(in.s.input.n_bytes, 2);
    check_bytes(&in, 0, 0, "EU", 3, OCT, NOV);
    check_bytes(&in, 1, 0, "ASIA", 4, OCT, NOV);
    ck_assert_uint_eq(in.s.input.bytes[0].evidence.buckets, 2);
    ck_assert_int_eq(in.s.input.bytes[0].charge, TB_CHARGE_PREMIUM);
    ck_assert_str_eq(in.s.input.currency, "USD");
    ck_assert(!in.s.input.running);
    ck_assert(in.s.input.active_zone);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(the_evidence_is_a_hash_of_days_and_sums)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    add_bytes(&f, 101, "DE", at(10, 3, 7), 700);
    add_bytes(&f, 101, "DE", at(10, 3, 9), 56);
    add_bytes(&f, 101, "DE", at(10, 9, 1), 9);
    source in = input_of(&f, 1, OCTOBER);
    uint8_t bytes[48] = {0};
    int64_t days[2] = {at(10, 3, 0) / 24, at(10, 9, 0) / 24};
    memcpy(bytes, &days[0], 8);
    bytes[8] = (uint8_t)(756 & 255);
    bytes[9] = 756 >> 8;
    memcpy(bytes + 24, &days[1], 8);
    bytes[32] = 9;
    XXH128_hash_t hash = XXH3_128bits(bytes, sizeof bytes);
    char hex[33];
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    ck_assert_str_eq(in.s.input.bytes[0].evidence.hash, hex);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_location_without_region_is_passed_on_unpriced)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    add_bytes(&f, 101, "ZZ", at(10, 1, 0), 7);
    add_bytes(&f, 101, "AA9", at(10, 1, 0), 5);
    add_bytes(&f, 101, "DE", at(10, 1, 0), 3);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 3);
    check_bytes(&in, 0, 0, "EU", 3, OCT, NOV);
    check_bytes(&in, 1, 0, "AA9", 5, OCT, NOV);
    check_bytes(&in, 2, 0, "ZZ", 7, OCT, NOV);
    ck_assert_ptr_null(in.s.input.parts[0].book); /* none was ever added */
    source_release(&in);
    fixture_release(&f);
}
END_TEST

/* --- parts --- */

START_TEST(a_book_that_starts_mid_month_cuts_the_month_at_its_hour)
{
    fixture f;
    bool known;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    add_book(&f, "a", "2026-10-04T00:00:00Z");
    add_book(&f, "b", "2026-10-20T13:00:00Z");
    add_book(&f, "next", "2026-11-01T00:00:00Z");
    ok(try_book(&f, "euro", "EUR", "2026-10-07T00:00:00Z", "1", &known, &err));
    add_bytes(&f, 101, "DE", at(10, 3, 23), 1);
    add_bytes(&f, 101, "DE", at(10, 4, 0), 2);
    add_bytes(&f, 101, "DE", at(10, 20, 12), 4);
    add_bytes(&f, 101, "DE", at(10, 20, 13), 8);
    add_bytes(&f, 101, "DE", at(10, 31, 23), 16);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_parts, 3);
    ck_assert_ptr_null(in.s.input.parts[0].book);
    ck_assert_str_eq(in.s.input.parts[1].book->id, "a");
    ck_assert_str_eq(in.s.input.parts[2].book->id, "b");
    ck_assert_int_eq(in.s.input.parts[1].to_us, us_at(10, 20, 13));
    ck_assert_int_eq(in.s.input.parts[2].to_us, NOV);
    ck_assert_uint_eq(in.s.input.n_bytes, 3);
    check_bytes(&in, 0, 0, "EU", 1, OCT, us_at(10, 4, 0));
    check_bytes(&in, 1, 1, "EU", 6, us_at(10, 4, 0), us_at(10, 20, 13));
    check_bytes(&in, 2, 2, "EU", 24, us_at(10, 20, 13), NOV);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(the_accounts_currency_chooses_its_books)
{
    fixture f;
    bool known;
    tb_error err = {0};
    fixture_init(&f);
    apply_with(&f, ",\"currency\":\"EUR\"", "", NOW_US);
    add_book(&f, "a", BOOK);
    ok(try_book(&f, "euro", "EUR", BOOK, "1", &known, &err));
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_str_eq(in.s.input.currency, "EUR");
    ck_assert_str_eq(in.s.input.parts[0].book->id, "euro");
    source_release(&in);
    fixture_release(&f);
}
END_TEST

/* --- settings --- */

#define SETTINGS(s) ",\"settings\":{" s "}"

START_TEST(the_larger_discount_counts_region_by_region)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, ",\"discounts\":{\"EUUSDiscount\":20,\"AfricaDiscount\":7}",
               SETTINGS("\"EUUSDiscount\":15,\"AsiaOceaniaDiscount\":30,\"AfricaDiscount\":9,"
                        "\"SouthAmericaDiscount\":100"),
               NOW_US);
    static const struct {
        const char *edge;
        int discount;
    } cases[] = {{"DE", 20}, {"NY", 20}, {"SG", 30}, {"BR", 100}, {"ZA", 9}};
    for (size_t i = 0; i < 5; i++)
        add_bytes(&f, 101, cases[i].edge, at(10, 2, 3), 1 + i);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq((int64_t)in.s.input.bytes[i].bytes, (int64_t)i + 1);
        ck_assert_int_eq(in.s.input.bytes[i].discount, cases[i].discount);
    }
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(volume_zones_and_overrides_have_no_discount)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, ",\"discounts\":{\"EUUSDiscount\":20}", ",\"type\":\"volume\"", NOW_US);
    add_bytes(&f, 101, "DE", at(10, 2, 3), 5);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq(in.s.input.bytes[0].charge, TB_CHARGE_VOLUME);
    ck_assert_int_eq(in.s.input.bytes[0].discount, 0);
    source_release(&in);
    fixture_release(&f);

    fixture_init(&f);
    /* as programs write small numbers */
    apply_with(&f, ",\"discounts\":{\"EUUSDiscount\":20}", SETTINGS("\"PriceOverride\":1.5e-08"),
               NOW_US);
    add_bytes(&f, 101, "DE", at(10, 2, 3), 5);
    in = input_of(&f, 1, OCTOBER);
    char price[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(price, in.s.input.bytes[0].override_price) = 0;
    ck_assert_int_eq(in.s.input.bytes[0].charge, TB_CHARGE_OVERRIDE);
    ck_assert_int_eq(in.s.input.bytes[0].discount, 0);
    ck_assert_str_eq(price, "0.000000015");
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(an_hour_belongs_to_the_settings_in_force_at_its_start)
{
    fixture f;
    fixture_init(&f);
    /* the first declaration holds for all time before it; the change at 12:30 holds from 13:00 */
    apply_with(&f, "", "", us_at(10, 5, 0));
    apply_with(&f, "", SETTINGS("\"EUUSDiscount\":50"), us_at(10, 10, 12) + TB_US_PER_HOUR / 2);
    add_bytes(&f, 101, "DE", at(10, 1, 0), 1);
    add_bytes(&f, 101, "DE", at(10, 10, 12), 2);
    add_bytes(&f, 101, "DE", at(10, 10, 13), 4);
    add_bytes(&f, 101, "DE", at(10, 30, 0), 8);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 2);
    check_bytes(&in, 0, 0, "EU", 3, OCT, us_at(10, 10, 13));
    check_bytes(&in, 1, 0, "EU", 12, us_at(10, 10, 13), NOV);
    ck_assert_int_eq(in.s.input.bytes[0].discount, 0);
    ck_assert_int_eq(in.s.input.bytes[1].discount, 50);
    source_release(&in);
    in = input_of(&f, 1, NOVEMBER); /* later months have no cut */
    ck_assert_uint_eq(in.s.input.n_bytes, 0);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_change_exactly_on_an_hour_begins_with_it)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, "", "", us_at(10, 5, 0));
    apply_with(&f, ",\"discounts\":{\"EUUSDiscount\":50}", "", us_at(10, 10, 12));
    add_bytes(&f, 101, "DE", at(10, 10, 11), 2);
    add_bytes(&f, 101, "DE", at(10, 10, 12), 4);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 2);
    check_bytes(&in, 0, 0, "EU", 2, OCT, us_at(10, 10, 12));
    check_bytes(&in, 1, 0, "EU", 4, us_at(10, 10, 12), NOV);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_change_that_billing_does_not_see_cuts_nothing)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, "", "", us_at(10, 5, 0));
    apply_with(&f, ",\"prepaid\":true", SETTINGS("\"EnableLogging\":false"), us_at(10, 10, 12));
    add_bytes(&f, 101, "DE", at(10, 10, 11), 2);
    add_bytes(&f, 101, "DE", at(10, 10, 12), 4);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 1);
    check_bytes(&in, 0, 0, "EU", 6, OCT, NOV);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

/* --- what an older tollbook took --- */

/* Catalogues with these are refused now. */
START_TEST(terms_of_an_account_that_billing_cannot_use_are_named)
{
    static const struct {
        const char *account, *field;
        tb__part part;
    } cases[] = {
        {"\"discounts\":{\"EUDiscount\":10}", "discounts.EUDiscount", TB__PART_DISCOUNTS},
        {"\"discounts\":{\"AfricaDiscount\":1000}", "discounts.AfricaDiscount", TB__PART_DISCOUNTS},
        {"\"discounts\":7", "discounts", TB__PART_DISCOUNTS},
        {"\"currency\":\"Euro\"", "currency", TB__PART_CURRENCY},
        {"\"currency\":[1,2,3]", "currency", TB__PART_CURRENCY},
        {"\"tax\":-1", "tax", TB__PART_TAX},
        {"\"tax\":101", "tax", TB__PART_TAX},
        {"\"tax\":[{\"name\":\"VAT\"}]", "tax[0]", TB__PART_TAX},
        {"\"tax\":[1,2,3,4,5,6,7,8,9]", "tax[8]", TB__PART_TAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[120];
        tb__account_terms terms;
        tb_error why[TB__PARTS], err = {0};
        int n = snprintf(document, sizeof document, "{\"prepaid\":true,%s}", cases[i].account);
        ok(tb__account_terms_of(document, (size_t)n, 1, &terms, why, &err));
        for (int part = 0; part < TB__PARTS; part++)
            ck_assert_int_eq(why[part].code,
                             part == (int)cases[i].part ? TB_E_DECLARED : TB_OK);
        ck_assert_str_eq(why[cases[i].part].field, cases[i].field);
        ck_assert_ptr_nonnull(strstr(why[cases[i].part].message, "Account 1: "));
        ck_assert_str_eq(terms.currency, "USD");
        ck_assert_uint_eq(terms.n_tax, 0);
        ck_assert(terms.prepaid);
    }
}
END_TEST

START_TEST(a_setting_that_billing_cannot_use_is_named)
{
    static const struct {
        const char *setting, *field;
    } cases[] = {
        {"\"PriceOverride\":-1", "PriceOverride"},
        {"\"PriceOverride\":\"cheap\"", "PriceOverride"},
        {"\"PriceOverride\":1e-16", "PriceOverride"},
        {"\"PriceOverride\":1e99", "PriceOverride"},
        {"\"EUUSDiscount\":101", "EUUSDiscount"},
        {"\"EUUSDiscount\":-1", "EUUSDiscount"},
        {"\"EUUSDiscount\":2.5", "EUUSDiscount"},
        {"\"OptimizerEnabled\":1", "OptimizerEnabled"},
        {"\"OptimizerPricing\":[]", "OptimizerPricing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[120], field[40];
        tb__terms terms;
        int64_t created_us;
        tb_error why, err = {0};
        int n = snprintf(document, sizeof document, "{\"settings\":{%s}}", cases[i].setting);
        ok(tb__zone_terms(document, (size_t)n, 101, &terms, &created_us, &why, &err));
        ck_assert_int_eq(why.code, TB_E_DECLARED);
        snprintf(field, sizeof field, "settings.%s", cases[i].field);
        ck_assert_str_eq(why.field, field);
    }
}
END_TEST

/* As an older tollbook would have stored it: whatever a good catalogue said of the thing last says
 * this as well. */
static void took(fixture *f, const char *kind, int64_t id, const char *member, const char *value)
{
    char text[700], set[200];
    snprintf(set, sizeof set, "SET document=json_set(document,'$.%s',json('%s'))", member, value);
    snprintf(text, sizeof text,
             "UPDATE %s %s WHERE id=%lld; UPDATE declaration %s WHERE kind='%s' AND id=%lld"
             " AND to_us=9223372036854775807; UPDATE meta SET value=value+1 WHERE name='data_version'",
             kind, set, (long long)id, set, kind, (long long)id);
    ck_assert_int_eq(sqlite3_exec(f->store->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static tb_code try_net(fixture *f, int64_t account, int64_t month, tb_error *err)
{
    tb_bill_source s;
    tb_code code = tb_store_net_input(f->store, &(tb_bill_query){account, month, TB_NOW, NULL, 0, NOW_US}, &s, err);
    if (!code) {
        ck_assert_uint_eq(s.input.n_tax, 0);
        tb_bill_source_release(&s);
    }
    return code;
}

#define ANOTHER "{\"id\":2,\"name\":\"b\"}"
#define ZONES                                                                                      \
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":201,\"account\":2,\"name\":\"b\"}]"

/* Tax counts at a month's end, and only where it is shown. */
START_TEST(a_tax_that_cannot_be_read_fails_what_shows_it_in_its_months)
{
    fixture f;
    tb_error err = {0};
    char currency[4];
    fixture_init(&f);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}," ANOTHER "]," ZONES "}",
                  us_at(9, 1, 0), NULL);
    add_bytes(&f, 101, "DE", at(10, 5, 0), 1000);
    add_bytes(&f, 201, "DE", at(10, 5, 0), 1000);
    took(&f, "account", 1, "tax", "\"abc\"");
    ck_assert_int_eq(try_input(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ck_assert_str_eq(err.field, "tax");
    ck_assert_str_eq(err.message,
                     "Account 1: tax must be a percent from 0 to 100, a list of rates, or an object"
                     " of names and percents. Apply a catalogue with such a value.");
    ok(try_net(&f, 1, OCTOBER, &err));
    ok(try_input(&f, 2, OCTOBER, &err));
    ok(tb_store_month_currency(f.store, 1, OCTOBER, currency, &err));
    /* Mended in November: October ended under the old one and stays as it is. */
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\",\"tax\":19}," ANOTHER "]," ZONES "}",
                  us_at(11, 2, 0), NULL);
    ok(try_input(&f, 1, OCTOBER + 1, &err));
    ck_assert_int_eq(try_input(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ok(try_net(&f, 1, OCTOBER, &err));
    fixture_release(&f);
}
END_TEST

/* A discount counts for the bytes of its hours. */
START_TEST(discounts_that_cannot_be_read_fail_the_months_with_bytes_under_them)
{
    static const char good[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}," ANOTHER "]," ZONES "}";
    fixture f;
    tb_error err = {0};
    tb_account_terms terms;
    bool prepaid = true;
    fixture_init(&f);
    fixture_apply(&f, good, us_at(9, 1, 0), NULL);
    add_bytes(&f, 101, "DE", at(9, 5, 0), 1000);
    add_bytes(&f, 101, "DE", at(10, 5, 0), 1000);
    add_bytes(&f, 101, "DE", at(11, 5, 0), 1000);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"c\"}," ANOTHER "]," ZONES "}",
                  us_at(10, 3, 0), NULL);
    took(&f, "account", 1, "discounts", "{\"EUUSDiscount\":\"much\"}");
    ok(try_input(&f, 1, OCTOBER - 1, &err));
    ck_assert_int_eq(try_input(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ck_assert_str_eq(err.field, "discounts.EUUSDiscount");
    ck_assert_int_eq(try_net(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ck_assert_int_eq(try_input(&f, 1, OCTOBER + 1, &err), TB_E_DECLARED);
    ok(try_input(&f, 2, OCTOBER, &err));
    ck_assert_int_eq(tb_store_account_terms(f.store, 1, &terms, &err), TB_E_DECLARED);
    ok(tb_store_account_prepaid(f.store, 1, &prepaid, &err));
    ck_assert(!prepaid);
    fixture_apply(&f, good, us_at(10, 20, 0), NULL);
    ok(try_input(&f, 1, OCTOBER - 1, &err));
    ck_assert_int_eq(try_input(&f, 1, OCTOBER, &err), TB_E_DECLARED); /* its fifth day */
    ok(try_input(&f, 1, OCTOBER + 1, &err));
    ok(tb_store_account_terms(f.store, 1, &terms, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_that_cannot_be_read_fails_its_account_while_it_exists_or_has_bytes)
{
    static const char good[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}," ANOTHER "]," ZONES "}";
    fixture f;
    tb_error err = {0};
    tb_bill_source s;
    tb_usage_history history;
    bool shared;
    fixture_init(&f);
    fixture_apply(&f, good, us_at(9, 1, 0), NULL);
    add_bytes(&f, 101, "DE", at(10, 5, 0), 1000);
    ok(tb_store_usage_history(f.store, 2, 0, 1, NOW_US, &history, &err)); /* 1970-01-01 is a day */
    tb_usage_history_release(&history);
    took(&f, "zone", 101, "settings", "{\"PriceOverride\":\"cheap\"}");
    ck_assert_int_eq(try_net(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ck_assert_str_eq(err.field, "settings.PriceOverride");
    ck_assert_int_eq(try_net(&f, 1, OCTOBER + 1, &err), TB_E_DECLARED);
    ok(try_net(&f, 2, OCTOBER, &err));
    ck_assert_int_eq(tb_store_zones_input(f.store,
                                          &(tb_bill_query){1, OCTOBER, TB_NOW, NULL, 0, NOW_US}, 101,
                                          101, &shared, &s, &err),
                     TB_E_DECLARED);
    ck_assert_int_eq(tb_store_usage_history(f.store, 1, at(10, 1, 0) / 24, at(10, 20, 0) / 24, NOW_US,
                                            &history, &err),
                     TB_E_DECLARED);
    /* Taken out of the catalogue it is nothing to the months after. */
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"}," ANOTHER "],\"zones\":[{\"id\":201,"
                  "\"account\":2,\"name\":\"b\"}]}",
                  us_at(10, 20, 0), NULL);
    ck_assert_int_eq(try_net(&f, 1, OCTOBER, &err), TB_E_DECLARED);
    ok(try_input(&f, 1, OCTOBER + 1, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(verify_names_what_cannot_be_read_and_what_could_not)
{
    static const char good[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}," ANOTHER "]," ZONES "}";
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, good, us_at(9, 1, 0), NULL);
    verify_finds(&f, NULL);
    took(&f, "account", 1, "tax", "{\"VAT\":101}");
    took(&f, "zone", 201, "hostnames", "[\"a\",7]");
    verify_finds(&f, "Account 1: tax.VAT: Must be a percent from 0 to 100 with at most 15 digits after"
                     " the point. Apply a catalogue that corrects it.\n");
    verify_finds(&f, "Pull zone 201: hostnames[1]: Must be a string or an object, is a number. "
                     "Apply a catalogue that corrects it.\n");
    fixture_apply(&f, good, us_at(10, 20, 0), NULL);
    tb_error err = {0};
    sentences found = {.n = 0};
    uint64_t differences = 99;
    ok(tb_store_verify(f.store, on_sentence, &found, &differences, &err));
    ck_assert_uint_eq(differences, 0);
    ck_assert_uint_eq(found.n, 1);
    ck_assert_str_eq(found.text,
                     "Note: Account 1: tax.VAT must be a percent from 0 to 100 with at most 15 digits after"
                     " the point. Apply a catalogue with such a value. That was declared until"
                     " 2026-10-20T00:00:00Z and has been changed since: months before that depend on"
                     " it cannot be billed.\n");
    fixture_release(&f);
}
END_TEST

START_TEST(tax_rates_may_be_one_a_list_or_an_object)
{
    static const struct {
        const char *tax, *found;
    } cases[] = {
        {"19", "VAT 19 "},
        {"\"7.5\"", "VAT 7.5 "},
        {"[{\"name\":\"GST\",\"percent\":\"5\"},{\"name\":\"QST\",\"rate\":9.975}]",
         "GST 5 QST 9.975 "},
        {"{\"name\":\"GST\",\"percent\":5}", "GST 5 "},
        {"{\"GST\":5,\"QST\":\"9.975\"}", "GST 5 QST 9.975 "},
        {"[]", ""},
    };
    fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char member[200], text[400] = "", percent[TB_DECIMAL_TEXT_MAX + 1];
        fixture_init(&f);
        snprintf(member, sizeof member, ",\"tax\":%s", cases[i].tax);
        apply_with(&f, member, "", NOW_US);
        source in = input_of(&f, 1, OCTOBER);
        for (size_t k = 0; k < in.s.input.n_tax; k++) {
            *tb_decimal_put(percent, in.s.input.tax[k].percent) = 0;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s %s ",
                     in.s.input.tax[k].name, percent);
        }
        ck_assert_str_eq(text, cases[i].found);
        source_release(&in);
        fixture_release(&f);
    }
}
END_TEST

/* --- seconds --- */

static void check_optimizer(const source *in, size_t i, uint32_t part, int64_t seconds,
                            const char *price)
{
    char own[TB_DECIMAL_TEXT_MAX + 1];
    ck_assert_uint_lt(i, in->s.input.n_optimizers);
    const tb_bill_optimizer *o = &in->s.input.optimizers[i];
    ck_assert_int_eq(o->zone, 101);
    ck_assert_uint_eq(o->part, part);
    ck_assert_int_eq(o->seconds, seconds);
    ck_assert_int_eq(o->own_price, price != NULL);
    *tb_decimal_put(own, o->monthly) = 0;
    if (price) ck_assert_str_eq(own, price);
}

START_TEST(the_optimizer_counts_the_seconds_it_was_on)
{
    fixture f;
    fixture_init(&f);
    add_book(&f, "a", BOOK);
    add_book(&f, "b", "2026-10-16T00:00:00Z");
    apply_with(&f, "",
               ",\"created\":\"2026-10-02T00:00:00Z\"" SETTINGS("\"OptimizerEnabled\":true"),
               us_at(9, 1, 0));
    apply_with(&f, "",
               ",\"created\":\"2026-10-02T00:00:00Z\"" SETTINGS(
                   "\"OptimizerEnabled\":true,\"OptimizerPricing\":5"),
               us_at(10, 10, 0) + 1500000);
    apply_with(&f, "", ",\"created\":\"2026-10-02T00:00:00Z\"", us_at(10, 20, 0));
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_optimizers, 3);
    check_optimizer(&in, 0, 0, 8 * 86400 + 1, NULL); /* half seconds go to the later one */
    check_optimizer(&in, 1, 0, 6 * 86400 - 1, "5");
    check_optimizer(&in, 2, 1, 4 * 86400, "5");
    source_release(&in);
    in = input_of(&f, 1, NOVEMBER);
    ck_assert_uint_eq(in.s.input.n_optimizers, 0);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_running_month_counts_seconds_until_now)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, "", SETTINGS("\"OptimizerEnabled\":true,\"OptimizerPricing\":\"0\""), NOW_US);
    source in = input_at(&f, 1, NOVEMBER, TB_NOW, us_at(11, 3, 1) + 1);
    ck_assert(in.s.input.running);
    check_optimizer(&in, 0, 0, 2 * 86400 + 3600, "0");
    source_release(&in);
    in = input_at(&f, 1, NOVEMBER, TB_NOW, us_at(12, 1, 0));
    ck_assert(!in.s.input.running);
    check_optimizer(&in, 0, 0, 30 * 86400, "0");
    source_release(&in);
    in = input_at(&f, 1, NOVEMBER + 1, TB_NOW, us_at(11, 3, 1));
    ck_assert_uint_eq(in.s.input.n_optimizers, 0);
    ck_assert(!in.s.input.active_zone);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_is_active_where_it_existed_and_was_enabled)
{
    static const struct {
        const char *zone;
        bool active;
    } cases[] = {
        {"", true},
        {SETTINGS("\"Enabled\":false"), false},
        {",\"created\":\"2026-10-31T23:59:59Z\"", true},
        {",\"created\":\"2026-11-01T00:00:00Z\"", false},
    };
    fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture_init(&f);
        apply_with(&f, "", cases[i].zone, NOW_US);
        source in = input_of(&f, 1, OCTOBER);
        ck_assert_msg(in.s.input.active_zone == cases[i].active, "%zu", i);
        source_release(&in);
        fixture_release(&f);
    }
    fixture_init(&f);
    apply_with(&f, "", "", us_at(9, 1, 0));
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", us_at(9, 20, 0), NULL);
    source in = input_of(&f, 1, OCTOBER); /* deleted before the month began */
    ck_assert(!in.s.input.active_zone);
    source_release(&in);
    in = input_of(&f, 1, OCTOBER - 1);
    ck_assert(in.s.input.active_zone);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(usage_of_a_deleted_zone_stays_its_accounts)
{
    fixture f;
    fixture_init(&f);
    apply_with(&f, "", SETTINGS("\"EUUSDiscount\":50"), us_at(9, 1, 0));
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}]}", us_at(10, 20, 0), NULL);
    add_bytes(&f, 101, "DE", at(10, 10, 0), 1);
    add_bytes(&f, 101, "DE", at(10, 25, 0), 2);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_bytes, 1);
    check_bytes(&in, 0, 0, "EU", 3, OCT, NOV);
    ck_assert_int_eq(in.s.input.bytes[0].discount, 50);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

/* --- balancers --- */

static void apply_balancer(fixture *f, const char *members, const char *zones, int64_t now_us)
{
    char text[2000];
    snprintf(text, sizeof text,
             "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}],\"zones\":["
             "{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"}],"
             "\"load_balancers\":[{\"id\":7,\"account\":1%s,\"zones\":[%s]}]}",
             members, zones);
    fixture_apply(f, text, now_us, NULL);
}

/* Log lines of a zone that reached the balancer. */
static void add_hits(fixture *f, int64_t zone, const char *edge, int64_t hour, unsigned n)
{
    static uint64_t segment = 5000;
    segment++;
    tb_error err = {0};
    tb_hit hit = {.zone = zone,
                  .bytes = 1,
                  .hour = (int32_t)hour,
                  .status = 200,
                  .edge = edge,
                  .edge_len = (uint8_t)strlen(edge),
                  .cache = TB_CACHE_OTHER};
    tb_rollup *rollup = tb_rollup_new(1 << 10, NULL);
    for (unsigned i = 0; i < n; i++)
        ok(tb_rollup_add_hits(rollup, &hit, 1, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    tb_segment s = {.kind = TB_BATCH_LOG,
                    .source = "test",
                    .length = 1,
                    .hash = {segment, 1},
                    .head = {segment, 2},
                    .accepted = n,
                    .final = true,
                    .now_us = NOW_US};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_usage(f->store, cursor, &err));
    ok(tb_store_add_segment(f->store, &s, NULL, &err));
    ok(tb_store_commit(f->store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}

static void add_balancer_row(fixture *f, int64_t hour, uint64_t requests)
{
    static uint64_t segment = 9000;
    tb_row row = {
        .balancer = true, .id = 7, .hour = (int32_t)hour, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    row.value[TB_M_REQUESTS] = requests;
    fixture_add(f, &row, 1, ++segment);
}

static int64_t requests_of(fixture *f, int64_t month)
{
    tb_error err = {0};
    tb_balancer_month m;
    ok(tb_store_balancer_month(f->store, 1, 7, month, &m, &err));
    return (int64_t)m.requests;
}

START_TEST(requests_of_attached_zones_and_imported_rows_add_up)
{
    fixture f;
    fixture_init(&f);
    apply_balancer(&f, "", "101", us_at(10, 10, 0));
    add_balancer_row(&f, at(10, 31, 23), 1000);
    add_balancer_row(&f, at(11, 1, 0), 50000);
    add_hits(&f, 101, "DE", at(10, 1, 0), 1); /* a first attachment holds for the past too */
    add_hits(&f, 101, "UK", at(10, 20, 5), 2);
    add_hits(&f, 102, "DE", at(10, 20, 5), 4);
    ck_assert_int_eq(requests_of(&f, OCTOBER), 1003);
    ck_assert_int_eq(requests_of(&f, NOVEMBER), 50000);
    ck_assert_int_eq(requests_of(&f, OCTOBER - 1), 0);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_balancers, 1);
    ck_assert_int_eq((int64_t)in.s.input.balancers[0].requests, 1003);
    ck_assert_int_eq(in.s.input.balancers[0].seconds, 31 * 86400);
    ck_assert_uint_eq(in.s.input.balancers[0].evidence.buckets, 3);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_zone_counts_for_the_balancer_at_the_hours_it_was_attached)
{
    fixture f;
    fixture_init(&f);
    apply_balancer(&f, "", "101", us_at(9, 10, 0));
    apply_balancer(&f, "", "102", us_at(10, 10, 6) + 1); /* 101 is still attached at 06:00 */
    apply_balancer(&f, "", "101,102", us_at(10, 20, 6));
    add_hits(&f, 101, "DE", at(10, 10, 6), 1);
    add_hits(&f, 101, "DE", at(10, 10, 7), 2);
    add_hits(&f, 101, "DE", at(10, 20, 6), 4);
    add_hits(&f, 102, "DE", at(10, 10, 6), 8);
    add_hits(&f, 102, "DE", at(10, 10, 7), 16);
    ck_assert_int_eq(requests_of(&f, OCTOBER), 1 + 4 + 16);
    fixture_release(&f);
}
END_TEST

START_TEST(a_balancer_counts_its_seconds_and_zones_while_it_exists)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    add_book(&f, "a", BOOK);
    add_book(&f, "b", "2026-10-16T00:00:00Z");
    apply_balancer(&f, ",\"created\":\"2026-10-10T12:00:00Z\",\"deleted\":\"2026-10-20T00:00:01Z\"",
                   "101", NOW_US);
    add_hits(&f, 101, "DE", at(10, 10, 11), 1);
    add_hits(&f, 101, "DE", at(10, 10, 12), 2);
    add_hits(&f, 101, "DE", at(10, 16, 0), 4);
    add_hits(&f, 101, "DE", at(10, 20, 0), 8);
    add_hits(&f, 101, "DE", at(10, 20, 1), 16);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_uint_eq(in.s.input.n_balancers, 2);
    ck_assert_int_eq(in.s.input.balancers[0].seconds, 5 * 86400 + 43200);
    ck_assert_int_eq((int64_t)in.s.input.balancers[0].requests, 2);
    ck_assert_uint_eq(in.s.input.balancers[1].part, 1);
    ck_assert_int_eq(in.s.input.balancers[1].seconds, 4 * 86400 + 1);
    ck_assert_int_eq((int64_t)in.s.input.balancers[1].requests, 12);
    ck_assert_int_eq(requests_of(&f, OCTOBER), 14);
    tb_balancer_month m;
    ok(tb_store_balancer_month(f.store, 1, 7, OCTOBER, &m, &err));
    ck_assert_int_eq(m.created_us, us_at(10, 10, 12));
    ck_assert_int_eq(m.ended_us, us_at(10, 20, 0) + TB_US_PER_S);
    ck_assert_int_eq(m.account, 1);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(a_balancer_gone_from_the_catalogue_ended_then)
{
    fixture f;
    tb_error err = {0};
    tb_balancer_month m;
    fixture_init(&f);
    apply_balancer(&f, "", "101", us_at(9, 10, 0));
    fixture_apply(&f, zone_101, us_at(10, 2, 0), NULL);
    add_hits(&f, 101, "DE", at(10, 1, 23), 1);
    add_hits(&f, 101, "DE", at(10, 2, 0), 2);
    source in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq(in.s.input.balancers[0].seconds, 86400);
    ck_assert_int_eq((int64_t)in.s.input.balancers[0].requests, 1);
    ok(tb_store_balancer_month(f.store, 1, 7, OCTOBER, &m, &err));
    ck_assert_int_eq(m.ended_us, us_at(10, 2, 0));
    source_release(&in);
    apply_balancer(&f, "", "101", us_at(10, 4, 0)); /* back again: the gap is no time of its own */
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq(in.s.input.balancers[0].seconds, (31 - 2) * 86400);
    source_release(&in);
    fixture_release(&f);
}
END_TEST

START_TEST(another_accounts_balancer_is_not_there)
{
    fixture f;
    tb_error err = {0};
    tb_balancer_month m;
    fixture_init(&f);
    apply_balancer(&f, "", "101", NOW_US);
    ck_assert_int_eq(tb_store_balancer_month(f.store, 2, 7, OCTOBER, &m, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_balancer_month(f.store, 1, 8, OCTOBER, &m, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_balancer_month(f.store, 3, 7, OCTOBER, &m, &err), TB_E_NOT_FOUND);
    ok(tb_store_balancer_month(f.store, 1, 7, OCTOBER, &m, &err));
    ck_assert_int_eq(m.created_us, INT64_MIN);
    ck_assert_int_eq(m.ended_us, INT64_MAX);
    fixture_release(&f);
}
END_TEST

START_TEST(each_of_several_balancers_is_found_and_none_between_them)
{
    for (int n = 1; n <= 9; n++) {
        fixture f;
        tb_error err = {0};
        tb_balancer_month m;
        tb_buf text;
        fixture_init(&f);
        tb_buf_init(&text, 4096, NULL);
        tb_buf_str(&text, "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"load_balancers\":[");
        for (int i = 1; i <= n; i++)
            tb_buf_fmt(&text, "%s{\"id\":%d,\"account\":1,\"zones\":[],\"created\":\"2026-09-%02dT00:00:00Z\"}",
                       i > 1 ? "," : "", 2 * i, i);
        tb_buf_add(&text, "]}", 3);
        fixture_apply(&f, text.data, NOW_US, NULL);
        for (int i = 1; i <= n; i++) {
            ok(tb_store_balancer_month(f.store, 1, 2 * i, OCTOBER, &m, &err));
            ck_assert_int_eq(m.created_us, us_at(9, i, 0));
        }
        for (int i = 0; i <= n; i++)
            ck_assert_int_eq(tb_store_balancer_month(f.store, 1, 2 * i + 1, OCTOBER, &m, &err), TB_E_NOT_FOUND);
        tb_buf_release(&text);
        fixture_release(&f);
    }
}
END_TEST

/* --- the rest --- */

START_TEST(accounts_of_a_month_have_something_in_it)
{
    fixture f;
    tb_error err = {0};
    int64_t *accounts;
    size_t n;
    fixture_init(&f);
    fixture_apply(&f,
                  "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"},{\"id\":3,"
                  "\"name\":\"c\"},{\"id\":4,\"name\":\"d\"},{\"id\":5,\"name\":\"e\"}],\"zones\":["
                  "{\"id\":101,\"account\":1,\"name\":\"a\",\"created\":\"2026-10-31T00:00:00Z\"},"
                  "{\"id\":201,\"account\":2,\"name\":\"b\",\"created\":\"2026-11-01T00:00:00Z\"},"
                  "{\"id\":301,\"account\":3,\"name\":\"c\",\"created\":\"2026-11-01T00:00:00Z\"}],"
                  "\"load_balancers\":[{\"id\":7,\"account\":4,\"zones\":[],\"created\":"
                  "\"2026-01-01T00:00:00Z\",\"deleted\":\"2026-10-01T00:00:01Z\"}]}",
                  NOW_US, NULL);
    add_bytes(&f, 301, "DE", at(10, 4, 0), 1);
    ok(tb_store_billed_accounts(f.store, OCTOBER, &accounts, &n, &err));
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(accounts[0], 1);
    ck_assert_int_eq(accounts[1], 3);
    ck_assert_int_eq(accounts[2], 4);
    free(accounts);
    ok(tb_store_billed_accounts(f.store, NOVEMBER, &accounts, &n, &err));
    ck_assert_uint_eq(n, 3);
    free(accounts);
    ok(tb_store_billed_accounts(f.store, OCTOBER - 1, &accounts, &n, &err));
    ck_assert_uint_eq(n, 1);
    free(accounts);
    fixture_release(&f);
}
END_TEST

START_TEST(unknown_accounts_and_months_out_of_range_are_errors)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    ck_assert_int_eq(try_input(&f, 3, OCTOBER, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(try_input(&f, 1, -1, &err), TB_E_VALIDATION);
    ck_assert_int_eq(try_input(&f, 1, 3960, &err), TB_E_VALIDATION);
    ok(try_input(&f, 1, 0, &err));
    ok(try_input(&f, 1, 3959, &err));
    fixture_release(&f);
}
END_TEST

START_TEST(a_reader_sees_new_commits_and_a_writer_its_own_changes)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    add_bytes(&f, 101, "DE", at(10, 4, 0), 1);
    fixture r = f;
    fixture_open(&r, false);
    source in = input_of(&r, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 1);
    source_release(&in);
    apply_with(&f, "", SETTINGS("\"EUUSDiscount\":50"), us_at(10, 4, 0));
    add_bytes(&f, 101, "SG", at(10, 4, 0), 2);
    in = input_of(&r, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 3);
    ck_assert_int_eq(in.s.input.bytes[0].discount, 50);
    uint64_t version;
    ok(tb_store_version(f.store, &version, &err));
    ck_assert_uint_eq(in.s.watermark, version);
    source_release(&in);
    /* inside a transaction, and after it was undone */
    const tb_row row = row_of(101, "BR", (int32_t)at(10, 5, 0), TB_M_BYTES, 4);
    ok(tb_store_begin(f.store, &err));
    ok(add_rows(&f, &row, 1, &err));
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 7);
    source_release(&in);
    tb_store_rollback(f.store);
    in = input_of(&f, 1, OCTOBER);
    ck_assert_int_eq((int64_t)bytes_in(&in), 3);
    source_release(&in);
    tb_store_close(r.store);
    fixture_release(&f);
}
END_TEST

START_TEST(scenario_books_need_not_be_stored)
{
    fixture f;
    tb_error err = {0};
    char text[512];
    tb_book book;
    tb_bill_source s;
    fixture_init(&f);
    fixture_apply(&f, zone_101, NOW_US, NULL);
    book_text(text, "what-if", "USD", BOOK, "2");
    ok(tb_book_parse(text, strlen(text), NULL, &book, &err));
    tb_invoice i = finalize(&f, 1, OCTOBER, "1.00");
    tb_invoice_release(&i);
    ok(tb_store_bill_input(f.store, &(tb_bill_query){1, OCTOBER, TB_NOW, &book, 1, NOW_US}, &s, &err));
    ck_assert_ptr_eq(s.input.parts[0].book, &book);
    tb_bill_source_release(&s);
    tb_book_release(&book);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("inputs");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_month_is_half_open_and_locations_join_their_region);
    tcase_add_test(t, the_evidence_is_a_hash_of_days_and_sums);
    tcase_add_test(t, a_location_without_region_is_passed_on_unpriced);
    tcase_add_test(t, a_book_that_starts_mid_month_cuts_the_month_at_its_hour);
    tcase_add_test(t, the_accounts_currency_chooses_its_books);
    tcase_add_test(t, the_larger_discount_counts_region_by_region);
    tcase_add_test(t, volume_zones_and_overrides_have_no_discount);
    tcase_add_test(t, an_hour_belongs_to_the_settings_in_force_at_its_start);
    tcase_add_test(t, a_change_exactly_on_an_hour_begins_with_it);
    tcase_add_test(t, a_change_that_billing_does_not_see_cuts_nothing);
    tcase_add_test(t, terms_of_an_account_that_billing_cannot_use_are_named);
    tcase_add_test(t, a_setting_that_billing_cannot_use_is_named);
    tcase_add_test(t, a_tax_that_cannot_be_read_fails_what_shows_it_in_its_months);
    tcase_add_test(t, discounts_that_cannot_be_read_fail_the_months_with_bytes_under_them);
    tcase_add_test(t, a_zone_that_cannot_be_read_fails_its_account_while_it_exists_or_has_bytes);
    tcase_add_test(t, verify_names_what_cannot_be_read_and_what_could_not);
    tcase_add_test(t, tax_rates_may_be_one_a_list_or_an_object);
    tcase_add_test(t, the_optimizer_counts_the_seconds_it_was_on);
    tcase_add_test(t, a_running_month_counts_seconds_until_now);
    tcase_add_test(t, a_zone_is_active_where_it_existed_and_was_enabled);
    tcase_add_test(t, usage_of_a_deleted_zone_stays_its_accounts);
    tcase_add_test(t, requests_of_attached_zones_and_imported_rows_add_up);
    tcase_add_test(t, a_zone_counts_for_the_balancer_at_the_hours_it_was_attached);
    tcase_add_test(t, a_balancer_counts_its_seconds_and_zones_while_it_exists);
    tcase_add_test(t, a_balancer_gone_from_the_catalogue_ended_then);
    tcase_add_test(t, another_accounts_balancer_is_not_there);
    tcase_add_test(t, each_of_several_balancers_is_found_and_none_between_them);
    tcase_add_test(t, accounts_of_a_month_have_something_in_it);
    tcase_add_test(t, unknown_accounts_and_months_out_of_range_are_errors);
    tcase_add_test(t, a_reader_sees_new_commits_and_a_writer_its_own_changes);
    tcase_add_test(t, scenario_books_need_not_be_stored);
    Suite *s = suite_create("store_bill_input");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
