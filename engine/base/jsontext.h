/* The text level of JSON, shared by the reader of documents and the writers of answers: UTF-8 and
 * quoting. */
#ifndef TOLLBOOK_BASE_JSONTEXT_H
#define TOLLBOOK_BASE_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the well-formed UTF-8 sequence (RFC 3629: shortest form, no surrogates, at most
 * U+10FFFF) that starts text, 1..4; 0 if there is none. len > 0. */
size_t tb__utf8_step(const char *text, size_t len);

/* Length of the character that starts text, where it can be printed: 0 for one that is not UTF-8, a control character
 * (C0, DEL, C1) or a noncharacter (U+FDD0 to U+FDEF, the last two of each plane), which neither XML nor a PDF takes. */
size_t tb__printable_step(const char *text, size_t len);
/* Whether all of text can be printed. */
bool tb__is_printable(const char *text, size_t len);

/* The number of leading ASCII bytes that need no escape in a JSON string. */
size_t tb__plain_run(const char *text, size_t len);

/* Writes the character of the escape with its backslash at p to *out, which is advanced: never more bytes than are
 * read. Returns the number of bytes read; 0: no escape. */
size_t tb__unescape(const char *p, const char *end, char **out);

/* Most bytes that tb__quote writes for len bytes of text. */
#define TB__QUOTED_MAX(len) (6 * (size_t)(len) + 2)

/* Writes text as a quoted JSON string, escaping only what RFC 8259 asks for: '"', '\' and control
 * characters. Each byte that is not UTF-8 becomes U+FFFD. Returns the end. */
char *tb__quote(char *out, const char *text, size_t len);

#endif
