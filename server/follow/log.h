/* One followed log: its state, and shipping its next piece. */
#ifndef TOLLBOOK_SERVER_FOLLOW_LOG_H
#define TOLLBOOK_SERVER_FOLLOW_LOG_H

#include <sys/stat.h>
#include <time.h>

#include "follow/follow.h"
#include "follow/refused.h"

#define LOG_WINDOW    128
#define LOG_PATIENT   15 /* looks without a change after which a packed log counts as complete */
#define LOG_PIECE_MAX ((size_t)16 << 20) /* bytes of lines in one piece, about */
#define LOG_LONGER    64 /* full pieces until a longer one is tried, after a shorter one was asked for */

typedef struct follow_log {
    dev_t dev;
    ino_t ino;
    char *path; /* its newest name */
    bool there; /* it has a name that is followed */
    bool regular;
    int fd; /* -1: closed */

    /* As of the last scan. */
    uint64_t size;
    struct timespec changed;
    bool fresh;     /* it has changed since the last turn that got to its end */
    bool settled;   /* it has not changed since the scan before */
    unsigned looks; /* counted scans since it last changed */

    bool begun;          /* its first line is complete, and the sink was asked for its segments */
    bool later;          /* its last turn ended with a conflict; a later turn goes on */
    bool ask;            /* the sink is to be asked for newer segments */
    bool earlier;        /* so far a copy of a known log that is longer */
    uint64_t earlier_bytes; /* the bytes of that copy, which add nothing; of a packed log too, once it is done */
    bool told_earlier;      /* it was reported as an earlier copy */
    bool other_options;     /* it is known under other options, so nothing of it is sent */
    bool told_other_options;     /* that was reported */
    char options_text[FEED_OPTIONS_TEXT]; /* the options that differ */
    bool may_have_other_options; /* a log that begins with the same line is known under other options */
    bool checked_options;        /* that was checked in this turn */
    bool packed;         /* gzip or zstd: nothing is appended to it */
    bool damaged;        /* it could not be unpacked: it is not tried again until it changes */
    feed_source *source; /* a packed log that is being shipped; else NULL */
    feed_reader *reader; /* of a log that is begun; reader->known is what the sink has */
    tb_hash128 head;
    follow_proof proof; /* the last segment that the sink has; of a packed log too, once it is done */
    bool unverified;    /* the sink is to be asked whether it still has that segment */
    char window[LOG_WINDOW]; /* the last bytes of what the sink has */
    size_t window_len;
    uint64_t *starts; /* where known segments after what the sink has start: forks */
    size_t n_starts;
    uint64_t scanned; /* no line ends between what was read and this byte */
    size_t piece_max;
    unsigned full; /* pieces of that length since it was reduced */

    int64_t caught_up_ms; /* when it last had nothing to ship, or was first seen */
    int64_t quiet_ms;     /* since when it has not changed */
    uint64_t shipped, lines, rejected;
    bool known_refused; /* the sink knew lines of it before the first was shipped, and all of them were refused */
    tb_code trouble;  /* its last failure that was reported; TB_OK: none, or it is over */
    int64_t trouble_ms; /* since when it has one */
    int64_t again_ms; /* a refused log is not sent again before this */
    int64_t forgot_ms; /* when the sink was found to have lost data of it; 0: never */
    uint64_t round;   /* of its last turn */
    bool more;        /* that turn left more to ship */
} follow_log;

/* The state that the turns of all logs share. */
typedef struct follow_shared {
    const follow_options *options;
    const follow_sink *sink;
    follow_totals totals;
    tb_buf piece;
    follow_proof last; /* the last segment that the sink took */
    struct timespec last_changed; /* of the log of `last`, until the sink takes a piece; then {0} */
    bool sink_failed; /* the last error was the sink's own, not the log's */
    bool said_full;   /* it was reported that there are too few descriptors */
    follow_refused_step refused;
    bool told_place; /* it was reported that --zone or --region cannot be billed */
} follow_shared;

follow_log *follow_log_new(const char *path, const struct stat *st, int64_t now_ms);
void follow_log_free(follow_log *log);
/* Notes the result of a stat(). counts: the last counted scan was long enough ago to call an unchanged log quiet. */
void follow_log_seen(follow_log *log, const struct stat *st, int64_t now_ms, bool counts);
/* Resets it, to be read from its beginning. */
void follow_log_restart(follow_log *log);
/* The same for a log of which the sink lost data; a packed log stays packed. */
void follow_log_lacked(follow_log *log);

/* Opens it by its name, if it is not open. TB_E_NOT_FOUND: the name leads to another file by now, or
 * there is no descriptor. */
TB_MUST_USE tb_code follow_log_open(follow_log *log, follow_shared *shared, tb_error *err);
void follow_log_close(follow_log *log);
/* Reads up to cap bytes from `at` on, less at the file's end. */
TB_MUST_USE tb_code follow_log_read(const follow_log *log, uint64_t at, char *bytes, size_t cap,
                                    size_t *ret_n, tb_error *err);
/* Keeps the last LOG_WINDOW bytes before what the sink has: those of a piece it took, or those before the end of what
 * it said it knows. follow_log_same compares them. */
void follow_log_note(follow_log *log, const char *bytes, size_t len);
TB_MUST_USE tb_code follow_log_note_known(follow_log *log, tb_error *err);
/* Whether the file still begins with what was read of it. */
TB_MUST_USE tb_code follow_log_same(const follow_log *log, bool *ret_same, tb_error *err);

/* Ships its next piece. *ret_more: there may be another one. A failure leaves the log where it was;
 * shared->sink_failed says whether the error is the sink's. */
TB_MUST_USE tb_code follow_log_turn(follow_log *log, follow_shared *shared, bool *ret_more,
                                    tb_error *err);

/* Bytes that the sink does not have, without a last line that has no end. Of a packed log, 1 if it is not done. */
uint64_t follow_log_lag(const follow_log *log);
/* Bytes of a last line that has no end. */
uint64_t follow_log_waiting(const follow_log *log);

#endif
