/* The scenarios of `tollbook whatif`, from files and from the database. */
#ifndef TOLLBOOK_SERVER_CLI_SCENARIOS_H
#define TOLLBOOK_SERVER_CLI_SCENARIOS_H

#include "cli/cli.h"
#include "tollbook/whatif.h"

/* operand: a file ("-": standard input) or, where there is no such file, a stored scenario's name.
 * 0, or the exit status once it said what is wrong and where. */
int scenario_read(const cli_call *call, tb_store *store, const char *operand,
                  tb_scenario *ret_scenario);

/* Warns of usage factors that can match nothing, for what they name is not there. */
void scenario_warn(const cli_call *call, tb_store *store, const tb_scenario *scenario);

/* In a transaction of its own. */
TB_MUST_USE tb_code scenario_keep(tb_store *store, const tb_scenario *scenario, int64_t now_us,
                                  bool *ret_known, tb_error *err);

#endif
