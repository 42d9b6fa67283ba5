/* Fuzzes requests of exports and searches: a body. An accepted one has a window and is asked about events; a refused
 * one says what is wrong. */
#include "tollbook/eventsum.h"

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

/* The same body as a search, over a block of three events. */
static void search(const char *body, size_t len)
{
    static const char *const texts[] = {"", "10.0.0.1", "https://Example.com/a?b=\"*c"};
    tb_event_search *found;
    tb_error err = {0};
    tb_buf block, out;
    bool end;
    const tb_code code = tb_event_search_new(body, len, NOW_MS, &found, &err);
    if (code) {
        MUST(code == TB_E_VALIDATION && err.message[0]);
        return;
    }
    tb_buf_init(&block, 1 << 16, NULL);
    tb_buf_init(&out, 1 << 20, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tb_event event = {.zone = 1, .time_ms = tb_event_query_to(tb_event_search_query(found)) - 1};
        for (int f = 1; f < TB_EVENT_FIELD_COUNT; f++)
            event.field[f] = (tb_text){texts[i], strlen(texts[i])};
        event.field[TB_EVENT_ID] = (tb_text){"ids" + i, 1};
        tb_event_pack(&event, &block);
    }
    for (int pass = 0; pass < tb_event_search_passes(found); pass++) {
        MUST(tb_event_search_begin(found, pass, &err) == TB_OK);
        MUST(tb_event_search_add(found, block.data, block.len, &end, &err) == TB_OK);
    }
    tb_event_search_json(found, &out);
    MUST(!out.failed && out.data[0] == '{' && out.data[out.len - 1] == '}');
    tb_event_search_free(found);
    tb_buf_release(&block);
    tb_buf_release(&out);
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
    search(exact, size);
    free(exact);
    return 0;
}
