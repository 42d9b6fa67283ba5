/* Memory that runs out on demand. One count for all: SQLite's allocator is replaced, and the linker
 * leads the engine's own malloc, calloc, realloc and strdup here (--wrap). */
#ifndef TOLLBOOK_TESTS_SCARCE_H
#define TOLLBOOK_TESTS_SCARCE_H

#include <stdbool.h>
#include <stdint.h>

/* Before anything uses SQLite. */
void scarce_init(void);
/* The at-th allocation from now fails, or all from it on. 0: none. */
void scarce_arm(uint64_t at, bool from_then_on);
/* Allocations in between neither fail nor count. */
void scarce_pause(bool pause);
/* Allocations since scarce_arm, and whether one of them failed. */
uint64_t scarce_count(void);
bool scarce_failed(void);

#endif
