/* Turns a month's bill into an invoice: finds late months and their corrections, builds the statement, numbers and
 * stores it. Works in the caller's snapshot (drafts) or transaction (final invoices), so a run that is killed leaves
 * either all of an account's invoice or nothing. */
#ifndef TOLLBOOK_ISSUE_H
#define TOLLBOOK_ISSUE_H

#include "tollbook/buf.h"
#include "tollbook/invoice.h"
#include "tollbook/monthbill.h"
#include "tollbook/partystore.h"
#include "tollbook/print.h"
#include "tollbook/bookstore.h"

TB_API_BEGIN

/* The rules by which a document was made, the newest first; it is checked by the same ones. */
typedef enum tb_issue_rules {
    TB_ISSUE_RULES_NOW,
    TB_ISSUE_RULES_FLOORED, /* up to schema 31: corrections and their tax take no month below zero */
    TB_ISSUE_RULES_WHOLE, /* before 1.1: as FLOORED; a document's own taxes are on all its lines */
    TB_ISSUE_RULES_EARLY, /* up to schema 3: as WHOLE; a corrected month uses the regions in force at the correction, and
                             a credit is limited by the month's own invoice and credit notes */
} tb_issue_rules;

/* A month whose data has changed since it was run. */
typedef struct tb_issue_late {
    tb_late late;
    tb_month_books books;        /* the books of its invoice, or all; shallow */
    tb_month_bill before, after; /* before: empty where nothing of the month is billed */
    tb_billed_by *billed;        /* the documents that billed it, newest first */
    size_t n_billed;
    tb_corrections corrections;
    bool credit; /* less than was billed: it becomes a credit note */
} tb_issue_late;

/* A month of which nothing is billed and that cannot be billed now either: it stays unbilled. */
typedef struct tb_issue_left {
    tb_late late;
    char why[TB_RUN_REASON_MAX];
} tb_issue_left;

/* A statement and everything that it is made of. It has pointers into itself: do not move it. */
typedef struct tb_issue {
    tb_month_bill month;
    tb_issue_late *late;
    size_t n_late;
    tb_issue_left *left;
    size_t n_left;
    tb_late *quiet; /* late months with nothing billed and nothing due */
    size_t n_quiet;
    tb_one_off *charges; /* one-off charges; due: what the document bills, as far as it can bear it */
    size_t n_charges;
    tb_decimal rated; /* the month's subtotal without them: what books decide */
    tb_corrections *lists; /* of the late months that do not become credit notes; shallow */
    size_t n_lists;
    tb_corrected joined;
    tb_unpriced *unpriced; /* of the month and of late months */
    tb_statement_book *books;
    struct tb_paper **papers; /* documents that billed the late months */
    size_t n_papers;
    tb_issue_rules rules;
    tb_parties parties;
    struct tb_draw_plan *draws; /* draws from credit; NULL: the account never had credit */
    tb_statement statement;
} tb_issue;

/* The draft of an account's month: its charges, the pending corrections, and the amounts that credits and the balance
 * would pay. now_us decides whether the month is running. */
TB_MUST_USE tb_code tb_issue_draft(tb_store *store, int64_t account, int64_t month,
                                   const tb_month_books *books, int64_t now_us, tb_issue *ret_issue,
                                   tb_error *err);
void tb_issue_release(tb_issue *draft);

/* The result of tb_issue_finalize or tb_issue_done. */
typedef enum tb_issue_outcome {
    TB_ISSUE_MADE,      /* final now */
    TB_ISSUE_KNOWN,     /* was final already; nothing was issued */
    TB_ISSUE_NOTHING,   /* nothing is due: no invoice (credit notes of late months were issued) */
    TB_ISSUE_ELSEWHERE, /* nothing was due when it was run; corrections on a later invoice billed it */
} tb_issue_outcome;

typedef void (*tb_issue_said)(void *ctx, const tb_invoice *credit_note);
typedef struct tb_issue_options {
    int64_t now_us;
    bool empty;         /* make an invoice also where nothing is due */
    tb_issue_said said; /* called for each credit note; may be NULL */
    void *ctx;
} tb_issue_options;
/* Makes the draft final: credit notes of late months first, then the invoice, and records the run of the month.
 * Without anything due there is no invoice, unless options->empty. *ret_invoice is set, and the caller's to
 * release, for MADE and KNOWN. Errors: NOT_OVER, UNPRICED (draft->unpriced lists it), and the store's: then roll
 * back. */
TB_MUST_USE tb_code tb_issue_finalize(tb_store *store, tb_issue *draft, const tb_issue_options *options,
                                      tb_invoice *ret_invoice, tb_issue_outcome *ret_outcome,
                                      tb_error *err);
/* Whether an error concerns one account only: the run goes on with the next one. */
bool tb_issue_is_its_own(tb_code code);
/* TB_E_NOT_OVER, or TB_OK. */
TB_MUST_USE tb_code tb_issue_check_over(int64_t month, int64_t now_us, tb_error *err);

