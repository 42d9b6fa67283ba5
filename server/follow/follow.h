/* Follow: logs that grow, are rotated and vanish, shipped as they are written, each line once.
 *
 * A log is an inode. Its new whole lines go to a sink as a piece, which names its log and its byte range by the running
 * hash of everything up to its end (feed.h, "pieces"). The sink is a server or a database. It refuses pieces that it
 * already has, so the follower stores no state between two runs: at its start it reads each log once, asks the sink
 * what it knows of it, and continues after that. A piece that was not acknowledged is read and sent again. A sink that
 * was restored from a backup gets the data it lost again, also of logs that no longer grow.
 *
 * One thread; nothing here reads a clock, waits or prints. */
#ifndef TOLLBOOK_SERVER_FOLLOW_H
#define TOLLBOOK_SERVER_FOLLOW_H

#include "feed/feed.h"
#include "feed/known_options.h"
#include "tollbook/buf.h"

/* The segments of a log that a sink has, from a byte on. */
typedef feed_log_known follow_known;

/* The last segment of a log that the sink has, as far as is known here. length 0: none. */
typedef struct follow_proof {
    tb_hash128 head, hash;
    uint64_t start, length, lines; /* as a tb_known's */
} follow_proof;

typedef enum follow_held {
    FOLLOW_HELD,
    FOLLOW_LACKED, /* the sink lost it: it was restored from a backup */
    FOLLOW_LEFT,   /* it was withdrawn, or the sink cannot tell whether it was */
} follow_held;

typedef struct follow_body {
    const char *path; /* the log's newest name, for people */
    const char *bytes;
    size_t len;
} follow_body;

/* Where pieces go. An error of which follow_is_logs() is true concerns this log alone; any other is the sink's own: it
 * takes no piece of any log (BUSY, IO, a wrong key). */
typedef struct follow_sink {
    void *ctx;
    tb_code (*known)(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known,
                     tb_error *err);
    /* TB_OK: it is stored for good. TB_E_BATCH_CONFLICT: another sender sent a part of it before. */
    tb_code (*take)(void *ctx, const feed_piece *piece, const follow_body *body,
                    feed_report *ret_report, tb_error *err);
    int64_t (*retry_after_ms)(void *ctx); /* the wait that the last failure asked for; 0: none */
    /* Whether the sink still has this segment. All errors are the sink's own. NULL: it never loses data. */
    tb_code (*holds)(void *ctx, const follow_proof *proof, follow_held *ret_held, tb_error *err);
} follow_sink;

/* Whether such an error of a sink concerns one log alone. */
bool follow_is_logs(tb_code code);

typedef struct follow_options {
    char *const *names; /* files and patterns; a name that exists is no pattern */
    size_t n_names;
    tb_log_layout layout;
    int64_t every_ms;
    uint64_t bytes; /* a log with this many new bytes is shipped before every_ms is over */
    bool once;      /* compressed logs are taken at first sight, logs that are gone are dropped */
    size_t descriptors; /* logs kept open at most */
    const atomic_bool
        *stop; /* may be NULL. Once true, long reading ends and nothing new is begun */
    void (*say)(void *ctx, const char *path, const char *sentence);
    uint32_t (*chance)(void *ctx); /* 32 random bits */
    void *ctx;
} follow_options;

/* What happened since the start. */
typedef struct follow_totals {
    uint64_t pieces, bytes, lines, accepted, rejected;
    uint64_t failures;  /* of the sink */
    uint64_t conflicts; /* pieces that another sender had sent */
    uint64_t restarts;  /* logs that were truncated or written anew in place */
    uint64_t earlier_copies; /* logs that are earlier copies of known ones, each time one was reported */
    uint64_t lost_logs; /* logs that were gone before they were read to their end */
    uint64_t troubles;  /* logs that could not be read or were refused, each time one was reported */
} follow_totals;

typedef struct follow follow;

/* options are copied, what they point to is borrowed. NULL: out of memory. */
follow *follow_new(const follow_options *options, const follow_sink *sink);
void follow_free(follow *f);

/* Looks at everything and ships what is due. *ret_wait_ms: how long to wait for the next round.
 * TB_E_NOMEM only; other failures are reported through `say` and tried again. */
TB_MUST_USE tb_code follow_round(follow *f, int64_t now_ms, int64_t *ret_wait_ms, tb_error *err);
/* Ships the rest of the logs that are being followed, due or not, until `leave` returns true. */
void follow_last(follow *f, int64_t now_ms, bool (*leave)(void *ctx), void *ctx);

/* Whether everything was shipped and taken, except lines without an end. */
bool follow_caught_up(const follow *f);
/* Whether the last piece was taken. */
bool follow_sink_works(const follow *f);
/* Whether a log is in trouble now: unreadable, refused, damaged. */
bool follow_troubled(const follow *f);
/* The same for a run with `once`. Missing files and logs with only refused lines count, too, since the caller's exit
 * status depends on it; the latter are reported. */
bool follow_once_troubled(const follow *f);
follow_totals follow_sums(const follow *f);
/* The figures as Prometheus text. unix_ms: the wall clock. */
void follow_metrics(const follow *f, int64_t now_ms, int64_t unix_ms, tb_buf *out);

#endif
