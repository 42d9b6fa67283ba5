/* Makes a month's bill an invoice: finds late months and their corrections, builds the statement,
 * numbers and stores it. Works in the caller's snapshot (drafts) or transaction (final invoices),
 * so a run that is killed leaves either all of an account's invoice or nothing. */
#ifndef TOLLBOOK_ISSUE_H
#define TOLLBOOK_ISSUE_H

#include "tollbook/buf.h"
#include "tollbook/invoice.h"
#include "tollbook/monthbill.h"
#include "tollbook/partystore.h"
#include "tollbook/print.h"
#include "tollbook/bookstore.h"

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

/* Shadow books at work: what they would have billed beside each month's invoices, and the check of
 * what was noted. Everything reads in the caller's snapshot or transaction. */

typedef struct tb_shadow_books {
    tb_shadow *list;
    size_t n;
} tb_shadow_books;
TB_MUST_USE tb_code tb_shadow_books_read(tb_store *store, tb_shadow_books *ret_books,
                                         tb_error *err);
void tb_shadow_books_release(tb_shadow_books *books);

/* Notes what each shadow of the account's currency would have billed for the draft's month.
 * invoice: the number that was issued, "" for none. A shadow that cannot rate the month stops no
 * invoice: said (may be NULL) is told why, and nothing is noted. */
typedef void (*tb_shadow_said)(void *ctx, const tb_shadow *shadow, const tb_error *why);
TB_MUST_USE tb_code tb_shadow_note(tb_store *store, const tb_shadow_books *books,
                                   const tb_issue *draft, const char *invoice, int64_t now_us,
                                   tb_shadow_said said, void *ctx, tb_error *err);

/* (after - before) x 100 / before with two digits, signed, or "new" where before is zero and after
 * is not. */
void tb_shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2]);

/* Rates every stored shadow bill again. Calls say with a sentence for each difference and adds them
 * to *differences. */
TB_MUST_USE tb_code tb_shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* What shadow books come to, in sentences: the command line prints them, the server sends them. */

/* An amount with the currency's digits; terminated, and returned. */
const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1]);

/* Appends lines: what the month's invoices would have come to under each of these. Whatever was
 * noted of the month counts, by this run or an earlier one. */
TB_MUST_USE tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books,
                                  tb_buf *lines, tb_error *err);

/* Makes a month's accounts final in groups, or shows them. A commit waits for the disk, so accounts
 * share one. A group's end depends only on the accounts, never on the clock: a run that was killed
 * and completed has the same watermarks, and so the same bytes, as an undisturbed one. */

#define TB_ISSUE_GROUP_ACCOUNTS 50
#define TB_ISSUE_GROUP_BYTES    ((size_t)1 << 20) /* of invoices' texts */
#define TB_ISSUE_SAID_MAX       ((size_t)16 << 20)
#define TB_ISSUE_UNPRICED_MAX   1000 /* lines that are said of one account; the rest is counted */

/* A stored invoice or, where invoice is NULL, a draft. shown: how many came before it. */
typedef tb_code (*tb_issue_put)(void *ctx, const tb_invoice *invoice, const tb_statement *draft,
                                size_t shown, tb_buf *out, tb_error *err);

typedef struct tb_issue_group {
    /* What is asked. */
    tb_store *store;
    int64_t month, now_us;
    bool empty; /* also where nothing is due */
    bool stored; /* showing: no drafts; accounts without an invoice that stands count as nothing */
    const tb_month_books *books;
    const tb_shadow_books *shadows; /* finalising alone */
    tb_issue_put put;
    void *ctx;
    tb_buf *out; /* where put writes; what it wrote of a refused account is taken back */
    /* What became of it. */
    size_t n, made, known, nothing, refused; /* accounts of this group */
    size_t unsold, lacking; /* of those made: without a seller; that lack anything for the law */
    size_t shown;                            /* by put, over all groups */
    size_t bytes;                            /* of this group's texts */
    tb_buf said; /* lines for people, to be said once the group is committed */
} tb_issue_group;

