/* Operations: everything that an operator can ask of a database, in one table. A row names an
 * operation and its parameters, with their bounds, defaults and help. The command line, the server
 * and a program that links the library all fill the same arguments through the same rows, so that
 * each rule is checked in one place and each refusal has one wording.
 *
 * An operation reads, writes, or reads and then writes. Reading happens in one snapshot, writing in
 * one transaction. A long operation does part of its work in each call: call it again with
 * reply->next until that is empty. */
#ifndef TOLLBOOK_OPERATION_H
#define TOLLBOOK_OPERATION_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
#include "tollbook/key.h"
#include "tollbook/range.h"
#include "tollbook/replica.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* Once, before the first operation runs and from the only thread. */
void tb_operations_start(void);

/* --- the table --- */

typedef enum tb_param_kind {
    TB_PARAM_FLAG,     /* given or not */
    TB_PARAM_NUMBER,   /* a whole number from min to max */
    TB_PARAM_TEXT,     /* at most max bytes of UTF-8 without control characters, at least min */
    TB_PARAM_CHOICE,   /* one of the words in `value`, "table|json" */
    TB_PARAM_MONTH,    /* "2026-10"; its number is that of tb_month_parse */
    TB_PARAM_DOCUMENT, /* at most max bytes: a file on the command line, JSON on the wire */
    TB_PARAM_NAMED,    /* a document, or the name of one that is stored */
    TB_PARAM_FOLDER,   /* like TEXT, a folder on the caller's machine: a server only learns that one is given */
} tb_param_kind;

typedef struct tb_param {
    const char *name;  /* "max-change": --max-change, and maxChange in JSON and in a query */
    const char *value; /* its placeholder in the help: "PERCENT"; CHOICE: the words */
    const char *help;  /* one sentence without its point */
    tb_param_kind kind;
    bool required, repeats;
    bool operand;          /* the command line takes it without an option's name */
    bool secret;           /* never in the audit log */
    bool file;             /* TEXT: may have lines; on the command line the name of a file stands for what is in it */
    int64_t min, max;
    const char *otherwise; /* the default; NULL: none */
    const char *terminal;  /* the default where the answer is printed on a terminal */
    const char *wire;      /* its name in JSON and queries; NULL: made from `name` */
    const char *list;      /* NUMBER: the command that lists such numbers, "key list"; NULL: none */
} tb_param;

struct tb_args;
struct tb_machine;
struct tb_ops;
struct tb_reply;
typedef tb_code (*tb_operation_part)(struct tb_ops *ops, const struct tb_args *args,
                                     struct tb_reply *reply, tb_error *err);

typedef struct tb_operation {
    const char *name;    /* "ledger pay"; "ledger-pay" on the wire */
    const char *summary; /* one sentence without its point */
    const char *details; /* further paragraphs of its help, or "" */
    /* Which roles may run it, and which may also make it write; write_access TB_ACCESS_NONE: the same. A key of
     * CustomerAdmin is bound to its account, so an operation open to it has a parameter "account", which the server
     * fills, or minds ops->account. */
    tb_access access, write_access;
    const tb_param *params;
    size_t n_params;
    /* An operation may have both: `read` leaves its results in reply->state for `write`. */
    tb_operation_part read;
    tb_operation_part write;
    bool slow;           /* it may take long: the command line offers --progress */
    bool storeless;      /* it works without a database too: ops->store is NULL then */
    bool declares;       /* its changes take effect at a moment: it has TB__PARAM_BACKDATED */
    /* A message for a failed write that is not an error, as the answer is complete: "The scenarios are not
     * kept". NULL: a failed write is an error. */
    const char *unwritten;
    /* A message for an answer that was computed and could not be printed; NULL: none. */
    const char *unprinted;
    const char *consent; /* the flag without which it may refuse (reply->refused); asked for on a terminal. NULL:
                          * none */
    const char *write_flags; /* "finalize|void": it writes only if one of these is given; NULL: always, if
                              * `write` is set. Without one only `read` is called */
} tb_operation;

/* NULL: no such name. A '-' matches a space of the name too. */
const tb_operation *tb_operation_find(const char *name, size_t len);
/* The table, by number from 0; NULL past its end. */
const tb_operation *tb_operation_at(size_t number);

/* --- arguments --- */


typedef struct tb_arg {
    const tb_param *param;
    tb_text text;   /* terminated, but for documents; "" of a flag */
    int64_t number; /* NUMBER, MONTH */
} tb_arg;

