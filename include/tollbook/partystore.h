/* The parties of an account's documents and the names of the billed objects, as the catalogue declares them. */
#ifndef TOLLBOOK_PARTYSTORE_H
#define TOLLBOOK_PARTYSTORE_H

#include "tollbook/invoice.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* The seller and buyer of an account's documents, and the payment terms. */
typedef struct tb_parties {
    bool has_seller, has_buyer;
    tb_party seller, buyer; /* if they are declared; their texts are in `memory` */
    int terms_days;         /* from the day of issue on; -1: not agreed */
    char tax_category[3]; /* of the account's tax, where it charges none: E, AE, K, G, O; else "" */
    const char *tax_reason, *tax_reason_code; /* of that category; NULL: not given */
    void *memory;
} tb_parties;

/* As declared now, for a document about `month` in `currency`. Of a deleted account the last buyer is used. The
 * seller has tax_currency if it differs from the document's currency, and tax_rate if the month has a rate for the
 * document's currency. payment.means has its usual value beside an IBAN. TB_E_NOT_FOUND: no such account. Release on
 * success. */
TB_MUST_USE tb_code tb_store_parties(tb_store *store, int64_t account, int64_t month,
                                     const char currency[4], tb_parties *ret_parties,
                                     tb_error *err);
void tb_parties_release(tb_parties *parties);

/* The names and labels of the account and all zones that it ever had, as of a moment; an object that was declared later
 * has its first name. TB_E_NOT_FOUND: no such account. Release on success. */
TB_MUST_USE tb_code tb_store_invoice_names(tb_store *store, int64_t account, int64_t at_us,
                                           tb_invoice_names *ret_names, tb_error *err);
void tb_invoice_names_release(tb_invoice_names *names);

TB_API_END

#endif
