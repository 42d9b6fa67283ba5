/* Request logs: accepted log lines kept as compressed blocks of columns, found again by filters.
 *
 * A block holds up to TB_LOGBLOCK_LINES lines of one pull zone, ascending by time, column by column:
 * times as differences, addresses and request ids as bytes, texts that repeat as a dictionary and
 * its codes; each column compressed by itself (zstd), so that a filter reads only its own columns. A checksum seeded
 * with the zone covers the whole: a damaged block, or another zone's, is an error.
 *
 * A block returns each line as it was, with three exceptions: a request id of 32 hex digits or of a UUID's form is
 * returned as 32 lower-case digits, a country in upper case, and empty columns ("-" or empty) as absent.
 *
 * Life cycle: tb_logpack_new, tb_logpack_block for each block, tb_logpack_free. tb_logblock_new,
 * then for each block tb_logblock_open, tb_logblock_select, tb_logblock_row; tb_logblock_free. Each
 * belongs to one thread. */
#ifndef TOLLBOOK_REQUESTLOG_H
#define TOLLBOOK_REQUESTLOG_H

#include "tollbook/buf.h"
#include "tollbook/intake.h"
#include "tollbook/range.h"

TB_API_BEGIN

#define TB_LOG_KEPT_MS    (INT64_C(72) * 3600 * 1000) /* retention of a line */
#define TB_LOGBLOCK_LINES 8192
#define TB_LOGBLOCK_TEXT  ((size_t)2 << 20) /* lines are packed once they reach this many bytes */
/* Most bytes of a column before compression: the text of a block and the longest line after it. */
#define TB_LOGBLOCK_COLUMN ((size_t)8 << 20)
#define TB_LOGBLOCK_MAX    ((size_t)32 << 20) /* a whole block */

/* A line by its columns. Texts that are absent have len 0. They point into the line, or into the
 * block and the row that it was read from. */
typedef struct tb_logline {
    int64_t time_ms;
    uint64_t bytes;
    uint64_t body_bytes; /* UINT64_MAX: absent */
    tb_text cache, status, ip, referer, origin, path, edge, agent, id, country;
    tb_text range, authorization; /* of extended logging */
    tb_text ja4, organization;    /* fingerprint of the client's TLS; name of its autonomous system */
    tb_text asn;                  /* number of that system: 1 to 10 digits */
    char made[272];               /* an origin composed of several columns; `origin` then points here */
} tb_logline;

/* Splits a line that tb_intake_lines accepted under this layout. origin is "scheme://host", or empty
 * where the URL has none; path is the rest of the URL. */
void tb_logline_read(const tb_log_layout *layout, const char *line, size_t len,
                     tb_logline *ret_line);
/* The same of a line with a hit and span of tb_intake_lines: its columns are known already. */
void tb_logline_of(const tb_log_layout *layout, const tb_hit *hit, const tb_span *span,
                   tb_logline *ret_line);

/* --- packing --- */

typedef struct tb_logpack tb_logpack;
tb_logpack *tb_logpack_new(void); /* NULL: out of memory */
void tb_logpack_free(tb_logpack *pack);

/* Returns line i of those to pack. */
typedef void (*tb_logline_fn)(void *ctx, size_t i, tb_logline *ret_line);
typedef struct tb_loginfo {
    int64_t zone, first_ms, last_ms;
    uint32_t lines;
} tb_loginfo;
/* Lines of one pull zone, in any order: 1 .. TB_LOGBLOCK_LINES of them. */
typedef struct tb_loglines {
    int64_t zone;
    const int64_t *times; /* of each line, milliseconds since 1970 */
    size_t n;
    tb_logline_fn line;
    void *ctx; /* for `line` */
} tb_loglines;
/* Appends the lines as a block. Lines of the same time keep their order. */
TB_MUST_USE tb_code tb_logpack_block(tb_logpack *pack, const tb_loglines *lines, tb_buf *out,
                                     tb_loginfo *ret_info, tb_error *err);

/* --- records of lines to be packed ---
 *
 * A caller that collects lines of many zones keeps records of them: a line's columns, except repeated texts, which are
 * stored once in the words. Records belong to the words that made them, and to one thread. */

typedef struct tb_logwords tb_logwords;
tb_logwords *tb_logwords_new(void); /* NULL: out of memory */
void tb_logwords_free(tb_logwords *words);
/* Empties the words: all records made so far become invalid. */
void tb_logwords_forget(tb_logwords *words);
/* A line's texts are looked up in three steps, each best done for several lines before the next step: the keys;
 * prefetching of their entries (optional); the record. */
