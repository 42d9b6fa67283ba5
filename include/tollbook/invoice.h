/* Invoices as bytes: a statement (a bill and what identifies it) to canonical JSON and back, and to
 * CSV and FOCUS. Pure: no store, no clock, no locale.
 *
 * The canonical JSON is what is issued, stored and hashed: keys sorted, no spaces,
 * quantities and money as decimal text, no doubles, times in UTC. Members:
 *
 *   account, book {id, sha256}, buyer, currency, due, issued, kind, ledger {count, head},
 *   lines [...], number, paid, payable, period {end, start}, previous, residual, seller, sha256,
 *   state, subtotal, tax [{amount, base, category, name, percent, reason, reason_code}], total,
 *   unpriced [...], version, watermark
 *
 * and, only where they apply: drawn (the amount paid from credits, where the balance has paid the rest of
 * `paid`; without it all of `paid` was drawn), books [{from, id, sha256}] (the month was priced by more than
 * one; `book` is the last of them), corrects (the invoice that a credit note credits), replaces (the void
 * invoice that this one replaces). A line: amount, evidence {buckets, from, hash, sum, to}, exact, kind,
 * line, quantity, region, resource, tiers [{amount, from, list_price, part, price, to, units}], unit; on a
 * volume line shares [{amount, bytes, exact, zone}]; on a correction corrects {invoice, kind, since} and
 * period; its invoice is null where the period had none. A tax row on corrections has their month, and as
 * billed the tax of that month charged before (tb_correct): corrections of other months than the document's
 * have rows of their own. Members that do not apply, or are not known yet, are null. buyer and seller have
 * the declared members of party.h, those with a point in an object of their own.
 *
 * version is 2. Texts without a version are of version 1: without buyer, due, issued, ledger, paid, payable,
 * seller and the tax rows' category, reason and reason_code. They are read, and written again byte for byte.
 *
 * Rating computes the amounts. The rest is stored with the invoice and taken over when it is rated again:
 * issued (the day, UTC, on which it was made final), due, paid (from credits and the balance), drawn, the
 * parties, and ledger: the number of ledger entries before the invoice's own, and the hash of the last of
 * them, so that entries that are cut off later are missed. payable = total - paid.
 *
 * sha256 is over the canonical text without its own member; previous is the sha256 of the invoice before it
 * in the chain. The text of a void invoice stays as issued: only `state` is shown as "void", and its sha256
 * is checked with "final" in that place. */
#ifndef TOLLBOOK_INVOICE_H
#define TOLLBOOK_INVOICE_H

#include "tollbook/bill.h"
#include "tollbook/buf.h"
#include "tollbook/party.h"

TB_API_BEGIN

#define TB_INVOICE_TEXT_MAX ((size_t)64 << 20) /* longest canonical text, bytes */

/* The origin of a correction line. */
typedef struct tb_correction {
    char invoice[24];  /* "": its month had none, as nothing was due or the month was refused */
    tb_line_kind kind; /* of the line it corrects */
    uint64_t since;    /* watermark of the run or correction that it follows */
} tb_correction;

typedef struct tb_statement_book {
    char id[65], sha256[65];
    int64_t from_us; /* where its part of the month begins */
} tb_statement_book;

#define TB_INVOICE_VERSION 2 /* of the canonical text that is written now */
#define TB_DATE_TEXT_MAX 11 /* "2026-11-01", terminated */

/* The ledger's head: its number of entries, and the hash of the last one in lower-case hex, "" for an empty
 * ledger. */
typedef struct tb_ledger_head {
    uint64_t count;
    char head[65];
} tb_ledger_head;

typedef struct tb_statement {
    int version;     /* 1 or 2: which members the text has */
    char number[24]; /* "": none, a draft */
    char kind[16];   /* "invoice", "credit_note" */
    char state[8];   /* "draft", "final", "void" */
    int64_t account, month;
    char currency[4];
    const tb_statement_book *books; /* those in force, by part of the month */
    size_t n_books;                 /* 0: none is */
    uint64_t watermark;
    char previous[65]; /* "": the first of its chain, or a draft */
    char replaces[24]; /* the void invoice that it replaces; "": none */
    char corrects[24]; /* the invoice that a credit note credits; else "" */
    char issued[TB_DATE_TEXT_MAX], due[TB_DATE_TEXT_MAX]; /* "": not yet, or not agreed */
    tb_decimal paid, covered; /* covered: the part of `paid` from the balance; the rest is from credits */
    const tb_party *seller, *buyer; /* NULL: not declared */
    bool in_ledger; /* false in drafts: `ledger` is not known yet */
    tb_ledger_head ledger;
    const tb_bill *bill;
    const tb_correction *corrections; /* one for each line of the bill, good for those of kind
                                         correction; NULL: none is one */
} tb_statement;

