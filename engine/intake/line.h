/* The line parsers behind tb_intake_lines.
 *
 * tb__pipe_read and tb__combined_line each read one line by the book, column after column: they
 * decide what is accepted and name every reason. tb__pipe_scan reads many pipe lines with vector
 * scans and hands each line it is not sure of to tb__pipe_read, so it can only be faster, never
 * different. */
#ifndef TB__INTAKE_LINE_H
#define TB__INTAKE_LINE_H

#include <string.h>

#include "tollbook/intake.h"

/* A column; missing or unknown columns have len 0. */
typedef struct tb__part {
    const char *at;
    size_t len;
} tb__part;

/* The bytes of a byte order mark that a line begins with: 3 or 0. */
static inline size_t tb__mark_len(const char *line, size_t len)
{
    return len >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Readable memory must extend TB_INTAKE_SLACK bytes past the line in none of these. */
typedef struct tb__pipe_parts {
    int64_t time_ms;
    tb__part cache, ip, referer, url, edge, agent, id, country, body, range, authorization;
    bool ambiguous; /* some of them could not be told apart */
} tb__pipe_parts;
bool tb__pipe_read(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                   tb__pipe_parts *ret_parts, tb_reject *ret_reject);
/* The columns from the referer on of a line with more pipes than columns have, from both its ends.
 * False where no reading of them is possible. */
bool tb__ends_read(const tb_log_layout *layout, const char *line, size_t len,
                   tb__pipe_parts *parts);
/* Whether a column may be a request id that nothing else looks like: 32 hexadecimal digits or a UUID. */
bool tb__ends_id(tb__part part);

bool tb__combined_line(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                       tb_reject *ret_reject);

/* The same, and the columns that are not counted. */
typedef struct tb__combined_parts {
    int64_t time_ms;
    tb__part client, request, referer, agent, cache;
} tb__combined_parts;
bool tb__combined_read(const tb_log_layout *layout, const char *line, size_t len, tb_hit *ret_hit,
                       tb__combined_parts *ret_parts, tb_reject *ret_reject);

/* Cache status of a token of 1 .. TB__CACHE_TOKEN_MAX bytes; false where it is no token. */
#define TB__CACHE_TOKEN_MAX 32
bool tb__cache_tells(const char *word, size_t len); /* whether it is neither a number nor a yes or no */
bool tb__cache_parse(const char *token, size_t len, tb_cache *ret_cache);

/* Whether a line of JSON has this key, at any depth: the word in its quotes, and a colon behind it. */
bool tb__line_has_key(const char *line, size_t len, const char *quoted);

/* The clock window of every record: true, or the reason. */
bool tb__time_sane(int64_t time_ms, int64_t now_ms, tb_reject_reason *ret_reason);
/* The hit's hour and interval, of a time that is not negative. */
static inline void tb__hit_time(tb_hit *hit, uint64_t time_ms)
{
    const uint32_t interval = (uint32_t)(time_ms / 300000);
    hit->hour = (int32_t)(interval / TB_METER_SLOTS);
    hit->interval = (uint8_t)(interval % TB_METER_SLOTS);
}

/* Vector units a scan may use, best last. */
typedef enum tb__unit {
    TB__UNIT_PORTABLE,
    TB__UNIT_AVX2,
    TB__UNIT_AVX512, /* with BW and VBMI2 */
    TB__UNIT_MAX_
} tb__unit;

bool tb__unit_here(tb__unit unit); /* does this processor have it? */
/* tb_intake_lines for the pipe format on a unit that is here. */
size_t tb__pipe_scan(tb__unit unit, const tb_log_layout *layout, const char *bytes, size_t len,
                     tb_intake *out);

/* One line, by its format's parser, into the next free place of *out. */
void tb__line_take(const tb_log_layout *layout, const char *line, size_t len, tb_intake *out);

#endif
