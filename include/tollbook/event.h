/* Shield events: what the web application firewall of a shield zone logged (GET
 * /shield/event-logs/... in docs/openapi.yaml). One line of an import in, packed records in blocks, pages and CSV out.
 *
 * An event belongs to a shield zone and has a time in milliseconds and a logId. (time, logId) is its key: blocks,
 * pages and continuation tokens use it, and an event with a known key is the same event. For a line without logId one
 * is made from the event itself: 24 hex digits of a hash, then 8 that count equal events, so that the same input
 * gives the same ids and equal events stay apart.
 *
 * A record is a packed event; a block is records, ascending by key. A block is split before it exceeds TB_EVENT_BLOCK
 * bytes, unless a single record is longer. Everything here is pure. */
#ifndef TOLLBOOK_EVENT_H
#define TOLLBOOK_EVENT_H

#include "tollbook/buf.h"
#include "tollbook/intake.h"
#include "tollbook/range.h"

TB_API_BEGIN

/* X(ENUM, key, is a label, its name in filters or "", is searched by free text). Those before
 * RULE_GROUP are the columns of the CSV, after its timestamp, in their order. */
#define TB_EVENT_FIELDS(X)                                                                         \
    X(ID, "logId", 0, "", 0)                                                                       \
    X(FEATURE, "feature", 0, "feature", 0)                                                         \
    X(ACTION, "action", 0, "action", 0)                                                            \
    X(RULE_ID, "ruleId", 1, "ruleId", 1)                                                           \
    X(RULE_NAME, "ruleName", 0, "", 1)                                                             \
    X(IP, "ip", 0, "ip", 1)                                                                        \
    X(COUNTRY, "country", 1, "country", 0)                                                         \
    X(ASN, "asn", 1, "asn", 0)                                                                     \
    X(JA4, "ja4", 0, "ja4", 0)                                                                     \
    X(METHOD, "method", 1, "", 0)                                                                  \
    X(URL, "url", 0, "url", 1)                                                                     \
    X(AGENT, "userAgent", 0, "ua", 1)                                                              \
    X(SEVERITY, "severity", 1, "", 0)                                                              \
    X(STATUS, "status", 1, "", 0)                                                                  \
    X(SERVER_ZONE, "serverZone", 1, "", 0)                                                         \
    X(RULE_GROUP, "ruleGroup", 1, "", 0)                                                           \
    X(LOG, "log", 0, "", 0)

typedef enum tb_event_field {
#define TB_X(e, key, label, filter, searched) TB_EVENT_##e,
    TB_EVENT_FIELDS(TB_X)
#undef TB_X
        TB_EVENT_FIELD_COUNT
} tb_event_field;
#define TB_EVENT_COLUMNS ((int)TB_EVENT_RULE_GROUP)

typedef struct tb_event_field_info {
    const char *key, *filter;
    bool label, searched;
} tb_event_field_info;
extern const tb_event_field_info tb_event_fields[TB_EVENT_FIELD_COUNT];

#define TB_EVENT_DAYS   3          /* days that can be read: today and two UTC days before it */
#define TB_EVENT_ID_MAX 64         /* characters of a logId */
#define TB_SHIELD_ZONE_MAX INT32_MAX
#define TB_EVENT_MS_PER_DAY INT64_C(86400000)

typedef struct tb_event {
    int64_t zone, time_ms;
    bool made; /* field[TB_EVENT_ID] was made here: its count of equal events is not known yet */
    tb_text field[TB_EVENT_FIELD_COUNT];
} tb_event;

/* The first day of the retention period at this moment. */
int64_t tb_event_first_day(int64_t now_ms);

/* --- reading lines --- */

/* Whether a line of an import is an event rather than a usage row: it names a shield zone. */
bool tb_event_line(const char *line, size_t len);

/* Memory for one line's texts, reused for the next line. */
typedef struct tb_event_reader tb_event_reader;
tb_event_reader *tb_event_reader_new(void); /* NULL: out of memory */
void tb_event_reader_free(tb_event_reader *reader);
/* Parses one line (no LF). Texts live until the next call. A refused line is reported as by tb_row_parse: false,
 * *ret_reject (line = 1), and err->message names the key. err->code TB_E_NOMEM: out of memory, and *ret_reject is not
 * set. */
bool tb_event_parse(tb_event_reader *reader, const char *line, size_t len, int64_t now_ms,
                    tb_event *ret_event, tb_reject *ret_reject, tb_error *err);

/* --- records and blocks --- */

#define TB_EVENT_BLOCK ((size_t)64 << 10)

/* A key: the time, then the logId's bytes. Compared as bytes. */
#define TB_EVENT_KEY_MAX (8 + TB_EVENT_ID_MAX)
typedef struct tb_event_key {
    size_t len;
    uint8_t bytes[TB_EVENT_KEY_MAX];
} tb_event_key;
void tb_event_key_set(tb_event_key *key, int64_t time_ms, const char *id, size_t id_len);
int tb_event_key_compare(const tb_event_key *a, const tb_event_key *b);
int64_t tb_event_key_time(const tb_event_key *key);

