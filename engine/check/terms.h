/* Terms of a document: all that its bill is rated by, beside price books and usage. Canonical JSON, keys sorted, no blanks, amounts
 * as decimal text, moments RFC 3339. Each member is a row of the tables in terms.c, which write and read them.
 *
 *   account, charges [one-off charges as billed], kind, lates [corrected months], month, months [the document's own, or none],
 *   number, rules, v, watermark
 *
 * A month has the members of tb_bill_input, its entries of usage without quantity and evidence, `days` [[day, index]...]: the
 * entries of the log whose usage it counts, and what origins.h says. A corrected month has `before` (empty where nothing of it was
 * billed), `after`, and `billed`: the documents that had billed it, newest first. */
#ifndef TOLLBOOK_CHECK_TERMS_H
#define TOLLBOOK_CHECK_TERMS_H

#include "tollbook/check.h"
#include "tollbook/invoice.h"
#include "tollbook/origins.h"

/* An entry of the log that a month counts. */
typedef struct tb__term_day {
    int64_t day, index;
} tb__term_day;

typedef struct tb__term_month {
    tb_bill_input input;
    tb_bill_origins origins;
    const tb__term_day *days; /* ascending by day, each once */
    size_t n_days;
} tb__term_month;

typedef struct tb__term_number {
    char number[24];
} tb__term_number;

typedef struct tb__term_late {
    int64_t month;
    char invoice[24]; /* that is corrected; "": none */
    uint64_t since;
    const tb__term_month *before; /* 0 or 1 */
    size_t n_before;
    tb__term_month after;
    const tb__term_number *billed;
    size_t n_billed;
} tb__term_late;

/* The rules by which it was made: those of tb_issue_rules. */
typedef enum tb__term_rules { TB__TERM_RULES_NOW, TB__TERM_RULES_FLOORED, TB__TERM_RULES_WHOLE, TB__TERM_RULES_EARLY, TB__TERM_RULES } tb__term_rules;

typedef struct tb__doc_terms {
    int64_t v; /* 1 */
    char number[24], kind[16];
    int64_t account, month;
    uint64_t watermark;
    tb__term_rules rules;
    const tb__term_month *own; /* 0 of a credit note, else 1 */
    size_t n_own;
    const tb__term_late *lates;
    size_t n_lates;
    const tb_bill_charge *charges;
    size_t n_charges;
    /* Of terms that were read. */
    const tb__term_month **all; /* every month: its own, and each corrected one as it was before and is after */
    size_t n_all;
    tb_book **books; /* the price books that they name, each once: id and hash alone, before tb__terms_use_books */
    size_t n_books;
    void *memory;
} tb__doc_terms;

/* Appends the terms. */
TB_MUST_USE tb_code tb__terms_write(const tb__doc_terms *terms, tb_buf *out, tb_error *err);

/* Reads terms: exactly what tb__terms_write would write of them. TB_E_VALIDATION: they are not as written (err->byte). Release on
 * success. */
TB_MUST_USE tb_code tb__terms_read(tb_text text, tb__doc_terms *ret, tb_error *err);
/* Fills the price books that the terms name from these, which must outlive them. TB_E_NOT_FOUND: one is missing. */
TB_MUST_USE tb_code tb__terms_use_books(const tb__doc_terms *terms, const tb_book *books, size_t n, tb_error *err);
void tb__terms_release(tb__doc_terms *terms);

/* --- terms_rules.c --- */

/* Whether the terms are of this document: number, kind, account, month, watermark. TB_E_DIFFERENT: the sentence. */
TB_MUST_USE tb_code tb__terms_compare(const tb__doc_terms *terms, const tb_statement *s, tb_error *err);
/* Whether terms that were read are such as the store writes. currency: the document's. TB_E_VALIDATION. */
TB_MUST_USE tb_code tb__terms_check(const tb__doc_terms *terms, const char *currency, tb_error *err);

#endif
