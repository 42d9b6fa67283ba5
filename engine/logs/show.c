/* Rows as people and clients see them: read out of their block, their address hidden as the zone
 * wants it, written as a v2 entry or a v1 line. */
#include "intake/line.h"
#include "logs/format.h"
#include "tollbook/json.h"

#include <arpa/inet.h>
#include <inttypes.h>

/* --- reading --- */

static tb_code text_of(tb_logblock *block, tb__log_column c, size_t row, tb_text *ret, tb_error *err)
{
    const tb__log_texts *t;
    tb_code code = tb__log_texts_of(block, c, &t, err);
    *ret = (tb_text){"", 0};
    if (!code && t) *ret = tb__log_entry(t, tb__log_entry_of(t, row));
    return code;
}

/* The bytes of a binary value and their count, or 0 and its text. */
static unsigned binary_at(const tb__log_binaries *b, size_t row, uint8_t out[16], tb_text *ret_text)
{
    *ret_text = (tb_text){"", 0};
    if (!b) return 0;
    const size_t rank = b->rank[row];
    switch (b->width[row]) {
    case 4:
        for (unsigned i = 0; i < 4; i++)
            out[i] = b->planes[i * b->n_short + rank];
        return 4;
    case 16: memcpy(out, b->wide + 16 * rank, 16); return 16;
    case TB__LOG_TEXT_WIDTH: *ret_text = tb__log_entry(&b->texts, rank); return 0;
    default: return 0;
    }
}

static void print_ip(tb_logrow *row)
{
    row->line.ip = (tb_text){row->ip_text, 0};
    if (inet_ntop(row->ip_family == 4 ? AF_INET : AF_INET6, row->ip, row->ip_text,
                  sizeof row->ip_text))
        row->line.ip.len = strlen(row->ip_text);
}

static tb_code read_ip(tb_logblock *block, size_t at, tb_logrow *row, tb_error *err)
{
    const tb__log_binaries *b;
    tb_code code = tb__log_binaries_of(block, TB__LOG_IP, &b, err);
    if (code) return code;
    const unsigned width = binary_at(b, at, row->ip, &row->line.ip);
    row->ip_family = width == 4 ? 4 : width == 16 ? 6 : 0;
    if (row->ip_family) print_ip(row);
    return TB_OK;
}

