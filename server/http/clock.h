/* The server's clocks. Deadlines and durations run on the monotonic clock, so that a jump of the
 * wall clock moves none of them; only `now` of an answer is wall time (or fixed, for tests). */
#ifndef TOLLBOOK_SERVER_HTTP_CLOCK_H
#define TOLLBOOK_SERVER_HTTP_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t clock_mono_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

/* Exact to a scheduler tick: good enough for deadlines, and the cheapest. */
static inline int64_t clock_coarse_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC_COARSE);
}

static inline int64_t clock_wall_coarse_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (int64_t)t.tv_sec;
}

static inline int64_t clock_wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

/* fixed_us: the moment that tests fix, or INT64_MIN. */
static inline int64_t clock_now_us(int64_t fixed_us)
{
    return fixed_us == INT64_MIN ? clock_wall_us() : fixed_us;
}

#endif
