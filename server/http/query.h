/* Query strings and the values of negotiated headers, read by tables. Pure. */
#ifndef TOLLBOOK_SERVER_HTTP_QUERY_H
#define TOLLBOOK_SERVER_HTTP_QUERY_H

#include "tollbook/range.h"

typedef enum query_kind {
    QUERY_TEXT, /* tb_text */
    QUERY_BOOL, /* bool: true false True False TRUE FALSE 1 0 */
    QUERY_INT,  /* int64_t: decimal digits with an optional '-', no leading zeros */
} query_kind;

typedef struct query_spec {
    const char *name; /* compared without regard to ASCII case, as ASP.NET's clients expect */
    query_kind kind;
    size_t offset; /* of the field in the caller's struct */
} query_spec;

/* Reads the parameters that specs name into *out, which holds the defaults.
 * Unknown parameters are ignored, an empty value is an absent one, and of several the last wins.
 * Escapes are read ('+' is a space); texts point into scratch, which has at least len bytes.
 * TB_E_VALIDATION: err->field is the parameter's name as documented. */
TB_MUST_USE tb_code query_parse(const char *query, size_t len, const query_spec *specs, size_t n,
                                void *out, char *scratch, tb_error *err);

/* Calls `each` for every parameter with a value, in order, with its escapes read. */
typedef tb_code (*query_each_fn)(void *ctx, tb_text name, tb_text value, tb_error *err);
TB_MUST_USE tb_code query_each(const char *query, size_t len, char *scratch, query_each_fn each,
                               void *ctx, tb_error *err);

/* Strict: '-'? and 1..19 digits without a leading zero, within int64. */
bool query_int(const char *text, size_t len, int64_t *ret_value);
bool query_bool(const char *text, size_t len, bool *ret_value);

/* Whether the value of an Accept-Encoding header makes gzip acceptable and no worse than identity
 * (RFC 9110, 12.5.3). data NULL: absent, so no. */
bool query_accepts_gzip(tb_text accept_encoding);

/* The index of the media type, in the server's order of preference, that the value of an Accept header prefers (RFC
 * 9110, 12.5.1; an exact type counts before "text/" and a star, that before two stars). n: none is acceptable. data
 * NULL: absent, so the first. */
size_t query_choose_type(tb_text accept, const char *const *types, size_t n);

/* Walks the entity tags of an If-None-Match header. A weak mark is skipped: the comparison is weak.
 * *at starts at 0. Returns false at the end or at the first syntax error; *ret_tag has no quotes.
 * The tag "*" without quotes is reported as ret_star. */
bool query_next_tag(tb_text if_none_match, size_t *at, tb_text *ret_tag, bool *ret_star);

#endif
