/* Pending rows in the format that costs ClickHouse the least: Native, column by column, in the order of the table's key,
 * and without counters that are zero in all of them, which are its defaults. */
#include "rollup/order.h"
#include "store/clickhouse/private.h"

#include <stdlib.h>
#include <string.h>

#define NAMED       6 /* columns of a cell that are no counters */
#define COLUMNS_MAX (NAMED + TB_METRIC_COUNT)
#define TEXT_MAX    40 /* of a column's name or type, with its length */

typedef struct column {
    const char *name, *type;
    size_t size, at; /* bytes of a value; its place in a row */
    char *to;        /* where the next one goes */
    uint64_t any;    /* its bits in all rows; a column that names a row has some */
} column;

typedef struct layout {
    column list[COLUMNS_MAX];
    size_t n, width; /* width: of a row */
} layout;

static void add_column(layout *l, const char *name, const char *type, size_t size)
{
    l->list[l->n++] = (column){.name = name, .type = type, .size = size, .at = l->width, .any = 1};
    l->width += size;
}

/* As batch.c puts them. */
static layout layout_of(tb__ch_form form)
{
    layout l = {.n = 0};
    const bool cells = form != TB__CH_COUNTRIES;
    if (cells) add_column(&l, "scope", "UInt8", 1);
    add_column(&l, cells ? "owner" : "zone", "Int64", 8);
    add_column(&l, cells ? "edge" : "day", "UInt32", 4);
    if (cells) add_column(&l, "h", "UInt32", 4);
    else add_column(&l, "country", "UInt16", 2);
    add_column(&l, "batch", "UInt64", 8);
    if (cells) add_column(&l, "row", "UInt32", 4);
    for (uint32_t left = cells ? tb__ch_form_metrics(form) : TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_BYTES); left;
         left &= left - 1)
        add_column(&l, tb_metric_table[__builtin_ctz(left)].name, "UInt64", 8);
    return l;
}

/* Sizes are told apart so that each is one move. */
static inline void copy_value(void *to, const void *from, size_t size)
{
    switch (size) {
    case 8: memcpy(to, from, 8); break;
    case 4: memcpy(to, from, 4); break;
    case 2: memcpy(to, from, 2); break;
    default: memcpy(to, from, 1);
    }
}

static inline uint64_t value_of(const char *row, const column *c)
{
    uint64_t value = 0;
    copy_value(&value, row + c->at, c->size);
    return value;
}

/* --- the order --- */

/* The key of a table as two numbers; the rest of it, batch and row, ascends already. */
static uint64_t minor_key(const layout *l, tb__ch_form form, const char *row)
{
    if (form == TB__CH_COUNTRIES) return value_of(row, &l->list[1]) << 32 | value_of(row, &l->list[2]);
    return value_of(row, &l->list[3]) << 32 | value_of(row, &l->list[2]);
}

static uint64_t major_key(const layout *l, tb__ch_form form, const char *row)
{
    if (form == TB__CH_COUNTRIES) return value_of(row, &l->list[0]);
    return value_of(row, &l->list[0]) << 60 | value_of(row, &l->list[1]);
}

/* Only an optimisation: ClickHouse sorts rows that are not in order. */
static void sort_rows(const layout *l, tb__ch_form form, const tb_buf *rows, tb__item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i] = (tb__item){minor_key(l, form, rows->data + i * l->width), 0, (uint32_t)i};
    tb__items_sort(items, items + n, n);
    for (size_t i = 0; i < n; i++)
        items[i].key = major_key(l, form, rows->data + items[i].index * l->width);
    tb__items_sort(items, items + n, n);
}

/* --- the block --- */

static char *put_word(char *to, const char *text)
{
    const size_t len = strlen(text);
    *to = (char)len; /* below 128: one byte */
    memcpy(to + 1, text, len);
    return to + 1 + len;
}

static char *put_count(char *to, size_t n)
{
    for (; n > 127; n >>= 7)
        *to++ = (char)((n & 127) | 128);
    *to = (char)n;
    return to + 1;
}

static void find_zeros(layout *l, const tb_buf *rows)
{
    for (size_t c = NAMED; c < l->n; c++)
        l->list[c].any = 0;
    for (size_t at = 0; at < rows->len; at += l->width)
        for (size_t c = NAMED; c < l->n; c++)
            l->list[c].any |= value_of(rows->data + at, &l->list[c]);
}

static char *lay_columns(layout *l, char *to, size_t n)
{
    size_t used = 0;
    for (size_t c = 0; c < l->n; c++)
        if (l->list[c].any) l->list[used++] = l->list[c];
    l->n = used;
    to = put_count(put_count(to, used), n);
    for (size_t c = 0; c < used; c++) {
        l->list[c].to = put_word(put_word(to, l->list[c].name), l->list[c].type);
        to = l->list[c].to + n * l->list[c].size;
    }
    return to;
}

static void put_values(layout *l, const char *row)
{
    for (size_t c = 0; c < l->n; c++) {
        column *to = &l->list[c];
        copy_value(to->to, row + to->at, to->size);
        to->to += to->size;
    }
}

tb_code tb__ch_put_columns(tb__ch_form form, const tb_buf *rows, tb_buf *out, tb_error *err)
{
    layout l = layout_of(form);
    const size_t n = rows->len / l.width;
    char *const from = tb_buf_room(out, rows->len + 20 + l.n * 2 * TEXT_MAX);
    tb__item *items = malloc(2 * n * sizeof *items);
    if (from && items) {
        find_zeros(&l, rows);
        sort_rows(&l, form, rows, items, n);
        out->len += (size_t)(lay_columns(&l, from, n) - from);
        for (size_t i = 0; i < n; i++)
            put_values(&l, rows->data + items[i].index * l.width);
    }
    free(items);
    return items ? tb_buf_check(out, err) : tb_no_memory(err);
}
