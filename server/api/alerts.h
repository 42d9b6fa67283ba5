/* Alerts and webhooks: a periodic task looks at the alerts of accounts, in rounds, and puts messages into the store's
 * outbox, from where the outbox sender sends them. */
#ifndef TOLLBOOK_SERVER_API_ALERTS_H
#define TOLLBOOK_SERVER_API_ALERTS_H

#include "http/jobs/outbox_sender.h"
#include "http/jobs/periodic.h"

/* What `serve --alert-url` says; the URL and the name of the authorities' file (NULL: the system's)
 * stay the caller's. TB_E_USAGE: it is no URL. What is returned stands on one state of the process. */
TB_MUST_USE tb_code api_alerts(const char *url, const char *ca, int64_t limit_us, int64_t pause_us,
                               outbox_work *ret_work, periodic_task *ret_task, tb_error *err);

/* Accounts of which the last round over all found usage without a price, so that their alerts on money do not count
 * all of it. Any thread. */
uint64_t api_alerts_unpriced(void);

/* When the next round begins. A round after a commit begins ROUND_PAUSE_US after the one before, or as much later as
 * keeps the rounds to a tenth of a thread's time, but not more than ROUND_PAUSE_MOST_US. One over all accounts begins
 * every hour, and after a round that did not note everything. */
#define ROUND_PAUSE_US      INT64_C(10000000)
#define ROUND_PAUSE_MOST_US INT64_C(60000000)

typedef struct alert_rounds {
    int64_t next_us, last_all_us; /* monotonic */
    uint64_t version;             /* of the store, when the last round began */
    bool again;                   /* over all: the last round did not note everything */
} alert_rounds;

extern const alert_rounds alert_no_round;
/* Whether a round is due, and over what. The ledger's entries and declarations change the version too. */
bool alert_round_due(const alert_rounds *r, int64_t now_us, uint64_t version, bool *ret_all);
/* again: it did not note everything. */
void alert_round_over(alert_rounds *r, bool all, bool again, bool failed, int64_t began_us, int64_t ended_us);

#endif
