/* The parties of an account's documents and the names of what they bill, as the catalogue declares
 * them. */
#ifndef TOLLBOOK_PARTYSTORE_H
#define TOLLBOOK_PARTYSTORE_H

#include "tollbook/invoice.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* Who sells to an account, who buys, and when it has to be paid. */
typedef struct tb_parties {
    bool has_seller, has_buyer;
    tb_party seller, buyer; /* where they are declared; their texts lie in `memory` */
    int terms_days;         /* from the day of issue on; -1: nothing is agreed */
    char tax_category[3]; /* of the account's tax, where it charges none: E, AE, K, G, O; else "" */
    const char *tax_reason, *tax_reason_code; /* then; NULL: not given */
    void *memory;
} tb_parties;

/* As declared now, for a document about `month` in `currency`. The buyer is the account's last one
 * where the account is deleted. The seller has tax_currency where that is another currency than the
 * document's, and tax_rate where the month has one of the document's currency. payment.means has
 * its usual value beside an IBAN. TB_E_NOT_FOUND: no such account. Release on success. */
TB_MUST_USE tb_code tb_store_parties(tb_store *store, int64_t account, int64_t month,
                                     const char currency[4], tb_parties *ret_parties,
                                     tb_error *err);
void tb_parties_release(tb_parties *parties);

/* What the account and all zones that it ever had were called at a moment, with their labels; a
 * thing that was declared later has its first name. TB_E_NOT_FOUND: no such account. Release on
 * success. */
TB_MUST_USE tb_code tb_store_invoice_names(tb_store *store, int64_t account, int64_t at_us,
                                           tb_invoice_names *ret_names, tb_error *err);
void tb_invoice_names_release(tb_invoice_names *names);

TB_API_END

#endif
