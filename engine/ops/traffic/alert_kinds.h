/* What each kind of alert looks at: an account's figure against its threshold. */
#ifndef TOLLBOOK_OPS_ALERT_KINDS_H
#define TOLLBOOK_OPS_ALERT_KINDS_H

#include "tollbook/alerts.h"
#include "tollbook/monthbill.h"

/* The evaluation of an account. Values that several alerts need are read once. */
typedef struct tb__alert_look {
    tb_store *store;
    const tb_month_books *books;
    int64_t account, now_us, month; /* the running month */
    tb_alert_rule rules[TB_ALERTS_MAX + 1]; /* the cap's is the last */
    size_t n_rules;
    char currency[4];
    bool has_total, has_forecast, has_hours;
    bool unpriced; /* usage of the month has no price, and an alert on money was evaluated */
    int minor_digits;
    tb_decimal total;             /* gross */
    tb_decimal uncapped;          /* net, without the cap's own line */
    bool total_unpriced;          /* usage without a price */
    tb_i128 metered[TB_ALERTS_MAX];      /* by rule: the quantity of its meter */
    uint32_t paths, over[TB_ALERTS_MAX]; /* by rule */
    tb_i128 p5, p50, p95;
    uint64_t hours[TB_ANOMALY_SPAN];
} tb__alert_look;

/* The result of one rule. data: further members of the message's data, each after a comma. */
typedef struct tb__alert_found {
    bool breached;
    tb_decimal seen;
} tb__alert_found;

/* Looks at rule i. Appends to data. */
TB_MUST_USE tb_code tb__alert_look_at(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                                      tb_error *err);
/* Whether an alert of the kind may be raised again in a month in which it was cleared. */
bool tb__alert_again(tb_alert_kind kind);
/* "above" or "below". */
const char *tb__alert_limit_name(tb_alert_kind kind);

#endif
