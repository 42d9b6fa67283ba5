/* Seller and buyer, place of delivery, payment. Elements are in the order of UBL's schema; empty groups are left
 * out. */
#include "ubl/draft.h"

#include <string.h>

static const char *field_of(const tb__ubl *u, tb_party_role role, tb_party_field field)
{
    return tb_party_text(role == TB_SELLER ? u->s->seller : u->s->buyer, field);
}

/* One party, while it is written. */
typedef struct side {
    tb__ubl *u;
    tb_party_role role;
} side;

static const char *field_said(const side *p, tb_party_field field)
{
    return field_of(p->u, p->role, field);
}

static bool is_said(const side *p, tb_party_field field)
{
    return !tb__xml_is_blank(field_said(p, field));
}

static void put_field(const side *p, const char *element, tb_party_field field)
{
    tb__xml_text(&p->u->xml, element, field_said(p, field));
}

static void put_coded(const side *p, const char *element, tb_party_field field,
                      tb_party_field scheme)
{
    tb__xml *x = &p->u->xml;
    if (!is_said(p, field)) return;
    tb__xml_open(x, element);
    tb__xml_attribute(x, "schemeID", field_said(p, scheme));
    tb__xml_words(x, field_said(p, field));
    tb__xml_close(x);
}

static void put_country(tb__xml *x, const char *code)
{
    if (tb__xml_is_blank(code)) return;
    tb__xml_open(x, "cac:Country");
    tb__xml_text(x, "cbc:IdentificationCode", code);
    tb__xml_close(x);
}

static void put_address(const side *p)
{
    tb__xml *x = &p->u->xml;
    tb__xml_open(x, "cac:PostalAddress");
    put_field(p, "cbc:StreetName", TB_PARTY_STREET);
    put_field(p, "cbc:AdditionalStreetName", TB_PARTY_STREET2);
    put_field(p, "cbc:CityName", TB_PARTY_CITY);
    put_field(p, "cbc:PostalZone", TB_PARTY_POSTAL_CODE);
    put_field(p, "cbc:CountrySubentity", TB_PARTY_SUBDIVISION);
    put_country(x, field_said(p, TB_PARTY_COUNTRY));
    tb__xml_close(x);
}

static void put_tax_scheme(const side *p, tb_party_field field, const char *scheme)
{
    tb__xml *x = &p->u->xml;
    if (!is_said(p, field)) return;
    tb__xml_open(x, "cac:PartyTaxScheme");
    put_field(p, "cbc:CompanyID", field);
    tb__xml_open(x, "cac:TaxScheme");
    tb__xml_text(x, "cbc:ID", scheme);
    tb__xml_close(x);
    tb__xml_close(x);
}

/* What is not subject to VAT shows no VAT ids. The buyer's tax_id has no place in the norm. */
static void put_tax_ids(const side *p)
{
    const bool untouched = strcmp(tb_tax_category(&p->u->s->bill->tax[0].rate), "O") == 0;
    if (!untouched) put_tax_scheme(p, TB_PARTY_VAT_ID, "VAT");
    if (p->role == TB_SELLER)
        put_tax_scheme(p, TB_PARTY_TAX_ID, p->u->profile == TB_UBL_XRECHNUNG ? "FC" : "TAX");
}

static void put_entity(const side *p)
{
    tb__xml *x = &p->u->xml;
    tb__xml_open(x, "cac:PartyLegalEntity");
    put_field(p, "cbc:RegistrationName", TB_PARTY_NAME);
    put_coded(p, "cbc:CompanyID", TB_PARTY_REGISTRATION_ID, TB_PARTY_REGISTRATION_SCHEME);
    if (p->role == TB_SELLER) put_field(p, "cbc:CompanyLegalForm", TB_PARTY_LEGAL_INFO);
    tb__xml_close(x);
}

static void put_contact(const side *p)
{
    tb__xml *x = &p->u->xml;
    if (!is_said(p, TB_PARTY_CONTACT_NAME) && !is_said(p, TB_PARTY_CONTACT_PHONE) &&
        !is_said(p, TB_PARTY_CONTACT_EMAIL))
        return;
    tb__xml_open(x, "cac:Contact");
    put_field(p, "cbc:Name", TB_PARTY_CONTACT_NAME);
    put_field(p, "cbc:Telephone", TB_PARTY_CONTACT_PHONE);
    put_field(p, "cbc:ElectronicMail", TB_PARTY_CONTACT_EMAIL);
    tb__xml_close(x);
}

