/* Directories of blocks that hold lines of many pull zones: see directory.h. */
#include "logs/directory.h"

#include "base/hash.h"

static tb_code damaged(tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "log_run",
                   "A directory of waiting request logs is damaged, or another block's.");
}

/* The zone behind `before`; NULL: there is none. */
static const uint8_t *next_zone(const uint8_t *at, const uint8_t *end, int64_t before,
                                int64_t *ret_zone)
{
    uint64_t step;
    at = tb__get_leb(at, end, &step);
    if (!at || step == 0 || step > (uint64_t)(INT64_MAX - before)) return NULL;
    *ret_zone = before + (int64_t)step;
    return at;
}

static bool read_zones(tb__log_directory *d, const uint8_t *end)
{
    const uint8_t *at = d->list;
    int64_t zone = 0;
    for (size_t i = 0; at && i < d->zones; i++)
        at = next_zone(at, end, zone, &zone);
    d->only = d->zones == 1 ? zone : 0;
    return at == end;
}

tb_code tb__log_directory_open(tb__log_directory *d, const void *bytes, size_t len, size_t lines,
                               tb_error *err)
{
    const uint8_t *in = bytes;
    const size_t around = TB__LOG_DIRECTORY_HEADER + TB__LOG_TRAILER;
    if (len < around || len > TB__LOG_DIRECTORY_MAX || lines < 1 || lines > TB_LOGBLOCK_LINES)
        return damaged(err);
    const size_t list = tb__get32(in + 4), body = len - TB__LOG_TRAILER;
    if (XXH3_64bits_withSeed(in, body, lines) != tb__get64(in + body)) return damaged(err);
    *d = (tb__log_directory){.list = in + TB__LOG_DIRECTORY_HEADER,
                             .codes = in + TB__LOG_DIRECTORY_HEADER + list,
                             .zones = tb__get32(in),
                             .lines = lines,
                             .block = tb__get64(in + 8)};
    d->width = tb__log_width(d->zones);
    if (d->zones < 1 || d->zones > lines || list > len - around ||
        len - around - list != (lines * d->width + 7) / 8 || !read_zones(d, d->codes))
        return damaged(err);
    return TB_OK;
}

bool tb__log_directory_find(const tb__log_directory *d, int64_t zone, uint32_t *ret_place)
{
    const uint8_t *at = d->list;
    int64_t one = 0;
    for (size_t i = 0; i < d->zones && one < zone; i++) {
        at = next_zone(at, d->codes, one, &one);
        *ret_place = (uint32_t)i;
    }
    return one == zone;
}

void tb__log_directory_list(const tb__log_directory *d, int64_t *zones)
{
    const uint8_t *at = d->list;
    int64_t zone = 0;
    for (size_t i = 0; i < d->zones; i++) {
        at = next_zone(at, d->codes, zone, &zone);
        zones[i] = zone;
    }
}

bool tb__log_directory_sound(const tb__log_directory *d)
{
    bool has[TB_LOGBLOCK_LINES] = {false};
    size_t n = 0;
    for (size_t row = 0; row < d->lines; row++) {
        const uint32_t place = tb__log_directory_row(d, row);
        if (place >= d->zones) return false;
        n += !has[place];
        has[place] = true;
    }
    return n == d->zones;
}

/* A block's own checksum. */
static uint64_t sum_of(const void *block, size_t len)
{
    return tb__get64((const uint8_t *)block + len - TB__LOG_TRAILER);
}

tb_code tb__log_directory_block(const tb__log_directory *d, tb_logblock *block, const void *bytes,
                                size_t len, tb_error *err)
{
    if (len < TB__LOG_TRAILER || sum_of(bytes, len) != d->block) return damaged(err);
    tb_code code = tb_logblock_open(block, bytes, len, d->only, err);
    if (!code && tb__logblock_lines(block) != d->lines) code = damaged(err);
    return code;
}

void tb__log_directory_put(const int64_t *zones, size_t n, const uint64_t *places, size_t lines,
                           tb_text block, tb_buf *out)
{
    const size_t from = out->len;
    uint8_t *head = (uint8_t *)tb_buf_room(out, TB__LOG_DIRECTORY_HEADER + n * TB__LEB_MAX);
    if (!head) return;
    uint8_t *list = head + TB__LOG_DIRECTORY_HEADER, *end = list;
    for (size_t i = 0; i < n; i++)
        end = tb__put_leb(end, (uint64_t)(zones[i] - (i ? zones[i - 1] : 0)));
    tb__put32(head, (uint32_t)n);
    tb__put32(head + 4, (uint32_t)(end - list));
    tb__put64(head + 8, sum_of(block.data, block.len));
    out->len += (size_t)(end - head);
    const unsigned width = tb__log_width(n);
    if (width) tb__log_put_bits(out, places, lines, width);
    if (out->failed) return;
    uint8_t sum[TB__LOG_TRAILER];
    tb__put64(sum, XXH3_64bits_withSeed(out->data + from, out->len - from, lines));
    tb_buf_add(out, sum, sizeof sum);
}
