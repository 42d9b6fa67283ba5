/* Small batches leave runs, and runs are merged, a little with each batch (docs/architecture.md, "Runs"). Where another
 * thread has time, it works out what they come to, out of a snapshot of its own, and the writer only writes that with
 * one of its next batches. Nothing else changes: what is not written, or comes too late, is merged again. */
#ifndef TOLLBOOK_MERGING_H
#define TOLLBOOK_MERGING_H

#include "tollbook/store.h"

TB_API_BEGIN

/* What was merged and waits for the writer. */
typedef struct tb_merges tb_merges;

tb_merges *tb_merges_new(void); /* NULL: no memory */
/* After the stores that it was lent to are closed, or lent none. NULL is fine. */
void tb_merges_free(tb_merges *merges);
/* From here on the writer writes what waits there with its batches, and leaves merging to whoever fills it, unless
 * far more runs wait than one that keeps up would leave. NULL: it merges by itself. Usage lies in the file. */
void tb_store_lend_merges(tb_store *store, tb_merges *merges);
/* Merges what can be merged now, 64 MiB of it at most; nothing where something waits already. One thread at
 * a time, with a reader of its own, outside of a snapshot. An error is no harm done: the writer meets it, too. */
TB_MUST_USE tb_code tb_merges_prepare(tb_merges *merges, tb_store *reader, tb_error *err);
/* Whether there is something to prepare. To be asked after a commit of the writer's: what was taken is in the file
 * then. */
bool tb_merges_wanted(const tb_merges *merges);

TB_API_END

#endif
