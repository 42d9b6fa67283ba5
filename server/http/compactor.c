#include "http/compactor.h"

#include "http/clock.h"

#include <stdio.h>

#define PAUSE_US     INT64_C(1000000)
#define PAUSE_MAX_US INT64_C(600000000)

static void pause_after(compactor *c, tb_code code, const tb_error *err)
{
    atomic_fetch_add(&c->failures, 1);
    c->pause_us = c->pause_us ? c->pause_us * 2 : PAUSE_US;
    if (c->pause_us > PAUSE_MAX_US) c->pause_us = PAUSE_MAX_US;
    c->again_us = c->of.now_us + c->pause_us;
    if (code != TB_E_AWAY) fprintf(stderr, "tollbook serve: compaction: %s\n", err->message);
}

bool compactor_step(compactor *c, tb_store *store)
{
    const uint64_t before = c->of.folded;
    tb_error err = {0};
    c->of.now_us = clock_mono_us();
    c->of.grace_us = COMPACTOR_GRACE_US;
    if (c->of.now_us < c->again_us) return false;
    tb_code code = tb_store_compact(store, &c->of, &err);
    atomic_store(&c->waiting, c->of.waiting);
    atomic_store(&c->leaving, c->of.leaving);
    atomic_store(&c->due, c->of.due);
    atomic_store(&c->folded, c->of.folded);
    atomic_store(&c->let_go, c->of.let_go);
    if (code) pause_after(c, code, &err);
    else if (c->of.folded > before) c->pause_us = 0;
    return !code && c->of.working;
}
