/* A run of the feed: declarations that its files share.
 *
 *     feed.c     the run: known segments, then part by part to the end of the input
 *     blocks.c   workers take blocks and parse them, until a part has ended
 *     weight.c   estimates the writer's work
 *     segment.c  stores the parsed lines in the store's open transaction
 *     withdraw.c the same run over segments that are known, whose usage and lines are taken out of the store */
#ifndef TOLLBOOK_SERVER_FEED_RUN_H
#define TOLLBOOK_SERVER_FEED_RUN_H

#include <pthread.h>

#include "feed/known_options.h"
#include "feed/worker.h"

#define FEED_THREADS_MAX 256

/* Why a part ended; a later one in this list outranks an earlier one. */
typedef enum ending {
    NOT_ENDED,
    ENDED_BEFORE_TAIL, /* the next line may be the unterminated last one: it is parsed alone */
    ENDED_FULL,
    ENDED_BYTES,
    ENDED_INPUT,
    ENDED_STOPPED,
    ENDED_BAD_LINE,
    ENDED_FAILED,
    ENDED_KNOWN, /* the parsed lines are dropped, whatever their result */
} ending;

/* A line of a block. */
typedef struct feed_place {
    size_t block;
    uint64_t line; /* 1 = first line of the block; 0: no place */
} feed_place;

struct feed_run {
    tb_store *store;             /* apart: a reader, and NULL once it has parsed */
    const feed_options *options; /* own_options, completed from the directory */
    feed_options own_options;
    const tb_directory *directory; /* retained */
    bool own;                      /* the transactions are ours */
    bool apart;                    /* there is no transaction yet: nothing is written */
    struct feed_withdrawn *undo;   /* not NULL: the parsed usage will be subtracted (withdraw.c) and is counted here */
    feed_source *source;
    feed_reader reader;
    tb_hash128 head;
    bool begins;            /* the input's first byte is here, and a line that is no head */
    feed_known_options log_options; /* if `begins`: the options under which it may be known */
    feed_worker *workers;
    size_t n_workers;
    tb_rollup_cursor *cursor; /* over the parsed usage; NULL: not yet */
    bool packs;               /* the store takes packs */
    tb_usage_pack *pack;      /* for the parsed usage; NULL: none was needed yet */
    bool packed;              /* the pack holds the parsed usage */
    tb_event_ref *events;     /* that they have parsed, in order; NULL: not yet, or there are none */
    size_t n_events;
    feed_metered metered;     /* of usage lines of meters */
    int64_t undone_segment;   /* of an undo: the segment that is parsed */
    int64_t undone_samples;   /* likewise: its tb_segment.samples */
    uint64_t segment_bytes;
    feed_keeper keeper; /* of raw lines; keeper.zones NULL: none are kept */

    pthread_mutex_t writing; /* of the store, for the workers; never taken under `lock`, nor `lock` under it */
    bool open; /* a transaction of ours is open; guarded by `writing` while workers run */

    pthread_cond_t block_done; /* with `lock`: a worker has parsed its block */
    pthread_mutex_t lock; /* of everything below while workers run */
    ending ended;
    tb_code code;
    tb_error err;
    size_t failed_block;
    uint32_t *counts; /* lines per block since the last flush */
    size_t n_counts, cap_counts;
    uint64_t lines; /* sum of counts */
    uint64_t progress_at;

    bool parsed;         /* the first part's workers have run */
    uint64_t seen;       /* feed_known_sum of the known segments when the input was parsed */
    bool final_known;    /* the batch's last segment is in the store */
    uint64_t start;      /* where the running segment starts */
    uint64_t flushed_at; /* where the last flush was */
    uint64_t tail_at;    /* the offset of the line that was announced last, and the hash up to it */
    tb_hash128 tail_hash;
    uint64_t lines_before;       /* lines of the input before the running segment */
    uint64_t accepted, rejected; /* of the running segment, flushed */
    uint64_t too_new;            /* of rejected: because of the clock */
    uint64_t in_time;            /* of rejected: for another reason, at a time that the clock allows */
    bool time_goes_back;         /* a line that the clock allows follows the first that is too new */
    uint64_t ambiguous, heads;   /* of accepted */
    size_t rejects_stored;
    uint64_t segments;
    /* lines of blocks since the last flush */
    uint64_t refused, refused_too_new, refused_in_time, taken_ambiguous, taken_heads;
    feed_place first_too_new, last_in_time; /* of these lines; {0}: there is none */
    tb_error first; /* the running segment's first refused line: place and sentence */
    tb_reject_reason first_reason;
    feed_report report;
    size_t weight; /* feed_run_weigh */
    uint32_t *granted; /* of the keys that a body of cells requested: those that may be sent as cells */
    size_t n_granted;
};

