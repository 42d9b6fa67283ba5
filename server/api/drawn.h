/* Documents over HTTP. Pages and electronic invoices take long, so they are drawn as slow queries;
 * forms that are the stored text, or little more, are written on the worker's thread. */
#ifndef TOLLBOOK_SERVER_API_DRAWN_H
#define TOLLBOOK_SERVER_API_DRAWN_H

#include "http/request.h"
#include "http/server.h"
#include "tollbook/issue.h"

/* The first member of what the handler keeps in r->work. */
typedef struct drawing {
    /* Appends the document. On a thread of the pool or the worker's, whose reader `store` is. */
    tb_code (*put)(request *r, tb_store *store, tb_buf *out, tb_error *err);
    const char *media_type;
    bool slow;
} drawing;

/* What both kinds of document are asked for with. */
typedef struct drawn_form {
    const tb_shown_form *forms; /* that there are, the preferred first */
    size_t n;
    const char *words; /* the same, for the refusal: "json|csv" */
} drawn_form;

bool drawn_is_word(tb_text text, const char *word); /* letter case does not matter */
/* The first form of the type that Accept prefers, else the first of all. */
tb_shown_form drawn_accepted(const request *r, const drawn_form *from);
/* ?format= and ?paper=; other names change nothing. */
TB_MUST_USE tb_code drawn_take(const drawn_form *from, tb_text name, tb_text value,
                               tb_shown_form *form, tb_print_options *pages, tb_error *err);

/* Answers with what put makes, or the error. The route's finish is api_drawn_done. */
void drawn_answer(request *r);

/* This thread's printer, made when it is first asked for and freed when the thread ends. NULL: it
 * cannot be made. The caller lends it to one document at a time. */
tb_printer *drawn_printer(void);
/* Frees it: a document failed in its middle. */
void drawn_drop_printer(void);

#endif
