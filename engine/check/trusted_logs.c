/* What is remembered of logs, as text (bundle.h). */
#include "tollbook/bundle.h"

#include <stdio.h>
#include <string.h>

#include "check/strict_json.h"

void tb_check_logs_write(const tb_check_log *logs, size_t n, tb_buf *out)
{
    char vkey[TB_NOTE_VKEY];
    tb_buf_str(out, "{\"v\":1,\"logs\":[");
    for (size_t i = 0; i < n; i++) {
        tb_note_key_write(&logs[i].key, vkey);
        tb_buf_str(out, i ? ",{\"key\":" : "{\"key\":");
        tb__strict_add(out, (tb_text){vkey, strlen(vkey)});
        tb_buf_str(out, ",\"checkpoint\":");
        tb__strict_add(out, logs[i].checkpoint);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]}");
}

static void take_log(tb__strict *r, tb_check_log *log)
{
    tb_error why;
    tb__strict_take(r, "key", "{");
    const tb_text vkey = tb__strict_member(r, "key");
    if (!r->code && tb_note_key_read(vkey.data, vkey.len, &log->key, &why)) tb__strict_refuse(r, "key", "%.120s", why.message);
    tb__strict_take(r, "checkpoint", ",");
    log->checkpoint = tb__strict_member(r, "checkpoint");
    tb__strict_take(r, "", "}");
}

tb_code tb_check_logs_read(char *text, size_t len, tb_check_log *ret_logs, size_t *ret_n, tb_error *err)
{
    tb__strict r = {.start = text, .at = text, .end = text + len, .err = err};
    size_t n = 0;
    tb__strict_take(&r, "v", "{\"v\":1,\"logs\":[");
    if (!tb__strict_try(&r, "]")) {
        do {
            snprintf(r.part, sizeof r.part, "logs[%zu]", n);
            if (n == TB_CHECK_LOGS_MAX) tb__strict_refuse(&r, "", "expected at most %d logs", TB_CHECK_LOGS_MAX);
            else take_log(&r, &ret_logs[n++]);
        } while (tb__strict_try(&r, ","));
        tb__strict_take(&r, "", "]");
    }
    tb__strict_take(&r, "", "}");
    if (!r.code && r.at != r.end) tb__strict_refuse(&r, "", "expected the end of the text");
    if (!r.code) *ret_n = n;
    return r.code;
}
