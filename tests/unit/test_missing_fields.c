/* lacks.h: what a statement lacks, by the field and the norm. */
#include "invoice_fixture.h"
#include "tollbook/invoice.h"

typedef struct parties {
    tb_party seller, buyer;
} parties;

/* All that any norm asks of a German seller and a French buyer. */
static void declare(fixture *f, parties *p)
{
    fixture_make(f);
    fixture_final(f);
    strcpy(f->s.due, "2026-11-18");
    *p = (parties){0};
    p->seller.text[TB_PARTY_NAME] = "Seller GmbH";
    p->seller.text[TB_PARTY_STREET] = "Weg 1";
    p->seller.text[TB_PARTY_CITY] = "Berlin";
    p->seller.text[TB_PARTY_POSTAL_CODE] = "10115";
    p->seller.text[TB_PARTY_COUNTRY] = "DE";
    p->seller.text[TB_PARTY_VAT_ID] = "DE123456789";
    p->seller.text[TB_PARTY_REGISTRATION_ID] = "HRB 1";
    p->seller.text[TB_PARTY_ENDPOINT_ID] = "DE123456789";
    p->seller.text[TB_PARTY_ENDPOINT_SCHEME] = "9930";
    p->seller.text[TB_PARTY_CONTACT_NAME] = "Billing";
    p->seller.text[TB_PARTY_CONTACT_PHONE] = "+49 30 1";
    p->seller.text[TB_PARTY_CONTACT_EMAIL] = "a@b.example";
    p->seller.text[TB_PARTY_PAYMENT_IBAN] = "DE02120300000000202051";
    p->buyer.text[TB_PARTY_NAME] = "Acheteur SA";
    p->buyer.text[TB_PARTY_STREET] = "1 Rue";
    p->buyer.text[TB_PARTY_CITY] = "Paris";
    p->buyer.text[TB_PARTY_POSTAL_CODE] = "75001";
    p->buyer.text[TB_PARTY_COUNTRY] = "FR";
    p->buyer.text[TB_PARTY_VAT_ID] = "FR12345678901";
    p->buyer.text[TB_PARTY_ENDPOINT_ID] = "FR12345678901";
    p->buyer.text[TB_PARTY_ENDPOINT_SCHEME] = "9957";
    p->buyer.text[TB_PARTY_REFERENCE] = "4711";
    f->s.seller = &p->seller;
    f->s.buyer = &p->buyer;
}

static void charge(fixture *f, const char *category)
{
    memcpy(f->bill.tax[0].rate.category, category, strlen(category) + 1);
    if (strcmp(category, "S") != 0) f->bill.tax[0].rate.percent = dec("0");
}

/* "seller.city BT-37;..." */
static const char *lacks_of(const tb_statement *s, tb_norm norm)
{
    static char text[4096];
    tb_missing_field lacks[TB_MISSING_FIELDS_MAX];
    const size_t n = tb_statement_missing_fields(s, norm, lacks);
    text[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s %s", i ? ";" : "", lacks[i].path,
                 lacks[i].term);
    }
    return text;
}

static void check_norms(const tb_statement *s, const char *legal, const char *peppol,
                        const char *xrechnung)
{
    ck_assert_str_eq(lacks_of(s, TB_NORM_LEGAL), legal);
    ck_assert_str_eq(lacks_of(s, TB_NORM_PEPPOL), peppol);
    ck_assert_str_eq(lacks_of(s, TB_NORM_XRECHNUNG), xrechnung);
}

START_TEST(test_complete_parties_lack_nothing)
{
    static const char *const categories[] = {"S", "Z", "AE", "K", "G", "O"};
    fixture f;
    parties p;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        declare(&f, &p);
        charge(&f, categories[i]);
        check_norms(&f.s, "", "", "");
    }
}
END_TEST

