/* A stream of lines without an end, stored as it comes: pieces of one chain, as those of a log
 * (follow.h). It is known from its first byte on, so that the file whose first byte that was is
 * recognised later.
 *
 * Where the stream begins like a log that is known, what may be known is held back until that has
 * turned out: it is the known log, or another one. */
#ifndef TOLLBOOK_SERVER_FOLLOW_STREAM_H
#define TOLLBOOK_SERVER_FOLLOW_STREAM_H

#include "follow/follow.h"

#define STREAM_HELD_MAX ((size_t)256 << 20) /* bytes that are held back, or wait for the sink */

typedef struct follow_stream follow_stream;

/* look_back: hold back what may be known. */
follow_stream *follow_stream_new(const follow_sink *sink, const tb_log_layout *layout,
                                 bool look_back);
void follow_stream_free(follow_stream *s);

/* More bytes of it. TB_E_TOO_LARGE: more than STREAM_HELD_MAX wait. */
TB_MUST_USE tb_code follow_stream_add(follow_stream *s, const char *bytes, size_t len,
                                      tb_error *err);
/* Bytes of whole lines that wait to be stored. */
size_t follow_stream_pending(const follow_stream *s);
/* Stores the whole lines that have come; end: and the last line, whether it has an end or not. On
 * failure they wait as before. *ret_report: what came of them; zeros where there were none. */
TB_MUST_USE tb_code follow_stream_ship(follow_stream *s, bool end, feed_report *ret_report,
                                       tb_error *err);
/* Forgets everything that is not stored: it is sent again. */
void follow_stream_drop(follow_stream *s);
/* Lines that were known when the stream began. */
uint64_t follow_stream_known_lines(const follow_stream *s);
/* Where the chain begins that is stored now: 0, or as many bytes as had come when the sink did not know any more
 * what it had acknowledged. What lies before is not all there. */
uint64_t follow_stream_base(const follow_stream *s);

#endif
