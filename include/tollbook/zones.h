/* An account's pull zones as declared now, page by page. The cost of a page depends only on its own
 * zones. */
#ifndef TOLLBOOK_ZONES_H
#define TOLLBOOK_ZONES_H

#include "tollbook/pullzone.h"
#include "tollbook/store.h"

TB_API_BEGIN

typedef struct tb_zone_query {
    int64_t account;
    const char *search; /* within the name or a hostname, whatever the ASCII case; len 0: all */
    size_t search_len;
    int64_t after; /* ids above this one */
    int64_t skip;  /* of those, this many are passed over */
    int64_t limit;
    size_t bytes; /* of settings and hostnames, once past them the page ends; 0: any number */
} tb_zone_query;

/* Zones ascending by id, with what the catalogue knows of them: bytes, charges and the optimizer's
 * price are not set, enabled is as declared. */
typedef struct tb_zone_page {
    tb_pullzone *zones;
    size_t n;
    bool cut;     /* it ended for query->bytes: there may be more, up to the limit */
    void *memory; /* everything above; tb_zone_page_release */
} tb_zone_page;

TB_MUST_USE tb_code tb_store_zones(tb_store *store, const tb_zone_query *query,
                                   tb_zone_page *ret_page, tb_error *err);
/* One zone; TB_E_ZONE_NOT_FOUND where it is not the account's, or gone. */
TB_MUST_USE tb_code tb_store_zone(tb_store *store, int64_t account, int64_t zone,
                                  tb_zone_page *ret_page, tb_error *err);
/* The account's zone that answers to this host name, whatever the letter case: its own or the system's.
 * TB_E_ZONE_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_zone_of_host(tb_store *store, int64_t account, const char *host, size_t len,
                                          int64_t *ret_zone, tb_error *err);
void tb_zone_page_release(tb_zone_page *page);

/* How many there are in all; after, skip and limit do not count. */
TB_MUST_USE tb_code tb_store_count_zones(tb_store *store, const tb_zone_query *query,
                                         int64_t *ret_n, tb_error *err);

TB_API_END

#endif
