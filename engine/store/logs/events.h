/* What writing, reading and verifying shield events share. */
#ifndef TOLLBOOK_STORE_EVENTS_H
#define TOLLBOOK_STORE_EVENTS_H

#include "store/core/internal.h"
#include "tollbook/logstore.h"

/* The columns of a row of event_block as it is read. */
enum {
    TB__EVENT_ROW,
    TB__EVENT_ZONE,
    TB__EVENT_DAY,
    TB__EVENT_FIRST,
    TB__EVENT_EVENTS,
    TB__EVENT_SEAL,
    TB__EVENT_DATA
};

int64_t tb__seal_events(int64_t id, int64_t zone, int64_t day, int64_t events, const void *first,
                        size_t first_len, const void *data, size_t len);
/* The row against its seal: TB_E_CORRUPT. */
TB_MUST_USE tb_code tb__event_row_check(sqlite3_stmt *s, tb_error *err);

#endif
