/* The options under which a log is known: its format, map, region and zone.
 *
 * A log's hashes are seeded with these options (hash.h), so the same bytes under other options look like another log.
 * So that they do not count twice, a note is stored beside the first segment of each log that is not a pipe log. It
 * holds the seed and hashes of the options, and is found by a hash of the log's first line alone. A note is stored as a
 * rung of length 1 under a head of its own. It only says which seeds to try: a log is known if its segments are, and a
 * note may outlive them. A pipe log has seed 0 and needs no note. Logs that were taken in before notes existed have none,
 * and are not recognised under other options.
 *
 * Two logs may begin alike by chance, with the same greeting or the same request of a health check. So a log counts as
 * the known one only if FEED_IDENTIFY_BYTES of it are known, or all its lines. A client that takes in a growing log
 * checks again until that many bytes are there: the store gets only the new lines of a piece that does not begin the log. */
#ifndef TOLLBOOK_SERVER_FEED_KNOWN_OPTIONS_H
#define TOLLBOOK_SERVER_FEED_KNOWN_OPTIONS_H

#include "feed/reader.h"

#define FEED_KNOWN_OPTIONS_MAX 17 /* of logs with the same first line, with the pipe log's: later ones get no note */
#define FEED_IDENTIFY_LINES    2
#define FEED_IDENTIFY_BYTES    ((uint64_t)FEED_RUNG_FIRST)
#define FEED_IDENTIFY_WINDOW   ((size_t)64 << 10) /* the part of a log's beginning that is compared */

typedef struct feed_log_options {
    uint64_t seed;
    bool heads;       /* as in feed_hash_head */
    uint64_t options; /* feed_hash_options; 0: not noted */
} feed_log_options;

typedef struct feed_known_options {
    tb_hash128 plain; /* where the notes are: the hash of the first line, whatever the options */
    feed_log_options list[FEED_KNOWN_OPTIONS_MAX]; /* a pipe log's, then the noted ones */
    tb_hash128 heads[FEED_KNOWN_OPTIONS_MAX];      /* of the log under each; set if `looked` */
    bool looked;
    uint64_t seen; /* the sum of feed_known_sum over the segments known under them */
    size_t n;
} feed_known_options;

/* How much of a log is known under other options: those under which most of it is known. */
typedef struct feed_other_options {
    feed_log_options as;
    uint64_t bytes;
    uint64_t own;  /* if `tells`: how many of these bytes are known under the log's own options */
    uint64_t sure; /* how many of `bytes` were compared by hash */
    bool tells;    /* they are enough to say that it is this log */
    bool likely;   /* a log that begins with the same line is known under other options */
} feed_other_options;

/* The known segments of a log. The caller frees the arrays. */
typedef struct feed_log_known {
    tb_known *list;
    size_t n;
    tb_rung *rungs;
    size_t n_rungs;
} feed_log_known;

/* A store or a sink, which can list the known segments of a log: those that start at byte `from` or after it, at least
 * those within the window. */
typedef struct feed_known_source {
    void *ctx;
    tb_code (*known)(void *ctx, tb_hash128 head, uint64_t from, feed_log_known *ret_known, tb_error *err);
} feed_known_source;

/* The options of a log that is read with this layout. */
feed_log_options feed_log_options_of(const tb_log_layout *layout);
/* Names the options that differ: "another region", say. */
#define FEED_OPTIONS_TEXT 48
void feed_log_options_describe(feed_log_options own, feed_log_options other, char text[FEED_OPTIONS_TEXT]);
bool feed_known_options_has(const feed_known_options *options, uint64_t seed);
/* Whether this much of a log is enough to tell it from others. */
bool feed_identifies_log(uint64_t bytes, uint64_t lines, bool taken);

TB_MUST_USE tb_code feed_known_options_read(tb_store *store, tb_hash128 plain, feed_known_options *ret_options,
                                            tb_error *err);
/* The hash under which the notes of a log are stored that begins so. */
tb_hash128 feed_known_options_head(tb_text beginning);
/* Stores a note, in the transaction that stores the log's first segment. */
TB_MUST_USE tb_code feed_known_options_add(tb_store *store, tb_hash128 plain, feed_log_options options, tb_error *err);
/* Nothing was read or skipped by the reader yet. The result is empty if the log has only head lines so far, which are the
 * same in many logs. */
TB_MUST_USE tb_code feed_known_options_find(const feed_known_source *known_source, feed_reader *reader,
                                            feed_known_options *ret_options, feed_other_options *ret, tb_error *err);
/* The same for a log that begins with this text. */
TB_MUST_USE tb_code feed_known_options_find_in(const feed_known_source *known_source, tb_text beginning,
                                               feed_log_options own, feed_other_options *ret, tb_error *err);
/* Whether a client must stop sending a log of which `bytes` are known: more of it is known under other options. If as much
 * is known (two clients may both check before either sends), the one with the smaller seed continues. */
bool feed_should_yield(const feed_other_options *other, feed_log_options own, uint64_t bytes);
/* Call before the first line is read. TB_E_OTHER_OPTIONS: more of the log is known under other options than under `own`. */
TB_MUST_USE tb_code feed_known_options_check(tb_store *store, feed_reader *reader, feed_log_options own,
                                             feed_known_options *ret_options, tb_error *err);
/* Fails with TB_E_OTHER_OPTIONS and its message. */
tb_code feed_known_options_refuse(feed_log_options own, const feed_other_options *other, tb_error *err);
/* Whether the notes, and the segments known under them, are unchanged. */
TB_MUST_USE tb_code feed_known_options_unchanged(tb_store *store, const feed_known_options *options, bool *ret_so,
                                                 tb_error *err);

#endif
