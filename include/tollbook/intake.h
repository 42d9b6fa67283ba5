/* Intake: bytes to records. Pure, bounded, no allocation: whole lines in, records out.
 *
 * Pipe format, 12 columns, 15 with extended logging, LF or CRLF ended:
 *   cache status | status | timestamp ms UTC | bytes sent | pull zone id | remote IP | referer |
 *   URL | edge code | user agent | request id | country [| body bytes | range | authorization]
 * Referer, URL, user agent, range and authorization are chosen by the client and may hold pipes: a line with too
 * many is read from both ends (engine/intake/ends.c).
 * Combined format (nginx, Apache): zone and edge code come from the layout; an optional trailing
 * token after the quoted user agent is $upstream_cache_status.
 * Other formats are described as text and compiled (tb_log_layout_init).
 *
 * A line that does not parse becomes a tb_reject with its number, its byte and its reason;
 * accepted + rejected = lines, always. A blank line is a rejected line; a head line ("#Fields: ...") of a format
 * that has one is accepted and is not a request. */
#ifndef TOLLBOOK_INTAKE_H
#define TOLLBOOK_INTAKE_H

#include "tollbook/buf.h"
#include "tollbook/error.h"
#include "tollbook/meter.h"
#include "tollbook/metrics.h"

TB_API_BEGIN

/* Cache status of a request. Served from cache: HIT, REVALIDATED, STALE, UPDATING. */
typedef enum tb_cache {
    TB_CACHE_OTHER, /* MISS, BYPASS, EXPIRED, '-' and any other token */
    TB_CACHE_SERVED,
    TB_CACHE_REVALIDATED, /* served from cache, but it reached the origin or balancer */
    TB_CACHE_UNKNOWN,     /* the log does not say */
} tb_cache;

#define TB_HIT_BYTES_MAX (UINT64_C(1) << 44)         /* most bytes of one answer: 16 TiB */
/* The largest counter of a usage row: more than any location serves in an hour, and so small a part of a counter's
 * 2^63-1 that one absurd row cannot fill it. */
#define TB_ROW_COUNTER_MAX UINT64_C(1000000000000000000)
#define TB_LINE_MAX (1u << 20)                       /* longest line, bytes */
#define TB_OLDEST_MS INT64_C(1420070400000)          /* 2015-01-01T00:00:00Z */
#define TB_AHEAD_MS (INT64_C(48) * 3600 * 1000)      /* how far ahead of now a line may be */

/* One accepted line, reduced to what is counted. edge points into the input. */
typedef struct tb_hit {
    int64_t zone;     /* pull zone id, 1 .. 2^63-1 */
    uint64_t bytes;   /* 0 .. TB_HIT_BYTES_MAX */
    const char *edge; /* 1 .. TB_EDGE_MAX bytes of [A-Za-z0-9_.-] */
    int32_t hour;     /* hours since 1970 */
    uint16_t status;  /* 100 .. 599 */
    uint16_t country; /* first letter << 8 | second letter, upper case; 0 if there is none */
    uint8_t edge_len;
    uint8_t cache; /* tb_cache */
    uint8_t interval; /* of its hour, 0 .. 11: 5 minutes each */
} tb_hit;

/* The reason for refusing a line. X(NAME, text) */
#define TB_REJECTS(X)                                                                              \
    X(BLANK, "blank line")                                                                         \
    X(TOO_LONG, "line longer than 1 MiB")                                                          \
    X(COLUMNS, "wrong number of columns: 12 or 15 expected")                                       \
    X(CACHE, "cache status is empty or not a token")                                               \
    X(STATUS, "status is not a number from 100 to 599")                                            \
    X(TIMESTAMP, "timestamp is not a number of milliseconds")                                      \
    X(TOO_OLD, "timestamp before 2015")                                                            \
    X(TOO_NEW, "timestamp more than 48 hours ahead")                                               \
    X(BYTES, "bytes sent is not a whole number from 0 to 2^44")                                    \
    X(ZONE, "pull zone id is not a number from 1 to 2^63-1")                                       \
    X(EDGE, "edge location is not 1 to 16 letters, digits, '_', '.' or '-'")                       \
    X(COUNTRY, "country is not two letters or '-'")                                                \
    X(NUL, "line holds a NUL byte")                                                                \
    X(COMBINED, "not a combined log line")                                                         \
    X(JSON, "not a JSON object of known counters")                                                 \
    X(COUNTER, "counter is not a whole number from 0 to 10^18")                                    \
    X(HOUR, "hour is not an RFC 3339 time on the hour")                                            \
    X(EVENT, "not a shield event: a JSON object of known keys")                                    \
    X(FORMAT, "not a line of the format that was given")                                           \
    X(TIME, "time cannot be read")                                                                 \
    X(HOST, "no pull zone has this hostname")                                                      \
    X(HEAD, "head names other columns than the log's beginning")                                   \
    X(METER, "does not agree with its meter or with its resource's account")

