/* Parts of a server that server.c opens and ends. */
#ifndef TOLLBOOK_HTTP_SERVER_PARTS_H
#define TOLLBOOK_HTTP_SERVER_PARTS_H

#include "http/server.h"

/* --- server_published.c --- */

/* false: no memory. server_publish_end in any case. */
bool server_publish_begin(server *s);
void server_publish_end(server *s);
/* Reads the keys, or the directory, that are in force now. On the writer's thread. */
TB_MUST_USE tb_code server_publish_keys(server *s, tb_store *store, tb_error *err);
TB_MUST_USE tb_code server_publish_directory(server *s, tb_store *store, tb_error *err);

/* --- workers.c --- */

/* Opens their readers. workers_close in any case. */
TB_MUST_USE tb_code workers_open(server *s, tb_error *err);
void workers_close(server *s);

/* --- server_writing.c --- */

/* Deletes what has expired, then starts the writer. NULL: it does not start. */
writer *server_start_writer(server *s);

#endif