static const struct {
    tb_party_role role;
    tb_party_field field;
    const char *category, *legal, *peppol, *xrechnung;
} fields[] = {
    {TB_SELLER, TB_PARTY_NAME, "S", "seller.name BT-27", "seller.name BT-27", "seller.name BT-27"},
    {TB_SELLER, TB_PARTY_STREET, "S", "seller.street BT-35", "", ""},
    {TB_SELLER, TB_PARTY_CITY, "S", "seller.city BT-37", "", "seller.city BT-37"},
    {TB_SELLER, TB_PARTY_POSTAL_CODE, "S", "seller.postal_code BT-38", "",
     "seller.postal_code BT-38"},
    {TB_SELLER, TB_PARTY_COUNTRY, "S", "seller.country BT-40", "seller.country BT-40",
     "seller.country BT-40"},
    {TB_SELLER, TB_PARTY_VAT_ID, "S", "seller.vat_id BT-31", "seller.vat_id BT-31",
     "seller.vat_id BT-31"},
    {TB_SELLER, TB_PARTY_VAT_ID, "AE", "seller.vat_id BT-31", "seller.vat_id BT-31",
     "seller.vat_id BT-31"},
    {TB_SELLER, TB_PARTY_VAT_ID, "O", "", "", ""},
    {TB_SELLER, TB_PARTY_REGISTRATION_ID, "S", "", "", ""},
    {TB_SELLER, TB_PARTY_REGISTRATION_ID, "O", "", "seller.registration_id BT-30",
     "seller.registration_id BT-30"},
    {TB_SELLER, TB_PARTY_ENDPOINT_ID, "S", "", "seller.endpoint.id BT-34", ""},
    {TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, "S", "", "seller.endpoint.scheme BT-34-1",
     "seller.endpoint.scheme BT-34-1"},
    {TB_SELLER, TB_PARTY_CONTACT_NAME, "S", "", "", "seller.contact.name BT-41"},
    {TB_SELLER, TB_PARTY_CONTACT_PHONE, "S", "", "", "seller.contact.phone BT-42"},
    {TB_SELLER, TB_PARTY_CONTACT_EMAIL, "S", "", "", "seller.contact.email BT-43"},
    {TB_SELLER, TB_PARTY_PAYMENT_IBAN, "S", "", "", "seller.payment.iban BT-84"},
    {TB_BUYER, TB_PARTY_NAME, "S", "buyer.name BT-44", "buyer.name BT-44", "buyer.name BT-44"},
    {TB_BUYER, TB_PARTY_STREET, "S", "buyer.street BT-50", "", ""},
    {TB_BUYER, TB_PARTY_CITY, "S", "buyer.city BT-52", "", "buyer.city BT-52"},
    {TB_BUYER, TB_PARTY_POSTAL_CODE, "S", "", "", "buyer.postal_code BT-53"},
    {TB_BUYER, TB_PARTY_COUNTRY, "S", "buyer.country BT-55", "buyer.country BT-55",
     "buyer.country BT-55"},
    {TB_BUYER, TB_PARTY_VAT_ID, "S", "", "", ""},
    {TB_BUYER, TB_PARTY_VAT_ID, "AE", "buyer.vat_id BT-48", "buyer.vat_id BT-48",
     "buyer.vat_id BT-48"},
    {TB_BUYER, TB_PARTY_VAT_ID, "K", "buyer.vat_id BT-48", "buyer.vat_id BT-48",
     "buyer.vat_id BT-48"},
    {TB_BUYER, TB_PARTY_ENDPOINT_ID, "S", "", "buyer.endpoint.id BT-49", ""},
    {TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, "S", "", "buyer.endpoint.scheme BT-49-1",
     "buyer.endpoint.scheme BT-49-1"},
    {TB_BUYER, TB_PARTY_REFERENCE, "S", "", "buyer.reference BT-10", "buyer.reference BT-10"},
};

START_TEST(test_each_field_is_missed)
{
    fixture f;
    parties p;
    declare(&f, &p);
    charge(&f, fields[_i].category);
    tb_party *party = fields[_i].role == TB_SELLER ? &p.seller : &p.buyer;
    party->text[fields[_i].field] = NULL;
    check_norms(&f.s, fields[_i].legal, fields[_i].peppol, fields[_i].xrechnung);
}
END_TEST