typedef enum tb_reject_reason {
#define TB_X(name, text) TB_REJECT_##name,
    TB_REJECTS(TB_X)
#undef TB_X
        TB_REJECT_MAX_
} tb_reject_reason;
const char *tb_reject_text(tb_reject_reason reason);
const char *tb_reject_name(tb_reject_reason reason);

typedef struct tb_reject {
    uint64_t line;    /* 1 = first line of this call's bytes */
    uint32_t byte;    /* 1 = first byte of the line: where parsing stopped */
    uint32_t len;     /* length of the line without its end */
    const char *text; /* the line, in the input */
    tb_reject_reason reason;
    const char *name; /* HOST: the hostname, in the input */
    uint32_t name_len;
} tb_reject;

typedef enum tb_log_format { TB_FORMAT_PIPE, TB_FORMAT_COMBINED, TB_FORMAT_COLUMNS } tb_log_format;

/* An edge location code of a region. */
typedef struct tb_known_edge {
    char code[TB_EDGE_MAX]; /* zeros behind it */
    uint32_t rank;          /* 0: the most expensive */
} tb_known_edge;

typedef struct tb_log_columns tb_log_columns;

typedef struct tb_log_layout {
    tb_log_format format;
    int64_t now_ms;   /* the clock, for the sanity window */
    int64_t zone;     /* combined: the zone of all lines; columns: the same, or 0 */
    const char *edge; /* combined: edge location code, "-" if unknown; columns: the same, or NULL: from a column */
    uint8_t edge_len;
    tb_log_columns *columns;            /* columns: compiled by tb_log_layout_init */
    const struct tb_known_hosts *hosts; /* columns: hostnames and their zones; NULL: none */
    const tb_known_edge *edges; /* pipe: ascending by code; used for lines with too many pipes */
    size_t n_edges;
} tb_log_layout;

/* An accepted line and its columns in the input, for callers that need more than its counters. */
#define TB_SPAN_PIPES 14
typedef struct tb_span {
    const char *line;
    uint32_t len;               /* without the line's end */
    uint16_t pipes;             /* 11 or 14; 0: at[] is not set, the line was read the slow way */
    uint16_t at[TB_SPAN_PIPES]; /* of each pipe, from the line's start */
} tb_span;

/* The result of one call. The caller provides the arrays hits and rejects, each of at least `room` elements, and spans
 * likewise, or NULL: spans[i] is the line of hits[i]. */
typedef struct tb_intake {
    tb_hit *hits;
    tb_reject *rejects;
    tb_span *spans;
    size_t room;
    size_t n_hits, n_rejects; /* set by the call; with n_heads their sum is the lines read */
    size_t n_heads;           /* set by the call: accepted lines that are not requests */
    size_t n_ambiguous;       /* set by the call: hits with a column that could not be told apart */
} tb_intake;

/* Reads whole lines from bytes until len, or until `room` lines are read, whichever comes first,
 * and returns the bytes consumed. The last line may lack its LF. Readable memory must extend
 * TB_INTAKE_SLACK bytes past len (vector loads). */
#define TB_INTAKE_SLACK 64
size_t tb_intake_lines(const tb_log_layout *layout, const char *bytes, size_t len, tb_intake *out);

/* The zone of a refused line: the layout's, or that of a pipe line with valid first five columns. 0: unknown. */
int64_t tb_intake_zone(const tb_log_layout *layout, const char *line, size_t len);

/* One row of BUCKETS.ndjson: a zone's or a load balancer's hour. */
typedef struct tb_row {
    bool balancer;    /* id is a load balancer's: only requests is set */
    int64_t id;
    int32_t hour;
    char edge[TB_EDGE_MAX];
    uint8_t edge_len; /* 0 for balancers */
    uint32_t metrics; /* which counters the row carries */
    uint64_t value[TB_METRIC_COUNT];
} tb_row;

/* Parses one line (no LF). Unknown keys, duplicate keys, keys of request logs and values outside 0 ..
 * TB_ROW_COUNTER_MAX are refused: returns false and sets *ret_reject (line = 1) and err->message, which names the key.
 * "region" is the edge location code. */
