/* What the fault tests do to a store: the steps of a database's first day, each with its
 * acknowledgement, and the questions asked afterwards. */
#ifndef TOLLBOOK_TESTS_WORKLOAD_H
#define TOLLBOOK_TESTS_WORKLOAD_H

#include "tollbook/store.h"

/* Steps: the file is made, the catalogue applied, segment 1 and segment 2 ingested, segment 2 withdrawn.
 * Segment 1 comes as eight batches; the eighth is merged with the seven before it into one run. */
#define STEPS 5

typedef struct workload {
    const char *path;
    const char *synchronous; /* NULL: as the store sets it */
    bool retry;          /* a failed step is rolled back and tried once more, without the fault */
    bool undisturbed;    /* no fault comes */
    volatile int *acked; /* steps acknowledged; only grows */
} workload;

/* A folder for one database; path holds "FOLDER/t.db". */
/* In the open transaction: shield events that differ with the number. */
tb_code workload_add_events(tb_store *store, int number, tb_error *err);
/* The same of request logs: batches of lines of some zones, which wait and are folded bit by bit. */
tb_code workload_add_logs(tb_store *store, int number, tb_error *err);
/* Every kept line, upwards and downwards: *digest goes on by it, *n counts. */
tb_code workload_read_logs(tb_store *store, uint64_t *digest, unsigned *n, tb_error *err);
void workload_folder(char path[64]);
void workload_remove(const char *path);        /* the database and all files beside it */
void workload_remove_folder(const char *path); /* and the folder */

/* Does what is not done yet. What is done already is found by asking the store. */
tb_code workload_run(const workload *w, tb_error *err);

typedef struct workload_state {
    int steps;            /* that are in the store */
    uint64_t differences; /* that verify found */
    uint64_t digest;      /* of everything that can be read */
    char first[300];      /* the first difference */
} workload_state;

/* TB_E_NOT_OURS, TB_E_IO where the file is not a database (yet). */
tb_code workload_look(const char *path, workload_state *ret_state, tb_error *err);

/* Adds a rollup as a pack, or, where a zone has another account meanwhile, by its cursor. */
tb_code workload_add_packed(tb_store *store, tb_rollup *rollup, tb_rollup_cursor *cursor, tb_error *err);

/* The state after an undisturbed run. */
workload_state workload_clean(void);

/* After a fault: acknowledged steps are there and at most one more, verify is clean, and running
 * again ends as an undisturbed run does. Ends the program with a message otherwise. */
void workload_check_after(const workload *w, const workload_state *clean, const char *what,
                          uint64_t at, uint64_t seed);

#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) workload_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);              \
    } while (0)
void workload_fail(const char *file, int line, const char *condition, const char *fmt, ...)
    TB_PRINTF(4, 5) __attribute__((noreturn));

/* Whether the long form was asked for: TB_LONG=1. */
bool workload_long(void);
/* How many of the points a build with a sanitizer leaves out: 1 of them all. */
unsigned workload_stride(void);
/* Whether the fault is tried at this one of `total` operations, which a run without a fault counted
 * last (fault_arm with at 0). In the long form at each; else at the first, the last, one in
 * `stride` and one in a tenth of that of those just before, at and after a sync, drawn by the seed.
 */
bool workload_takes(uint64_t at, uint64_t total, unsigned stride, uint64_t seed);

#endif
