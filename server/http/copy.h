/* The server of a copy: a standby, or a read replica. The pieces that its thread (standby/standby.h) fetches are applied by
 * the writer, one in each transaction, and are in force before the next one like a local commit. Nothing else writes.
 * Another thread verifies the whole copy at the start and then each hour. A copy that was fetched at this start, or is still
 * unverified from an earlier one, is not ready before. */
#ifndef TOLLBOOK_SERVER_HTTP_COPY_H
#define TOLLBOOK_SERVER_HTTP_COPY_H

#include "standby/standby.h"
#include "tollbook/store.h"

#define COPY_VERIFY_US INT64_C(3600000000)
#define COPY_RETRY_US  INT64_C(60000000) /* after a verification that could not be done */

typedef struct copy_options {
    link_options link; /* url NULL: this server is no copy */
    int64_t max_lag_us;
    tb_check check; /* of the whole copy */
    const char *own_url; /* where this server is reached; NULL: at its first address */
} copy_options;

typedef struct copy_server copy_server;
struct server;

/* "HOST-PORT", of the letters that a follower's name may have. With the addresses open. */
void copy_name(const struct server *s, char out[LINK_NAME_MAX + 1]);
/* With the writing store open. *ret stays NULL where the server is no copy. */
TB_MUST_USE tb_code copy_open(struct server *s, copy_server **ret, tb_error *err);
/* With the writer at work. */
TB_MUST_USE tb_code copy_start(copy_server *c, tb_error *err);
void copy_stop(copy_server *c); /* before the writer; NULL is fine */
void copy_free(copy_server *c); /* NULL is fine */
/* Makes this server the primary (replicas_promote). TB_E_REPLICA_NOT_PROMOTED: it should not become that without `force`. */
TB_MUST_USE tb_code copy_promote(copy_server *c, bool force, int64_t *ret_epoch, tb_error *err);

/* Any thread; c is not NULL. */
void copy_use_key(copy_server *c, const char *key); /* in place of the one of its options */
int64_t copy_lag_us(const copy_server *c);
/* TB_OK while it follows, is verified and less than max_lag behind; else TB_E_BUSY and a sentence. */
TB_MUST_USE tb_code copy_ready(const copy_server *c, tb_error *err);
bool copy_follows(const copy_server *c); /* its primary answered last time */
uint64_t copy_differences(const copy_server *c); /* that the last verification found */
const char *copy_primary(const copy_server *c);

#endif
