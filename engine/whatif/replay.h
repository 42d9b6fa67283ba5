/* A replay in the making: what its parts hand to one another. Amounts are mantissas at their
 * currency's minor digits. */
#ifndef TOLLBOOK_WHATIF_REPLAY_H
#define TOLLBOOK_WHATIF_REPLAY_H

#include "base/arena.h"
#include "tollbook/whatif.h"

typedef struct tb__currency {
    char code[4];
    int minor_digits;
} tb__currency;

/* An account in one currency. */
typedef struct tb__row {
    int64_t account;
    uint32_t currency; /* index */
    uint32_t months;
    tb_i128 before;
} tb__row;

/* A calendar month in one currency. */
typedef struct tb__month {
    int64_t month;
    uint32_t currency;
    size_t accounts;
    tb_i128 before;
} tb__month;

/* The largest increases of one scenario in one currency; deltas beside them, to be compared. */
typedef struct tb__top {
    uint32_t currency;
    size_t n;
    tb_i128 delta[TB_WHATIF_INCREASES_MAX];
    tb_whatif_increase increases[TB_WHATIF_INCREASES_MAX];
} tb__top;

/* One scenario, with the books it makes. */
typedef struct tb__case {
    const tb_scenario *scenario;  /* NULL: a book in the place of all others */
    const tb_book **instead;      /* for each of the replay's books; NULL: it stays */
    const tb_book *everywhere;    /* in the place of every book and of none */
    const char *currency;         /* the only one it looks at; NULL: any */
    tb_book *made;                /* owned */
    tb_whatif_book *shown;        /* patched books with their bases, then books that contracts name */
    size_t n_made, n_shown, room; /* room of made */
    tb__top **tops;               /* by currency, if there is one */
    size_t n_tops;
    tb_whatif_unpriced *unpriced;
    size_t n_unpriced, unpriced_room;
    size_t unpriced_bills, unpriced_hidden; /* account-months, and those not all shown */
    bool unpriced_now;                      /* in the account being fed */
} tb__case;

/* A line of a bill, and over months: one amount before and one after. */
typedef struct tb__piece {
    tb_line_kind kind;
    int64_t id;
    char resource[TB_BILL_RESOURCE_MAX];
    char item[TB_METER_ID_MAX + 1]; /* the meter or the fee; "": neither */
    char region[TB_METER_VALUE_MAX + 1];
    tb_i128 before, after;
} tb__piece;

/* What a month counts in the commit of a later one: its lines up to the commit, and its commit line. */
typedef struct tb__counted {
    tb_decimal sum, commit;
} tb__counted;

/* A month of the account being fed, copied. */
typedef struct tb__held {
    tb_bill_input input;
    bool *unpriced;    /* under each scenario */
    tb__counted *counted; /* the same */
    tb__piece *pieces; /* its lines before, once they were needed */
    size_t n_pieces;
    struct tb__held *next;
} tb__held;

struct tb_whatif {
    const tb_alloc *alloc;
    const tb_book *books;
    size_t n_books;
    tb__case *cases;
    size_t n;
    tb_bill_rater *rater;
    tb__currency *currencies;
    size_t n_currencies, currencies_room;
    tb__row *rows;
    size_t n_rows, rows_room, row_after_room;
    tb_i128 *row_after; /* [row][scenario] */
    tb__month *months;
    size_t n_months, months_room, month_after_room;
    tb_i128 *month_after; /* [month][scenario] */
    tb_i128 *after;       /* of the input being fed, [scenario] */
    bool *unpriced;
    tb__counted *counted;
    size_t first_row; /* of the account being fed */
    int64_t account, month;
    bool fed, finished;
    tb__arena held;    /* the account's months */
    tb__arena scratch; /* of one input */
    tb__held *first, **last;
};

/* Room for one more: doubles. False when out of memory. *items has `room` items of `size`. */
bool tb__grow_room(const tb_alloc *alloc, void *items, size_t *room, size_t size, size_t needed);

/* Whether bills in this currency are among the scenario's. */
bool tb__case_takes(const tb__case *c, const char *currency);

/* --- cases.c --- */

/* Patches all books of a scenario. What is made is the case's even where this fails. */
TB_MUST_USE tb_code tb__case_open(tb__case *c, const tb_scenario *scenario, const tb_book *books,
                                  size_t n_books, const tb_alloc *alloc, tb_error *err);
void tb__case_close(tb__case *c, size_t n_books, const tb_alloc *alloc);

/* The input under a scenario: other books, other usage; what changes lies in the arena. `again`:
 * whether anything but nothing has changed. Taxes are left out of it. */
TB_MUST_USE tb_code tb__case_input(const tb_whatif *w, const tb__case *c,
                                   const tb_bill_input *input, tb__arena *arena,
                                   tb_bill_input *ret_input, bool *ret_changed, tb_error *err);

/* --- scale.c --- */

/* Usage times the factors that match it, in place of the input's arrays. */
TB_MUST_USE tb_code tb__scale_usage(const tb_scenario *scenario, tb_bill_input *input,
                                    tb__arena *arena, bool *ret_changed, tb_error *err);

/* --- account.c --- */

/* When an account is complete: checks whether it is among the largest increases, lists its unpriced usage, and drops
 * its months. */
TB_MUST_USE tb_code tb__account_close(tb_whatif *w, tb_error *err);

/* --- increase.c --- */

/* Adds the row to the scenario's largest increases where it belongs there. */
TB_MUST_USE tb_code tb__increase_offer(tb_whatif *w, size_t number, size_t row, tb_error *err);

/* --- unpriced.c --- */

/* Lists the current account's usage without a price under the scenario. */
TB_MUST_USE tb_code tb__unpriced_list(tb_whatif *w, size_t number, tb_error *err);

/* --- result.c --- */

/* Before, after, and the changes computed from them. */
tb_whatif_change tb__change_of(tb_i128 before, tb_i128 after, int minor_digits);

#endif
