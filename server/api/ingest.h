/* A body of logs or usage rows, for ingest.c and withdraw.c. */
#ifndef TOLLBOOK_SERVER_API_INGEST_H
#define TOLLBOOK_SERVER_API_INGEST_H

#include "api/pieces.h"
#include "feed/withdraw.h"
#include "http/request.h"

#define API_SOURCE_MAX 255
/* Parsing on a worker delays its other connections: such a body takes about a millisecond. */
#define API_SMALL_BODY ((size_t)128 << 10)

/* The name of the sender, by its key: it tells the origin of an input, and which senders have gone silent. */
const char *api_ingest_sender(const request *r, char text[API_SOURCE_MAX + 1]);

/* The state of the request (request.kept). */
typedef struct api_ingest {
    feed_options options;
    feed_body body;
    feed_piece piece;
    tb_rung rungs[FEED_RUNGS_MAX];
    char batch[TB_BATCH_NAME_MAX + 1];
    tb_text source;                /* the parameter: what is withdrawn, for people */
    char source_text[API_SOURCE_MAX + 1];
    const tb_directory *directory; /* retained */
    bool withdraws;
    feed_run *run;                 /* parsed, until it is taken */
    feed_withdrawing *withdrawing; /* the same where the body is withdrawn */
    unsigned tries;
    bool cells; /* the body is cells */
    bool taken; /* the writer had it */
    bool dry;   /* the parameter dryRun of a withdrawal: its first round is answered and taken back */
    bool tried; /* it was */
    bool compacting; /* pending rows are compacted first */
    feed_withdrawn round; /* that was withdrawn last */
    int64_t entry; /* the parameter: a withdrawal goes on with the undo that this entry tells of */
    tb_compact_walk pending;
    bool stale;
    union {
        feed_report report;
        feed_withdrawn withdrawn;
    };
} api_ingest;

static inline api_ingest *api_ingest_of(const request *r)
{
    return r->kept;
}

/* Makes the state, and reads parameters and headers. */
TB_MUST_USE tb_code api_ingest_prepare(request *r, tb_batch_kind kind, tb_error *err);
/* The store's name of the batch that this request's account calls `id`. field: the parameter or header of the id, for
 * the error. */
TB_MUST_USE tb_code api_batch_name(const request *r, const char *field, tb_text id,
                                   char name[TB_BATCH_NAME_MAX + 1], tb_error *err);
/* Parses the body with the newest directory, here or on the job pool, and submits it to the writer. */
void api_ingest_parse(request *r);
void api_ingest_submit_parsed(request *r);
/* Submits a withdrawal to the writer, after pending rows were compacted. */
void api_withdraw_submit(request *r);
/* On the writer's thread, of a body that is withdrawn. */
TB_MUST_USE tb_code api_withdraw_take(request *r, tb_store *store, tb_error *err);

#endif
