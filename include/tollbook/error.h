/* Errors: one table names every code, its process exit status, its HTTP status, its ErrorKey and
 * its standing text, so that the command line, the HTTP face and the documents cannot drift apart.
 *
 * A function that can fail returns a tb_code and is marked TB_MUST_USE. Details (field, place,
 * sentence) go to a tb_error given by the caller, which may be NULL; it is written on failure only.
 * Outputs named ret_x are written on success only.
 *
 * Exit statuses: 0 done, 1 the answer is no, 2 usage or bad input, 3 environment
 * (disk, lock, permission, memory). HTTP statuses and ErrorKeys: docs/openapi.yaml. */
#ifndef TOLLBOOK_ERROR_H
#define TOLLBOOK_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tollbook/api.h"

TB_API_BEGIN

/* X(NAME, number, exit status, HTTP status, ErrorKey, standing text). Numbers are for good: a new
 * error takes the next one, at the end. */
#define TB_ERRORS(X)                                                                               \
    X(OK, 0, 0, 200, "", "Done.")                                                                  \
    X(DIFFERENT, 1, 1, 500, "store.difference", "The stored data does not agree with itself.")     \
    X(USAGE, 2, 2, 400, "usage", "The command or its arguments are not valid.")                    \
    X(VALIDATION, 3, 2, 400, "validation_error", "A value is not valid.")                          \
    X(DATE_RANGE, 4, 2, 400, "statistics.date_range_invalid", "The date range is not valid.")      \
    X(BAD_LINE, 5, 2, 400, "ingest.line_rejected", "A line of the input does not parse.")          \
    X(BAD_INPUT, 6, 2, 400, "ingest.invalid", "The input does not parse.")                         \
    X(CATALOG, 7, 2, 400, "catalog.invalid", "The catalogue is not valid.")                        \
    X(BOOK, 8, 2, 400, "book.invalid", "The price book is not valid.")                             \
    X(DECLARED, 9, 1, 500, "store.declaration", "A declaration cannot be billed.")                 \
    X(PERIOD, 10, 2, 400, "loadBalancer.invalid_period", "The month is not valid.")                \
    X(UNPRICED, 11, 1, 409, "invoice.unpriced", "The month has usage without a price.")            \
    X(NOT_OVER, 12, 1, 409, "invoice.not_over", "The month is not over.")                          \
    X(NOTHING_DUE, 13, 1, 404, "invoice.nothing_due", "There is nothing to invoice.")              \
    X(NO_DATA, 14, 1, 404, "whatif.no_data",                                                       \
      "These months have nothing stored that could be billed.")                                    \
    X(TOO_MUCH, 15, 2, 400, "whatif.too_much",                                                     \
      "The request asks for more than is computed at once.")                                       \
    X(OVERFLOW, 16, 2, 400, "counter.overflow", "A counter would pass 2^63 - 1.")                  \
    X(UNAUTHORIZED, 17, 2, 401, "authentication.failed", "The request authorization failed.")      \
    X(FORBIDDEN, 18, 2, 403, "authorization.forbidden",                                            \
      "The key lacks the role for this request.")                                                  \
    X(NOT_FOUND, 19, 2, 404, "resource.not_found", "The requested resource was not found.")        \
    X(ZONE_NOT_FOUND, 20, 2, 404, "pullZone.not_found", "The requested Pull Zone was not found.")  \
    X(BALANCER_NOT_FOUND, 21, 2, 404, "loadBalancer.not_found",                                    \
      "The requested Load Balancer was not found.")                                                \
    X(SHIELD_NOT_FOUND, 22, 2, 404, "shieldzone.not_found",                                        \
      "The requested Shield Zone was not found.")                                                  \
    X(EVENT_WINDOW, 23, 2, 400, "invalid_datetime_window.event_logs",                              \
      "Event logs are kept for today and the two days before it, UTC.")                            \
    X(EVENT_DATE, 24, 2, 400, "invalid_date.event_logs", "The date must be MM-dd-yyyy.")           \
    X(EVENT_TOKEN, 25, 2, 400, "invalid_token.event_logs",                                         \
      "The continuation token is not one of this shield zone and date.")                           \
    X(INVOICE_NOT_FOUND, 26, 2, 404, "invoice.not_found", "The requested invoice was not found.")  \
    X(APP_NOT_FOUND, 27, 2, 404, "container.not_found", "Application not found.")                  \
    X(APP_SUSPENDED, 28, 1, 409, "container.suspended", "The application is suspended.")           \
    X(LIMITS_NOT_FOUND, 29, 2, 404, "container.limits_not_found", "User limits not found.")        \
    X(IMAGE, 30, 2, 422, "registry.image_invalid", "The image cannot be found.")                   \
    X(NO_PURGE_HOOK, 31, 2, 501, "purge.not_set_up",                                               \
      "This server cannot purge: its operator has set no hook for it (serve --purge-hook).")       \
    X(METHOD, 32, 2, 405, "request.method_not_allowed", "The method is not allowed here.")         \
    X(BATCH_CONFLICT, 33, 2, 409, "batch.conflict", "The batch id was used for other bytes.")      \
    X(TOO_LARGE, 34, 2, 413, "request.body_too_large", "The body is larger than allowed.")         \
    X(URI_TOO_LONG, 35, 2, 414, "request.uri_too_long",                                            \
      "The request target is longer than allowed.")                                                \
    X(MEDIA_TYPE, 36, 2, 415, "request.media_type",                                                \
      "The content type or encoding is not supported.")                                            \
    X(BAD_REQUEST, 37, 2, 400, "request.malformed", "The request is malformed.")                   \
    X(RATE_LIMITED, 38, 2, 429, "request.rate_limited", "Too many requests, try again later.")     \
    X(HEADERS_TOO_LARGE, 39, 2, 431, "request.headers_too_large",                                  \
      "The request headers are too large.")                                                        \
    X(NOT_IMPLEMENTED, 40, 2, 501, "request.method_unknown", "The method is unknown.")             \
    X(NOMEM, 41, 3, 500, "server.out_of_memory", "Out of memory.")                                 \
    X(IO, 42, 3, 500, "server.io", "Reading or writing failed.")                                   \
    X(DISK_FULL, 43, 3, 503, "server.disk_full", "The disk is full.")                              \
    X(BUSY, 44, 3, 503, "server.busy", "The server is busy, try again later.")                     \
    X(LOCKED, 45, 3, 503, "store.locked", "Another process writes this database.")                 \
    X(GONE, 46, 3, 503, "store.gone", "The database was moved or removed while it was open.")      \
    X(LINKED, 47, 3, 500, "store.linked", "The database has more than one name.")                  \
    X(READ_ONLY, 48, 3, 500, "store.read_only", "The database cannot be written.")                 \
    X(NOT_OURS, 49, 3, 500, "store.not_ours", "The file is not a tollbook database.")              \
    X(NEWER, 50, 3, 500, "store.newer", "The database was written by a newer tollbook.")           \
    X(CORRUPT, 51, 3, 500, "store.corrupt", "The database is damaged.")                            \
    X(REGISTRY, 52, 3, 500, "registry.failed", "The registry did not answer as it should.")        \
    X(STOPPED, 53, 3, 503, "query.stopped", "The query was stopped.")                              \
    X(INTERNAL, 54, 3, 500, "server.internal", "Internal error.")                                  \
    X(WITHDRAWAL, 55, 1, 409, "withdrawal.refused", "The input cannot be withdrawn.")               \
    X(NOT_KEPT, 56, 1, 409, "usage.not_kept", "The usage of that month is no longer kept.")        \
    X(NOT_DELETED, 57, 1, 409, "account.not_deleted", "The account is not marked deleted.")           \
    X(CLOSED, 58, 1, 409, "ledger.closed", "The month is closed.")                                 \
    X(AWAY, 59, 3, 503, "usage.away", "A usage server does not answer, try again later.")          \
    X(ALL_REFUSED, 60, 1, 422, "ingest.all_refused", "Every line was refused.")                    \
    X(OTHER_OPTIONS, 61, 1, 409, "ingest.other_options",                                           \
      "The log is known under other options.")                                                   \
    X(CLOCK, 62, 1, 409, "clock.behind", "The clock is behind what is stored.")                     \
    X(DELETES_MUCH, 63, 1, 409, "catalog.deletes_much",                                            \
      "The catalogue no longer names much of what is declared.")                                   \
    X(REPLICA_OFF, 64, 2, 404, "replica.off",                                                      \
      "This database is not replicated: serve it with --replicas.")                                \
    X(REPLICA_GONE, 65, 2, 410, "replica.gone",                                                    \
      "The next piece is not kept here: begin from a new base.")                                   \
    X(REPLICA_READ_ONLY, 66, 2, 503, "replica.read_only",                                          \
      "This is a standby: write to its primary.")                                                  \
    X(REPLICA_SUPERSEDED, 67, 2, 503, "replica.superseded",                                        \
      "Another server has taken this one's place: write to it.")                                   \
    X(REPLICA_UNACKNOWLEDGED, 68, 3, 503, "replica.unacknowledged",                                \
      "No standby has it yet: send the same again.")                                               \
    X(REPLICA_NOT_PROMOTED, 69, 1, 409, "replica.not_promoted",                                    \
      "This server does not become the primary.")                                                  \
    X(PROOF_GONE, 70, 1, 410, "proof.gone", "What the proof needs is no longer kept.")             \
    X(PROOF_UNSIGNED, 71, 1, 409, "proof.unsigned", "No checkpoint covers it yet.")

