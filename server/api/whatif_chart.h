/* The page's two charts as SVG: nothing but rectangles, lines and text, whole pixels, no script. */
#ifndef TOLLBOOK_SERVER_API_WHATIF_CHART_H
#define TOLLBOOK_SERVER_API_WHATIF_CHART_H

#include "api/whatif_forms.h"

/* Before and after, month by month. */
void whatif_chart_months(const whatif_part *part, tb_buf *out);

/* How many accounts change by how many percent. Those that had nothing before have no percentage
 * and are not in it; those far outside stand in the outermost bars. Nothing where no account has
 * one. */
void whatif_chart_spread(const whatif_part *part, tb_buf *out);

#endif
