/* A request's body of JSON, and where the values of a text begin and end that is known to be well formed. */
#ifndef TOLLBOOK_OPS_SLICES_H
#define TOLLBOOK_OPS_SLICES_H

#include <jansson.h>

#include "tollbook/error.h"

/* The object that a body is; the caller gives it back. NULL: TB_E_VALIDATION, it is none; TB_E_TOO_LARGE, it has
 * more than TB_JSON_VALUES_MAX values, which is found before any memory is taken for them. */
json_t *tb__body_read(const char *text, size_t len, tb_error *err);

/* What a text weighs once it is a tree, in values as tb_json_fits counts them. A name or text of more than 64 bytes
 * weighs one more for each 16. It need not be well formed. */
size_t tb__body_weight(const char *text, size_t len);

typedef struct tb__slice {
    const char *text; /* NULL: there is none */
    size_t len;
} tb__slice;

/* The value of an object's member. Names that are written with escapes are not found. */
tb__slice tb__slice_member(const char *text, size_t len, const char *name);

/* The elements of a list, one after the other. */
typedef struct tb__slices {
    const char *at, *end;
} tb__slices;
tb__slices tb__slices_of(tb__slice list);
tb__slice tb__slices_next(tb__slices *at);

#endif
