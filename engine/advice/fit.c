/* The regression. Columns: 1, six contrasts of weekdays (each against Sunday, so that the season
 * sums to zero over a week), and weeks before the end of history for the trend.
 *
 * Days are divided by the largest, for GSL's bounds are not relative. The pull of a past day on the
 * days to come is that of the weighted least squares at which the robust fit ended: row g of the
 * future times (X'WX)^-1 X'W. Doubles end here: what leaves is rounded to whole units. */
#include "advice/model.h"

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS_MAX 8
#define DEVIATIONS     6      /* a residual counts up to so many robust deviations */
#define MAD_TO_SIGMA   1.4826 /* of a normal distribution */

typedef struct fitting {
    const tb__fit *in;
    size_t n, p;
    double unit; /* the largest day */
    gsl_matrix *x, *covariance;
    gsl_vector *y, *c;
    gsl_multifit_robust_workspace *robust;
    double *size; /* of residuals, sorted */
} fitting;

static void row(const fitting *f, long day, double *out)
{
    long weekday = (f->in->first_weekday + day) % 7;
    out[0] = 1;
    for (long k = 0; k < 6; k++)
        out[1 + k] = weekday == k ? 1 : weekday == 6 ? -1 : 0;
    if (f->in->trend) out[7] = (double)(day - (long)f->n + 1) / 7;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static bool make_room(fitting *f)
{
    f->x = gsl_matrix_alloc(f->n, f->p);
    f->covariance = gsl_matrix_alloc(f->p, f->p);
    f->y = gsl_vector_alloc(f->n);
    f->c = gsl_vector_alloc(f->p);
    f->robust = gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, f->n, f->p);
    f->size = malloc(f->n * sizeof *f->size);
    return f->x && f->covariance && f->y && f->c && f->robust && f->size;
}

static void release(fitting *f)
{
    if (f->x) gsl_matrix_free(f->x);
    if (f->covariance) gsl_matrix_free(f->covariance);
    if (f->y) gsl_vector_free(f->y);
    if (f->c) gsl_vector_free(f->c);
    if (f->robust) gsl_multifit_robust_free(f->robust);
    free(f->size);
}

static bool solve(fitting *f)
{
    for (size_t t = 0; t < f->n; t++) {
        row(f, (long)t, gsl_matrix_ptr(f->x, t, 0));
        gsl_vector_set(f->y, t, (double)f->in->day[t] / f->unit);
    }
    if (gsl_multifit_robust(f->x, f->y, f->c, f->covariance, f->robust) != GSL_SUCCESS)
        return false;
    for (size_t i = 0; i < f->p; i++)
        if (!isfinite(gsl_vector_get(f->c, i))) return false;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Whole units within +-limit. */
static int64_t whole(double value, double limit)
{
    if (value > limit) value = limit;
    if (value < -limit) value = -limit;
    return (int64_t)floor(value + 0.5);
}

/* Residuals, as wide as the true errors are and bounded; the largest day so bounded. */
static double bound_noise(fitting *f, int64_t *noise, size_t *ret_bounded)
{
    double wider = sqrt((double)f->n / (double)(f->n - f->p)), largest = 0;
    for (size_t t = 0; t < f->n; t++) {
        double r = gsl_vector_get(f->y, t) - dot(gsl_matrix_ptr(f->x, t, 0), f->c->data, f->p);
        f->size[t] = fabs(r);
    }
    qsort(f->size, f->n, sizeof *f->size, by_value);
    double bound = DEVIATIONS * MAD_TO_SIGMA * f->size[f->n / 2];
    double usual = f->size[(f->n * 95 + 99) / 100 - 1];
    bound = usual > bound ? usual : bound;
    *ret_bounded = 0;
    for (size_t t = 0; t < f->n; t++) {
        double fit = dot(gsl_matrix_ptr(f->x, t, 0), f->c->data, f->p);
        double r = gsl_vector_get(f->y, t) - fit;
        if (fabs(r) > bound * (1 + 1e-9)) {
            r = r > 0 ? bound : -bound;
            ++*ret_bounded;
        }
        noise[t] = whole(r * wider * f->unit, (double)TB_FORECAST_DAY_MAX);
        if ((fit + r) * f->unit > largest) largest = (fit + r) * f->unit;
    }
    return largest;
}

static void predict(const fitting *f, double largest, int64_t *fitted)
{
    double x[PARAMETERS_MAX];
    for (size_t d = 0; d < f->in->ahead->n; d++) {
        row(f, (long)(f->n + d), x);
        double value = dot(x, f->c->data, f->p) * f->unit;
        fitted[d] = whole(value < 0 ? 0 : value, 2 * largest);
    }
}

/* X'WX, and the mean row of the days to come. */
static void normal(const fitting *f, const gsl_vector *weights, gsl_matrix *a, gsl_vector *g)
{
    double x[PARAMETERS_MAX], whole_time = 0;
    const tb__ahead *ahead = f->in->ahead;
    gsl_matrix_set_zero(a);
    gsl_vector_set_zero(g);
    for (size_t t = 0; t < f->n; t++)
        for (size_t i = 0; i < f->p; i++)
            for (size_t j = 0; j < f->p; j++)
                *gsl_matrix_ptr(a, i, j) += gsl_vector_get(weights, t) *
                                            gsl_matrix_get(f->x, t, i) * gsl_matrix_get(f->x, t, j);
    for (size_t d = 0; d < ahead->n; d++)
        whole_time += (double)ahead->share_us[d];
    for (size_t d = 0; d < ahead->n; d++) {
        row(f, (long)(f->n + d), x);
        for (size_t i = 0; i < f->p; i++)
            *gsl_vector_ptr(g, i) += x[i] * ((double)ahead->share_us[d] / whole_time);
    }
}

static bool find_pull(fitting *f, double *pull)
{
    gsl_vector *g = gsl_vector_alloc(f->p);
    gsl_multifit_robust_stats stats = gsl_multifit_robust_statistics(f->robust);
    bool settled = false;
    if (!g) return false;
    normal(f, stats.weights, f->covariance, g);
    if (gsl_linalg_cholesky_decomp1(f->covariance) == GSL_SUCCESS &&
        gsl_linalg_cholesky_svx(f->covariance, g) == GSL_SUCCESS) {
        settled = true;
        for (size_t t = 0; t < f->n; t++) {
            pull[t] =
                gsl_vector_get(stats.weights, t) * dot(gsl_matrix_ptr(f->x, t, 0), g->data, f->p);
            settled = settled && isfinite(pull[t]);
        }
    }
    gsl_vector_free(g);
    return settled;
}

tb_code tb__fit_robust(const tb__fit *fit, int64_t *ret_fitted, int64_t *ret_noise,
                       double *ret_pull, size_t *ret_bounded, bool *ret_settled, tb_error *err)
{
    fitting f = {.in = fit, .n = fit->n, .p = fit->trend ? 8 : 7};
    tb_code code = tb_advice_ready(err);
    if (code) return code;
    for (size_t t = 0; t < f.n; t++)
        if ((double)fit->day[t] > f.unit) f.unit = (double)fit->day[t];
    if (f.unit > 0 && make_room(&f)) {
        *ret_settled = solve(&f) && find_pull(&f, ret_pull);
        if (*ret_settled) predict(&f, bound_noise(&f, ret_noise, ret_bounded), ret_fitted);
    } else {
        *ret_settled = false;
        if (f.unit > 0) code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    }
    release(&f);
    return code;
}