static tb_code read_id(tb_logblock *block, size_t at, tb_logrow *row, tb_error *err)
{
    const tb__log_binaries *b;
    uint8_t bytes[16];
    tb_code code = tb__log_binaries_of(block, TB__LOG_ID, &b, err);
    if (code || binary_at(b, at, bytes, &row->line.id) != 16) return code;
    for (int i = 0; i < 16; i++) {
        row->id_text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        row->id_text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    row->id_text[32] = 0;
    row->line.id = (tb_text){row->id_text, 32};
    return TB_OK;
}

tb_code tb_logblock_row(tb_logblock *block, size_t at, tb_logrow *ret_row, tb_error *err)
{
    static const struct {
        tb__log_column column;
        size_t offset;
    } texts[] = {
        {TB__LOG_CACHE, offsetof(tb_logline, cache)},
        {TB__LOG_STATUS, offsetof(tb_logline, status)},
        {TB__LOG_REFERER, offsetof(tb_logline, referer)},
        {TB__LOG_ORIGIN, offsetof(tb_logline, origin)},
        {TB__LOG_PATH, offsetof(tb_logline, path)},
        {TB__LOG_EDGE, offsetof(tb_logline, edge)},
        {TB__LOG_AGENT, offsetof(tb_logline, agent)},
        {TB__LOG_COUNTRY, offsetof(tb_logline, country)},
        {TB__LOG_RANGE, offsetof(tb_logline, range)},
        {TB__LOG_AUTHORIZATION, offsetof(tb_logline, authorization)},
        {TB__LOG_JA4, offsetof(tb_logline, ja4)},
        {TB__LOG_ASN, offsetof(tb_logline, asn)},
        {TB__LOG_ORGANIZATION, offsetof(tb_logline, organization)},
    };
    const int64_t *times;
    tb_logline *line = &ret_row->line;
    tb_code code = tb__log_times_of(block, &times, err);
    for (size_t i = 0; !code && i < sizeof texts / sizeof *texts; i++)
        code = text_of(block, texts[i].column, at,
                       (tb_text *)(void *)((char *)line + texts[i].offset), err);
    if (!code) code = tb__log_number_of(block, TB__LOG_BYTES, at, &line->bytes, err);
    if (!code) code = tb__log_number_of(block, TB__LOG_BODY, at, &line->body_bytes, err);
    if (!code) code = read_ip(block, at, ret_row, err);
    if (!code) code = read_id(block, at, ret_row, err);
    if (!code) line->time_ms = times[at];
    return code;
}

/* --- showing --- */

void tb_logrow_hide(tb_logrow *row, tb_log_privacy privacy)
{
    if (privacy == TB_LOG_IP_WHOLE) return;
    if (row->ip_family == 0) row->ip_family = tb__log_ip_read(row->line.ip, row->ip);
    if (row->ip_family == 0) { /* no address: nothing of it may be shown */
        row->line.ip.len = 0;
        return;
    }
    const unsigned keep = tb_log_ip_bits(privacy, row->ip, &row->ip_family) / 8;
    memset(row->ip + keep, 0, sizeof row->ip - keep);
    print_ip(row);
}

static tb_text scheme_of(const tb_logline *line, tb_text *ret_host)
{
    const tb_text o = line->origin;
    const char *mark = o.len ? memmem(o.data, o.len, "://", 3) : NULL;
    *ret_host = (tb_text){"", 0};
    if (!mark) return *ret_host;
    *ret_host = (tb_text){mark + 3, o.len - (size_t)(mark + 3 - o.data)};
    return (tb_text){o.data, (size_t)(mark - o.data)};
}

static void put_text(tb_buf *out, const char *name, tb_text text)
{
    if (!text.len) return;
    tb_buf_str(out, name);
    tb_json_string(out, text.data, text.len);
}

static void put_number(tb_buf *out, const char *name, uint64_t value)
{
    char digits[TB_U64_TEXT_MAX + 1];
    tb_buf_str(out, name);
    tb_buf_add(out, digits, (size_t)(tb_put_u64(digits, value) - digits));
}

/* In upper case, however the line had it. */
static tb_text country_of(const tb_logline *line, char upper[2])
{
    if (line->country.len != 2) return (tb_text){"", 0};
    for (int i = 0; i < 2; i++)
        upper[i] = (char)(line->country.data[i] & 0xdf);
    return (tb_text){upper, 2};
}

/* Two texts as one string. */
static void put_url(tb_buf *out, const tb_logline *line)
{
    if (line->origin.len + line->path.len == 0) return;
    tb_buf_str(out, ",\"url\":");
    tb_json_string(out, line->origin.data, line->origin.len);
    if (out->failed || !line->path.len) return;
    if (!line->origin.len) {
        out->len -= 2;
        tb_json_string(out, line->path.data, line->path.len);
        return;
    }
    /* The second string begins at the position of the first one's closing quote; its own opening quote
     * is then taken out by writing it over the closing one and moving on. */
    const size_t seam = out->len - 1;
    tb_json_string(out, line->path.data, line->path.len);
    if (out->failed) return;
    memmove(out->data + seam, out->data + seam + 2, out->len - seam - 2);
    out->len -= 2;
}

static void put_time(tb_buf *out, int64_t time_ms)
{
    char text[32];
    tb_time_format(time_ms * 1000 - time_ms % 1000 * 1000, text);
    tb_buf_fmt(out, "{\"timestamp\":\"%.19s.%03dZ\"", text, (int)(time_ms % 1000));
}

void tb_logrow_json(const tb_logrow *row, int64_t zone, bool extended, tb_buf *out)
{
    const tb_logline *l = &row->line;
    char upper[2];
    tb_text host, scheme = scheme_of(l, &host);
    put_time(out, l->time_ms);
    put_number(out, ",\"pullZoneId\":", (uint64_t)zone);
    put_text(out, ",\"requestId\":", l->id);
    put_text(out, ",\"cacheStatus\":", l->cache.len ? l->cache : (tb_text){"-", 1});
    tb_buf_str(out, ",\"statusCode\":");
    tb_buf_add(out, l->status.data, l->status.len);
    put_number(out, ",\"bytesSent\":", l->bytes);
    put_text(out, ",\"remoteIp\":", l->ip);
    put_text(out, ",\"countryCode\":", country_of(l, upper));
    put_text(out, ",\"edgeLocation\":", l->edge);
    put_text(out, ",\"scheme\":", scheme);
    put_text(out, ",\"host\":", host);
    put_text(out, ",\"path\":", l->path);
    put_url(out, l);
    put_text(out, ",\"userAgent\":", l->agent);
    put_text(out, ",\"referer\":", l->referer);
    put_text(out, ",\"ja4Fingerprint\":", l->ja4);
    if (l->asn.len) {
        tb_buf_str(out, ",\"asn\":");
        tb_buf_add(out, l->asn.data, l->asn.len);
    }
    put_text(out, ",\"asnOrganization\":", l->organization);
    if (extended) {
        if (l->body_bytes != UINT64_MAX) put_number(out, ",\"bodyBytesSent\":", l->body_bytes);
        put_text(out, ",\"contentRange\":", l->range);
        put_text(out, ",\"authorizationHeader\":", l->authorization);
    }
    tb_buf_str(out, "}");
}

/* --- origin errors --- */

bool tb_logrow_failed(const tb_logrow *row)
{
    const tb_text cache = row->line.cache;
    tb_cache known;
    if (!row->line.status.len || row->line.status.data[0] != '5') return false;
    return !tb__cache_parse(cache.data, cache.len, &known) || known != TB_CACHE_SERVED;
}

/* What a status says of the origin; the last row is of all others. */
static const struct failure {
    const char *status, *code, *message;
} failures[] = {
    {"504", "http_timeout", "The request to the origin timed out."},
    {"508", "http_loop_detected", "The request to the origin came back to the edge."},
    {NULL, "http_request_failure", "The request to the origin failed."},
};

/* The id of 32 digits in the form of a UUID; another one as it is. */
static void put_log_id(tb_buf *out, tb_text id)
{
    uint8_t bytes[16];
    tb_buf_str(out, "{\"logId\":");
    if (id.len == 32 && tb_log_id_parse(id, bytes))
        tb_buf_fmt(out, "\"%.8s-%.4s-%.4s-%.4s-%.12s\"", id.data, id.data + 8, id.data + 12, id.data + 16, id.data + 20);
    else if (id.len) tb_json_string(out, id.data, id.len);
    else tb_buf_str(out, "null");
}

void tb_logrow_origin_error(const tb_logrow *row, int64_t zone, tb_buf *out)
{
    const tb_logline *l = &row->line;
    const struct failure *f = failures;
    tb_buf log;
    while (f->status && memcmp(f->status, l->status.data, 3) != 0)
        f++;
    tb_buf_init(&log, (size_t)16 * TB_LINE_MAX, NULL);
    tb_buf_str(&log, "{\"RequestUrl\":");
    tb_json_string(&log, l->path.data, l->path.len);
    tb_buf_fmt(&log, ",\"PullZoneId\":%" PRId64 ",\"Message\":\"%s\",\"ErrorCode\":\"%s\",\"StatusCode\":%.3s}", zone, f->message,
               f->code, l->status.data);
    put_log_id(out, l->id);
    put_number(out, ",\"timestamp\":", (uint64_t)l->time_ms);
    tb_buf_str(out, ",\"log\":");
    if (log.failed) out->failed = true;
    else tb_json_string(out, log.data, log.len);
    tb_buf_release(&log);
    tb_buf_fmt(out, ",\"labels\":{\"ErrorCode\":\"%s\",\"StatusCode\":\"%.3s\",\"ServerZone\":", f->code, l->status.data);
    tb_json_string(out, l->edge.data, l->edge.len);
    tb_buf_str(out, "}}");
}

/* --- lines of v1 --- */

/* A column of a v1 line: "-" where it is absent, without pipes. */
static void put_column(tb_buf *out, tb_text text)
{
    if (!text.len) {
        tb_buf_str(out, "-");
        return;
    }
    const size_t before = out->len;
    while (text.len) {
        const char *pipe = memchr(text.data, '|', text.len);
        const size_t n = pipe ? (size_t)(pipe - text.data) : text.len;
        tb_buf_add(out, text.data, n);
        text.data += n + (pipe != NULL);
        text.len -= n + (pipe != NULL);
    }
    if (out->len == before) tb_buf_str(out, "-"); /* nothing but pipes */
}

static void put_url_column(tb_buf *out, const tb_logline *l)
{
    if (l->origin.len) put_column(out, l->origin);
    if (l->path.len || !l->origin.len) put_column(out, l->path);
}

void tb_logrow_pipe(const tb_logrow *row, int64_t zone, bool extended, tb_buf *out)
{
    const tb_logline *l = &row->line;
    char upper[2];
    put_column(out, l->cache);
    tb_buf_str(out, "|");
    tb_buf_add(out, l->status.data, l->status.len);
    put_number(out, "|", (uint64_t)l->time_ms);
    put_number(out, "|", l->bytes);
    put_number(out, "|", (uint64_t)zone);
    tb_buf_str(out, "|");
    put_column(out, l->ip);
    tb_buf_str(out, "|");
    put_column(out, l->referer);
    tb_buf_str(out, "|");
    put_url_column(out, l);
    tb_buf_str(out, "|");
    put_column(out, l->edge);
    tb_buf_str(out, "|");
    put_column(out, l->agent);
    tb_buf_str(out, "|");
    put_column(out, l->id);
    tb_buf_str(out, "|");
    put_column(out, country_of(l, upper));
    if (extended) {
        if (l->body_bytes == UINT64_MAX) tb_buf_str(out, "|-");
        else put_number(out, "|", l->body_bytes);
        tb_buf_str(out, "|");
        put_column(out, l->range);
        tb_buf_str(out, "|");
        put_column(out, l->authorization);
    }
    tb_buf_str(out, "\n");
}
