/* Verifying the sorted runs of counters and countries (store/lsm/lsm.h): each page and entry can be read, each run
 * has as many entries as its row says, they belong to series or pull zones that exist, and no page is left over.
 * Their contents are compared with those of the chunks in usage.c and countries.c. */
#include "store/usage/batch.h"
#include "store/verify/verify.h"

#include <stdlib.h>

static bool entry_is_sound(tb__lsm_kind kind, const tb__lsm_entry *e)
{
    tb_grid grid;
    tb__country list[TB__COUNTRY_MAX];
    size_t n;
    return kind == TB__LSM_COUNTERS ? tb__entry_get_grid(e->data, e->len, &grid)
                                  : tb__entry_get_list(e->data, e->len, list, &n);
}

/* The fault of an entry after the one before; NULL: none. */
static const char *wrong_with(tb__lsm_kind kind, const tb__lsm_run *run, const tb__lsm_cursor *c,
                              tb__lsm_key before, int64_t number)
{
    if (!entry_is_sound(kind, &c->entry)) return "a damaged entry";
    if (number && tb__lsm_compare(c->entry.key, before) <= 0) return "entries out of order";
    if (c->page && tb__lsm_compare(run->first[c->page - 1], c->entry.key) > 0)
        return "a page that begins elsewhere than it says";
    return NULL;
}

/* All of it, entries that are not pending too. */
static tb_code check_run(tb__verify *v, tb__lsm_kind kind, const tb__lsm_run *run, tb_error *err)
{
    tb__lsm_run whole = *run;
    tb__lsm_cursor c = {0};
    tb__lsm_key before = {0, 0};
    int64_t entries = 0;
    const char *wrong = NULL;
    whole.from = INT64_MIN;
    tb_code code = tb__lsm_cursor_begin(&c, &v->store->usage->lsm, &whole, INT64_MIN, err);
    for (; !code && !c.over; entries++) {
        if (!wrong) wrong = wrong_with(kind, run, &c, before, entries);
        before = c.entry.key;
        code = tb__lsm_cursor_next(&c, err);
    }
    tb__lsm_cursor_release(&c);
    if (code) return code;
    if (wrong) tb__differs(v, "Run %lld of pending usage has %s.", (long long)run->id, wrong);
    if (entries != run->entries)
        tb__differs(v, "Run %lld of pending usage has %lld entries; it should have %lld.",
                    (long long)run->id, (long long)entries, (long long)run->entries);
    return TB_OK;
}

/* Both the owners and the list that they must be in ascend. */
static tb_code check_owners(tb__verify *v, tb__lsm_kind kind, tb_error *err)
{
    static const struct {
        tb__verify_statement among;
        const char *what, *is;
    } of[TB__LSM_KINDS] = {
        {TB__V_SERIES_IDS, "Usage waits under series", "does not exist"},
        {TB__V_ZONE_IDS, "Countries wait of pull zone", "has no usage"},
    };
    tb__lsm *lsm = &v->store->usage->lsm;
    tb__lsm_merged *u = calloc(1, sizeof *u);
    tb__lsm_entry e;
    sqlite3_stmt *ids;
    int64_t id = INT64_MIN, said = 0;
    bool more = true, row = true;
    if (!u) return tb_no_memory(err);
    tb_code code = tb__verify_sql(v, of[kind].among, NULL, 0, &ids, err);
    if (!code)
        code = tb__lsm_merged_begin(u, lsm, kind, lsm->of[kind].run, lsm->of[kind].n, INT64_MIN,
                                   err);
    while (!code && !(code = tb__lsm_merged_next(u, &e, &more, err)) && more) {
        while (!code && row && id < e.key.owner)
            if (!(code = tb__step(v->store, ids, &row, err)) && row)
                id = sqlite3_column_int64(ids, 0);
        if (!code && id != e.key.owner && said != e.key.owner)
            tb__differs(v, "%s %lld, which %s.", of[kind].what, (long long)(said = e.key.owner),
                        of[kind].is);
    }
    tb__lsm_merged_release(u);
    free(u);
    return code;
}

tb_code tb__verify_runs(tb__verify *v, tb_error *err)
{
    tb__lsm *lsm = &v->store->usage->lsm;
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        code = tb__lsm_load(lsm, (tb__lsm_kind)kind, err);
        for (size_t i = 0; !code && i < lsm->of[kind].n; i++)
            code = check_run(v, (tb__lsm_kind)kind, &lsm->of[kind].run[i], err);
        if (!code) code = check_owners(v, (tb__lsm_kind)kind, err);
    }
    if (code == TB_E_CORRUPT) v->damaged = v->countries_damaged = true;
    return code ? code
                : tb__verify_reference(v,
                                       "SELECT format('A page of pending usage, %d, belongs to no"
                                       " run.',p.id) FROM usage_page p WHERE NOT EXISTS(SELECT 1"
                                       " FROM usage_run r WHERE r.id=p.id>>10"
                                       " AND length(r.directory)/16>(p.id&1023))",
                                       err);
}
