/* The seller and the buyer: the parties of an invoice, as the catalogue declares them and as the
 * canonical invoice keeps them. The fields are one table; each is text. Terms (BT) are those of
 * EN 16931, the European norm for invoices. */
#ifndef TOLLBOOK_PARTY_H
#define TOLLBOOK_PARTY_H

#include <stddef.h>

#include "tollbook/api.h"

TB_API_BEGIN

/* X(name, path in the party's object, most bytes, seller's term, buyer's term). A NULL term: that
 * party does not have the field. "" : it has it, and the norm has no term for it. In the order in
 * which sorted keys stand in the canonical text. */
#define TB_PARTY_TABLE(X)                                                                          \
    X(CITY, "city", 255, "BT-37", "BT-52")                                                         \
    X(CONTACT_EMAIL, "contact.email", 255, "BT-43", "BT-58")                                       \
    X(CONTACT_NAME, "contact.name", 255, "BT-41", "BT-56")                                         \
    X(CONTACT_PHONE, "contact.phone", 64, "BT-42", "BT-57")                                        \
    X(COUNTRY, "country", 2, "BT-40", "BT-55")                                                     \
    X(DELIVERY_CITY, "delivery.city", 255, NULL, "BT-77")                                          \
    X(DELIVERY_COUNTRY, "delivery.country", 2, NULL, "BT-80")                                      \
    X(DELIVERY_POSTAL_CODE, "delivery.postal_code", 32, NULL, "BT-78")                             \
    X(ENDPOINT_ID, "endpoint.id", 255, "BT-34", "BT-49")                                           \
    X(ENDPOINT_SCHEME, "endpoint.scheme", 4, "BT-34-1", "BT-49-1")                                 \
    X(LANGUAGE, "language", 2, NULL, "")                                                           \
    X(LEGAL_INFO, "legal_info", 1000, "BT-33", "")                                                 \
    X(NAME, "name", 255, "BT-27", "BT-44")                                                         \
    X(NOTE, "note", 1000, "BT-22", NULL)                                                           \
    X(PAYMENT_ACCOUNT_NAME, "payment.account_name", 255, "BT-85", NULL)                            \
    X(PAYMENT_BIC, "payment.bic", 11, "BT-86", NULL)                                               \
    X(PAYMENT_IBAN, "payment.iban", 34, "BT-84", NULL)                                             \
    X(PAYMENT_MEANS, "payment.means", 3, "BT-81", NULL)                                            \
    X(POSTAL_CODE, "postal_code", 32, "BT-38", "BT-53")                                            \
    X(REFERENCE, "reference", 255, NULL, "BT-10")                                                  \
    X(REGISTRATION_ID, "registration_id", 255, "BT-30", "BT-47")                                   \
    X(REGISTRATION_SCHEME, "registration_scheme", 4, "BT-30-1", "BT-47-1")                         \
    X(STREET, "street", 255, "BT-35", "BT-50")                                                     \
    X(STREET2, "street2", 255, "BT-36", "BT-51")                                                   \
    X(SUBDIVISION, "subdivision", 255, "BT-39", "BT-54")                                           \
    X(TAX_CURRENCY, "tax_currency", 3, "BT-6", NULL)                                               \
    X(TAX_ID, "tax_id", 255, "BT-32", "")                                                          \
    X(TAX_RATE, "tax_rate", 40, "", NULL)                                                          \
    X(TRADING_NAME, "trading_name", 255, "BT-28", "BT-45")                                         \
    X(VAT_ID, "vat_id", 255, "BT-31", "BT-48")

typedef enum tb_party_field {
#define TB_X(e, path, most, seller, buyer) TB_PARTY_##e,
    TB_PARTY_TABLE(TB_X)
#undef TB_X
        TB_PARTY_FIELDS
} tb_party_field;

typedef enum tb_party_role { TB_SELLER, TB_BUYER } tb_party_role;

/* tax_currency and tax_rate: the tax is shown in that currency too, which is worth tax_rate units of
 * it for one of the invoice's currency, in the month that is invoiced. */
typedef struct tb_party {
    const char *text[TB_PARTY_FIELDS]; /* NULL: not declared; never "" */
} tb_party;

/* "contact.name". Static. */
const char *tb_party_path(tb_party_field field);
/* "BT-41"; NULL where the party does not have the field. Static. */
const char *tb_party_term(tb_party_role role, tb_party_field field);
/* The longest value, bytes. */
size_t tb_party_most(tb_party_field field);
/* The value, "" where it is not declared or party is NULL. */
const char *tb_party_text(const tb_party *party, tb_party_field field);

TB_API_END

#endif