START_TEST(test_blanks_say_nothing)
{
    fixture f;
    parties p;
    declare(&f, &p);
    p.buyer.text[TB_PARTY_NAME] = " \t\x7f ";
    check_norms(&f.s, "buyer.name BT-44", "buyer.name BT-44", "buyer.name BT-44");
}
END_TEST

static const struct {
    tb_party_role role;
    tb_party_field field;
    const char *value, *peppol, *xrechnung;
} codes[] = {
    {TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, "EM", "seller.endpoint.scheme BT-34-1", ""},
    {TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, "EM", "buyer.endpoint.scheme BT-49-1", ""},
    {TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, "99", "buyer.endpoint.scheme BT-49-1",
     "buyer.endpoint.scheme BT-49-1"},
    {TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, "0002", "", ""},
    {TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, "0248", "", ""},
    {TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, "0249", "seller.registration_scheme BT-30-1",
     "seller.registration_scheme BT-30-1"},
    {TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, "0092", "seller.registration_scheme BT-30-1",
     "seller.registration_scheme BT-30-1"},
    {TB_SELLER, TB_PARTY_COUNTRY, "XX", "seller.country BT-40", "seller.country BT-40"},
    {TB_BUYER, TB_PARTY_COUNTRY, "U", "buyer.country BT-55", "buyer.country BT-55"},
    {TB_SELLER, TB_PARTY_VAT_ID, "XX1", "seller.vat_id BT-31", "seller.vat_id BT-31"},
    {TB_SELLER, TB_PARTY_VAT_ID, "EL123456789", "", ""},
    {TB_BUYER, TB_PARTY_VAT_ID, "XI123456789", "", ""},
    {TB_BUYER, TB_PARTY_VAT_ID, "fr1", "buyer.vat_id BT-48", "buyer.vat_id BT-48"},
    {TB_BUYER, TB_PARTY_VAT_ID, "F", "buyer.vat_id BT-48", "buyer.vat_id BT-48"},
};

START_TEST(test_codes_are_of_their_lists)
{
    fixture f;
    parties p;
    declare(&f, &p);
    (codes[_i].role == TB_SELLER ? &p.seller : &p.buyer)->text[codes[_i].field] = codes[_i].value;
    check_norms(&f.s, "", codes[_i].peppol, codes[_i].xrechnung);
}
END_TEST

START_TEST(test_taxes)
{
    fixture f;
    parties p;
    declare(&f, &p);
    f.bill.n_tax = 2;
    f.bill.tax[1] = f.bill.tax[0];
    check_norms(&f.s, "", "accounts[].tax BT-118", "accounts[].tax BT-118");
    f.bill.n_tax = 0;
    check_norms(&f.s, "accounts[].tax BT-118", "accounts[].tax BT-118", "accounts[].tax BT-118");
    f.bill.n_tax = 1;
    charge(&f, "E");
    check_norms(&f.s, "accounts[].tax.reason BT-120", "accounts[].tax.reason BT-120",
                "accounts[].tax.reason BT-120");
    f.tax[0].reason_code = "VATEX-EU-AE";
    check_norms(&f.s, "", "accounts[].tax.reason_code BT-121", "accounts[].tax.reason_code BT-121");
    charge(&f, "AE");
    check_norms(&f.s, "", "", "");
    p.seller.text[TB_PARTY_VAT_ID] = "123456789";
    check_norms(&f.s, "", "seller.vat_id BT-31", "seller.vat_id BT-31");
}
END_TEST

START_TEST(test_delivery_is_the_buyers_or_whole)
{
    fixture f;
    parties p;
    declare(&f, &p);
    charge(&f, "K");
    p.buyer.text[TB_PARTY_DELIVERY_CITY] = "Lyon";
    check_norms(&f.s, "", "buyer.delivery.country BT-80",
                "buyer.delivery.country BT-80;buyer.delivery.postal_code BT-78");
}
END_TEST