typedef struct tb_logkeys {
    uint64_t of[10];
} tb_logkeys;
void tb_logwords_keys(const tb_logwords *words, const tb_logline *line, tb_logkeys *ret_keys);
void tb_logwords_fetch(const tb_logwords *words, const tb_logkeys *keys);
/* The most by which a record is longer than its line, in bytes. */
#define TB_LOGRECORD_MORE 192
/* Writes the line's record to `to`, which is aligned to 8 bytes and large enough; returns its size, a multiple of
 * 8. */
size_t tb_logwords_record(tb_logwords *words, const tb_logline *line, const tb_logkeys *keys,
                          void *to);
size_t tb_logrecord_size(const void *record);
/* Records of lines of one pull zone: 1 .. TB_LOGBLOCK_LINES of them, made with the same words. */
typedef struct tb_logrecords {
    int64_t zone;
    const void *const *records;
    size_t n;
} tb_logrecords;
/* As tb_logpack_block. */
TB_MUST_USE tb_code tb_logpack_records(tb_logpack *pack, tb_logwords *words,
                                       const tb_logrecords *records, tb_buf *out,
                                       tb_loginfo *ret_info, tb_error *err);

/* Lines of many zones in one block: few lines of each cost one block instead of many. */
typedef struct tb_logmix {
    const int64_t *zones; /* ascending, each with a line */
    const uint16_t *places; /* of each record: index of its zone */
    const void *const *records;
    size_t n_zones, n; /* n: 1 .. TB_LOGBLOCK_LINES */
} tb_logmix;
/* Appends the block to `out`, and the zone of each row to `directory`. ret_info->zone is the zone if there is only one;
 * else 0. */
TB_MUST_USE tb_code tb_logpack_mix(tb_logpack *pack, tb_logwords *words, const tb_logmix *mix,
                                   tb_buf *out, tb_buf *directory, tb_loginfo *ret_info,
                                   tb_error *err);

/* --- filters --- */

/* How addresses are shown and compared. */
typedef enum tb_log_privacy {
    TB_LOG_IP_WHOLE,
    TB_LOG_IP_SHORT, /* the last octet of IPv4, the last 64 bits of IPv6 are zero */
    TB_LOG_IP_NONE,  /* 0.0.0.0 or :: */
} tb_log_privacy;

/* The number of bits of an address that are shown and compared. ::ffff:192.0.2.77 is converted to the IPv4 address that
 * it holds (*family, 4 or 6, and the bytes of ip). An address that embeds an IPv4 address elsewhere (NAT64, 6to4) also
 * has the last octet of that one hidden; of NAT64 addresses nothing more is hidden. */
unsigned tb_log_ip_bits(tb_log_privacy privacy, uint8_t ip[16], unsigned *family);

/* Hides everything that looks like an address in a text, in place; returns the new length. cut: the text was cut off,
 * possibly in the middle of an address. */
size_t tb_log_mask(tb_log_privacy privacy, bool cut, char *text, size_t len);

/* A zone's logging settings. */
typedef struct tb_log_zone {
    bool logging, active; /* EnableLogging; Enabled and not Suspended */
    bool extended;        /* EnableExtendedLogging */
    tb_log_privacy privacy;
} tb_log_zone;

#define TB_LOG_TOKENS    16
#define TB_LOG_TOKEN_MAX 128
#define TB_LOG_LIST_MAX  64

typedef struct tb_log_list {
    size_t n;
    tb_text item[TB_LOG_LIST_MAX];
} tb_log_list;

/* A line must match all conditions that are set. Texts are borrowed; those compared without regard to case (cache,
 * country, url, agent, referer, tokens) are in lower case already. */
typedef struct tb_log_filter {
    int64_t from_ms, to_ms; /* to is exclusive */
    uint8_t status[600 / 8]; /* bit s: status s passes; all where !by_status */
    bool by_status;
    tb_log_list cache, country;
    tb_text edge, url, agent, referer;
    tb_log_list tokens;
    bool by_ip, by_id, extended;
    unsigned ip_bits; /* leading bits of ip to compare (tb_log_ip_bits) */
    bool ip_is_v4;
    uint8_t ip[16], id[16];
} tb_log_filter;

