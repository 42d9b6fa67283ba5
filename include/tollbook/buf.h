/* A byte buffer that grows up to a maximum given at its birth.
 *
 * Invariants: len <= cap <= max; data is NULL exactly when cap is 0; after a failure (out of memory,
 * or the maximum would be passed) `failed` stays set, content is unchanged and every later append
 * does nothing, so that a writer checks once at the end. */
#ifndef TOLLBOOK_BUF_H
#define TOLLBOOK_BUF_H

#include "tollbook/api.h"
#include "tollbook/error.h"

#include <stddef.h>

TB_API_BEGIN

/* Allocators: a caller may pass one when it makes an engine object, as tests do with one that fails
 * on the n-th call. NULL means the C library's. */

typedef struct tb_alloc {
    /* size 0 frees and returns NULL; ptr NULL allocates; old is the size given last. */
    void *(*resize)(void *ctx, void *ptr, size_t old, size_t size);
    void *ctx;
} tb_alloc;

/* tb_alloc_resize(NULL, ...) uses realloc and free. Returns NULL when out of memory (ptr stays). */
void *tb_alloc_resize(const tb_alloc *alloc, void *ptr, size_t old, size_t size);
/* Zeroed memory for count objects of size bytes; NULL on overflow or when out of memory. */
void *tb_alloc_zero(const tb_alloc *alloc, size_t count, size_t size);
void tb_alloc_free(const tb_alloc *alloc, void *ptr, size_t size);

/* A text that is somewhere else. */
typedef struct tb_text {
    const char *data; /* NULL: absent */
    size_t len;       /* 0: an empty value, which means absent too */
} tb_text;

typedef struct tb_buf {
    char *data;
    size_t len, cap, max;
    const tb_alloc *alloc;
    bool failed;
} tb_buf;

void tb_buf_init(tb_buf *buf, size_t max, const tb_alloc *alloc); /* allocates nothing */
void tb_buf_release(tb_buf *buf);                                 /* frees the content */
/* Makes room for `more` bytes and returns a pointer to it, or NULL (then buf->failed is set). The caller writes
 * there and adds the number of bytes written to buf->len. */
char *tb_buf_room(tb_buf *buf, size_t more);
void tb_buf_add(tb_buf *buf, const void *bytes, size_t len);
void tb_buf_str(tb_buf *buf, const char *text);
void tb_buf_fmt(tb_buf *buf, const char *fmt, ...) TB_PRINTF(2, 3);
/* Appends an untrusted text (a file's name) for a terminal and for UTF-8 formats: each byte of a control character,
 * or of invalid UTF-8, is written as \xHH, and so is the backslash of a text that contains "\x" itself, so that two
 * texts never look the same. */
void tb_buf_shown(tb_buf *buf, const char *text, size_t len);

/* A cell of RFC 4180: quoted where needed, with an apostrophe in front where a spreadsheet could evaluate it as a
 * formula: it begins with = + - @, also of full width, or with white space, which some spreadsheets skip. */
void tb_buf_csv_cell(tb_buf *buf, const char *text, size_t len);
/* The same, but a number, "-5", is not a formula, and neither is "-" alone. */
void tb_buf_csv_value(tb_buf *buf, const char *text, size_t len);
/* Whether the cell is written unchanged. */
bool tb_csv_cell_plain(const char *text, size_t len);
/* TB_OK, or TB_E_NOMEM with a sentence naming the maximum. */
TB_MUST_USE tb_code tb_buf_check(const tb_buf *buf, tb_error *err);

/* With padding, or RFC 4648's alphabet for URLs without it. */
typedef enum tb_base64 { TB_BASE64, TB_BASE64_URL } tb_base64;
/* Decodes the one text that these bytes have. false: it is none, or does not fit into `size` bytes. */
bool tb_base64_read(tb_text text, tb_base64 form, void *out, size_t size, size_t *ret_len);

TB_API_END

#endif
