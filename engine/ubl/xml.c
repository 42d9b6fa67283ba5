/* What XML cannot hold does not reach the writer. */
#include "ubl/xml.h"

#include <limits.h>
#include <string.h>

#include "base/heavy.h"

/* A full buffer remembers that it is; libxml2 would write a line about it to standard error. */
static int add_bytes(void *out, const char *bytes, int len)
{
    tb_buf_add(out, bytes, (size_t)len);
    return len;
}

static void expect(tb__xml *xml, int result)
{
    if (result < 0) xml->failed = true;
}

tb_code tb__xml_begin(tb__xml *xml, tb_buf *out, tb_error *err)
{
    const void *found = NULL;
    *xml = (tb__xml){0};
    tb_code code = tb__heavy_find(TB__XML_SYMBOL, "Electronic invoices", &found, err);
    if (code) return code;
    xml->face = found;
    if (strcmp(xml->face->version, TB_VERSION) != 0) return tb__heavy_other(err);
    xml->writer = xml->face->open(add_bytes, out);
    if (!xml->writer) return tb_no_memory(err);
    tb_buf_init(&xml->clean, INT_MAX, out->alloc);
    return TB_OK;
}

tb_code tb__xml_end(tb__xml *xml, tb_error *err)
{
    if (!xml->writer) return tb_no_memory(err);
    expect(xml, xml->face->close(xml->writer));
    xml->writer = NULL;
    const bool failed = xml->failed || xml->clean.failed;
    tb_buf_release(&xml->clean);
    return failed ? tb_no_memory(err) : TB_OK;
}

void tb__xml_open(tb__xml *xml, const char *name)
{
    expect(xml, xml->face->start(xml->writer, name));
}

void tb__xml_close(tb__xml *xml)
{
    expect(xml, xml->face->end(xml->writer));
}

/* --- texts --- */

static bool is_control(unsigned char c)
{
    return c <= ' ' || c == 0x7f;
}

bool tb__xml_is_blank(const char *value)
{
    while (*value && is_control((unsigned char)*value))
        value++;
    return !*value;
}

/* The length of the character of UTF-8 at `at` that XML 1.0 can hold; 0: there is none. */
static size_t character_len(const unsigned char *at)
{
    const size_t len = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (*at > 0xf4) return 0;
    uint32_t code = len < 2 ? *at : *at & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    if ((len == 3 && code < 0x800) || (len == 4 && (code < 0x10000 || code > 0x10ffff))) return 0;
    if ((code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff) return 0;
    return len;
}

static const char *clean_text(tb__xml *xml, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    xml->clean.len = 0;
    while (*at && is_control(*at))
        at++;
    while (*at) {
        const size_t len = character_len(at);
        if (len == 0)
            tb_buf_str(&xml->clean, "\xEF\xBF\xBD");
        else if (is_control(*at))
            tb_buf_str(&xml->clean, " ");
        else
            tb_buf_add(&xml->clean, at, len);
        at += len ? len : 1;
    }
    while (xml->clean.len && xml->clean.data[xml->clean.len - 1] == ' ')
        xml->clean.len--;
    tb_buf_add(&xml->clean, "", 1);
    return xml->clean.failed ? "" : xml->clean.data;
}

void tb__xml_attribute(tb__xml *xml, const char *name, const char *value)
{
    if (tb__xml_is_blank(value)) return;
    expect(xml, xml->face->attribute(xml->writer, name, clean_text(xml, value)));
}

void tb__xml_words(tb__xml *xml, const char *value)
{
    expect(xml, xml->face->words(xml->writer, clean_text(xml, value)));
}

void tb__xml_text(tb__xml *xml, const char *name, const char *value)
{
    if (tb__xml_is_blank(value)) return;
    tb__xml_open(xml, name);
    tb__xml_words(xml, value);
    tb__xml_close(xml);
}
