/* The groups that the table of operations is made of: one file of rows a subject. */
#ifndef TOLLBOOK_OPS_OPERATIONS_H
#define TOLLBOOK_OPS_OPERATIONS_H

#include "tollbook/entry.h"
#include "tollbook/operation.h"

typedef struct tb__operations {
    const tb_operation *list;
    size_t n;
} tb__operations;

#define TB__OPERATIONS(rows) {.list = (rows), .n = sizeof(rows) / sizeof *(rows)}
#define TB__PARAMS(rows)     .params = (rows), .n_params = sizeof(rows) / sizeof *(rows)

extern const tb__operations tb__account_operations;
extern const tb__operations tb__alert_operations;
extern const tb__operations tb__audit_operations;
extern const tb__operations tb__book_operations;
extern const tb__operations tb__begin_operations;
extern const tb__operations tb__catalog_operations;
extern const tb__operations tb__charge_operations;
extern const tb__operations tb__forecast_operations;
extern const tb__operations tb__forget_operations;
extern const tb__operations tb__general_ledger_operations;
extern const tb__operations tb__intake_operations;
extern const tb__operations tb__invoice_operations;
extern const tb__operations tb__key_operations;
extern const tb__operations tb__ledger_operations;
extern const tb__operations tb__meter_operations;
extern const tb__operations tb__own_alert_operations;
extern const tb__operations tb__payment_operations;
extern const tb__operations tb__percentile_operations;
extern const tb__operations tb__prepaid_operations;
extern const tb__operations tb__preview_operations;
extern const tb__operations tb__proof_operations;
extern const tb__operations tb__receivable_operations;
extern const tb__operations tb__refused_operations;
extern const tb__operations tb__replica_operations;
extern const tb__operations tb__retain_operations;
extern const tb__operations tb__scenario_operations;
extern const tb__operations tb__setup_operations;
extern const tb__operations tb__size_operations;
extern const tb__operations tb__solve_operations;
extern const tb__operations tb__status_operations;
extern const tb__operations tb__summary_operations;
extern const tb__operations tb__view_operations;
extern const tb__operations tb__whatif_operations;

struct tb_closings_checked;
/* tb_verify in the caller's snapshot. */
TB_MUST_USE tb_code tb__verify_in(tb_store *store, struct tb_closings_checked *closings, tb_say say, void *ctx,
                                  uint64_t *ret_differences, tb_error *err);

/* Makes a new key with the account and roles of *key, stores it, sets its id, and puts its text into the reply. */
TB_MUST_USE tb_code tb__make_key(tb_ops *ops, tb_key *key, tb_reply *reply, tb_error *err);

/* Adds the audit log's entry of a write, in its transaction. */
TB_MUST_USE tb_code tb__audit(const tb_ops *ops, const tb_args *args, tb_error *err);

/* One entry for all calls of a long operation. The first that changes anything leaves it, and the calls behind it
 * name it in `next`: who makes `next` up can name none but an entry of the same operation with the same arguments
 * by the same key, so nothing is done that no entry tells of. */
typedef struct tb__told {
    int64_t entry;    /* 0: nothing was changed yet */
    int64_t begun_us; /* its time; now, without one */
    uint64_t changes;
} tb__told;
/* Reads the entry's id off *next, which may be NULL. TB_E_VALIDATION: it is no such entry. */
TB_MUST_USE tb_code tb__told_begin(const tb_ops *ops, const tb_args *args, const char **next, tb__told *ret_told,
                                   tb_error *err);
/* At the end of a call. The reply is settled: there is nothing left to note. */
TB_MUST_USE tb_code tb__told_end(const tb_ops *ops, const tb_args *args, tb__told *told, tb_reply *reply,
                                 tb_error *err);

/* Takes the first number of a `next`: digits, and the space after them unless they are the last. */
bool tb__next_number(const char **next, int64_t *ret);
TB_MUST_USE tb_code tb__next_wrong(tb_error *err);

/* Accounts that several calls look at are listed by the first call and travel in `next`, "ID ID ...": so a
 * call costs the accounts that it looks at, however many there are. Adds them, and a NUL. */
TB_MUST_USE tb_code tb__put_accounts(tb_buf *out, const int64_t *accounts, size_t n, tb_error *err);
/* Looks at each account of `left`, at `most` a call, or at all where the reply is drained (into out). */
typedef struct tb__account_walk {
    const char *left; /* terminated; in the end the accounts for the next call, "": none */
    size_t most;
    size_t done, total; /* accounts of all calls, those done before this one: for progress */
    tb_code (*look)(void *ctx, int64_t account, tb_error *err);
    void *ctx;
    tb_buf *out;
} tb__account_walk;
TB_MUST_USE tb_code tb__walk_accounts(const tb_ops *ops, tb__account_walk *walk, tb_error *err);
#define TB__ACCOUNTS_AT_ONCE 200 /* `most`, where each is rated */

