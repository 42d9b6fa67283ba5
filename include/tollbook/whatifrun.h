/* A what-if run: the months of a span are read once, in the caller's snapshot, and billed again under every scenario. A
 * final month is read as it was when it was last billed, so that `before` is the invoiced amount; the others as they
 * are now. Nothing is written. */
#ifndef TOLLBOOK_WHATIFRUN_H
#define TOLLBOOK_WHATIFRUN_H

#include "tollbook/key.h"
#include "tollbook/monthbill.h"
#include "tollbook/whatif.h"

TB_API_BEGIN

/* Reports progress before each account's month; false stops the run. */
typedef bool (*tb_whatif_step)(void *ctx, uint64_t done, uint64_t total);

typedef struct tb_whatif_question {
    int64_t from, to; /* months, both included */
    int64_t account;  /* 0: all */
    bool own_books;   /* for a customer: of books of scope contract only its own */
    int64_t now_us;
    const tb_scenario *scenarios;
    size_t n_scenarios;
    uint64_t bills_max;  /* account-months x scenarios; 0: any number */
    tb_whatif_step step; /* may be NULL */
    void *ctx;
} tb_whatif_question;

typedef struct tb_whatif_answer {
    int64_t from, to;
    size_t accounts, bills;    /* with usage or fees, and their months */
    bool running;              /* the last month is not over: billed so far, without a minimum */
    tb_whatif_result *results; /* one a scenario */
    size_t n_results;
    tb_late *late; /* final months of the span with unbilled late usage */
    size_t n_late;
    tb_month_books books;
    tb_whatif *whatif;
} tb_whatif_answer;

/* The scenarios must outlive the answer. TB_E_NO_DATA: the span is empty. TB_E_TOO_MUCH: more than bills_max.
 * TB_E_STOPPED: step returned false. Otherwise as tb_whatif_new and tb_whatif_add. */
TB_MUST_USE tb_code tb_whatif_run(tb_store *store, const tb_whatif_question *question,
                                  tb_whatif_answer *ret_answer, tb_error *err);
void tb_whatif_answer_release(tb_whatif_answer *answer);

/* POST /billing/what-if, from its body to the answer's bytes. Scenarios are kept as the bytes that were sent: their
 * numbers are decimals, and no double may come between. */

#define TB_WHATIF_BODY_MAX           ((size_t)4 << 20)
#define TB_WHATIF_BODY_SCENARIOS_MAX 64
#define TB_WHATIF_BODY_MONTHS_MAX    60     /* of a span */
#define TB_WHATIF_BODY_BILLS_MAX     200000 /* account-months x scenarios */

typedef struct tb_whatif_slice {
    const char *text;
    size_t len;
} tb_whatif_slice;

typedef struct tb_whatif_body {
    char from[16], to[16]; /* as sent; "" where it is absent */
    int64_t account;       /* 0: absent */
    tb_whatif_slice
        scenario[TB_WHATIF_BODY_SCENARIOS_MAX]; /* objects, or quoted names; within the body */
    size_t n_scenarios;
} tb_whatif_body;

/* TB_E_VALIDATION with the member's name in err->field; TB_E_TOO_MUCH: too many scenarios;
 * TB_E_TOO_LARGE. */
TB_MUST_USE tb_code tb_whatif_body_parse(const char *body, size_t len, tb_whatif_body *ret,
                                         tb_error *err);

typedef struct tb_whatif_ask {
    const char *body;
    size_t len;
    const char *form;    /* as in tb_whatif_put */
    int64_t account;     /* the account of the caller's key; 0: the operator, who may name stored scenarios */
    int64_t now_us;
    tb_whatif_step step; /* may be NULL */
    void *ctx;
} tb_whatif_ask;

/* Reads and answers, in a snapshot of its own. err->field is the place of an error in the body. TB_E_TOO_MUCH: above a
 * limit, of out's too. Otherwise as tb_whatif_run. */
TB_MUST_USE tb_code tb_whatif_ask_put(tb_store *store, const tb_whatif_ask *ask, tb_buf *out,
                                      tb_error *err);

/* A what-if's answer as bytes: JSON, CSV, a table for a terminal, a page with charts. All forms are
 * made from the same values, with money as decimal text. */

/* The output. flush (may be NULL) is called at intervals, so that a long answer need not be in memory as a whole: it
 * takes out's content and empties it. */
typedef struct tb_whatif_sink {
    tb_buf *out;
    void (*flush)(void *ctx, tb_buf *out);
    void *ctx;
} tb_whatif_sink;

/* form: "table", "json", "csv" or "html". */
void tb_whatif_put(const tb_whatif_answer *answer, const char *form, tb_whatif_sink *sink);

/* {"from","to","scenarios":[...],"late":[...]}: docs/openapi.yaml. One member of scenarios for each
 * currency that a scenario touches. */
void tb_whatif_json(const tb_whatif_answer *answer, tb_whatif_sink *sink);
/* RFC 4180. The column `row` gives the kind of a row: total, month, account or line (of the largest
 * increases); rows of total, of month and of account each sum to the whole. */
void tb_whatif_csv(const tb_whatif_answer *answer, tb_whatif_sink *sink);
void tb_whatif_table(const tb_whatif_answer *answer, tb_whatif_sink *sink);
/* One page that loads nothing, for screen and paper. */
void tb_whatif_html(const tb_whatif_answer *answer, tb_whatif_sink *sink);

/* --- shared by the renderers: whatif_text.c --- */

#define TB_WHATIF_MONEY_MAX (TB_DECIMAL_TEXT_MAX + 4)

/* A scenario in one currency. group NULL: nothing was billed in it. */
typedef struct tb_whatif_part {
    const tb_whatif_result *result;
    const tb_whatif_group *group;
    const char *currency;
    int minor;
    const tb_whatif_book *book; /* the last one patched in this currency; NULL: none */
} tb_whatif_part;

/* How many parts the answer has, and one of them. */
size_t tb_whatif_n_parts(const tb_whatif_answer *answer);
tb_whatif_part tb_whatif_part_of(const tb_whatif_answer *answer, size_t number);

/* All zero if there is no group. */
tb_whatif_change tb_whatif_total(const tb_whatif_part *part);

/* Terminated. */
const char *tb_whatif_money(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX]);
/* With a sign, also of what is above zero. */
const char *tb_whatif_signed(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX]);
/* "+12.35 %", "0.00 %"; "new" if there was nothing before. */
const char *tb_whatif_percent(const tb_whatif_change *change, char out[TB_WHATIF_MONEY_MAX]);

/* Appends such text with commas between thousands and a true minus. */
void tb_whatif_figure(const char *text, tb_buf *out);

/* Lets the sink empty its buffer where it has grown. */
void tb_whatif_breathe(tb_whatif_sink *sink);

TB_API_END

#endif
