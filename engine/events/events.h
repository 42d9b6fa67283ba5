/* What the files of this room share. */
#ifndef TB__EVENTS_EVENTS_H
#define TB__EVENTS_EVENTS_H

#include "tollbook/event.h"

#include <string.h>

/* A made logId: digits of the hash, then of the count. */
#define TB__MADE_HASH 24
#define TB__MADE_ID   32

/* An address: *ret_bits 32 or 128. IPv4 in IPv6 (::ffff:a.b.c.d) is IPv4. */
bool tb__event_ip(tb_text text, uint8_t out[16], unsigned *ret_bits);

/* What a search has beside an export's filters (filter.c). */
typedef struct tb__event_paging {
    tb_event_field group[TB_EVENT_FIELD_COUNT];
    size_t n_group;
    uint64_t page, size, buckets;
} tb__event_paging;
/* As tb_event_query_parse. ret_paging NULL: an export's body, whose other members are ignored. */
TB_MUST_USE tb_code tb__event_query_parse(const char *body, size_t len, int64_t now_ms, tb__event_paging *ret_paging,
                                          tb_event_query **ret, tb_error *err);

#endif
