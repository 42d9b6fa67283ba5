#include "cli/duration.h"

#include <string.h>

#define LONG_MOST_MS (INT64_C(3653) * 24 * DURATION_MOST_MS)

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"ms", 1}, {"", 1000}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
#define SHORT_UNITS 4 /* up to m */

static bool parse(const char *text, size_t n_units, int64_t least_ms, int64_t most_ms, int64_t *ret_ms)
{
    int64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (n > most_ms) return false;
        n = n * 10 + (*p - '0');
    }
    if (p == text) return false;
    for (size_t i = 0; i < n_units; i++) {
        if (strcmp(p, units[i].name) != 0 || n > most_ms / units[i].ms) continue;
        *ret_ms = n * units[i].ms;
        return *ret_ms >= least_ms;
    }
    return false;
}

bool duration_parse(const char *text, int64_t *ret_ms)
{
    return parse(text, SHORT_UNITS, 10, DURATION_MOST_MS, ret_ms);
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

int duration_long_option(const cli_call *call, const char *name, int64_t otherwise, int64_t *ret_ms)
{
    const char *text = cli_text(call, name);
    *ret_ms = otherwise;
    if (!text || parse(text, sizeof units / sizeof *units, 1000, LONG_MOST_MS, ret_ms)) return 0;
    cli_say(call, "--%s: \"%.32s\" is not a time from 1s to 3653d. Write it like 90m, 24h or 30d.", name, text);
    return tb_code_exit(TB_E_USAGE);
}
