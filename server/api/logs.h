/* What both versions of the request logging API do: whose logs they are, how many requests are let
 * through, and lines that are found and written part by part. */
#ifndef TOLLBOOK_SERVER_API_LOGS_H
#define TOLLBOOK_SERVER_API_LOGS_H

#include "http/server.h"
#include "tollbook/logstore.h"

typedef enum log_verdict { LOG_SKIP, LOG_TAKE, LOG_ENOUGH } log_verdict;

/* An answer in the making. `line` is asked for each line in turn; `end` closes the body. */
typedef struct log_answer {
    int64_t account, zone;
    tb_log_zone how;
    tb_log_filter filter;
    bool descending;
    char text[2 * HEAD_TARGET_MAX]; /* the filter's texts, decoded and folded */
    size_t text_len;
    /* Set by the version: writes the line, or not. row is NULL where skips says that it need not be
     * read. */
    log_verdict (*line)(struct log_answer *a, tb_logrow *row, tb_buf *out);
    void (*end)(struct log_answer *a, tb_buf *out);
    uint64_t skip;      /* lines to pass over unread */
    uint64_t left;      /* lines that may still be written */
    uint64_t offset, limit, returned;
    bool more;          /* there are lines past the last one written */
    int64_t from_us, to_us; /* v2: the window as it was asked for */
    tb_text search;     /* v1 */
    const char *content_type;
    /* logs.c's own: */
    worker *worker;
    tb_store *store;
    size_t held; /* by the place that the store took */
    tb_log_cursor *cursor;
    tb_buf first; /* what was made before sending began */
    bool first_sent, ended;
} log_answer;

/* A zone's answer, still without a filter, once the zone is the caller's, its logging is on and the
 * rate allows it. NULL: the request is answered with why not. */
log_answer *logs_begin(request *r, int64_t zone);
/* Answers: at once where the body is short, else streamed. Owns a. */
void logs_answer(request *r, log_answer *a);
void logs_free(log_answer *a);

/* A copy of the text in the answer's own memory, in lower case where fold. */
tb_text logs_keep(log_answer *a, tb_text text, bool fold);

/* The next item of a comma list, which is moved behind it; false: there is none. A comma at the list's
 * end has none behind it. */
bool logs_next_item(tb_text *rest, tb_text *ret_item);
/* Lets a status pass: "404", or "5xx" for a class. false: it is none. */
bool logs_status(tb_log_filter *filter, tb_text text);

/* What is wrong with a request's parameters. */
#define LOG_DETAILS_MAX 16
typedef struct log_details {
    size_t n;
    const char *sentence[LOG_DETAILS_MAX];
} log_details;
void logs_wrong(log_details *d, const char *sentence);
/* Answers 400 if there are details. */
bool logs_refused(request *r, const log_details *d);

#endif
