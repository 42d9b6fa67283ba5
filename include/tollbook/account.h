/* An account's statement: what was charged and paid from one day to another, with the balance before
 * and after it. Pure: tb_account_read
 * (ledger.h) reads one from a store. */
#ifndef TOLLBOOK_ACCOUNT_H
#define TOLLBOOK_ACCOUNT_H

#include "tollbook/print.h"

TB_API_BEGIN

typedef struct tb_account_entry {
    int64_t at_us;
    const char *kind;    /* as tb_ledger_entry_name */
    tb_decimal amount;   /* what it adds to the balance: invoices are negative */
    tb_decimal balance;  /* behind it */
    const char *reference, *note; /* the invoice's number, the payment's name; "": none */
    const char *expires; /* a credit's last day, "2026-12-31"; NULL or "": none */
    tb_decimal drawn;    /* of kind credit_drawn, whose amount is 0: what the invoice took of credit; below
                            zero: what it gave back */
} tb_account_entry;

typedef struct tb_account_statement {
    int64_t account;
    const char *name;      /* of the account; NULL: not known */
    char currency[4];      /* of the entries; without any the declared one of the last month */
    int minor_digits;      /* of the currency */
    int64_t first, last;   /* days since January 1970, UTC, both included */
    tb_decimal opening, closing;
    const tb_account_entry *entries; /* as they were entered */
    size_t n;
    const tb_party *seller, *buyer; /* NULL: not declared */
} tb_account_statement;

/* Appends it as JSON: {"account","name","currency","from","to","opening","closing","entries":[{"time",
 * "kind","amount","balance","reference","note"}]}, amounts as decimal text. A credit has "expires", what
 * was drawn of one "drawn" beside. */
void tb_account_json(const tb_account_statement *statement, tb_buf *out);
/* As CSV: a row for the opening balance, one an entry, and the closing balance. */
void tb_account_csv(const tb_account_statement *statement, tb_buf *out);

/* A whole page, and a whole PDF, as print.h's. */
TB_MUST_USE tb_code tb_account_html(const tb_account_statement *statement,
                                    const tb_print_options *options, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_account_pdf(const tb_account_statement *statement,
                                   const tb_print_options *options, tb_buf *out, tb_error *err);

TB_API_END

#endif
