#include "cli/watch.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define NUDGE_MS    20  /* an interrupt that comes before the query's start is lost: again */
#define GRACE_MS    300 /* time for a query to end by itself */
#define ROW_MS      2000 /* and where a row is being written */
#define MS_PER_S    1000
#define FOR_EVER    INT64_MAX

void watch_row(void)
{
    flockfile(stdout);
}

void watch_row_end(void)
{
    funlockfile(stdout);
}

/* 0: none came in this time. */
static int wait_for_signal(const watch *w, int64_t ms)
{
    const struct timespec t = {ms / MS_PER_S, ms % MS_PER_S * 1000000};
    int number;
    do
        number = sigtimedwait(&w->signals, NULL, ms == FOR_EVER ? NULL : &t);
    while (number < 0 && errno == EINTR);
    return number < 0 ? 0 : number;
}

static int say_why(const watch *w)
{
    const int why = atomic_load(&w->why);
    if (why == WATCH_TIME)
        cli_say(w->call, "The query took longer than %lld s and was stopped. Ask for less, or give it more "
                         "time with --timeout.", (long long)w->limit_s);
    else
        cli_say(w->call, "Stopped by %s.", why == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM");
    return tb_code_exit(TB_E_STOPPED);
}

/* As the signal itself would have done: a shell that runs a script ends that too. */
static void die_of(int number)
{
    sigset_t one;
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* The buffer's rest is the end of a whole row, unless a row is being written. */
static void end_process(const watch *w)
{
    const int status = say_why(w);
    if (ftrylockfile(stdout) == 0) fflush(stdout);
    if (atomic_load(&w->why) > 0) die_of(atomic_load(&w->why));
    _exit(status);
}

static bool row_under_way(void)
{
    if (ftrylockfile(stdout) != 0) return true;
    funlockfile(stdout);
    return false;
}

static void *watch_thread(void *arg)
{
    watch *w = arg;
    int came = wait_for_signal(w, w->limit_s ? w->limit_s * MS_PER_S : FOR_EVER);
    if (atomic_load(&w->over)) return NULL;
    atomic_store(&w->why, came ? came : WATCH_TIME);
    for (int ms = 0; ms < GRACE_MS || (ms < ROW_MS && row_under_way()); ms += NUDGE_MS) {
        tb_store_interrupt(w->store);
        came = wait_for_signal(w, NUDGE_MS);
        if (atomic_load(&w->over)) return NULL;
        if (came) break; /* a second Ctrl-C */
    }
    end_process(w);
    return NULL;
}

bool watch_start(watch *w)
{
    atomic_init(&w->over, false);
    atomic_init(&w->why, 0);
    sigemptyset(&w->signals);
    sigaddset(&w->signals, SIGINT);
    sigaddset(&w->signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &w->signals, NULL);
    return pthread_create(&w->thread, NULL, watch_thread, w) == 0;
}

int watch_end(watch *w)
{
    atomic_store(&w->over, true);
    pthread_kill(w->thread, SIGTERM);
    pthread_join(w->thread, NULL);
    const int why = atomic_load(&w->why);
    const int status = why ? say_why(w) : 0;
    if (why > 0) {
        fflush(stdout);
        die_of(why);
    }
    return status;
}
