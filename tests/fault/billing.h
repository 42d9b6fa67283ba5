/* A small company's autumn, for the fault tests: a price book, October's usage, a payment, October
 * made final but for an account that no book has a price for, a book for it, one invoice void and
 * replaced, late usage, November made final with its corrections and a credit note. A log of documents
 * begins before October is final.
 *
 * Each step is one of the tool's own commands, run by its own code in a process of its own, over
 * the file system that fails on demand. The database as it was before each step is kept: a
 * disturbed step starts from there, and its end is known. */
#ifndef TOLLBOOK_TESTS_BILLING_H
#define TOLLBOOK_TESTS_BILLING_H

#include "fault/faultvfs.h"
#include "tollbook/error.h"

#include <stddef.h>

typedef struct billing_fault {
    fault_mode mode;
    uint64_t at, seed;
    bool deaf; /* a drive that does not do what it is told when it syncs */
} billing_fault;

typedef struct billing_run {
    int status;          /* exit status; FAULT_EXIT: the power went */
    uint64_t operations; /* where there was no power cut */
    bool happened;
    size_t printed; /* invoices on standard output, and credit notes on standard error */
    bool already;   /* refused, since it was done before */
    char errors[4000];
} billing_run;

/* Makes the folder and runs everything undisturbed. */
void billing_open(void);
void billing_close(void);
size_t billing_steps(void);
const char *billing_name(size_t step);
int billing_status(size_t step); /* undisturbed */
const char *billing_path(void);

/* The database as it is before this step. */
void billing_restore(size_t step);
/* Runs the step on what is there. */
billing_run billing_step(size_t step, const billing_fault *fault);

/* After a step that came to its end, or was disturbed: all that was there before is there, what was
 * printed is there, what is there is the undisturbed run's beginning, byte for byte; the ledger and
 * the invoices agree, and `tollbook verify` finds nothing. Ends the program otherwise, unless
 * `ret_lost` takes the answer. done: the step is in the store as a whole. */
void billing_check(size_t step, const billing_run *run, bool done, const char *what,
                   bool *ret_lost);

/* Of everything that the database holds; ends the program where it cannot be read. */
uint64_t billing_digest(void);

#endif