typedef struct tb_args {
    const tb_operation *operation;
    tb_arg *list;
    size_t n, cap;
    char *texts;      /* chained blocks */
    char *next; /* the continuation, from the last reply; NULL: from the beginning */
} tb_args;

#define TB_ARGS_MAX 8192 /* values in one call */

void tb_args_init(tb_args *args, const tb_operation *operation);
void tb_args_release(tb_args *args);
/* Adds a value, checked by its row. The bytes of documents are borrowed, others are copied.
 * TB_E_VALIDATION: err->field is the parameter's name. */
TB_MUST_USE tb_code tb_args_add(tb_args *args, const tb_param *param, const char *text, size_t len,
                                tb_error *err);
/* Adds the members of a JSON object; a list is several values, at least one, and true is a given flag. Documents are
 * borrowed from the body. "next" goes to args->next. */
TB_MUST_USE tb_code tb_args_json(tb_args *args, const char *body, size_t len, tb_error *err);
/* Continues from a reply: the same arguments and a copy of its `next`. len 0: none. */
TB_MUST_USE tb_code tb_args_next(tb_args *args, const char *next, size_t len, tb_error *err);
/* Checks that all required arguments are given, and adds the defaults; terminal: those for a terminal. All functions
 * below need arguments that passed it: an operation relies on its rows. */
TB_MUST_USE tb_code tb_args_end(tb_args *args, bool terminal, tb_error *err);

/* The row of this name, also as it is spelled on the wire (letter case does not matter there); NULL:
 * there is none. */
const tb_param *tb_param_find(const tb_operation *operation, const char *name, size_t len);
/* The name as JSON and queries spell it: "maxChange". Terminated. */
void tb_param_wire(const tb_param *param, char out[64]);

/* The given argument of this name. */
const tb_arg *tb_arg_of(const tb_args *args, const char *name); /* the last one; NULL: none */
const tb_arg *tb_arg_nth(const tb_args *args, const char *name, size_t n);
bool tb_arg_given(const tb_args *args, const char *name);
bool tb_arg_is(const tb_args *args, const char *name, const char *word);
int64_t tb_arg_number(const tb_args *args, const char *name, int64_t otherwise);
/* Copies the text, "" if it is not given, terminated. Its row's maximum must fit `out`. */
void tb_arg_copy(const tb_args *args, const char *name, char *out, size_t size);
/* Terminated, but for documents; NULL: not given. */
const char *tb_arg_text(const tb_args *args, const char *name);
/* Whether a NAMED argument is a name; copies it, cut to its room. */
bool tb_arg_name(const tb_arg *arg, char *out, size_t size);
/* Reads a TEXT as a decimal with at most `scale` digits after the point. *ret stays as it is where
 * it is not given. TB_E_VALIDATION: err->field is the parameter's name. */
TB_MUST_USE tb_code tb_arg_decimal(const tb_args *args, const char *name, int scale,
                                   tb_decimal *ret, tb_error *err);
/* Reads a TEXT as a day or a moment, likewise. */
TB_MUST_USE tb_code tb_arg_moment(const tb_args *args, const char *name, int64_t *ret_us, tb_error *err);

/* --- running --- */

/* Receives the files that an operation makes. */
typedef struct tb_files {
    /* Whether the file is wanted; NULL: all are. mark: a text that each file of this form holds within its first
     * KiB; "": none. */
    bool (*wanted)(void *ctx, const char *name, const char *mark);
    tb_code (*put)(void *ctx, const char *name, const char *data, size_t len, tb_error *err);
    void *ctx;
} tb_files;

/* The environment of every operation. */
typedef struct tb_ops {
    tb_store *store;
    int64_t now_us;
    int64_t key;      /* id of the caller's key; 0: the command line, or a program */
    int64_t account;  /* the only account that the caller may see and change; 0: all */
    uint32_t roles;   /* of a caller with an account */
    const char *from; /* the caller, an address or "user eva"; NULL: this process */
    /* Called at intervals while it works; false ends it with TB_E_STOPPED. May be NULL. */
    bool (*step)(void *ctx, uint64_t done, uint64_t total);
    /* Takes the bytes of `out` and empties it, when a long answer has grown; NULL: the whole answer stays in
     * memory, and its size is limited. */
    tb_code (*drain)(void *ctx, tb_buf *out, tb_error *err);
    void *ctx; /* for step and drain */
    /* Fills in what is known of the machine and the process (status.h), called with ctx; NULL: nothing is. */
    void (*machine)(void *ctx, struct tb_machine *ret_machine);
    const tb_files *files; /* NULL: files stay in the reply */
    bool shared; /* other requests need this thread: an operation limits the work of one call */
    /* Random bytes; NULL: no key can be made. */
    void (*random)(void *out, size_t n);
    const tb_replica_server *replica; /* NULL: no server runs the operation */
    const struct tb_note_secret *proof_key; /* of the log of documents (proof.h), which a checkpoint is signed with; NULL: none */
    const char *public_url; /* where customers reach the server, for documents; NULL: not known */
    const uint8_t *key_secret; /* TB_KEY_SECRET bytes that keys are sealed under; NULL: none */
} tb_ops;

