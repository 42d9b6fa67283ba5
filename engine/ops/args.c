/* Arguments by the rows of an operation: each value is checked when it is added, so that an operation reads only
 * values within its bounds. jansson validates a body and reads its small members; the bytes of a document are found
 * by scanning the text, which is known to be well formed, so that its numbers stay decimals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/list.h"
#include "ops/operations.h"
#include "ops/prices/slices.h"
#include "tollbook/calendar.h"

void tb_args_init(tb_args *args, const tb_operation *operation)
{
    *args = (tb_args){.operation = operation};
}

/* A block of texts begins with the address of the one before it. */
void tb_args_release(tb_args *args)
{
    for (char *block = args->texts; block;) {
        char *before;
        memcpy(&before, block, sizeof before);
        free(block);
        block = before;
    }
    free(args->list);
    free(args->next);
    *args = (tb_args){.operation = args->operation};
}

static char *keep_text(tb_args *args, const char *text, size_t len)
{
    const size_t link = sizeof(char *);
    char *block = malloc(link + len + 1);
    if (!block) return NULL;
    memcpy(block, &args->texts, link);
    args->texts = block;
    char *kept = block + link;
    memcpy(kept, text, len);
    kept[len] = 0;
    return kept;
}

/* --- rows --- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The wire leaves the dashes out, and letter case does not matter. */
static bool spells(const char *name, const char *text, size_t len)
{
    size_t at = 0;
    for (; *name; name++) {
        if (*name == '-') {
            if (at < len && text[at] == '-') at++;
            continue;
        }
        if (at == len || lower(text[at]) != lower(*name)) return false;
        at++;
    }
    return at == len;
}

const tb_param *tb_param_find(const tb_operation *operation, const char *name, size_t len)
{
    for (size_t i = 0; i < operation->n_params; i++) {
        const tb_param *p = &operation->params[i];
        if (spells(p->name, name, len) || (p->wire && spells(p->wire, name, len))) return p;
    }
    return NULL;
}

void tb_param_wire(const tb_param *param, char out[64])
{
    size_t n = 0;
    for (const char *at = param->wire ? param->wire : param->name; *at && n < 63; at++) {
        bool up = at[0] == '-' && at[1] >= 'a' && at[1] <= 'z';
        if (up) at++;
        out[n++] = up ? (char)(*at - 32) : *at;
    }
    out[n] = 0;
}

/* --- one value --- */

static bool is_digits(const char *text, size_t len, int64_t *ret)
{
    bool negative = len > 1 && text[0] == '-';
    int64_t value = 0;
    if (len == 0) return false;
    for (size_t i = negative; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[i] - '0', &value))
            return false;
    }
    *ret = negative ? -value : value;
    return true;
}

bool tb__next_number(const char **next, int64_t *ret)
{
    const size_t len = strcspn(*next, " ");
    if (!is_digits(*next, len, ret) || *ret < 0) return false;
    *next += len + ((*next)[len] == ' ');
    return true;
}

tb_code tb__next_wrong(tb_error *err)
{
    return tb_fail(err, TB_E_VALIDATION, "next", "It must be what the last answer said.");
}

static tb_code check_number(const tb_param *p, const char *text, size_t len, int64_t *ret,
                            tb_error *err)
{
    if (is_digits(text, len, ret) && *ret >= p->min && *ret <= p->max) return TB_OK;
    tb_error why;
    tb_code code = tb_refuse_number(&why, p->name, text, len, p->min, p->max);
    return p->list ? tb_fail(err, code, p->name, "%.200s Find it with: tollbook %s", why.message, p->list)
                   : tb_fail(err, code, p->name, "%s (%.160s)", why.message, p->help);
}

static bool is_word(const char *words, const char *text, size_t len)
{
    for (const char *word = words; len && *word;) {
        size_t n = strcspn(word, "|");
        if (n == len && memcmp(word, text, n) == 0) return true;
        word += n + (word[n] == '|');
    }
    return false;
}

static tb_code check_text(const tb_param *p, const char *text, size_t len, tb_error *err)
{
    if (len == 0 && p->min)
        return tb_fail(err, TB_E_VALIDATION, p->name, "It must not be empty.");
    if (len < (size_t)p->min)
        return tb_fail(err, TB_E_VALIDATION, p->name, "It has %zu bytes; it must have at least "
                                        "%lld.",
                       len, (long long)p->min);
    if (p->max && len > (size_t)p->max)
        return tb_fail(err, TB_E_VALIDATION, p->name, "It has %zu bytes; it may have at most %lld.",
                       len, (long long)p->max);
    if (p->file ? !memchr(text, 0, len) : tb__is_printable(text, len)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, p->name,
                   "It has control characters, or is not UTF-8.");
}

static tb_code check_document(const tb_param *p, size_t len, tb_error *err)
{
    if (!p->max || len <= (size_t)p->max) return TB_OK;
    return tb_fail(err, TB_E_TOO_LARGE, p->name, "It is longer than %lld bytes.",
                   (long long)p->max);
}

