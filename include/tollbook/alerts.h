/* Evaluates the alerts that accounts have declared, and raises and clears them. The caller provides the time, and
 * keeps the watch between evaluations.
 *
 *     tb_alerts_look, in a snapshot  ->  changes  ->  tb_alerts_note, in a transaction: states and messages
 *
 * An alert is raised once a month, and cleared when its condition no longer holds. A balance alert may be raised
 * again in the month once it was cleared. */
#ifndef TOLLBOOK_ALERTS_H
#define TOLLBOOK_ALERTS_H

#include "tollbook/alertstore.h"

TB_API_BEGIN

/* --- anomalies --- */

#define TB_ANOMALY_WEEKS       8  /* past weeks, of which the same hour is compared */
#define TB_ANOMALY_WEEKS_LEAST 4  /* with fewer past weeks there is no usual value */
#define TB_ANOMALY_HOURS       24 /* the newest hours, the running one included */
#define TB_ANOMALY_SPAN        (TB_ANOMALY_WEEKS * 168 + TB_ANOMALY_HOURS)

/* An hour and its usual value: the median of the same weekday and hour of past weeks, since the account's first
 * usage. */
typedef struct tb_anomaly {
    size_t hour;      /* index into the hours */
    uint64_t seen;
    tb_u128 expected2; /* twice the median, so that it is whole */
    size_t n;          /* past hours of the median; fewer than TB_ANOMALY_WEEKS_LEAST: no usual value */
    uint64_t value[TB_ANOMALY_WEEKS]; /* one week back first */
} tb_anomaly;
/* The newest of the last TB_ANOMALY_HOURS hours that has more than `times` its usual, or the newest
 * complete hour where none has. hours: TB_ANOMALY_SPAN of them, the last one is running. */
bool tb_anomaly_find(const uint64_t hours[TB_ANOMALY_SPAN], tb_decimal times, tb_anomaly *ret);

/* --- looking --- */

#define TB_ALERT_ACCOUNTS   50 /* that one look takes */
#define TB_ALERT_EVERY_US   (INT64_C(60) * 1000000)   /* accounts that have changed, at most so often */
#define TB_ALERT_ALL_US     (INT64_C(3600) * 1000000) /* all of them, at least so often */

/* The position in a round and the data versions seen. NULL: out of memory. */
typedef struct tb_alert_watch tb_alert_watch;
tb_alert_watch *tb_alert_watch_new(void);
/* A watch of all accounts that continues after `account`; and the account evaluated last. */
tb_alert_watch *tb_alert_watch_from(int64_t account);
int64_t tb_alert_watch_at(const tb_alert_watch *watch);
void tb_alert_watch_free(tb_alert_watch *watch);
/* From now on the watch evaluates caps of contracts only. */
void tb_alert_watch_caps(tb_alert_watch *watch);
/* Begins a round. all: of every account; else of those with a changed declaration, usage or ledger since the last
 * round. After an error, and after tb_alerts_note has set `moved`, begin with all. */
void tb_alert_watch_begin(tb_alert_watch *watch, bool all);

/* An alert to be raised or cleared. */
typedef struct tb_alert_change {
    tb_alert_state state; /* the new state */
    int64_t last;         /* id of the alert's last state; 0: none. If it differs by now, the change is skipped */
    bool raise, quiet;    /* quiet: no message, as another alert's message covers it */
    bool late;            /* raised already without a message, as the outbox was off: only the message is stored */
    char *body;           /* of its message, JSON; "" if quiet */
} tb_alert_change;
typedef struct tb_alert_changes {
    tb_alert_change *list;
    size_t n, cap;
    /* Accounts with usage without a price, which their alerts on money (month_to_date, forecast) do not
     * count. */
    int64_t *unpriced;
    size_t n_unpriced, cap_unpriced;
    bool complete; /* the round has looked at its last account */
} tb_alert_changes;
void tb_alert_changes_release(tb_alert_changes *changes);

/* Evaluates the round's next accounts, at most TB_ALERT_ACCOUNTS, in the caller's snapshot or transaction. An
 * account that cannot be evaluated is reported to `say` (may be NULL) and skipped. After an error ret_changes
 * holds nothing. Release. */
TB_MUST_USE tb_code tb_alerts_look(tb_store *store, tb_alert_watch *watch, int64_t now_us, tb_say say,
                                   void *ctx, tb_alert_changes *ret_changes, tb_error *err);
/* Stores the changes and their messages in the caller's transaction. *ret_moved: the state of some alerts has
 * changed since they were evaluated; these are skipped. */
TB_MUST_USE tb_code tb_alerts_note(tb_store *store, const tb_alert_changes *changes, int64_t now_us,
                                   bool *ret_moved, tb_error *err);

TB_API_END

#endif
