/* Where the values of a JSON text begin and end. The text is known to be well formed. */
#ifndef TOLLBOOK_OPS_SLICES_H
#define TOLLBOOK_OPS_SLICES_H

#include <stddef.h>

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
