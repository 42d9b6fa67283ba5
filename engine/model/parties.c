/* The seller, buyers and labels of a catalogue. A party's object is walked along the table of fields
 * (tollbook/party.h); each field has a form in addition to its length. Invariant: an accepted text is valid in any
 * document, XML too, for it holds no control character, and a code has the form of the norm's code lists. */
#include "model/parties.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/calendar.h"

/* --- the forms of texts --- */

/* ISO 3166-1 alpha-2, and XI, which the European Union uses for Northern Ireland. */
static const char countries[] = "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBT"
                                "BVBWBYBZCACCCDCFCGCHCICKCLCMCN"
                                "COCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGG"
                                "GHGIGLGMGNGPGQGRGSGTGUGWGYHKHM"
                                "HNHRHTHUIDIEILIMINIOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLI"
                                "LKLRLSLTLULVLYMAMCMDMEMFMGMHMK"
                                "MLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPH"
                                "PKPLPMPNPRPSPTPWPYQARERORSRURW"
                                "SASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTR"
                                "TTTVTWTZUAUGUMUSUYUZVAVCVEVGVI"
                                "VNVUWFWSXIYEYTZAZMZW";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool are_digits(const tb__node *node)
{
    for (uint32_t i = 0; i < node->len; i++)
        if (!is_digit(node->text[i])) return false;
    return node->len > 0;
}

static bool are_capitals(const tb__node *node, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (!is_capital(node->text[i])) return false;
    return true;
}

static bool are_signs(const tb__node *node, uint32_t from)
{
    for (uint32_t i = from; i < node->len; i++)
        if (!is_capital(node->text[i]) && !is_digit(node->text[i])) return false;
    return true;
}

static bool is_blank(const tb__node *node)
{
    for (uint32_t i = 0; i < node->len; i++)
        if (node->text[i] != ' ') return false;
    return true;
}

static bool is_country(const tb__node *node)
{
    for (size_t i = 0; node->len == 2 && i + 1 < sizeof countries; i += 2)
        if (memcmp(countries + i, node->text, 2) == 0) return true;
    return false;
}

static bool is_language(const tb__node *node)
{
    return tb__node_is(node, "en", 2) || tb__node_is(node, "de", 2);
}

static bool is_currency(const tb__node *node)
{
    return node->len == 3 && are_capitals(node, 0, 3);
}

static bool is_four_digits(const tb__node *node)
{
    return node->len == 4 && are_digits(node);
}

/* Of EAS: four digits, or two letters such as EM, an e-mail address. */
static bool is_eas(const tb__node *node)
{
    return is_four_digits(node) || (node->len == 2 && are_capitals(node, 0, 2));
}

static bool is_means(const tb__node *node)
{
    return node->len <= 3 && are_digits(node);
}

/* Country, check digits and account; with country and check digits moved to the end and letters as 10 to 35 it is 1
 * modulo 97 (ISO 13616). */
static bool is_iban(const tb__node *node)
{
    unsigned rest = 0;
    if (node->len < 15 || node->len > 34 || !are_capitals(node, 0, 2) || !are_signs(node, 2) ||
        !is_digit(node->text[2]) || !is_digit(node->text[3]))
        return false;
    for (uint32_t i = 0; i < node->len; i++) {
        const char c = node->text[(i + 4) % node->len];
        rest =
            is_digit(c) ? rest * 10 + (unsigned)(c - '0') : rest * 100 + (unsigned)(c - 'A') + 10;
        rest %= 97;
    }
    return rest == 1;
}

static bool is_bic(const tb__node *node)
{
    return (node->len == 8 || node->len == 11) && are_capitals(node, 4, 6) && are_signs(node, 0);
}

typedef struct form {
    bool (*fits)(const tb__node *node);
    const char *wanted;
} form;

static const form country = {is_country, "a country of ISO 3166-1, two capital letters such as DE"};
static const form language = {is_language, "en or de"};
static const form currency = {is_currency, "three capital letters such as EUR"};
static const form eas = {is_eas, "a code of EAS such as 0204 or EM"};
static const form icd = {is_four_digits, "a code of ICD, four digits such as 0204"};
static const form means = {is_means, "a code of UNTDID 4461, one to three digits such as 58"};
static const form iban = {is_iban, "an IBAN without spaces whose check digits are right"};
static const form bic = {is_bic, "a BIC of 8 or 11 characters"};

