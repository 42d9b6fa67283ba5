#include "http/compactor.h"

#include "http/clock.h"
#include "http/message.h"

#include <stdio.h>

#define PAUSE_US     INT64_C(1000000)
#define PAUSE_MAX_US INT64_C(600000000)
#define HOLD_US      INT64_C(500000) /* the time that a step should take at most */

uint64_t compactor_rows(uint64_t rows, int64_t took_us, uint64_t most)
{
    if (!rows) return most;
    const uint64_t fits = took_us > HOLD_US ? rows * (uint64_t)HOLD_US / (uint64_t)took_us : most;
    if (fits < most) most = fits;
    else if (took_us < HOLD_US / 2 && rows >= most / 2) most += most / 4;
    if (most > TB_COMPACTION_ROWS_MOST) return TB_COMPACTION_ROWS_MOST;
    return most < TB_COMPACTION_ROWS_LEAST ? TB_COMPACTION_ROWS_LEAST : most;
}

bool compactor_step(compactor *c, tb_store *store)
{
    const uint64_t before = c->of.folded;
    tb_error err = {0};
    c->of.now_us = clock_mono_us();
    c->of.grace_us = COMPACTOR_GRACE_US;
    if (!c->of.rows_most) c->of.rows_most = COMPACTOR_ROWS_FIRST;
    if (c->of.now_us < c->again_us) return false;
    tb_code code = tb_store_compact(store, &c->of, &err);
    const int64_t took_us = clock_mono_us() - c->of.now_us;
    if (took_us > (int64_t)atomic_load(&c->longest_us)) atomic_store(&c->longest_us, (uint64_t)took_us);
    c->of.rows_most = compactor_rows(c->of.rows, took_us, c->of.rows_most);
    atomic_store(&c->waiting, c->of.waiting);
    atomic_store(&c->leaving, c->of.leaving);
    atomic_store(&c->due, c->of.due);
    atomic_store(&c->folded, c->of.folded);
    atomic_store(&c->expired, c->of.expired);
    if (!code && c->of.folded > before) c->pause_us = 0;
    if (code) {
        atomic_fetch_add(&c->failures, 1);
        c->pause_us = c->pause_us ? c->pause_us * 2 : PAUSE_US;
        if (c->pause_us > PAUSE_MAX_US) c->pause_us = PAUSE_MAX_US;
        c->again_us = c->of.now_us + c->pause_us;
        if (code != TB_E_AWAY) message_say(MESSAGE_ERROR, "compaction: %s", err.message);
    }
    return !code && c->of.working;
}
