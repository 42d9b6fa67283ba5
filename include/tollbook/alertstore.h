/* Raised alerts, and the outbox of messages to the operator's receiver. A message is written in the same transaction
 * as the change that it reports, so that a crash leaves both or neither. A message keeps its id however often it is
 * sent; the store itself sends nothing. */
#ifndef TOLLBOOK_ALERTSTORE_H
#define TOLLBOOK_ALERTSTORE_H

#include "tollbook/catalog.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* --- alerts --- */

#define TB_MESSAGE_ID 36 /* characters: "msg_" and 32 hexadecimal digits */
#define TB_ALERT_OPEN INT64_MAX
#define TB_ALERT_DATA 2047 /* bytes */

/* An alert that was raised. */
typedef struct tb_alert_state {
    int64_t id, account, month;
    int64_t raised_us, cleared_us; /* cleared_us TB_ALERT_OPEN: not cleared yet */
    char alert[TB_ALERT_ID_MAX + 1];
    tb_alert_kind kind;
    char limit[TB_DECIMAL_TEXT_MAX + 1], seen[TB_DECIMAL_TEXT_MAX + 1]; /* when it was raised */
    char raised[TB_MESSAGE_ID + 1], cleared[TB_MESSAGE_ID + 1];         /* message ids; "": none */
    char data[TB_ALERT_DATA + 1]; /* the message's data when it was raised: a JSON object */
} tb_alert_state;

/* Accounts with a number above `after` that have alerts declared or an open alert; ascending, at most `limit`. Costs
 * only these. free(). */
