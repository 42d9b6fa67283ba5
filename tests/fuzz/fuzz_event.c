/* Fuzzes shield events: one line of an import. An accepted one packs, reads back as it was, merges
 * with itself into one block, and shows as JSON and CSV; a refused one has a place, a reason and a
 * sentence. The same bytes as a block must not do harm. */
#include "tollbook/event.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

#define NOW_MS INT64_C(1795176000000)

static void check_shown(const tb_event_record *record)
{
    tb_buf out;
    tb_buf_init(&out, 64 << 20, NULL);
    tb_event_json(record, &out);
    MUST(!out.failed && out.data[0] == '{' && out.data[out.len - 1] == '}');
    out.len = 0;
    tb_event_csv(record, &(tb_event_minute){0}, &out);
    MUST(!out.failed && memcmp(out.data + out.len - 2, "\r\n", 2) == 0);
    tb_buf_release(&out);
}

static void check_merged(const tb_buf *packed, const tb_event *e)
{
    tb_event_ref refs[2];
    tb_event_blocks blocks;
    MUST(tb_event_ref_set(&refs[0], e->zone, 0, packed->data, packed->len));
    MUST(tb_event_ref_set(&refs[1], e->zone, 1, packed->data, packed->len));
    tb_event_blocks_init(&blocks);
    MUST(tb_event_merge(NULL, 0, refs, 2, &blocks, NULL) == TB_OK);
    MUST(blocks.added == (e->made ? 2 : 1));
    tb_event_blocks_release(&blocks);
}

static void check_accepted(const tb_event *e)
{
    tb_buf packed;
    tb_event_record record;
    tb_event back;
    size_t at = 0;
    MUST(e->zone >= 1 && e->zone <= TB_SHIELD_ZONE_MAX);
    MUST(e->time_ms >= TB_OLDEST_MS && e->time_ms <= NOW_MS + TB_AHEAD_MS);
    tb_buf_init(&packed, 16 << 20, NULL);
    tb_event_pack(e, &packed);
    MUST(tb_event_next(packed.data, packed.len, &at, &record) && at == packed.len);
    tb_event_unpack(&record, &back);
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++)
        MUST(back.field[f].len == e->field[f].len &&
             (back.field[f].len == 0 ||
              memcmp(back.field[f].data, e->field[f].data, back.field[f].len) == 0));
    check_shown(&record);
    check_merged(&packed, e);
    tb_buf_release(&packed);
}

/* The bytes as a block of the store, which its seal keeps from being anything but one. */
static void check_block(const uint8_t *data, size_t size)
{
    tb_event_record record;
    tb_event_key key;
    for (size_t at = 0; at < size && tb_event_next(data, size, &at, &record);) {
        tb_event_record_key(&record, &key);
        check_shown(&record);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tb_event event;
    tb_reject reject;
    tb_error err = {0};
    tb_event_reader *reader = tb_event_reader_new();
    char *exact = malloc(size ? size : 1);
    MUST(reader && exact);
    if (size) memcpy(exact, data, size);
    if (tb_event_parse(reader, exact, size, NOW_MS, &event, &reject, &err)) {
        check_accepted(&event);
    } else {
        MUST(reject.line == 1 && reject.byte >= 1 && reject.byte <= size + 1);
        MUST(err.code == TB_E_BAD_LINE && err.message[0]);
    }
    check_block((const uint8_t *)exact, size);
    free(exact);
    tb_event_reader_free(reader);
    return 0;
}
