/* Memory for encoded answers and for bodies. Blocks of 32 KiB and more are kept in classes by size when
 * they are freed, up to a bound, so that a 400 KB answer does not cost a mapping, a hundred page
 * faults and an unmapping each time. Smaller ones are the C library's. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_POOL_H
#define TOLLBOOK_SERVER_HTTP_POOL_H

#include "tollbook/alloc.h"

typedef struct pool pool;

/* keep_bytes: most memory kept in free blocks. NULL when out of memory. */
pool *pool_new(size_t keep_bytes);
void pool_clear(pool *p); /* lets go of all free blocks */
void pool_free(pool *p); /* every block must have been freed before */
/* The pool as an allocator for tb_buf; lives as long as the pool. */
const tb_alloc *pool_alloc(const pool *p);
/* The memory that a block of this size really takes. */
size_t pool_block(size_t size);

#endif