static void put_party(tb__ubl *u, tb_party_role role, const char *element)
{
    const side p = {u, role};
    tb__xml_open(&u->xml, element);
    tb__xml_open(&u->xml, "cac:Party");
    put_coded(&p, "cbc:EndpointID", TB_PARTY_ENDPOINT_ID, TB_PARTY_ENDPOINT_SCHEME);
    if (is_said(&p, TB_PARTY_TRADING_NAME)) {
        tb__xml_open(&u->xml, "cac:PartyName");
        put_field(&p, "cbc:Name", TB_PARTY_TRADING_NAME);
        tb__xml_close(&u->xml);
    }
    put_address(&p);
    put_tax_ids(&p);
    put_entity(&p);
    put_contact(&p);
    tb__xml_close(&u->xml);
    tb__xml_close(&u->xml);
}

void tb__ubl_parties(tb__ubl *u)
{
    put_party(u, TB_SELLER, "cac:AccountingSupplierParty");
    put_party(u, TB_BUYER, "cac:AccountingCustomerParty");
}

/* --- delivery --- */

static bool has_category(const tb_bill *bill, const char *category)
{
    for (size_t i = 0; i < bill->n_tax; i++)
        if (strcmp(tb_tax_category(&bill->tax[i].rate), category) == 0) return true;
    return false;
}

/* Within the Union the invoice says where it was delivered: as declared, else the buyer's own
 * address; never a mixture of both. */
void tb__ubl_delivery(tb__ubl *u)
{
    static const tb_party_field own[] = {TB_PARTY_CITY, TB_PARTY_POSTAL_CODE, TB_PARTY_COUNTRY};
    static const tb_party_field declared[] = {TB_PARTY_DELIVERY_CITY, TB_PARTY_DELIVERY_POSTAL_CODE,
                                              TB_PARTY_DELIVERY_COUNTRY};
    const side p = {u, TB_BUYER};
    bool is_declared = false;
    if (!has_category(u->s->bill, "K")) return;
    for (size_t i = 0; i < 3; i++)
        is_declared |= is_said(&p, declared[i]);
    const tb_party_field *fields = is_declared ? declared : own;
    tb__xml_open(&u->xml, "cac:Delivery");
    tb__xml_open(&u->xml, "cac:DeliveryLocation");
    tb__xml_open(&u->xml, "cac:Address");
    put_field(&p, "cbc:CityName", fields[0]);
    put_field(&p, "cbc:PostalZone", fields[1]);
    put_country(&u->xml, field_said(&p, fields[2]));
    tb__xml_close(&u->xml);
    tb__xml_close(&u->xml);
    tb__xml_close(&u->xml);
}

/* --- payment --- */

static void put_bank(const side *p)
{
    tb__xml *x = &p->u->xml;
    if (!is_said(p, TB_PARTY_PAYMENT_IBAN)) return;
    tb__xml_open(x, "cac:PayeeFinancialAccount");
    put_field(p, "cbc:ID", TB_PARTY_PAYMENT_IBAN);
    put_field(p, "cbc:Name", TB_PARTY_PAYMENT_ACCOUNT_NAME);
    if (is_said(p, TB_PARTY_PAYMENT_BIC)) {
        tb__xml_open(x, "cac:FinancialInstitutionBranch");
        put_field(p, "cbc:ID", TB_PARTY_PAYMENT_BIC);
        tb__xml_close(x);
    }
    tb__xml_close(x);
}

/* Without means and account the group is left out. */
static void put_means(const side *p)
{
    tb__xml *x = &p->u->xml;
    const bool is_declared = is_said(p, TB_PARTY_PAYMENT_MEANS);
    if (!is_declared && !is_said(p, TB_PARTY_PAYMENT_IBAN)) return;
    tb__xml_open(x, "cac:PaymentMeans");
    tb__xml_text(x, "cbc:PaymentMeansCode",
                 is_declared ? field_said(p, TB_PARTY_PAYMENT_MEANS) : "58");
    tb__xml_text(x, "cbc:PaymentID", p->u->s->number);
    put_bank(p);
    tb__xml_close(x);
}

/* A sentence in the buyer's language. */
static void put_terms(tb__ubl *u)
{
    const bool german = strcmp(field_of(u, TB_BUYER, TB_PARTY_LANGUAGE), "de") == 0;
    if (u->credit)
        tb_buf_str(&u->words, german ? "Der Betrag wird dem Kundenkonto gutgeschrieben."
                                     : "The amount is credited to the account.");
    else if (u->s->due[0])
        tb_buf_fmt(&u->words, german ? "Zahlbar bis %s." : "Payable by %s.", u->s->due);
    const char *words = tb__ubl_words(u);
    if (!*words) return;
    tb__xml_open(&u->xml, "cac:PaymentTerms");
    tb__xml_text(&u->xml, "cbc:Note", words);
    tb__xml_close(&u->xml);
}

void tb__ubl_payment(tb__ubl *u)
{
    const side seller = {u, TB_SELLER};
    put_means(&seller);
    put_terms(u);
}
