/* The courier: sends the messages that wait in the store's outbox, and looks at the alerts that put some
 * there. Each of a few threads takes a message that is due, sends it, and has the writer note what came of
 * it; the store is the queue, so a stop or a crash loses none, and one that was sent and not noted is sent
 * again under its id. One more thread looks at the alerts in rounds: after a commit, and at all of them every
 * hour. What sending and looking are, its maker says. */
#ifndef TOLLBOOK_SERVER_HTTP_COURIER_H
#define TOLLBOOK_SERVER_HTTP_COURIER_H

#include "http/latest.h"
#include "http/writer.h"
#include "tollbook/alertstore.h"

#define COURIER_THREADS 4

typedef struct courier courier;
/* Whether it is to stop. Any thread. */
bool courier_stopping(const courier *c);

typedef struct courier_work {
    /* Has messages put from now on, in a transaction, when it starts. */
    tb_code (*want)(void *ctx, tb_store *store, int64_t now_us, tb_error *err);
    /* Sends; on thread 0..COURIER_THREADS-1, which no other call has. Fills error where the status is
     * not 2xx. now_us: the clock's, whatever is fixed. NULL: there is no courier. */
    tb_delivery (*send)(void *ctx, unsigned thread, const courier *c, const tb_message *message,
                        const void *secret, int64_t now_us, char error[TB_MESSAGE_ERROR_MAX + 1]);
    /* Looks at some alerts, in a snapshot. begin: a round; all: not only at what has changed. *ret_found:
     * there is something to note. */
    tb_code (*look)(void *ctx, tb_store *store, bool begin, bool all, int64_t now_us, bool *ret_found,
                    bool *ret_over, tb_error *err);
    /* Notes it, in a transaction. *ret_moved: not all of it, so the next round is over all. */
    tb_code (*note)(void *ctx, tb_store *store, int64_t now_us, bool *ret_moved, tb_error *err);
    void (*end)(void *ctx); /* after all threads have ended */
    void *ctx;
    const _Atomic uint64_t *unpriced; /* accounts of which the last round over all found usage without a price */
    int64_t pause_us;       /* before the first try again */
} courier_work;

typedef struct courier_figures {
    uint64_t delivered, failed; /* tries, since the start */
    uint64_t unpriced;          /* accounts whose alerts on money do not count all of their usage */
} courier_figures;

/* stores: two readers, the senders' and the looker's. secret: what is signed with. fixed_now_us:
 * INT64_MIN: the clock's; else the clock begins there. NULL: no thread. */
courier *courier_start(const courier_work *work, tb_store *const stores[2], latest *secret,
                       int64_t fixed_now_us, writer *to);
void courier_read_figures(const courier *c, courier_figures *ret); /* NULL is fine: zeros */
/* No further message is taken and no further account looked at. courier_join then waits for what is at
 * work, which the writer must still do. NULL is fine for all. */
void courier_halt(courier *c);
void courier_join(courier *c);
void courier_free(courier *c);

/* When the next round begins. A round after a commit begins ROUND_PAUSE_US after the one before, or as much later as keeps the
 * rounds to a tenth of a thread's time, but not more than ROUND_PAUSE_MOST_US. */
#define ROUND_PAUSE_US      INT64_C(10000000)
#define ROUND_PAUSE_MOST_US INT64_C(60000000)

typedef struct courier_rounds {
    int64_t next_us, last_all_us; /* monotonic */
    uint64_t version;             /* of the store, when the last round began */
    bool again;                   /* over all: the last round did not note everything */
    bool said;                    /* that it failed */
} courier_rounds;

extern const courier_rounds courier_no_round;
/* Whether a round is due, and over what. The ledger's entries and declarations change the version too. */
bool courier_round_due(const courier_rounds *r, int64_t now_us, uint64_t version, bool *ret_all);
/* moved: as courier_work.note says. */
void courier_round_over(courier_rounds *r, bool all, bool moved, tb_code code, int64_t began_us, int64_t ended_us);

#endif
