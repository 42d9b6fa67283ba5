/* The directory of a block of lines of many zones, as the store hands it over. The checksum keeps damage out,
 * so it is made good first: what is tried is every check behind it. Whatever the bytes, it opens or is
 * TB_E_CORRUPT; its zones ascend and are found; a sound one is written again as it was. */
#include "base/hash.h"
#include "logs/directory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void look_up(const tb__log_directory *d, const int64_t *zones)
{
    uint32_t place = UINT32_MAX;
    for (size_t i = 0; i < d->zones; i += 1 + d->zones / 16) {
        MUST(zones[i] > (i ? zones[i - 1] : 0));
        MUST(tb__log_directory_find(d, zones[i], &place) && place == i);
        const bool next = i + 1 < d->zones && zones[i + 1] == zones[i] + 1;
        MUST(zones[i] == INT64_MAX || tb__log_directory_find(d, zones[i] + 1, &place) == next);
    }
}

static void write_again(const tb__log_directory *d, const int64_t *zones, const uint8_t *bytes, size_t len)
{
    static uint64_t places[TB_LOGBLOCK_LINES];
    char block[TB__LOG_TRAILER];
    tb__log_directory twin;
    tb_buf out;
    for (size_t row = 0; row < d->lines; row++)
        places[row] = tb__log_directory_row(d, row);
    tb__put64((uint8_t *)block, d->block);
    tb_buf_init(&out, TB__LOG_DIRECTORY_MAX * 2, NULL);
    tb__log_directory_put(zones, d->zones, places, d->lines, (tb_text){block, sizeof block}, &out);
    MUST(!out.failed && tb__log_directory_open(&twin, out.data, out.len, d->lines, NULL) == TB_OK);
    MUST(out.len <= len && twin.zones == d->zones && twin.block == d->block);
    for (size_t row = 0; row < d->lines; row++)
        MUST(tb__log_directory_row(&twin, row) == places[row]);
    (void)bytes;
    tb_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int64_t zones[TB_LOGBLOCK_LINES];
    tb__log_directory d;
    tb_error err;
    if (size < 2) return 0;
    const size_t lines = data[0] | (size_t)data[1] << 8, len = size - 2;
    uint8_t *copy = malloc(len + 8);
    MUST(copy);
    memcpy(copy, data + 2, len);
    tb__put64(copy + len, XXH3_64bits_withSeed(copy, len, lines));
    if (tb__log_directory_open(&d, copy, len + 8, lines, &err) == TB_OK) {
        MUST(d.zones <= TB_LOGBLOCK_LINES);
        tb__log_directory_list(&d, zones);
        look_up(&d, zones);
        if (tb__log_directory_sound(&d)) write_again(&d, zones, copy, len + 8);
    } else if (err.code != TB_E_CORRUPT) {
        abort();
    }
    free(copy);
    return 0;
}
