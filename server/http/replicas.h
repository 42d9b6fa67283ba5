/* Replication as far as it is the whole server's: switching it on, trimming what is kept, and the parts by which
 * followers are served. */
#ifndef TOLLBOOK_SERVER_HTTP_REPLICAS_H
#define TOLLBOOK_SERVER_HTTP_REPLICAS_H

#include "http/server.h"

/* With the writing store open: switches replication on if the options say so, and sets s->replicated. */
TB_MUST_USE tb_code replicas_open(server *s, tb_error *err);
/* With the pool made, where the file is replicated. false: out of memory. */
TB_MUST_USE bool replicas_start(server *s);
void replicas_free(server *s);

#endif
