/* Entries of the ledger as values. */
#ifndef TOLLBOOK_ENTRY_H
#define TOLLBOOK_ENTRY_H

#include "tollbook/decimal.h"
#include "tollbook/invoice.h"

TB_API_BEGIN

/* X(name, text): the kind of an entry, and the sign of its amount.
 *
 *   invoice         - the total of a final invoice; voiding reverses it; reference: its number
 *   credit_note     + the total of a credit note; voiding reverses it
 *   payment         + a payment; document: the invoice that it is for, "": the earliest due first
 *   adjustment      + or -, a correction by an operator, or an opening balance (below)
 *   usage           - (or +) the total of a prepaid account's running month at the end of a day, less the
 *                   month's earlier entries
 *   usage_reversal  + the sum of a month's usage entries, when its invoice replaces them
 *   credit          + granted credit; expires: its last day, "": never
 *   credit_drawn    a pair of entries with sum 0: - what an invoice draws from a credit, + for the invoice
 *                   (document). Voiding adds the pair again with the signs turned.
 *   credit_expired  - the unused part of a credit past its last day */
#define TB_LEDGER_KINDS(X)                                                                         \
    X(INVOICE, "invoice")                                                                          \
    X(VOID, "void")                                                                                \
    X(CREDIT_NOTE, "credit_note")                                                                  \
    X(PAYMENT, "payment")                                                                          \
    X(ADJUSTMENT, "adjustment")                                                                    \
    X(USAGE, "usage")                                                                              \
    X(USAGE_REVERSAL, "usage_reversal")                                                            \
    X(CREDIT, "credit")                                                                            \
    X(CREDIT_DRAWN, "credit_drawn")                                                                \
    X(CREDIT_EXPIRED, "credit_expired")
typedef enum tb_ledger_kind {
#define TB_X(e, name) TB_LEDGER_##e,
    TB_LEDGER_KINDS(TB_X)
#undef TB_X
        TB_LEDGER_KIND_COUNT
} tb_ledger_kind;

const char *tb_ledger_kind_name(tb_ledger_kind kind);
/* TB_LEDGER_KIND_COUNT: no such name. */
tb_ledger_kind tb_ledger_kind_of(const char *name);

/* amount: the change of the account's balance (payments positive, invoices negative). */
typedef struct tb_ledger_entry {
    int64_t id, account, at_us;
    tb_ledger_kind kind;
    char currency[4];
    tb_decimal amount;
    char reference[64]; /* invoice number, payment id */
    char note[128];
    char document[24]; /* the invoice that it concerns, where the kind has one; else "" */
    char expires[11];  /* a credit's last day, UTC, "2026-12-31"; the due day of an opening balance; else "" */
} tb_ledger_entry;

/* Opening balances, the debts and balances of accounts at the ledger's begin, are adjustments. Their document is one of
 * these words in place of an invoice's number: entered, and reversed. All balances of an account are reversed together,
 * so only those after the last TB_OPENING_BACK count. */
#define TB_OPENING      "opening"
#define TB_OPENING_BACK "opening/back"
bool tb_ledger_is_opening(const tb_ledger_entry *entry); /* either */
/* The id of the last reversal of an opening balance among one account's entries; 0: none. */
int64_t tb_ledger_opening_back(const tb_ledger_entry *entries, size_t n);
/* Its name as shown: its kind's name, or "opening_balance". */
const char *tb_ledger_entry_name(const tb_ledger_entry *entry);

/* The general ledger as lines of double entry. Pure. An entry's lines are added one by one, by what they add to an
 * account of the ledger: debits above zero, credits below. The lines of an entry sum to zero. */

#define TB_PRODUCT_CODES_MAX 16
/* What was sold of a kind under a ledger code of its own. */
typedef struct tb_product_code {
    tb_line_kind kind;
    char code[TB_LEDGER_CODE_ROOM];
    tb_decimal sum;
} tb_product_code;
/* Sums of net lines by what was sold: index tb_line_kind; a correction counts as what it corrects, a meter's minimum as the
 * meter. Lines of a meter with a ledger code of its own are in `own` instead. */
typedef struct tb_products {
    tb_decimal sum[TB_LINE_KIND_COUNT];
    tb_product_code own[TB_PRODUCT_CODES_MAX]; /* ascending by kind and code */
    size_t n_own;
} tb_products;
/* Adds an amount of a kind. code: of its own; "" or NULL: none. TB_E_TOO_LARGE past TB_PRODUCT_CODES_MAX. */
TB_MUST_USE tb_code tb_products_add_amount(tb_products *products, tb_line_kind kind, const char *code, tb_decimal amount,
                                           tb_error *err);
/* Adds the other's amounts, times 1 or -1. */
TB_MUST_USE tb_code tb_products_join(tb_products *products, const tb_products *more, int sign, tb_error *err);
bool tb_products_any(const tb_products *products);
/* Adds a statement's lines, or one of them (counted from 0). */
TB_MUST_USE tb_code tb_products_add(tb_products *products, const tb_statement *statement, tb_error *err);
TB_MUST_USE tb_code tb_products_add_line(tb_products *products, const tb_statement *statement,
                                         size_t line, tb_error *err);
TB_MUST_USE tb_code tb_products_total(const tb_products *products, tb_decimal *ret_total,
                                      tb_error *err);

/* The codes of the ledger's accounts, from a price book. */
typedef struct tb_journal_codes {
    char code[TB_BOOK_ACCOUNT_COUNT][TB_LEDGER_CODE_ROOM];
} tb_journal_codes;
/* book NULL: the default codes. */
void tb_journal_codes_of(const tb_book *book, tb_journal_codes *ret_codes);

/* The common columns of an entry's lines. */
typedef struct tb_journal_entry {
    int64_t day; /* since January 1970, UTC */
    const char *id, *document, *currency;
    int64_t account; /* the customer */
    const tb_journal_codes *codes;
} tb_journal_entry;

/* The head of the CSV: date,entry,account_code,account_name,account,document,description,debit,credit,
 * currency. */
void tb_journal_head(tb_buf *out);
/* A line; none where the amount is 0. */
void tb_journal_line(tb_buf *out, const tb_journal_entry *entry, tb_book_account account,
                     tb_decimal amount, const char *description);
/* Revenue by product. `what` follows the product's name in the description; sign is 1 or -1. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_journal_products(tb_buf *out, const tb_journal_entry *entry,
                                        const tb_products *products, int sign, const char *what,
                                        tb_error *err);

TB_API_END

#endif
