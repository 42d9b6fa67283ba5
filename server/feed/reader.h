/* A reader: a source cut into blocks of whole lines, in order, with the running hash of every byte
 * handed out or skipped, and the search for the longest prefix that the store knows.
 *
 * A known segment [start, length) belongs to this input if its start lies within the known part so far
 * and the running hash at `length` equals its hash. A segment that is a refused last line without a line
 * end counts only if this input ends there too, or the line ends there: a line that was cut off is read
 * again once there is more of it. A reader belongs to one thread at a time; the feed's workers take turns
 * under a lock. */
#ifndef TOLLBOOK_SERVER_FEED_READER_H
#define TOLLBOOK_SERVER_FEED_READER_H

#include "feed/hash.h"
#include "feed/rungs.h"
#include "feed/source.h"

/* A worker's block. bytes has room for TB_INTAKE_SLACK bytes past cap. Zero it before its first
 * use. A line longer than TB_LINE_MAX stands alone in its block, cut, without its end. */
typedef struct feed_block {
    char *bytes;
    size_t cap, len;
} feed_block;
void feed_block_release(feed_block *block);

typedef struct feed_known {
    tb_known *list; /* ascending by (start, length); owned */
    size_t n;
    size_t first;          /* earlier ones end within the known part and are done */
    uint64_t bytes, lines; /* the longest prefix found known so far */
    bool final;            /* the segment that ends there is its input's last */
    bool taken;            /* a line of it was accepted */
} feed_known;

/* Changes when a segment is added or withdrawn. */
uint64_t feed_known_sum(const tb_known *list, size_t n);

typedef struct feed_reader {
    feed_source *source; /* borrowed */
    feed_hash *hash;  /* of the bytes up to `at` */
    feed_hash *mark;  /* of the known prefix */
    feed_hash *spare; /* of the bytes before a line that may have to be left */
    uint64_t seed;
    bool heads;    /* feed_hash_head's; the caller's to set after init */
    const tb_log_layout *layout; /* the same; not NULL: no head further on may name other columns */
    uint64_t at;   /* bytes handed out or skipped */
    char last;     /* the byte before `at` */
    size_t block_bytes;
    bool take_partial;
    uint64_t waiting; /* unterminated last line that was left, set at the end of the input */
    bool announced;   /* the last call said FEED_TURN_TAIL */
    bool tail;        /* the last block handed out is the input's unterminated last line */
    feed_known known;
    feed_rungs rungs;
    bool earlier; /* feed_reader_skip_known found an earlier copy */
    char *rest; /* bytes read and not handed out: rest_at .. rest_len */
    size_t rest_at, rest_len, rest_cap;
    bool end; /* the source has no more */
} feed_reader;

TB_MUST_USE tb_code feed_reader_init(feed_reader *reader, feed_source *source, uint64_t seed,
                                     size_t block_bytes, bool take_partial, tb_error *err);
void feed_reader_release(feed_reader *reader);

/* The head of the input (tb_segment.head). *ret_empty: there is not a byte. Before any other. */
TB_MUST_USE tb_code feed_reader_head(feed_reader *reader, tb_hash128 *ret_head, bool *ret_empty,
                                     tb_error *err);
/* Reads so many bytes of the input's beginning, or all there are. Before anything is handed out or skipped. */
TB_MUST_USE tb_code feed_reader_look(feed_reader *reader, size_t bytes, tb_error *err);
/* The bytes that were read for them, borrowed until the next call. */
tb_text feed_reader_beginning(const feed_reader *reader);
/* Takes over the candidates, and the rungs of the logs they are of. */
void feed_reader_expect(feed_reader *reader, tb_known *list, size_t n);
void feed_reader_expect_rungs(feed_reader *reader, tb_rung *list, size_t n);
/* At the end of the input: whether it is an earlier copy of a known log (feed.h). */
bool feed_reader_earlier(const feed_reader *reader);
/* Whether a candidate could still be met further on. */
bool feed_reader_has_candidates(const feed_reader *reader);
/* Hashes while a candidate may be met, without handing anything out, forgets the candidates and
 * goes (back) to the end of the longest known prefix: reader->known says how much. On a source that
 * cannot seek it stays where the last candidate was refuted. After an earlier copy it stays at the
 * end, and reader->earlier is set. */
TB_MUST_USE tb_code feed_reader_skip_known(feed_reader *reader, tb_error *err);
/* The same for a named batch with these segments. *ret_same: the input begins with them; if the last one is
 * final (*ret_complete), they are the whole input. */
TB_MUST_USE tb_code feed_reader_skip_named(feed_reader *reader, tb_batch_kind kind, tb_known *list,
                                           size_t n, bool *ret_same, bool *ret_complete,
                                           tb_error *err);
/* Copies the rest of a source that cannot seek to an unnamed file in this folder, and continues to read
 * there. Only after feed_reader_head. */
TB_MUST_USE tb_code feed_reader_spool(feed_reader *reader, const char *folder, tb_error *err);
/* Passes over the line end that a known, unterminated last line has got since. */
TB_MUST_USE tb_code feed_reader_skip_line_end(feed_reader *reader, tb_error *err);

typedef enum feed_turn {
    FEED_TURN_BLOCK, /* the block holds lines */
    FEED_TURN_KNOWN, /* everything up to reader->at turned out to be known: block is empty */
    /* The next block is one line alone, which may be the input's unterminated last one: block is
     * empty. */
    FEED_TURN_TAIL,
    FEED_TURN_END,   /* the end of the input: block is empty */
} feed_turn;
TB_MUST_USE tb_code feed_reader_next(feed_reader *reader, feed_block *block, feed_turn *ret_turn,
                                     tb_error *err);
/* For an input that is read repeatedly. Its known part (feed_known) ends at the acknowledged bytes. A parked reader has no
 * source and uses little memory; it resumes after the acknowledged bytes. */
void feed_reader_park(feed_reader *reader);
/* The source is the same input, which may have grown: one that can seek. */
TB_MUST_USE tb_code feed_reader_resume(feed_reader *reader, feed_source *source, tb_error *err);
/* Everything up to reader->at is known, so many lines. */
void feed_reader_acknowledge(feed_reader *reader, uint64_t lines);
/* Back to the end of the known part. */
TB_MUST_USE tb_code feed_reader_rewind(feed_reader *reader, tb_error *err);

/* Whether nothing is left to read. */
TB_MUST_USE tb_code feed_reader_at_end(feed_reader *reader, bool *ret_end, tb_error *err);

#endif
