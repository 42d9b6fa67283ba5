/* Looks at the alerts that accounts have declared, and raises and clears them. The caller brings the
 * moment, and what it remembers from one look to the next.
 *
 *     look, in a snapshot  ->  what has changed  ->  note, in a transaction: states, and messages
 *
 * An alert is raised once a month, and cleared when what raised it is over. One of a balance may be
 * raised again in the month once it was cleared. */
#ifndef TOLLBOOK_ALERTS_H
#define TOLLBOOK_ALERTS_H

#include "tollbook/alertstore.h"

TB_API_BEGIN

/* --- anomalies --- */

#define TB_ANOMALY_WEEKS       8  /* past weeks whose same hour is looked at */
#define TB_ANOMALY_WEEKS_LEAST 4  /* with fewer there is nothing usual */
#define TB_ANOMALY_HOURS       24 /* the newest hours, the running one included */
#define TB_ANOMALY_SPAN        (TB_ANOMALY_WEEKS * 168 + TB_ANOMALY_HOURS)

/* An hour and what is usual for its weekday and hour: the median of the same hour of past weeks, from the
 * account's first usage on. */
typedef struct tb_anomaly {
    size_t hour;      /* index into the hours */
    uint64_t seen;
    tb_u128 expected2; /* twice the median, so that it is whole */
    size_t n;          /* past hours it rests on; fewer than TB_ANOMALY_WEEKS_LEAST: nothing is usual */
    uint64_t value[TB_ANOMALY_WEEKS]; /* one week back first */
} tb_anomaly;
/* The newest of the last TB_ANOMALY_HOURS hours that has more than `times` its usual, or the newest
 * complete hour where none has. hours: TB_ANOMALY_SPAN of them, the last one is running. */
bool tb_anomaly_find(const uint64_t hours[TB_ANOMALY_SPAN], tb_decimal times, tb_anomaly *ret);

/* --- looking --- */

#define TB_ALERT_ACCOUNTS   50 /* that one look takes */
#define TB_ALERT_PATHS      2000
#define TB_ALERT_EVERY_US   (INT64_C(60) * 1000000)   /* accounts that have changed, at most so often */
#define TB_ALERT_ALL_US     (INT64_C(3600) * 1000000) /* all of them, at least so often */

/* What was looked at last. NULL: no memory. */
typedef struct tb_alert_watch tb_alert_watch;
tb_alert_watch *tb_alert_watch_new(void);
/* One that goes on behind an account, with all; and the account that was looked at last. */
tb_alert_watch *tb_alert_watch_from(int64_t account);
int64_t tb_alert_watch_at(const tb_alert_watch *watch);
void tb_alert_watch_free(tb_alert_watch *watch);
/* Begins a round. all: of every account; else of those whose declaration, usage or ledger have changed
 * since the last one. After an error, and after tb_alerts_note said `moved`, begin with all. */
void tb_alert_watch_begin(tb_alert_watch *watch, bool all);

/* An alert to be raised or cleared. */
typedef struct tb_alert_change {
    tb_alert_state state; /* as it is to be */
    int64_t last;         /* the alert's last state; 0: none. Another one by now: it has moved */
    bool raise, quiet;    /* quiet: no message, for another one says it */
    bool late;            /* it stands already: its message alone is put, for none was wanted then */
    char *body;           /* of its message, JSON; "" where quiet */
} tb_alert_change;
typedef struct tb_alert_changes {
    tb_alert_change *list;
    size_t n, cap;
    /* Accounts with usage without a price, which their alerts on money (month_to_date, forecast) do not
     * count. */
    int64_t *unpriced;
    size_t n_unpriced, cap_unpriced;
} tb_alert_changes;
void tb_alert_changes_release(tb_alert_changes *changes);

/* Looks at the round's next accounts, in the caller's snapshot or transaction. *ret_over: there are no
 * more. An account that cannot be looked at is said (say may be NULL) and left out. */
TB_MUST_USE tb_code tb_alerts_look(tb_store *store, tb_alert_watch *watch, int64_t now_us, tb_say say,
                                   void *ctx, tb_alert_changes *ret_changes, bool *ret_over,
                                   tb_error *err);
/* Notes them, each with its message, in the caller's transaction. *ret_moved: the state of some is not
 * what it was when they were looked at; these are left out. */
TB_MUST_USE tb_code tb_alerts_note(tb_store *store, const tb_alert_changes *changes, int64_t now_us,
                                   bool *ret_moved, tb_error *err);

TB_API_END

#endif
