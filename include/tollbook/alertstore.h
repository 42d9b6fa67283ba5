/* Alerts that were raised, and the outbox: messages that wait to be sent to the operator's receiver. A
 * message is written in the transaction of what it tells of, so that a crash leaves both or neither. Each
 * has an id that stays the same however often it is sent; the store sends nothing itself. */
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
    int64_t raised_us, cleared_us; /* cleared_us TB_ALERT_OPEN: it stands */
    char alert[TB_ALERT_ID_MAX + 1];
    tb_alert_kind kind;
    char limit[TB_DECIMAL_TEXT_MAX + 1], seen[TB_DECIMAL_TEXT_MAX + 1]; /* when it was raised */
    char raised[TB_MESSAGE_ID + 1], cleared[TB_MESSAGE_ID + 1];         /* messages; "": none */
    char data[TB_ALERT_DATA + 1]; /* what was said when it was raised: a JSON object */
} tb_alert_state;

/* Accounts past `after` that have alerts declared, or have one that stands; ascending, at most `limit`.
 * Costs these and no others. free(). */
TB_MUST_USE tb_code tb_store_alert_accounts(tb_store *store, int64_t after, int64_t limit,
                                            int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* An account's alerts as they are declared now; none of an account that is not there. */
TB_MUST_USE tb_code tb_store_alert_rules(tb_store *store, int64_t account,
                                         tb_alert_rule ret_rules[TB_ALERTS_MAX], size_t *ret_n,
                                         tb_error *err);
/* The last of each alert of an account that was raised, ascending by alert. free(). */
TB_MUST_USE tb_code tb_store_alerts_last(tb_store *store, int64_t account, tb_alert_state **ret_states,
                                         size_t *ret_n, tb_error *err);
/* Sets state->id. In the caller's transaction, as all that writes here. */
TB_MUST_USE tb_code tb_store_alert_raise(tb_store *store, tb_alert_state *state, tb_error *err);
TB_MUST_USE tb_code tb_store_alert_clear(tb_store *store, const tb_alert_state *state, tb_error *err);
/* Its message, where it had none. */
TB_MUST_USE tb_code tb_store_alert_said(tb_store *store, const tb_alert_state *state, tb_error *err);
/* The newest first, at most `limit`; account 0: of all. free(). */
TB_MUST_USE tb_code tb_store_alerts(tb_store *store, int64_t account, int64_t limit,
                                    tb_alert_state **ret_states, size_t *ret_n, tb_error *err);
/* A number that is another one when the account's declared document, its ledger or its usage of the
 * month have changed. Costs a few rows. */
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

/* since_us: when it was put, or asked for again: what is not delivered TB_OUTBOX_PATIENCE_US later is
 * given up. status: of the last answer, 0: there was none. */
typedef struct tb_message {
    int64_t number, account, created_us, since_us, next_us, delivered_us; /* INT64_MAX: not yet */
    int64_t attempts; /* since then */
    int status;
    tb_message_state state;
    char id[TB_MESSAGE_ID + 1], type[32], error[TB_MESSAGE_ERROR_MAX + 1];
    char *body; /* free(); NULL in lists */
    size_t body_len;
} tb_message;

#define TB_OUTBOX_PATIENCE_US (INT64_C(72) * 3600 * 1000000)
#define TB_OUTBOX_PAUSE_US    (INT64_C(5) * 1000000)        /* the first, usually */
#define TB_OUTBOX_PAUSE_MOST  (INT64_C(2) * 3600 * 1000000) /* the longest, before its spread */
#define TB_OUTBOX_KEPT_US     (INT64_C(90) * 86400 * 1000000) /* messages that do not wait */

/* Whether messages are wanted: they are put only then. A new file's are not. */
TB_MUST_USE tb_code tb_store_outbox_on(tb_store *store, bool *ret_on, tb_error *err);
/* Once they are not wanted any more, what waits is given up. */
TB_MUST_USE tb_code tb_store_outbox_turn(tb_store *store, bool on, tb_error *err);
/* Puts a message, which is due at once. The id is made of what is said, and of when: the same again is the
 * same message. ret_id "": none are wanted. Takes messages away that are older than TB_OUTBOX_KEPT_US and
 * do not wait. */
TB_MUST_USE tb_code tb_store_outbox_put(tb_store *store, const char *type, int64_t account,
                                        int64_t now_us, const tb_buf *body,
                                        char ret_id[TB_MESSAGE_ID + 1], tb_error *err);
/* The first that waits and is due, but for those of these numbers; one that was never tried goes before
 * others, so that a receiver that is away holds up nothing new. */
TB_MUST_USE tb_code tb_store_outbox_due(tb_store *store, int64_t now_us, const int64_t *but, size_t n,
                                        tb_message *ret_message, bool *ret_there, tb_error *err);
/* What came of a try. 2xx has delivered it, 410 gives it up; anything else waits and is tried again, first
 * after pause_us, then each time after twice as long; not before after_us, as long as that is no more than
 * TB_OUTBOX_PAUSE_MOST. */
typedef struct tb_delivery {
    int status; /* of HTTP; 0: there was no answer */
    const char *error;
    int64_t after_us; /* the receiver asks to be left alone that long; 0: it does not say */
} tb_delivery;
/* No effect on one that does not wait any more. */
TB_MUST_USE tb_code tb_store_outbox_tried(tb_store *store, const tb_message *message,
                                          const tb_delivery *came, int64_t now_us, int64_t pause_us,
                                          tb_error *err);
/* How long it waits after so many tries: from three to five quarters of the doubled pause, as its id says. */
int64_t tb_outbox_pause(const char *id, int64_t attempts, int64_t pause_us);
/* Makes it due again, under its id, whatever came of it. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_outbox_again(tb_store *store, const char *id, int64_t now_us,
                                          tb_error *err);
/* The newest first, at most `limit`, without their bodies; account 0: of all. free(). */
TB_MUST_USE tb_code tb_store_outbox(tb_store *store, int64_t account, int64_t limit,
                                    tb_message **ret_messages, size_t *ret_n, tb_error *err);
typedef struct tb_outbox_figures {
    uint64_t waiting, failed;
    int64_t oldest_us; /* since when the oldest waits; INT64_MAX: none does */
} tb_outbox_figures;
TB_MUST_USE tb_code tb_store_outbox_figures(tb_store *store, tb_outbox_figures *ret, tb_error *err);

TB_API_END

#endif