typedef enum tb_code {
#define TB_X(name, number, exit, http, key, text) TB_E_##name = number,
    TB_ERRORS(TB_X)
#undef TB_X
#define TB_X(name, number, exit, http, key, text) +1
        TB_E_MAX_ = 0 TB_ERRORS(TB_X) /* how many there are */
#undef TB_X
} tb_code;
#define TB_OK TB_E_OK

/* The error and its place. line and byte count from 1; 0 means "no such place". */
typedef struct tb_error {
    tb_code code;
    char field[80];    /* parameter, JSON path or column; "" if none */
    char message[360]; /* one sentence, no line end */
    uint64_t line;
    uint64_t byte;
} tb_error;

/* Fills *err (NULL allowed) and returns code. field may be NULL; fmt NULL takes the standing text. */
tb_code tb_fail(tb_error *err, tb_code code, const char *field, const char *fmt, ...)
    TB_PRINTF(4, 5);

/* TB_E_NOMEM with its standing text. */
tb_code tb_no_memory(tb_error *err);

/* The word of a list, "table|json|csv", that a text was meant to be: the same but for letter case, or at most a third of
 * its letters differ. Returns its length; 0: none is near, and *ret_word stays as it is. */
size_t tb_nearest(const char *words, const char *text, size_t len, const char **ret_word);
/* The same as a sentence, " Did you mean \"json\"?", with `before` in front of the word; "" where none is near. Returns
 * out. */
#define TB_MEANT_MAX 96
const char *tb_meant(const char *words, const char *before, const char *text, size_t len, char out[TB_MEANT_MAX]);
/* "table, json or csv". Returns out. */
const char *tb_words(const char *words, char *out, size_t size);
/* A value that is none of the words, or no whole number from min to max: TB_E_VALIDATION of this field. */
tb_code tb_refuse_word(tb_error *err, const char *field, const char *words, const char *text, size_t len);
tb_code tb_refuse_number(tb_error *err, const char *field, const char *text, size_t len, int64_t min, int64_t max);

/* The table's columns. An unknown code answers as INTERNAL. Never NULL. */
const char *tb_code_name(tb_code code);
int tb_code_exit(tb_code code);
int tb_code_http(tb_code code);
const char *tb_code_key(tb_code code);
const char *tb_code_text(tb_code code);

TB_API_END

#endif