bool tb_row_parse(const char *line, size_t len, int64_t now_ms, tb_row *ret_row,
                  tb_reject *ret_reject, tb_error *err);

/* Whether the line has a key "meter", so that it is a usage line of a meter. */
bool tb_meter_line_is(const char *line, size_t len);
/* Parses one usage line of a meter (meter.h); the rest is as of tb_row_parse. What the meter's declaration says is not
 * checked here: tb_meter_line_check. */
bool tb_meter_line_parse(const char *line, size_t len, int64_t now_ms, tb_meter_line *ret_line, tb_reject *ret_reject,
                         tb_error *err);

/* The layout of a request log: a format's name or its description, compiled once.
 *
 * A format is one of
 *   pipe                 the pipe format (intake.h)
 *   combined             nginx's and Apache's combined format
 *   vcombined            Apache's, with the virtual host in front
 *   nginx:DESCRIPTION    what follows the name in a log_format directive
 *   apache:DESCRIPTION   what follows LogFormat
 *   json                 an object a line, whose fields a map names
 *   cloudfront           W3C lines with tabs, and the head that names their fields
 * docs/formats.md describes each of them.
 *
 * Life cycle: tb_log_layout_init, tb_log_layout_head if the log's beginning is known, reading,
 * tb_log_layout_release. */

#define TB_LOG_TEXT_MAX 2048 /* longest description, and longest map, bytes */

/* The values of --format, --map, --zone and --region. Absent texts have len 0; zone 0: absent. */
typedef struct tb_log_spec {
    tb_text format, map, region;
    int64_t zone;
} tb_log_spec;

/* A layout for these lines. Copies spec. The caller sets now_ms, edges and hosts. Errors: TB_E_VALIDATION, err->field
 * the parameter ("format", "map", "zone", "region"), with a message that names the place in it and the valid values;
 * NOMEM. */
TB_MUST_USE tb_code tb_log_layout_init(tb_log_layout *layout, const tb_log_spec *spec,
                                       tb_error *err);
void tb_log_layout_release(tb_log_layout *layout); /* also of a layout that is all zeros */

/* Whether lines that begin with "#" are head lines. */
bool tb_log_layout_heads(const tb_log_layout *layout);
/* Looks for a head line in a log's first bytes and uses its columns, unless the format names them; without a head line
 * the standard columns are used. */
TB_MUST_USE tb_code tb_log_layout_head(tb_log_layout *layout, const char *bytes, size_t len,
                                       tb_error *err);

/* The texts that make the same layout elsewhere, including the fields of a head line. They live as long as the
 * layout. */
void tb_log_layout_spec(const tb_log_layout *layout, tb_log_spec *ret_spec);
/* The texts that identify the options of a layout; without the fields of a head line. */
void tb_log_layout_identity(const tb_log_layout *layout, tb_log_spec *ret_spec);

/* Hostnames and their pull zones. */
typedef struct tb_known_hosts tb_known_hosts;
#define TB_HOST_MAX 256
TB_MUST_USE tb_code tb_known_hosts_new(tb_known_hosts **ret_hosts, tb_error *err);
void tb_known_hosts_free(tb_known_hosts *hosts); /* NULL is fine */
/* A name of two zones belongs to neither. */
TB_MUST_USE tb_code tb_known_hosts_add(tb_known_hosts *hosts, const char *name, size_t len,
                                       int64_t zone, tb_error *err);
/* Adds a name from a catalogue: a name that is not ASCII is also added in its DNS form ("xn--..."), which logs use.
 * Clients' names are added as they are: a conversion is not worth its cost, and a server that knows both names
 * distinguishes them. */
TB_MUST_USE tb_code tb_known_hosts_declare(tb_known_hosts *hosts, const char *name, size_t len,
                                           int64_t zone, tb_error *err);
/* For an incomplete table: an unknown name belongs to zone `other` (not 0), and `missed` is called with it in lower
 * case, without port and last point. */
void tb_known_hosts_open(tb_known_hosts *hosts, int64_t other,
                         void (*missed)(void *ctx, const char *name, size_t len), void *ctx);
/* The zone of a host, ignoring case, a port, a last point and the brackets of an IPv6 address. 0: unknown, or a name of
 * two zones. */
int64_t tb_known_hosts_find(const tb_known_hosts *hosts, const char *name, size_t len);

TB_API_END

#endif