/* {scheme, right, wrong...} */
static const char *const numbers[][6] = {
    {"0007", "5567321707", "5567321708", "556732170", "55673217070", "SE55673217"},
    {"0088", "4098765000003", "4098765000005", "409876500000X", "7", "-4098765000003"},
    {"0088", "0", "4006381333930", " 4006381333931", "4006381333931 1", "00000001"},
    {"0151", "51824753556", "51824753557", "5182475355", "518247535560", "5182475355a"},
    {"0184", "DK12345678", "DK1234567", "1234567", "dk12345678", "123456789"},
    {"0184", "12345678", "NO12345678", "DK123456789", "DK", "1234567x"},
    {"0192", "974760673", "974760674", "97476067", "9747606730", "000000000"},
    {"0192", "910000004", "910000005", "97476067X", "NO974760673", "1"},
    {"0208", "0202239951", "0202239952", "202239951", "02022399510", "BE02022399"},
    {"0208", "0000000097", "0000000000", "0000000001", "0202239851", "000000009x"},
};

START_TEST(test_numbers_have_the_form_of_their_scheme)
{
    fixture f;
    parties p;
    declare(&f, &p);
    for (int side = 0; side < 2; side++)
        for (size_t i = 1; i < 6; i++) {
            const char *const *row = numbers[_i];
            tb_party *party = side ? &p.buyer : &p.seller, before = *party;
            party->text[TB_PARTY_ENDPOINT_SCHEME] = row[0];
            party->text[TB_PARTY_ENDPOINT_ID] = row[i];
            const char *at = side ? "buyer.endpoint.id BT-49" : "seller.endpoint.id BT-34";
            check_norms(&f.s, "", i > 1 ? at : "", "");
            *party = before;
            party->text[TB_PARTY_REGISTRATION_ID] = row[i];
            check_norms(&f.s, "", "", "");
            party->text[TB_PARTY_REGISTRATION_SCHEME] = row[0];
            at = side ? "buyer.registration_id BT-47" : "seller.registration_id BT-30";
            check_norms(&f.s, "", i > 1 ? at : "", "");
            *party = before;
        }
}
END_TEST

START_TEST(test_currencies)
{
    fixture f;
    parties p;
    declare(&f, &p);
    p.seller.text[TB_PARTY_TAX_CURRENCY] = "EUR";
    check_norms(&f.s, "seller.rates BT-111", "seller.rates BT-111", "seller.rates BT-111");
    p.seller.text[TB_PARTY_TAX_RATE] = "0.92";
    check_norms(&f.s, "", "", "");
    p.seller.text[TB_PARTY_TAX_CURRENCY] = "KWD";
    check_norms(&f.s, "", "seller.tax_currency BT-6", "seller.tax_currency BT-6");
    p.seller.text[TB_PARTY_TAX_CURRENCY] = "USD";
    p.seller.text[TB_PARTY_TAX_RATE] = NULL;
    check_norms(&f.s, "", "", "");
    f.bill.minor_digits = 3;
    check_norms(&f.s, "", "accounts[].currency BT-5", "accounts[].currency BT-5");
}
END_TEST

START_TEST(test_payment_and_days)
{
    fixture f;
    parties p;
    declare(&f, &p);
    p.seller.text[TB_PARTY_PAYMENT_MEANS] = "59";
    check_norms(&f.s, "", "seller.payment.means BT-81", "seller.payment.means BT-81");
    p.seller.text[TB_PARTY_PAYMENT_MEANS] = "30";
    p.seller.text[TB_PARTY_PAYMENT_IBAN] = NULL;
    check_norms(&f.s, "", "seller.payment.iban BT-84", "seller.payment.iban BT-84");
    p.seller.text[TB_PARTY_PAYMENT_MEANS] = "1";
    f.s.due[0] = 0;
    check_norms(&f.s, "", "seller.terms_days BT-9", "seller.terms_days BT-9");
    f.s.paid = f.bill.total;
    check_norms(&f.s, "", "", "");
    f.s.issued[0] = 0;
    check_norms(&f.s, "issued BT-2", "issued BT-2", "issued BT-2");
    strcpy(f.s.state, "draft");
    check_norms(&f.s, "", "", "");
}
END_TEST

