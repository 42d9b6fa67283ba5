/* Inside a usage pack (tollbook/batches.h): owners in the order in which the writer looks for them, each
 * account behind its zones. */
#ifndef TOLLBOOK_STORE_PACKED_H
#define TOLLBOOK_STORE_PACKED_H

#include "store/usage/owners.h"
#include "store/usage/entry.h"
#include "tollbook/batches.h"

typedef struct tb__packed_day {
    int32_t day;      /* an index of a chunk: it fits */
    uint32_t edge;    /* of the pack's; of a day of all locations it says nothing */
    uint32_t at, len; /* its entry (entry.h), in the pack's bytes */
} tb__packed_day;

typedef struct tb__packed_owner {
    int scope;
    int64_t id, account; /* a zone's account, 0: none */
    uint32_t days, all;  /* so many days at its locations come next, then so many of all locations */
} tb__packed_owner;

/* Countries of a zone's day. */
typedef struct tb__packed_list {
    int64_t zone, day;
    uint32_t at, len;
} tb__packed_list;

typedef struct tb__packed_edge {
    char code[TB_EDGE_MAX];
    size_t len;
} tb__packed_edge;

struct tb_usage_pack {
    tb_u128 sums[TB_METRIC_COUNT], country_requests, country_bytes;
    uint64_t cells; /* cells.h */
    int64_t newest; /* hour of the newest bucket; INT64_MIN: there is none */
    tb__packed_edge *edges;
    tb__packed_owner *owners;
    tb__packed_day *days; /* owner by owner; at its locations ascending by code and day, of all by day */
    tb__packed_list *lists; /* ascending by zone and day */
    uint8_t *bytes;
    size_t n_edges, n_owners, n_days, n_lists, len;
    size_t cap_edges, cap_owners, cap_days, cap_lists, cap;
};

/* The writer's ids for a pack's edges and owners. */
typedef struct tb__packed_places {
    int64_t *edge;
    tb__owner **owner;
} tb__packed_places;

#endif
