/* Moves usage from its servers to others while this server goes on. The command `usage migrate` asks for it with a file beside the
 * database, which names the new servers, and watches another one, in which the mover tells how far it is. So whoever may write beside
 * the database may move its usage, and a server that was killed goes on at its next start. The request is removed once it is done. A third
 * file says where the usage may be, for a start with the --usage from before.
 *
 * The thread of LANE_MOVE looks for a request once a second. It copies with its own reader, pass by pass, until little comes
 * meanwhile; then one job of the writer copies the rest and switches (tollbook/usageservers.h). Nothing is compacted during a move. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_MOVER_H
#define TOLLBOOK_SERVER_HTTP_JOBS_MOVER_H

#include "http/jobs/pool.h"
#include "usage/servers.h"

#define MOVE_URL_MAX 20000 /* with the terminator */
#define MOVE_WHY_MAX sizeof((tb_error){0}.message)

/* --- the request, and what is told of it --- */

/* The address in it. false: there is no request. */
bool move_request_read(const char *db, char ret_url[MOVE_URL_MAX]);
TB_MUST_USE tb_code move_request_put(const char *db, const char *url, tb_error *err);
void move_request_remove(const char *db);

typedef enum move_phase {
    MOVE_NONE, /* nothing was told yet */
    MOVE_COPIES,
    MOVE_WAITS, /* and tries again: `why` */
    MOVE_FAILED,
    MOVE_DONE,
    MOVE_PHASES
} move_phase;

typedef struct move_state {
    move_phase phase;
    uint64_t beat;      /* grows while the server is at work on it */
    uint64_t done, all; /* see tb_usage_move.progress; MOVE_DONE: rows, and milliseconds for which writes waited */
    char why[MOVE_WHY_MAX];
} move_state;

void move_state_read(const char *db, move_state *ret);

/* --- the server's part --- */

typedef struct mover mover;

/* Before the store is opened: a request that is there already is known to the store's client. moved, on the writer's thread, is told
 * of a switch. NULL when out of memory. */
mover *mover_new(const char *db, usage_servers *servers, void (*moved)(void *ctx), void *ctx);
/* The store was opened, maybe where an earlier move ended. */
void mover_opened(mover *m, const tb_store *store);
/* Becomes the source of LANE_MOVE. */
void mover_start(mover *m, writer *to, job_pool *pool);
void mover_free(mover *m); /* after the lane was joined; NULL is fine */

/* Whether a move is under way, so that nothing may be deleted from the servers. Any thread. */
bool mover_works(const mover *m);

#endif
