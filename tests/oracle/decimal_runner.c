/* Reads one operation a line, its arguments parted by blanks, and prints the result with all the
 * digits of its scale, or "!" where the engine refuses:
 *   + A B   - A B   * A B   c A B   > A PLACES   r A SCALE MODE   d A NUM DEN SCALE MODE   p TEXT
 * MAX p prints the place of the error. MODE is u (half up) or e (half even). */
#include "tollbook/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS 6

typedef struct question {
    char *argument[ARGUMENTS];
    int n;
} question;

static question split(char *line)
{
    question q = {.n = 0};
    for (char *p = strtok(line, " \n"); p && q.n < ARGUMENTS; p = strtok(NULL, " \n"))
        q.argument[q.n++] = p;
    return q;
}

static tb_decimal decimal(const char *text)
{
    tb_decimal value;
    tb_error err;
    if (!tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, &err)) return value;
    fprintf(stderr, "%s: %s\n", text, err.message);
    exit(1);
}

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static tb_rounding mode(const char *text)
{
    return *text == 'e' ? TB_HALF_EVEN : TB_HALF_UP;
}

static tb_code answer(const question *q, tb_decimal *ret)
{
    tb_decimal a = decimal(q->argument[1]);
    const char *b = q->argument[2];
    switch (q->argument[0][0]) {
    case '+': return tb_decimal_add(a, decimal(b), ret, NULL);
    case '-': return tb_decimal_sub(a, decimal(b), ret, NULL);
    case '*': return tb_decimal_mul(a, decimal(b), ret, NULL);
    case '>': return tb_decimal_shift(a, number(b), ret, NULL);
    case 'c': *ret = tb_decimal_from_int(tb_decimal_compare(a, decimal(b))); return TB_OK;
    case 'r': return tb_decimal_round(a, number(b), mode(q->argument[3]), ret, NULL);
    case 'd':
        return tb_decimal_divide(a, decimal(b).mantissa, decimal(q->argument[3]).mantissa,
                                 number(q->argument[4]), mode(q->argument[5]), ret, NULL);
    default: exit(1);
    }
}

static tb_code parse(const question *q, tb_decimal *ret)
{
    tb_error err;
    const char *text = q->argument[1];
    tb_code code = tb_decimal_parse(text, strlen(text), number(q->argument[2]), ret, &err);
    if (code) *ret = tb_decimal_from_int((tb_i128)err.byte);
    return code;
}

int main(void)
{
    char line[512];
    while (fgets(line, sizeof line, stdin)) {
        question q = split(line);
        tb_decimal result = TB_DECIMAL_ZERO;
        bool parses = q.argument[0][0] == 'p';
        tb_code code = parses ? parse(&q, &result) : answer(&q, &result);
        char text[TB_DECIMAL_TEXT_MAX + 2], *end = text;
        if (code) *end++ = '!';
        if (!code || parses) end = tb_decimal_put_fixed(end, result, result.scale);
        *end++ = '\n';
        fwrite(text, 1, (size_t)(end - text), stdout);
    }
    return 0;
}
