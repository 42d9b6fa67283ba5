/* Fuzzes rows of buckets: one line. An accepted row holds to its limits, adds to a rollup, and, as
 * any well-formed JSON object, is still accepted with a space behind it; a refused one has a place,
 * a reason and a sentence. */
#include "tollbook/rollup.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

#define NOW_MS INT64_C(1794960000000)

static void check_accepted(const tb_row *row)
{
    MUST(row->id >= 1);
    MUST(row->metrics != 0 && (row->metrics & ~TB_METRIC_ALL) == 0);
    MUST(!(row->metrics & TB_METRIC_BIT(TB_M_BALANCER_REQUESTS)));
    MUST(row->balancer ? row->edge_len == 0 : row->edge_len >= 1 && row->edge_len <= TB_EDGE_MAX);
    MUST(!row->balancer || row->metrics == TB_METRIC_BIT(TB_M_REQUESTS));
    MUST(row->hour >= TB_OLDEST_MS / 3600000 && row->hour <= (NOW_MS + TB_AHEAD_MS) / 3600000);
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++)
        MUST(row->value[i] <= TB_ROW_COUNTER_MAX);
    tb_rollup *rollup = tb_rollup_new(10, NULL);
    MUST(rollup && tb_rollup_add_row(rollup, row, NULL) == TB_OK);
    MUST(tb_rollup_groups(rollup) == 1);
    tb_rollup_free(rollup);
}

static void check_refused(const tb_reject *reject, const tb_error *err, size_t size)
{
    MUST(reject->line == 1);
    MUST(reject->byte >= 1 && reject->byte <= size + 1);
    MUST((unsigned)reject->reason < TB_REJECT_MAX_);
    MUST(err->code == TB_E_BAD_LINE && err->message[0]);
    MUST(memchr(err->message, 0, sizeof err->message) && memchr(err->field, 0, sizeof err->field));
}

/* A usage line of a meter: what is read can be checked against any declaration. */
static void read_meter_line(const char *exact, size_t size)
{
    static const tb_meter meters[] = {
        {.number = 1, .kind = TB_METER_COUNTER, .noun = "script", .n_dimensions = 1, .dimension = {"region"}},
        {.number = 2, .kind = TB_METER_GAUGE, .noun = "disk", .n_dimensions = 2, .dimension = {"region", "tier"}},
        {.number = 3, .kind = TB_METER_SAMPLE, .interval = 300, .noun = "port"}};
    tb_meter_line read;
    tb_reject reject;
    tb_error err;
    if (!tb_meter_line_parse(exact, size, NOW_MS, &read, &reject, &err)) {
        check_refused(&reject, &err, size);
        return;
    }
    MUST(read.meter[0] && read.resource[0] && read.value <= (uint64_t)TB_METER_VALUE_LARGEST && read.account >= 0);
    for (size_t i = 0; i < sizeof meters / sizeof *meters; i++) {
        tb_meter_key key;
        int64_t at_us = 0;
        if (tb_meter_line_check(&meters[i], &read, &key, &at_us, &err)) {
            MUST(err.byte >= 1 && err.byte <= size && err.message[0]);
            continue;
        }
        MUST(key.meter == meters[i].number && at_us <= read.time_us && read.time_us - at_us < 300 * INT64_C(1000000));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    MUST(line);
    if (size) memcpy(line, data, size);
    char *exact = malloc(size ? size : 1);
    MUST(exact);
    if (size) memcpy(exact, data, size);
    line[size] = ' ';
    tb_row row, again;
    tb_reject reject, other;
    tb_error err;
    const bool accepted = tb_row_parse(exact, size, NOW_MS, &row, &reject, &err);
    if (accepted) {
        check_accepted(&row);
        const bool cr = line[size - 1] == '\r';
        MUST(cr || tb_row_parse(line, size + 1, NOW_MS, &again, &other, NULL));
        MUST(cr || memcmp(&row, &again, sizeof row) == 0);
    } else {
        check_refused(&reject, &err, size);
    }
    read_meter_line(exact, size);
    free(line);
    free(exact);
    return 0;
}
