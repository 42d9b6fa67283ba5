/* The state of a database, and of the server that answers for it: for people and for monitoring. Works in the caller's
 * snapshot. The engine reads neither the disk nor the process, so the caller says what it knows of them. */
#ifndef TOLLBOOK_STATUS_H
#define TOLLBOOK_STATUS_H

#include "tollbook/alertstore.h"
#include "tollbook/store.h"

TB_API_BEGIN

#define TB_MACHINE_ADDRESSES 8
#define TB_MACHINE_ADDRESS   64 /* bytes of "127.0.0.1:8080", with its end */

/* What the caller knows of the machine and, if it is a server, of itself. */
typedef struct tb_machine {
    bool disk_known;
    uint64_t disk_free;           /* bytes that may still be written on the database's file system */
    int64_t backup_us, verify_us; /* the last successful ones; INT64_MIN: never */
    bool serving;                 /* the rest is about the server that answers */
    bool ready;
    char why[360]; /* not ready: a sentence */
    int64_t since_us;             /* INT64_MIN: unknown */
    uint64_t queue;               /* writes that wait */
    size_t n_addresses;
    char addresses[TB_MACHINE_ADDRESSES][TB_MACHINE_ADDRESS];
    int64_t base_us; /* the last base of a continuous backup, which counts as a backup; INT64_MIN: never */
} tb_machine;

/* X(ENUM, name): why a database is not healthy, the worst first. */
#define TB_STATUS_PROBLEMS(X)                                                                      \
    X(SERVER, "server") /* it is not ready */                                                      \
    X(DISK, "disk")     /* less than bounds.free_bytes is free */                                  \
    X(BACKUP, "backup") /* there was none within bounds.backup_us, and no base */                  \
    X(VERIFY, "verify") /* likewise */                                                             \
    X(INTAKE, "intake") /* nothing was stored within bounds.intake_us */                           \
    X(OUTBOX, "outbox") /* a message waits for longer than TB_STATUS_OUTBOX_US */

typedef enum tb_status_problem {
#define TB_X(e, name) TB_STATUS_##e,
    TB_STATUS_PROBLEMS(TB_X)
#undef TB_X
        TB_STATUS_COUNT
} tb_status_problem;

#define TB_STATUS_OUTBOX_US (INT64_C(1800) * 1000000)

/* 0: not checked. */
typedef struct tb_status_bounds {
    uint64_t free_bytes;
    int64_t backup_us, verify_us, intake_us; /* the greatest age */
} tb_status_bounds;

typedef struct tb_status {
    int schema;
    bool written; /* a process has the file open for writing, by the name */
    tb_writer writer;
    tb_store_figures store;
    tb_outbox_figures outbox;
    uint32_t problems; /* bit p: tb_status_problem p */
} tb_status;

TB_MUST_USE tb_code tb_status_read(tb_store *store, const tb_machine *machine, const tb_status_bounds *bounds,
                                   int64_t now_us, tb_status *ret_status, tb_error *err);
/* When something new was last stored, log lines or rows of an import; INT64_MIN: never. */
int64_t tb_status_intake_us(const tb_status *status);
/* The newer one of the last backup and the last base; INT64_MIN: never. */
int64_t tb_status_backup_us(const tb_machine *machine);
const char *tb_status_problem_name(tb_status_problem problem);

TB_API_END

#endif