/* The result. Empty at first. */
typedef struct tb_reply {
    tb_buf json;    /* the answer as one JSON object; empty: none */
    tb_buf out;     /* what the command line prints on standard output */
    tb_buf said;    /* messages to the user, a line each */
    tb_buf warned;  /* those of them that are warnings */
    tb_buf files;   /* files that `files` did not take, as elements of a JSON list */
    bool no;        /* the answer is no: exit status 1 */
    tb_error refused; /* code not TB_OK: nothing was done without the operation's consent flag. The answer begins with
                       * this error, and HTTP's status is its code's */
    bool made;      /* something new was created: HTTP's 201 */
    bool keys;      /* the keys in force have changed; the reply may hold a key's text and is wiped at its end */
    tb_buf next;    /* the continuation; empty: it is done */
    int64_t entry;  /* the audit log's entry of what was written; 0: none */
    bool settled;   /* read found nothing to write; or write undid all of it, or wrote its own entry of the audit
                     * log */
    const tb_arg *about; /* the document that an error is about, if there are several; NULL: unknown */
    void *state;    /* between read and write */
    void (*release)(void *state);
} tb_reply;

#define TB_REPLY_MAX ((size_t)48 << 20) /* bytes of each part of a reply */

void tb_reply_init(tb_reply *reply);
void tb_reply_release(tb_reply *reply);
/* The reply as one JSON object: {"out":...,"said":[...],"answer":{...},"no":false,"next":"..."}, "entry":17 where it
 * was noted in the audit log, and "files":[{"name":...,"base64":...}] where there are any; where it is refused, "ErrorKey", "Field" and "Message" in
 * front. */
void tb_reply_json(const tb_reply *reply, tb_buf *out);
/* Adds a line to `said`; a warning also to `warned`. */
void tb_reply_say(tb_reply *reply, const char *fmt, ...) TB_PRINTF(2, 3);
void tb_reply_warn(tb_reply *reply, const char *fmt, ...) TB_PRINTF(2, 3);

/* In all of these tb_args_end must have accepted the arguments.
 *
 * Whether these arguments make it write. */
bool tb_operation_writes(const tb_args *args);
/* Whether a key with these roles may run it; changes: and make it write. */
bool tb_operation_open(const tb_operation *operation, uint32_t roles, bool changes);
bool tb_operation_reads(const tb_args *args);
/* Whether writing follows what was read. */
bool tb_operation_goes_on(const tb_args *args, const tb_reply *reply);
/* The reading part, in a snapshot of its own. */
TB_MUST_USE tb_code tb_operation_read(tb_ops *ops, const tb_args *args, tb_reply *reply,
                                      tb_error *err);
/* The writing part, in the caller's transaction, and its entry in the audit log. After an error roll
 * back. */
TB_MUST_USE tb_code tb_operation_write(tb_ops *ops, const tb_args *args, tb_reply *reply,
                                       tb_error *err);
/* The same in a transaction of its own. */
TB_MUST_USE tb_code tb_operation_write_alone(tb_ops *ops, const tb_args *args, tb_reply *reply,
                                             tb_error *err);
/* One call of the whole operation: reads, then writes in a transaction of its own. */
TB_MUST_USE tb_code tb_operation_run(tb_ops *ops, const tb_args *args, tb_reply *reply,
                                     tb_error *err);

/* The full check: everything stored, and every bill rated again. `verify` checks a database with it
 * and `backup` its copy, so both find the same differences. */

/* A tb_check, in a snapshot of its own: the caller holds none. Damage that ends a part of it is one
 * more difference. */
TB_MUST_USE tb_code tb_verify(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                              tb_error *err);

TB_API_END

#endif
