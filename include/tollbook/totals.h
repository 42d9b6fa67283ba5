/* Sums of an account's zones and locations over a range, each in one sweep over their stored and pending rows. All
 * calls for an answer use the caller's snapshot. */
#ifndef TOLLBOOK_TOTALS_H
#define TOLLBOOK_TOTALS_H

#include "tollbook/pullzone.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* The scope of sums. Unlike tb_view it can name a location without a region. Account TB_ALL, with zone TB_ALL: the
 * fleet, which is the sum of all accounts. */
typedef struct tb_scope {
    int64_t account;
    int64_t zone;       /* TB_ALL, or a zone of that account */
    const char *region; /* code; NULL or "": all */
} tb_scope;

typedef struct tb_summed {
    int64_t id;         /* zone, or edge location */
    int64_t series;     /* id of its series in the store; 0: nothing was ever counted */
    int64_t created_us; /* ranges that end before are zeros */
    bool there;         /* zones: declared now */
    tb_u128 sum[TB_METRIC_COUNT];
} tb_summed;

typedef struct tb_region_summed {
    tb_summed of;
    char code[TB_EDGE_MAX + 1], name[TB_REGION_NAME_MAX];
} tb_region_summed;

/* TB_E_ZONE_NOT_FOUND where the zone is not the account's, TB_E_VALIDATION where there is no such region. */
TB_MUST_USE tb_code tb_store_scope_check(tb_store *store, const tb_scope *scope, tb_error *err);
/* As tb_store_read_series. */
TB_MUST_USE tb_code tb_store_scope_series(tb_store *store, const tb_scope *scope, tb_series *series,
                                          tb_error *err);
/* The locations that ever had something of it, ascending by id, summed over a range. free(). */
TB_MUST_USE tb_code tb_store_scope_regions(tb_store *store, const tb_scope *scope, tb_range range,
                                           uint32_t metrics, tb_region_summed **ret_list,
                                           size_t *ret_n, tb_error *err);

typedef struct tb_zone_choice {
    tb_text search; /* as in GET /pullzone; len 0: all */
    bool by_name;   /* ascending by name, whatever the ASCII case; else by id */
} tb_zone_choice;

typedef struct tb_zone_question {
    tb_scope scope;
    tb_zone_choice choice;
    tb_range range;
    uint32_t metrics; /* to be summed over it (a bit each) */
    /* A deleted zone is left out where it has none of `shown` in `range` nor in `before` (count 0: there is none). */
    tb_range before;
    uint32_t shown;
} tb_zone_question;

typedef struct tb_zone_place {
    int64_t id, series, created_us; /* as in tb_summed */
    bool there;
} tb_zone_place;

typedef struct tb_zone_sums {
    tb_zone_place *zones; /* in order */
    tb_u128 *sums;        /* of each its metrics, ascending; zeros without usage */
    size_t n;
} tb_zone_sums;

/* The sums of the scope's zones. The readers of a process cache sums of whole accounts, 32 MiB at most, until the next
 * commit. tb_zone_sums_release. */
TB_MUST_USE tb_code tb_store_zone_sums(tb_store *store, const tb_zone_question *question,
                                       tb_zone_sums *ret_sums, tb_error *err);
void tb_zone_sums_release(tb_zone_sums *sums);
/* The same of all accounts; search is a part of the name or of the number. */
TB_MUST_USE tb_code tb_store_account_sums(tb_store *store, const tb_zone_question *question,
                                          tb_zone_sums *ret_sums, tb_error *err);
/* Whether they are cached, and so cost only a copy. In a snapshot. */
TB_MUST_USE tb_code tb_store_zone_sums_known(tb_store *store, const tb_zone_question *question, bool *ret_known,
                                             tb_error *err);
/* Whether the account has at least n zones, deleted ones too. */
TB_MUST_USE tb_code tb_store_has_zones(tb_store *store, int64_t account, int64_t n, bool *ret_has,
                                       tb_error *err);
/* Sets the sums of these metrics over a range; zeros without usage. */
TB_MUST_USE tb_code tb_store_sum(tb_store *store, tb_summed *list, size_t n, tb_range range,
                                 uint32_t metrics, tb_error *err);
/* One counter of one of them over time: sums of `each` consecutive buckets of the range. */
TB_MUST_USE tb_code tb_store_summed_points(tb_store *store, const tb_summed *of, tb_range range, tb_metric metric,
                                           uint32_t each, tb_u128 *ret_points, tb_error *err);
typedef struct tb_zone_ids {
    const int64_t *zone;
    size_t n;
} tb_zone_ids;

/* Appends the name of each with a zero behind it. */
TB_MUST_USE tb_code tb_store_zone_names(tb_store *store, const tb_zone_ids *zones, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_store_account_names(tb_store *store, const tb_zone_ids *accounts, tb_buf *out, tb_error *err);

/* An account's pull zones as declared now, page by page. The cost of a page depends only on its own
 * zones. */

typedef struct tb_zone_query {
    int64_t account;
    const char *search; /* a part of the name or of a hostname, ignoring ASCII case; len 0: all */
    size_t search_len;
    int64_t after; /* ids above this one */
    int64_t skip;  /* number of these to skip */
    int64_t limit;
    size_t bytes; /* of settings and hostnames, once past them the page ends; 0: any number */
} tb_zone_query;

/* Zones ascending by id, with their declared settings: bytes, charges and the optimizer's price are not set, enabled
 * is as declared. */
typedef struct tb_zone_page {
    tb_pullzone *zones;
    size_t n;
    bool cut;     /* the page ended because of query->bytes: there may be more, up to the limit */
    void *memory; /* everything above; tb_zone_page_release */
} tb_zone_page;

TB_MUST_USE tb_code tb_store_zones(tb_store *store, const tb_zone_query *query,
                                   tb_zone_page *ret_page, tb_error *err);
/* One zone; TB_E_ZONE_NOT_FOUND: not a zone of the account, or deleted. */
TB_MUST_USE tb_code tb_store_zone(tb_store *store, int64_t account, int64_t zone,
                                  tb_zone_page *ret_page, tb_error *err);
/* The account's zone with this hostname, in any letter case: its own or the system's.
 * TB_E_ZONE_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_zone_of_host(tb_store *store, int64_t account, const char *host, size_t len,
                                          int64_t *ret_zone, tb_error *err);
void tb_zone_page_release(tb_zone_page *page);

/* How many there are in all; after, skip and limit do not count. */
TB_MUST_USE tb_code tb_store_count_zones(tb_store *store, const tb_zone_query *query,
                                         int64_t *ret_n, tb_error *err);

TB_API_END

#endif
