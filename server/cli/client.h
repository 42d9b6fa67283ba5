/* A client of a running server: one request after another over one connection, with the key.
 * Answers are bounded; redirects are not followed. A server that is busy (429, 503) is asked again
 * a few times, as late as it wishes, up to half a minute each, and each time that is said; where `into` is set and `patient`
 * is not, the caller does that.
 *
 * --server may name several servers, a primary and its standbys. A request goes to the one that answered last. Where that is away, or is
 * not the primary and the request needs it, the others are asked in turn, a primary that is named first, each once; then
 * that is done again as with a busy server. What a server may have done before it went away is sent again only where `repeats` says that
 * it counts once. Its certificate is checked against --ca, the environment's SSL_CERT_FILE, or else the system's authorities. */
#ifndef TOLLBOOK_SERVER_CLI_CLIENT_H
#define TOLLBOOK_SERVER_CLI_CLIENT_H

#include <curl/curl.h>
#include <jansson.h>

#include "cli/cli.h"
#include "cli/servers.h"

typedef struct client {
    const cli_call *call; /* borrowed, for messages */
    CURL *curl;
    server_list servers;
    const char *url; /* of the server that is asked, without a slash at its end */
    const char *key;
    const char *ca; /* NULL: the system's */
    char why[CURL_ERROR_SIZE]; /* curl's text for the last failure */
    tb_buf answer;  /* body of the last answer */
    unsigned retry_after; /* seconds that the last answer asked to wait */
    long status;    /* of the last answer; 0: none came */
    const char *told; /* of the server that did what was sent last; NULL: none yet */
    bool is_copy;   /* a standby answered */
    time_t date, retry_at; /* of that answer: its server's clock, and when to ask again; 0: it does not say */
    tb_error *into;   /* not NULL: what goes wrong is written here instead of said, and nothing is asked
                       * twice, */
    bool patient;     /* but where this is set */
    bool once;        /* nothing is asked twice */
    bool (*leave)(void *ctx); /* may be NULL: called about once a second; true gives the exchange up */
    void *leave_ctx;
} client;

/* Prints the error, or stores it in `into`. Returns the code's exit status. */
int client_fail(client *c, tb_code code, const char *fmt, ...) TB_PRINTF(3, 4);

typedef struct client_request {
    const char *method;
    const char *path;    /* with its query, from '/' */
    const char *type;    /* content type; NULL: no body */
    const char *coding;  /* content encoding; NULL: none */
    const char *batch;   /* Idempotency-Key; NULL: none */
    const char *body;
    size_t len;
    const char *subject; /* named by messages: a file, or NULL */
    bool repeats;        /* it may be sent twice and counts once, as what is read (GET) may */
    bool newest;         /* an answer of a standby, which may be late, is not wanted */
    bool *conflict;      /* not NULL: a 409 sets it, and says nothing */
    bool *too_large;     /* not NULL: a 413 sets it, and says nothing */
    bool *answered;      /* not NULL: a refusal that has a whole answer sets it, and says nothing */
    bool (*take)(void *ctx, const char *bytes, size_t len); /* not NULL: gets the body of a 2xx; false ends it */
    void *take_ctx;
    long quiet_s; /* it ends when nothing came for so long; 0: five minutes */
} client_request;

/* From --server and the key: 0, or the exit status after it printed an error. */
int client_open(client *c, const cli_call *call);
void client_close(client *c);
/* 0: the server answered with a 2xx; else the exit status, once it said why. */
int client_send(client *c, const client_request *request);
/* The last answer as JSON; NULL once it said that it is none. The caller's to json_decref. */
json_t *client_json(client *c);

/* One request over a connection of its own: 0 and *ret_answer (NULL: it has no body), the caller's
 * to json_decref; or the exit status. */
int client_ask(const cli_call *call, const client_request *request, json_t **ret_answer);
/* Writes text with percent-escapes for a URL; terminated. false: no room. */
bool client_escape(const char *text, char *out, size_t size);

#endif
