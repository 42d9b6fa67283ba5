/* Fuzzes JSON text both ways. The input is read as a document (agreeing with jansson on what is
 * one, where the limits of both allow), quoted as a string of any bytes, and its first eight bytes
 * are printed as a double and as integers. */
#include "base/jsontext.h"
#include "model/document.h"
#include "tollbook/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

/* NULL: not a document. The caller frees the text. */
static char *canonical(const char *text, size_t len, size_t *ret_len)
{
    tb__arena arena;
    tb__arena_init(&arena, NULL);
    tb__document doc;
    tb_error err;
    char *copy = NULL;
    if (tb__document_parse(text, len, TB_E_BAD_INPUT, &arena, NULL, &doc, &err) == TB_OK) {
        const char *out = tb__document_canonical(&doc, 0, &arena, ret_len);
        MUST(out && strlen(out) == *ret_len && *ret_len <= len);
        copy = strdup(out);
        tb__document_release(&doc);
    } else {
        MUST(err.code == TB_E_BAD_INPUT && err.byte >= 1 && err.byte <= len + 1);
    }
    tb__arena_release(&arena);
    return copy;
}

static void check_document(const char *text, size_t size)
{
    size_t len, again_len;
    char *once = canonical(text, size, &len);
    json_error_t why;
    json_t *other = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (once) {
        char *twice = canonical(once, len, &again_len);
        MUST(twice && again_len == len && memcmp(once, twice, len) == 0);
        free(twice);
        /* jansson cannot hold every number. */
        MUST(other || json_error_code(&why) == json_error_numeric_overflow);
    } else if (other) {
        /* Ours has limits of its own (depth, length of a number), and jansson takes a NUL behind
         * the document for its end. */
        MUST(size > TB__NUMBER_MAX || memchr(text, 0, size));
    }
    json_decref(other);
    free(once);
}

static void check_string(const char *text, size_t size)
{
    char *quoted = malloc(TB__QUOTED_MAX(size));
    size_t len = (size_t)(tb__quote(quoted, text, size) - quoted), out;
    /* Our reader knows no NUL, jansson reads it where asked. */
    json_t *back = json_loadb(quoted, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    MUST(back);
    json_decref(back);
    char *read = canonical(quoted, len, &out);
    MUST((read != NULL) == (memchr(text, 0, size) == NULL));
    free(read);
    free(quoted);
}

static void check_numbers(const char *data)
{
    uint64_t bits;
    double value;
    memcpy(&bits, data, 8);
    memcpy(&value, data, 8);
    char text[TB_DOUBLE_TEXT_MAX + 1];
    *tb_put_double(text, value) = 0;
    double back = strtod(text, NULL);
    MUST(__builtin_isfinite(value) ? back == value : back == 0);
    *tb_put_u64(text, bits) = 0;
    MUST(strtoull(text, NULL, 10) == bits);
    tb_u128 wide = (tb_u128)bits * bits, read = 0;
    char *end = tb_put_u128(text, wide);
    for (const char *p = text; p < end; p++)
        read = read * 10 + (unsigned)(*p - '0');
    MUST(read == wide);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    check_document(text, size);
    check_string(text, size);
    if (size >= 8) check_numbers(text);
    free(text);
    return 0;
}