/* NULL: any text. */
static const form *const forms[TB_PARTY_FIELDS] = {
    [TB_PARTY_COUNTRY] = &country,       [TB_PARTY_DELIVERY_COUNTRY] = &country,
    [TB_PARTY_ENDPOINT_SCHEME] = &eas,   [TB_PARTY_LANGUAGE] = &language,
    [TB_PARTY_PAYMENT_BIC] = &bic,       [TB_PARTY_PAYMENT_IBAN] = &iban,
    [TB_PARTY_PAYMENT_MEANS] = &means,   [TB_PARTY_REGISTRATION_SCHEME] = &icd,
    [TB_PARTY_TAX_CURRENCY] = &currency,
};

static const char *const texts[TB_PARTY_FIELDS] = {
#define TB_X(e, path, most, seller, buyer)                                                         \
    "a string of 1 to " #most " bytes, more than spaces and without control characters",
    TB_PARTY_TABLE(TB_X)
#undef TB_X
};

/* --- a party --- */

typedef struct walk {
    const tb__document *doc;
    tb_party_role role;
    tb__said_party *party;
    tb__said_seller *seller; /* NULL: a buyer */
    tb__fault *fault;
    const char *group; /* "contact": walk its members; "" at the top */
} walk;

/* A key of the group that is walked. */
static bool fault_at_key(const walk *w, uint32_t key, const char *wanted)
{
    (void)tb__fault_at_key(w->doc, w->fault, key, wanted);
    return tb__fault_inside(w->fault, w->group);
}

static bool read_text(const walk *w, tb_party_field field, uint32_t at)
{
    const tb__node *node = &w->doc->nodes[at];
    const char *path = tb_party_path(field);
    if (node->type != TB__STRING || node->len < 1 || node->len > tb_party_most(field) ||
        !tb__node_plain(node) || is_blank(node))
        return tb__fault_at(w->fault, path, at, forms[field] ? forms[field]->wanted : texts[field]);
    if (forms[field] && !forms[field]->fits(node))
        return tb__fault_at(w->fault, path, at, forms[field]->wanted);
    w->party->field[field] = at;
    return true;
}

/* The field of a key, or TB_PARTY_FIELDS. *ret_group: it names an object of fields. */
static tb_party_field find_field(const walk *w, const tb__node *key, bool *ret_group)
{
    const size_t before = strlen(w->group);
    *ret_group = false;
    for (int i = 0; i < TB_PARTY_FIELDS; i++) {
        const tb_party_field field = (tb_party_field)i;
        const char *path = tb_party_path(field);
        if (field == TB_PARTY_TAX_RATE || !tb_party_term(w->role, field)) continue;
        if (before && (strncmp(path, w->group, before) != 0 || path[before] != '.')) continue;
        path += before + (before > 0);
        const size_t len = strcspn(path, ".");
        if (!tb__node_is(key, path, len)) continue;
        *ret_group = path[len] == '.';
        return field;
    }
    return TB_PARTY_FIELDS;
}

static bool read_members(walk *w, uint32_t object);

static bool read_group(walk *w, uint32_t key, tb_party_field field)
{
    char group[16];
    walk inner = *w;
    const char *path = tb_party_path(field);
    snprintf(group, sizeof group, "%.*s", (int)strcspn(path, "."), path);
    inner.group = group;
    if (w->doc->nodes[key + 1].type != TB__OBJECT)
        return tb__fault_at(w->fault, group, key + 1, "an object");
    return read_members(&inner, key + 1);
}

/* --- further members of a seller --- */

bool tb__declared_terms(const tb__document *doc, uint32_t value, int *ret, tb__fault *fault)
{
    tb_decimal days;
    if (!tb__node_decimal(&doc->nodes[value], 0, &days) || days.mantissa < 0 ||
        days.mantissa > TB__TERMS_DAYS_MAX)
        return tb__fault_at(fault, "", value, "a whole number from 0 to 365");
    *ret = (int)days.mantissa;
    return true;
}

#define RATE_MOST  INT64_C(1000000000) /* 10^9 */
#define RATE_SCALE 15

static bool read_rate(const walk *w, uint32_t key)
{
    tb_decimal rate;
    if (!tb__node_decimal(&w->doc->nodes[key + 1], RATE_SCALE, &rate) ||
        tb_decimal_sign(rate) <= 0 || tb_decimal_compare(rate, tb_decimal_from_int(RATE_MOST)) > 0)
        return fault_at_key(w, key,
                            "a decimal above 0, at most 10^9, with at most 15 digits after the"
                            " point");
    return true;
}

