/* A what-if run: the months of a span read once, in the caller's snapshot, and billed again under
 * every scenario. A final month is read as it stood when it was last billed, so that `before` is
 * what was invoiced; the others as they stand now. Nothing is written. */
#ifndef TOLLBOOK_WHATIFRUN_H
#define TOLLBOOK_WHATIFRUN_H

#include "tollbook/monthbill.h"
#include "tollbook/whatif.h"

TB_API_BEGIN

/* Told how far the run is before each account's month; false ends it. */
typedef bool (*tb_whatif_step)(void *ctx, uint64_t done, uint64_t total);

typedef struct tb_whatif_question {
    int64_t from, to; /* months, both included */
    int64_t account;  /* 0: all */
    bool own_books;   /* a customer asks: of books of scope contract, its own alone are there */
    int64_t now_us;
    const tb_scenario *scenarios;
    size_t n_scenarios;
    uint64_t bills_max;  /* account-months x scenarios; 0: any number */
    tb_whatif_step step; /* may be NULL */
    void *ctx;
} tb_whatif_question;

typedef struct tb_whatif_answer {
    int64_t from, to;
    size_t accounts, bills;    /* that hold anything, and their months */
    bool running;              /* the last month is not over: billed so far, without a minimum */
    tb_whatif_result *results; /* one a scenario */
    size_t n_results;
    tb_late *late; /* final months of the span with usage that waits to be billed */
    size_t n_late;
    tb_month_books books;
    tb_whatif *whatif;
} tb_whatif_answer;

/* The scenarios must outlive the answer. TB_E_NO_DATA: the span holds nothing. TB_E_TOO_MUCH: past
 * bills_max. TB_E_STOPPED: step said no. Otherwise as tb_whatif_new and tb_whatif_add. */
TB_MUST_USE tb_code tb_whatif_run(tb_store *store, const tb_whatif_question *question,
                                  tb_whatif_answer *ret_answer, tb_error *err);
void tb_whatif_answer_release(tb_whatif_answer *answer);

TB_API_END

#endif
