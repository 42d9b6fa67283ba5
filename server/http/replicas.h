/* Replication as far as it is the whole server's: switching it on, trimming what is kept, and the parts by which
 * followers are served. */
#ifndef TOLLBOOK_SERVER_HTTP_REPLICAS_H
#define TOLLBOOK_SERVER_HTTP_REPLICAS_H

#include "http/server.h"

/* With the writing store open: switches replication on if the options say so, and sets s->replicated. */
TB_MUST_USE tb_code replicas_open(server *s, tb_error *err);
/* With all sources of the pool set: what this server does by itself rests or runs, as its role is. Any thread. */
void replicas_settle(server *s);
/* With the pool made, where the file is replicated. false: out of memory. */
TB_MUST_USE bool replicas_start(server *s);
void replicas_free(server *s);

/* --- a change of the role; any thread but the writer's --- */

/* Makes this standby the primary and answers the new epoch. TB_E_REPLICA_NOT_PROMOTED: it is none, or `force` is needed. */
TB_MUST_USE tb_code replicas_promote(server *s, bool force, int64_t *ret_epoch, tb_error *err);
TB_MUST_USE tb_code replicas_not_standby(const server *s, tb_error *err);
/* The last part of that, once nothing is applied any more. name: this standby's. */
TB_MUST_USE tb_code replicas_take_over(server *s, const char *name, int64_t *ret_epoch, tb_error *err);

/* This primary has met a higher epoch: it takes no writes from now on. url: of the server that has it; "": not known. The
 * file has to be told too, on the writer's thread (tb_store_supersede). */
void replicas_end_primary(server *s, int64_t epoch, const char *url);

/* --- the role; any thread --- */

server_role replicas_role(const server *s);
const char *replicas_role_name(const server *s);
/* The copy that follows; NULL: this server is no standby (any more). */
copy_server *replicas_copy(const server *s);
/* TB_OK: this server takes writes. TB_E_REPLICA_READ_ONLY, TB_E_REPLICA_SUPERSEDED. */
TB_MUST_USE tb_code replicas_check_write(const server *s, tb_error *err);
/* Where writes go instead; "": it is not known. */
const char *replicas_primary(const server *s);

#endif
