/* Feed: an input's bytes through intake and rollup into the store, in bounded memory.
 *
 * A log is taken in segments, each its own transaction; every committed segment records the length
 * and hash of the decompressed input up to its end, and a later run skips the longest prefix that
 * the store knows. So the same file again adds nothing, a killed run continues where it stopped,
 * and a log that has grown adds only its new lines (docs/design/intake.md).
 *
 * Between segment ends the store knows rungs, hashes of prefixes at doubling lengths. A log that
 * agrees with a known one up to a rung and ends before the next one, while the known one goes on,
 * is an earlier copy of it and nothing new.
 *
 * Where a batch id is given it names exactly these bytes: the same again changes nothing, other
 * bytes are TB_E_BATCH_CONFLICT and change nothing. */
#ifndef TOLLBOOK_SERVER_FEED_H
#define TOLLBOOK_SERVER_FEED_H

#include <stdatomic.h>

#include "feed/fit.h"
#include "tollbook/batches.h"
#include "tollbook/store.h"

typedef enum feed_encoding {
    FEED_DETECT, /* by the first bytes: gzip, zstd or plain */
    FEED_PLAIN,
    FEED_GZIP,
    FEED_ZSTD,
} feed_encoding;

typedef struct feed_progress {
    uint64_t lines, bytes;     /* decompressed, so far */
    uint64_t read, total_read; /* as stored: bytes of the file read, and its size (0: unknown) */
} feed_progress;

/* A piece of an input, hashed by whoever cut it: the bytes start..length of it, whole lines or the
 * unterminated last one alone. It is recorded as the segment that it names, not as an input. */
typedef struct feed_piece {
    uint64_t start, length, lines_before;
    tb_hash128 head, hash; /* as a segment's */
    bool final;            /* the input ends here */
    int64_t known;         /* segments that its sender knows of this log or batch; -1: any number */
    int64_t behind;        /* those of them that start at `start` or after it; -1: as `known` says.
                            * Looking for these alone costs the same however long the log is */
    const tb_rung *rungs;  /* ascending; those of the input between start and length at least */
    size_t n_rungs;
} feed_piece;

typedef struct feed_options {
    tb_batch_kind kind;
    tb_log_layout layout; /* logs: format, zone, edge, now_ms. Buckets: now_ms alone. The edges that
                           * regions have, and hostnames, are the feed's to fill in */
    const tb_directory *directory; /* to read lines with; NULL: the store's own */
    const char *batch;             /* explicit batch id, or NULL */
    const char *source;            /* name for people: the file's */
    const feed_piece *piece; /* the bytes are only this; NULL: they are an input of their own */
    bool cells;              /* the bytes are its cells (tollbook/batches.h); feed_parse alone */
    bool stop_on_error;      /* end at the first refused line, else count and keep it */
    bool whole;              /* one transaction for the whole input, or nothing (import) */
    bool bounded;           /* TB_E_TOO_LARGE if it would block other requests for long (feed_parse) */
    bool take_partial_line; /* an unterminated last line of a plain file is taken (--final) */
    unsigned threads;       /* >= 1 */
    uint64_t segment_bytes; /* 0: the default */
    size_t max_groups;      /* 0: the default */
    bool alone;             /* no other request waits for the caller's transaction */
    bool many_copies;       /* of a bounded run: see feed_take */
    size_t block_bytes;     /* bytes that a worker reads at once; 0: the default */
    size_t log_room;        /* bytes of request logs that may be gathered before packing; 0: the default */
    size_t log_packed;      /* 0: the default: packed bytes at which a worker writes its blocks */
    int64_t now_us;
    void (*progress)(void *ctx, const feed_progress *progress); /* may be NULL; seldom called */
    void *progress_ctx;
    /* May be NULL. Once true (a signal handler may set it) the run ends at the next line end that
     * it has reached: what it took is committed, or nothing where `whole`. */
    const atomic_bool *stop;
} feed_options;

/* Refused lines of a bounded input. */
#define FEED_REFUSED_MAX 1000000
#define FEED_WHY_MAX     200
#define FEED_HEAVY       ((size_t)50 << 20) /* a run that weighs more is to be alone in its transaction */

