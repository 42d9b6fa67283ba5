/* The request methods that this server knows by name. Known but not allowed on a path is 405,
 * unknown is 501 (RFC 9110, 15.5.6 and 15.6.2). */
#ifndef TOLLBOOK_SERVER_HTTP_METHODS_H
#define TOLLBOOK_SERVER_HTTP_METHODS_H

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

#endif
