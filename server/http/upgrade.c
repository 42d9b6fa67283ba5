#include "http/upgrade.h"

#include <stdio.h>

#include "http/clock.h"

#define FIRST_US INT64_C(3000000)  /* what takes less is told once it is done */
#define EACH_US  INT64_C(10000000)

bool upgrade_tell(upgrade_watch *w, int64_t now_us, const int schemas[3], message_level *ret_level, char text[UPGRADE_TEXT_MAX])
{
    const int from = schemas[0], reached = schemas[1], to = schemas[2], before = w->reached;
    if (!before) {
        w->start_us = now_us;
        w->told_us = now_us + FIRST_US - EACH_US;
    }
    const int64_t spent_us = now_us - w->start_us;
    const bool again = now_us - w->told_us >= EACH_US;
    w->reached = reached;
    *ret_level = reached == to || again ? MESSAGE_INFO : MESSAGE_DEBUG;
    if (reached == to)
        snprintf(text, UPGRADE_TEXT_MAX, "%.4000s was upgraded from schema %d to %d in %d.%d s. Older versions of tollbook refuse it now: "
                 "only a backup from before leads back.", w->path, from, to, (int)(spent_us / 1000000), (int)(spent_us / 100000 % 10));
    else if (again) {
        w->told_us = now_us;
        snprintf(text, UPGRADE_TEXT_MAX, "%.4000s is being upgraded from schema %d to %d, for %d s now; the step to %d runs. Cut off, it "
                 "leaves the file as it was.", w->path, from, to, (int)(spent_us / 1000000), reached + 1);
    } else snprintf(text, UPGRADE_TEXT_MAX, "%.4000s: upgrade from schema %d to %d: at %d", w->path, from, to, reached);
    return again || reached != before;
}

static void hear_upgrade(void *ctx, int from, int reached, int to)
{
    char text[UPGRADE_TEXT_MAX];
    message_level level;
    if (upgrade_tell(ctx, clock_mono_us(), (const int[]){from, reached, to}, &level, text)) message_say(level, "%s", text);
}

void upgrade_watch_begin(upgrade_watch *w, const char *path, tb_store_options *options)
{
    *w = (upgrade_watch){.path = path};
    options->upgrading = hear_upgrade;
    options->upgrading_ctx = w;
}
