/* What the targets of described formats share: the input's first line is a description (or a map), the rest
 * is a log. What must hold: a description compiles or says why; its texts make the same layout again;
 * and of the lines what prop/intake_check.h asks. */
#ifndef TB_FUZZ_DESCRIBED_H
#define TB_FUZZ_DESCRIBED_H

#include "prop/intake_check.h"
#include "tollbook/intake.h"

#include <stdio.h>

static void described_must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static tb_known_hosts *described_hosts(void)
{
    tb_known_hosts *hosts;
    tb_error err;
    described_must(tb_known_hosts_new(&hosts, &err) == TB_OK, "no memory");
    described_must(tb_known_hosts_add(hosts, "a.example", 9, 101, &err) == TB_OK, "no memory");
    described_must(tb_known_hosts_add(hosts, "b.example", 9, 102, &err) == TB_OK, "no memory");
    return hosts;
}

/* The layout's own texts say the same again. */
static void described_again(const tb_log_layout *layout)
{
    tb_log_spec spec, other;
    tb_log_layout twin;
    tb_error err;
    tb_log_layout_spec(layout, &spec);
    described_must(tb_log_layout_init(&twin, &spec, &err) == TB_OK, "its own texts are refused");
    tb_log_layout_identity(layout, &spec);
    tb_log_layout_identity(&twin, &other);
    described_must(spec.format.len == other.format.len &&
                       memcmp(spec.format.data, other.format.data, spec.format.len) == 0,
                   "its own texts are another log's");
    tb_log_layout_release(&twin);
}

static int described_input(const char *prefix, bool map, const uint8_t *data, size_t size)
{
    char text[TB_LOG_TEXT_MAX * 2];
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    const size_t len = newline ? (size_t)(newline - data) : size, at = strlen(prefix);
    if (len > TB_LOG_TEXT_MAX) return 0;
    memcpy(text, prefix, at);
    memcpy(text + at, data, len);
    const tb_text described = {map ? (const char *)data : text, map ? len : at + len};
    const tb_log_spec spec = {.format = map ? (tb_text){"json", 4} : described,
                              .map = map ? described : (tb_text){"", 0},
                              .zone = len & 1 ? 7 : 0};
    tb_log_layout layout;
    tb_error err;
    const tb_code code = tb_log_layout_init(&layout, &spec, &err);
    described_must(code == TB_OK || (code == TB_E_VALIDATION && err.field[0] && err.message[0]),
                   "a refusal without a field");
    if (code) return 0;
    described_again(&layout);
    tb_known_hosts *hosts = described_hosts();
    layout.hosts = hosts;
    layout.now_ms = INT64_C(1794960000000);
    const size_t rest = newline ? size - len - 1 : 0;
    char *bytes = with_slack((const char *)data + (newline ? len + 1 : 0), rest, 0);
    if (tb_log_layout_head(&layout, bytes, rest, &err) == TB_OK) {
        const char *wrong = intake_check(&layout, bytes, rest, (uint64_t)size * 2654435761u);
        described_must(!wrong, wrong ? wrong : "");
    }
    free(bytes);
    tb_known_hosts_free(hosts);
    tb_log_layout_release(&layout);
    return 0;
}

#endif
