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
 * and, only where they apply: drawn (what credits have paid, where money in the account has paid the rest
 * of `paid`; else all that is paid was drawn), books [{from, id, sha256}] (the month was priced by more than one;
 * `book` is the last of them), corrects (a credit note's original), replaces (the void invoice
 * whose place this one takes). A line: amount, evidence {buckets, from, hash, sum, to}, exact,
 * kind, line, quantity, region, resource, tiers [{amount, from, list_price, part, price, to,
 * units}], unit; on a volume line shares [{amount, bytes, exact, zone}]; on a correction corrects
 * {invoice, kind, since} and period; its invoice is null where the period had none. A tax row on
 * corrections has their month and billed, what was charged of the month's tax before (correction.h): those of other
 * months than the document's have rows of their own. What does not
 * apply, or is not known yet, is null. buyer and seller have the members of party.h that were
 * declared, those with a point in an object of their own.
 *
 * version is 2. Texts without a version are of version 1: they lack buyer, due, issued, ledger,
 * paid, payable, seller and the tax rows' category, reason and reason_code. They are read, and
 * written again byte for byte.
 *
 * Rating gives the amounts. What it cannot give is stored with the invoice and taken over when the
 * invoice is rated again: issued (the day, UTC, on which it was made final), due, paid (what credits
 * and money in the account have paid of it), drawn, the parties, and ledger: how many entries the ledger had before the invoice's
 * own, and the hash of the last of them, so that entries that are cut off later are missed.
 * payable = total - paid.
 *
 * sha256 is over the canonical text without its own member; previous is the sha256 of the invoice
 * before it in the chain. A void invoice's text stays as issued: only `state` is shown as "void",
 * so its sha256 is checked with "final" in that place. */
#ifndef TOLLBOOK_INVOICE_H
#define TOLLBOOK_INVOICE_H

#include "tollbook/bill.h"
#include "tollbook/buf.h"
#include "tollbook/party.h"

TB_API_BEGIN

#define TB_INVOICE_TEXT_MAX ((size_t)64 << 20) /* longest canonical text, bytes */

/* What a line of kind correction corrects. */
typedef struct tb_correction {
    char invoice[24];  /* "": its month had none, for nothing was due or it was refused */
    tb_line_kind kind; /* of the line it corrects */
    uint64_t since;    /* watermark of the run, or of the correction, that it goes on from */
} tb_correction;

typedef struct tb_statement_book {
    char id[65], sha256[65];
    int64_t from_us; /* where its part of the month begins */
} tb_statement_book;

#define TB_INVOICE_VERSION 2 /* of the canonical text that is written now */
#define TB_DATE_TEXT_MAX 11 /* "2026-11-01", terminated */

/* Where the ledger stood: its number of entries, and the hash of the last one in lower-case hex,
 * "" if there is none. */
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
    char replaces[24]; /* "" where it takes no void invoice's place */
    char corrects[24]; /* a credit note's original; else "" */
    char issued[TB_DATE_TEXT_MAX], due[TB_DATE_TEXT_MAX]; /* "": not yet, or not agreed */
    tb_decimal paid, covered; /* covered: what money in the account has paid of it; credits the rest */
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

/* Takes over what rating does not give: version, number, state, previous, replaces, issued, due,
 * paid, the parties, the taxes' reasons and ledger. Then the text of a statement that is rated again is
 * the stored one's. Borrows what stored points to. */
void tb_statement_dress(tb_statement *statement, const tb_statement *stored);

/* Appends the canonical text. TB_E_OVERFLOW: total - paid. ret_sha256 may be NULL. */
TB_MUST_USE tb_code tb_statement_json(const tb_statement *statement, tb_buf *out,
                                      char ret_sha256[65], tb_error *err);

/* Appends one line of it (counted from 0), as it stands in the canonical text. */
void tb_line_json(const tb_statement *statement, size_t line, tb_buf *out);

/* What people have to know of the line beside its title; NULL: nothing. Static. */
const char *tb_line_note(const tb_statement *statement, size_t line);

/* The category of a tax row: the declared one, or S, or Z where the percent is 0. */
const char *tb_tax_category(const tb_bill_tax *rate);
/* Whether the category is one that charges no tax and says why: E, AE, K, G, O. */
bool tb_tax_untaxed(const tb_bill_tax *rate);

/* What people call the things that a statement names by id, as declared when it was made final. */
typedef struct tb_zone_name {
    int64_t zone;
    const char *name, *labels; /* labels: a JSON object as text, NULL where none are declared */
} tb_zone_name;

typedef struct tb_invoice_names {
    const char *account, *labels; /* NULL: not known, none */
    const tb_zone_name *zones;    /* ascending */
    size_t n_zones;
} tb_invoice_names;

/* NULL where the zone, or names, is not known. */
const tb_zone_name *tb_invoice_zone(const tb_invoice_names *names, int64_t zone);

/* A statement read back from its text, and the memory it lies in. */
typedef struct tb_paper {
    tb_statement statement;
    tb_bill bill;
    char sha256[65];  /* as the text says */
    bool sha256_true; /* and as its bytes are */
    void *memory;
} tb_paper;

