/* The page's two charts as SVG: nothing but rectangles, lines and text, whole pixels, no script. */
#ifndef TOLLBOOK_OPS_WHATIF_CHART_H
#define TOLLBOOK_OPS_WHATIF_CHART_H

#include "tollbook/whatifrun.h"

/* Before and after, month by month. */
void tb__whatif_chart_months(const tb_whatif_part *part, tb_buf *out);

/* How many accounts change by how many percent. Those that had nothing before have no percentage
 * and are not in it; those far outside stand in the outermost bars. Nothing where no account has
 * one. */
void tb__whatif_chart_spread(const tb_whatif_part *part, tb_buf *out);

#endif