/* group: what is asked is set, the rest is zero. */
void tb_issue_group_init(tb_issue_group *group);
void tb_issue_group_release(tb_issue_group *group);
/* In the caller's transaction: all of the account or nothing of it. What is the account's own
 * trouble (usage without a price, say) is said and counted, and the group goes on. All documents that the
 * account's run of the month made are put. After any error roll back. */
TB_MUST_USE tb_code tb_issue_group_finalize(tb_issue_group *group, int64_t account, tb_error *err);
/* In the caller's snapshot: what is stored of the month, what its runs made and, where no invoice stands, its draft. An
 * account whose draft cannot be made is said and counted likewise, and nothing is put for it. */
TB_MUST_USE tb_code tb_issue_group_show(tb_issue_group *group, int64_t account, tb_error *err);
/* One document, of tb_store_issued. */
TB_MUST_USE tb_code tb_issue_group_document(tb_issue_group *group, int64_t place, tb_error *err);
/* Whether it is to be committed. */
bool tb_issue_group_full(const tb_issue_group *group);
/* After that: the next group begins. */
void tb_issue_group_next(tb_issue_group *group);

/* The accounts of a month, ascending: those that have anything in it, an invoice or a run of it, or
 * an earlier month that waits; or the one that is asked for (0: all). TB_E_NOT_FOUND: there is no
 * such account. free(). */
TB_MUST_USE tb_code tb_issue_accounts(tb_store *store, int64_t month, int64_t account,
                                      int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* In a transaction of its own, after a run over everybody: notes that all who have no run of the
 * month had nothing in it when this was read. Where some came in after the run had listed its
 * accounts they are *ret_left, ascending, and nothing is noted: run them and ask again. free().
 * Notes it once a month. */
TB_MUST_USE tb_code tb_issue_everybody(tb_store *store, int64_t month, int64_t now_us,
                                       int64_t **ret_left, size_t *ret_n, tb_error *err);

/* Writes stored invoices and drafts in the requested form. Every form is made from the canonical
 * text, read back, so that it shows what was issued. */

/* X(name, word, media type, end of a file's name, alone): alone: a document is of one invoice, else
 * of any number. */
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

/* TB_SHOWN_FORM_COUNT: there is no such word. */
tb_shown_form tb_shown_form_of(const char *word, size_t len);
/* Static texts: "application/json", "json". */
const char *tb_shown_media_type(tb_shown_form form);
const char *tb_shown_end(tb_shown_form form);
/* What tells it, within its first KiB, from the other forms with the same end; "": there is no other. */
const char *tb_shown_mark(tb_shown_form form);
#define TB_SHOWN_MARK_WITHIN 1024
/* Whether a document of this form is of one invoice. */
bool tb_shown_alone(tb_shown_form form);

/* What is asked for. */
typedef struct tb_shown {
    tb_shown_form form;
    tb_print_options pages;
    tb_printer *printer; /* of many PDFs; NULL: each makes its own */
    tb_store *store; /* where names are looked up; NULL: ids alone are shown */
    int64_t now_us;  /* a draft's names are those of this moment */
} tb_shown;

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

/* Explains a line of an invoice: its tiers, the days behind it, and the hour in which each
 * threshold was crossed. Works in the caller's snapshot. */

/* Line of a stored invoice. INVOICE_NOT_FOUND: no such invoice of this account, or no such line. */
TB_MUST_USE tb_code tb_explain_invoice(tb_store *store, int64_t account, const char *number,
                                       uint32_t line, tb_buf *out, tb_error *err);
/* The same with "hours": the line's usage in each hour of a day (since 1970). TB_EXPLAIN_NO_DAY: without.
 * TB_E_VALIDATION, err->field day: the line's month does not have it. */
#define TB_EXPLAIN_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_explain_invoice_day(tb_store *store, int64_t account, const char *number,
                                           uint32_t line, int64_t day, tb_buf *out, tb_error *err);
/* Line of the month's invoice, or of its draft where it is not final. */
TB_MUST_USE tb_code tb_explain_month(tb_store *store, int64_t account, int64_t month, uint32_t line,
                                     const tb_month_books *books, int64_t now_us, tb_buf *out,
                                     tb_error *err);

TB_API_END

#endif
