#include "cli/clocks.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>

int64_t clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint32_t clock_chance(void)
{
    uint32_t bits = 0;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
        bits = (uint32_t)clock_now_ms() * 2654435761u;
    return bits;
}

/* The signals are blocked while the flag is checked: none is missed between the check and the wait.
 */
static int wait_for(struct pollfd *fd, int64_t ms, const atomic_bool *stop)
{
    sigset_t ours, before;
    int n = 0;
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    if (!atomic_load_explicit(stop, memory_order_relaxed))
        n = ppoll(fd, fd != NULL, &time, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}

void clock_wait(int64_t ms, const atomic_bool *stop)
{
    (void)wait_for(NULL, ms, stop);
}

bool clock_wait_input(int fd, int64_t ms, const atomic_bool *stop)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return wait_for(&one, ms, stop) > 0;
}

bool clock_leaves(int64_t *until_ms, int64_t most)
{
    const int64_t now = clock_now_ms();
    if (*until_ms == 0) *until_ms = now + most;
    return now >= *until_ms;
}
