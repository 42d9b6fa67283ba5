/* Metrics as text: Prometheus' text format 0.0.4, and OpenMetrics 1.0.0, in which a family's name has no suffix and
 * an info metric is a type of its own. */
#include "tollbook/json.h"

#include <string.h>

const char *tb_metrics_media_type(tb_metrics_form form)
{
    static const char *const types[TB_METRICS_FORMS] = {
        [TB_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [TB_METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
    };
    return types[form];
}

void tb_metric_head(tb_buf *out, tb_metrics_form form, const tb_metric_family *family)
{
    const bool open = form == TB_METRICS_OPEN, info = strcmp(family->type, "info") == 0;
    const char *suffix = info ? "_info" : strcmp(family->type, "counter") == 0 ? "_total" : "";
    const int len = (int)(strlen(family->name) - (open ? strlen(suffix) : 0));
    tb_buf_fmt(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", len, family->name, family->help, len, family->name,
               info && !open ? "gauge" : family->type);
    if (open && family->unit[0]) tb_buf_fmt(out, "# UNIT %.*s %s\n", len, family->name, family->unit);
}

void tb_metric_label(tb_buf *out, const char *name, const char *value, size_t len)
{
    tb_buf_fmt(out, "%s=\"", name);
    for (size_t i = 0; i < len; i++) {
        const char c = value[i];
        if (c == '\n') tb_buf_str(out, "\\n");
        else if (c == '"' || c == '\\') tb_buf_fmt(out, "\\%c", c);
        else tb_buf_add(out, &c, 1);
    }
    tb_buf_str(out, "\"");
}
