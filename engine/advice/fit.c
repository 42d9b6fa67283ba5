/* A robust regression (bisquare) on level, weekly season and trend. Columns: 1, six contrasts of
 * weekdays (each against Sunday, so that the season sums to zero over a week), and weeks before the
 * end of history. Days are divided by the largest, for GSL's bounds are not relative. */
#include "advice/single.h"

#include <gsl/gsl_multifit.h>
#include <math.h>

#define PARAMETERS 8

typedef struct fitting {
    const tb__known *known;
    double unit; /* the largest day */
    gsl_matrix *x, *covariance;
    gsl_vector *y, *c;
    gsl_multifit_robust_workspace *robust;
} fitting;

static void row(const fitting *f, size_t t, double *out)
{
    size_t weekday = ((size_t)f->known->first_weekday + t) % 7;
    out[0] = 1;
    for (size_t k = 0; k < 6; k++)
        out[1 + k] = weekday == k ? 1 : weekday == 6 ? -1 : 0;
    out[7] = ((double)t - (double)f->known->n + 1) / 7;
}

static bool fit_room(fitting *f)
{
    size_t n = f->known->n;
    f->x = gsl_matrix_alloc(n, PARAMETERS);
    f->covariance = gsl_matrix_alloc(PARAMETERS, PARAMETERS);
    f->y = gsl_vector_alloc(n);
    f->c = gsl_vector_alloc(PARAMETERS);
    f->robust = gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, PARAMETERS);
    return f->x && f->covariance && f->y && f->c && f->robust;
}

static void release(fitting *f)
{
    if (f->x) gsl_matrix_free(f->x);
    if (f->covariance) gsl_matrix_free(f->covariance);
    if (f->y) gsl_vector_free(f->y);
    if (f->c) gsl_vector_free(f->c);
    if (f->robust) gsl_multifit_robust_free(f->robust);
}

/* A fit that did not converge is the best there is. */
static void solve(fitting *f)
{
    for (size_t t = 0; t < f->known->n; t++) {
        row(f, t, gsl_matrix_ptr(f->x, t, 0));
        gsl_vector_set(f->y, t, f->known->day[t] / f->unit);
    }
    gsl_multifit_robust(f->x, f->y, f->c, f->covariance, f->robust);
}

/* The sum of the days to come and its variance. */
static void add_up(const fitting *f, size_t ahead, double *ret_sum, double *ret_variance)
{
    double whole[PARAMETERS] = {0}, one[PARAMETERS];
    double sigma = gsl_multifit_robust_statistics(f->robust).sigma;
    for (size_t d = 0; d < ahead; d++) {
        row(f, f->known->n + d, one);
        for (size_t i = 0; i < PARAMETERS; i++)
            whole[i] += one[i];
    }
    *ret_sum = 0;
    *ret_variance = (double)ahead * sigma * sigma;
    for (size_t i = 0; i < PARAMETERS; i++) {
        *ret_sum += whole[i] * gsl_vector_get(f->c, i);
        for (size_t j = 0; j < PARAMETERS; j++)
            *ret_variance += whole[i] * gsl_matrix_get(f->covariance, i, j) * whole[j];
    }
}

tb_code tb__fit_robust(const tb__known *known, size_t ahead, double *ret_sum, double *ret_deviation,
                       tb_error *err)
{
    fitting f = {.known = known};
    tb_code code = tb_advice_ready(err);
    double variance = 0;
    if (code) return code;
    for (size_t t = 0; t < known->n; t++)
        f.unit = fmax(f.unit, known->day[t]);
    if (fit_room(&f)) {
        solve(&f);
        add_up(&f, ahead, ret_sum, &variance);
        *ret_sum *= f.unit;
        *ret_deviation = sqrt(variance) * f.unit;
    } else {
        code = tb_no_memory(err);
    }
    release(&f);
    return code;
}
