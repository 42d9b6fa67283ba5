/* Power cuts: at operations of a database's first day (the long form: at each; else workload_takes)
 * the power goes, unsynced sectors are kept or lost at random, and what was acknowledged must be
 * there. Sometimes it goes again while the second run recovers.
 *
 * The test is tested: with PRAGMA synchronous=NORMAL or OFF the same loop must catch a lost
 * acknowledgement, or it would not see one with FULL either. */
#include "fault/faultvfs.h"
#include "fault/workload.h"
#include "seed.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_STRIDE 60
#define STEP 557 /* a prime: each moment comes once */

static volatile int *acked; /* shared with the process that loses its power */
static char path[64];

/* Runs in a process of its own. Returns whether the power went. */
static bool run_until_cut(const char *synchronous, uint64_t at, uint64_t seed)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        workload w = {.path = path, .synchronous = synchronous, .acked = acked};
        tb_error err = {0};
        fault_arm(FAULT_POWER, at, seed);
        tb_code code = workload_run(&w, &err);
        if (code) fprintf(stderr, "%s\n", err.message);
        _exit(code ? 1 : 0);
    }
    REQUIRE(waitpid(child, &status, 0) == child, "waitpid");
    REQUIRE(WIFEXITED(status), "a signal ended the run cut at %llu (seed %llu)",
            (unsigned long long)at, (unsigned long long)seed);
    int code = WEXITSTATUS(status);
    REQUIRE(code == 0 || code == FAULT_EXIT, "the run cut at %llu (seed %llu) failed before",
            (unsigned long long)at, (unsigned long long)seed);
    return code == FAULT_EXIT;
}

static uint64_t count_operations(void)
{
    volatile int own = 0;
    workload w = {.path = path, .acked = &own};
    tb_error err = {0};
    workload_remove(path);
    fault_arm(FAULT_POWER, 0, 0);
    REQUIRE(!workload_run(&w, &err), "%s", err.message);
    return fault_operations();
}

/* The same moment is cut with several draws of what is kept. */
static void every_cut(uint64_t total, uint64_t seed, unsigned draws)
{
    workload_state clean = workload_clean(), state;
    uint64_t cuts = 0, again = 0;
    for (uint64_t at = 1; at <= total; at++) {
        if (!workload_takes(at, total, SHORT_STRIDE, seed)) continue;
        for (unsigned draw = 0; draw < draws; draw++) {
            uint64_t s = seed + at * 1000 + draw;
            tb_error err = {0};
            workload w = {.path = path, .acked = acked};
            workload_remove(path);
            *acked = 0;
            fault_arm(FAULT_NONE, 0, 0);
            cuts += run_until_cut(NULL, at, s);
            /* A second cut, while the first is recovered from. */
            if ((at + draw) % 4 == 0 && *acked > 0) again += run_until_cut(NULL, 1 + s % 40, s + 1);
            /* A file of which nothing was promised may be anything. */
            if (*acked == 0 && workload_look(path, &state, &err)) workload_remove(path);
            workload_check_after(&w, &clean, "a power cut", at, s);
        }
    }
    printf("%llu power cuts at %llu operations, %llu of them again during recovery, nothing lost\n",
           (unsigned long long)cuts, (unsigned long long)total, (unsigned long long)again);
}

/* Whether a cut at this moment loses something that was acknowledged. */
static bool loses(const char *synchronous, uint64_t at, uint64_t seed)
{
    workload_state state;
    tb_error err = {0};
    workload_remove(path);
    *acked = 0;
    run_until_cut(synchronous, at, seed);
    fault_arm(FAULT_NONE, 0, 0);
    tb_code code = workload_look(path, &state, &err);
    return *acked > 0 && (code || state.differences || state.steps < *acked);
}

/* Takes moments from all over the run: at its end all is synced, and many cuts one after another lose nothing. */
static void must_lose(const char *synchronous, uint64_t total, uint64_t seed)
{
    uint64_t runs = 0, lost = 0;
    for (; runs < total && lost < (workload_long() ? 3 : 1); runs++)
        lost += loses(synchronous, 1 + (runs + 1) * STEP % total, seed + runs);
    printf("synchronous=%s: %llu of %llu cuts lose an acknowledgement, as they must\n", synchronous,
           (unsigned long long)lost, (unsigned long long)runs);
    REQUIRE(lost > 0, "synchronous=%s loses nothing: this test sees nothing (seed %llu)",
            synchronous, (unsigned long long)seed);
}

int main(void)
{
    uint64_t seed = test_seed();
    fault_register();
    workload_folder(path);
    acked = mmap(NULL, sizeof *acked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(acked != MAP_FAILED, "mmap");
    uint64_t total = count_operations();
    if (workload_stride() == 1) { /* once is enough: a sanitizer's run is not about this */
        must_lose("NORMAL", total, seed);
        must_lose("OFF", total, seed);
    }
    every_cut(total, seed, workload_long() ? 20 : 1);
    workload_remove_folder(path);
    return 0;
}
