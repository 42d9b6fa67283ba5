/* A table of rules. Most name a party's field that must be declared, or a field that replaces it; the
 * others have a function that checks them. A rule holds for its norms, for its categories of tax, and
 * where its condition is met. Each path is listed once: by the first rule that fails. */
#include "tollbook/invoice.h"

#include <string.h>

#include "invoice/checkdigits.h"
#include "invoice/late_tax.h"
#include "invoice/text.h"

/* --- what rules ask --- */

/* A text of blanks counts as empty. */
static const char *said(const tb_statement *s, tb_party_role role, tb_party_field field)
{
    const char *text = tb_party_text(role == TB_SELLER ? s->seller : s->buyer, field);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at > ' ' && *at != 0x7f) return text;
    return "";
}

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static bool one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (is(text, *words)) return true;
    return false;
}

static bool seller_in(const tb_statement *s, const char *country)
{
    return is(said(s, TB_SELLER, TB_PARTY_COUNTRY), country);
}

static bool both_in(const tb_statement *s, const char *country)
{
    return seller_in(s, country) && is(said(s, TB_BUYER, TB_PARTY_COUNTRY), country);
}

/* --- codes, as the norms list them --- */

/* ISO 3166-1; a VAT id may begin with EL (Greece) or XI (Northern Ireland) too. */
static const char countries[] =
    " AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL "
    "BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV "
    "CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD "
    "GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM "
    "IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK "
    "LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW "
    "MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR "
    "PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS "
    "ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY "
    "UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW ";

/* Schemes of electronic addresses: those of Peppol, and further ones of the norm. */
static const char reachable[] =
    " 0002 0007 0009 0037 0060 0088 0096 0097 0106 0130 0135 0142 0147 0151 0154 0158 "
    "0170 0177 0183 0184 0188 0190 0191 0192 0193 0194 0195 0196 0198 0199 0200 0201 "
    "0202 0203 0204 0205 0208 0209 0210 0211 0212 0213 0215 0216 0217 0218 0221 0225 "
    "0230 0235 0240 9910 9913 9914 9915 9918 9919 9920 9922 9923 9924 9925 9926 9927 "
    "9928 9929 9930 9931 9932 9933 9934 9935 9936 9937 9938 9939 9940 9941 9942 9943 "
    "9944 9945 9946 9947 9948 9949 9950 9951 9952 9953 9957 9959 ";
static const char addresses[] = " 0219 0220 0242 0244 0245 0246 0248 AN AQ AS AU EM ";

/* ISO 6523: the first and last code, and the codes between them that are not assigned. */
static const char no_schemes[] = " 0092 0103 0181 0182 ";
#define SCHEME_FIRST "0002"
#define SCHEME_LAST  "0248"

static bool list_has_code(const char *list, const char *code, size_t len)
{
    for (const char *at = list; (at = strstr(at, " ")) && at[1]; at++)
        if (strncmp(at + 1, code, len) == 0 && at[1 + len] == ' ') return true;
    return false;
}

/* --- conditions --- */

static bool german(const tb_statement *s)
{
    return both_in(s, "DE");
}

static bool italian_seller(const tb_statement *s)
{
    return seller_in(s, "IT");
}

static bool dutch_seller(const tb_statement *s)
{
    return seller_in(s, "NL");
}

static bool dutch(const tb_statement *s)
{
    return both_in(s, "NL");
}

static bool danish_seller(const tb_statement *s)
{
    return seller_in(s, "DK");
}

static bool icelandic_seller(const tb_statement *s)
{
    return seller_in(s, "IS");
}

static bool icelandic(const tb_statement *s)
{
    return both_in(s, "IS");
}

/* The address of delivery: the declared one, else the buyer's own. */
static bool delivery_declared(const tb_statement *s)
{
    return *said(s, TB_BUYER, TB_PARTY_DELIVERY_COUNTRY) ||
           *said(s, TB_BUYER, TB_PARTY_DELIVERY_CITY) ||
           *said(s, TB_BUYER, TB_PARTY_DELIVERY_POSTAL_CODE);
}

