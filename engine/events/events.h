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

#endif
