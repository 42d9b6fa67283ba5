/* Settlement: which money in an account's ledger pays which invoice. Computed from the entries each time and never
 * stored. Pure; the order of the entries makes no difference.
 *
 * Invoices draw credits when they are made final; the entries record it. The rest of an invoice is reduced, in this
 * order, by: credit notes for it; payments that name it; the amount that its text states as paid from the balance;
 * all other money, the earliest due invoice first. Money that an invoice does not need is available to the others,
 * and so are adjustments. An adjustment below zero is a debit: it is owed like an invoice and due on its own day, an
 * opening balance on its stated due day. A void document takes nothing: payments that name it are available again.
 * The usage of a prepaid account's running month is kept apart.
 *
 * Always: the sum of all entries = unallocated + running + credit - receivable. */
#ifndef TOLLBOOK_SETTLE_H
#define TOLLBOOK_SETTLE_H

#include "tollbook/entry.h"

TB_API_BEGIN

/* --- credits --- */

typedef struct tb_credit {
    int64_t id;                        /* of its entry */
    int64_t last_us;                   /* the time of the last entry about it */
    char expires[11], reference[64];   /* expires: its last day, UTC; "": none */
    char back[11];                     /* the newest day on which voiding an invoice gave credit back; "": none */
    tb_decimal granted, left;
    size_t expiries;                   /* number of expiry entries */
} tb_credit;

/* The credits among n entries of one account: by last day, those without one last, then by id. free(). TB_E_CORRUPT:
 * an entry names a credit that is not among them. */
TB_MUST_USE tb_code tb_credits_of(const tb_ledger_entry *entries, size_t n, tb_credit **ret_credits,
                                  size_t *ret_n, tb_error *err);
/* The last day on which it can be drawn: its own, or the newest day on which voiding gave credit back, if that is
 * later; "": none. */
const char *tb_credit_last_day(const tb_credit *credit);
/* Whether it can be drawn on that day ("2026-12-31"). */
bool tb_credit_valid(const tb_credit *credit, const char *day);

typedef struct tb_draw {
    int64_t credit; /* its entry's id */
    tb_decimal amount;
} tb_draw;

/* What an account's invoice draws from its credits. */
typedef struct tb_draw_plan {
    bool has_credit; /* the account was granted credit at some time */
    tb_draw *draws;
    size_t n;
    tb_decimal paid; /* the sum of the draws */
} tb_draw_plan;

/* What an invoice over `total` draws from the account's credits on a day: at most the total. Release. */
TB_MUST_USE tb_code tb_draws_plan(const tb_credit *credits, size_t n_credits, const char *day,
                                  tb_decimal total, tb_draw_plan *ret_plan, tb_error *err);
void tb_draw_plan_release(tb_draw_plan *plan);

/* The entries of a draw, by their references "2026-000001/credit:7...": one on the credit and one on the invoice, and
 * the reverse of both when the invoice is voided. */
typedef enum tb_draw_leg {
    TB_DRAW_GIVEN,
    TB_DRAW_GOT,
    TB_DRAW_BACK,  /* returned to the credit */
    TB_DRAW_TAKEN, /* taken back from the invoice */
    TB_DRAW_LEGS
} tb_draw_leg;
void tb_draw_reference(char out[64], const char *number, int64_t credit, tb_draw_leg leg);
/* false: no draw's reference, or of another invoice. */
bool tb_draw_parse(const char *reference, const char *number, int64_t *ret_credit,
                   tb_draw_leg *ret_leg);
/* "credit:7/expired"; for a further expiry of the same credit "credit:7/expired/2". */
void tb_expiry_reference(char out[64], const tb_credit *credit);

/* --- invoices --- */

/* An invoice, a credit note or a debit, and how far it is paid. */
typedef struct tb_settle_paper {
    char number[64]; /* of a debit: its reference */
    bool credit_note;
    char corrects[24]; /* of a credit note: the invoice that it credits */
    char due[11];      /* "2026-12-04"; the day of issue where no terms are agreed */
    tb_decimal covered; /* paid from the balance, as its text states */
    /* Filled by tb_settle. */
    bool stands; /* it is among the entries, and not void */
    tb_decimal total, drawn, credited, paid, remaining; /* of a valid document that is owed; else 0 */
    tb_decimal promised; /* part of `covered` that is missing, as a credit note was voided since; else 0 */
} tb_settle_paper;

