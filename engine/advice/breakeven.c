/* The axis is cut where either curve has a piece's end. Within such a span both are straight lines
 * with steps. Without steps the two lines are solved. Where only one has steps, or both have them
 * at the same places, the blocks are classified: those of one sign first, those of the other last, and
 * the mixed ones between, found by halving and solved one by one; if there are many, the first ones and
 * the last, and one run of kind MANY for the rest.
 *
 * Spans with steps at different places are halved: the difference lies within bounds; where these have
 * one sign the span is decided, where no step lies within it the lines are solved, else both halves are
 * pushed. A stack of spans, the leftmost on top, replaces recursion. After a limit of work the
 * right-hand end is decided backwards, in strides as long as the bounds allow, and the undecided middle
 * is MANY. */
#include "advice/curve.h"

#define BLOCKS_LISTED 16    /* blocks with several signs at a time, before MANY; and the last */
#define SPANS_MAX     160   /* on the stack: two per halving of 2^60 */
#define LOOKS_MAX     20000 /* spans looked at between two ends of pieces, before MANY */
#define LISTED_MAX    64    /* runs listed between two ends of pieces, before MANY */
#define STRIDES_MAX   4000  /* backwards */

typedef struct span {
    tb_i128 from, to; /* (from, to] */
} span;

/* Both curves at one scale, and the pieces of both that hold the span being looked at. */
typedef struct finder {
    tb_breakeven *out;
    tb_curve_piece a, b;
    tb_i128 a_unit, b_unit; /* powers of ten that bring the curves to the common scale */
    bool full, overflow;
} finder;

/* --- pieces --- */

/* No step lies between the span's positions. */
static bool straight(const tb_curve_piece *p, span s)
{
    return p->step == 0 || p->block == 0 || tb__blocks_at(p, s.from + 1) == tb__blocks_at(p, s.to);
}

/* The piece at the common scale; curves leave room for one difference, scaling may not. */
static tb_curve_piece scaled(finder *f, tb_curve_piece p, tb_i128 unit)
{
    tb_i128 line, steps, limit = ((tb_i128)1 << 126) - 1;
    f->overflow |= __builtin_mul_overflow(p.price, unit, &p.price) ||
                   __builtin_mul_overflow(p.offset, unit, &p.offset) ||
                   __builtin_mul_overflow(p.step, unit, &p.step) ||
                   __builtin_mul_overflow(p.price, p.to, &line) ||
                   __builtin_mul_overflow(p.step, tb__blocks_at(&p, p.to), &steps) ||
                   line > limit || steps > limit - line || p.offset > limit - line - steps ||
                   p.offset < -limit;
    return p;
}

/* --- runs --- */

static void add(finder *f, tb_i128 from, tb_i128 to, tb_breakeven_sign sign)
{
    tb_breakeven *out = f->out;
    tb_breakeven_run *last = out->n ? &out->run[out->n - 1] : NULL;
    if (from > to) return;
    if (last && last->sign == sign) {
        last->to = to;
        return;
    }
    if (out->n == TB_BREAKEVEN_RUNS_MAX) {
        f->full = true;
        return;
    }
    out->run[out->n++] = (tb_breakeven_run){.from = from, .to = to, .sign = sign};
}