/* The statement of a bill: account, month, currency and books from the input, kind "invoice", state
 * "draft", the newest version. books has room for input->n_parts. Borrows the bill and books. */
void tb_statement_init(tb_statement *statement, const tb_bill_input *input, const tb_bill *bill,
                       tb_statement_book *books);

/* Copies what rating does not compute: version, number, state, previous, replaces, issued, due, paid, the
 * parties, the taxes' reasons and ledger. A statement that is rated again then has the stored one's text.
 * Borrows what stored points to. */
void tb_statement_dress(tb_statement *statement, const tb_statement *stored);

/* Appends the canonical text. TB_E_OVERFLOW: total - paid. ret_sha256 may be NULL. */
TB_MUST_USE tb_code tb_statement_json(const tb_statement *statement, tb_buf *out,
                                      char ret_sha256[65], tb_error *err);

/* Appends one line of it (counted from 0), as it stands in the canonical text. */
void tb_line_json(const tb_statement *statement, size_t line, tb_buf *out);

/* A note that a reader needs beside the line's title; NULL: none. Static. */
const char *tb_line_note(const tb_statement *statement, size_t line);

/* The category of a tax row: the declared one, or S, or Z where the percent is 0. */
const char *tb_tax_category(const tb_bill_tax *rate);
/* Whether the category charges no tax and needs a reason: E, AE, K, G, O. */
bool tb_tax_untaxed(const tb_bill_tax *rate);

/* Names of the objects that a statement identifies by number, as declared when it was made final. */
typedef struct tb_zone_name {
    int64_t zone;
    const char *name, *labels; /* labels: a JSON object as text, NULL where none are declared */
} tb_zone_name;

/* Where the document's entry is in the log of documents (proof.h), as it is printed. */
typedef struct tb_invoice_proof {
    char log[256];        /* the log's name, terminated */
    int64_t index;        /* of the entry */
    char root[17];        /* the first 16 hex digits of the root of the first checkpoint that covers it */
    const char *address;  /* where its proof can be had; NULL: not known */
} tb_invoice_proof;

typedef struct tb_invoice_names {
    const char *account, *labels; /* NULL: not known, none */
    const tb_zone_name *zones;    /* ascending */
    size_t n_zones;
    const tb_invoice_proof *proof; /* NULL: no checkpoint covers it, and none is printed */
} tb_invoice_names;

/* NULL where the zone, or names, is not known. */
const tb_zone_name *tb_invoice_zone(const tb_invoice_names *names, int64_t zone);

/* A statement read back from its text, and its memory. */
typedef struct tb_paper {
    tb_statement statement;
    tb_bill bill;
    char sha256[65];  /* as stated in the text */
    bool sha256_true; /* it is the hash of the bytes */
    void *memory;
} tb_paper;

/* Parses the output of tb_statement_json; encoding it again gives the same bytes. Unknown members and other
 * forms are TB_E_VALIDATION, err->field the path. Release on success. */
TB_MUST_USE tb_code tb_paper_parse(const char *text, size_t len, const tb_alloc *alloc,
                                   tb_paper *ret_paper, tb_error *err);
void tb_paper_release(tb_paper *paper);

/* Appends a stored text with its state shown as "void". */
void tb_invoice_text_void(const char *text, size_t len, tb_buf *out);

/* One row a line, one a tax rate and, in drafts, one for each item without a price; RFC 4180, CRLF. A text
 * cell that a spreadsheet would take for a formula begins with an apostrophe. The first row has the column
 * names. */
void tb_invoice_csv_head(tb_buf *out);
void tb_invoice_csv(const tb_statement *statement, tb_buf *out);

/* Lines and tax as columns of the FinOps Open Cost and Usage Specification 1.2, the account's volume line by
 * zone. BilledCost summed over an invoice is its total less the amount paid from credits; a prepaid balance
 * is the customer's own money and reduces nothing. names may be NULL: numbers are shown, without tags. */
void tb_focus_csv_head(tb_buf *out);
TB_MUST_USE tb_code tb_focus_csv(const tb_statement *statement, const tb_invoice_names *names,
                                 tb_buf *out, tb_error *err);

/* The fields that a statement misses to be an invoice that the law, or a norm of electronic invoices,
 * accepts: one table of rules over the parties, the tax and the currency. Pure. */

typedef enum tb_norm {
    TB_NORM_LEGAL,     /* the law for an invoice with VAT on paper in the European Union */
    TB_NORM_PEPPOL,    /* Peppol BIS Billing 3.0 */
    TB_NORM_XRECHNUNG, /* XRechnung 3.0 */
} tb_norm;

