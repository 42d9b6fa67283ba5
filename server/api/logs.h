/* Shared by both versions of the request logging API: permission, rate limit, and writing the matching lines part by
 * part. */
#ifndef TOLLBOOK_SERVER_API_LOGS_H
#define TOLLBOOK_SERVER_API_LOGS_H

#include "http/server.h"
#include "tollbook/logstore.h"

typedef enum log_verdict { LOG_SKIP, LOG_TAKE, LOG_ENOUGH } log_verdict;

/* An answer in the making. `line` is called for each line in turn; `end` closes the body. */
typedef struct log_answer {
    int64_t account, zone;
    tb_log_zone how;
    tb_log_filter filter;
    bool descending;
    char text[2 * HEAD_TARGET_MAX]; /* the filter's texts, decoded and folded */
    size_t text_len;
    /* Set by the version: writes the line, or skips it. */
    log_verdict (*line)(struct log_answer *a, tb_logrow *row, tb_buf *out);
    void (*end)(struct log_answer *a, tb_buf *out);
    uint64_t skip;      /* lines to skip unread */
    uint64_t left;      /* lines still to write */
    uint64_t offset, limit, returned;
    bool more;          /* there are lines past the last one written */
    int64_t from_us, to_us; /* v2: the window of the query */
    tb_text search;     /* v1 */
    const char *content_type;
    /* Of logs.c: */
    worker *worker;
    tb_store *store;
    size_t held; /* bytes booked in its stream slot */
    tb_log_cursor *cursor;
    tb_buf first; /* the part made before sending begins */
    bool first_sent, ended;
} log_answer;

/* Begins the answer of a zone, without a filter, if the zone belongs to the caller, its logging is on and the rate
 * allows it. NULL: the request was answered with the reason. */
log_answer *logs_begin(request *r, int64_t zone);
/* Answers: a short body at once, a long one as a stream. Takes ownership of a. */
void logs_answer(request *r, log_answer *a);
void logs_free(log_answer *a);

/* A copy of the text in the answer's own memory, in lower case where fold. */
tb_text logs_keep(log_answer *a, tb_text text, bool fold);

/* Takes the next item from a comma-separated list; false: there is none. A comma at the end is ignored. */
bool logs_next_item(tb_text *rest, tb_text *ret_item);
/* Adds a status to the filter: "404", or "5xx" for a class. false: it is none. */
bool logs_status(tb_log_filter *filter, tb_text text);

#define LOG_MS_PER_DAY INT64_C(86400000)

/* Errors in a request's parameters. */
#define LOG_DETAILS_MAX 16
typedef struct log_details {
    size_t n;
    const char *sentence[LOG_DETAILS_MAX];
} log_details;
void logs_wrong(log_details *d, const char *sentence);
/* The filter's window is this day, as far as it is kept. */
void logs_of_day(tb_log_filter *filter, int64_t day, int64_t now_ms, log_details *d);
/* Answers 400 if there are details. */
bool logs_refused(request *r, const log_details *d);

#endif
