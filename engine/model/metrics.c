/* The metric table, expanded from its one definition. */
#include "tollbook/metrics.h"

const tb_metric_info tb_metric_table[TB_METRIC_COUNT] = {
#define TB_X(e, name, unit, how, source, meaning)                                                  \
    [TB_M_##e] = {name, unit, meaning, TB_HOW_##how, TB_SOURCE_##source},
    TB_METRICS(TB_X)
#undef TB_X
};
