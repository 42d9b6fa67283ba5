/* A month's money on a file system that fails: at every operation of every step (sampled in the
 * quick form) an error once, errors from then on, a full disk, or the power goes; sometimes it goes
 * again while the same command is run once more. Invoices that were printed are there with the same
 * bytes, numbers have no gap, none is there twice, and the command run again ends with everything
 * an undisturbed run has.
 *
 * The test is tested: on a drive that does not sync, the same loop must see printed invoices lost.
 */
#include "fault/billing.h"
#include "fault/workload.h"
#include "seed.h"

#include <stdio.h>
#include <string.h>

#define QUICK 12 /* points of each kind, over all steps */

static const struct kind {
    const char *what;
    fault_mode mode;
} kinds[] = {
    {"an error once", FAULT_ERROR_ONCE},
    {"errors", FAULT_ERROR_ON},
    {"a full disk", FAULT_FULL_ON},
    {"a power cut", FAULT_POWER},
};

/* An error names the file and what to do, and is not taken for damage. */
static void check_sentence(const struct kind *k, const billing_run *run, const char *what)
{
    REQUIRE(run->status == 3 && strstr(run->errors, billing_path()), "%s: exit %d, says: %s", what,
            run->status, run->errors);
    REQUIRE(!strstr(run->errors, "restore") && !strstr(run->errors, "(null)"), "%s: says: %s", what,
            run->errors);
    REQUIRE(k->mode != FAULT_FULL_ON || strstr(run->errors, "free space"), "%s: says: %s", what,
            run->errors);
}

static void disturb(size_t step, const struct kind *k, uint64_t at, uint64_t seed)
{
    char what[120];
    billing_fault fault = {k->mode, at, seed, false};
    bool power = k->mode == FAULT_POWER;
    snprintf(what, sizeof what, "%s at operation %llu (seed %llu)", k->what, (unsigned long long)at,
             (unsigned long long)seed);
    billing_restore(step);
    billing_run run = billing_step(step, &fault);
    bool done = run.status == billing_status(step) && !power;
    if (!done && !power) check_sentence(k, &run, what);
    REQUIRE(!power || run.status == FAULT_EXIT, "%s: exit %d, says: %s", what, run.status,
            run.errors);
    billing_check(step, &run, done, what, NULL);
    if (seed % 3 == 0) { /* the power goes while it is run again */
        billing_fault again = {FAULT_POWER, 1 + seed / 3 % 50, seed + 1, false};
        run = billing_step(step, &again);
        billing_check(step, &run, false, what, NULL);
    }
    run = billing_step(step, NULL);
    REQUIRE(run.status == billing_status(step) || run.already, "%s, run again: %s", what,
            run.errors);
    billing_check(step, &run, true, what, NULL);
}

static uint64_t operations_of(size_t step, fault_mode mode)
{
    billing_fault none = {mode, 0, 0, false};
    billing_restore(step);
    billing_run run = billing_step(step, &none);
    REQUIRE(run.status == billing_status(step), "%s: %s", billing_name(step), run.errors);
    return run.operations;
}

/* All steps' operations in a row; every stride-th is disturbed, from one drawn by the seed on. */
static void disturb_all(const struct kind *k, uint64_t seed, unsigned draws)
{
    uint64_t total = 0, points = 0, each[16];
    for (size_t step = 0; step < billing_steps(); step++)
        total += each[step] = operations_of(step, k->mode);
    uint64_t stride = workload_long() ? 1 : total / QUICK * workload_stride() + 1;
    uint64_t next = seed % stride;
    for (size_t step = 0; step < billing_steps(); next -= each[step++])
        for (; next < each[step]; next += stride)
            for (unsigned draw = 0; draw < draws; draw++, points++)
                disturb(step, k, next + 1, seed + next * 1000 + draw);
    printf("%s: %llu times at %llu operations, nothing lost or doubled\n", k->what,
           (unsigned long long)points, (unsigned long long)total);
    fflush(stdout);
}

/* Cuts on a drive that does not sync, from the end of the month run back. */
static void must_lose(uint64_t seed)
{
    size_t step = 0;
    uint64_t runs = 0, lost = 0;
    while (strcmp(billing_name(step), "finalise") != 0)
        step++;
    for (uint64_t at = operations_of(step, FAULT_POWER); at > 0 && lost < 3; at--, runs++) {
        billing_fault fault = {FAULT_POWER, at, seed + at, true};
        bool loses;
        billing_restore(step);
        billing_run run = billing_step(step, &fault);
        billing_check(step, &run, false, "a drive that does not sync", &loses);
        lost += loses;
    }
    REQUIRE(lost > 0, "a drive that does not sync loses nothing: this test sees nothing");
    printf("a drive that does not sync: %llu of %llu cuts lose a printed invoice, as they must\n",
           (unsigned long long)lost, (unsigned long long)runs);
}

int main(void)
{
    uint64_t seed = test_seed();
    billing_open();
    must_lose(seed);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        disturb_all(&kinds[i], seed, workload_long() && kinds[i].mode == FAULT_POWER ? 3 : 1);
    billing_close();
    return 0;
}
