/* One sentence for every place where a counter can be full: in a rollup, in a chunk, in a sum. */
#include "rollup/overflow.h"

#include "tollbook/calendar.h"

tb_code tb__overflow(const tb__spot *spot, tb_metric metric, tb_error *err)
{
    char when[21];
    tb_time_format(spot->hour * TB_US_PER_HOUR, when);
    when[spot->whole_day ? 10 : 20] = 0;
    const char *name = tb_metric_table[metric].name;
    const char *where = !spot->edge ? ", all regions" : spot->edge_len ? ", region " : "";
    return tb_fail(err, TB_E_OVERFLOW, name,
                   "%s %lld%s%.*s, %s: %s would pass 2^63 - 1; look for a row with too large a "
                   "value there, correct it and send the input again.",
                   spot->kind, (long long)spot->id, where, (int)spot->edge_len,
                   spot->edge ? spot->edge : "", when, name);
}