/* Whether the month needs no draft: *ret_outcome is KNOWN (then *ret_invoice is set, and the caller's to release),
 * ELSEWHERE (number names the document), else NOTHING. */
TB_MUST_USE tb_code tb_issue_done(tb_store *store, int64_t account, int64_t month,
                                  tb_invoice *ret_invoice, char number[24],
                                  tb_issue_outcome *ret_outcome, tb_error *err);

/* Rates every stored invoice and credit note again and compares the bytes. Calls say with a sentence for each
 * difference and adds their number to *differences. */
TB_MUST_USE tb_code tb_issue_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                    tb_error *err);

/* Shadow books: the amounts that they would have billed in place of each month's invoices, and the check of the stored
 * amounts. Everything reads in the caller's snapshot or transaction. */

typedef struct tb_shadow_books {
    tb_shadow *list;
    size_t n;
} tb_shadow_books;
TB_MUST_USE tb_code tb_shadow_books_read(tb_store *store, tb_shadow_books *ret_books,
                                         tb_error *err);
void tb_shadow_books_release(tb_shadow_books *books);

/* Stores what each shadow of the account's currency would have billed for the draft's month. invoice: the number
 * that was issued, "" for none. A shadow that cannot rate the month stops no invoice: a line with the reason is
 * appended to `lines`, and nothing is stored for it. */
TB_MUST_USE tb_code tb_shadow_note(tb_store *store, const tb_shadow_books *books,
                                   const tb_issue *draft, const char *invoice, int64_t now_us,
                                   tb_buf *lines, tb_error *err);

/* (after - before) x 100 / before with two digits, signed, or "new" where before is zero and after
 * is not. */
void tb_shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2]);

/* Rates every stored shadow bill again. Calls say with a sentence for each difference and adds their number to
 * *differences. */
TB_MUST_USE tb_code tb_shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* Sentences about shadow books, for the command line and the server. */

/* An amount with the currency's digits; terminated, and returned. */
const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1]);

/* Appends lines: the month's total under each of these books beside the invoices' total. Counts every stored shadow
 * bill of the month, of this run and of earlier ones. */
TB_MUST_USE tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books,
                                  tb_buf *lines, tb_error *err);

/* Makes a month's accounts final in groups, or shows them. A commit waits for the disk, so a group of accounts shares
 * one. The size of a group depends only on the accounts, never on the clock: a run that was killed and completed has
 * the same watermarks, and so the same bytes, as an undisturbed one. */

#define TB_ISSUE_GROUP_ACCOUNTS 50
#define TB_ISSUE_GROUP_BYTES    ((size_t)1 << 20) /* of invoices' texts */
#define TB_ISSUE_SAID_MAX       ((size_t)16 << 20)
#define TB_ISSUE_UNPRICED_MAX   1000 /* lines that are reported of one account; further ones are counted */

/* Writes a stored invoice or, where invoice is NULL, a draft. shown: the number of documents before it. */
typedef tb_code (*tb_issue_put)(void *ctx, const tb_invoice *invoice, const tb_statement *draft,
                                size_t shown, tb_buf *out, tb_error *err);

typedef struct tb_issue_group {
    /* In. */
    tb_store *store;
    int64_t month, now_us;
    bool empty; /* also where nothing is due */
    bool stored; /* showing: no drafts; accounts without a valid invoice count as nothing */
    const tb_month_books *books;
    const tb_shadow_books *shadows; /* for finalising only */
    tb_issue_put put;
    void *ctx;
    tb_buf *out; /* where put writes; the output for a refused account is removed */
    /* Out. */
    size_t n, made, known, nothing, refused; /* accounts of this group */
    size_t unsold, incomplete; /* of those made: without a seller; without a field that the law requires */
    size_t shown;                            /* by put, over all groups */
    size_t bytes;                            /* of this group's texts */
    tb_buf said; /* messages, to be shown once the group is committed */
} tb_issue_group;

/* group: the members under "In" are set, the rest is zero. */
void tb_issue_group_init(tb_issue_group *group);
void tb_issue_group_release(tb_issue_group *group);
/* In the caller's transaction: all of the account or nothing of it. An error of the account alone (usage without a
 * price, for example) is reported and counted, and the group goes on. Puts all documents that the account's runs of the
 * month made. After any error roll back. */
TB_MUST_USE tb_code tb_issue_group_finalize(tb_issue_group *group, int64_t account, tb_error *err);
/* In the caller's snapshot: puts the stored documents of the account's month and, without a valid invoice, its draft.
 * An account without a possible draft is reported and counted likewise, and nothing is put for it. */
TB_MUST_USE tb_code tb_issue_group_show(tb_issue_group *group, int64_t account, tb_error *err);
/* One document, of tb_store_issued. */
TB_MUST_USE tb_code tb_issue_group_document(tb_issue_group *group, int64_t place, tb_error *err);
/* Whether the group is full: then commit it. */
bool tb_issue_group_full(const tb_issue_group *group);
/* After the commit: begins the next group. */
void tb_issue_group_next(tb_issue_group *group);

