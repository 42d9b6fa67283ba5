/* Fuzzes export requests: a body. An accepted one has a window and is asked about an event; a refused
 * one says what is wrong. */
#include "tollbook/event.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

#define NOW_MS INT64_C(1795176000000)

static void ask(tb_event_query *query)
{
    static const char *const texts[] = {"", "10.0.0.1", "2001:db8::1", "https://Example.com/a?b=*c"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tb_event event = {.zone = 1, .time_ms = NOW_MS};
        tb_event_record record;
        tb_buf packed;
        size_t at = 0;
        bool ok = false;
        for (int f = 1; f < TB_EVENT_FIELD_COUNT; f++)
            event.field[f] = (tb_text){texts[i], strlen(texts[i])};
        event.field[TB_EVENT_ID] = (tb_text){"id", 2};
        tb_buf_init(&packed, 1 << 16, NULL);
        tb_event_pack(&event, &packed);
        MUST(tb_event_next(packed.data, packed.len, &at, &record));
        (void)tb_event_query_match(query, &record, &ok);
        MUST(ok);
        tb_buf_release(&packed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tb_event_query *query;
    tb_error err = {0};
    char *exact = malloc(size ? size : 1);
    MUST(exact);
    if (size) memcpy(exact, data, size);
    tb_code code = tb_event_query_parse(exact, size, NOW_MS, &query, &err);
    if (code == TB_OK) {
        MUST(tb_event_query_from(query) < tb_event_query_to(query));
        MUST(tb_event_query_to(query) <= NOW_MS + TB_EVENT_AHEAD_MS);
        ask(query);
        tb_event_query_free(query);
    } else {
        MUST(code == TB_E_VALIDATION && err.message[0]);
    }
    free(exact);
    return 0;
}
