/* Fuzzes CloudEvents: a body of POST /events. An event that is read is written as a usage line, which reads back as the same
 * usage; a refused one has a sentence; a body that is none has a place and a sentence. */
#include "tollbook/calendar.h"
#include "tollbook/cloudevents.h"
#include "tollbook/intake.h"
#include "tollbook/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

#define NOW_US INT64_C(1795176000000000)

static void check_line(const tb_meter_line *line, tb_meter_kind kind)
{
    tb_meter_line back;
    tb_reject reject;
    tb_error err = {0};
    tb_buf text;
    const int64_t step = kind == TB_METER_COUNTER ? TB_US_PER_HOUR : TB_US_PER_S;
    tb_buf_init(&text, 1 << 20, NULL);
    tb_cloud_event_line(line, kind, &text);
    MUST(!text.failed && text.data[text.len - 1] == '\n' && tb_meter_line_is(text.data, text.len - 1));
    MUST(tb_meter_line_parse(text.data, text.len - 1, NOW_US / 1000, &back, &reject, &err));
    MUST(strcmp(back.meter, line->meter) == 0 && strcmp(back.resource, line->resource) == 0);
    MUST(back.account == line->account && back.value == line->value && back.n_dimensions == line->n_dimensions);
    for (int i = 0; i < line->n_dimensions; i++)
        MUST(strcmp(back.name[i], line->name[i]) == 0 && strcmp(back.value_of[i], line->value_of[i]) == 0);
    MUST(back.hourly == (kind == TB_METER_COUNTER) && back.time_us == line->time_us / step * step);
    tb_buf_release(&text);
}

static tb_code check_event(void *ctx, size_t index, const tb_cloud_event *event, const char *refused, tb_error *err)
{
    size_t *n = ctx;
    (void)err;
    MUST(index == (*n)++);
    if (refused) {
        MUST(refused[0]);
        return TB_OK;
    }
    MUST(event->id.len && event->source.len && event->line.value <= (uint64_t)TB_METER_VALUE_LARGEST);
    for (int kind = 0; kind < TB_METER_KIND_COUNT; kind++)
        check_line(&event->line, (tb_meter_kind)kind);
    return TB_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = 0;
    char *exact = malloc(size ? size : 1);
    MUST(exact);
    if (size) memcpy(exact, data, size);
    for (int form = TB_CLOUD_ANY; form <= TB_CLOUD_BATCH && tb_json_fits(exact, size); form++) {
        tb_error err = {0};
        n = 0;
        tb_code code = tb_cloud_events_read((tb_text){exact, size}, (tb_cloud_form)form, NOW_US, check_event, &n, &err);
        MUST(code == TB_OK || (code == TB_E_BAD_INPUT && n == 0 && err.byte >= 1 && err.message[0]));
    }
    free(exact);
    return 0;
}
