/* jansson reads the document; what is in it that no field names is refused, as everywhere. */
#include "api/operator_body.h"

#include <jansson.h>
#include <string.h>

#include "tollbook/json.h"

static tb_code bad(tb_error *err, const body_field *field, const char *what)
{
    return tb_fail(err, TB_E_VALIDATION, field->name, "%s is %s.", field->name, what);
}

static tb_code read_ints(const body_field *field, const json_t *value, body_ints *ret, tb_error *err)
{
    size_t n = json_array_size(value);
    if (!json_is_array(value) || n == 0 || n > BODY_INTS_MAX)
        return tb_fail(err, TB_E_VALIDATION, field->name, "%s is a list of 1 to %d ids.",
                       field->name, BODY_INTS_MAX);
    for (ret->n = 0; ret->n < n; ret->n++) {
        const json_t *item = json_array_get(value, ret->n);
        if (!json_is_integer(item) || json_integer_value(item) < 1)
            return bad(err, field, "a list of whole numbers from 1 up");
        ret->list[ret->n] = json_integer_value(item);
    }
    return TB_OK;
}

static tb_code read_field(const body_field *field, const json_t *value, char *out, tb_error *err)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    switch (field->kind) {
    case BODY_INT:
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return bad(err, field, "a whole number from 0 up");
        *(int64_t *)(void *)out = json_integer_value(value);
        return TB_OK;
    case BODY_BOOL:
        if (!json_is_boolean(value)) return bad(err, field, "true or false");
        *(bool *)out = json_is_true(value);
        return TB_OK;
    case BODY_TEXT:
        if (!text) return bad(err, field, "a text in quotes");
        if (len >= field->size || memchr(text, 0, len))
            return tb_fail(err, TB_E_VALIDATION, field->name,
                           "%s has at most %zu bytes and no NUL.", field->name, field->size - 1);
        memcpy(out, text, len + 1);
        return TB_OK;
    case BODY_INTS: break;
    }
    return read_ints(field, value, (body_ints *)(void *)out, err);
}

static tb_code read_object(json_t *document, const body_field *fields, size_t n, void *out,
                           tb_error *err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(document))
        return tb_fail(err, TB_E_VALIDATION, NULL, "The body is not a JSON object.");
    json_object_foreach(document, name, value)
    {
        size_t i = 0;
        while (i < n && strcmp(fields[i].name, name) != 0)
            i++;
        if (i == n)
            return tb_fail(err, TB_E_VALIDATION, NULL, "The body has an unknown member \"%.32s\".",
                           name);
        tb_code code = read_field(&fields[i], value, (char *)out + fields[i].offset, err);
        if (code) return code;
    }
    for (size_t i = 0; i < n; i++)
        if (fields[i].required && !json_object_get(document, fields[i].name))
            return tb_fail(err, TB_E_VALIDATION, fields[i].name, "%s is missing.", fields[i].name);
    return TB_OK;
}

tb_code body_read(const char *body, size_t len, const body_field *fields, size_t n, void *out,
                  tb_error *err)
{
    json_error_t where;
    if (len > BODY_TEXT_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "The body is longer than %zu bytes.",
                       BODY_TEXT_MAX);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!document)
        return tb_fail(err, TB_E_VALIDATION, NULL, "The body is not JSON: byte %d: %.120s.",
                       where.position, where.text);
    tb_code code = read_object(document, fields, n, out, err);
    json_decref(document);
    return code;
}

void body_put_lines(tb_buf *out, const tb_buf *lines)
{
    const char *at = lines->data, *end = at + lines->len, *next;
    tb_buf_str(out, "[");
    for (; at < end && (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1) {
        if (at > lines->data) tb_buf_str(out, ",");
        tb_json_string(out, at, (size_t)(next - at));
    }
    tb_buf_str(out, "]");
}
