/* serve --acknowledge-after standby: an answer with success to anything that writes is sent only once every listed standby
 * has the newest piece that was committed when the answer was made. The list is in the file (tb_store_standbys); a standby
 * has a piece when it has asked for what follows it. Until then the answer waits, its connection suspended, and after
 * --standby-wait it becomes TB_E_REPLICA_UNACKNOWLEDGED: what was written stays, and may be sent again.
 *
 * With --standby-absent continue a standby that did not take a piece in that time counts no more until it has caught up,
 * and while none is listed nothing waits. The server is unprotected then.
 *
 * A standby that finds itself in its own copy's list has every answer that was acknowledged before it was listed, since the
 * list is in the pieces, and answers after that wait for it. */
#ifndef TOLLBOOK_SERVER_HTTP_ACKNOWLEDGE_H
#define TOLLBOOK_SERVER_HTTP_ACKNOWLEDGE_H

#include "http/server.h"

acknowledge *acknowledge_new(server *s); /* NULL: out of memory */
void acknowledge_free(acknowledge *a);   /* NULL is fine */

/* --- any thread --- */

/* Takes the list from the store, after each commit. What is known of a standby stays. */
void acknowledge_take_list(acknowledge *a, tb_store *store);
/* Whether it is listed with this address and schema. */
bool acknowledge_lists(acknowledge *a, const tb_standby *one);
/* Whether another standby asks by this name: it is listed with another address, and asked a moment ago. */
bool acknowledge_is_taken(acknowledge *a, const tb_standby *one);
/* It asked for what follows this piece, and the file's newest one was `newest`. Nothing if it is not listed. */
void acknowledge_note(acknowledge *a, const char *name, int64_t piece, int64_t newest);
/* After the server's role has changed (replicas.h): answers that wait become TB_E_REPLICA_UNACKNOWLEDGED. */
void acknowledge_new_role(acknowledge *a);
/* Adds the listed standbys that are not in the list of n followers, which has room for FOLLOWERS_SHOWN, with piece 0 if they
 * have not asked since the start. Returns how many there are then. */
size_t acknowledge_add_listed(acknowledge *a, tb_follower *list, size_t n);
/* Those of the list that have not asked for a moment, and whose address is known; returns how many. */
size_t acknowledge_silent(acknowledge *a, tb_standby ret[TB_STANDBYS_MAX]);
/* The newest piece that any standby of the list, or all that count, are known to have. A base for one of them has it too. */
int64_t acknowledge_newest(acknowledge *a);
/* Whether answers are sent that a standby lacks, by --standby-absent continue. */
bool acknowledge_unprotected(acknowledge *a);

/* --- on the worker's thread --- */

/* With the answer made: holds it (request.held) where the standbys do not have it yet. */
TB_MUST_USE tb_code acknowledge_begin(request *r, tb_error *err);
/* After its wait. TB_OK: it may be sent. Else TB_E_REPLICA_UNACKNOWLEDGED: it may be stored, also by a new primary. */
TB_MUST_USE tb_code acknowledge_end(request *r, tb_error *err);

#endif
