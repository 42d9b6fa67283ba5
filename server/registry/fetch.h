/* One HTTP exchange with an address that the operator configured: no redirection is followed, the
 * answer's size and time are bounded, and of its headers those are kept that a registry's answer is
 * read by. */
#ifndef TOLLBOOK_SERVER_REGISTRY_FETCH_H
#define TOLLBOOK_SERVER_REGISTRY_FETCH_H

#include <curl/curl.h>

#include "tollbook/buf.h"
#include "tollbook/error.h"

#define FETCH_HEADER_MAX 2048            /* of a value that is kept */
#define FETCH_HEAD_MAX   ((size_t)64 << 10) /* of all of an answer's headers */

typedef struct fetch {
    CURL *curl;
    int64_t until_us; /* monotonic: the end of the whole, however many exchanges it has */
    bool (*stop)(void *ctx); /* asked now and then: give up */
    void *ctx;
    const char *ca; /* a file of authorities; NULL: the system's */
    /* The last exchange's answer: */
    long status;
    tb_buf body; /* its limit is the most that is taken */
    size_t head;                      /* bytes of headers */
    char challenge[FETCH_HEADER_MAX]; /* from "Bearer" on, of WWW-Authenticate; "": none, or too long */
    char digest[128];                 /* Docker-Content-Digest; "": none */
    unsigned digests;                 /* how many of it */
} fetch;

typedef struct fetch_request {
    const char *url;
    bool head;
    const char *accept;             /* lines; NULL: none */
    const char *bearer;             /* a token, or NULL */
    const char *username, *password; /* Basic; NULL: none */
} fetch_request;

TB_MUST_USE tb_code fetch_open(fetch *f, size_t body_max, tb_error *err);
/* TB_E_REGISTRY: no whole answer came, and err says why; else the answer has some status. */
TB_MUST_USE tb_code fetch_ask(fetch *f, const fetch_request *request, tb_error *err);
void fetch_close(fetch *f);

#endif
