/* The declared parties of an invoice: the seller, an account's buyer, their terms of payment, and labels. They are
 * read in one place, as in declared.h: a new catalogue with an invalid party is refused, and invoices use the same
 * functions. The fields are those of tollbook/party.h. */
#ifndef TOLLBOOK_MODEL_PARTIES_H
#define TOLLBOOK_MODEL_PARTIES_H

#include "model/declared.h"
#include "tollbook/party.h"

/* The nodes of the declared fields; 0: not declared. */
typedef struct tb__said_party {
    uint32_t field[TB_PARTY_FIELDS];
} tb__said_party;

typedef struct tb__said_seller {
    tb__said_party party; /* but for TAX_RATE, which is the month's of `rates` */
    uint32_t rates;
    int terms_days;
} tb__said_seller;

#define TB__TERMS_DAYS     14 /* a seller's default */
#define TB__TERMS_DAYS_MAX 365
#define TB__PAYMENT_MEANS  "58" /* SEPA credit transfer, the default of payment.means */

/* `seller` at the top of a catalogue; an account's `buyer`. An unknown key is a fault with `wanted` NULL. */
bool tb__declared_seller(const tb__document *doc, uint32_t value, tb__said_seller *ret,
                         tb__fault *fault);
bool tb__declared_buyer(const tb__document *doc, uint32_t value, tb__said_party *ret,
                        tb__fault *fault);

/* An account's `terms_days`. */
bool tb__declared_terms(const tb__document *doc, uint32_t value, int *ret, tb__fault *fault);

/* The value of one unit of an invoice's currency, `of`, in the seller's tax currency in a month. false: the rates,
 * which were read before, have none. */
bool tb__declared_rate(const tb__document *doc, const tb__said_seller *seller, int64_t month,
                       const char *of, tb_decimal *ret);

/* Of a whole valid catalogue: whether the currency of each rate is clear. A rate without a currency is clear if the
 * accounts have at most one currency beside the tax currency. The fault's path is within the seller. */
bool tb__declared_rates_clear(const tb__document *doc, tb__fault *fault);

#define TB__LABELS_MAX      50
#define TB__LABEL_NAME_MAX  128 /* bytes */
#define TB__LABEL_VALUE_MAX 255
/* `labels`: an object of strings. */
bool tb__declared_labels(const tb__document *doc, uint32_t value, tb__fault *fault);

#endif
