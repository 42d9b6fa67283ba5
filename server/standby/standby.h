/* A standby follows its primary: a thread of its own asks for the pieces after its newest one, over and over, and hands them
 * over to be applied. Every minute it compares the digest of both files. What does not fit, or is no longer kept, ends it
 * for good: a new copy is needed then. Where it is promoted, the thread takes what has arrived, makes the copy the primary, and
 * then tells the old primary so, until that has heard it. It knows neither the writer nor who asks this server. */
#ifndef TOLLBOOK_SERVER_STANDBY_STANDBY_H
#define TOLLBOOK_SERVER_STANDBY_STANDBY_H

#include "standby/link.h"
#include "tollbook/replica.h"

#define STANDBY_WAIT_S     1 /* a request waits so long for a piece, and its answer is what proves that none is missing */
#define STANDBY_COMPARE_US INT64_C(60000000)
#define STANDBY_DIGEST     80 /* with its end */

typedef struct standby_options {
    link_options link;
    const char *db; /* for messages and the remedy */
    /* Applies pieces, all or none, or knows them already; on the standby's thread. TB_E_DIFFERENT: one does not fit. */
    tb_code (*apply)(void *ctx, const tb_piece *pieces, size_t n, tb_error *err);
    /* The newest piece, without data, and the digest as of it. */
    tb_code (*look)(void *ctx, tb_piece *ret, char ret_digest[STANDBY_DIGEST], tb_error *err);
    /* Makes the copy the primary; on the standby's thread, which applies nothing any more. ret_epoch: the new one. */
    tb_code (*take_over)(void *ctx, int64_t *ret_epoch, tb_error *err);
    /* The oldest piece that is kept, without data. */
    tb_code (*oldest)(void *ctx, tb_piece *ret, tb_error *err);
    /* Stops this server, since its next start can make the copy follow again (rejoin.h). */
    void (*restart)(void *ctx);
    void *ctx;
    void (*note)(const char *fmt, ...) TB_PRINTF(1, 2);
    void (*warn)(const char *fmt, ...) TB_PRINTF(1, 2); /* what somebody has to look at */
} standby_options;

typedef struct standby standby;

/* NULL: out of memory. Its texts are borrowed. */
TB_MUST_USE tb_code standby_new(const standby_options *options, standby **ret, tb_error *err);
TB_MUST_USE tb_code standby_start(standby *s, tb_error *err);
void standby_stop(standby *s); /* waits for its thread; also if it never started */
/* Ends following, once what has arrived is applied, and calls take_over. Where that fails it goes on following. Any thread but
 * the standby's; one at a time. */
TB_MUST_USE tb_code standby_promote(standby *s, int64_t *ret_epoch, tb_error *err);
void standby_free(standby *s); /* after standby_stop; NULL is fine */

/* Any thread: */
void standby_use_key(standby *s, const char *key);
/* Microseconds since the moment as of which the copy is known to have all. Before the primary has answered that is the
 * moment of its newest piece, by both clocks. */
int64_t standby_lag_us(const standby *s);
/* Whether it has ended; `say` got why, and the remedy. */
bool standby_ended(const standby *s);
/* Whether the primary answered last time. */
bool standby_is_connected(const standby *s);
/* The address that it follows. */
const char *standby_primary(const standby *s);
/* Whether that answer named a newer piece than the copy has by now. */
bool standby_lacks(const standby *s);

#endif
