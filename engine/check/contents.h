/* The texts of a bundle as values. Each is read once: the steps of a check look at them, and the document is rated again by them. */
#ifndef TOLLBOOK_CHECK_CONTENTS_H
#define TOLLBOOK_CHECK_CONTENTS_H

#include "check/terms.h"

/* What could not be read is all zeros. It must not be moved: a document points into itself. */
typedef struct tb__contents {
    tb_text text; /* of the document, the caller's */
    tb_paper document;
    tb__doc_terms terms;
    tb_book *books;
    size_t n_books;
    tb_paper *earlier; /* documents that this one corrects or refers to */
    size_t n_earlier;
    const tb_check_day *days; /* ascending by index, the caller's */
    size_t n_days;
} tb__contents;

/* Makes room for n_books books and n_earlier documents, all zeros. TB_E_NOMEM. Release it in any case. */
TB_MUST_USE tb_code tb__contents_init(tb__contents *c, size_t n_books, size_t n_earlier, tb_error *err);
void tb__contents_release(tb__contents *c);

/* What is said of the document, whatever comes of it. */
void tb__describe(const tb_paper *document, tb_check_rated *ret);

/* --- rate.c --- */

/* As tb_check_rate, where all parts could be read and the terms are the document's. */
TB_MUST_USE tb_code tb__rate(const tb__contents *c, tb_check_rated *ret_rated, tb_error *err);

/* --- earlier.c --- */

/* The earlier documents, to be found by their numbers. */
typedef struct tb__earlier_papers {
    const tb_paper **sorted;
    size_t n;
} tb__earlier_papers;

/* Free `sorted`. TB_E_NOMEM. */
TB_MUST_USE tb_code tb__sort_earlier(const tb__contents *c, tb__earlier_papers *ret, tb_error *err);
/* NULL: it is missing, TB_E_NOT_FOUND in err. */
const tb_paper *tb__find_earlier(const tb__earlier_papers *e, const char *number, tb_error *err);
/* Whether the corrections of a month go on from what these documents billed of it: the same account, its own bill first, and the
 * amount and usage of `before`, as the month is rated without them. TB_E_DIFFERENT: the sentence. TB_E_NOT_FOUND, TB_E_NOMEM. */
TB_MUST_USE tb_code tb__check_earlier(const tb__earlier_papers *e, const tb__doc_terms *terms, const tb__term_late *late, const tb_bill *before,
                                      tb_error *err);

/* --- difference.c --- */

/* TB_E_DIFFERENT: the first difference of two documents, `again` being what its usage, terms and prices come to. byte: where their
 * texts differ, from 1. */
TB_MUST_USE tb_code tb__say_difference(const tb_statement *s, const tb_statement *again, size_t byte, tb_error *err);

#endif
