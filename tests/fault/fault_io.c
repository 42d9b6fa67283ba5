/* Errors of the file system: the operations of a database's first day fail, once, from then on, or
 * for lack of room; in the long form each of them, else some (workload_takes). The error reaches
 * the caller, nothing acknowledged is lost, a retry on the same connection works once the fault is
 * over, and so does a second run. */
#include "fault/faultvfs.h"
#include "fault/workload.h"
#include "seed.h"

#include <stdio.h>
#include <string.h>

#define SHORT_STRIDE 80

typedef struct kind {
    const char *what;
    fault_mode mode;
    bool retry;
} kind;

static const kind kinds[] = {
    {"an error once", FAULT_ERROR_ONCE, true},
    {"errors", FAULT_ERROR_ON, false},
    {"a full disk", FAULT_FULL_ON, true},
};

static bool is_expected(const kind *k, tb_code code)
{
    if (k->mode == FAULT_FULL_ON) return code == TB_E_DISK_FULL;
    return code == TB_E_IO || code == TB_E_DISK_FULL;
}

static void run(const kind *k, uint64_t at, const char *path, const workload_state *clean)
{
    volatile int acked = 0;
    workload w = {.path = path, .retry = k->retry, .acked = &acked};
    tb_error err = {0};
    workload_remove(path);
    fault_arm(k->mode, at, 0);
    tb_code code = workload_run(&w, &err);
    REQUIRE(!code || is_expected(k, code), "%s at operation %llu: %s: %s", k->what,
            (unsigned long long)at, tb_code_name(code), err.message);
    REQUIRE(!code || strstr(err.message, path), "%s", err.message);
    workload_check_after(&w, clean, k->what, at, 0);
}

/* How many operations an undisturbed run has, as this kind of fault counts them. */
static uint64_t count(const kind *k, const char *path)
{
    volatile int acked = 0;
    workload w = {.path = path, .acked = &acked};
    tb_error err = {0};
    workload_remove(path);
    fault_arm(k->mode, 0, 0);
    REQUIRE(!workload_run(&w, &err), "%s", err.message);
    return fault_operations();
}

int main(void)
{
    char path[64];
    const uint64_t seed = test_seed();
    fault_register();
    workload_state clean = workload_clean();
    workload_folder(path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t total = count(&kinds[i], path), points = 0;
        for (uint64_t at = 1; at <= total; at++) {
            if (!workload_takes(at, total, SHORT_STRIDE, seed + i)) continue;
            run(&kinds[i], at, path, &clean);
            points++;
        }
        printf("%s: %llu of %llu operations, nothing lost\n", kinds[i].what,
               (unsigned long long)points, (unsigned long long)total);
        fflush(stdout);
    }
    workload_remove_folder(path);
    return 0;
}
