/* A cursor with its zones group after group, ascending by id in each: a reader that sums groups needs memory for one
 * at a time. */
#ifndef TOLLBOOK_ROLLUP_GROUPED_H
#define TOLLBOOK_ROLLUP_GROUPED_H

#include "tollbook/rollup.h"

/* The zones of all parts, ascending; they live as long as the cursor. */
const int64_t *tb__cursor_zones(const tb_rollup_cursor *cursor, size_t *ret_n);
/* group: of each of these zones a number >= 0. From here on the days of zones come
 * ascending by group and id; countries come ascending by id, as ever. To be called before anything is
 * read; false: out of memory. */
TB_MUST_USE bool tb__cursor_group(tb_rollup_cursor *cursor, const int64_t *group);
/* Of the day that was read last: the place of its zone among tb__cursor_zones, and of its edge location among all
 * of the cursor's, ascending by code. */
size_t tb__cursor_zone(const tb_rollup_cursor *cursor);
size_t tb__cursor_edge(const tb_rollup_cursor *cursor);
size_t tb__cursor_edges(const tb_rollup_cursor *cursor); /* no place is as high */

#endif
