/* Writes numbers and strings as JSON text, text in HTML pages, and metrics for Prometheus, for all modules; no locale, and no double in a
 * counter. The writers return the end of their output and need the room that the constants of their names give.
 * tb_json_fits checks a text before it is parsed. */
#ifndef TOLLBOOK_JSON_H
#define TOLLBOOK_JSON_H

#include "tollbook/buf.h"
#include "tollbook/series.h"

TB_API_BEGIN

#define TB_U64_TEXT_MAX 20
#define TB_U128_TEXT_MAX 39
#define TB_DOUBLE_TEXT_MAX 352

char *tb_put_u64(char *out, uint64_t value);
char *tb_put_u128(char *out, tb_u128 value);
/* Shortest decimal text that reads back to the same double; plain notation; an integral value
 * prints without a point; NaN and infinities print 0 (they cannot come from counters). */
char *tb_put_double(char *out, double value);

/* A number from `start` to `end`, without an exponent: appends ".0" if it has no point, since clients with strict
 * types do not accept a whole number for a double. Room: 2. */
char *tb_put_point(const char *start, char *end);
/* The same for the number at out's end, which begins at `from`. */
void tb_json_point(tb_buf *out, size_t from);

/* Appends a quoted, escaped JSON string. Bytes that are not UTF-8 become U+FFFD. */
void tb_json_string(tb_buf *out, const char *text, size_t len);

/* Whether a text has at most TB_JSON_VALUES_MAX values, an object or a list counting as four. Call it before
 * building a tree of values from an untrusted text, which takes many times the memory of the text: `{},` is 3 bytes,
 * and some 350 in a tree. Within the limit a tree takes less than 20 MB in addition to its strings. The text need
 * not be well formed. */
#define TB_JSON_VALUES_MAX ((size_t)1 << 17)
bool tb_json_fits(const char *text, size_t len);

/* Appends the text with & < > and " as entities, safe in an element and in a quoted attribute of HTML. */
void tb_html_text(tb_buf *out, const char *text);

/* Metrics as Prometheus reads them. */
typedef enum tb_metrics_form {
    TB_METRICS_TEXT, /* Prometheus' text format 0.0.4 */
    TB_METRICS_OPEN, /* OpenMetrics 1.0.0 */
    TB_METRICS_FORMS
} tb_metrics_form;
/* The Content-Type of a form. */
const char *tb_metrics_media_type(tb_metrics_form form);

/* A family of samples. name: that of its samples. type: "counter", whose name ends with _total, "gauge", "histogram", or
 * "info", whose name ends with _info. unit: the name's last word where that is a unit, such as "bytes"; else "". */
typedef struct tb_metric_family {
    const char *name, *type, *unit, *help;
} tb_metric_family;
/* Appends the lines that stand above the family's samples. */
void tb_metric_head(tb_buf *out, tb_metrics_form form, const tb_metric_family *family);
/* Appends name="value", escaped. */
void tb_metric_label(tb_buf *out, const char *name, const char *value, size_t len);

TB_API_END

#endif
