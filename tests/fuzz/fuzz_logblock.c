/* A block of request logs as the store hands it over. The checksum keeps damage out, so it is made
 * good first: what is tried is every check behind it. Whatever the bytes, opening, selecting, summing and
 * reading every row end in an answer or TB_E_CORRUPT. */
#include "base/hash.h"
#include "tollbook/requestlog.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(tb_logblock *block, size_t row)
{
    tb_logrow one;
    tb_error err;
    tb_buf out;
    if (tb_logblock_row(block, row, &one, &err) != TB_OK) {
        if (err.code != TB_E_CORRUPT) abort();
        return;
    }
    tb_buf_init(&out, 64 << 20, NULL);
    tb_logrow_json(&one, 7, true, &out);
    tb_logrow_hide(&one, TB_LOG_IP_SHORT);
    tb_logrow_pipe(&one, 7, true, &out);
    tb_buf_release(&out);
}

static void read_all(tb_logblock *block)
{
    static const tb_text word = {"a/b", 3};
    static uint16_t rows[TB_LOGBLOCK_LINES];
    tb_log_filter filter = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    tb_error err;
    size_t n;
    if (tb_logblock_select(block, &filter, rows, &n, &err) == TB_OK)
        for (size_t i = 0; i < n; i += 1 + n / 64)
            show(block, rows[i]);
    filter.url = filter.agent = word;
    filter.tokens = (tb_log_list){1, {word}};
    filter.by_ip = filter.by_id = filter.extended = true;
    filter.ip_bits = 64;
    if (tb_logblock_select(block, &filter, rows, &n, &err) != TB_OK && err.code != TB_E_CORRUPT)
        abort();
}

static void sum_all(tb_logblock *block)
{
    static uint16_t rows[TB_LOGBLOCK_LINES];
    const tb_log_filter filter = {.from_ms = 0, .to_ms = INT64_C(1) << 45};
    const tb_logsum_ask ask = {filter.from_ms, filter.to_ms, (1u << TB_LOG_VALUE_COUNT) - 1, TB_LOG_TOP_MAX};
    tb_error err;
    tb_buf out;
    size_t n;
    tb_logsum *sum = tb_logsum_new(&ask);
    if (!sum) return;
    tb_buf_init(&out, 64 << 20, NULL);
    if (tb_logblock_select(block, &filter, rows, &n, &err) == TB_OK && tb_logsum_add(sum, block, rows, n, &err) == TB_OK)
        tb_logsum_json(sum, &out);
    else if (err.code != TB_E_CORRUPT) abort();
    tb_buf_release(&out);
    tb_logsum_free(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tb_error err;
    tb_logblock *block = tb_logblock_new();
    uint8_t *copy = malloc(size + 8);
    memcpy(copy, data, size);
    const uint64_t sum = XXH3_64bits_withSeed(copy, size, 7);
    for (int i = 0; i < 8; i++)
        copy[size + i] = (uint8_t)(sum >> 8 * i);
    if (tb_logblock_open(block, copy, size + 8, 7, &err) == TB_OK) {
        read_all(block);
        sum_all(block);
    } else if (err.code != TB_E_CORRUPT) {
        abort();
    }
    free(copy);
    tb_logblock_free(block);
    return 0;
}