static const struct {
    const char *country;
    bool both;
    tb_party_field field;
    const char *peppol;
} countries[] = {
    {"DE", true, TB_PARTY_CITY, "seller.city BT-37"},
    {"DE", true, TB_PARTY_CONTACT_EMAIL, "seller.contact.email BT-43"},
    {"DE", true, TB_PARTY_PAYMENT_IBAN, "seller.payment.iban BT-84"},
    {"IT", false, TB_PARTY_STREET, "seller.street BT-35"},
    {"NL", false, TB_PARTY_REGISTRATION_ID, "seller.registration_id BT-30"},
    {"NL", false, TB_PARTY_LANGUAGE, "seller.registration_scheme BT-30-1"},
    {"DK", false, TB_PARTY_LANGUAGE, "seller.registration_scheme BT-30-1"},
    {"IS", false, TB_PARTY_POSTAL_CODE, "seller.postal_code BT-38"},
    {"IS", true, TB_PARTY_LANGUAGE, "buyer.registration_id BT-47"},
    {"GR", false, TB_PARTY_LANGUAGE, "seller.country BT-40"},
};

START_TEST(test_countries_of_peppol)
{
    fixture f;
    parties p;
    declare(&f, &p);
    p.seller.text[TB_PARTY_COUNTRY] = countries[_i].country;
    if (countries[_i].both) p.buyer.text[TB_PARTY_COUNTRY] = countries[_i].country;
    p.seller.text[countries[_i].field] = NULL;
    ck_assert_str_eq(lacks_of(&f.s, TB_NORM_PEPPOL), countries[_i].peppol);
}
END_TEST

/* Nothing declared is the longest list; it fits, and names each path once. */
START_TEST(test_nothing_is_declared)
{
    static const char *const categories[] = {"S", "Z", "E", "AE", "K", "G", "O"};
    fixture f;
    parties p;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        declare(&f, &p);
        charge(&f, categories[i]);
        f.s.seller = f.s.buyer = NULL;
        for (int norm = TB_NORM_LEGAL; norm <= TB_NORM_XRECHNUNG; norm++) {
            tb_missing_field lacks[TB_MISSING_FIELDS_MAX];
            size_t n = tb_statement_missing_fields(&f.s, (tb_norm)norm, lacks);
            ck_assert_uint_gt(n, 5);
            ck_assert_uint_lt(n, TB_MISSING_FIELDS_MAX);
            for (size_t a = 0; a < n; a++)
                for (size_t b = 0; b < a; b++)
                    ck_assert_str_ne(lacks[a].path, lacks[b].path);
        }
    }
}
END_TEST

/* Category O asks for the seller's registration, and so do Dutch sellers. */
START_TEST(test_what_two_rules_ask_for_is_listed_once)
{
    fixture f;
    parties p;
    declare(&f, &p);
    charge(&f, "O");
    p.seller.text[TB_PARTY_COUNTRY] = "NL";
    p.seller.text[TB_PARTY_VAT_ID] = "NL000099998B57";
    p.seller.text[TB_PARTY_REGISTRATION_ID] = NULL;
    const char *text = lacks_of(&f.s, TB_NORM_PEPPOL);
    ck_assert_msg(strncmp(text, "seller.registration_id BT-30", 28) == 0, "%s", text);
    ck_assert_ptr_null(strstr(text + 1, "seller.registration_id "));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("missing_fields");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_complete_parties_lack_nothing);
    tcase_add_loop_test(all, test_each_field_is_missed, 0, sizeof fields / sizeof *fields);
    tcase_add_test(all, test_blanks_say_nothing);
    tcase_add_loop_test(all, test_codes_are_of_their_lists, 0, sizeof codes / sizeof *codes);
    tcase_add_test(all, test_taxes);
    tcase_add_test(all, test_delivery_is_the_buyers_or_whole);
    tcase_add_test(all, test_currencies);
    tcase_add_loop_test(all, test_numbers_have_the_form_of_their_scheme, 0,
                        sizeof numbers / sizeof *numbers);
    tcase_add_test(all, test_payment_and_days);
    tcase_add_loop_test(all, test_countries_of_peppol, 0, sizeof countries / sizeof *countries);
    tcase_add_test(all, test_what_two_rules_ask_for_is_listed_once);
    tcase_add_test(all, test_nothing_is_declared);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
