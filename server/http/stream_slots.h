/* Slots for answers that hold a snapshot of the store, and memory, until they are sent. Their number is fixed and an
 * account has at most its share, so that the slow clients of one account cannot block the answers of others. Any
 * thread. */
#ifndef TOLLBOOK_SERVER_HTTP_STREAM_SLOTS_H
#define TOLLBOOK_SERVER_HTTP_STREAM_SLOTS_H

#include "tollbook/error.h"

#define STREAM_SLOTS_MAX   64
#define STREAM_SLOTS_SHARE 16
#define STREAM_SLOTS_BYTES ((size_t)256 << 20) /* memory of an account's answers; a single one may hold more */

typedef struct stream_slots stream_slots;

stream_slots *stream_slots_new(void); /* NULL: out of memory */
void stream_slots_free(stream_slots *s); /* NULL is fine */
/* TB_E_RATE_LIMITED: no slot is left, or none for this account. */
TB_MUST_USE tb_code stream_slots_take(stream_slots *s, int64_t account, tb_error *err);
/* Books the memory of an answer in a slot that the account took. TB_E_RATE_LIMITED: too much beside its other answers;
 * the slot stays taken. */
TB_MUST_USE tb_code stream_slots_hold(stream_slots *s, int64_t account, size_t bytes, tb_error *err);
void stream_slots_release(stream_slots *s, int64_t account, size_t bytes); /* one that it took, with this much booked */

#endif
