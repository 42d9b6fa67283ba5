/* A stream of lines without an end, stored as it comes: pieces of one chain, as those of a log (follow.h). It is hashed
 * from its first byte on, so that a file that begins with the same byte is recognised later.
 *
 * A stream that begins like a known log may be a copy of it, or another log. Its text is held back until that is clear.
 * An equal first line alone says little, because many programs begin alike, so the caller decides how long to wait for
 * more. A stream that agrees with a known log further, by its rungs or segments, is a copy: it is held back for as long
 * as the known log goes on. */
#ifndef TOLLBOOK_SERVER_FOLLOW_STREAM_H
#define TOLLBOOK_SERVER_FOLLOW_STREAM_H

#include "follow/follow.h"

#define STREAM_HELD_MAX ((size_t)256 << 20) /* bytes that are held back or not yet taken */

typedef struct follow_stream follow_stream;

/* look_back: hold back text that may be a copy of a known log. */
follow_stream *follow_stream_new(const follow_sink *sink, const tb_log_layout *layout,
                                 bool look_back);
void follow_stream_free(follow_stream *s);

/* More bytes of it. TB_E_TOO_LARGE: more than STREAM_HELD_MAX wait. */
TB_MUST_USE tb_code follow_stream_add(follow_stream *s, const char *bytes, size_t len,
                                      tb_error *err);
/* Bytes of whole lines that are not stored yet. */
size_t follow_stream_pending(const follow_stream *s);
typedef enum follow_stream_when {
    FOLLOW_STREAM_NOW,   /* hold back text that may be known */
    FOLLOW_STREAM_LATER, /* it was held back long enough: ship it unless it is a copy */
    FOLLOW_STREAM_END,   /* no more comes: ship also a last line without an end */
} follow_stream_when;
/* Stores the whole lines that came. A failure leaves them in the buffer. *ret_report: the result; zeros if there were
 * no lines. */
TB_MUST_USE tb_code follow_stream_ship(follow_stream *s, follow_stream_when when, feed_report *ret_report,
                                       tb_error *err);
/* Whether it counts as another log than the known one with the same beginning. */
bool follow_stream_is_another(const follow_stream *s);
/* Lines held back because a known log has the same first *ret_same bytes and goes on; 0: none. */
uint64_t follow_stream_copied(const follow_stream *s, uint64_t *ret_same);
/* Drops everything that is not stored; the caller adds it again. */
void follow_stream_drop(follow_stream *s);
/* Lines that were known when the stream began. */
uint64_t follow_stream_known_lines(const follow_stream *s);
/* Where the chain that is stored now begins: 0, or the number of bytes that had come when the sink was found to lack
 * what it had acknowledged. The bytes before are not all stored. *ret_withdrawn: they were withdrawn; else the sink
 * lost them. */
uint64_t follow_stream_base(const follow_stream *s, bool *ret_withdrawn);

#endif
