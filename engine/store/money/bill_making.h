/* An account's month in the making: what bill_input.c makes, and the parts, bytes and packing of it, share. */
#ifndef TOLLBOOK_STORE_MONEY_BILL_MAKING_H
#define TOLLBOOK_STORE_MONEY_BILL_MAKING_H

#include "store/money/billing.h"

typedef struct tb__making {
    tb_store *store;
    struct tb__billing *b;
    int64_t month, from_hour, to_hour; /* the month */
    int64_t from_us, to_us;
    int64_t usage_hour;  /* usage of hours before it counts */
    int64_t until_us; /* what exists now has existed until then: now, or the month's end */
    int64_t priced;   /* books up to this version count */
    bool active;
    bool book_missing; /* the contract's book is not there */
    tb_bill_samples bandwidth; /* where the contract bills it at a percentile */
    bool origins;      /* the places of usage are kept */
    bool other;        /* its parts are read for another month: books that are set aside count */
    tb_error *err;
} tb__making;

/* The parts of the month, between books (bill_parts.c). Sets m->book_missing. Books without a hash are not stored ones: they replace
 * all others, the contract's too. */
TB_MUST_USE tb_code tb__parts_make(tb__making *m, const tb_bill_query *query, const tb__account_terms *terms, tb_error *err);
/* The account's terms in force at an hour; the first hold from the beginning. */
const tb__account_terms *tb__account_terms_at(const tb__billing *b, int64_t hour);
/* A zone's bytes, cut where anything changes for it (bill_bytes.c). */
TB_MUST_USE tb_code tb__bytes_make(tb__making *m, const tb__billed_zone *zone, tb_error *err);
/* Copies all lists into one block: the input is its caller's (bill_pack.c). */
TB_MUST_USE tb_code tb__bill_pack(tb__making *m, const tb__account_terms *terms, bool running, bool net,
                                  tb_bill_source *ret, tb_error *err);

#endif
