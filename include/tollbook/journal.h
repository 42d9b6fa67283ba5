/* The general ledger as lines of double entry: pure. An entry's lines are added one by one, by what they
 * add to an account of the ledger: debits above zero, credits below. Those of an entry sum to zero. */
#ifndef TOLLBOOK_JOURNAL_H
#define TOLLBOOK_JOURNAL_H

#include "tollbook/entry.h"
#include "tollbook/invoice.h"

TB_API_BEGIN

/* Sums of net lines by what was sold: index tb_line_kind; a correction counts as what it corrects. */
typedef struct tb_products {
    tb_decimal sum[TB_LINE_KIND_COUNT];
} tb_products;
/* Adds a statement's lines, or one of them (counted from 0). */
TB_MUST_USE tb_code tb_products_add(tb_products *products, const tb_statement *statement, tb_error *err);
TB_MUST_USE tb_code tb_products_add_line(tb_products *products, const tb_statement *statement,
                                         size_t line, tb_error *err);
TB_MUST_USE tb_code tb_products_total(const tb_products *products, tb_decimal *ret_total,
                                      tb_error *err);

/* The codes of accounts, those of a book. */
typedef struct tb_journal_codes {
    char code[TB_BOOK_ACCOUNT_COUNT][TB_LEDGER_CODE_ROOM];
} tb_journal_codes;
/* book NULL: those without one. */
void tb_journal_codes_of(const tb_book *book, tb_journal_codes *ret_codes);

/* What the lines of an entry share. */
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
/* Revenue by product. what is described behind the product's name; sign is 1 or -1. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_journal_products(tb_buf *out, const tb_journal_entry *entry,
                                        const tb_products *products, int sign, const char *what,
                                        tb_error *err);

TB_API_END

#endif