/* Whether a ledger entry's amount has the digits of its currency, and a size that balances can always be summed of. */
TB_MUST_USE tb_code tb__ledger_check_amount(const tb_ledger_entry *entry, tb_error *err);

/* Fails for a row of a file, of which nothing is entered. What to do instead (or "") comes before the message, which
 * may end with a command. */
tb_code tb__refuse_row(uint64_t line, const tb_error *why, const char *instead, tb_error *err);

/* Says that a month lies before the ledger's begin, and that drafts of it are for comparison; else nothing. */
TB_MUST_USE tb_code tb__say_before_begin(const tb_ops *ops, int64_t month, tb_reply *reply, tb_error *err);

/* What remains of an account's invoices and debits now, and how much of it is past its due date. */
TB_MUST_USE tb_code tb__account_owes(const tb_ops *ops, int64_t account, tb_decimal *ret_owed,
                                     tb_decimal *ret_overdue, tb_error *err);

/* A file that was made. mark: as in tb_files. */
typedef struct tb__made {
    const char *name, *mark;
    const tb_buf *bytes;
} tb__made;
/* Gives it to whoever takes files, or keeps it in the reply. */
TB_MUST_USE tb_code tb__reply_file(const tb_ops *ops, tb_reply *reply, const tb__made *file,
                                   tb_error *err);

/* Appends a text that others chose as a cell of a table for people: a space for each control character
 * of ASCII, the rest as tb_buf_shown. */
void tb__put_cell(tb_buf *out, const char *text, size_t len);

/* What is printed is the answer, as a line. */
void tb__print_json(tb_reply *reply);
/* As JSON the answer takes the place of what was printed. Where nothing was printed yet, the answer's fields are the table: a
 * row for each. */
void tb__print_answer(const tb_args *args, tb_reply *reply);
/* Runs a part, and makes CSV of the rows that it prints. */
TB_MUST_USE tb_code tb__print_csv(tb_operation_part part, tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
/* The operation's reading part; with --format csv the rows that it prints become CSV. */
TB_MUST_USE tb_code tb__read_formatted(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
/* Where the reply is refused: its error's members, each with a comma behind it, for the beginning of an answer. */
void tb__put_refused(const tb_reply *reply, tb_buf *out);

/* Appends the messages so far as a JSON list. */
void tb__reply_said(const tb_reply *reply, tb_buf *out);

/* What an operation's refusal says more than the place knew that refused: which thing there is none of, what a document is
 * instead, and in which line of it something is wrong. err may be NULL. */
void tb__say_more(const tb_args *args, const tb_reply *reply, tb_error *err);
/* Refuses a decimal with what it was meant to be, or an example. why: what tb_decimal_parse says. */
tb_code tb__refuse_decimal(const char *field, const char *text, size_t len, const tb_error *why, tb_error *err);

/* Rows that several operations share.
 *
 * The one rule of what prints data: a table on a terminal, JSON elsewhere. The operation prints its table into `out`,
 * or its JSON in parts, and ends with tb__print_answer where it has the whole answer in `json`. CSV is made of what it
 * prints where it is not asked for JSON. */
#define TB__FORMATS "table|json|csv"
#define TB__PARAM_FORMAT(words_)                                                                   \
    {                                                                                              \
        .name = "format", .value = (words_), .kind = TB_PARAM_CHOICE, .otherwise = "json",         \
        .terminal = "table", .help = "default: table on a terminal, json otherwise"                \
    }
#define TB__PARAM_ACCOUNT(required_, help_)                                                        \
    {                                                                                              \
        .name = "account", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT64_MAX,     \
        .required = (required_), .help = (help_), .list = "account list"                           \
    }
/* Of which no command makes a list. */
#define TB__LIST_ZONES     "query \"SELECT id, account, name FROM zone\""
#define TB__LIST_BALANCERS "query \"SELECT id, account FROM balancer\""
#define TB__LIST_INVOICES  "query \"SELECT number, account, month FROM invoice\""
#define TB__PARAM_BACKDATED                                                                        \
    {                                                                                              \
        .name = "backdated", .kind = TB_PARAM_FLAG,                                                \
        .help = "take it although the clock is behind the newest change"                           \
    }

#endif
