/* The bodies of refusals. Each route belongs to a family of the interface; a table gives the body of each family at
 * each status. */
#ifndef TOLLBOOK_SERVER_HTTP_ERRORS_H
#define TOLLBOOK_SERVER_HTTP_ERRORS_H

#include "tollbook/buf.h"
#include "tollbook/error.h"
#include "tollbook/range.h"

typedef enum error_family {
    ERRORS_CORE,      /* ApiErrorData */
    ERRORS_LOGGING,   /* {"error":{"code",...}} */
    ERRORS_CONTAINER, /* ErrorDetails, but ProblemDetails at 401 */
    ERRORS_REGISTRY,  /* ErrorDetails */
    ERRORS_SHIELD,    /* ProblemDetails */
    ERRORS_FAMILIES
} error_family;

/* Where a refusal happened, for the bodies that say so. */
typedef struct error_place {
    tb_text path; /* instance */
    tb_text id;   /* the request's */
    const char *primary; /* where a write is to be sent; NULL: it is no write to a copy */
} error_place;

/* Appends the body. ErrorDetails get one entry: the error's field, if it has one, and its message. */
void errors_put(error_family family, const tb_error *err, error_place place, tb_buf *out);

/* ErrorDetails with several entries. */
typedef struct error_entry {
    const char *field, *message;
} error_entry;
void errors_put_details(tb_code code, const char *detail, const error_entry *entries, size_t n,
                        error_place place, tb_buf *out);

/* The members of ProblemDetails without braces, for a body that has others too. */
void errors_put_problem(const tb_error *err, error_place place, tb_buf *out);

#endif
