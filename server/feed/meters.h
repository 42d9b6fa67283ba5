/* Usage lines of meters: each worker adds its own up.
 *
 * A line may leave its resource's account out where an earlier line named it. So what a line means depends on those before it,
 * and must not depend on the number of threads. Of resources that the store knows no line has to wait. A line of another one
 * waits until all lines before it are read (feed_run_turn), and then looks into the run's table of new resources. */
#ifndef TOLLBOOK_SERVER_FEED_METERS_H
#define TOLLBOOK_SERVER_FEED_METERS_H

#include "tollbook/meterstore.h"

typedef struct feed_run feed_run;
struct feed_worker;

/* Of a worker. */
typedef struct feed_meters {
    tb_meter_batch *batch;      /* NULL: no such line was read yet */
    tb_meter_resources *known;  /* with their accounts: in the store, or in earlier lines */
} feed_meters;

/* Of a run. */
typedef struct feed_metered {
    const tb_directory *directory; /* with the declared meters, retained; NULL: no such line was read yet */
    tb_meter_resources *fresh;     /* resources of this input that the store did not know; NULL: likewise */
    tb_meter_resources *accounts;  /* under their numbers as names: how many resources each has, -1: it is not declared */
} feed_metered;

void feed_meters_release(feed_meters *meters);
void feed_meters_clear(feed_meters *meters);
/* Forgets known resources alone. */
void feed_meters_forget(feed_meters *meters);
bool feed_meters_full(const feed_meters *meters);
size_t feed_meters_bytes(const feed_meters *meters);
/* One line: added, or refused (*ret_good false). order ascends over the input. */
TB_MUST_USE tb_code feed_meters_take(struct feed_worker *worker, const char *line, size_t len, int64_t now_ms, bool *ret_good,
                                     tb_reject *ret_reject, tb_error *ret_why, tb_error *err);

/* Adds the bytes of log lines of zones whose account keeps samples. */
TB_MUST_USE tb_code feed_meters_sample(struct feed_worker *worker, const tb_hit *hits, size_t n, tb_error *err);

void feed_metered_release(feed_metered *metered);
/* Before another part of an input, which the store knows nothing of yet. */
void feed_metered_clear(feed_metered *metered);
/* Whether declarations and resources are unchanged since the input was parsed. */
TB_MUST_USE tb_code feed_metered_unchanged(const feed_run *run, bool *ret_so, tb_error *err);
/* The parts of all workers. */
size_t feed_metered_parts(const feed_run *run, tb_meter_usage *parts);

#endif
