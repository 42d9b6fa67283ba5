/* A source: a file, standard input or memory as one stream of decompressed bytes.
 *
 * gzip (any number of members) and zstd (any number of frames) are told by their first bytes.
 * Compressed input that is damaged, cut off or followed by something else is TB_E_BAD_INPUT with
 * the byte of the stored input where reading stopped; so is a file of another kind (foreign.h). A source belongs to one thread at a time. */
#ifndef TOLLBOOK_SERVER_FEED_SOURCE_H
#define TOLLBOOK_SERVER_FEED_SOURCE_H

#include <stdatomic.h>

#include "feed/feed.h"

typedef struct feed_source feed_source;

/* "-": standard input. stop (may be NULL): once true, a wait for input ends as at the end of it;
 * the caller looks at it. */
TB_MUST_USE tb_code feed_source_open(const char *path, const atomic_bool *stop,
                                     feed_source **ret_source, tb_error *err);
/* An open regular file, from its beginning. The descriptor is borrowed, and its offset moves. */
TB_MUST_USE tb_code feed_source_descriptor(int fd, const atomic_bool *stop, feed_source **ret_source,
                                           tb_error *err);
/* The bytes are borrowed. plain_max: TB_E_TOO_LARGE where they decompress to more. */
TB_MUST_USE tb_code feed_source_memory(const void *bytes, size_t len, feed_encoding encoding,
                                       uint64_t plain_max, feed_source **ret_source,
                                       tb_error *err);
void feed_source_close(feed_source *source);

/* Fills buf; fewer than cap bytes: the input ends there. */
TB_MUST_USE tb_code feed_source_read(feed_source *source, char *buf, size_t cap, size_t *ret_n,
                                     tb_error *err);

/* Whether the stop flag has been set: then the end may not be the end of the input. */
bool feed_source_stopped(const feed_source *source);
/* Whether feed_source_seek works: regular files and memory. */
bool feed_source_seekable(const feed_source *source);
/* Goes to that byte of the decompressed input. Compressed input is read again up to there. */
TB_MUST_USE tb_code feed_source_seek(feed_source *source, uint64_t byte, tb_error *err);

/* Reading ends at this byte (decompressed); UINT64_MAX: at the input's own end. */
void feed_source_limit(feed_source *source, uint64_t end);

/* Copies `ahead` and everything that is left to a file without a name in this folder, and becomes
 * that file, at its start: plain and seekable. */
TB_MUST_USE tb_code feed_source_spool(feed_source *source, const char *folder, const char *ahead,
                                      size_t len, tb_error *err);

/* Writes all of it, whatever a write takes at a time; false: errno says why not. */
bool feed_write_all(int fd, const char *bytes, size_t len);

/* Whether it may grow at its end: a plain regular file, whose last line may not be complete. */
bool feed_source_grows(const feed_source *source);
/* Whether there may be so many decompressed bytes. The size of a file is read again, as it may have grown since it was
 * opened. */
bool feed_source_reaches(feed_source *source, uint64_t length);
/* Stored bytes read so far, and in all (0: not known). */
uint64_t feed_source_stored_read(const feed_source *source);
uint64_t feed_source_stored_size(const feed_source *source);

#endif
