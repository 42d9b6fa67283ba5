/* A piece of a cost curve at a position (breakeven.h). */
#ifndef TOLLBOOK_ADVICE_CURVE_H
#define TOLLBOOK_ADVICE_CURVE_H

#include "tollbook/solve.h"

/* Blocks begun behind the piece's anchor. */
static inline tb_i128 tb__blocks_at(const tb_curve_piece *p, tb_i128 units)
{
    tb_i128 behind = units - p->anchor;
    return p->block == 0 || behind <= 0 ? 0 : (behind - 1) / p->block + 1;
}

static inline tb_i128 tb__piece_at(const tb_curve_piece *p, tb_i128 units)
{
    return p->price * units + p->offset + p->step * tb__blocks_at(p, units);
}

#endif
