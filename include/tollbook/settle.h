/* Settling: what of an account's ledger pays what. Derived from the entries each time and never stored.
 * Pure, and the order of the entries makes no difference.
 *
 * Credits are drawn by invoices when these are made final; the entries say so. Of what is left of an
 * invoice then, credit notes take off first (the invoice that they credit), then payments that name it,
 * then what its text says that money in the account has paid of it, then all other money, the oldest due
 * first. What one has too much, the others get: it is money that no invoice has taken. Adjustments are such money too. One below zero is a debit: it is owed as an invoice
 * is, and due on its own day, an opening balance on the day that it says. A void document takes nothing: what named it is free again. Usage of a prepaid account's running month is kept apart.
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
    char back[11];                     /* the newest day on which a void gave back to it; "": none did */
    tb_decimal granted, left;
    size_t expiries;                   /* how many entries say that it has expired */
} tb_credit;

/* The credits among the entries: the oldest last day first, those without one last, then by id. n
 * entries of one account; free(). TB_E_CORRUPT: an entry is about a credit that is not among them. */
TB_MUST_USE tb_code tb_credits_of(const tb_ledger_entry *entries, size_t n, tb_credit **ret_credits,
                                  size_t *ret_n, tb_error *err);
/* The last day on which it can be drawn, included: its own, or that of the newest void that gave back to
 * it where that is later; "": none. */
const char *tb_credit_last_day(const tb_credit *credit);
/* Whether it can be drawn on that day ("2026-12-31"). */
bool tb_credit_valid(const tb_credit *credit, const char *day);

typedef struct tb_draw {
    int64_t credit; /* its entry's id */
    tb_decimal amount;
} tb_draw;

/* What an invoice over `total` takes of them on a day: at most the total. *ret_draws has room for
 * n_credits; free(). */
TB_MUST_USE tb_code tb_draws_plan(const tb_credit *credits, size_t n_credits, const char *day,
                                  tb_decimal total, tb_draw **ret_draws, size_t *ret_n,
                                  tb_decimal *ret_paid, tb_error *err);

/* The entries of a draw, by their references "2026-000001/credit:7...": what the credit gives, what the
 * invoice gets, and both again where the invoice is void. */
typedef enum tb_draw_leg {
    TB_DRAW_GIVEN,
    TB_DRAW_GOT,
    TB_DRAW_BACK,  /* what the credit has again */
    TB_DRAW_TAKEN, /* what the invoice has no more */
    TB_DRAW_LEGS
} tb_draw_leg;
void tb_draw_reference(char out[64], const char *number, int64_t credit, tb_draw_leg leg);
/* false: it is none, or another invoice's. */
bool tb_draw_parse(const char *reference, const char *number, int64_t *ret_credit,
                   tb_draw_leg *ret_leg);
/* "credit:7/expired", and where that was entered before "credit:7/expired/2". */
void tb_expiry_reference(char out[64], const tb_credit *credit);

/* --- invoices --- */

/* An invoice, a credit note or a debit, and what became of it. */
typedef struct tb_settle_paper {
    char number[64]; /* a debit's is its reference */
    bool credit_note;
    char corrects[24]; /* of a credit note: the invoice that it credits */
    char due[11];      /* "2026-12-04"; where none is agreed the day of issue */
    tb_decimal covered; /* what its text says that money in the account has paid of it */
    /* Filled by tb_settle. */
    bool stands; /* it is among the entries, and not void */
    tb_decimal total, drawn, credited, paid, remaining; /* of what stands and is owed; else 0 */
    tb_decimal promised; /* of `covered`: what it has not got, as a credit note was void since; else 0 */
} tb_settle_paper;

typedef struct tb_settlement {
    tb_credit *credits; /* as of tb_credits_of; owned */
    size_t n_credits;
    tb_settle_paper *debits; /* adjustments below zero, as they were entered; owned */
    size_t n_debits;
    tb_decimal balance;     /* the sum of all entries */
    tb_decimal unclaimed;   /* money that names no invoice that stands, and that no text counts: the oldest due take it */
    tb_decimal unallocated; /* money that no invoice and no debit has taken */
    tb_decimal running;     /* a prepaid account's running month, below zero */
    tb_decimal credit;      /* what is left of all credits */
    tb_decimal receivable;  /* what remains of all invoices and debits */
} tb_settlement;

/* The entries of one account, ascending by id, and its papers, oldest first, which it fills in.
 * Release. TB_E_CORRUPT: an entry is of a paper or credit that is not there. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_settle(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers,
                              size_t n_papers, tb_settlement *ret_settlement, tb_error *err);
/* The money that there is for one invoice more, above 0 or 0: that which all others leave. Where it takes the place of
 * a void one, of this number ("": of none), also that which named that one, or which its text counted, as far as
 * no invoice claims it. The entries and papers are those of tb_settle. */
TB_MUST_USE tb_code tb_settle_next(const tb_ledger_entry *entries, size_t n, tb_settle_paper *papers, size_t n_papers,
                                   const char *replaced, tb_decimal *ret_money, tb_error *err);
/* What of a settlement is open; those of which nothing remains may be left out. */
typedef struct tb_settle_open {
    tb_settle_paper *papers, *debits;
    size_t n_papers, n_debits;
    tb_decimal unallocated;
} tb_settle_open;
/* One payment more, above 0, of a list of many: remaining, paid and unallocated are then what tb_settle
 * would make of the entries and this one. number: the invoice that it names, or "". TB_E_OVERFLOW. */
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
#define TB_PAYMENT_NUMBERS 8 /* invoice numbers of one reference that are looked at */

typedef struct tb_payment {
    uint64_t line;               /* of the file, from 1 */
    int64_t day, account;        /* day since January 1970; account 0: not told */
    tb_decimal amount;           /* below 0: money that went out */
    char currency[4];            /* "": not told */
    char key[64];                /* the reference of its entry: "bank ID", or as `row` */
    char row[64];                /* "row " and a hash of all cells, whatever the map; of the second such
                                  * row of the file " 2" behind it */
    const char *reference, *payer; /* "": not told; UTF-8, in the list's memory */
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
/* Opening balances, in the same form or as {"balances":[{"account":7,"amount":"-120.00"},...]}: account and amount (below
 * 0: what the account owes), and where the file has them currency, due and reference. day: when it is due, or TB_NO_DAY. key, row and payer say nothing.
 * TB_E_BAD_INPUT: the head, or a row. */
#define TB_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_balances_parse(const char *text, size_t len, bool comma, tb_payments *ret_balances,
                                      tb_error *err);
void tb_payments_release(tb_payments *payments);

/* What looks like an invoice's number in a reference, as it is written on invoices: "RE 2026 000123" has
 * 2026-000123. Each once. Returns how many. */
size_t tb_payment_numbers(const char *reference, char numbers[TB_PAYMENT_NUMBERS][24]);

/* An entry's reference as people read it: "" for the hash of a row, which is for the ledger (its note has the bank's
 * words), and for what an opening balance without one was given. */
const char *tb_payment_shown(const tb_ledger_entry *entry);

TB_API_END

#endif
