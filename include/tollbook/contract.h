/* What was agreed with one account, beside its price book: a book of its own, a percentage off, a
 * minimum of its own, a monthly commit. Part of what a catalogue declares of it (docs/catalogue.md);
 * bill.h says what it does to a bill. For a month counts the one in force at the start of its last hour. */
#ifndef TOLLBOOK_CONTRACT_H
#define TOLLBOOK_CONTRACT_H

#include "tollbook/decimal.h"

TB_API_BEGIN

#define TB_CONTRACT_PERCENT_SCALE 4 /* digits after the point of its percentage, at most */

/* All zeros: nothing is agreed. */
typedef struct tb_contract {
    char book[65];       /* the id of the account's own book; "": its currency's books */
    tb_decimal discount; /* percent of the month's usage and fees, 0 to 100 */
    bool own_minimum;    /* minimum is set; else the book's counts */
    tb_decimal minimum;  /* a month */
    bool committed;      /* the three below are set */
    tb_decimal commit;   /* a month */
    /* Months since January 1970, both within. INT64_MIN, as declared: from the month in which the account
     * was first declared (a bill's input has that one), under a scenario always. INT64_MAX: no end. */
    int64_t commit_from, commit_to;
} tb_contract;

TB_API_END

#endif
