/* The monotonic clock, random numbers, and waits that a signal ends, for commands that run until they are
 * told to stop. */
#ifndef TOLLBOOK_SERVER_CLI_CLOCKS_H
#define TOLLBOOK_SERVER_CLI_CLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

int64_t clock_now_ms(void);
uint32_t clock_chance(void); /* random bits */
/* Returns after ms, or when SIGINT or SIGTERM comes; at once where *stop is set already. */
void clock_wait(int64_t ms, const atomic_bool *stop);
/* The same, and when the descriptor has input: whether it has. */
bool clock_wait_input(int fd, int64_t ms, const atomic_bool *stop);
/* Whether `most` milliseconds have passed since the first call. *until_ms: 0 before that. */
bool clock_leaves(int64_t *until_ms, int64_t most);

#endif
