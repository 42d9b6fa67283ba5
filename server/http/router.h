/* Routes as data: a table of rows, matched on the raw path, never on a decoded one, so that no other spelling of a path
 * reaches another resource. Literal parts match in any letter case, and a trailing slash is ignored, as clients send
 * both. The text of a {id} is taken as it is. */
#ifndef TOLLBOOK_SERVER_HTTP_ROUTER_H
#define TOLLBOOK_SERVER_HTTP_ROUTER_H

#include "http/errors.h"
#include "tollbook/key.h"
#include "tollbook/range.h"

struct request;

/* The request methods that this server knows by name. Known but not allowed on a path is 405,
 * unknown is 501 (RFC 9110, 15.5.6 and 15.6.2). */
#define HTTP_METHOD_TABLE(X)                                                                       \
    X(GET)                                                                                         \
    X(HEAD)                                                                                        \
    X(POST)                                                                                        \
    X(PUT)                                                                                         \
    X(DELETE)                                                                                      \
    X(PATCH)                                                                                       \
    X(OPTIONS)                                                                                     \
    X(TRACE)                                                                                       \
    X(CONNECT)

typedef enum http_method {
#define TB_X(name) HTTP_##name,
    HTTP_METHOD_TABLE(TB_X)
#undef TB_X
        HTTP_UNKNOWN
} http_method;

/* Exact, case-sensitive. HTTP_UNKNOWN for anything else. */
http_method http_method_parse(const char *name);
/* "GET"; "-" for HTTP_UNKNOWN. */
const char *http_method_name(http_method method);

/* What a body may be. */
typedef enum route_body {
    ROUTE_NO_BODY,
    ROUTE_JSON,  /* application/json and its kin, uncompressed */
    ROUTE_BYTES, /* text or bytes, Content-Encoding gzip, zstd or identity */
} route_body;

typedef struct route {
    http_method method;  /* a GET row answers HEAD too */
    const char *pattern; /* "/pullzone/{id}/optimizer/statistics", its first letter in lower case. {id} matches a
                          * text without '/', before a literal tail, {#date} one of the form MM-dd-yyyy; the last one
                          * is the request's id. {+rest} matches the rest of the path */
    tb_access access;
    route_body body;
    const char *operation; /* the operation of tollbook/operation.h that it runs; NULL: none */
    const char *fixed;     /* a flag of the operation that the row sets; NULL: none */
    const char *fills;     /* the parameter that gets {id}; NULL: the first operand */
    const char *name; /* for metrics: lower case and '_' */
    error_family errors;
    size_t body_max; /* longest body, bytes; 0: what --body-mb says */
    bool secret;  /* its body holds a key: wiped afterwards */
    bool keyed;   /* with the option metrics_key, account 0 alone may ask */
    bool bearer_key; /* a key may be sent as a bearer token, too */
    bool reads;   /* not GET, and may be answered by a copy: it changes nothing in the file, or decides itself */
    bool logging; /* of the request logging API: bearer tokens, its own address */
    bool exact; /* only at its own path, not below /api */
    /* Answers the request, or submits a job and returns; then `finish` answers after it. */
    void (*handle)(struct request *request);
    void (*finish)(struct request *request); /* NULL where handle always answers; may submit again */
} route;

typedef struct routed {
    const route *row; /* NULL: no such path, or not with this method */
    tb_text path;     /* as its row matches it: without /api in front */
    tb_text id;       /* the text in {id}'s place; data NULL: the pattern has none */
    unsigned allow;   /* without a row: the set of methods (bit m) that the path has; 0: no such path */
} routed;

/* The row for (method, path).
 *
 * Clients of the deployed service's old base address send /api before each path. So a path below /api that has no row
 * of its own is matched without this prefix. Each request is checked by its row, so the prefix never changes who may ask.
 * Rows that are `exact` are not reached: a proxy in front may refuse their paths. */
routed router_match(const route *routes, size_t n, http_method method, tb_text path);

/* The first row of the path with any method, for its error family. NULL: no such path. */
const route *router_match_path(const route *routes, size_t n, tb_text path);

/* The path's n-th {}, from 0; data NULL if the row has fewer. */
tb_text router_part(const route *row, tb_text path, unsigned n);

/* "GET, HEAD" from a set of methods. out is terminated. */
#define ROUTER_ALLOW_MAX 80
void router_allow(unsigned allow, char out[ROUTER_ALLOW_MAX]);

/* A path's id: 1..2^63-1, no sign, no leading zero. */
bool router_id(tb_text text, int64_t *ret_id);

#endif
