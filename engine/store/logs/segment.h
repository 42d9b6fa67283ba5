/* What a segment says that it added, for who writes it and who verifies it. */
#ifndef TOLLBOOK_STORE_SEGMENT_H
#define TOLLBOOK_STORE_SEGMENT_H

#include "store/core/internal.h"
#include "tollbook/requestlog.h"

/* What a segment's sums say beside its metrics. */
#define TB__COUNTRY_REQUESTS "country_requests"
#define TB__COUNTRY_BYTES    "country_bytes"
#define TB__REJECTS_KEPT     "rejects_kept"
#define TB__RUNG_SEALS       "rung_seals"
#define TB__AMBIGUOUS        "ambiguous"
#define TB__HEADS            "heads"

/* LoggingIPAnonymizationEnabled, and LogAnonymizationType's Drop. */
tb_log_privacy tb__log_privacy(bool hides, bool drops);

/* head and hash are 16 bytes each. */
int64_t tb__seal_rung(const void *head, int64_t length, const void *hash);
/* Segments of the first schema do not say what rungs they wrote: notes the seals of all that are there,
 * modulo 2^64, as meta.rungs_before. */
TB_MUST_USE tb_code tb__rungs_adopt(tb_store *store, tb_error *err);

#endif
