/* What the files that read a price book share (book.c): the walk over its objects, single values, lists of tiers. */
#ifndef TOLLBOOK_BILLING_BOOK_WALK_H
#define TOLLBOOK_BILLING_BOOK_WALK_H

#include "billing/tiers.h"
#include "model/document.h"

/* --- book_walk.c --- */

typedef struct tb__book_parser {
    tb__document doc;
    tb__arena *scratch; /* gone after parsing */
    tb_error *err;
    char path[sizeof((tb_error *)0)->field]; /* of the current object */
    size_t path_len;
} tb__book_parser;

/* Adds to the path; returns the length to go back to. */
size_t tb__book_enter_key(tb__book_parser *p, const char *key, size_t len);
size_t tb__book_enter_index(tb__book_parser *p, size_t index);
void tb__book_leave(tb__book_parser *p, size_t before);

/* Refuse the book at the path, at a member of the object there, at a value of another type. */
tb_code tb__book_refuse(const tb__book_parser *p, uint32_t node, const char *message);
tb_code tb__book_refuse_member(tb__book_parser *p, uint32_t object, const char *key, const char *message);
tb_code tb__book_refuse_type(const tb__book_parser *p, uint32_t node, const char *wanted);

/* Checks a value and stores it at `to`. */
typedef tb_code (*tb__book_setter)(tb__book_parser *p, uint32_t value, void *to);

typedef struct tb__book_key {
    const char *name;
    bool required;
    tb__book_setter set;
    size_t offset; /* of the member that the setter fills */
} tb__book_key;
#define TB__BOOK_KEYS(keys) keys, sizeof keys / sizeof *keys

TB_MUST_USE tb_code tb__book_walk(tb__book_parser *p, uint32_t object, const tb__book_key *keys, size_t n, void *to);

/* Setters. */
tb_code tb__book_set_id(tb__book_parser *p, uint32_t value, void *to);      /* char[65] */
tb_code tb__book_set_node(tb__book_parser *p, uint32_t value, void *to);    /* uint32_t: the value's node */
tb_code tb__book_set_decimal(tb__book_parser *p, uint32_t value, void *to); /* not negative */
tb_code tb__book_set_price(tb__book_parser *p, uint32_t value, void *to);
/* A price that may be left out. */
typedef struct tb__book_price {
    tb_decimal value;
    bool given;
} tb__book_price;
tb_code tb__book_set_given(tb__book_parser *p, uint32_t value, void *to);
/* One of n names, as its number. */
TB_MUST_USE tb_code tb__book_choice(tb__book_parser *p, uint32_t value, const char *const *names, int n,
                                    const char *message, int *ret);

/* --- book_tiers.c --- */

/* Ways of writing a list of tiers: bandwidth's in GB, load balancers' in millions, a meter's in a unit that the catalogue
 * defines. A meter's thresholds are in units of 10^-TB__BOOK_PER_PLACES, its prices as written. */
#define TB__BOOK_GB_PLACES  9 /* a GB is 10^9 bytes */
#define TB__BOOK_PER_PLACES TB_PRICE_SCALE_MAX
typedef struct tb__book_form tb__book_form;
extern const tb__book_form tb__book_gb, tb__book_millions, tb__book_per;

#define TB__BOOK_NO_BLOCK (-1)

/* The keys beside `tiers`. */
typedef struct tb__book_list {
    tb_tier_mode mode;
    tb__axis axis;
    tb_i128 included, block;
    uint32_t tiers; /* the list's node */
} tb__book_list;

tb_code tb__book_set_mode(tb__book_parser *p, uint32_t value, void *to); /* tb_tier_mode */
tb_code tb__book_set_axis(tb__book_parser *p, uint32_t value, void *to); /* tb__axis */
/* Thresholds: tb_i128. */
tb_code tb__book_set_gb(tb__book_parser *p, uint32_t value, void *to);
tb_code tb__book_set_millions(tb__book_parser *p, uint32_t value, void *to);
tb_code tb__book_set_requests(tb__book_parser *p, uint32_t value, void *to);
tb_code tb__book_set_per(tb__book_parser *p, uint32_t value, void *to);

/* Reads the list and checks it, when all keys beside it are known. object: theirs. */
TB_MUST_USE tb_code tb__book_tiers(tb__book_parser *p, const tb__book_form *form, const tb__book_list *list,
                                   uint32_t object, tb_tiers *ret_tiers);

/* --- book_meters.c --- */

/* The keys `meters`, `fees` and `bandwidth.percentile`; to: the book. Their lists lie in the parser's scratch memory. */
tb_code tb__book_set_meters(tb__book_parser *p, uint32_t value, void *to);
tb_code tb__book_set_fees(tb__book_parser *p, uint32_t value, void *to);
tb_code tb__book_set_percentile(tb__book_parser *p, uint32_t value, void *to);
/* Moves copies of `from`'s lists of meters and fees into memory of the book's own. from may be the book. */
TB_MUST_USE tb_code tb__book_own_lists(tb_book *book, const tb_book *from, tb_error *err);

#endif
