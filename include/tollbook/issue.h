/* Makes a month's bill an invoice: finds late months and their corrections, builds the statement,
 * numbers and stores it. Works in the caller's snapshot (drafts) or transaction (final invoices),
 * so a run that is killed leaves either all of an account's invoice or nothing. */
#ifndef TOLLBOOK_ISSUE_H
#define TOLLBOOK_ISSUE_H

#include "tollbook/correction.h"
#include "tollbook/monthbill.h"
#include "tollbook/partystore.h"

TB_API_BEGIN

/* Documents are checked by the rules that they were made by. */
typedef enum tb_issue_rules {
    TB_ISSUE_RULES_NOW,
    TB_ISSUE_RULES_WHOLE, /* before 1.1: a document's own taxes are on all its lines */
    TB_ISSUE_RULES_EARLY, /* up to schema 3: the same, and a corrected month takes the regions that held at the
                             correction, and a credit is held to the month's own invoice and credit notes */
} tb_issue_rules;

/* A month that was run and that something has come in for since. */
typedef struct tb_issue_late {
    tb_late late;
    tb_month_books books;        /* those its invoice was made with, or all; shallow */
    tb_month_bill before, after; /* before: empty where nothing of the month is billed */
    tb_billed_by *billed;        /* what has billed it, the newest first */
    size_t n_billed;
    tb_corrections corrections;
    bool credit; /* the difference is negative: a credit note's */
} tb_issue_late;

/* A month of which nothing is billed and that cannot be billed now either: it waits on. */
typedef struct tb_issue_left {
    tb_late late;
    char why[TB_RUN_REASON_MAX];
} tb_issue_left;

/* A statement and everything it is made of. Its pointers lead into it: it is not to be moved. */
typedef struct tb_issue {
    tb_month_bill month;
    tb_issue_late *late;
    size_t n_late;
    tb_issue_left *left;
    size_t n_left;
    tb_late *quiet; /* months with nothing billed and still nothing due */
    size_t n_quiet;
    tb_corrections *lists; /* of the late months that are no credits; shallow */
    size_t n_lists;
    tb_corrected joined;
    tb_unpriced *unpriced; /* of the month and of late months together */
    tb_statement_book *books;
    struct tb_paper **papers; /* documents that billed the late months */
    size_t n_papers;
    tb_issue_rules rules;
    tb_parties parties;
    struct tb_draw_plan *draws; /* what credit pays of it; NULL: none was ever granted */
    tb_statement statement;
} tb_issue;

/* The draft of an account's month as it stands: its charges, the corrections that wait, and what credits and money in the
 * account would pay. now_us decides whether the month is running. */
TB_MUST_USE tb_code tb_issue_draft(tb_store *store, int64_t account, int64_t month,
                                   const tb_month_books *books, int64_t now_us, tb_issue *ret_issue,
                                   tb_error *err);
void tb_issue_release(tb_issue *draft);

/* What became of it. */
typedef enum tb_issue_outcome {
    TB_ISSUE_MADE,      /* final now */
    TB_ISSUE_KNOWN,     /* was final already; nothing was issued */
    TB_ISSUE_NOTHING,   /* nothing is due: no invoice (credit notes of late months were issued) */
    TB_ISSUE_ELSEWHERE, /* had nothing due once, and was billed by corrections on a later invoice */
} tb_issue_outcome;

/* Makes the draft final: credit notes of late months first, then the invoice, and notes the month
 * as run. Without anything due there is no invoice, unless `empty`. Errors: NOT_OVER, UNPRICED (the
 * draft's list says what), and the store's: then roll back. *ret_invoice is set, and the caller's
 * to release, for MADE and KNOWN. said (may be NULL) is called for each credit note. */
typedef void (*tb_issue_said)(void *ctx, const tb_invoice *credit_note);
TB_MUST_USE tb_code tb_issue_finalize(tb_store *store, tb_issue *draft, int64_t now_us, bool empty,
                                      tb_issue_said said, void *ctx, tb_invoice *ret_invoice,
                                      tb_issue_outcome *ret_outcome, tb_error *err);
/* Whether an error is one account's own trouble, which does not end a run. */
bool tb_issue_is_its_own(tb_code code);
/* TB_E_NOT_OVER, or TB_OK. */
TB_MUST_USE tb_code tb_issue_check_over(int64_t month, int64_t now_us, tb_error *err);

/* Whether the month needs no draft: *ret_outcome KNOWN (then *ret_invoice is set, and the caller's
 * to release), ELSEWHERE (number says where), else NOTHING. */
TB_MUST_USE tb_code tb_issue_done(tb_store *store, int64_t account, int64_t month,
                                  tb_invoice *ret_invoice, char number[24],
                                  tb_issue_outcome *ret_outcome, tb_error *err);

/* Re-rates every stored invoice and credit note and compares the bytes. Calls say with a sentence
 * for each difference and adds them to *differences. */
TB_MUST_USE tb_code tb_issue_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                    tb_error *err);

TB_API_END

#endif