/* --- feed.c --- */

/* Opens the parsers of an input, from run->source and run->options. Close the run also after an error; that closes the source. */
TB_MUST_USE tb_code feed_run_open(feed_run *run, tb_error *err);
void feed_run_close(feed_run *run);
/* A worker's rollup, empty; NULL: out of memory. */
tb_rollup *feed_run_rollup(const feed_run *run);
/* Likewise, for usage of meters. */
tb_meter_batch *feed_run_meter_batch(const feed_run *run);
/* The error of a worker or of the reader. A row's line is counted over the whole input. */
tb_code feed_run_failed(feed_run *run, tb_error *err);

/* --- blocks.c --- */

/* Runs the workers until the part has ended: run->ended says why. */
void feed_run_workers(feed_run *run);
/* For a worker, while it parses: waits until all blocks before its block are parsed. */
void feed_run_turn(feed_run *run, feed_worker *worker);

/* --- weight.c --- */

/* Estimates the writer's work as run->weight, in nanoseconds. Events are in order. TB_E_TOO_LARGE: it is more than one body
 * may take where others wait. */
TB_MUST_USE tb_code feed_run_weigh(feed_run *run, tb_error *err);

/* The days of usage that the run may copy; 0: any number. A copied day takes a microsecond: 400 ms for a run that has its
 * transaction alone. */
#define FEED_COPIES_ALONE ((size_t)400000)
size_t feed_run_copies(const feed_run *run);

/* --- segment.c --- */

/* Begins the transaction if it is ours and not open yet. */
TB_MUST_USE tb_code feed_run_begin(feed_run *run, tb_error *err);
void feed_run_roll_back(feed_run *run);
/* Drops the lines parsed since the last flush. */
void feed_run_clear(feed_run *run);
/* Lines of the input before block `to`, from those before block `from`. */
uint64_t feed_run_count(const feed_run *run, uint64_t before, size_t from, size_t to);
/* Lines of the input that are in the store, or in its open transaction. */
uint64_t feed_run_flushed(const feed_run *run);
/* Notes where the clock's limit lies in the block that the worker has parsed. */
void feed_run_note_limit(feed_run *run, const feed_worker *worker);
/* Notes the running segment's first refused line, once. */
void feed_run_note_first(feed_run *run);
/* TB_E_BAD_LINE: the running segment's first refused line ends the run. */
tb_code feed_run_refuse(feed_run *run, tb_error *err);
/* Puts the events that were parsed since the last flush in order, once. */
TB_MUST_USE tb_code feed_run_order_events(feed_run *run, tb_error *err);
/* Sorts or packs the usage and events parsed since the last flush, once. Nothing is parsed between this and
 * the flush. */
TB_MUST_USE tb_code feed_run_order(feed_run *run, tb_error *err);
/* Everything parsed so far into the open transaction. */
TB_MUST_USE tb_code feed_run_flush(feed_run *run, tb_error *err);
void feed_run_start_segment(feed_run *run, uint64_t at, uint64_t lines_before);
/* The running segment, as far as `end`, becomes part of the store and the next one starts. */
typedef struct feed_end {
    uint64_t at;
    tb_hash128 hash;
    bool final;
    bool goes_on; /* the transaction does */
} feed_end;
TB_MUST_USE tb_code feed_run_end_segment(feed_run *run, feed_end end, tb_error *err);

#endif
