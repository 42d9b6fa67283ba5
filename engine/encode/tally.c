#include "encode/tally.h"

#include <inttypes.h>

#include "tollbook/json.h"

void tb__tally_put(const tb__tally *t, const char *name, size_t most, const char *counted, bool with_bytes, tb_buf *out)
{
    const tb__tally_entry *top[TB__TALLY_TOP];
    const size_t n = tb__tally_top(t, most < TB__TALLY_TOP ? most : TB__TALLY_TOP, top);
    tb_buf_fmt(out, "\"%s\":{", name);
    if (t->missed) tb_buf_fmt(out, "\"exact\":false,\"missed\":%" PRIu64, t->missed);
    else tb_buf_fmt(out, "\"exact\":true,\"distinct\":%zu", t->n);
    tb_buf_str(out, ",\"values\":[");
    for (size_t i = 0; i < n; i++) {
        const tb_text text = tb__tally_text(t, top[i]);
        tb_buf_str(out, i ? ",{\"value\":" : "{\"value\":");
        tb_json_string(out, text.data, text.len);
        tb_buf_fmt(out, ",\"%s\":%" PRIu64, counted, top[i]->count);
        if (with_bytes) tb_buf_fmt(out, ",\"bytes\":%" PRIu64, top[i]->bytes);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]}");
}
