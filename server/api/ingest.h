/* What a body of logs or usage rows is, for who takes it in and who takes it back. */
#ifndef TOLLBOOK_SERVER_API_INGEST_H
#define TOLLBOOK_SERVER_API_INGEST_H

#include "api/pieces.h"
#include "feed/withdraw.h"
#include "http/request.h"

typedef struct api_ingest {
    feed_options options;
    feed_encoding encoding;
    feed_piece piece; /* its rungs are parsed where they are needed: they take too much room */
    tb_text rungs;
    char batch[TB_BATCH_NAME_MAX + 1];
    tb_log_spec spec; /* logs: its texts are the request's */
    tb_text source;   /* what is withdrawn, for people; the request's */
    union {
        feed_report report;
        feed_withdrawn withdrawn;
    };
} api_ingest;

_Static_assert(sizeof(api_ingest) <= sizeof((request *)0)->work, "fits a request's own memory");

static inline api_ingest *api_ingest_of(request *r)
{
    return (api_ingest *)(void *)r->work;
}

/* Reads parameters and headers. */
TB_MUST_USE tb_code api_ingest_prepare(request *r, tb_batch_kind kind, tb_error *err);

#endif
