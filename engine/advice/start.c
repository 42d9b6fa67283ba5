/* GSL's one process-wide setting, made once by the program (see advice.h). The flag is ours: GSL
 * cannot be asked for its handler without setting another. */
#include "tollbook/forecast.h"

#include <gsl/gsl_errno.h>
#include <stdatomic.h>

static atomic_bool started;

void tb_advice_start(void)
{
    gsl_set_error_handler_off();
    atomic_store(&started, true);
}

tb_code tb_advice_ready(tb_error *err)
{
    if (atomic_load(&started)) return TB_OK;
    return tb_fail(err, TB_E_INTERNAL, "advice", "The program did not call tb_advice_start.");
}
