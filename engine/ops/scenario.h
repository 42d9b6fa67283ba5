/* A what-if's scenarios as operations take them. */
#ifndef TOLLBOOK_OPS_SCENARIO_H
#define TOLLBOOK_OPS_SCENARIO_H

#include "ops/operations.h"
#include "tollbook/whatif.h"

/* Says which usage factors can match nothing, for what they name is not there. */
void tb__scenario_warn(tb_store *store, const tb_scenario *scenario, tb_reply *reply);

#endif