static const char *means(const tb_statement *s)
{
    const char *declared = said(s, TB_SELLER, TB_PARTY_PAYMENT_MEANS);
    return *declared ? declared : "58";
}

static bool payment_declared(const tb_statement *s)
{
    return *said(s, TB_SELLER, TB_PARTY_PAYMENT_MEANS) ||
           *said(s, TB_SELLER, TB_PARTY_PAYMENT_BIC) ||
           *said(s, TB_SELLER, TB_PARTY_PAYMENT_ACCOUNT_NAME);
}

static bool transfer(const tb_statement *s)
{
    return is(means(s), "30") || is(means(s), "58");
}

static bool transfer_declared(const tb_statement *s)
{
    return payment_declared(s) && transfer(s);
}

/* An invoice in the currency of the tax shows it once. */
static bool has_tax_currency(const tb_statement *s)
{
    const char *currency = said(s, TB_SELLER, TB_PARTY_TAX_CURRENCY);
    return *currency && !is(currency, s->currency);
}

static bool no_rate(const tb_statement *s)
{
    return has_tax_currency(s) && !*said(s, TB_SELLER, TB_PARTY_TAX_RATE);
}

static bool seller_reached(const tb_statement *s)
{
    return *said(s, TB_SELLER, TB_PARTY_ENDPOINT_ID);
}

static bool buyer_reached(const tb_statement *s)
{
    return *said(s, TB_BUYER, TB_PARTY_ENDPOINT_ID);
}

/* --- invalid values --- */

static bool bad_vat_id(const char *id)
{
    return *id && !(list_has_code(countries, id, 2) || list_has_code(" EL XI ", id, 2));
}

static bool bad_country(const char *code)
{
    return *code && !list_has_code(countries, code, strlen(code));
}

static bool bad_seller_country(const tb_statement *s)
{
    return bad_country(said(s, TB_SELLER, TB_PARTY_COUNTRY));
}

static bool bad_buyer_country(const tb_statement *s)
{
    return bad_country(said(s, TB_BUYER, TB_PARTY_COUNTRY));
}

static bool bad_delivery_country(const tb_statement *s)
{
    return bad_country(said(s, TB_BUYER, TB_PARTY_DELIVERY_COUNTRY));
}

static bool unreachable(const tb_statement *s, tb_party_role role, bool by_peppol)
{
    const char *scheme = said(s, role, TB_PARTY_ENDPOINT_SCHEME);
    if (!*scheme || list_has_code(reachable, scheme, strlen(scheme))) return false;
    return by_peppol || !list_has_code(addresses, scheme, strlen(scheme));
}

static bool seller_unreachable(const tb_statement *s)
{
    return unreachable(s, TB_SELLER, true);
}

static bool buyer_unreachable(const tb_statement *s)
{
    return unreachable(s, TB_BUYER, true);
}

static bool bad_seller_endpoint(const tb_statement *s)
{
    return unreachable(s, TB_SELLER, false);
}

static bool bad_buyer_endpoint(const tb_statement *s)
{
    return unreachable(s, TB_BUYER, false);
}

/* A party without a number shows no scheme. */
static bool bad_scheme(const tb_statement *s, tb_party_role role)
{
    const char *scheme = said(s, role, TB_PARTY_REGISTRATION_SCHEME);
    if (!*scheme || !*said(s, role, TB_PARTY_REGISTRATION_ID)) return false;
    return strlen(scheme) != 4 || strspn(scheme, "0123456789") != 4 ||
           strcmp(scheme, SCHEME_FIRST) < 0 || strcmp(scheme, SCHEME_LAST) > 0 ||
           list_has_code(no_schemes, scheme, 4);
}

static bool bad_seller_scheme(const tb_statement *s)
{
    return bad_scheme(s, TB_SELLER);
}

static bool bad_buyer_scheme(const tb_statement *s)
{
    return bad_scheme(s, TB_BUYER);
}

