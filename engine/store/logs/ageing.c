/* Deletes all kinds of expired data. */
#include "store/logs/segment.h"
#include "tollbook/event.h"
#include "tollbook/logstore.h"

/* Deletion needs all usage servers: an unreachable one must not stop intake. */
static tb_code ignore_away(tb_code code)
{
    return code == TB_E_AWAY ? TB_OK : code;
}

tb_code tb_store_drop_aged(tb_store *store, int64_t now_us, tb_ageing *room, tb_error *err)
{
    const int64_t now_ms = now_us / 1000;
    int64_t before_ms;
    if (__builtin_sub_overflow(now_ms, TB_LOG_KEPT_MS, &before_ms)) before_ms = INT64_MIN;
    tb_code code = ignore_away(tb_store_drop_some_logs(store, before_ms, &room->log_blocks, NULL, err));
    if (!code)
        code = ignore_away(store->plane.events->drop(store, tb_event_first_day(now_ms), &room->event_blocks, NULL, err));
    if (!code) code = tb_store_forget_some_rejects(store, now_us, &room->texts, err);
    return code ? code : tb__segments_fold(store, now_us, &room->segments, err);
}