/* The accounts of a month, ascending: those with usage, an invoice or a run in it, or with an earlier late month; or
 * the given account alone (0: all). TB_E_NOT_FOUND: no such account. free(). */
TB_MUST_USE tb_code tb_issue_accounts(tb_store *store, int64_t month, int64_t account,
                                      int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* Finishes a run over all accounts, in a transaction of its own: records, once a month, that accounts without a run of
 * their own had nothing due. Accounts that have got data since the run listed its accounts are returned in *ret_left,
 * ascending, and nothing is recorded: run them and call this again. free(). */
TB_MUST_USE tb_code tb_issue_finish_run(tb_store *store, int64_t month, int64_t now_us,
                                       int64_t **ret_left, size_t *ret_n, tb_error *err);

/* Writes stored invoices and drafts in the requested form. Every form is made from the canonical text, so that it shows
 * what was issued. */

/* X(name, word, media type, file name's extension, alone): alone: a document holds one invoice, else any number. */
#define TB_SHOWN_FORMS(X)                                                                          \
    X(JSON, "json", "application/json", "json", false)                                             \
    X(CSV, "csv", "text/csv; charset=utf-8", "csv", false)                                         \
    X(HTML, "html", "text/html; charset=utf-8", "html", false)                                     \
    X(FOCUS, "focus", "text/csv; charset=utf-8", "csv", false)                                     \
    X(PDF, "pdf", "application/pdf", "pdf", true)                                                  \
    X(UBL, "ubl", "application/xml", "xml", true)                                                  \
    X(XRECHNUNG, "xrechnung", "application/xml", "xml", true)
#define TB_SHOWN_WORDS "json|csv|html|focus|pdf|ubl|xrechnung" /* of the rows above, as parameters list them */
typedef enum tb_shown_form {
#define TB_X(e, word, media, end, alone) TB_SHOWN_##e,
    TB_SHOWN_FORMS(TB_X)
#undef TB_X
        TB_SHOWN_FORM_COUNT
} tb_shown_form;

/* TB_SHOWN_FORM_COUNT: no such word. */
tb_shown_form tb_shown_form_of(const char *word, size_t len);
/* Static texts: "application/json", "json". */
const char *tb_shown_media_type(tb_shown_form form);
const char *tb_shown_end(tb_shown_form form);
/* A text within the first KiB that only this form has among the forms with its extension; "": it is the only one. */
const char *tb_shown_mark(tb_shown_form form);
#define TB_SHOWN_MARK_WITHIN 1024
/* Whether a document of this form is of one invoice. */
bool tb_shown_alone(tb_shown_form form);

/* How to show documents. */
typedef struct tb_shown {
    tb_shown_form form;
    tb_print_options pages;
    tb_printer *printer; /* of many PDFs; NULL: each makes its own */
    tb_store *store; /* for looking up names; NULL: ids only */
    int64_t now_us;  /* a draft shows the names of this moment */
    const char *public_url; /* where customers reach the server, at most TB_SHOWN_URL bytes; NULL: not known */
} tb_shown;
#define TB_SHOWN_URL 255

/* A document of any number of invoices: open, one or more, close. JSON is {"invoices":[...]} and a
 * line end for the command line; tb_shown_one is the invoice's own text. Not for forms whose
 * documents are of one invoice. */
void tb_shown_open(const tb_shown *shown, tb_buf *out);
TB_MUST_USE tb_code tb_shown_stored(const tb_shown *shown, const tb_invoice *invoice, bool first,
                                    tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_shown_draft(const tb_shown *shown, const tb_statement *statement, bool first,
                                   tb_buf *out, tb_error *err);
void tb_shown_close(const tb_shown *shown, tb_buf *out);

/* One stored invoice alone, as a document. */
TB_MUST_USE tb_code tb_shown_one(const tb_shown *shown, const tb_invoice *invoice, tb_buf *out,
                                 tb_error *err);

/* Explains a line of an invoice: its tiers, its days, and the hour in which each threshold was crossed. Works in the
 * caller's snapshot. */

/* Line of a stored invoice. INVOICE_NOT_FOUND: no such invoice of this account, or no such line. */
TB_MUST_USE tb_code tb_explain_invoice(tb_store *store, int64_t account, const char *number,
                                       uint32_t line, tb_buf *out, tb_error *err);
/* The same with "hours": the line's usage in each hour of a day (since 1970). TB_EXPLAIN_NO_DAY: without.
 * TB_E_VALIDATION, err->field day: the day is not in the line's month. */
#define TB_EXPLAIN_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_explain_invoice_day(tb_store *store, int64_t account, const char *number,
                                           uint32_t line, int64_t day, tb_buf *out, tb_error *err);
/* A line of the month's invoice, or of its draft where the month is not final. */
TB_MUST_USE tb_code tb_explain_month(tb_store *store, int64_t account, int64_t month, uint32_t line,
                                     int64_t now_us, tb_buf *out, tb_error *err);

TB_API_END

#endif