static bool bad_number(const char *scheme, const char *id)
{
    return *id && !tb__number_fits(scheme, id);
}

#define BAD_NUMBER(name, role, field)                                                              \
    static bool name(const tb_statement *s)                                                        \
    {                                                                                              \
        return bad_number(said(s, role, field##_SCHEME), said(s, role, field##_ID));               \
    }
BAD_NUMBER(bad_seller_number, TB_SELLER, TB_PARTY_ENDPOINT)
BAD_NUMBER(bad_buyer_number, TB_BUYER, TB_PARTY_ENDPOINT)
BAD_NUMBER(bad_seller_registration, TB_SELLER, TB_PARTY_REGISTRATION)
BAD_NUMBER(bad_buyer_registration, TB_BUYER, TB_PARTY_REGISTRATION)

static bool bad_seller_vat_id(const tb_statement *s)
{
    return bad_vat_id(said(s, TB_SELLER, TB_PARTY_VAT_ID));
}

static bool bad_buyer_vat_id(const tb_statement *s)
{
    return bad_vat_id(said(s, TB_BUYER, TB_PARTY_VAT_ID));
}

static bool greek_seller(const tb_statement *s)
{
    return seller_in(s, "GR");
}

static bool bad_dutch_registration(const tb_statement *s)
{
    static const char *const schemes[] = {"0106", "0190", NULL};
    return *said(s, TB_SELLER, TB_PARTY_REGISTRATION_ID) &&
           !one_of(said(s, TB_SELLER, TB_PARTY_REGISTRATION_SCHEME), schemes);
}

static bool bad_dutch_buyer_registration(const tb_statement *s)
{
    static const char *const schemes[] = {"0106", "0190", NULL};
    return *said(s, TB_BUYER, TB_PARTY_REGISTRATION_ID) &&
           !one_of(said(s, TB_BUYER, TB_PARTY_REGISTRATION_SCHEME), schemes);
}

static bool bad_danish_registration(const tb_statement *s)
{
    return *said(s, TB_SELLER, TB_PARTY_REGISTRATION_ID) &&
           !is(said(s, TB_SELLER, TB_PARTY_REGISTRATION_SCHEME), "0184");
}

/* Card and direct debit have groups of their own, of which nothing is declared. */
static bool unknown_means(const tb_statement *s)
{
    static const char *const others[] = {"48", "49", "54", "55", "59", NULL};
    return one_of(means(s), others);
}

/* Rows on the lines of one month are adjacent. */
static bool same_lines(const tb_bill_taxed *a, const tb_bill_taxed *b)
{
    return !a->charges && !b->charges && a->late == b->late && (!a->late || a->month == b->month);
}

/* Whether the row is on only some of its month's corrections: a part was billed without tax. */
static bool is_on_a_part(const tb_bill *bill, const tb_bill_taxed *tax)
{
    tb_decimal sum = TB_DECIMAL_ZERO;
    for (size_t i = 0; tax->late && i < bill->n_lines; i++)
        if (bill->lines[i].kind == TB_LINE_CORRECTION && bill->lines[i].period_month == tax->month &&
            tb_decimal_add(sum, bill->lines[i].amount, &sum, NULL))
            return true;
    return tax->late && tb_decimal_compare(sum, tax->base) != 0;
}

/* On the document, or on lines that were billed without. */
static bool no_tax(const tb_statement *s)
{
    for (size_t i = 0; i < s->bill->n_lines; i++)
        if (!tb__tax_of(s, i)) return true;
    for (size_t i = 0; i < s->bill->n_tax; i++)
        if (is_on_a_part(s->bill, &s->bill->tax[i])) return true;
    return s->bill->n_tax == 0;
}

/* On the lines of one month. */
static bool several_taxes(const tb_statement *s)
{
    for (size_t i = 1; i < s->bill->n_tax; i++)
        if (same_lines(&s->bill->tax[i - 1], &s->bill->tax[i])) return true;
    return false;
}

/* BR-O-11 to BR-O-14 */
static bool taxed_and_untouched(const tb_statement *s)
{
    for (size_t i = 1; i < s->bill->n_tax; i++)
        if (is(tb_tax_category(&s->bill->tax[i].rate), "O") != is(tb_tax_category(&s->bill->tax[0].rate), "O"))
            return true;
    return false;
}

/* BR-CO-17: a document in yen with corrections of several months can exceed the limit. */
static bool far_from_rate(const tb_statement *s)
{
    tb_decimal far;
    for (size_t i = 0; i < s->bill->n_tax; i++)
        if (s->bill->tax[i].late &&
            (tb__group_apart(s->bill->tax, s->bill->n_tax, &s->bill->tax[i].rate, &far, NULL) || tb__is_far(far)))
            return true;
    return false;
}

static bool no_reason(const tb_statement *s)
{
    for (size_t i = 0; i < s->bill->n_tax; i++) {
        const tb_bill_taxed *tax = &s->bill->tax[i];
        if (is(tb_tax_category(&tax->rate), "E") && !tax->reason && !tax->reason_code) return true;
    }
    return false;
}

/* The codes that belong to one category. */
static bool of_another_category(const tb_bill_taxed *tax)
{
    static const struct {
        const char *code, *category;
    } owned[] = {{"VATEX-EU-AE", "AE"}, {"VATEX-EU-IC", "K"}, {"VATEX-EU-G", "G"},
                 {"VATEX-EU-O", "O"},   {"VATEX-EU-D", "E"},  {"VATEX-EU-F", "E"},
                 {"VATEX-EU-I", "E"},   {"VATEX-EU-J", "E"}};
    for (size_t i = 0; tax->reason_code && i < sizeof owned / sizeof *owned; i++)
        if (is(tax->reason_code, owned[i].code)) return !is(tb_tax_category(&tax->rate), owned[i].category);
    return false;
}

static bool bad_reason_code(const tb_statement *s)
{
    for (size_t i = 0; i < s->bill->n_tax; i++)
        if (of_another_category(&s->bill->tax[i])) return true;
    return false;
}

static bool three_tax_decimals(const tb_statement *s)
{
    return has_tax_currency(s) &&
           tb_currency_minor_digits(said(s, TB_SELLER, TB_PARTY_TAX_CURRENCY)) > 2;
}

static bool three_decimals(const tb_statement *s)
{
    return s->bill->minor_digits > 2;
}

static bool is_draft(const tb_statement *s)
{
    return is(s->state, "draft");
}

static bool no_due(const tb_statement *s)
{
    return !is_draft(s) && is(s->kind, "invoice") && !s->due[0] &&
           tb_decimal_compare(s->bill->total, s->paid) > 0;
}

/* Texts of version 1 do not say it. */
static bool no_issued(const tb_statement *s)
{
    return !is_draft(s) && !s->issued[0];
}

/* --- the table --- */

enum {
    LEGAL = 1 << TB_NORM_LEGAL,
    PEPPOL = 1 << TB_NORM_PEPPOL,
    XRECHNUNG = 1 << TB_NORM_XRECHNUNG,
    ELECTRONIC = PEPPOL | XRECHNUNG,
    EVERY = LEGAL | ELECTRONIC,
};

#define NO_FIELD TB_PARTY_FIELDS

typedef struct rule {
    int norms;
    const char *categories; /* " S Z ": those it holds for; NULL: all, and where there is no tax */
    bool (*where)(const tb_statement *); /* NULL: everywhere */
    tb_party_role role;
    tb_party_field field, other;          /* missing where neither is declared */
    bool (*broken)(const tb_statement *); /* checks further values; NULL: only the field counts */
    const char *path, *term;              /* NULL: the field's */
    const char *why;
} rule;

#define NEED(norms, role, field, why)                                                              \
    {                                                                                              \
        norms, NULL, NULL, role, field, NO_FIELD, NULL, NULL, NULL, why                            \
    }
#define NEED_IN(norms, where, role, field, why)                                                    \
    {                                                                                              \
        norms, NULL, where, role, field, NO_FIELD, NULL, NULL, NULL, why                           \
    }
#define NEED_FOR(norms, categories, role, field, other, why)                                       \
    {                                                                                              \
        norms, categories, NULL, role, field, other, NULL, NULL, NULL, why                         \
    }
#define BAD(norms, where, role, field, broken, why)                                                \
    {                                                                                              \
        norms, NULL, where, role, field, NO_FIELD, broken, NULL, NULL, why                         \
    }
#define BAD_ELSE(norms, categories, broken, path, term, why)                                       \
    {                                                                                              \
        norms, categories, NULL, TB_SELLER, NO_FIELD, NO_FIELD, broken, path, term, why            \
    }

#define WRONG_NUMBER "Its length or a check digit is not that of its scheme."

static const rule rules[] = {
    /* the seller */
    NEED(EVERY, TB_SELLER, TB_PARTY_NAME, NULL),
    NEED(LEGAL, TB_SELLER, TB_PARTY_STREET, NULL),
    NEED_IN(PEPPOL, italian_seller, TB_SELLER, TB_PARTY_STREET, "Italian sellers name it."),
    NEED_IN(PEPPOL, dutch_seller, TB_SELLER, TB_PARTY_STREET, "Dutch sellers name it."),
    NEED_IN(PEPPOL, icelandic_seller, TB_SELLER, TB_PARTY_STREET, "Icelandic sellers name it."),
    NEED(LEGAL | XRECHNUNG, TB_SELLER, TB_PARTY_CITY, NULL),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_CITY, "Needed between German parties."),
    NEED_IN(PEPPOL, italian_seller, TB_SELLER, TB_PARTY_CITY, "Italian sellers name it."),
    NEED_IN(PEPPOL, dutch_seller, TB_SELLER, TB_PARTY_CITY, "Dutch sellers name it."),
    NEED(LEGAL | XRECHNUNG, TB_SELLER, TB_PARTY_POSTAL_CODE, NULL),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_POSTAL_CODE, "Needed between German parties."),
    NEED_IN(PEPPOL, italian_seller, TB_SELLER, TB_PARTY_POSTAL_CODE, "Italian sellers name it."),
    NEED_IN(PEPPOL, dutch_seller, TB_SELLER, TB_PARTY_POSTAL_CODE, "Dutch sellers name it."),
    NEED_IN(PEPPOL, icelandic_seller, TB_SELLER, TB_PARTY_POSTAL_CODE,
            "Icelandic sellers name it."),
    NEED(EVERY, TB_SELLER, TB_PARTY_COUNTRY, NULL),
    BAD(ELECTRONIC, NULL, TB_SELLER, TB_PARTY_COUNTRY, bad_seller_country,
        "It is no code of ISO 3166-1."),
    BAD(PEPPOL, NULL, TB_SELLER, TB_PARTY_COUNTRY, greek_seller,
        "Greek sellers need a mark of the tax office on each invoice, which is not made here."),
    NEED_FOR(EVERY, " S Z E ", TB_SELLER, TB_PARTY_VAT_ID, TB_PARTY_TAX_ID,
             "Or seller.tax_id (BT-32)."),
    NEED_FOR(EVERY, " AE K G ", TB_SELLER, TB_PARTY_VAT_ID, NO_FIELD,
             "A sale of this tax category needs it."),
    BAD(ELECTRONIC, NULL, TB_SELLER, TB_PARTY_VAT_ID, bad_seller_vat_id,
        "It begins with the two letters of its country."),
    NEED_FOR(ELECTRONIC, " S Z E AE K G ", TB_SELLER, TB_PARTY_REGISTRATION_ID, TB_PARTY_VAT_ID,
             "One of this and seller.vat_id must say who sells."),
    NEED_FOR(ELECTRONIC, " O ", TB_SELLER, TB_PARTY_REGISTRATION_ID, NO_FIELD,
             "Tax category O shows no VAT id, so this must say who sells."),
    NEED_IN(PEPPOL, dutch_seller, TB_SELLER, TB_PARTY_REGISTRATION_ID,
            "Dutch sellers name their KVK or OIN number."),
    NEED_IN(PEPPOL, danish_seller, TB_SELLER, TB_PARTY_REGISTRATION_ID,
            "Danish sellers name their CVR number."),
    NEED_IN(PEPPOL, icelandic_seller, TB_SELLER, TB_PARTY_REGISTRATION_ID,
            "Icelandic sellers name their kennitala."),
    BAD(PEPPOL, NULL, TB_SELLER, TB_PARTY_REGISTRATION_ID, bad_seller_registration, WRONG_NUMBER),
    BAD(ELECTRONIC, NULL, TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, bad_seller_scheme,
        "It is no code of ISO 6523."),
    BAD(PEPPOL, dutch_seller, TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, bad_dutch_registration,
        "Dutch sellers use 0106 (KVK) or 0190 (OIN)."),
    BAD(PEPPOL, danish_seller, TB_SELLER, TB_PARTY_REGISTRATION_SCHEME, bad_danish_registration,
        "Danish sellers use 0184 (CVR)."),
    NEED(PEPPOL, TB_SELLER, TB_PARTY_ENDPOINT_ID, NULL),
    BAD(PEPPOL, NULL, TB_SELLER, TB_PARTY_ENDPOINT_ID, bad_seller_number, WRONG_NUMBER),
    NEED(PEPPOL, TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, NULL),
    NEED_IN(XRECHNUNG, seller_reached, TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, NULL),
    BAD(PEPPOL, NULL, TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, seller_unreachable,
        "Peppol reaches no addresses of this scheme."),
    BAD(XRECHNUNG, seller_reached, TB_SELLER, TB_PARTY_ENDPOINT_SCHEME, bad_seller_endpoint,
        "It is no code of the list of electronic addresses (EAS)."),
    NEED(XRECHNUNG, TB_SELLER, TB_PARTY_CONTACT_NAME, NULL),
    NEED(XRECHNUNG, TB_SELLER, TB_PARTY_CONTACT_PHONE, NULL),
    NEED(XRECHNUNG, TB_SELLER, TB_PARTY_CONTACT_EMAIL, NULL),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_CONTACT_NAME, "Needed between German parties."),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_CONTACT_PHONE, "Needed between German parties."),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_CONTACT_EMAIL, "Needed between German parties."),
    /* the buyer */
    NEED(EVERY, TB_BUYER, TB_PARTY_NAME, NULL),
    NEED(LEGAL, TB_BUYER, TB_PARTY_STREET, NULL),
    NEED_IN(PEPPOL, dutch, TB_BUYER, TB_PARTY_STREET, "Needed between Dutch parties."),
    NEED_IN(PEPPOL, icelandic, TB_BUYER, TB_PARTY_STREET, "Needed between Icelandic parties."),
    NEED(LEGAL | XRECHNUNG, TB_BUYER, TB_PARTY_CITY, NULL),
    NEED_IN(PEPPOL, german, TB_BUYER, TB_PARTY_CITY, "Needed between German parties."),
    NEED_IN(PEPPOL, dutch, TB_BUYER, TB_PARTY_CITY, "Needed between Dutch parties."),
    NEED(XRECHNUNG, TB_BUYER, TB_PARTY_POSTAL_CODE, NULL),
    NEED_IN(PEPPOL, german, TB_BUYER, TB_PARTY_POSTAL_CODE, "Needed between German parties."),
    NEED_IN(PEPPOL, dutch, TB_BUYER, TB_PARTY_POSTAL_CODE, "Needed between Dutch parties."),
    NEED_IN(PEPPOL, icelandic, TB_BUYER, TB_PARTY_POSTAL_CODE, "Needed between Icelandic parties."),
    NEED(EVERY, TB_BUYER, TB_PARTY_COUNTRY, NULL),
    BAD(ELECTRONIC, NULL, TB_BUYER, TB_PARTY_COUNTRY, bad_buyer_country,
        "It is no code of ISO 3166-1."),
    NEED_FOR(LEGAL, " AE K ", TB_BUYER, TB_PARTY_VAT_ID, NO_FIELD,
             "The buyer owes the tax, so the invoice names this number."),
    NEED_FOR(ELECTRONIC, " K ", TB_BUYER, TB_PARTY_VAT_ID, NO_FIELD,
             "A supply within the Union names this number."),
    NEED_FOR(ELECTRONIC, " AE ", TB_BUYER, TB_PARTY_VAT_ID, TB_PARTY_REGISTRATION_ID,
             "The buyer owes the tax, so the invoice names this number."),
    BAD(ELECTRONIC, NULL, TB_BUYER, TB_PARTY_VAT_ID, bad_buyer_vat_id,
        "It begins with the two letters of its country."),
    NEED_IN(PEPPOL, dutch, TB_BUYER, TB_PARTY_REGISTRATION_ID, "Needed between Dutch parties."),
    NEED_IN(PEPPOL, icelandic, TB_BUYER, TB_PARTY_REGISTRATION_ID,
            "Needed between Icelandic parties."),
    BAD(PEPPOL, NULL, TB_BUYER, TB_PARTY_REGISTRATION_ID, bad_buyer_registration, WRONG_NUMBER),
    BAD(ELECTRONIC, NULL, TB_BUYER, TB_PARTY_REGISTRATION_SCHEME, bad_buyer_scheme,
        "It is no code of ISO 6523."),
    BAD(PEPPOL, dutch, TB_BUYER, TB_PARTY_REGISTRATION_SCHEME, bad_dutch_buyer_registration,
        "Dutch buyers have 0106 (KVK) or 0190 (OIN)."),
    NEED(PEPPOL, TB_BUYER, TB_PARTY_ENDPOINT_ID, NULL),
    BAD(PEPPOL, NULL, TB_BUYER, TB_PARTY_ENDPOINT_ID, bad_buyer_number, WRONG_NUMBER),
    NEED(PEPPOL, TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, NULL),
    NEED_IN(XRECHNUNG, buyer_reached, TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, NULL),
    BAD(PEPPOL, NULL, TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, buyer_unreachable,
        "Peppol reaches no addresses of this scheme."),
    BAD(XRECHNUNG, buyer_reached, TB_BUYER, TB_PARTY_ENDPOINT_SCHEME, bad_buyer_endpoint,
        "It is no code of the list of electronic addresses (EAS)."),
    NEED(ELECTRONIC, TB_BUYER, TB_PARTY_REFERENCE, NULL),
    {ELECTRONIC, " K ", delivery_declared, TB_BUYER, TB_PARTY_DELIVERY_COUNTRY, NO_FIELD, NULL,
     NULL, NULL, NULL},
    {ELECTRONIC, " K ", delivery_declared, TB_BUYER, TB_PARTY_DELIVERY_COUNTRY, NO_FIELD,
     bad_delivery_country, NULL, NULL, "It is no code of ISO 3166-1."},
    {XRECHNUNG, " K ", delivery_declared, TB_BUYER, TB_PARTY_DELIVERY_CITY, NO_FIELD, NULL, NULL,
     NULL, NULL},
    {XRECHNUNG, " K ", delivery_declared, TB_BUYER, TB_PARTY_DELIVERY_POSTAL_CODE, NO_FIELD, NULL,
     NULL, NULL, NULL},
    /* tax and currency */
    BAD_ELSE(EVERY, NULL, no_tax, "accounts[].tax", "BT-118", NULL),
    BAD_ELSE(ELECTRONIC, NULL, several_taxes, "accounts[].tax", "BT-118",
             "The norm has one tax for each line: several on one base cannot be written."),
    BAD_ELSE(ELECTRONIC, NULL, far_from_rate, "accounts[].tax.rate", "BT-117",
             "The norm has a tax less than 1 from rate x base: corrections of several months are 1 apart here."),
    BAD_ELSE(ELECTRONIC, NULL, taxed_and_untouched, "accounts[].tax.category", "BT-118",
             "The norm has no document with category O beside others: corrections of a month before it need one of "
             "their own."),
    BAD_ELSE(EVERY, " E ", no_reason, "accounts[].tax.reason", "BT-120",
             "A sale without tax says why."),
    BAD_ELSE(ELECTRONIC, NULL, bad_reason_code, "accounts[].tax.reason_code", "BT-121",
             "The code belongs to another category."),
    BAD_ELSE(ELECTRONIC, NULL, three_decimals, "accounts[].currency", "BT-5",
             "The norm allows amounts of two decimals, this currency has three."),
    BAD_ELSE(EVERY, NULL, no_rate, "seller.rates", "BT-111",
             "This month has no rate of this currency to the tax currency."),
    BAD(ELECTRONIC, NULL, TB_SELLER, TB_PARTY_TAX_CURRENCY, three_tax_decimals,
        "The norm allows amounts of two decimals, this currency has three."),
    /* payment */
    BAD(ELECTRONIC, NULL, TB_SELLER, TB_PARTY_PAYMENT_MEANS, unknown_means,
        "Cards and direct debits need details that are not declared; use 30 or 58."),
    NEED_IN(XRECHNUNG, transfer, TB_SELLER, TB_PARTY_PAYMENT_IBAN, "A transfer needs an account."),
    NEED_IN(PEPPOL, german, TB_SELLER, TB_PARTY_PAYMENT_IBAN, "Needed between German parties."),
    NEED_IN(PEPPOL, transfer_declared, TB_SELLER, TB_PARTY_PAYMENT_IBAN,
            "A transfer needs an account."),
    BAD_ELSE(EVERY, NULL, no_issued, "issued", "BT-2",
             "The invoice was made final before it had a day of issue."),
    BAD_ELSE(ELECTRONIC, NULL, no_due, "seller.terms_days", "BT-9",
             "An amount to pay has a day on which it is due."),
};
#define RULES (sizeof rules / sizeof *rules)

