/* Readings: under which options a log is known.
 *
 * A log's hashes are seeded with its options (hash.h), so the same bytes under another format, map,
 * region or zone look like another log. So that they do not count twice, a note is kept beside the
 * segment of a log that is not a pipe log: the seed, by the log's first line alone. The note is a
 * rung of length 1 under a head of its own. It says where to look; what is known are segments as
 * ever, and a note may outlive them. A pipe log has seed 0 and needs no note. What was taken in
 * before there were notes has none, and is not known under other options. */
#ifndef TOLLBOOK_SERVER_FEED_READINGS_H
#define TOLLBOOK_SERVER_FEED_READINGS_H

#include "feed/reader.h"

#define FEED_READINGS_MAX  16 /* of logs with one first line: later ones are not noted */
#define FEED_READING_LINES 2  /* one line alone may be the same by chance */

typedef struct feed_reading {
    uint64_t seed;
    bool heads; /* feed_hash_head's */
} feed_reading;

typedef struct feed_readings {
    tb_hash128 plain; /* where the notes are: of the first line, whatever the options */
    feed_reading list[FEED_READINGS_MAX];
    size_t n;
} feed_readings;

/* Where notes of a log are that begins so. */
tb_hash128 feed_readings_plain(tb_text beginning);
/* The notes, out of the rungs that are there. */
void feed_readings_from(const tb_rung *rungs, size_t n, feed_readings *ret_readings);
bool feed_readings_have(const feed_readings *readings, uint64_t seed);
/* Whether so much of the log is known that it is not by chance. */
bool feed_reading_fits(const feed_reader *reader);

TB_MUST_USE tb_code feed_readings_read(tb_store *store, tb_hash128 plain,
                                       feed_readings *ret_readings, tb_error *err);
/* In the transaction that holds the log's segment. */
TB_MUST_USE tb_code feed_readings_note(tb_store *store, tb_hash128 plain, feed_reading reading,
                                       tb_error *err);
/* Before anything of the log is handed out: TB_E_OTHER_OPTIONS where more of it is known otherwise than
 * as the reader reads it. Its first 64 KiB decide. */
TB_MUST_USE tb_code feed_readings_check(tb_store *store, feed_reader *reader,
                                        feed_readings *ret_readings, tb_error *err);

#endif