TB_MUST_USE tb_code tb_store_alert_accounts(tb_store *store, int64_t after, int64_t limit,
                                            int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* An account's alerts: those declared now, and behind them its own; none if there is no such account. An own alert with
 * a declared id, or past TB_ALERTS_MAX, is left out. */
TB_MUST_USE tb_code tb_store_alert_rules(tb_store *store, int64_t account,
                                         tb_alert_rule ret_rules[TB_ALERTS_MAX], size_t *ret_n,
                                         tb_error *err);
/* Sets an own alert, in place of one with its id. document: an element of the catalogue's `alerts`. TB_E_VALIDATION: it
 * is not valid, its id is declared, or the account has TB_ALERTS_MAX alerts. */
TB_MUST_USE tb_code tb_store_own_alert_set(tb_store *store, int64_t account, const char *document, tb_error *err);
/* TB_E_NOT_FOUND */
TB_MUST_USE tb_code tb_store_own_alert_drop(tb_store *store, int64_t account, const char *id, tb_error *err);
/* The newest state of each alert of an account, ascending by alert. free(). */
TB_MUST_USE tb_code tb_store_alerts_last(tb_store *store, int64_t account, tb_alert_state **ret_states,
                                         size_t *ret_n, tb_error *err);
/* Stores a raised alert and sets state->id. All writes here are in the caller's transaction. */
TB_MUST_USE tb_code tb_store_alert_raise(tb_store *store, tb_alert_state *state, tb_error *err);
TB_MUST_USE tb_code tb_store_alert_clear(tb_store *store, const tb_alert_state *state, tb_error *err);
/* Stores the alert's message, where it had none. */
TB_MUST_USE tb_code tb_store_alert_said(tb_store *store, const tb_alert_state *state, tb_error *err);
/* Alerts, the newest first, at most `limit`; account 0: of all accounts. free(). */
TB_MUST_USE tb_code tb_store_alerts(tb_store *store, int64_t account, int64_t limit,
                                    tb_alert_state **ret_states, size_t *ret_n, tb_error *err);
/* A number that changes when the account's declared document, its ledger or its usage of the month changes. Costs a
 * few rows. */
TB_MUST_USE tb_code tb_store_alert_mark(tb_store *store, int64_t account, int64_t month,
                                        uint64_t *ret_mark, tb_error *err);

/* --- the outbox --- */

/* X(NAME, text) */
#define TB_MESSAGE_STATES(X)                                                                       \
    X(WAITING, "waiting")                                                                          \
    X(DELIVERED, "delivered")                                                                      \
    X(FAILED, "failed") /* given up */
typedef enum tb_message_state {
#define TB_X(e, name) TB_MESSAGE_##e,
    TB_MESSAGE_STATES(TB_X)
#undef TB_X
        TB_MESSAGE_STATE_COUNT
} tb_message_state;
const char *tb_message_state_name(tb_message_state state);

#define TB_MESSAGE_MAX       ((size_t)64 << 10) /* bytes of a body */
#define TB_MESSAGE_ERROR_MAX 159                /* bytes */

/* since_us: when it was stored or last requested again; after TB_OUTBOX_PATIENCE_US without delivery the store gives
 * up. status: of the last answer, 0: none. */
typedef struct tb_message {
    int64_t number, account, created_us, since_us, next_us, delivered_us; /* INT64_MAX: not yet */
    int64_t attempts; /* since since_us */
    int status;
    tb_message_state state;
    char id[TB_MESSAGE_ID + 1], type[32], error[TB_MESSAGE_ERROR_MAX + 1];
    char *body; /* free(); NULL in lists */
    size_t body_len;
} tb_message;

#define TB_OUTBOX_PATIENCE_US (INT64_C(72) * 3600 * 1000000)
#define TB_OUTBOX_PAUSE_US    (INT64_C(5) * 1000000)        /* the first, usually */
#define TB_OUTBOX_PAUSE_MOST  (INT64_C(2) * 3600 * 1000000) /* the longest, before its spread */
#define TB_OUTBOX_KEPT_US     (INT64_C(90) * 86400 * 1000000) /* delivered and failed messages */

/* Whether messages are stored at all; off in a new file. */
TB_MUST_USE tb_code tb_store_outbox_on(tb_store *store, bool *ret_on, tb_error *err);
/* Switches the outbox on or off; off gives up waiting messages. */
TB_MUST_USE tb_code tb_store_outbox_turn(tb_store *store, bool on, tb_error *err);
/* Stores a message, due at once. Its id is computed from its content and time: the same again is the same message.
 * ret_id "": the outbox is off. Deletes messages older than TB_OUTBOX_KEPT_US that are not waiting. */
TB_MUST_USE tb_code tb_store_outbox_put(tb_store *store, const char *type, int64_t account,
                                        int64_t now_us, const tb_buf *body,
                                        char ret_id[TB_MESSAGE_ID + 1], tb_error *err);
/* The first waiting message that is due and not among the n numbers in `but`. Messages without an attempt come first,
 * so that an unreachable receiver does not delay new ones. */
TB_MUST_USE tb_code tb_store_outbox_due(tb_store *store, int64_t now_us, const int64_t *but, size_t n,
                                        tb_message *ret_message, bool *ret_there, tb_error *err);
/* The result of an attempt. 2xx: delivered; 410: given up; otherwise the message is sent again, first after pause_us,
 * then each time after twice as long; not before after_us, if that is at most TB_OUTBOX_PAUSE_MOST. */
typedef struct tb_delivery {
    int status; /* of HTTP; 0: there was no answer */
    const char *error;
    int64_t after_us; /* the pause that the receiver asked for; 0: none */
} tb_delivery;
/* Records an attempt. No effect on a message that is no longer waiting. */
TB_MUST_USE tb_code tb_store_outbox_tried(tb_store *store, const tb_message *message,
                                          const tb_delivery *came, int64_t now_us, int64_t pause_us,
                                          tb_error *err);
/* The pause after so many attempts: 75 to 125 percent of the doubled pause, chosen by the id. */
int64_t tb_outbox_pause(const char *id, int64_t attempts, int64_t pause_us);
/* Makes it due again, under its id and whatever its state. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_outbox_again(tb_store *store, const char *id, int64_t now_us,
                                          tb_error *err);
/* Messages, the newest first, at most `limit`, without their bodies; account 0: of all accounts. free(). */
TB_MUST_USE tb_code tb_store_outbox(tb_store *store, int64_t account, int64_t limit,
                                    tb_message **ret_messages, size_t *ret_n, tb_error *err);
typedef struct tb_outbox_figures {
    uint64_t waiting, failed;
    int64_t oldest_us; /* since when the oldest has been waiting; INT64_MAX: none is waiting */
} tb_outbox_figures;
TB_MUST_USE tb_code tb_store_outbox_figures(tb_store *store, tb_outbox_figures *ret, tb_error *err);

TB_API_END

#endif
