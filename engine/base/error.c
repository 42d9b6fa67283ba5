/* The error table's expansions and the one function that fills a tb_error. */
#include "tollbook/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    const char *name, *key, *text;
    int exit, http;
} entry;

static const entry table[TB_E_MAX_] = {
#define TB_X(name, number, exit, http, key, text) [number] = {#name, key, text, exit, http},
    TB_ERRORS(TB_X)
#undef TB_X
};

/* Numbers without a gap, so that the table has no hole. */
#define TB_X(name, number, exit, http, key, text)                                                  \
    _Static_assert(number < TB_E_MAX_, "the number of " #name " leaves a gap");
TB_ERRORS(TB_X)
#undef TB_X

static const entry *entry_of(tb_code code)
{
    return &table[(unsigned)code < TB_E_MAX_ ? code : TB_E_INTERNAL];
}

const char *tb_code_name(tb_code code)
{
    return entry_of(code)->name;
}

int tb_code_exit(tb_code code)
{
    return entry_of(code)->exit;
}

int tb_code_http(tb_code code)
{
    return entry_of(code)->http;
}

const char *tb_code_key(tb_code code)
{
    return entry_of(code)->key;
}

const char *tb_code_text(tb_code code)
{
    return entry_of(code)->text;
}

tb_code tb_fail(tb_error *err, tb_code code, const char *field, const char *fmt, ...)
{
    if (!err) return code;
    memset(err, 0, sizeof *err);
    err->code = code;
    if (field) snprintf(err->field, sizeof err->field, "%s", field);
    va_list args;
    va_start(args, fmt);
    if (fmt) vsnprintf(err->message, sizeof err->message, fmt, args);
    else snprintf(err->message, sizeof err->message, "%s", tb_code_text(code));
    va_end(args);
    return code;
}

tb_code tb_no_memory(tb_error *err)
{
    return tb_fail(err, TB_E_NOMEM, NULL, NULL);
}
