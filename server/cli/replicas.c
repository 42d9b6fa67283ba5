#include "cli/replicas.h"

#include <string.h>

#define KEEP_US    (INT64_C(24) * 3600 * 1000000)
#define KEEP_BYTES INT64_C(10000000000)
#define LONGEST_WAIT_S 10

typedef enum unit_kind { UNIT_US, UNIT_BYTES } unit_kind;

static const struct {
    const char *name;
    unit_kind kind;
    int64_t size;
} units[] = {
    {"s", UNIT_US, 1000000},         {"m", UNIT_US, 60000000},         {"h", UNIT_US, INT64_C(3600000000)},
    {"d", UNIT_US, INT64_C(86400000000)}, {"kB", UNIT_BYTES, 1000},    {"MB", UNIT_BYTES, 1000000},
    {"GB", UNIT_BYTES, 1000000000},  {"TB", UNIT_BYTES, INT64_C(1000000000000)},
};

/* "24h" or "10GB". */
static bool read_keep(const char *text, unit_kind *ret_kind, int64_t *ret)
{
    const size_t digits = strspn(text, "0123456789");
    int64_t n = 0;
    if (digits == 0 || digits > 9) return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].name) != 0 || n == 0 || n > INT64_MAX / 4 / units[i].size) continue;
        *ret_kind = units[i].kind;
        *ret = n * units[i].size;
        return true;
    }
    return false;
}

/* One of two words; by default the first. -1: it is another one. */
static int read_word(const cli_call *call, const char *option, const char *first, const char *second)
{
    const char *text = cli_text(call, option);
    if (!text || strcmp(text, first) == 0) return 0;
    if (strcmp(text, second) == 0) return 1;
    cli_say(call, "--%s %.40s: must be %s or %s.", option, text, first, second);
    return -1;
}

static int read_acknowledge(const cli_call *call, server_options *o)
{
    const int waits = read_word(call, "acknowledge-after", "commit", "standby");
    const int absent = read_word(call, "standby-absent", "refuse", "continue");
    if (waits < 0 || absent < 0) return tb_code_exit(TB_E_USAGE);
    if (!waits && (cli_given(call, "standby-absent") || cli_given(call, "standby-wait"))) {
        cli_say(call, "--standby-wait and --standby-absent need --acknowledge-after standby.");
        return tb_code_exit(TB_E_USAGE);
    }
    o->acknowledge_standby = waits;
    o->standby_absent = absent;
    o->standby_wait_us = cli_number(call, "standby-wait", LONGEST_WAIT_S) * 1000000;
    return 0;
}

int cli_read_replicas(const cli_call *call, server_options *o)
{
    int64_t keep[] = {[UNIT_US] = KEEP_US, [UNIT_BYTES] = KEEP_BYTES}, size;
    unit_kind kind;
    o->replicas = cli_given(call, "replicas");
    for (size_t i = 0; i < call->n_values; i++) {
        const char *text = call->values[i].text;
        if (strcmp(call->values[i].option->name, "replica-keep") != 0) continue;
        if (!read_keep(text, &kind, &size)) {
            cli_say(call, "--replica-keep %.40s: must be a time such as 24h or 7d, or a size such as 10GB; give it twice for both.",
                    text);
            return tb_code_exit(TB_E_USAGE);
        }
        keep[kind] = size;
    }
    o->keep_us = keep[UNIT_US];
    o->keep_bytes = keep[UNIT_BYTES];
    return read_acknowledge(call, o);
}

void cli_warn_replicas(const cli_call *call, const server *s)
{
    const listener *l = front_listener(s->front);
    char text[LISTEN_TEXT_MAX];
    if (!s->replicated || s->options.tls) return;
    for (size_t i = 0; i < s->options.n_listen && i < l->n; i++) {
        listen_text(l, i, text);
        if (strncmp(text, "127.", 4) == 0 || strncmp(text, "[::1]", 5) == 0) continue;
        cli_warn(call, "the stream of replicas holds everything, invoices and keys' hashes too, and %s is plain HTTP: serve it "
                       "with --tls-cert and --tls-key, or put a tunnel between the machines.", text);
        return;
    }
}
