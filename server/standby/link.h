/* Requests of a standby to its primary, one after another over one connection. No redirect is followed. An exchange has no
 * limit of time, as a base takes long, but ends when nothing comes any more, and at once when the link is cut. */
#ifndef TOLLBOOK_SERVER_STANDBY_LINK_H
#define TOLLBOOK_SERVER_STANDBY_LINK_H

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tollbook/buf.h"
#include "tollbook/error.h"
#include "tollbook/replica.h"

#define LINK_NAME_MAX 64 /* letters, digits, dots, underscores and hyphens */
#define LINK_TAG_MAX  128
#define LINK_HASH     33 /* bytes of a hash as text, its end included */
#define LINK_URL_MAX  200
#define LINK_KEY_MAX  1000
#define LINK_URLS_MAX 8

typedef struct link_options {
    const char *url; /* the primary's, without a slash at its end */
    const char *urls[LINK_URLS_MAX]; /* where the primary may be, that one too */
    size_t n_urls;
    const char *key; /* LINK_KEY_MAX bytes at most; copied */
    const char *ca;  /* a file of certificate authorities; NULL: the system's */
    char name[LINK_NAME_MAX + 1]; /* how the primary lists this standby; "": it is not told */
    bool promotable;
    char own_url[LINK_URL_MAX + 1]; /* where this standby is served; "": it is not told */
    int schema;                     /* the newest that its program knows */
} link_options;

/* A thread's own, but for link_cut and link_use_key. */
typedef struct primary_link {
    link_options options; /* its texts are borrowed */
    CURL *curl;
    CURLM *multi;
    atomic_bool cut;
    _Atomic int64_t finish_us; /* monotonic: since when it takes only what has arrived; 0: it takes all */
    int64_t epoch;             /* that the file has, and every request says; 0: it has none yet */
    bool brief;                /* this connection's server has an older program: it is told the name and "promotable" alone */
    pthread_mutex_t key_lock; /* of: */
    char key[LINK_KEY_MAX + 1];
    /* The last answer: */
    long status;
    int64_t piece;  /* Tollbook-Piece; 0: it has none */
    int64_t lag_ms; /* Tollbook-Replica-Lag-Ms, of a standby; else 0 */
    uint64_t whole; /* length of the whole, from Content-Range or Content-Length; 0: not told */
    char tag[LINK_TAG_MAX];
    char hash[LINK_HASH]; /* Tollbook-Hash; "": it has none */
    tb_buf body;    /* unless `take` got it */
    int64_t answered_us; /* monotonic: when its head was there */
    int64_t came_us;     /* and when the last bytes came */
    /* Of the running exchange: */
    bool (*take)(void *ctx, const char *bytes, size_t len);
    void *ctx;
    bool refused; /* `take` returned false */
} primary_link;

typedef struct link_request {
    const char *path; /* with its query */
    long quiet_s;     /* it ends when nothing came for so long; 0: half a minute */
    uint64_t from;    /* the first byte wanted, of the answer with this tag; 0: all */
    const char *tag;
    /* Gets the body of a 200 or 206, bit by bit; false ends the exchange. NULL: link.body does. */
    bool (*take)(void *ctx, const char *bytes, size_t len);
    void *ctx;
} link_request;

TB_MUST_USE tb_code link_open(primary_link *l, const link_options *options, tb_error *err);
void link_close(primary_link *l);
/* Where an older program refuses what it does not know of Tollbook-Replica, it is asked again without that: standbys are
 * upgraded first. TB_OK: a whole answer came, or `take` ended it; l->status is any. TB_E_AWAY: none came, and err says why. TB_E_STOPPED: the
 * link was cut, or is finished. */
TB_MUST_USE tb_code link_ask(primary_link *l, const link_request *request, tb_error *err);
/* The last answer's body, to be released; NULL: it is not JSON. jansson reads nothing out of NULL. */
json_t *link_json(const primary_link *l);
/* Whether the server has this piece. l->status says more: 200 and 410 are answers. */
TB_MUST_USE tb_code link_has_piece(primary_link *l, const tb_piece *piece, bool *ret, tb_error *err);
/* "/replica/pieces?...": what follows this piece, for somebody who has it. */
#define LINK_PATH_MAX (80 + 2 * TB_PIECE_CHAIN)
void link_path_after(const tb_piece *last, int wait_s, char out[LINK_PATH_MAX]);
/* What a refusal says, as an error: the answer's Message. */
TB_MUST_USE tb_code link_refusal(const primary_link *l, tb_error *err);
/* Waits, or returns false at once when the link is cut. */
bool link_pause(primary_link *l, int64_t wait_us);
/* Exchanges from now on use this key; the running one ends with the old one. Any thread. */
void link_use_key(primary_link *l, const char *key);
/* Ends the running exchange and every later one; any thread. */
void link_cut(primary_link *l);
/* Ends the running exchange once what has arrived is taken, and every later one at once, until link_go_on; any thread. */
void link_finish(primary_link *l);
void link_go_on(primary_link *l);

#endif