typedef struct tb_settlement {
    tb_credit *credits; /* as of tb_credits_of; owned */
    size_t n_credits;
    tb_settle_paper *debits; /* adjustments below zero, as they were entered; owned */
    size_t n_debits;
    tb_decimal balance;     /* the sum of all entries */
    tb_decimal unclaimed;   /* money that neither names a valid invoice nor is stated in one's text */
    tb_decimal unallocated; /* money that no invoice and no debit has taken */
    tb_decimal running;     /* a prepaid account's running month, below zero */
    tb_decimal credit;      /* the unused part of all credits */
    tb_decimal receivable;  /* the unpaid part of all invoices and debits */
} tb_settlement;

/* Settles the entries of one account, ascending by id, and fills in its papers, given oldest first. Release.
 * TB_E_CORRUPT: an entry names a paper or credit that is not there. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_settle(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers,
                              size_t n_papers, tb_settlement *ret_settlement, tb_error *err);
/* The money available to one further invoice, 0 or more: what all others leave. If that invoice replaces a void one of
 * this number ("": none), also the payments that named the void one, and the amount stated in its text, as far as no
 * other invoice claims them. The entries and papers are those of tb_settle. */
TB_MUST_USE tb_code tb_settle_next(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers, size_t n_papers,
                                   const char *replaced, tb_decimal *ret_money, tb_error *err);
/* The open part of a settlement; fully paid papers may be left out. */
typedef struct tb_settle_open {
    tb_settle_paper *papers, *debits;
    size_t n_papers, n_debits;
    tb_decimal unallocated;
} tb_settle_open;
/* Adds one payment, above 0: afterwards remaining, paid and unallocated are as tb_settle would compute them with it.
 * number: the invoice that it names, or "". TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_settle_payment(tb_settle_open *open, const char *number, tb_decimal amount,
                                      tb_error *err);
void tb_settlement_release(tb_settlement *settlement);

/* A bank's list of payments, and opening balances: CSV to rows. Pure.
 *
 * Cells are separated by ',', ';' or a tab, whichever the first line has most of, and may be quoted as in
 * RFC 4180. The first line names the columns. Bytes that are not UTF-8 are taken for Latin-1. */

#define TB_PAYMENTS_MAX    ((size_t)16 << 20) /* bytes of a file */
#define TB_PAYMENT_ROWS    100000
#define TB_PAYMENT_COLUMNS 256
#define TB_PAYMENT_NUMBERS 8 /* invoice numbers that are read from one reference */

typedef struct tb_payment {
    uint64_t line;               /* of the file, from 1 */
    int64_t day, account;        /* day since January 1970; account 0: not given */
    tb_decimal amount;           /* below 0: an outgoing payment */
    char currency[4];            /* "": not given */
    char key[64];                /* the reference of its entry: "bank ID", or as `row` */
    char row[64];                /* "row " and a hash of all cells, independent of the map; the second equal row of
                                  * the file ends with " 2" */
    const char *reference, *payer; /* "": not given; UTF-8, in the list's memory */
} tb_payment;

typedef struct tb_payments {
    tb_payment *list;
    size_t n;
    char *texts;
    char **cells; /* of row i from i * n_cells on, in texts */
    size_t n_cells; /* of the head, and of each row */
} tb_payments;

/* map: "date=Buchungstag,amount=Betrag,reference=Verwendungszweck", and where the file has them currency,
 * payer, id and account. comma: 1.234,56 in the place of 1,234.56. Days are 2026-10-31 or 31.10.2026 (also
 * 1.2.2026) and nothing else. A row without an id is known by all its cells; the second of the same cells in
 * a file is another payment. A row has as many cells as the head.
 * TB_E_VALIDATION: the map. TB_E_BAD_INPUT: a row, err->line says which. TB_E_TOO_LARGE. Release. */
TB_MUST_USE tb_code tb_payments_parse(const char *text, size_t len, const char *map, bool comma,
                                      tb_payments *ret_payments, tb_error *err);
/* Opening balances, in the same form or as {"balances":[{"account":7,"amount":"-120.00"},...]}: account and amount
 * (below 0: the account owes it), and where the file has them currency, due and reference. day: the due day, or
 * TB_NO_DAY. key, row and payer are not set. TB_E_BAD_INPUT: the head, or a row. */
#define TB_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_balances_parse(const char *text, size_t len, bool comma, tb_payments *ret_balances,
                                      tb_error *err);
void tb_payments_release(tb_payments *payments);

/* Invoice numbers found in a reference, in the form that invoices have: "RE 2026 000123" gives 2026-000123. Each once.
 * Returns their number. */
size_t tb_payment_numbers(const char *reference, char numbers[TB_PAYMENT_NUMBERS][24]);

/* An entry's reference as shown to users: "" for a row's hash (the entry's note has the bank's text), and for the
 * generated reference of an opening balance. */
const char *tb_payment_shown(const tb_ledger_entry *entry);

TB_API_END

#endif
