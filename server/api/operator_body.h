/* Small JSON bodies of operator's requests, read by tables: every member is known, of its type and
 * within its bounds, or the body is refused by the member's name. */
#ifndef TOLLBOOK_SERVER_API_OPERATOR_BODY_H
#define TOLLBOOK_SERVER_API_OPERATOR_BODY_H

#include <stdbool.h>

#include "tollbook/buf.h"

typedef enum body_kind {
    BODY_INT,  /* int64_t, from 0 up */
    BODY_BOOL, /* bool */
    BODY_TEXT, /* char[size], terminated; decimals too: no double comes between */
    BODY_INTS, /* body_ints, of numbers from 1 up */
} body_kind;

#define BODY_INTS_MAX 50 /* members of a list: it lies in the request's own memory */
typedef struct body_ints {
    size_t n;
    int64_t list[BODY_INTS_MAX];
} body_ints;

typedef struct body_field {
    const char *name;
    body_kind kind;
    bool required;
    size_t offset, size; /* size: of a text */
} body_field;

/* Reads into *out, whose fields hold the defaults beforehand. TB_E_VALIDATION: err->field is the
 * member. TB_E_TOO_LARGE: longer than BODY_TEXT_MAX. */
#define BODY_TEXT_MAX ((size_t)64 << 10)
TB_MUST_USE tb_code body_read(const char *body, size_t len, const body_field *fields, size_t n,
                              void *out, tb_error *err);

/* ["...", ...] of lines that each end with '\n'. */
void body_put_lines(tb_buf *out, const tb_buf *lines);

#endif
