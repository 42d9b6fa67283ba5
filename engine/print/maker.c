/* Rows lie in one list and blocks name their part of it, so a block ends where the next one begins.
 */
#include "print/maker.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/list.h"

void tb__maker_keep(tb__maker *m, tb_code code)
{
    if (!m->code) m->code = code;
}

tb__block *tb__maker_block(tb__maker *m, tb__block_kind kind, const char *text)
{
    tb__sheet *sheet = m->sheet;
    tb_code code = tb__grow(&sheet->blocks, sheet->n_blocks, &sheet->cap_blocks,
                            sizeof *sheet->blocks, m->err);
    tb__maker_keep(m, code);
    if (code) return NULL;
    tb__block *block = &sheet->blocks[sheet->n_blocks++];
    *block = (tb__block){.kind = kind, .text = text, .first = sheet->n_rows};
    return block;
}

tb__row *tb__maker_row(tb__maker *m, tb__row_kind kind)
{
    static _Thread_local tb__row spare_row;
    tb__sheet *sheet = m->sheet;
    tb_code code = sheet->n_blocks == 0 ? tb_no_memory(m->err)
                                        : tb__grow(&sheet->rows, sheet->n_rows, &sheet->cap_rows,
                                                   sizeof *sheet->rows, m->err);
    tb__maker_keep(m, code);
    if (code) return &spare_row;
    tb__row *row = &sheet->rows[sheet->n_rows++];
    *row = (tb__row){.kind = kind};
    sheet->blocks[sheet->n_blocks - 1].n_rows++;
    return row;
}

tb__row *tb__maker_pair(tb__maker *m, tb__row_kind kind, const char *name, const char *value)
{
    tb__row *row = tb__maker_row(m, kind);
    row->cell[0] = name;
    row->cell[1] = value;
    return row;
}

/* --- texts --- */

/* Controls, line ends, and marks that change the direction of later characters (U+202A to U+202E, U+2066 to U+2069),
 * which could make a figure beside a name look like another. */
static bool is_control(const unsigned char *at, size_t n)
{
    if (n == 1) return *at < 0x20 || *at == 0x7F;
    if (n == 2) return at[0] == 0xC2 && at[1] < 0xA0;
    if (n != 3 || at[0] != 0xE2) return false;
    return (at[1] == 0x80 && at[2] >= 0xA8 && at[2] <= 0xAE) ||
           (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
}

/* No byte becomes more than three. */
static size_t clean(char *to, const char *text, size_t len)
{
    char *out = to;
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = tb__utf8_step(text + i, len - i);
        if (n && is_control((const unsigned char *)text + i, n)) {
            *out++ = ' ';
        } else if (!n || !tb__printable_step(text + i, n)) {
            memcpy(out, "\uFFFD", 3);
            out += 3;
        } else {
            memcpy(out, text + i, n);
            out += n;
        }
    }
    *out = '\0';
    return (size_t)(out - to);
}

static const char *keep_text(tb__maker *m, const char *text, size_t len)
{
    const size_t most = 3 * len + 1;
    char *kept = tb__arena_take(&m->sheet->texts, most);
    if (!kept) {
        tb__maker_keep(m, tb_no_memory(m->err));
        return "";
    }
    tb__arena_trim(&m->sheet->texts, most, clean(kept, text, len) + 1);
    return kept;
}

const char *tb__maker_text(tb__maker *m)
{
    const char *kept = "";
    tb__maker_keep(m, tb_buf_check(&m->out, m->err));
    if (m->out.data && !m->out.failed) kept = keep_text(m, m->out.data, m->out.len);
    m->out.len = 0;
    return kept;
}

const char *tb__maker_copy(tb__maker *m, const char *text)
{
    return keep_text(m, text, strlen(text));
}

const char *tb__maker_word(const tb__maker *m, tb__word word)
{
    return tb__word_of(m->language, word);
}

const char *tb__maker_filled(tb__maker *m, tb__word word, const char *with)
{
    tb__add_filled(&m->out, m->language, word, &with);
    return tb__maker_text(m);
}

const char *tb__maker_amount(tb__maker *m, tb_decimal value)
{
    tb__add_amount(&m->out, m->language, value, m->s->bill->minor_digits);
    return tb__maker_text(m);
}

const char *tb__maker_money(tb__maker *m, tb_decimal value)
{
    tb__add_amount(&m->out, m->language, value, m->s->bill->minor_digits);
    tb_buf_fmt(&m->out, " %s", m->s->currency);
    return tb__maker_text(m);
}

const char *tb__maker_i64(tb__maker *m, int64_t value)
{
    tb_buf_fmt(&m->out, "%" PRId64, value);
    return tb__maker_text(m);
}

/* --- what kind of document --- */

bool tb__is_credit(const tb_statement *s)
{
    return strcmp(s->kind, "credit_note") == 0;
}

bool tb__is_draft(const tb_statement *s)
{
    return strcmp(s->state, "draft") == 0;
}

bool tb__is_void(const tb_statement *s)
{
    return strcmp(s->state, "void") == 0;
}