/* One rate, or currencies and the rate of each. */
static bool read_month_rates(const walk *w, uint32_t key, int64_t month)
{
    const tb__node *nodes = w->doc->nodes;
    char group[16] = "rates.";
    const walk inner = {.doc = w->doc, .fault = w->fault, .group = group};
    if (nodes[key + 1].type != TB__OBJECT) return read_rate(w, key);
    tb_month_format(month, group + strlen(group));
    for (uint32_t at = key + 2; at != nodes[key + 1].next; at = nodes[at + 1].next) {
        if (!is_currency(&nodes[at])) return fault_at_key(&inner, at, currency.wanted);
        if (!read_rate(&inner, at)) return false;
    }
    return true;
}

static bool read_rates(const walk *w, uint32_t object)
{
    const tb__document *doc = w->doc;
    const walk inner = {.doc = doc, .fault = w->fault, .group = "rates"};
    if (doc->nodes[object].type != TB__OBJECT)
        return tb__fault_at(w->fault, "rates", object, "an object of months and rates");
    for (uint32_t key = object + 1; key != doc->nodes[object].next;
         key = doc->nodes[key + 1].next) {
        int64_t month;
        if (!tb_month_parse(doc->nodes[key].text, doc->nodes[key].len, &month))
            return fault_at_key(&inner, key, "a month such as 2026-10");
        if (!read_month_rates(&inner, key, month)) return false;
    }
    w->seller->rates = object;
    return true;
}

bool tb__declared_rate(const tb__document *doc, const tb__said_seller *seller, int64_t month,
                       const char *of, tb_decimal *ret)
{
    char name[8];
    tb_month_format(month, name);
    uint32_t at = seller->rates ? tb__declared_member(doc, seller->rates, name) : 0;
    if (at && doc->nodes[at].type == TB__OBJECT) at = tb__declared_member(doc, at, of);
    return at && tb__node_decimal(&doc->nodes[at], RATE_SCALE, ret);
}

/* The first month with a rate without currency, or 0. */
static uint32_t find_plain_rate(const tb__document *doc, uint32_t seller)
{
    const uint32_t rates = tb__declared_member(doc, seller, "rates");
    if (!rates) return 0;
    for (uint32_t key = rates + 1; key != doc->nodes[rates].next; key = doc->nodes[key + 1].next)
        if (doc->nodes[key + 1].type != TB__OBJECT) return key;
    return 0;
}

static bool have_several_currencies(const tb__document *doc, uint32_t accounts, const tb__node *tax)
{
    char first[4] = "";
    for (uint32_t at = accounts + 1; at != doc->nodes[accounts].next; at = doc->nodes[at].next) {
        char own[4] = "USD";
        tb__fault ignored;
        const uint32_t said = tb__declared_member(doc, at, "currency");
        if (said && !tb__declared_currency(doc, said, own, &ignored)) continue;
        if (tb__node_is(tax, own, 3)) continue;
        if (first[0] && strcmp(first, own) != 0) return true;
        memcpy(first, own, sizeof first);
    }
    return false;
}

bool tb__declared_rates_clear(const tb__document *doc, tb__fault *fault)
{
    const walk w = {.doc = doc, .fault = fault, .group = "rates"};
    const uint32_t seller = tb__declared_member(doc, 0, "seller");
    const uint32_t accounts = tb__declared_member(doc, 0, "accounts");
    const uint32_t plain = seller ? find_plain_rate(doc, seller) : 0;
    if (!plain || !accounts) return true;
    const tb__node *tax = &doc->nodes[tb__declared_member(doc, seller, "tax_currency")];
    return !have_several_currencies(doc, accounts, tax) ||
           fault_at_key(&w, plain,
                        "an object such as {\"USD\": \"0.92\", \"CHF\": \"0.95\"}, for the accounts"
                        " have more than one currency");
}

/* *ret_known: it is one of the two. */
static bool read_own(const walk *w, uint32_t key, bool *ret_known)
{
    const tb__node *name = &w->doc->nodes[key];
    *ret_known = false;
    if (!w->seller || w->group[0]) return true;
    *ret_known = true;
    if (tb__node_is(name, "rates", 5)) return read_rates(w, key + 1);
    if (!tb__node_is(name, "terms_days", 10)) {
        *ret_known = false;
        return true;
    }
    if (tb__declared_terms(w->doc, key + 1, &w->seller->terms_days, w->fault)) return true;
    return tb__fault_at(w->fault, "terms_days", key + 1, w->fault->wanted);
}

