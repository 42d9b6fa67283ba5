/* Readings: under which options a log is known.
 *
 * A log's hashes are seeded with its options (hash.h), so the same bytes under another format, map,
 * region or zone look like another log. So that they do not count twice, a note is kept beside the
 * segment of a log that is not a pipe log: the seed, and hashes of its options, by the log's first line alone. The note is a
 * rung of length 1 under a head of its own. It says where to look; what is known are segments as
 * ever, and a note may outlive them. A pipe log has seed 0 and needs no note. What was taken in
 * before there were notes has none, and is not known under other options.
 *
 * Two logs may begin alike by chance, with the same greeting or the same question of a health check. So a log is the
 * known one where FEED_READING_BYTES of it are known, or all its lines. A client that takes in a growing log looks again until
 * so much of it is there: the store gets only the new lines of a piece that does not begin the log. */
#ifndef TOLLBOOK_SERVER_FEED_READINGS_H
#define TOLLBOOK_SERVER_FEED_READINGS_H

#include "feed/reader.h"

#define FEED_READINGS_MAX   17 /* of logs with one first line, and a pipe log's: later ones are not noted */
#define FEED_READING_LINES  2
#define FEED_READING_BYTES  ((uint64_t)FEED_RUNG_FIRST)
#define FEED_READING_WINDOW ((size_t)64 << 10) /* so much of a log's beginning decides */

typedef struct feed_reading {
    uint64_t seed;
    bool heads; /* feed_hash_head's */
    uint64_t options; /* feed_hash_options; 0: it was not noted */
} feed_reading;

typedef struct feed_readings {
    tb_hash128 plain; /* where the notes are: of the first line, whatever the options */
    feed_reading list[FEED_READINGS_MAX]; /* a pipe log's and those that are noted */
    tb_hash128 heads[FEED_READINGS_MAX];  /* of the log under each; once it was looked at: */
    bool looked;
    uint64_t seen; /* the sum of feed_known_sum over what was known under them */
    size_t n;
} feed_readings;

/* How much of a log is known under those other options under which most of it is. */
typedef struct feed_otherwise {
    feed_reading as;
    uint64_t bytes;
    uint64_t own;  /* how much of the same bytes is known as the log is read, where `tells` */
    uint64_t sure; /* of `bytes`, those that were compared by hash */
    bool tells;    /* they are enough to say that it is this log */
    bool likely;   /* a log that begins with the same line is known under other options */
} feed_otherwise;

/* What is known of a log. The arrays are the caller's to free. */
typedef struct feed_log_known {
    tb_known *list;
    size_t n;
    tb_rung *rungs;
    size_t n_rungs;
} feed_log_known;

/* A store, or a sink, which says what is known of a log: the segments that start at byte `from` or after it, those within the
 * window at least. */
typedef struct feed_knower {
    void *ctx;
    tb_code (*known)(void *ctx, tb_hash128 head, uint64_t from, feed_log_known *ret_known, tb_error *err);
} feed_knower;

/* As the log is read by this layout. */
feed_reading feed_reading_of(const tb_log_layout *layout);
/* What the log is taken in under: "another region", say. */
#define FEED_ANOTHER 48
void feed_reading_another(feed_reading own, feed_reading other, char text[FEED_ANOTHER]);
bool feed_readings_have(const feed_readings *readings, uint64_t seed);
/* Whether so much of a log tells it from others. */
bool feed_reading_tells(uint64_t bytes, uint64_t lines, bool taken);

TB_MUST_USE tb_code feed_readings_read(tb_store *store, tb_hash128 plain,
                                       feed_readings *ret_readings, tb_error *err);
/* Where notes of a log are that begins so. */
tb_hash128 feed_readings_plain(tb_text beginning);
/* In the transaction that holds the log's segment. */
TB_MUST_USE tb_code feed_readings_note(tb_store *store, tb_hash128 plain, feed_reading reading,
                                       tb_error *err);
/* A reader of which nothing was handed out or skipped. No readings: it has heads alone, which are the same in many logs. */
TB_MUST_USE tb_code feed_readings_look(const feed_knower *knower, feed_reader *reader, feed_readings *ret_readings,
                                       feed_otherwise *ret, tb_error *err);
/* The same of a log that begins so. */
TB_MUST_USE tb_code feed_readings_look_at(const feed_knower *knower, tb_text beginning, feed_reading own,
                                          feed_otherwise *ret, tb_error *err);
/* Whether a client of whose log `bytes` are known sends no more of it: more is known under other options, or as much, as
 * two clients may look before either sends. Then the one with the smaller seed goes on. */
bool feed_readings_yield(const feed_otherwise *other, feed_reading own, uint64_t bytes);
/* Before anything of the log is handed out: TB_E_OTHER_OPTIONS where more of it is known otherwise than
 * as the reader reads it, which is `own`. */
TB_MUST_USE tb_code feed_readings_check(tb_store *store, feed_reader *reader, feed_reading own,
                                        feed_readings *ret_readings, tb_error *err);
/* TB_E_OTHER_OPTIONS, with its sentence. */
tb_code feed_readings_refuse(feed_reading own, const feed_otherwise *otherwise, tb_error *err);
/* Whether the notes, and what is known under them, are what they were. */
TB_MUST_USE tb_code feed_readings_same(tb_store *store, const feed_readings *readings, bool *ret_so, tb_error *err);

#endif
