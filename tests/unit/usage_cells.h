/* Every counter of a store, whatever holds them: what SELECT * FROM buckets says of a file, for tests on two backends. */
#ifndef TOLLBOOK_TESTS_USAGE_CELLS_H
#define TOLLBOOK_TESTS_USAGE_CELLS_H

#include "store/core/internal.h"
#include "store_fixture.h"

typedef struct usage_cell {
    int64_t owner, hour;
    int scope;
    char region[TB_EDGE_MAX + 1];
    uint64_t value[TB_METRIC_COUNT];
} usage_cell;

typedef struct usage_cell_list {
    usage_cell *list, at; /* at: whose */
    size_t n, cap;
} usage_cell_list;

static inline tb_code usage_cells_of_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    usage_cell_list *all = ctx;
    (void)err;
    for (int h = 0; h < 24; h++) {
        bool any = false;
        if (all->n == all->cap)
            ck_assert_ptr_nonnull(all->list = realloc(all->list, (all->cap = all->cap * 2 + 64) * sizeof *all->list));
        usage_cell *to = &all->list[all->n];
        *to = all->at;
        to->hour = day * 24 + h;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            to->value[m] = hours->metrics & TB_METRIC_BIT(m) ? hours->v[m][h] : 0;
            any |= to->value[m] != 0;
        }
        all->n += any;
    }
    return TB_OK;
}

static inline int usage_cells_order(const void *a, const void *b)
{
    const usage_cell *x = a, *y = b;
    if (x->scope != y->scope) return x->scope - y->scope;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    const int region = strcmp(x->region, y->region);
    return region ? region : x->hour < y->hour ? -1 : x->hour > y->hour;
}

/* A line for each hour of a pull zone's location and of a load balancer in which something is not 0, in their order. */
static inline void usage_cells(tb_store *store, tb_buf *out)
{
    static const char series[] = "SELECT s.scope,s.owner,coalesce(e.code,''),s.id FROM series s LEFT JOIN edge e ON e.id=s.edge"
                                 " WHERE s.scope=1 AND s.edge>0 OR s.scope=3 AND s.edge=0";
    usage_cell_list all = {.list = NULL};
    sqlite3_stmt *s;
    tb_error err = {0};
    ck_assert_int_eq(sqlite3_prepare_v2(store->db, series, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        all.at = (usage_cell){.scope = sqlite3_column_int(s, 0), .owner = sqlite3_column_int64(s, 1)};
        snprintf(all.at.region, sizeof all.at.region, "%s", (const char *)sqlite3_column_text(s, 2));
        ok(store->plane.counters->each_day(store, sqlite3_column_int64(s, 3), usage_cells_of_day, &all, &err));
    }
    sqlite3_finalize(s);
    if (all.n) qsort(all.list, all.n, sizeof *all.list, usage_cells_order);
    for (size_t i = 0; i < all.n; i++) {
        const usage_cell *c = &all.list[i];
        tb_buf_fmt(out, "%d,%lld,%s,%lld", c->scope, (long long)c->owner, c->region, (long long)c->hour);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            tb_buf_fmt(out, ",%llu", (unsigned long long)c->value[m]);
        tb_buf_fmt(out, "\n");
    }
    free(all.list);
}

#endif