static tb_code check_value(const tb_param *p, const char *text, size_t len, int64_t *ret,
                           tb_error *err)
{
    const int shown = (int)(len < 64 ? len : 64);
    switch (p->kind) {
    case TB_PARAM_FLAG: return TB_OK;
    case TB_PARAM_NUMBER: return check_number(p, text, len, ret, err);
    case TB_PARAM_TEXT:
    case TB_PARAM_FOLDER: return check_text(p, text, len, err);
    case TB_PARAM_CHOICE:
        if (is_word(p->value, text, len)) return TB_OK;
        return tb_refuse_word(err, p->name, p->value, text, len);
    case TB_PARAM_MONTH:
        if (tb_month_parse(text, len, ret)) return TB_OK;
        return tb_fail(err, TB_E_VALIDATION, p->name,
                       "\"%.*s\" is not a month. Write it like 2026-10.", shown, text);
    case TB_PARAM_DOCUMENT:
    case TB_PARAM_NAMED: return check_document(p, len, err);
    }
    return tb_fail(err, TB_E_INTERNAL, p->name, NULL);
}

static tb_code make_room(tb_args *args, tb_error *err)
{
    if (args->n < args->cap) return TB_OK;
    if (args->n >= TB_ARGS_MAX)
        return tb_fail(err, TB_E_VALIDATION, NULL, "More than %d values are given.", TB_ARGS_MAX);
    return tb__grow(&args->list, args->n, &args->cap, sizeof *args->list, err);
}

tb_code tb_args_add(tb_args *args, const tb_param *param, const char *text, size_t len,
                    tb_error *err)
{
    const bool document = param->kind == TB_PARAM_DOCUMENT || param->kind == TB_PARAM_NAMED;
    tb_arg arg = {.param = param, .text = {text, len}};
    if (!param->repeats && tb_arg_given(args, param->name))
        return tb_fail(err, TB_E_VALIDATION, param->name, "It is given twice. Give it once.");
    tb_code code = check_value(param, text, len, &arg.number, err);
    if (!code) code = make_room(args, err);
    if (!code && !document && !(arg.text.data = keep_text(args, text, len))) code = tb_no_memory(err);
    if (!code) args->list[args->n++] = arg;
    return code;
}

static tb_code add_default(tb_args *args, const tb_param *p, bool terminal, tb_error *err)
{
    const char *text = terminal && p->terminal ? p->terminal : p->otherwise;
    if (tb_arg_given(args, p->name)) return TB_OK;
    if (p->required) return tb_fail(err, TB_E_VALIDATION, p->name, "It is missing.");
    return text ? tb_args_add(args, p, text, strlen(text), err) : TB_OK;
}

tb_code tb_args_end(tb_args *args, bool terminal, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < args->operation->n_params; i++)
        code = add_default(args, &args->operation->params[i], terminal, err);
    return code;
}

/* --- a JSON body --- */

static tb_code wrong_type(const tb_param *p, tb_error *err)
{
    static const char *const kinds[] = {
        [TB_PARAM_FLAG] = "true or false",      [TB_PARAM_NUMBER] = "a whole number",
        [TB_PARAM_TEXT] = "a text",             [TB_PARAM_CHOICE] = "a text",
        [TB_PARAM_MONTH] = "a text",            [TB_PARAM_DOCUMENT] = "a JSON object",
        [TB_PARAM_NAMED] = "a JSON object, or the name of a stored one",
        [TB_PARAM_FOLDER] = "a text",
    };
    return tb_fail(err, TB_E_VALIDATION, p->name, "It must be %s.", kinds[p->kind]);
}

static tb_code add_json(tb_args *args, const tb_param *p, const json_t *value, tb__slice raw,
                        tb_error *err)
{
    char number[24];
    if (json_is_null(value)) return TB_OK;
    if (p->kind == TB_PARAM_FLAG) {
        if (!json_is_boolean(value)) return wrong_type(p, err);
        return json_is_true(value) ? tb_args_add(args, p, "", 0, err) : TB_OK;
    }
    if (p->kind == TB_PARAM_NUMBER) {
        if (!json_is_integer(value)) return wrong_type(p, err);
        int n = snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return tb_args_add(args, p, number, (size_t)n, err);
    }
    const bool document = p->kind == TB_PARAM_DOCUMENT || p->kind == TB_PARAM_NAMED;
    if (document && json_is_object(value)) return tb_args_add(args, p, raw.text, raw.len, err);
    if (p->kind == TB_PARAM_DOCUMENT || !json_is_string(value)) return wrong_type(p, err);
    if (document) return tb_args_add(args, p, raw.text, raw.len, err); /* a name, in its quotes */
    return tb_args_add(args, p, json_string_value(value), json_string_length(value), err);
}

