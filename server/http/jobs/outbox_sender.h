/* The outbox sender: sends the messages of the store's outbox, on LANE_OUTBOX. The store is the queue, so a stop or a
 * crash loses none; a message that was sent but not noted is sent again with the same id. Each thread takes a message
 * that is due and that no other thread sends, sends it, and has the writer note the result. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_OUTBOX_SENDER_H
#define TOLLBOOK_SERVER_HTTP_JOBS_OUTBOX_SENDER_H

#include "http/jobs/pool.h"
#include "http/published.h"
#include "tollbook/alertstore.h"

#define OUTBOX_THREADS 4

/* How messages are sent: server/api/alerts.h. */
typedef struct outbox_work {
    /* Enables the outbox, in a transaction, when the server starts. */
    tb_code (*want)(void *ctx, tb_store *store, int64_t now_us, tb_error *err);
    /* Sends a message on thread 0..OUTBOX_THREADS-1, one call at a time on each. Ends early if LANE_OUTBOX
     * of the pool is stopping. Fills in error if the status is not 2xx. now_us: the real time, even if
     * the server's is fixed. NULL: no messages are sent. */
    tb_delivery (*send)(void *ctx, unsigned thread, const job_pool *pool, const tb_message *message,
                        const void *secret, int64_t now_us, char error[TB_MESSAGE_ERROR_MAX + 1]);
    void (*end)(void *ctx); /* after all threads have ended */
    void *ctx;
    int64_t pause_us; /* before the first try again */
} outbox_work;

typedef struct outbox_sender outbox_sender;

typedef struct outbox_sender_figures {
    uint64_t delivered, failed; /* tries, since the start */
} outbox_sender_figures;

/* Becomes the source of LANE_OUTBOX, whose first thread has a reader. secret: what messages are
 * signed with. fixed_now_us: INT64_MIN: the clock's; else the clock begins there. NULL when out of
 * memory. */
outbox_sender *outbox_sender_new(const outbox_work *work, published *secret, int64_t fixed_now_us,
                                 writer *to, job_pool *pool);
outbox_sender_figures outbox_sender_read(const outbox_sender *o);
void outbox_sender_free(outbox_sender *o); /* after the lane was joined; NULL is fine */

#endif
