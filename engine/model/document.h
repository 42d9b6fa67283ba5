/* A JSON document, read strictly (RFC 8259) into a flat list of values in document order, and its
 * canonical text: object keys sorted bytewise, no spaces, strings escaped only where they must be,
 * numbers verbatim (no double is made of them, so no decimal is lost).
 *
 * Refused: anything after the value, duplicate keys, depth over TB__DOCUMENT_DEPTH, bytes that are
 * not UTF-8, lone surrogates, \u0000, numbers longer than TB__NUMBER_MAX, documents of more than
 * TB__DOCUMENT_NODES values and keys. */
#ifndef TOLLBOOK_MODEL_DOCUMENT_H
#define TOLLBOOK_MODEL_DOCUMENT_H

#include "base/arena.h"
#include "tollbook/decimal.h"

#define TB__DOCUMENT_DEPTH 64                /* nested objects and arrays */
#define TB__DOCUMENT_NODES ((size_t)1 << 24) /* of 24 bytes each */
#define TB__NUMBER_MAX     64                /* bytes of a number's text */

typedef enum tb__node_type {
    TB__NULL,
    TB__FALSE,
    TB__TRUE,
    TB__NUMBER,
    TB__STRING,
    TB__ARRAY,
    TB__OBJECT,
} tb__node_type;

/* A value, or a member's key (a string, followed by its value). An array's or object's content follows it directly;
 * `next` is the index after all of it. */
typedef struct tb__node {
    const char *text; /* number: its text; string: its decoded bytes, not terminated */
    uint32_t len;     /* of text; array, object: how many elements or members */
    uint32_t next;
    uint32_t at; /* offset of its first byte in the document */
    uint32_t type;
} tb__node;

typedef struct tb__document {
    tb__node *nodes; /* nodes[0] is the whole */
    size_t n, cap;
    size_t size; /* bytes of the source */
    const tb_alloc *alloc;
    tb__arena *strings; /* decoded strings that had escapes */
} tb__document;

/* text must live as long as the document; strings gets the decoded texts. On failure err->byte is the place, counted
 * from 1, and the error is `code` for syntax. On success the caller releases the document. */
TB_MUST_USE tb_code tb__document_parse(const char *text, size_t len, tb_code code,
                                       tb__arena *strings, const tb_alloc *alloc,
                                       tb__document *ret_document, tb_error *err);
void tb__document_release(tb__document *document);

/* The canonical text of one value, terminated, taken from arena; NULL when out of memory.
 * ret_len may be NULL. */
char *tb__document_canonical(const tb__document *document, uint32_t node, tb__arena *arena,
                             size_t *ret_len);

static inline bool tb__node_is(const tb__node *node, const char *text, size_t len)
{
    return node->len == len && __builtin_memcmp(node->text, text, len) == 0;
}

/* Whether it is a string of 1 to `most` letters, digits, '.', '_' and '-'. */
bool tb__node_is_id(const tb__node *node, size_t most);

/* A JSON number, or a string that holds a plain decimal, of at most max_scale digits after the
 * point. Programs write small prices as 1e-08: the exponent only moves the point. */
bool tb__node_decimal(const tb__node *node, int max_scale, tb_decimal *ret);

/* "an object", "a number", ... for messages. */
const char *tb__node_type_name(uint32_t type);

#endif
