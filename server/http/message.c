#include "http/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/clock.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#define TEXT_MOST ((size_t)4 << 20)

static const struct {
    const char *name;
    int priority;
} levels[] = {
#define TB_X(level, name, priority) {name, priority},
    MESSAGE_LEVELS(TB_X)
#undef TB_X
};

static message_options used = {.least = MESSAGE_INFO, .fixed_us = INT64_MIN};
static void (*put_hints)(const char *text, tb_buf *out);

void message_use(const message_options *options)
{
    used = *options;
}

void message_use_hints(void (*put)(const char *text, tb_buf *out))
{
    put_hints = put;
}

bool message_wanted(message_level level)
{
    return level <= used.least;
}

/* Whether standard error is the stream that systemd named: a shell in between may have led it elsewhere. */
static bool is_journal(void)
{
    char name[64];
    struct stat about;
    const char *stream = getenv("JOURNAL_STREAM");
    if (!stream || fstat(STDERR_FILENO, &about) != 0) return false;
    snprintf(name, sizeof name, "%llu:%llu", (unsigned long long)about.st_dev, (unsigned long long)about.st_ino);
    return strcmp(name, stream) == 0;
}

/* --- the forms --- */

static void put_moment(int64_t us, tb_buf *out)
{
    char second[20];
    tb_time_format(us, second);
    tb_buf_fmt(out, "%.19s.%03dZ", second, (int)(us / 1000 % 1000));
}

/* The message's own line ends and tabs stay. Each line of the journal begins with `begin`. */
static void put_shown(const char *text, const char *begin, tb_buf *out)
{
    while (*text) {
        const size_t len = strcspn(text, "\n\t");
        tb_buf_shown(out, text, len);
        text += len;
        if (!*text) break;
        tb_buf_add(out, text, 1);
        if (*text++ == '\n') tb_buf_str(out, begin);
    }
}

static void put_text(const message_options *o, bool journal, message_level level, int64_t at_us, const char *text, tb_buf *out)
{
    char begin[8] = "";
    if (journal) snprintf(begin, sizeof begin, "<%d>", levels[level].priority);
    tb_buf_str(out, begin);
    if (o->moments && !journal) {
        put_moment(at_us, out);
        tb_buf_fmt(out, " %s ", levels[level].name);
    }
    tb_buf_fmt(out, "%s%s%s: ", o->program ? o->program : "tollbook", o->command ? " " : "", o->command ? o->command : "");
    put_shown(text, begin, out);
    tb_buf_str(out, "\n");
}

/* "time" is as in the access log. The journal takes the priority off. */
static void put_json(const message_options *o, bool journal, message_level level, int64_t at_us, const char *text, tb_buf *out)
{
    tb_buf shown;
    tb_buf_init(&shown, TEXT_MOST, NULL);
    put_shown(text, "", &shown);
    if (journal) tb_buf_fmt(out, "<%d>", levels[level].priority);
    tb_buf_str(out, "{\"time\":\"");
    put_moment(at_us, out);
    tb_buf_fmt(out, "\",\"level\":\"%s\",\"command\":", levels[level].name);
    tb_json_string(out, o->command ? o->command : "", o->command ? strlen(o->command) : 0);
    tb_buf_str(out, ",\"message\":");
    tb_json_string(out, shown.len ? shown.data : "", shown.len);
    tb_buf_str(out, "}\n");
    tb_buf_release(&shown);
}

void message_encode(const message_options *options, bool journal, message_level level, int64_t at_us, const char *text,
                    tb_buf *out)
{
    if (options->json) put_json(options, journal, level, at_us, text, out);
    else put_text(options, journal, level, at_us, text, out);
}

/* --- writing --- */

void message_put(message_level level, const char *text)
{
    tb_buf line;
    tb_buf_init(&line, TEXT_MOST, NULL);
    message_encode(&used, is_journal(), level, clock_now_us(used.fixed_us), text, &line);
    for (size_t at = 0; at < line.len;) {
        const ssize_t n = write(STDERR_FILENO, line.data + at, line.len - at);
        if (n < 0 && errno != EINTR) break; /* there is nobody to tell */
        if (n > 0) at += (size_t)n;
    }
    tb_buf_release(&line);
}

static void put_hinted(message_level level, const char *text)
{
    tb_buf said;
    tb_buf_init(&said, TEXT_MOST, NULL);
    put_hints(text, &said);
    tb_buf_add(&said, "", 1);
    message_put(level, said.failed ? text : said.data);
    tb_buf_release(&said);
}

static void say(message_level level, const char *fmt, va_list args)
{
    char *text;
    if (!message_wanted(level)) return;
    const int n = vasprintf(&text, fmt, args);
    if (put_hints) put_hinted(level, n < 0 ? fmt : text);
    else message_put(level, n < 0 ? fmt : text);
    if (n >= 0) free(text);
}

#define SAY(level)                                                                                 \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, fmt);                                                                       \
        say(level, fmt, args);                                                                     \
        va_end(args);                                                                              \
    } while (0)

void message_say(message_level level, const char *fmt, ...)
{
    SAY(level);
}

void message_note(const char *fmt, ...)
{
    SAY(MESSAGE_INFO);
}

void message_error(const char *fmt, ...)
{
    SAY(MESSAGE_ERROR);
}
