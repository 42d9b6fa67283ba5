/* A what-if's scenarios as operations take them: documents, or names of stored ones. */
#ifndef TOLLBOOK_OPS_SCENARIO_H
#define TOLLBOOK_OPS_SCENARIO_H

#include "ops/operations.h"
#include "tollbook/whatif.h"

/* An error is about arg. */
TB_MUST_USE tb_code tb__scenario_read(tb_store *store, const tb_arg *arg, tb_scenario *ret_scenario,
                                      tb_reply *reply, tb_error *err);

/* The stored one of this name. */
TB_MUST_USE tb_code tb__scenario_stored(tb_store *store, const char *name,
                                        tb_scenario *ret_scenario, tb_error *err);

/* Warns of usage factors that cannot match, for they name unknown objects. */
void tb__scenario_warn(tb_store *store, const tb_scenario *scenario, tb_reply *reply);

#endif