/* The texts are static. */
typedef struct tb_missing_field {
    const char *path; /* as the catalogue says it: "buyer.country", "accounts[].tax" */
    const char *term; /* of EN 16931: "BT-55"; "" where it has none */
    const char *why;  /* a short sentence; NULL: the field is not declared */
} tb_missing_field;

#define TB_MISSING_FIELDS_MAX 40 /* at most so many can be missing at once */

/* In the order of the table: seller, buyer, tax, currency, payment. Fields that only a final document has
 * (number, days) are not required of a draft. Returns their number; 0: nothing is missing. */
size_t tb_statement_missing_fields(const tb_statement *statement, tb_norm norm,
                                   tb_missing_field ret[TB_MISSING_FIELDS_MAX]);

/* Corrections for late usage: the difference between a month's bill as billed and as it is now, as
 * correction lines. A month without a bill counts as an empty one. Pure.
 *
 * A line with the same unit prices in both gives one line over the added quantity. A line with other unit
 * prices gives two: the old line reversed and the new one, never their net. Amounts are differences of
 * rounded amounts, so a month billed in any number of steps has the same total as in one.
 *
 * Corrections carry the taxes of their own month, in rows of their own. Added amounts carry the taxes in force
 * for the month; amounts taken back carry the taxes under which they were billed, the newest first. As with
 * the lines, the amount of a row is the tax on everything billed under it by now, less the tax charged before:
 * a month that is taken back in pieces gives back exactly the tax that it had. A row's amount differs from
 * percent x base by at most one smallest unit (JPY 1, EUR 0.01); in currencies without decimals by two, as far
 * as EN 16931 (BR-CO-17) allows. */

typedef struct tb_late_month {
    int64_t month;
    const char *invoice; /* the number of the invoice that is corrected; "": the month has none */
    uint64_t since;      /* the watermark of `before`; where nothing is billed, of the month's run */
    const tb_bill *before, *after;
} tb_late_month;

/* The part of a month that was billed under the same taxes. */
typedef struct tb_billed_part {
    tb_decimal lines;                     /* the sum of the lines' amounts */
    tb_bill_taxed tax[TB_BILL_TAXES_MAX]; /* rates and reasons; amount: what was charged */
    size_t n_tax;
} tb_billed_part;

typedef struct tb_billed {
    tb_decimal lines;
    tb_decimal credits; /* 0 or less: what one-off credits have taken of them. It is not paid out: it is due again */
    bool floored;       /* by the rules up to schema 31: corrections and their tax take no month below zero */
    tb_billed_part *parts; /* in the order in which they were billed first */
    size_t n_parts;
} tb_billed;

typedef struct tb_corrections {
    tb_bill_line *lines; /* all of kind correction, numbered from 1 */
    tb_correction *what; /* one for each line */
    size_t n;
    tb_decimal amount; /* the sum of the lines' amounts */
    const tb_bill_input *input; /* the caller's to set, as billed is: the taxes in force for the month; NULL: none */
    tb_billed billed;
    void *memory;
} tb_corrections;

/* Lines' texts and figures are copied: before and after may be released. n 0: no difference. Bills nothing. */
TB_MUST_USE tb_code tb_correct(const tb_late_month *late, const tb_alloc *alloc,
                               tb_corrections *ret_corrections, tb_error *err);
void tb_corrections_release(tb_corrections *corrections);

/* Limits a credit to the rest of the invoice: where the lines take off more than `remaining`, a last line
 * gives the difference back. remaining: 0 or more. */
TB_MUST_USE tb_code tb_corrections_limit(tb_corrections *corrections, int64_t account,
                                         tb_decimal remaining, tb_error *err);

/* A bill's lines followed by corrections, numbered through, with taxes and totals recomputed. Borrows all
 * parts. For a credit note the bill has no lines, only its digits and rounding. Where there are corrections
 * only, the bill's own taxes are left out. whole: NULL, or the bill's input: then its taxes apply to all lines,
 * as before version 1.1 (see issue_verify.c). */
typedef struct tb_corrected {
    tb_bill bill;        /* not to be released */
    tb_correction *what; /* one for each line */
    void *memory;
} tb_corrected;
TB_MUST_USE tb_code tb_bill_with(const tb_bill *bill, const tb_bill_input *whole,
                                 const tb_corrections *lists, size_t n_lists, const tb_alloc *alloc,
                                 tb_corrected *ret, tb_error *err);
void tb_corrected_release(tb_corrected *corrected);

TB_API_END

#endif