typedef struct feed_report {
    uint64_t lines, accepted, rejected; /* of the new part of the input */
    uint64_t ambiguous;                 /* of accepted: with columns that could not be told apart */
    feed_fits fits;                     /* of its refused lines */
    bool host_in_front;                 /* combined lines that begin with a host, which their zone does not go by */
    feed_form host_form;                /* by which it would */
    bool undeclared_zone;               /* no account has the pull zone that the layout gives all lines */
    bool unnamed_region;                /* and no region has its edge location */
    uint64_t known_lines, known_bytes;  /* skipped: the store had them */
    uint64_t bytes;                     /* decompressed bytes of the input taken or skipped */
    uint64_t waiting_bytes;             /* unterminated last line left for later; 0 if none */
    bool known_refused;                 /* of known_lines every one was refused */
    bool unended;                       /* the last line that was read has no end yet */
    bool nothing_new;                   /* every byte was known: a duplicate */
    bool earlier_copy;                  /* and the input a shorter copy of a log known further */
    bool interrupted;                   /* options->stop ended the run: run it again to go on */
    uint64_t stop_line, stop_byte;      /* with stop_on_error: where it stands; 0 if not */
    tb_reject_reason first_reason;      /* of the first refused line of this run */
    uint64_t first_line, first_byte;    /* its place; 0 where none */
    char first_why[FEED_WHY_MAX];       /* its own sentence, cut */
} feed_report;

/* Whether every line of the input's new part, or of all of it where nothing is new, was refused. A
 * last line without its end that follows known ones does not count: it is read anew once it has
 * one. */
bool feed_all_refused(const feed_report *report);

/* Adds the counts of a later piece of the same input, and its first refused line if there was none. */
void feed_report_add(feed_report *all, const feed_report *piece);

/* Feeds a file ("-": standard input) in separate transactions. On failure *ret_report says what
 * was committed before; err->line and err->byte say where it stands. */
TB_MUST_USE tb_code feed_file(tb_store *store, const char *path, const feed_options *options,
                              feed_report *ret_report, tb_error *err);

/* Whether this may be a batch's name: 1 to 255 printable ASCII characters, no space at the ends. */
bool feed_batch_name(const char *name, size_t len);
/* TB_E_BATCH_CONFLICT, with its sentence. */
tb_code feed_conflict(const char *batch, tb_error *err);

/* Bytes in memory. plain_max bounds the decompressed size: TB_E_TOO_LARGE. */
typedef struct feed_body {
    const void *bytes;
    size_t len;
    feed_encoding encoding;
    size_t plain_max;
} feed_body;

/* Feeds bytes in memory inside the caller's transaction (nothing is committed here; on failure
 * the caller goes back to its mark). The last line needs no end. */
TB_MUST_USE tb_code feed_memory(tb_store *store, const feed_body *body, const feed_options *options,
                                feed_report *ret_report, tb_error *err);

/* The same in two steps, so that lines are parsed while others write. feed_parse reads what is
 * known of the input in the reader's snapshot and parses the rest; body and options live as long as
 * the run. feed_take is called once, in a transaction. *ret_stale: what was read has changed
 * meanwhile, as another sender sent a part of the same input, or a catalogue was applied. Nothing was taken
 * then: parse again. A bounded run copies no more days than others can wait for (tb_store_bound_work): few
 * where it is not heavy and options->many_copies is not set. */
typedef struct feed_run feed_run;
TB_MUST_USE tb_code feed_parse(tb_store *reader, const feed_body *body, const feed_options *options,
                               feed_run **ret_run, tb_error *err);
TB_MUST_USE tb_code feed_take(feed_run *run, tb_store *store, feed_report *ret_report,
                              bool *ret_stale, tb_error *err);
/* For a body of cells: which of the requested keys may be sent as cells, by their indexes. */
const uint32_t *feed_run_granted(const feed_run *run, size_t *ret_n);
size_t feed_run_cells(const feed_run *run);
size_t feed_run_bytes(const feed_run *run);  /* of memory, about */
size_t feed_run_weight(const feed_run *run); /* about as many nanoseconds of the writer, at most */
void feed_run_free(feed_run *run);          /* NULL is fine */

#endif
