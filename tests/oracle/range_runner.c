/* The engine's side of range.py: one question per line on standard input, one answer per line on
 * standard output. Fields are separated by tabs; texts are hexadecimal, so that a question may
 * hold any byte, and a single "-" is an absent one.
 *
 *   Q <now_us> <hourly><exact><latest><statistics> <from> <to>    the range
 *   D <text>    R <text>    a date as clients send it, a strict RFC 3339 time
 *
 * Answers: "range <first> <count> <hourly>", "time <us> <formatted>", or
 * "error <code> <field> <message>". */
#include "tollbook/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 5

static int fail(const char *why)
{
    fprintf(stderr, "range_runner: %s\n", why);
    return 2;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place, to the end of the field: whatever lies behind is not the text's. */
static bool decode(char *field, tb_text *ret)
{
    *ret = (tb_text){NULL, 0};
    if (!strcmp(field, "-")) return true;
    size_t len = strlen(field);
    if (len % 2) return false;
    for (size_t i = 0; i < len / 2; i++) {
        int high = nibble(field[2 * i]), low = nibble(field[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        field[i] = (char)(high * 16 + low);
    }
    *ret = (tb_text){field, len / 2};
    return true;
}

static int split(char *line, char *fields[MAX_FIELDS])
{
    int count = 0;
    for (char *rest = line, *field; count < MAX_FIELDS && (field = strsep(&rest, "\t"));)
        fields[count++] = field;
    return count;
}

static void print_error(const tb_error *err)
{
    printf("error\t%s\t%s\t%s\n", tb_code_name(err->code), err->field, err->message);
}

static bool answer_range(char *fields[MAX_FIELDS])
{
    char *end;
    int64_t now = strtoll(fields[1], &end, 10);
    const char *flags = fields[2];
    tb_range_query query = {0};
    if (*end || strlen(flags) != 4 || !decode(fields[3], &query.from) ||
        !decode(fields[4], &query.to))
        return false;
    query.hourly = flags[0] == '1';
    query.exact = flags[1] == '1';
    query.latest = flags[2] == '1';
    query.statistics = flags[3] == '1';

    tb_range range;
    tb_error err;
    if (tb_range_resolve(&query, now, &range, &err))
        print_error(&err);
    else
        printf("range\t%lld\t%u\t%d\n", (long long)range.first, range.count, range.hourly);
    return true;
}

static bool answer_time(char *field, bool strict)
{
    tb_text text;
    tb_error err;
    int64_t us;
    char formatted[20];
    if (!decode(field, &text)) return false;
    tb_code code = strict ? tb_rfc3339_parse(text.data, text.len, &us, &err)
                          : tb_date_parse(text.data, text.len, &us, &err);
    if (code) {
        print_error(&err);
        return true;
    }
    tb_time_format(us, formatted);
    printf("time\t%lld\t%.20s\n", (long long)us, formatted);
    return true;
}

static bool answer(char *line)
{
    char *fields[MAX_FIELDS];
    int count = split(line, fields);
    if (count == 5 && !strcmp(fields[0], "Q")) return answer_range(fields);
    if (count == 2 && !strcmp(fields[0], "D")) return answer_time(fields[1], false);
    if (count == 2 && !strcmp(fields[0], "R")) return answer_time(fields[1], true);
    return false;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    while ((len = getline(&line, &room, stdin)) > 0) {
        if (line[len - 1] == '\n') line[len - 1] = 0;
        if (!answer(line)) return fail("a question does not parse");
    }
    free(line);
    return fflush(stdout) ? fail("cannot write") : 0;
}
