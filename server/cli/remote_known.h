/* The segments of a log or of a named batch that a server knows (GET /ingest/segments). */
#ifndef TOLLBOOK_SERVER_CLI_REMOTE_KNOWN_H
#define TOLLBOOK_SERVER_CLI_REMOTE_KNOWN_H

#include "cli/client.h"
#include "tollbook/store.h"

typedef enum remote_withdrawn {
    REMOTE_UNTOLD, /* not requested, or the server is an older one */
    REMOTE_NOT_WITHDRAWN,
    REMOTE_WITHDRAWN,
} remote_withdrawn;

typedef struct remote_known {
    tb_known *list; /* ascending by (start, length) */
    size_t n;
    tb_rung *rungs; /* ascending by length */
    size_t n_rungs;
    uint64_t cells; /* the version of cells that the server wants; 0: lines */
    remote_withdrawn withdrawn; /* whether a segment was that ended where remote_known_end says */
} remote_known;

/* batch NULL: by head. 0, or the exit status after it printed an error. The caller frees both
 * arrays. */
int remote_known_read(client *c, const char *subject, const char *batch, tb_hash128 head,
                      remote_known *ret_known);
/* By head, only those that start at byte `from` or after it. */
int remote_known_from(client *c, const char *subject, tb_hash128 head, uint64_t from,
                      remote_known *ret_known);
/* The same, and whether a segment was withdrawn that ended at byte `end` after so many lines. */
int remote_known_end(client *c, tb_hash128 head, uint64_t from, uint64_t end, uint64_t lines,
                     remote_known *ret_known);
void remote_known_release(remote_known *known);

#define REMOTE_HASH_TEXT 33
void remote_hash_text(tb_hash128 hash, char out[REMOTE_HASH_TEXT]);

#endif
