/* Rollups and packs that a piece has done with, for the next one: memory that a process gets anew is given to it page by page,
 * which may cost as much as what is put there. Any thread takes and gives. */
#ifndef TOLLBOOK_SERVER_FEED_SPARES_H
#define TOLLBOOK_SERVER_FEED_SPARES_H

#include "tollbook/usagepack.h"

#define FEED_SPARES_MOST  128                 /* that are kept: as many senders may wait for one commit */
#define FEED_SPARES_BYTES ((size_t)512 << 10) /* larger ones are not */

typedef struct feed_spares feed_spares;

/* max_groups: of each rollup. NULL when out of memory. */
feed_spares *feed_spares_new(size_t max_groups);
void feed_spares_free(feed_spares *spares); /* NULL is fine */
/* An empty one; NULL when out of memory. */
tb_rollup *feed_spares_take(feed_spares *spares);
void feed_spares_give(feed_spares *spares, tb_rollup *rollup); /* NULL is fine */
tb_usage_pack *feed_spares_take_pack(feed_spares *spares); /* any one; NULL when out of memory */
void feed_spares_give_pack(feed_spares *spares, tb_usage_pack *pack); /* NULL is fine */
/* Lets go of those that are kept. */
void feed_spares_clear(feed_spares *spares);
size_t feed_spares_kept(feed_spares *spares);

#endif