/* A request id of 32 hex digits or of a UUID's form, as its bytes. */
bool tb_log_id_parse(tb_text text, uint8_t out[16]);

/* --- reading --- */

typedef struct tb_logblock tb_logblock;
tb_logblock *tb_logblock_new(void); /* NULL: out of memory */
void tb_logblock_free(tb_logblock *block);
/* Checks the block and copies it. TB_E_CORRUPT. */
TB_MUST_USE tb_code tb_logblock_open(tb_logblock *block, const void *bytes, size_t len,
                                     int64_t zone, tb_error *err);
void tb_logblock_info(const tb_logblock *block, tb_loginfo *ret_info);
size_t tb_logblock_plain(const tb_logblock *block); /* bytes of its columns, decompressed */
/* The rows that pass, ascending: rows has room for TB_LOGBLOCK_LINES. */
TB_MUST_USE tb_code tb_logblock_select(tb_logblock *block, const tb_log_filter *filter,
                                       uint16_t *rows, size_t *ret_n, tb_error *err);
int64_t tb_logblock_time(const tb_logblock *block, size_t row); /* after a select or row */

/* One row; its texts live until the block is closed or another row is read. */
typedef struct tb_logrow {
    tb_logline line;
    unsigned ip_family; /* 4, 6, or 0: line.ip is no address */
    uint8_t ip[16];
    char ip_text[48], id_text[33];
} tb_logrow;
TB_MUST_USE tb_code tb_logblock_row(tb_logblock *block, size_t row, tb_logrow *ret_row,
                                    tb_error *err);

/* --- summing --- */

/* X(NAME, member of the answer): the values that a summary can count. A URL is host and path without its query string;
 * a country is in upper case, a cache status "-" where a line has none. */
#define TB_LOG_VALUES(X)                                                                                               \
    X(URL, "url") X(STATUS, "status") X(COUNTRY, "country") X(CACHE, "cacheStatus") X(AGENT, "userAgent")              \
    X(HOST, "host") X(EDGE, "edgeLocation")

typedef enum tb_log_value {
#define TB_X(name, member) TB_LOG_VALUE_##name,
    TB_LOG_VALUES(TB_X)
#undef TB_X
        TB_LOG_VALUE_COUNT
} tb_log_value;

const char *tb_log_value_name(tb_log_value value);

#define TB_LOG_POINTS_MAX 120 /* most points of a time that begins with one; else one more */
#define TB_LOG_TOP_MAX    100 /* most values of each kind */

typedef struct tb_logsum_ask {
    int64_t from_ms, to_ms; /* to is exclusive */
    uint32_t values;        /* which ones are counted, a bit each */
    unsigned top;           /* how many of each are told, at most TB_LOG_TOP_MAX */
} tb_logsum_ask;

/* Totals of lines, points of them over time, and their most frequent values. Memory is bounded: beyond 131,072 values of a
 * kind, or 16 MiB of their text, the counts of that kind are approximate, and the answer says by how much. */
typedef struct tb_logsum tb_logsum;
tb_logsum *tb_logsum_new(const tb_logsum_ask *ask); /* NULL: out of memory */
void tb_logsum_free(tb_logsum *sum);                /* NULL is fine */
/* Adds rows of a block, ascending and within the time asked for. */
TB_MUST_USE tb_code tb_logsum_add(tb_logsum *sum, tb_logblock *block, const uint16_t *rows, size_t n, tb_error *err);
/* The members of the answer, `"stepSeconds":60,"totals":{...},"points":[...],"top":{...}`. */
void tb_logsum_json(const tb_logsum *sum, tb_buf *out);

/* --- showing --- */

/* Hides the row's address as `privacy` says. */
void tb_logrow_hide(tb_logrow *row, tb_log_privacy privacy);
/* An entry of the v2 answer. */
void tb_logrow_json(const tb_logrow *row, int64_t zone, bool extended, tb_buf *out);
/* Whether a row tells a failure of the origin: a status of class 5xx that was not served from cache. */
bool tb_logrow_failed(const tb_logrow *row);
/* Such a row as an entry of the day's origin errors. */
void tb_logrow_origin_error(const tb_logrow *row, int64_t zone, tb_buf *out);
/* A line of the v1 file, LF included; pipes inside columns are left out. */
void tb_logrow_pipe(const tb_logrow *row, int64_t zone, bool extended, tb_buf *out);

TB_API_END

#endif
