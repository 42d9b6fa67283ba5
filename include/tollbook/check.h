/* Checking a bill without trusting the one who wrote it: usage, terms and price books, as the log committed to them (proof.h),
 * are rated again by the same functions, and the document's text is compared byte for byte. Pure: no store, no clock.
 *
 * Terms are a document's canonical JSON (docs/proof.md): all that its bill is rated by beside price books and usage. */
#ifndef TOLLBOOK_CHECK_H
#define TOLLBOOK_CHECK_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"

TB_API_BEGIN

#define TB_TERMS_MAX ((size_t)64 << 20)         /* bytes of terms */
#define TB_CHECK_CELLS_MAX ((uint64_t)1 << 26)  /* lines of all days, each time that a month counts them */

/* A day's usage, as engine/store/proof/day.c writes it. */
typedef struct tb_check_day {
    int64_t index; /* of its entry in the log */
    int64_t day;   /* since 1970 */
    tb_text text;
} tb_check_day;

/* The opened parts of a bundle, all the caller's. */
typedef struct tb_check_parts {
    tb_text invoice; /* canonical text of the document: an invoice or a credit note */
    tb_text terms;
    const tb_text *books; /* canonical texts */
    size_t n_books;
    const tb_check_day *days; /* ascending by index */
    size_t n_days;
    const tb_text *earlier; /* canonical texts of the documents that it corrects or refers to */
    size_t n_earlier;
} tb_check_parts;

/* What was rated, for the sentences about it. */
typedef struct tb_check_rated {
    uint64_t cells;        /* lines of days: of the document's own month and of corrected ones */
    tb_i128 bytes;         /* of pull zones in the document's month; of a credit note: in the corrected one */
    tb_i128 requests;      /* that reached load balancers, likewise */
    uint64_t lines;        /* of the document */
    int64_t account;
    uint64_t watermark;
    char number[24], kind[16]; /* "invoice", "credit_note" */
    char month[8];             /* "2026-10" */
    char total[TB_DECIMAL_TEXT_MAX + 1], currency[4];
    unsigned corrected;    /* months that it corrects */
    unsigned unbilled;     /* of these: nothing was billed before, as the terms state it */
    unsigned stated;       /* amounts of earlier months that a commit counts: taken as the terms state them */
} tb_check_rated;

/* Adds up the days, rates the document again and compares the text. TB_OK: the same, byte for byte. TB_E_DIFFERENT:
 * err->message says what differs, where and by how much, in a sentence for the customer. TB_E_VALIDATION: a part cannot be read
 * (err->field: "invoice", "terms", "books", "days", "earlier"). TB_E_NOT_FOUND: a part is missing (err->field likewise). Also
 * TB_E_OVERFLOW, TB_E_BOOK and TB_E_NOMEM of rating. ret_rated is filled as far as it was known. */
TB_MUST_USE tb_code tb_check_rate(const tb_check_parts *parts, tb_check_rated *ret_rated, tb_error *err);

TB_API_END

#endif
