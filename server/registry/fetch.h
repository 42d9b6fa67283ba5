/* One HTTP exchange with an address that the operator configured: no redirect is followed, the size and time of the
 * answer are bounded, and only the headers that matter for a registry are kept. */
#ifndef TOLLBOOK_SERVER_REGISTRY_FETCH_H
#define TOLLBOOK_SERVER_REGISTRY_FETCH_H

#include <curl/curl.h>

#include "tollbook/buf.h"
#include "tollbook/error.h"

#define FETCH_HEADER_MAX 2048            /* of a header's value */
#define FETCH_HEAD_MAX   ((size_t)64 << 10) /* of all headers of an answer */

typedef struct fetch {
    CURL *curl;
    int64_t until_us; /* monotonic: the deadline of all exchanges together */
    bool (*stop)(void *ctx); /* called often; true ends the exchange */
    void *ctx;
    const char *ca; /* a file of certificate authorities; NULL: the system's */
    /* The answer of the last exchange: */
    long status;
    tb_buf body; /* its limit bounds the answer */
    size_t head;                      /* bytes of headers */
    char challenge[FETCH_HEADER_MAX]; /* from "Bearer" on, of WWW-Authenticate; "": none, or too long */
    char digest[128];                 /* Docker-Content-Digest; "": none */
    unsigned digests;                 /* how many such headers */
} fetch;

typedef struct fetch_request {
    const char *url;
    bool head;
    const char *accept;             /* NULL: none */
    const char *bearer;             /* a token, or NULL */
    const char *username, *password; /* Basic; NULL: none */
} fetch_request;

TB_MUST_USE tb_code fetch_open(fetch *f, size_t body_max, tb_error *err);
/* TB_E_REGISTRY: no complete answer came; err says why. TB_OK: the answer may have any status. */
TB_MUST_USE tb_code fetch_ask(fetch *f, const fetch_request *request, tb_error *err);
void fetch_close(fetch *f);

#endif
