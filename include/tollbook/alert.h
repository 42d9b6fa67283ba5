/* Alerts as the catalogue declares them for an account: a threshold of its money, its usage, its balance
 * or its traffic. What has been raised: alertstore.h; what raises them: alerts.h. */
#ifndef TOLLBOOK_ALERT_H
#define TOLLBOOK_ALERT_H

#include "tollbook/decimal.h"

TB_API_BEGIN

#define TB_ALERT_KINDS(X)                                                                          \
    X(MONTH_TO_DATE, "month_to_date") /* gross charges of the running month so far */              \
    X(FORECAST, "forecast")           /* gross charges that the running month will come to */      \
    X(USAGE, "usage")                 /* bytes of the running month so far */                      \
    X(BALANCE, "balance")             /* the ledger's, below the threshold */                      \
    X(ANOMALY, "anomaly")             /* bytes of an hour, as a multiple of what is usual */
typedef enum tb_alert_kind {
#define TB_X(e, name) TB_ALERT_##e,
    TB_ALERT_KINDS(TB_X)
#undef TB_X
        TB_ALERT_KIND_COUNT
} tb_alert_kind;
const char *tb_alert_kind_name(tb_alert_kind kind);

#define TB_ALERTS_MAX   32 /* of an account */
#define TB_ALERT_ID_MAX 64 /* bytes */

/* limit: `above`, for BALANCE `below`. Amounts are of the account's currency, usage is in bytes, and an
 * anomaly's is how many times the usual. probability: of FORECAST, between 0 and 1. */
typedef struct tb_alert_rule {
    char id[TB_ALERT_ID_MAX + 1];
    tb_alert_kind kind;
    tb_decimal limit, probability;
} tb_alert_rule;

TB_API_END

#endif
