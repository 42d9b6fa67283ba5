/* ledger accrue as a periodic task of every server: at its start, for the days that were missed, and then daily at
 * five past midnight, UTC. A round that failed, or did not finish all accounts, is repeated within the
 * hour. */
#ifndef TOLLBOOK_SERVER_API_ACCRUE_H
#define TOLLBOOK_SERVER_API_ACCRUE_H

#include "http/jobs/periodic.h"

/* Its ctx lives as long as the program. */
periodic_task api_accrue(void);

/* Figures of this process, for /metrics. Any thread. */
typedef struct accrue_figures {
    int64_t done_us;   /* when the last complete round ended; INT64_MIN: none has */
    uint64_t failures; /* rounds that failed, or were incomplete */
} accrue_figures;
accrue_figures api_accrue_figures(void);

#endif
