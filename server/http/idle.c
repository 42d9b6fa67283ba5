#include "http/idle.h"

#include <sys/epoll.h>

static _Thread_local bool loops;
static _Thread_local tb_store *kept;

void idle_read_end(tb_store *store)
{
    if (loops) kept = store;
    else tb_store_read_end(store);
}

int wait_instead(int epoll, struct epoll_event *events, int most, int timeout_ms) __asm__("epoll_wait");

int wait_instead(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    loops = true;
    if (kept) tb_store_read_end(kept);
    kept = NULL;
    return epoll_pwait(epoll, events, most, timeout_ms, NULL);
}
