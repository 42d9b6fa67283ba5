/* One-off charges: amounts that were agreed on once, each billed on the document of its month. */
#ifndef TOLLBOOK_CHARGESTORE_H
#define TOLLBOOK_CHARGESTORE_H

#include "tollbook/decimal.h"
#include "tollbook/store.h"

TB_API_BEGIN

#define TB_CHARGE_DESCRIPTION_MAX 200 /* bytes */
#define TB_CHARGE_REFERENCE_MAX   64
#define TB_CHARGES_DUE_MAX        1000 /* charges of an account that wait for a document */

/* Amounts have the currency's digits. A charge below zero is a credit: it reduces documents, and what they cannot bear
 * waits for the next ones. */
typedef struct tb_one_off {
    int64_t id, account, month;
    tb_decimal amount, due; /* due: the part that no valid document has billed */
    char currency[4];
    char description[TB_CHARGE_DESCRIPTION_MAX + 1];
    char reference[TB_CHARGE_REFERENCE_MAX + 1]; /* "": none; else it names the charge within its account */
    char tax_category[3]; /* Z, E, AE, K, G or O: charged without tax; "": the account's taxes */
    int64_t added_us;
    char invoice[24]; /* the newest valid one that billed a part of it; "": none */
} tb_one_off;

/* Adds a charge in the caller's transaction; sets id, currency, due. In: account, month, amount, description, reference,
 * tax_category, added_us. Where the account has one of this reference, sets *ret_known and *charge to it, and changes nothing.
 * TB_E_VALIDATION: another charge has the reference; an amount of zero, too large, or finer than the currency's smallest
 * unit; the month's invoice is final; TB_CHARGES_DUE_MAX. TB_E_NOT_FOUND: no such account. TB_E_CLOSED: the month lies
 * before the ledger's begin. */
TB_MUST_USE tb_code tb_store_charge_add(tb_store *store, tb_one_off *charge, bool *ret_known, tb_error *err);
/* TB_E_NOT_FOUND: no such charge. TB_E_VALIDATION: a valid invoice has billed it. */
TB_MUST_USE tb_code tb_store_charge_drop(tb_store *store, int64_t id, tb_error *err);
/* account 0: all. Without dropped ones, ascending by id. free(). */
TB_MUST_USE tb_code tb_store_charges(tb_store *store, int64_t account, tb_one_off **ret_list, size_t *ret_n, tb_error *err);
/* What the account's document of a month would bill: charges of the month, and of earlier months that were run. free(). */
TB_MUST_USE tb_code tb_store_charges_due(tb_store *store, int64_t account, int64_t month, tb_one_off **ret_list,
                                         size_t *ret_n, tb_error *err);
/* What an invoice billed; `due` is the part on it. free(). */
TB_MUST_USE tb_code tb_store_charges_billed(tb_store *store, const char *number, tb_one_off **ret_list, size_t *ret_n,
                                            tb_error *err);
/* Accounts with anything for tb_store_charges_due, ascending. free(). */
TB_MUST_USE tb_code tb_store_charged_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                                              tb_error *err);

TB_API_END

#endif
