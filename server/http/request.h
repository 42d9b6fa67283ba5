/* A request as handlers see it: routed, authenticated, its body whole. A handler reads it, calls the engine, and makes
 * exactly one of the answering calls below, or submits a job to the writer or the job pool and answers in the route's
 * `finish`. It does not depend on libmicrohttpd.
 *
 * A request and all it holds belong to its worker's thread, except the job while it runs elsewhere. Texts live until
 * the answer is sent. */
#ifndef TOLLBOOK_SERVER_HTTP_REQUEST_H
#define TOLLBOOK_SERVER_HTTP_REQUEST_H

#include "http/cache.h"
#include "http/front/front.h"
#include "http/router.h"
#include "http/sessions.h"
#include "http/writer.h"

struct worker;
struct MHD_Connection;

typedef enum reply_kind {
    REPLY_NONE,         /* not answered yet */
    REPLY_EMPTY,        /* no body */
    REPLY_TEXT,         /* request.text */
    REPLY_STATIC,       /* bytes that live as long as the process */
    REPLY_ANSWER,       /* an encoded answer of the cache's kind */
    REPLY_NOT_MODIFIED, /* 304 for the tag in request.tag */
    REPLY_STREAM,       /* the pieces of request.reply.source */
} reply_kind;

/* The source of a long answer. fill appends the next piece, of about STREAM_PIECE bytes, and sets *ret_done with the
 * last one; a fill that took long may append nothing. The first piece is made before the head is sent, so that its
 * failure is the answer; a later failure cuts the answer off. Both run on the worker's thread, fill not after the
 * request's end; each fill reads the worker's store in a snapshot of its own. release may be NULL and is called once in
 * any case.
 *
 * If `asks` is set a fill may run on a thread of LANE_REMOTE, with request.worker a remote worker, and must be
 * repeatable after a failure: then no piece blocks a worker for a usage server. The handler makes the first one. */
typedef struct stream_source {
    tb_code (*fill)(void *ctx, tb_buf *out, bool *ret_done, tb_error *err);
    void (*release)(void *ctx);
    void *ctx;
    bool asks;
    size_t most;  /* bytes of one piece; 0: STREAM_BUF_MAX */
    uint64_t len; /* of the whole answer, for Content-Length; 0: not known, or the answer is empty */
} stream_source;

#define REQUEST_TAG_MAX   64
#define REQUEST_KEY_TOKEN (-1)

typedef struct reply {
    reply_kind kind;
    unsigned status;
    const char *content_type;
    const char *disposition; /* Content-Disposition, or NULL */
    const char *cache;       /* Cache-Control, or NULL: follows from the other fields */
    const char *cookie;      /* Set-Cookie, or NULL */
    const char *location;    /* Location, or NULL */
    const char *const *headers; /* names and values of further ones, and NULL; or NULL */
    stream_source source;    /* STREAM, until the response has it */
    const char *bytes;       /* STATIC */
    size_t len;              /* STATIC; NOT_MODIFIED: that of the 200 */
    answer *answer;          /* ANSWER, owned until the answer is sent */
    bool compressible;
    bool zipped; /* STATIC: the bytes are gzip */
    bool tagged; /* carries an ETag from request.tag_hash */
    bool close;  /* close the connection after it */
    bool again;  /* ANSWER: likely to be sent once more */
    bool secret; /* request.text holds a key: wipe it afterwards */
    unsigned retry_after;
} reply;

typedef struct request {
    struct worker *worker;
    conn *conn;
    struct MHD_Connection *mhd;
    const route *route;
    http_method method;
    bool begun;   /* the head is complete */
    bool refused; /* by `err`, before any handler */
    bool handled; /* the handler has run */
    bool waiting; /* for its job */
    bool write_next; /* set by a pool job's run: the writer runs r->job next, as run left it */
    bool writes;  /* an operation that writes; other routes say it by their row */
    bool held;    /* the answer waits for the standbys */
    bool retried; /* the job runs the handler again, which has to ask a usage server */
    struct stream *stream; /* the answer, if it is a stream */
    bool over;    /* the body outgrew its limit: the rest is discarded */
    bool received; /* the body receiver has had it (front/body.h) */
    uint64_t received_bytes; /* not counted in the metrics yet */
    struct request *receiver_next, **receiver_at; /* the receiver's list */
    head head;        /* without method and counts */
    size_t path_len; /* of the target; 0: the head is refused */
    tb_text path; /* as its row matches it */
    tb_text id;   /* the path's {id} */
    unsigned allow;
    session session;      /* of the request's cookie; until_us 0: none */
    int64_t account, key; /* the authenticated holder; key 0: none, REQUEST_KEY_TOKEN: a bearer token */
    uint32_t roles;
    int64_t start_us; /* monotonic */
    uint64_t number;  /* X-Request-Id */
    void *kept;       /* the handler's state, released with the request */
    void (*release_kept)(void *kept); /* NULL: free */
    char *body;
    size_t body_len, body_cap;
    uint64_t discarded; /* bytes of a body that outgrew its limit */
    tb_error err;
    write_job job;
    reply reply;
    uint64_t sent; /* bytes of the answer's body */
    tb_hash128 tag_hash;
    char tag[REQUEST_TAG_MAX]; /* the ETag, quoted */
    /* Not reset between requests of a connection: */
    struct {
        char text[TB_KEY_TEXT]; /* wiped when the connection ends */
        uint64_t generation;    /* of the key table that it was found in; 0: none */
        int64_t account, key;
        uint32_t roles;
    } last;                                /* the key that the connection's last request had */
    tb_buf text;                           /* small answers; kept for the next one */
    _Alignas(16) unsigned char work[1024]; /* the handler's own */
    char scratch[HEAD_TARGET_MAX];        /* decoded parameters */
    char target[HEAD_TARGET_MAX + 1];
} request;

