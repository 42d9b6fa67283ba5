/* Documents over HTTP. Pages and electronic invoices take long, so they are made as slow queries; forms that are the
 * stored text, or little more, are written on the worker's thread. */
#ifndef TOLLBOOK_SERVER_API_DRAWN_H
#define TOLLBOOK_SERVER_API_DRAWN_H

#include "http/request.h"
#include "http/server.h"
#include "tollbook/issue.h"

/* The first member of the handler's struct in r->work. */
typedef struct drawing {
    /* Appends the document. On a thread of the pool or the worker's, with its reader `store`. */
    tb_code (*put)(request *r, tb_store *store, tb_buf *out, tb_error *err);
    const char *media_type;
    bool slow;
    const char *file; /* the name to be saved under; NULL: none. Lives as long as the request */
} drawing;

/* The forms of a document. */
typedef struct drawn_form {
    const tb_shown_form *forms; /* the preferred first */
    size_t n;
    const char *words; /* the same, for the refusal: "json|csv" */
} drawn_form;

bool drawn_is_word(tb_text text, const char *word); /* in any letter case */
/* The first form of the type that Accept prefers, else the first of all. */
tb_shown_form drawn_accepted(const request *r, const drawn_form *from);
/* Takes ?format= and ?paper=; ignores other names. */
TB_MUST_USE tb_code drawn_take(const drawn_form *from, tb_text name, tb_text value,
                               tb_shown_form *form, tb_print_options *pages, tb_error *err);

/* Answers with the document of put, or its error. The route's finish is api_drawn_done. */
void drawn_answer(request *r);

/* This thread's printer, made at its first use and freed when the thread ends. NULL: it cannot be made. One document at
 * a time uses it. */
tb_printer *drawn_printer(void);
/* Frees it, after a document failed halfway. */
void drawn_drop_printer(void);

#endif
