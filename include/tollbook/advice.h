/* Advice: forecasts and solvers, on top of what is billed and never part of it.
 *
 * Only this room uses doubles and the GNU Scientific Library. Amounts come from the functions that
 * write invoices, and nothing in billing, invoice or store includes this room
 * (tests/arch/test_layers.py).
 *
 * GSL has one error handler for the whole process, and the default one aborts. Advice checks the
 * status of every call instead, so the program turns the handler off, once. A library that swapped
 * the handler around each call would race with other threads. */
#ifndef TOLLBOOK_ADVICE_H
#define TOLLBOOK_ADVICE_H

#include "tollbook/error.h"

TB_API_BEGIN

/* Turns GSL's error handler off (gsl_set_error_handler_off), for the process, for good. Once,
 * before other threads start. */
void tb_advice_start(void);

/* TB_E_INTERNAL where tb_advice_start was not called: every function of this room that uses GSL
 * asks this first, so that a missing call is an error and not, one day, an abort. */
TB_MUST_USE tb_code tb_advice_ready(tb_error *err);

TB_API_END

#endif
