/* A stream of lines without an end, stored as it comes: pieces of one chain, as those of a log
 * (follow.h). It is known from its first byte on, so that the file whose first byte that was is
 * recognised later.
 *
 * Where the stream begins like a log that is known, what may be known is held back until that has turned out: it
 * is the known log, or another one. The same first line alone says little, as many programs begin with it, so
 * that is not waited for long: the caller says when it has waited enough. What agrees with a known log further, by its
 * rungs or segments, is a copy of it. It is held back for as long as the known log goes on. */
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
typedef enum follow_stream_when {
    FOLLOW_STREAM_NOW,   /* what may be known waits */
    FOLLOW_STREAM_LATER, /* what may be known has waited long enough: what is no copy goes */
    FOLLOW_STREAM_END,   /* no more comes: so does the last line, whether it has an end or not */
} follow_stream_when;
/* Stores whole lines that have come. On failure they wait as before. *ret_report: what came of them; zeros where
 * there were none. */
TB_MUST_USE tb_code follow_stream_ship(follow_stream *s, follow_stream_when when, feed_report *ret_report,
                                       tb_error *err);
/* Whether it was given up that it is the known log that it begins like. */
bool follow_stream_is_another(const follow_stream *s);
/* Lines that wait because a known log has the same first *ret_same bytes and goes on; 0: there are none. */
uint64_t follow_stream_copied(const follow_stream *s, uint64_t *ret_same);
/* Forgets everything that is not stored: it is sent again. */
void follow_stream_drop(follow_stream *s);
/* Lines that were known when the stream began. */
uint64_t follow_stream_known_lines(const follow_stream *s);
/* Where the chain begins that is stored now: 0, or as many bytes as had come when the sink lacked what it had
 * acknowledged. What lies before is not all there. *ret_withdrawn: somebody has withdrawn it; or else the sink does not
 * know it any more. */
uint64_t follow_stream_base(const follow_stream *s, bool *ret_withdrawn);

#endif
