/* Search: what a key sees of the catalogue, by a part of its name. The parts of an account are found by its own keys,
 * and accounts by the operator's, as in `account list --search`. */
#ifndef TOLLBOOK_SEARCH_H
#define TOLLBOOK_SEARCH_H

#include "tollbook/range.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* X(ENUM, its name in answers, in a sentence). Results come in this order. */
#define TB_FOUND_KINDS(X)                                                                          \
    X(ACCOUNT, "Account", "Account")                                                               \
    X(PULL_ZONE, "PullZone", "Pull zone")                                                          \
    X(SHIELD_ZONE, "ShieldZone", "Shield zone")                                                    \
    X(LOAD_BALANCER, "LoadBalancer", "Load balancer")

typedef enum tb_found_kind {
#define TB_X(e, name, words) TB_FOUND_##e,
    TB_FOUND_KINDS(TB_X)
#undef TB_X
        TB_FOUND_KIND_COUNT
} tb_found_kind;

/* The texts live until the call returns. */
typedef struct tb_found {
    tb_found_kind kind;
    int64_t id;
    tb_text name;      /* len 0: it has none */
    tb_text host;      /* pull zones: the hostname that was found, else the system's own */
    int64_t pull_zone; /* shield zones: which they protect; 0: not declared */
} tb_found;
typedef void (*tb_found_fn)(void *ctx, const tb_found *found);

typedef struct tb_search {
    int64_t account; /* whose pull zones, shield zones and load balancers are searched; 0: accounts are */
    tb_text text;    /* a part of a name or of a pull zone's hostname, ignoring ASCII case, or the whole number; of
                      * accounts a part of the number does, too. len 0: nothing is found */
    int64_t skip, limit;
} tb_search;

/* Calls for each, ascending by kind and id, at most `limit` after the first `skip`. One pass over what the account
 * has declared now. */
TB_MUST_USE tb_code tb_store_search(tb_store *store, const tb_search *search, tb_found_fn each, void *ctx, tb_error *err);
/* How many there are in all; skip and limit do not count. */
TB_MUST_USE tb_code tb_store_count_found(tb_store *store, const tb_search *search, int64_t *ret_n, tb_error *err);

TB_API_END

#endif
