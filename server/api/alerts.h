/* Alerts and webhooks: a periodic task evaluates the alerts of accounts, in rounds, and puts messages into the store's
 * outbox; the outbox sender sends them. */
#ifndef TOLLBOOK_SERVER_API_ALERTS_H
#define TOLLBOOK_SERVER_API_ALERTS_H

#include "http/jobs/outbox_sender.h"
#include "http/jobs/periodic.h"

/* Sets up `serve --alert-url`. url and ca, a file of certificate authorities (NULL: the system's), are borrowed.
 * TB_E_USAGE: it is no URL. The returned parts share one state of the process. */
TB_MUST_USE tb_code api_alerts(const char *url, const char *ca, int64_t limit_us, int64_t pause_us,
                               outbox_work *ret_work, periodic_task *ret_task, tb_error *err);

/* Without `--alert-url`: the periodic task that raises the alerts of caps, since zones are disabled by them. */
periodic_task api_caps(void);

/* Accounts with usage without a price, as of the last round over all accounts: their alerts on money do not count it.
 * Any thread. */
uint64_t api_alerts_unpriced(void);

/* When the next round begins. After a commit a round begins ROUND_PAUSE_US after the end of the last one, or later, up
 * to ROUND_PAUSE_MOST_US, so that rounds take at most a tenth of a thread's time. A round over all accounts begins
 * every hour, and after a round that did not note everything. */
#define ROUND_PAUSE_US      INT64_C(10000000)
#define ROUND_PAUSE_MOST_US INT64_C(60000000)

typedef struct alert_rounds {
    int64_t next_us, last_all_us; /* monotonic */
    uint64_t version;             /* of the store, when the last round began */
    bool again;                   /* the next round covers all accounts: the last one did not note everything */
} alert_rounds;

extern const alert_rounds alert_no_round;
/* Whether a round is due, and over which accounts. Ledger entries and declarations change the version, too. */
bool alert_round_due(const alert_rounds *r, int64_t now_us, uint64_t version, bool *ret_all);
/* again: the round did not note everything. */
void alert_round_over(alert_rounds *r, bool all, bool again, bool failed, int64_t began_us, int64_t ended_us);

#endif