/* The target's path as its route matches it, and what is after its '?', the query. */
tb_text request_path(const request *r);
tb_text request_query(const request *r);
/* The path's n-th {}, from 0. */
tb_text request_part(const request *r, unsigned n);
tb_text request_header(const request *r, header_name name);
/* The current time of answers: the clock's, or the fixed one of TOLLBOOK_NOW. */
int64_t request_now_us(const request *r);

/* --- answers --- */

/* A refusal with the code's HTTP status, in the shape of the route's family (errors.h).
 * request_fail_as copies *err. */
void request_fail(request *r, tb_code code, const char *field, const char *fmt, ...)
    TB_PRINTF(4, 5);
void request_fail_as(request *r, const tb_error *err);
/* The same with the error's own message, whoever the client is. */
void request_fail_verbatim(request *r, const tb_error *err);
/* Appends the members of a plain problem (errors.h), without braces. */
void request_put_problem(const request *r, const tb_error *err, tb_buf *out);
/* The same with the place in the input, if there is one: "Line 3, byte 7: ...". */
void request_fail_at(request *r, const tb_error *err);
/* r->text, cleared first by request_text(), is the body. */
tb_buf *request_text(request *r);
void request_answer_text(request *r, unsigned status, const char *content_type);
void request_answer_static(request *r, const char *bytes, size_t len, const char *content_type);
/* Text that was compressed by gzip when building. */
typedef struct zipped_text {
    const char *bytes;
    size_t len, plain_len;
} zipped_text;
/* Answers with it, as the client takes it. false: it could not be decompressed, and the failure is the answer. */
bool request_answer_zipped(request *r, const zipped_text *text, const char *content_type);
void request_answer_empty(request *r, unsigned status);
/* 200 with the pieces of source, which is released after the answer, or if it cannot be sent. */
void request_answer_stream(request *r, stream_source source, const char *content_type);
/* Logs a failure of the server's own on standard error, at a limited rate for each code. */
void request_log_failure(const request *r, const tb_error *err);
/* 200 with the answer, which is moved in; its ETag comes from r->tag_hash. again: it is from the cache, so its response
 * object is kept with it. */
void request_answer(request *r, answer *a, bool again);

/* If If-None-Match has the tag of the answer of this hash, answers 304 and returns true, before any work. "*" never
 * matches: whether anything exists is not known yet. Keeps the hash for the ETag of a full answer. */
bool request_not_modified(request *r, tb_hash128 hash);

/* The ETag, quoted and terminated, of an answer of this length and form; returns its length. */
size_t request_tag_text(tb_hash128 hash, size_t len, bool zipped, char out[REQUEST_TAG_MAX]);
/* The value of X-Request-Id; not terminated. */
#define REQUEST_ID_TEXT 16
void request_id_text(const request *r, char out[REQUEST_ID_TEXT]);

/* The client's address as text, terminated. */
#define REQUEST_PEER_TEXT 46
void request_peer_text(const request *r, char out[REQUEST_PEER_TEXT]);
/* Whether the client has closed its side: a long computation for it may stop. */
bool request_client_left(const request *r);
/* A number for the client's address, for limits; not 0. An IPv6 network of 64 bits counts as one address. Behind a
 * proxy on this machine it is the address that the proxy names last. */
int64_t request_visitor(const request *r);

/* Submits r->job (run, bytes set) to the writer and suspends the connection; `finish` is called when the job is done,
 * also if the writer refuses it (r->job.code). */
void request_submit(request *r);
/* The same to a lane of the job pool (jobs/pool.h): a long computation, a request to another computer or a hook, a
 * large body to parse. */
void request_submit_slow(request *r);
void request_submit_outbound(request *r);
void request_submit_parse(request *r);
void request_submit_base(request *r);
/* Suspends the connection until the next commit, no longer than wait_us; then `finish` is called. commits: what
 * waiting_reached returned before the handler looked into the store. */
void request_wait(request *r, int64_t commits, int64_t wait_us);
/* Suspends the connection until the standbys have this piece, no longer than wait_us; then the answer that is made is sent,
 * or what acknowledge_end makes of it. */
void request_hold(request *r, int64_t piece, int64_t wait_us);
/* The same for the next piece of r->stream, which needs this usage server. */
void request_submit_piece(request *r, size_t shard);

#endif
