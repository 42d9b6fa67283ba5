/* A file system that fails on demand: an SQLite VFS over the system's own.
 *
 * It counts operations (opening to create, writing, truncating, syncing, deleting; reading too
 * where errors are asked for) and at the chosen one reports an error, a full disk, or cuts the
 * power.
 *
 * Power: every write since a file's last sync is remembered with what it replaced. At the cut each
 * sector of 512 bytes goes back to any of its states since then, at random; files created and never
 * synced may be gone, new lengths forgotten; then the process ends. What was synced stays. Syncs do
 * not reach the disk, so the loops are quick. */
#ifndef TOLLBOOK_TESTS_FAULTVFS_H
#define TOLLBOOK_TESTS_FAULTVFS_H

#include <stdbool.h>
#include <stdint.h>

#define FAULT_VFS "fault"

typedef enum fault_mode {
    FAULT_NONE,       /* only counts */
    FAULT_ERROR_ONCE, /* SQLITE_IOERR at the operation */
    FAULT_ERROR_ON,   /* from the operation on */
    FAULT_FULL_ON,    /* SQLITE_FULL for whatever needs room, from the operation on */
    FAULT_POWER,      /* the cut; the process ends with status FAULT_EXIT */
} fault_mode;

#define FAULT_EXIT 77

/* Registers FAULT_VFS. */
void fault_register(void);
/* Whoever opens a file without naming a file system gets this one. */
void fault_make_default(void);
/* Counting starts at 1 with the next operation. */
void fault_arm(fault_mode mode, uint64_t at, uint64_t seed);
/* From now on syncs say that all is well and do nothing: a drive that lies. */
void fault_set_deaf(bool deaf);
/* Operations since fault_arm. */
uint64_t fault_operations(void);
/* Whether that operation was a sync, in the last run in which a fault was armed for none (at = 0).
 */
bool fault_syncs(uint64_t at);
/* Whether the fault came about since fault_arm. */
bool fault_happened(void);

#endif
