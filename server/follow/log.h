/* One followed log: where it stands, and its next piece. */
#ifndef TOLLBOOK_SERVER_FOLLOW_LOG_H
#define TOLLBOOK_SERVER_FOLLOW_LOG_H

#include <sys/stat.h>
#include <time.h>

#include "follow/follow.h"
#include "follow/refused.h"

#define LOG_WINDOW    128
#define LOG_PATIENT   15 /* a log that is still being packed may pause for so many looks */
#define LOG_PIECE_MAX ((size_t)16 << 20) /* bytes of lines in one piece, about */
#define LOG_LONGER    64 /* so many full pieces after a shorter one was asked for, a longer one is tried */

typedef struct follow_log {
    dev_t dev;
    ino_t ino;
    char *path; /* its newest name */
    bool there; /* it has a name that is followed */
    bool regular;
    int fd; /* -1: closed */

    /* As it was seen last. */
    uint64_t size;
    struct timespec changed;
    bool fresh;     /* it has changed since the last turn that got to its end */
    bool settled;   /* and not since the look before the last */
    unsigned looks; /* since it has changed, as far as they are counted */

    bool begun;          /* its first line is there, and the sink was asked what it knows */
    bool later;          /* its last turn ended before it knew what others had sent */
    bool ask;            /* the sink is to be asked again from what it knows on */
    bool earlier;        /* so far a copy of a log that is known further */
    bool otherwise;      /* it is known under other options: nothing of it is sent, */
    bool told_otherwise; /* and that was said */
    char another[FEED_ANOTHER]; /* the options that differ */
    bool likely;         /* a log that begins with the same line is known under other options */
    bool looked;         /* for that was looked in this turn */
    uint64_t passed;     /* its bytes then, which add nothing; of a packed log too, once it is done */
    bool told_passed;    /* and that was said */
    bool packed;         /* gzip or zstd: nothing is written to its end */
    bool damaged;        /* it could not be unpacked: nothing is tried until it changes */
    feed_source *source; /* of a packed log that is being shipped */
    feed_reader *reader; /* of one that is begun; reader->known is what the sink has */
    tb_hash128 head;
    follow_proof proof; /* of what the sink has; of a packed log too, once it is done */
    bool doubted;       /* the sink is to be asked whether it has it still */
    char window[LOG_WINDOW]; /* the last bytes of what the sink has */
    size_t window_len;
    uint64_t *starts; /* known segments that start behind what the sink has: forks */
    size_t n_starts;
    uint64_t scanned; /* no line ends between what was read and this byte */
    size_t piece_max;
    unsigned full; /* pieces of that length since it became less */

    int64_t caught_up_ms; /* when it had nothing to ship; or was seen first */
    int64_t quiet_ms;     /* since when it has not changed */
    uint64_t shipped, lines, rejected;
    bool known_refused; /* the sink knew lines of it before the first was shipped, and all of them were refused */
    tb_code trouble;  /* what was said of it last; TB_OK: nothing, or it is over */
    int64_t trouble_ms; /* since when there is some */
    int64_t again_ms; /* a log that was refused is not sent again before */
    int64_t forgot_ms; /* when the sink had forgotten what it acknowledged of it; 0: never */
    uint64_t round;   /* of its last turn */
    bool more;        /* and there was more */
} follow_log;

/* What a turn needs of the follower. */
typedef struct follow_room {
    const follow_options *options;
    const follow_sink *sink;
    follow_totals totals;
    tb_buf piece;
    follow_proof last; /* of what the sink took last */
    struct timespec last_changed; /* while it took nothing: of the log that was written last. {0}: it took something */
    bool sink_failed; /* the last error was the sink's own */
    bool said_full;   /* that there are too few descriptors */
    follow_refused_step refused;
    bool told_place; /* that --zone or --region cannot be billed */
} follow_room;

follow_log *follow_log_new(const char *path, const struct stat *st, int64_t now_ms);
void follow_log_free(follow_log *log);
/* Notes what stat() says of it. counts: it is long enough after the last look to call it quiet. */
void follow_log_seen(follow_log *log, const struct stat *st, int64_t now_ms, bool counts);
/* Forgets where it stands. */
void follow_log_restart(follow_log *log);
/* The same of one of which the sink lacks something: it is read again, packed or not. */
void follow_log_lacked(follow_log *log);

/* Opens it by its name, if it is not open. TB_E_NOT_FOUND: the name leads elsewhere by now, or
 * there is no descriptor. */
TB_MUST_USE tb_code follow_log_open(follow_log *log, follow_room *room, tb_error *err);
void follow_log_close(follow_log *log);
/* As much as there is from that byte on, up to cap. */
TB_MUST_USE tb_code follow_log_read(const follow_log *log, uint64_t at, char *bytes, size_t cap,
                                    size_t *ret_n, tb_error *err);
/* Notes the last of these bytes, which the sink has; or those that it said it knows. */
void follow_log_note(follow_log *log, const char *bytes, size_t len);
TB_MUST_USE tb_code follow_log_note_known(follow_log *log, tb_error *err);
/* Whether the file still begins with what was read of it. */
TB_MUST_USE tb_code follow_log_same(const follow_log *log, bool *ret_same, tb_error *err);

/* Ships its next piece. *ret_more: there may be another one. On failure it stands where it stood;
 * room->sink_failed says whose the error is. */
TB_MUST_USE tb_code follow_log_turn(follow_log *log, follow_room *room, bool *ret_more,
                                    tb_error *err);

/* Bytes that the sink does not have, a last line without its end apart. Of a packed log, 1 where it
 * is not done. */
uint64_t follow_log_lag(const follow_log *log);
/* Bytes of a last line without its end. */
uint64_t follow_log_waiting(const follow_log *log);

#endif
