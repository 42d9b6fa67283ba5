/* A body of cells (tollbook/batches.h), which feed_parse reads instead of lines. */
#ifndef TOLLBOOK_SERVER_FEED_CELLS_H
#define TOLLBOOK_SERVER_FEED_CELLS_H

#include "feed/run.h"

/* Adds the cells of the run's source to its first worker, and parses the lines beside them: run->ended says
 * how it went, as after feed_run_workers. */
TB_MUST_USE tb_code feed_cells_parse(feed_run *run, tb_error *err);

#endif
