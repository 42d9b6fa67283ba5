/* Figures of this process and the disk, for /metrics and the status line. */
#ifndef TOLLBOOK_SERVER_HTTP_PROCESS_H
#define TOLLBOOK_SERVER_HTTP_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* The figures that Prometheus' own libraries give under these names: X(field, name, type,
 * fraction's digits, help). */
#define PROCESS_FIGURES(X)                                                                         \
    X(RESIDENT, "process_resident_memory_bytes", "gauge", 0, "Resident memory.")                   \
    X(CPU, "process_cpu_seconds_total", "counter", 6, "Processor time, user and system.")          \
    X(FDS, "process_open_fds", "gauge", 0, "Open file descriptors.")                               \
    X(START, "process_start_time_seconds", "gauge", 2, "When the process started, since 1970.")

typedef enum process_figure {
#define TB_X(e, name, type, digits, help) PROCESS_##e,
    PROCESS_FIGURES(TB_X)
#undef TB_X
        PROCESS_COUNT
} process_figure;

/* In units of the figure's last digit. false: the system does not provide it. */
bool process_read(process_figure which, uint64_t *ret_value);

typedef struct disk_state {
    uint64_t free_bytes; /* for this user */
    bool read_only;
} disk_state;

#define PROCESS_NAME_MAX 64

/* "tollbook (process 123)": who listens on this port, of any address. false: it cannot be known, mostly because it is another
 * user's. Looks through all of /proc. */
bool process_listening(unsigned long port, char ret_name[PROCESS_NAME_MAX]);

/* Of the file system of a path. */
bool process_disk(const char *path, disk_state *ret);

#endif
