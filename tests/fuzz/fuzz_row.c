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
    free(line);
    free(exact);
    return 0;
}