static tb_code add_list(tb_args *args, const tb_param *p, const json_t *list, tb__slice raw,
                        tb_error *err)
{
    tb_code code = TB_OK;
    tb__slices at = tb__slices_of(raw);
    if (json_array_size(list) == 0)
        return tb_fail(err, TB_E_VALIDATION, p->name, "It must not be an empty list.");
    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        const tb__slice one = tb__slices_next(&at);
        code = json_is_null(value) ? wrong_type(p, err) : add_json(args, p, value, one, err);
    }
    return code;
}

tb_code tb_args_next(tb_args *args, const char *next, size_t len, tb_error *err)
{
    char *kept = len ? malloc(len + 1) : NULL;
    if (len && !kept) return tb_no_memory(err);
    if (kept) {
        memcpy(kept, next, len);
        kept[len] = 0;
    }
    free(args->next); /* a long run has many */
    args->next = kept;
    return TB_OK;
}

static tb_code refuse_member(const tb_operation *operation, const char *name, tb_error *err)
{
    char words[1024] = "", wire[64], meant[TB_MEANT_MAX];
    for (size_t i = 0, used = 0; i < operation->n_params && used < sizeof words; i++) {
        tb_param_wire(&operation->params[i], wire);
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? "|" : "", wire);
    }
    return tb_fail(err, TB_E_VALIDATION, name, "Unknown member \"%.40s\".%s", name,
                   tb_meant(words, "", name, strlen(name), meant));
}

static tb_code add_member(tb_args *args, const char *name, const json_t *value, tb__slice raw,
                          tb_error *err)
{
    if (strcmp(name, "next") == 0 && json_is_string(value))
        return tb_args_next(args, json_string_value(value), json_string_length(value), err);
    const tb_param *p = tb_param_find(args->operation, name, strlen(name));
    if (!p) return refuse_member(args->operation, name, err);
    if (json_is_array(value) && p->repeats) return add_list(args, p, value, raw, err);
    return add_json(args, p, value, raw, err);
}

tb_code tb_args_json(tb_args *args, const char *body, size_t len, tb_error *err)
{
    tb_error why;
    const char *name;
    json_t *value;
    tb_code code = TB_OK;
    json_t *root = tb__body_read(body, len, &why);
    if (!root) return tb_fail(err, why.code, NULL, "%s", why.message);
    json_object_foreach(root, name, value)
    {
        if (!code) code = add_member(args, name, value, tb__slice_member(body, len, name), err);
    }
    json_decref(root);
    return code;
}

/* --- given arguments --- */

const tb_arg *tb_arg_nth(const tb_args *args, const char *name, size_t n)
{
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->list[i].param->name, name) == 0 && n-- == 0) return &args->list[i];
    return NULL;
}

const tb_arg *tb_arg_of(const tb_args *args, const char *name)
{
    for (size_t i = args->n; i > 0; i--)
        if (strcmp(args->list[i - 1].param->name, name) == 0) return &args->list[i - 1];
    return NULL;
}

bool tb_arg_given(const tb_args *args, const char *name)
{
    return tb_arg_of(args, name) != NULL;
}

const char *tb_arg_text(const tb_args *args, const char *name)
{
    const tb_arg *arg = tb_arg_of(args, name);
    return arg ? arg->text.data : NULL;
}

bool tb_arg_name(const tb_arg *arg, char *out, size_t size)
{
    out[0] = 0;
    if (arg->text.len == 0 || arg->text.data[0] != '"') return false;
    json_t *name = json_loadb(arg->text.data, arg->text.len, JSON_DECODE_ANY, NULL);
    if (json_is_string(name)) snprintf(out, size, "%s", json_string_value(name));
    json_decref(name);
    return true;
}

tb_code tb_arg_decimal(const tb_args *args, const char *name, int scale, tb_decimal *ret,
                       tb_error *err)
{
    tb_error why;
    const tb_arg *arg = tb_arg_of(args, name);
    if (!arg || tb_decimal_parse(arg->text.data, arg->text.len, scale, ret, &why) == TB_OK)
        return TB_OK;
    return tb__refuse_decimal(name, arg->text.data, arg->text.len, &why, err);
}

tb_code tb_arg_moment(const tb_args *args, const char *name, int64_t *ret_us, tb_error *err)
{
    const tb_arg *arg = tb_arg_of(args, name);
    if (!arg || tb_date_parse(arg->text.data, arg->text.len, ret_us, err) == TB_OK) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, name, "%s is a day or a moment, such as 2026-11-04T09:00:00Z.", name);
}

void tb_arg_copy(const tb_args *args, const char *name, char *out, size_t size)
{
    const char *text = tb_arg_text(args, name);
    snprintf(out, size, "%s", text ? text : "");
}

bool tb_arg_is(const tb_args *args, const char *name, const char *word)
{
    const char *text = tb_arg_text(args, name);
    return text && strcmp(text, word) == 0;
}

int64_t tb_arg_number(const tb_args *args, const char *name, int64_t otherwise)
{
    const tb_arg *arg = tb_arg_of(args, name);
    return arg ? arg->number : otherwise;
}