/* Reads what tb_statement_json wrote; encoding it again gives the same bytes. Unknown members and
 * other forms are TB_E_VALIDATION, err->field the path. Release on success. */
TB_MUST_USE tb_code tb_paper_parse(const char *text, size_t len, const tb_alloc *alloc,
                                   tb_paper *ret_paper, tb_error *err);
void tb_paper_release(tb_paper *paper);

/* Appends a stored text with its state shown as "void". */
void tb_invoice_text_void(const char *text, size_t len, tb_buf *out);

/* One row a line, one a tax rate and, in drafts, one for each thing without a price; RFC 4180,
 * CRLF. Text cells that a spreadsheet would take for a
 * formula begin with an apostrophe. The head is a row of names. */
void tb_invoice_csv_head(tb_buf *out);
void tb_invoice_csv(const tb_statement *statement, tb_buf *out);

/* Lines and tax as columns of the FinOps Open Cost and Usage Specification 1.2, the account's
 * volume line by zone. BilledCost summed over an invoice is its total, less what credits have paid of
 * it; a prepaid balance is the customer's own money, and takes nothing off. names may be NULL: things are called by their numbers, and nothing has tags. */
void tb_focus_csv_head(tb_buf *out);
TB_MUST_USE tb_code tb_focus_csv(const tb_statement *statement, const tb_invoice_names *names,
                                 tb_buf *out, tb_error *err);

/* What a statement lacks to be an invoice that the law, or a norm of electronic invoices, accepts:
 * one table of rules over the parties, the tax and the currency. Pure. */

typedef enum tb_norm {
    TB_NORM_LEGAL,     /* what an invoice with VAT on paper needs in the Union */
    TB_NORM_PEPPOL,    /* Peppol BIS Billing 3.0 */
    TB_NORM_XRECHNUNG, /* XRechnung 3.0 */
} tb_norm;

/* All three are static. */
typedef struct tb_lack {
    const char *path; /* as the catalogue says it: "buyer.country", "accounts[].tax" */
    const char *term; /* of EN 16931: "BT-55"; "" where it has none */
    const char *why;  /* a short sentence; NULL: it is not declared, and that is all */
} tb_lack;

#define TB_LACKS_MAX 40 /* there are no more at once */

/* In the order of the table: seller, buyer, tax, currency, payment. What only a final document has
 * (its number, its days) is not asked of a draft. Returns how many; 0: nothing is lacking. */
size_t tb_statement_lacks(const tb_statement *statement, tb_norm norm, tb_lack ret[TB_LACKS_MAX]);

/* Corrections for late usage: the difference between a month's bill as billed and as it is now, as
 * correction lines. A month without a bill counts as an empty one. Pure.
 *
 * A line whose unit prices are the same in both gives one line of what was added. Where a unit
 * price differs there are two, the old line reversed and the new one, never their silent net.
 * Amounts are differences of rounded amounts, so that a month billed in any number of steps comes
 * to the same total as in one.
 *
 * Corrections carry taxes of their own month, in rows of their own. What is added carries those that are in force for
 * the month; what is taken back carries those under which it was billed, the newest first. So that their sums do the same
 * as the lines', the amount of a row is the tax on all that stays billed under it, less what was charged before: a month
 * that is taken back in pieces gives back the tax that it had. A row lies at most one smallest unit (JPY 1, EUR 0.01) from
 * percent x base; in currencies without decimals two, where that holds the document to EN 16931 (BR-CO-17). */

typedef struct tb_late_month {
    int64_t month;
    const char *invoice; /* the number of the invoice that is corrected; "": the month has none */
    uint64_t since;      /* the watermark of `before`; where nothing is billed, of the month's run */
    const tb_bill *before, *after;
} tb_late_month;

/* What documents have billed of a month under the same taxes. */
typedef struct tb_billed_part {
    tb_decimal lines;                     /* the sum of the lines' amounts */
    tb_bill_taxed tax[TB_BILL_TAXES_MAX]; /* rates and reasons; amount: what was charged */
    size_t n_tax;
} tb_billed_part;

typedef struct tb_billed {
    tb_decimal lines;
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

/* Lines' texts and figures are copied: before and after may go. n 0: nothing has changed. Nothing is billed yet. */
TB_MUST_USE tb_code tb_correct(const tb_late_month *late, const tb_alloc *alloc,
                               tb_corrections *ret_corrections, tb_error *err);
void tb_corrections_release(tb_corrections *corrections);

/* Holds a credit to what is left of the invoice: where the lines take off more than `remaining`, a
 * last line gives the rest back. remaining: positive, or zero. */
TB_MUST_USE tb_code tb_corrections_limit(tb_corrections *corrections, int64_t account,
                                         tb_decimal remaining, tb_error *err);

/* A bill's lines with corrections behind them, numbered through; taxes and totals anew. Borrows all it is
 * made of. For a credit note the bill is one without lines, its digits and rounding alone. Where there are corrections
 * alone, the bill's own taxes are left out. whole: NULL, or the bill's input: then its taxes are on all lines, as they
 * were once (see issue_verify.c). */
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