/* "seller.city", "buyer.city" */
static const char *const paths[TB_PARTY_FIELDS][2] = {
#define TB_X(e, path, most, seller, buyer) {"seller." path, "buyer." path},
    TB_PARTY_TABLE(TB_X)
#undef TB_X
};

static bool has_category(const tb_statement *s, const char *categories)
{
    for (size_t i = 0; i < s->bill->n_tax; i++) {
        const char *category = tb_tax_category(&s->bill->tax[i].rate);
        const size_t len = strlen(category);
        for (const char *at = categories; (at = strstr(at, category)); at++)
            if (at[-1] == ' ' && at[len] == ' ') return true;
    }
    return false;
}

static bool is_broken(const rule *r, const tb_statement *s)
{
    if (r->categories && !has_category(s, r->categories)) return false;
    if (r->where && !r->where(s)) return false;
    if (r->broken) return r->broken(s);
    return !*said(s, r->role, r->field) && (r->other == NO_FIELD || !*said(s, r->role, r->other));
}

static bool is_listed(const tb_missing_field *fields, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (is(fields[i].path, path)) return true;
    return false;
}

size_t tb_statement_missing_fields(const tb_statement *statement, tb_norm norm, tb_missing_field ret[TB_MISSING_FIELDS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < RULES && n < TB_MISSING_FIELDS_MAX; i++) {
        const rule *r = &rules[i];
        if (!(r->norms >> norm & 1) || !is_broken(r, statement)) continue;
        tb_missing_field field = {r->path, r->term, r->why};
        if (!field.path) {
            field.path = paths[r->field][r->role];
            field.term = tb_party_term(r->role, r->field);
        }
        if (!is_listed(ret, n, field.path)) ret[n++] = field;
    }
    return n;
}
