/* A request as handlers see it: routed, authenticated, its body whole. A handler reads it, calls
 * the engine, and ends with exactly one of the answering calls below, or hands a job to the writer
 * and answers in the route's `finish`. It knows nothing of libmicrohttpd.
 *
 * A request and all it holds belong to its worker's thread, but for the job while the writer has
 * it. Texts live until the answer is sent. */
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
    REPLY_STREAM,       /* what request.reply.source gives, piece by piece */
} reply_kind;

/* Where a long answer comes from. fill appends the next piece, of STREAM_PIECE bytes or so, and
 * sets *ret_done with the last one; one that took its time may append nothing. The first piece is
 * made before the head is sent, so that its failure is the answer; a later failure cuts the answer
 * off. Both run on the worker's thread, fill not after the request's end; a fill reads the worker's
 * store in a snapshot of its own. release may be NULL and is called once, whatever happened.
 *
 * Where `asks` is set a fill may run on a thread of LANE_REMOTE, with request.worker a remote worker, and one that fails can be
 * called again: then no piece holds up a worker for a usage server. The handler makes the first one. */
typedef struct stream_source {
    tb_code (*fill)(void *ctx, tb_buf *out, bool *ret_done, tb_error *err);
    void (*release)(void *ctx);
    void *ctx;
    bool asks;
} stream_source;

#define REQUEST_TAG_MAX   64
#define REQUEST_KEY_TOKEN (-1)

typedef struct reply {
    reply_kind kind;
    unsigned status;
    const char *content_type;
    const char *disposition; /* Content-Disposition, or NULL */
    const char *cache;       /* Cache-Control, or NULL: what the other fields make of it */
    const char *cookie;      /* Set-Cookie, or NULL */
    const char *location;    /* Location, or NULL */
    stream_source source;    /* STREAM, until the response has it */
    const char *bytes;       /* STATIC */
    size_t len;              /* STATIC; NOT_MODIFIED: what the 200 would have had */
    answer *what;            /* ANSWER, owned until the answer is sent */
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
    bool retried; /* the job is the handler, which has to ask a usage server */
    struct stream *stream; /* the answer, once it is one */
    bool over;    /* the body outgrew its limit: what comes is discarded */
    bool received; /* the body receiver has had it (front/body.h) */
    uint64_t received_bytes; /* that /metrics does not count yet */
    struct request *receiver_next, **receiver_at; /* the receiver's list */
    head head;        /* what it says; method and counts are empty */
    size_t path_len; /* of the target; 0: the head is refused */
    tb_text id; /* the path's {id} */
    unsigned allow;
    session session;      /* that the request came by; until_us 0: by none */
    int64_t account, key; /* who asks; key 0: nobody, REQUEST_KEY_TOKEN: the bearer of a token */
    uint32_t roles;
    int64_t start_us; /* monotonic */
    uint64_t number;  /* X-Request-Id */
    void *kept;       /* the handler's: goes with the request, whatever becomes of it */
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

/* What is asked: the path and, after its '?', the query. */
tb_text request_path(const request *r);
tb_text request_query(const request *r);
/* The path's n-th {}, from 0. */
tb_text request_part(const request *r, unsigned n);
tb_text request_header(const request *r, header_name name);
/* The moment that answers call now: the clock's, or the fixed one of TOLLBOOK_NOW. */
int64_t request_now_us(const request *r);

/* --- answers --- */

/* A refusal with the code's HTTP status, in the shape of the route's family (errors.h).
 * request_fail_as copies *err. */
void request_fail(request *r, tb_code code, const char *field, const char *fmt, ...)
    TB_PRINTF(4, 5);
void request_fail_as(request *r, const tb_error *err);
/* The same with its sentence, whoever asks. */
void request_fail_named(request *r, const tb_error *err);
/* Appends the members of a plain problem (errors.h), without braces. */
void request_put_problem(const request *r, const tb_error *err, tb_buf *out);
/* The same with the place in the input, if there is one: "Line 3, byte 7: ...". */
void request_fail_at(request *r, const tb_error *err);
/* r->text, cleared first by request_text(), is the body. */
tb_buf *request_text(request *r);
void request_answer_text(request *r, unsigned status, const char *content_type);
void request_answer_static(request *r, const char *bytes, size_t len, const char *content_type);
void request_answer_empty(request *r, unsigned status);
/* 200 with what source gives, which is released when it is sent or cannot be. */
void request_answer_stream(request *r, stream_source source, const char *content_type);
/* Says a failure of the server's own on standard error, a few times an interval and code. */
void request_complain(const request *r, const tb_error *err);
/* 200 with the answer, which is moved in; its ETag comes from r->tag_hash. again: it is from the
 * cache, so what is made for sending it is worth keeping with it. */
void request_answer(request *r, answer *what, bool again);

/* Whether If-None-Match names the answer that `hash` stands for: then 304 is answered and true
 * returned, before any work. "*" never does: whether anything exists is not known yet, and no
 * client of statistics asks so. Remembers the hash for the ETag of a full answer. */
bool request_not_modified(request *r, tb_hash128 hash);

/* The ETag, quoted and terminated, of an answer of this length and form; returns its length. */
size_t request_tag_text(tb_hash128 hash, size_t len, bool zipped, char out[REQUEST_TAG_MAX]);
/* What X-Request-Id says; not terminated. */
#define REQUEST_ID_TEXT 16
void request_id_text(const request *r, char out[REQUEST_ID_TEXT]);

/* Where it comes from: an address, terminated. */
#define REQUEST_PEER_TEXT 46
void request_peer_text(const request *r, char out[REQUEST_PEER_TEXT]);
/* A number of the address it comes from, for limits; not 0. Of IPv6 a network of 64 bits counts as one
 * address. Behind a proxy on this machine it is the one that the proxy names last. */
int64_t request_visitor(const request *r);

/* Hands r->job (run, bytes set) to the writer; `finish` is called when it is done. Where the writer
 * refuses, the error is answered. */
void request_submit(request *r);
/* The same to the job pool (jobs/pool.h): an answer that takes long, one that waits for another computer or a
 * hook, a body that takes long to parse. */
void request_submit_slow(request *r);
void request_submit_outbound(request *r);
void request_submit_parse(request *r);
/* Has the pool make the next piece of r->stream, since that usage server has to be asked for it. */
void request_submit_piece(request *r, size_t shard);

#endif
