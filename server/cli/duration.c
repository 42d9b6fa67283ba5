#include "cli/duration.h"

#include <string.h>

bool duration_parse(const char *text, int64_t *ret_ms)
{
    int64_t n = 0, unit;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (n > DURATION_MOST_MS) return false;
        n = n * 10 + (*p - '0');
    }
    if (p == text) return false;
    if (!*p || strcmp(p, "s") == 0)
        unit = 1000;
    else if (strcmp(p, "ms") == 0)
        unit = 1;
    else if (strcmp(p, "m") == 0)
        unit = 60000;
    else
        return false;
    *ret_ms = n * unit;
    return *ret_ms >= 10 && *ret_ms <= DURATION_MOST_MS;
}

int duration_option(const cli_call *call, const char *name, int64_t otherwise, int64_t *ret_ms)
{
    const char *text = cli_text(call, name);
    *ret_ms = otherwise;
    if (!text || duration_parse(text, ret_ms)) return 0;
    cli_say(call, "--%s: \"%.32s\" is not a time from 10ms to 60m. Write it like 500ms, 2s or 1m.",
            name, text);
    return tb_code_exit(TB_E_USAGE);
}
