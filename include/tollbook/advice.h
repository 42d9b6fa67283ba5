/* Advice: forecasts and solvers, on top of what is billed and never part of it.
 *
 * Doubles and the GNU Scientific Library live in this room alone; amounts come from the functions
 * that write invoices, and nothing in billing, invoice or store sees this room
 * (tests/arch/test_layers.py).
 *
 * GSL keeps one error handler for the whole process, and its own one aborts. Advice checks the
 * status of every call instead, so the program that uses it turns the handler off, once, as a
 * choice of its own: a library that swapped it around each call would race with other threads, GSL
 * having no lock there. */
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
