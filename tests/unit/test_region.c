/* The built-in region table. */
#include "tollbook/catalog.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const tb_region *find(const char *code)
{
    for (size_t i = 0; i < tb_region_default_count; i++)
        if (strcmp(tb_region_default[i].code, code) == 0) return &tb_region_default[i];
    return NULL;
}

START_TEST(ids_count_from_1)
{
    for (size_t i = 0; i < tb_region_default_count; i++)
        ck_assert_int_eq(tb_region_default[i].id, (int64_t)i + 1);
}
END_TEST

START_TEST(codes_and_names_are_unique)
{
    for (size_t i = 0; i < tb_region_default_count; i++)
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(tb_region_default[i].code, tb_region_default[j].code);
            ck_assert_str_ne(tb_region_default[i].name, tb_region_default[j].name);
        }
}
END_TEST

/* Clients split at the colon (contract 1.3). */
START_TEST(names_are_continent_colon_city)
{
    for (size_t i = 0; i < tb_region_default_count; i++) {
        const char *name = tb_region_default[i].name;
        const char *colon = strstr(name, ": ");
        ck_assert_msg(colon && colon > name && strstr(colon, ", "), "%s", name);
        ck_assert_ptr_null(strchr(colon + 1, ':'));
    }
}
END_TEST

static const char *price_of(const char *billing)
{
    static const char *const prices[][2] = {
        {"EU", "0.01"}, {"NA", "0.01"}, {"ASIA", "0.03"}, {"SA", "0.045"}, {"AF", "0.06"}};
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++)
        if (strcmp(prices[i][0], billing) == 0) return prices[i][1];
    return "no such billing region";
}

START_TEST(prices_are_the_public_ones)
{
    for (size_t i = 0; i < tb_region_default_count; i++)
        ck_assert_str_eq(tb_region_default[i].price, price_of(tb_region_default[i].billing));
}
END_TEST

START_TEST(continents_countries_and_coordinates_are_plausible)
{
    for (size_t i = 0; i < tb_region_default_count; i++) {
        const tb_region *r = &tb_region_default[i];
        ck_assert_ptr_nonnull(strstr("EU NA AS OC SA AF", r->continent));
        ck_assert_uint_eq(strlen(r->continent), 2);
        ck_assert_uint_eq(strlen(r->country), 2);
        ck_assert(r->latitude >= -90 && r->latitude <= 90);
        ck_assert(r->longitude >= -180 && r->longitude <= 180);
    }
}
END_TEST

/* Those that the service's own logs hold (public lists of its regions), and no code without a comma in
 * its name: clients index past it. */
START_TEST(the_services_codes_are_there)
{
    static const char codes[] =
        "ADL AE AM AMS AO AR ASB AT AT2 AUC AZ BA BD BG BHR BO BOL BR BRB BS BU CA CCU CEN CH CL CLT CO CR CT "
        "CWB CY CZ DD DE DE2 DEN DK EC EG EG2 ES FI FO FR FU GA GEO GR GT GU HI HK HOU HR HU ID IE IL IN "
        "IQ IQ2 IS ISR IT JH JO JP KC KE KG KH KR KY KZ LA LAP LJ LT LU LV MD MEL MG MI MN MS MSP MU MX "
        "MY ND NG NO NP NY OG PA PB PE PER PH PHX PK PL PP PR PT RGN RI RJ RS RU SE SG SG2 SIL SK SSA SYD "
        "TH TN TR TW TX UA UK VA VN WA";
    char copy[sizeof codes];
    memcpy(copy, codes, sizeof codes);
    for (const char *code = strtok(copy, " "); code; code = strtok(NULL, " "))
        ck_assert_msg(find(code) != NULL, "%s", code);
    ck_assert_int_eq(find("SYD")->id, 15);
    ck_assert_str_eq(find("SYD")->name, "OC: Sydney, SYD");
    ck_assert_str_eq(find("AU")->name, "OC: Sydney, AU");
    ck_assert_int_eq(find("BR")->id, 108);
    ck_assert_str_eq(find("AZ")->billing, "ASIA");
    ck_assert_str_eq(find("KH")->country, "RU");
}
END_TEST

START_TEST(oceania_is_billed_as_asia_and_the_middle_east_as_africa)
{
    ck_assert_str_eq(find("AU")->billing, "ASIA");
    ck_assert_str_eq(find("NZ")->billing, "ASIA");
    ck_assert_str_eq(find("AE")->billing, "AF");
    ck_assert_str_eq(find("ZA")->billing, "AF");
}
END_TEST

/* Codes that the log generator of the benches writes. */
START_TEST(the_common_edge_codes_are_named)
{
    static const char *const codes[] = {"WA", "DE", "NY", "LA", "UK", "FR", "SG", "JP", "IL", "TX",
                                        "MI", "AT", "SE", "PL", "ES", "IT", "NL", "CZ", "RO", "BG",
                                        "TR", "ZA", "BR", "CL", "AR", "MX", "CA", "AU", "NZ", "IN",
                                        "HK", "KR", "TW", "TH", "MY", "ID", "PH", "AE", "FI", "DK"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        ck_assert_msg(find(codes[i]) != NULL, "%s", codes[i]);
    ck_assert_str_eq(find("DE")->name, "EU: Frankfurt, DE");
    ck_assert_str_eq(find("SG")->name, "Asia: Singapore, SG");
    ck_assert_str_eq(find("LA")->name, "NA: Los Angeles, CA");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *t = tcase_create("region");
    tcase_add_test(t, ids_count_from_1);
    tcase_add_test(t, codes_and_names_are_unique);
    tcase_add_test(t, names_are_continent_colon_city);
    tcase_add_test(t, prices_are_the_public_ones);
    tcase_add_test(t, continents_countries_and_coordinates_are_plausible);
    tcase_add_test(t, the_services_codes_are_there);
    tcase_add_test(t, oceania_is_billed_as_asia_and_the_middle_east_as_africa);
    tcase_add_test(t, the_common_edge_codes_are_named);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