/* --- the walk --- */

static bool read_members(walk *w, uint32_t object)
{
    const tb__document *doc = w->doc;
    for (uint32_t key = object + 1; key != doc->nodes[object].next;
         key = doc->nodes[key + 1].next) {
        bool known = false, group = false;
        if (!read_own(w, key, &known)) return false;
        if (known) continue;
        const tb_party_field field = find_field(w, &doc->nodes[key], &group);
        if (field == TB_PARTY_FIELDS) return fault_at_key(w, key, NULL);
        if (group ? !read_group(w, key, field) : !read_text(w, field, key + 1)) return false;
    }
    return true;
}

/* Fields that each party must have; and pairs of which the first is useless without the second. */
static const struct {
    tb_party_field field;
    const char *wanted[2]; /* by role */
} required[] = {
    {TB_PARTY_NAME, {"given: who sells (BT-27)", "given: who buys (BT-44)"}},
    {TB_PARTY_COUNTRY,
     {"given: the country's two letters (BT-40)", "given: the country's two letters (BT-55)"}},
};
static const struct {
    tb_party_field one, other;
    const char *wanted;
} pairs[] = {
    {TB_PARTY_ENDPOINT_ID, TB_PARTY_ENDPOINT_SCHEME, "given beside endpoint.id"},
    {TB_PARTY_ENDPOINT_SCHEME, TB_PARTY_ENDPOINT_ID, "given beside endpoint.scheme"},
    {TB_PARTY_REGISTRATION_SCHEME, TB_PARTY_REGISTRATION_ID, "given beside registration_scheme"},
};

static bool check_party(const walk *w, uint32_t object)
{
    const uint32_t *field = w->party->field;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!field[required[i].field])
            return tb__fault_at(w->fault, tb_party_path(required[i].field), object,
                            required[i].wanted[w->role]);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (field[pairs[i].one] && !field[pairs[i].other])
            return tb__fault_at(w->fault, tb_party_path(pairs[i].other), object, pairs[i].wanted);
    return true;
}

static bool read_party(walk *w, uint32_t value)
{
    memset(w->party, 0, sizeof *w->party);
    w->group = "";
    if (w->doc->nodes[value].type != TB__OBJECT) return tb__fault_at(w->fault, "", value, "an object");
    return read_members(w, value) && check_party(w, value);
}

bool tb__declared_buyer(const tb__document *doc, uint32_t value, tb__said_party *ret,
                        tb__fault *fault)
{
    walk w = {.doc = doc, .role = TB_BUYER, .party = ret, .fault = fault};
    return read_party(&w, value);
}

bool tb__declared_seller(const tb__document *doc, uint32_t value, tb__said_seller *ret,
                         tb__fault *fault)
{
    walk w = {.doc = doc, .role = TB_SELLER, .party = &ret->party, .seller = ret, .fault = fault};
    ret->rates = 0;
    ret->terms_days = TB__TERMS_DAYS;
    if (!read_party(&w, value)) return false;
    return !ret->rates || ret->party.field[TB_PARTY_TAX_CURRENCY] ||
           tb__fault_at(fault, "tax_currency", value, "given beside rates");
}

/* --- labels --- */

bool tb__declared_labels(const tb__document *doc, uint32_t value, tb__fault *fault)
{
    const walk w = {.doc = doc, .fault = fault, .group = ""};
    const tb__node *object = &doc->nodes[value];
    if (object->type != TB__OBJECT || object->len > TB__LABELS_MAX)
        return tb__fault_at(fault, "", value, "an object of at most 50 labels");
    for (uint32_t key = value + 1; key != object->next; key = doc->nodes[key + 1].next) {
        const tb__node *name = &doc->nodes[key], *said = &doc->nodes[key + 1];
        if (name->len < 1 || name->len > TB__LABEL_NAME_MAX || !tb__node_plain(name))
            return fault_at_key(&w, key,
                                "a label with a name of 1 to 128 bytes without control characters");
        if (said->type != TB__STRING || said->len > TB__LABEL_VALUE_MAX || !tb__node_plain(said))
            return fault_at_key(&w, key, "a string of 0 to 255 bytes without control characters");
    }
    return true;
}
