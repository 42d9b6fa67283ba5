/* What the server does on the writer's thread: after a commit, and while nothing else is to be written. */
#include "http/server_parts.h"

#include <malloc.h>

#include "http/acknowledge.h"
#include "http/clock.h"
#include "http/message.h"
#include "http/replicas.h"
#include "tollbook/logstore.h"

/* --- is the database still there --- */

void server_lost(server *s, const tb_error *err)
{
    if (atomic_exchange(&s->gone, true)) return;
    message_say(MESSAGE_ERROR, "%s: %s", tb_code_key(err->code), err->message);
}

static void note_links(server *s, unsigned links)
{
    if (links < 2 || atomic_exchange(&s->linked, true)) return;
    message_say(MESSAGE_WARNING, "%s has %u names (hard links) now. A hard link is no backup, and the next "
                "start is refused until the others are removed: `backup` makes a copy.", s->options.db, links);
}

bool server_check_database(server *s)
{
    tb_error err;
    unsigned links = 0;
    if (tb_store_still_there(s->store, &links, &err) != TB_OK) {
        server_lost(s, &err);
        return false;
    }
    if (atomic_load_explicit(&s->gone, memory_order_relaxed) && atomic_exchange(&s->gone, false))
        message_say(MESSAGE_WARNING, "%s is back where it was; it is written again.",
                s->options.db);
    note_links(s, links);
    return true;
}

/* --- hooks of the writer --- */

/* On the writer's thread, before any client is told of the commit: a client that has its answer and asks again must not
 * get a cached answer from before. */
static bool on_committed(void *ctx, tb_store *store, bool changed_keys)
{
    server *s = ctx;
    uint64_t version;
    /* If the version cannot be read, one is taken that no cached answer has yet: answers are computed and cached under
     * the version that they really have. */
    if (tb_store_version(store, &version, NULL) != TB_OK) version = atomic_load(&s->version) + 1;
    if (atomic_exchange_explicit(&s->version, version, memory_order_release) != version)
        atomic_store_explicit(&s->committed_us, clock_mono_us(), memory_order_relaxed);
    note_links(s, tb_store_links(store));
    if (s->replicated) {
        acknowledge_take_list(s->acknowledge, store);
        waiting_commit(s->waiting);
    }
    (void)!server_publish_directory(s, store, NULL); /* tried again at the next commit */
    return !changed_keys || server_publish_keys(s, store, NULL) == TB_OK;
}

#define IDLE_BLOCKS 512 /* blocks of logs, and of events, deleted in one commit of an idle server */
#define IDLE_TEXTS  16384
#define IDLE_SEGMENTS 512

/* Retention at a time. */
typedef struct retention {
    int64_t now_us;
    bool more; /* expired data is left */
} retention;

/* Deletes expired data and moves a part of the new series to its place, in small steps: a request that comes now waits
 * for one. */
static tb_code expire_data(tb_store *store, void *ctx, tb_error *err)
{
    retention *a = ctx;
    tb_ageing room = {IDLE_BLOCKS, IDLE_BLOCKS, IDLE_TEXTS, IDLE_SEGMENTS};
    tb_code code = tb_store_drop_aged(store, a->now_us, &room, err);
    a->more = !room.log_blocks || !room.event_blocks || !room.texts || !room.segments;
    bool waits = false;
    if (!code) code = tb_store_place_series(store, &waits, err);
    a->more |= waits;
    return code;
}

/* Deletes request logs, shield events and the text of refused lines that have expired, also if nothing new comes in. A
 * failure is tried again the next time. */
static bool on_idle(void *ctx, tb_store *store)
{
    server *s = ctx;
    retention old = {.now_us = clock_now_us(s->options.fixed_now_us)};
    tb_error err;
    malloc_trim(0);
    if (!server_check_database(s)) {
        tb_store_checkpoint(store, true);
        return false;
    }
    if (s->options.idle || replicas_role(s) != ROLE_PRIMARY) {
        tb_store_checkpoint(store, false);
        return false;
    }
    tb_code code = tb_store_write(store, expire_data, &old, &err);
    if (code == TB_OK) on_committed(s, store, false);
    tb_store_checkpoint(store, false);
    if (code == TB_OK && old.more) return true;
    if (code == TB_E_GONE)
        server_lost(s, &err);
    else
        tb_store_scrub(store);
    return false;
}

#define USAGE_LOOK_US  INT64_C(500000)
#define USAGE_SOLE_US INT64_C(5000000)

static void on_lost(void *ctx, const tb_error *err)
{
    server_lost(ctx, err);
}

/* writer_hooks.ready. Servers that were away at the start are checked once they are back, before they are used. */
static bool usage_ready(void *ctx, tb_error *err)
{
    server *s = ctx;
    if (!usage_servers_up(s->options.usage, err)) return false;
    if (s->usage.checked) return true;
    if (clock_mono_us() < s->usage.next_us) {
        (void)!tb_fail(err, TB_E_AWAY, "usage", NULL);
        return false;
    }
    const tb_code code = tb_store_usage_look(s->store, err);
    s->usage.checked = !code;
    s->usage.next_us = clock_mono_us() + USAGE_LOOK_US;
    if (code && code != TB_E_AWAY && code != s->usage.reported) message_say(MESSAGE_ERROR, "%s", err->message);
    s->usage.reported = code;
    if (code) err->code = TB_E_AWAY; /* clients try again until it is mended */
    return !code;
}

static bool on_maintain(void *ctx, tb_store *store)
{
    server *s = ctx;
    tb_error err;
    if (!usage_ready(s, &err)) return false;
    /* Now and then it is checked whether another process writes there; if so the store refuses everything. */
    if (clock_mono_us() >= s->usage.sole_us) {
        const tb_code code = tb_store_usage_look(s->store, &err);
        s->usage.sole_us = clock_mono_us() + USAGE_SOLE_US;
        if (code == TB_E_USAGE) message_say(MESSAGE_ERROR, "%s", err.message);
        if (code) return false;
    }
    if (s->options.idle || replicas_role(s) != ROLE_PRIMARY || mover_works(s->mover)) return false;
    const uint64_t folded = s->compactor.of.folded;
    s->compactor.of.rows_min = s->options.compact_rows;
    const bool more = compactor_step(&s->compactor, store);
    if (s->compactor.of.folded > folded) on_committed(s, store, false);
    return more;
}

writer *server_start_writer(server *s)
{
    const bool more_idle = on_idle(s, s->store); /* before the first request, as it may wait for usage servers */
    return writer_start(s->store, (writer_hooks){.committed = on_committed,
                                                 .ctx = s,
                                                 .idle = on_idle,
                                                 .more_idle = more_idle,
                                                 .maintain = s->options.usage ? on_maintain : NULL,
                                                 .lost = on_lost,
                                                 .gather_us = s->options.usage ? s->options.gather_us : 0,
                                                 .ready = s->options.usage ? usage_ready : NULL});
}