/* A record in place. */
typedef struct tb_event_record {
    const uint8_t *bytes; /* all of it */
    size_t size;
    int64_t time_ms;
    bool plain;    /* row is the CSV row as it is, without its timestamp */
    bool made;     /* not merged yet */
    tb_text row;   /* the columns, separated by commas and ended by CRLF */
    const uint8_t *lengths; /* of the fields, packed */
    const uint8_t *texts;
} tb_event_record;

void tb_event_pack(const tb_event *event, tb_buf *out);
/* The record at *at, which is moved behind it; false where the bytes are no record. */
bool tb_event_next(const void *block, size_t len, size_t *at, tb_event_record *ret);
/* All its fields; zone stays 0. Texts point into the record. */
void tb_event_unpack(const tb_event_record *record, tb_event *ret);
void tb_event_record_key(const tb_event_record *record, tb_event_key *ret);

/* A packed event to be added to blocks. Among events with one key the one with the lowest order is kept. */
typedef struct tb_event_ref {
    int64_t zone;
    uint64_t order;
    const uint8_t *bytes;
    size_t size;
    tb_event_key key; /* of a made one: after all equal events */
} tb_event_ref;
/* false where the bytes are no record. */
bool tb_event_ref_set(tb_event_ref *ref, int64_t zone, uint64_t order, const void *bytes,
                      size_t size);
int tb_event_ref_compare(const void *a, const void *b); /* by zone, key, order */

typedef struct tb_event_block {
    size_t at, len; /* in the buffer that the merge wrote */
    uint32_t n;
    tb_event_key first;
} tb_event_block;
typedef struct tb_event_blocks {
    tb_event_block *list;
    size_t n, cap;
    tb_buf bytes;
    uint64_t added; /* new events */
} tb_event_blocks;
void tb_event_blocks_init(tb_event_blocks *blocks); /* allocates nothing */
void tb_event_blocks_release(tb_event_blocks *blocks);
/* Merges n sorted refs of a zone into its block (NULL: none yet), giving new blocks. TB_E_CORRUPT: the block cannot be
 * read. */
TB_MUST_USE tb_code tb_event_merge(const void *block, size_t len, const tb_event_ref *refs, size_t n,
                                   tb_event_blocks *ret, tb_error *err);

/* --- pages --- */

#define TB_EVENT_PAGE 100
/* Appends a record as a page's entry. */
void tb_event_json(const tb_event_record *record, tb_buf *out);

/* The start of a page: at a key or after it, towards older events. A token carries it for clients, and is valid for one
 * account, shield zone and day only: a keyed hash covers all of it. */
#define TB_EVENT_SECRET 32
typedef struct tb_event_scope {
    int64_t account, zone, day;
} tb_event_scope;
typedef struct tb_event_place {
    bool after; /* the key's own event was on the page before */
    tb_event_key key;
} tb_event_place;
#define TB_EVENT_TOKEN_MAX 128
/* URL-safe text, terminated. */
void tb_event_token(const uint8_t secret[TB_EVENT_SECRET], const tb_event_scope *scope,
                    const tb_event_place *place, char out[TB_EVENT_TOKEN_MAX]);
bool tb_event_token_read(const uint8_t secret[TB_EVENT_SECRET], const tb_event_scope *scope,
                         tb_text token, tb_event_place *ret);

/* --- exports --- */

/* "timestamp,logId,…" and its CRLF. */
void tb_event_csv_head(tb_buf *out);
/* The minute of the previous row as text, which is reused for the many rows of a minute. All zero before the first
 * row. */
typedef struct tb_event_minute {
    int64_t number; /* since 1970 */
    char text[20];  /* "2026-11-01T13:00:" and two digits that are overwritten */
} tb_event_minute;

/* A row of the CSV (RFC 4180). Cells that a spreadsheet would evaluate begin with an apostrophe. */
void tb_event_csv(const tb_event_record *record, tb_event_minute *minute, tb_buf *out);

#define TB_EVENT_EXPORT_MS   (INT64_C(72) * 3600 * 1000) /* oldest end of an export */
#define TB_EVENT_AHEAD_MS    INT64_C(60000) /* how far it may be in the future: clocks differ */
#define TB_EVENT_FILTERS_MAX 32
#define TB_EVENT_VALUES_MAX  1000 /* of one filter */
#define TB_EVENT_VALUE_MAX   1024 /* bytes of a value, and of the free text */

/* An export's filter: the body of POST /shield/event-logs/{shieldZoneId}/export. */
typedef struct tb_event_query tb_event_query;
/* TB_E_VALIDATION with err->field the JSON path; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_event_query_parse(const char *body, size_t len, int64_t now_ms,
                                         tb_event_query **ret, tb_error *err);
void tb_event_query_free(tb_event_query *query); /* NULL is fine */
int64_t tb_event_query_from(const tb_event_query *query); /* ms, inclusive */
int64_t tb_event_query_to(const tb_event_query *query);   /* ms, exclusive */
/* Whether the record matches, apart from its time. *ret_ok false: out of memory. */
bool tb_event_query_match(tb_event_query *query, const tb_event_record *record, bool *ret_ok);
/* The work of matching so far, in bytes compared, roughly. */
uint64_t tb_event_query_work(const tb_event_query *query);
bool tb_event_query_all(const tb_event_query *query); /* filters by time only */

TB_API_END

#endif