static tb_i128 divisor(tb_i128 a, tb_i128 b)
{
    while (b) {
        tb_i128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static tb_breakeven_sign sign_of(tb_i128 value)
{
    return value < 0 ? TB_BREAKEVEN_A : value > 0 ? TB_BREAKEVEN_B : TB_BREAKEVEN_EQUAL;
}

/* The last run begins behind where the lines met: whole and above / slope units, above < slope. */
static void mark_crossing(finder *f, tb_i128 whole, tb_i128 above, tb_i128 slope)
{
    tb_breakeven_run *last = &f->out->run[f->out->n - 1];
    above = above < 0 ? -above : above;
    slope = slope < 0 ? -slope : slope;
    tb_i128 common = divisor(above, slope), num;
    if (f->out->n < 2 || last->from != whole + 1 || last[-1].sign == TB_BREAKEVEN_EQUAL) return;
    last->crossed = true;
    last->exact = !__builtin_mul_overflow(whole, slope / common, &num) &&
                  !__builtin_add_overflow(num, above / common, &num);
    last->num = last->exact ? num : 0;
    last->den = last->exact ? slope / common : 1;
}

static tb_i128 difference(const finder *f, tb_i128 units)
{
    return tb__piece_at(&f->a, units) - tb__piece_at(&f->b, units);
}

/* A span of one sign. The lines may have met between its begin, where another formula held, and its
 * first unit. */
static void one_sign(finder *f, span s, tb_breakeven_sign sign)
{
    if (s.from >= s.to) return;
    tb_i128 slope = f->a.price - f->b.price, before = difference(f, s.from + 1) - slope;
    add(f, s.from + 1, s.to, sign);
    if (s.from >= 0 && sign != TB_BREAKEVEN_EQUAL && before != 0 && sign_of(before) != sign)
        mark_crossing(f, s.from, before, slope);
}

/* Two lines without steps in the span: three stretches at most. */
static void solve(finder *f, span s)
{
    tb_i128 slope = f->a.price - f->b.price;
    tb_i128 low =
        tb__piece_at(&f->a, s.from + 1) - tb__piece_at(&f->b, s.from + 1); /* at the first unit */
    tb_i128 high = tb__piece_at(&f->a, s.to) - tb__piece_at(&f->b, s.to);
    if (slope == 0 || sign_of(low) == sign_of(high)) {
        one_sign(f, s, sign_of(low));
        return;
    }
    /* low + slope x (units - first) = 0: at `zero`, or by `rest` behind it. */
    tb_i128 rest = -low % slope, zero = s.from + 1 + -low / slope;
    add(f, s.from + 1, rest ? zero : zero - 1, sign_of(low));
    if (rest == 0) add(f, zero, zero, TB_BREAKEVEN_EQUAL);
    add(f, zero + 1, s.to, sign_of(high));
    if (rest != 0 && !f->full) mark_crossing(f, zero, rest, slope);
}

/* --- blocks --- */

/* Block k of equal ones behind `begin`. */
typedef struct blocks {
    tb_i128 begin, size, n;
} blocks;

static span block_of(const blocks *all, tb_i128 k)
{
    return (span){all->begin + k * all->size, all->begin + (k + 1) * all->size};
}

/* The sign all over a block, in which the curves are straight; MANY where it has several. */
static tb_breakeven_sign block_sign(const finder *f, const blocks *all, tb_i128 k)
{
    span s = block_of(all, k);
    tb_breakeven_sign first = sign_of(difference(f, s.from + 1)),
                      last = sign_of(difference(f, s.to));
    return first == last ? first : TB_BREAKEVEN_MANY;
}

/* The number of adjacent blocks with the sign of the first (last) one. The difference at the blocks' first units is a
 * straight line over the blocks, and so it is at their last units: so such blocks are adjacent, and halving finds
 * their end. */
static tb_i128 alike(const finder *f, const blocks *all, bool from_last)
{
    tb_breakeven_sign sign = block_sign(f, all, from_last ? all->n - 1 : 0);
    tb_i128 low = 1, high = all->n;
    if (sign == TB_BREAKEVEN_MANY) return 0;
    while (low < high) {
        tb_i128 middle = low + (high - low + 1) / 2;
        if (block_sign(f, all, from_last ? all->n - middle : middle - 1) == sign)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Blocks first..end-1 have several signs each (or are an odd one out): listed, or the first ones
 * and the last. */
static void mixed_blocks(finder *f, const blocks *all, tb_i128 first, tb_i128 end)
{
    bool all_listed = end - first <= 2 * BLOCKS_LISTED;
    tb_i128 listed = all_listed ? end : first + BLOCKS_LISTED;
    for (tb_i128 k = first; k < listed; k++)
        solve(f, block_of(all, k));
    if (all_listed) return;
    add(f, block_of(all, listed).from + 1, block_of(all, end - 1).from, TB_BREAKEVEN_MANY);
    solve(f, block_of(all, end - 1));
}

/* The steps of both, where both have some, fall together: they are `size` long and one of them ends
 * at `end`. */
static void find_by_block(finder *f, span s, tb_i128 end, tb_i128 size)
{
    if (end >= s.to) {
        solve(f, s);
        return;
    }
    blocks all = {end, size, (s.to - end) / size};
    solve(f, (span){s.from, end});
    if (all.n > 0) {
        tb_i128 before = alike(f, &all, false), behind = alike(f, &all, true);
        if (before == all.n) behind = 0;
        one_sign(f, (span){end, end + before * size}, block_sign(f, &all, 0));
        mixed_blocks(f, &all, before, all.n - behind);
        one_sign(f, (span){end + (all.n - behind) * size, end + all.n * size},
                 block_sign(f, &all, all.n - 1));
    }
    if (end + all.n * size < s.to) solve(f, (span){end + all.n * size, s.to});
}

/* --- spans --- */

/* The sign all over the span, if the bounds determine it: neither curve falls; and the difference is nowhere further
 * from a straight line than both steps, and that line lies between the ends. */
static bool decided(const finder *f, span s, tb_breakeven_sign *ret_sign)
{
    tb_i128 first = difference(f, s.from + 1), last = difference(f, s.to), steps;
    tb_i128 least = tb__piece_at(&f->a, s.from + 1) - tb__piece_at(&f->b, s.to);
    tb_i128 most = tb__piece_at(&f->a, s.to) - tb__piece_at(&f->b, s.from + 1), low, high;
    if (!__builtin_add_overflow(f->a.step, f->b.step, &steps) &&
        !__builtin_sub_overflow(first < last ? first : last, steps, &low) &&
        !__builtin_add_overflow(first < last ? last : first, steps, &high)) {
        least = low > least ? low : least;
        most = high < most ? high : most;
    }
    if (least <= 0 && most >= 0 && (least != 0 || most != 0)) return false;
    *ret_sign = sign_of(least);
    return true;
}

/* Decides (x, s.to] backwards as far as that goes; *ret_sign is its sign. Returns x. */
static tb_i128 decide_backwards(const finder *f, span s, tb_breakeven_sign *ret_sign)
{
    tb_i128 end = s.to;
    for (int i = 0; i < STRIDES_MAX && end > s.from; i++) {
        tb_i128 low = s.from, high = end; /* the smallest x with (x, end] decided */
        tb_breakeven_sign sign;
        while (low < high) {
            tb_i128 middle = low + (high - low) / 2;
            if (decided(f, (span){middle, end}, &sign))
                high = middle;
            else
                low = middle + 1;
        }
        if (high == end || !decided(f, (span){high, end}, &sign)) break;
        if (end < s.to && sign != *ret_sign) break;
        *ret_sign = sign;
        end = high;
    }
    return end;
}

static void give_up(finder *f, span s)
{
    tb_breakeven_sign sign = TB_BREAKEVEN_MANY;
    tb_i128 end = decide_backwards(f, s, &sign);
    add(f, s.from + 1, end, TB_BREAKEVEN_MANY);
    add(f, end + 1, s.to, sign);
}

static bool stepped(const tb_curve_piece *p)
{
    return p->step != 0 && p->block != 0;
}

/* Both step, and not together. */
static void find_by_halves(finder *f, span whole)
{
    span waiting[SPANS_MAX];
    size_t n = 1, runs = f->out->n;
    waiting[0] = whole;
    for (int looks = 0; n > 0; looks++) {
        span s = waiting[--n];
        tb_breakeven_sign sign;
        if (looks > LOOKS_MAX || f->out->n > runs + LISTED_MAX || f->full) {
            give_up(f, (span){s.from, whole.to});
            return;
        }
        if (straight(&f->a, s) && straight(&f->b, s)) {
            solve(f, s);
        } else if (decided(f, s, &sign)) {
            one_sign(f, s, sign);
        } else {
            tb_i128 middle = s.from + (s.to - s.from) / 2;
            waiting[n++] = (span){middle, s.to};
            waiting[n++] = (span){s.from, middle};
        }
    }
}

/* Between two ends of pieces. */
static void find_within(finder *f, span s)
{
    const tb_curve_piece *a = &f->a, *b = &f->b, *p = stepped(a) ? a : b;
    bool together = a->block == b->block && a->block && (a->anchor - b->anchor) % a->block == 0;
    if (!stepped(a) && !stepped(b))
        solve(f, s);
    else if (stepped(a) && stepped(b) && !together)
        find_by_halves(f, s);
    else
        find_by_block(f, s, p->anchor + tb__blocks_at(p, s.from + 1) * p->block, p->block);
}

static tb_code common_scale(finder *f, const tb_curve *a, const tb_curve *b, tb_error *err)
{
    int more = a->scale - b->scale;
    f->a_unit = f->b_unit = 1;
    for (int i = 0; i < more; i++)
        f->b_unit *= 10;
    for (int i = 0; i < -more; i++)
        f->a_unit *= 10;
    if (a->n && b->n && a->piece[a->n - 1].to == b->piece[b->n - 1].to) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "up-to", "The two curves do not end at one place.");
}

tb_code tb_breakeven_find(const tb_curve *a, const tb_curve *b, tb_breakeven *ret, tb_error *err)
{
    finder f = {.out = ret};
    tb_code code = common_scale(&f, a, b, err);
    if (code) return code;
    ret->n = 0;
    tb_i128 from = -1;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        tb_i128 end = a->piece[i].to < b->piece[k].to ? a->piece[i].to : b->piece[k].to;
        f.a = scaled(&f, a->piece[i], f.a_unit);
        f.b = scaled(&f, b->piece[k], f.b_unit);
        if (f.overflow)
            return tb_fail(err, TB_E_OVERFLOW, "up-to",
                           "Amounts at the finer book's digits pass 2^126-1: compare up to fewer "
                           "units.");
        find_within(&f, (span){from, end});
        if (f.full)
            return tb_fail(err, TB_E_OVERFLOW, "up-to",
                           "The two cross more than %d times: compare up to fewer units.",
                           TB_BREAKEVEN_RUNS_MAX);
        from = end;
        i += a->piece[i].to == end;
        k += b->piece[k].to == end;
    }
    return TB_OK;
}
