/* A sheet as HTML. All text of the sheet is escaped; declared names may have any direction, and are isolated
 * (dir="auto"). */
#include <string.h>

#include "print/html_style.h"
#include "print/paper.h"
#include "print/sheet.h"
#include "tollbook/json.h"

typedef struct page {
    const tb__sheet *sheet;
    tb_buf *out;
    bool open; /* a section is */
} page;

static void put(page *p, const char *markup)
{
    tb_buf_str(p->out, markup);
}

static void put_escaped(page *p, const char *text)
{
    if (text) tb_html_text(p->out, text);
}

/* <name attributes dir="auto">text</name> */
static void put_named(page *p, const char *name, const char *class, const char *text)
{
    tb_buf_fmt(p->out, "<%s%s%s%s dir=\"auto\">", name, class ? " class=\"" : "",
               class ? class : "", class ? "\"" : "");
    put_escaped(p, text);
    tb_buf_fmt(p->out, "</%s>", name);
}

static const tb__row *rows_of(const page *p, const tb__block *block)
{
    return &p->sheet->rows[block->first];
}

/* --- blocks of the first page --- */

static void put_title(page *p, const tb__block *block)
{
    const tb__row *rows = rows_of(p, block);
    put(p, "<header><div>");
    put_named(p, "h1", NULL, block->text);
    put_named(p, "p", NULL, rows[0].cell[0]);
    put(p, "</div>");
    if (rows[1].cell[0] && *rows[1].cell[0]) put_named(p, "div", "sender", rows[1].cell[0]);
    put(p, "</header>");
}

static void put_facts(page *p, const tb__block *block)
{
    const tb__row *rows = rows_of(p, block);
    put(p, "<dl class=\"facts\">");
    for (size_t i = 0; i < block->n_rows; i++) {
        put(p, "<div><dt>");
        put_escaped(p, rows[i].cell[0]);
        put(p, "</dt>");
        put_named(p, "dd", NULL, rows[i].cell[1]);
        put(p, "</div>");
    }
    put(p, "</dl>");
}

static void put_parties(page *p, const tb__block *block)
{
    const tb__row *rows = rows_of(p, block);
    put(p, "<div class=\"parties\">");
    for (size_t i = 0; i < block->n_rows; i++) {
        if (rows[i].kind == TB__BOX) put(p, i ? "</address><address>" : "<address>");
        if (rows[i].kind == TB__BOX)
            put_named(p, "span", "label", rows[i].cell[0]);
        else
            put_named(p, rows[i].kind == TB__NAME ? "strong" : "span", NULL, rows[i].cell[0]);
    }
    put(p, block->n_rows ? "</address></div>" : "</div>");
}

static void put_hero(page *p, const tb__block *block)
{
    put(p, "<div class=\"hero\">");
    put_named(p, "span", "label", rows_of(p, block)[0].cell[0]);
    put_named(p, "strong", NULL, block->text);
    put(p, "</div>");
}

static void put_paragraphs(page *p, const tb__block *block)
{
    const tb__row *rows = rows_of(p, block);
    for (size_t i = 0; i < block->n_rows; i++)
        put_named(p, "p", NULL, rows[i].cell[0]);
}

static void put_alert(page *p, const tb__block *block)
{
    put(p, "<div class=\"alert\"><p><strong>");
    put_escaped(p, block->text);
    put(p, "</strong></p>");
    put_paragraphs(p, block);
    put(p, "</div>");
}

static void put_notes(page *p, const tb__block *block)
{
    put(p, block->text ? "<div class=\"notes\">" : "<div class=\"notes small\">");
    if (block->text) put_named(p, "h3", NULL, block->text);
    put_paragraphs(p, block);
    put(p, "</div>");
}

static void put_totals(page *p, const tb__block *block)
{
    const tb__row *rows = rows_of(p, block);
    put(p, "<table class=\"totals\"><tbody>");
    for (size_t i = 0; i < block->n_rows; i++) {
        put(p, rows[i].kind == TB__STRONG ? "<tr class=\"strong\">"
               : rows[i].kind == TB__SOFT ? "<tr class=\"soft\">"
                                          : "<tr>");
        put_named(p, "td", NULL, rows[i].cell[0]);
        put(p, "<td class=\"end\">");
        put_escaped(p, rows[i].cell[1]);
        put(p, "</td></tr>");
    }
    put(p, "</tbody></table>");
}

/* --- tables --- */

static const char *column_class(const tb__block *block, size_t c)
{
    const tb__column *column = &block->columns[c];
    if (column->wide) return "wide";
    if (column->end) return c + 1 == block->n_columns ? "end sum" : "end";
    return block->n_columns > 2 ? "id" : "label";
}

/* On paper the head is repeated on every page, with the document's name. */
static void put_head(page *p, const tb__block *block)
{
    tb_buf_fmt(p->out, "<thead><tr class=\"run\"><th colspan=\"%zu\">", block->n_columns);
    put_escaped(p, p->sheet->running);
    put(p, "</th></tr>");
    if (block->columns[block->n_columns - 1].head) {
        put(p, "<tr>");
        for (size_t c = 0; c < block->n_columns; c++) {
            tb_buf_fmt(p->out, "<th class=\"%s\">", column_class(block, c));
            put_escaped(p, block->columns[c].head);
            put(p, "</th>");
        }
        put(p, "</tr>");
    }
    put(p, "</thead>");
}

static bool note_beside(tb__row_kind kind)
{
    return kind == TB__GROUP || kind == TB__PART || kind == TB__LAST;
}

static void put_words(page *p, const tb__row *row, const char *words)
{
    put_named(p, "bdi", NULL, words);
    if (!row->note) return;
    put(p,
        note_beside(row->kind) ? " <small dir=\"auto\">" : "<small class=\"note\" dir=\"auto\">");
    put_escaped(p, row->note);
    put(p, "</small>");
}

static void put_cell(page *p, const tb__block *block, const tb__row *row, size_t c)
{
    const tb__column *column = &block->columns[c];
    tb_buf_fmt(p->out, "<td class=\"%s\">", column_class(block, c));
    if (column->mono) put(p, "<code>");
    if (column->wide)
        put_words(p, row, row->cell[c]);
    else
        put_escaped(p, row->cell[c]);
    if (column->mono) put(p, "</code>");
    put(p, "</td>");
}

static size_t wide_column(const tb__block *block)
{
    for (size_t c = 0; c < block->n_columns; c++)
        if (block->columns[c].wide) return c;
    return 0;
}

static void put_group(page *p, const tb__block *block, const tb__row *row)
{
    const size_t wide = wide_column(block);
    put(p, "<tr class=\"group\">");
    for (size_t c = 0; c < wide; c++)
        put(p, "<td></td>");
    tb_buf_fmt(p->out, "<td class=\"wide\" colspan=\"%zu\">", block->n_columns - wide);
    put_words(p, row, row->cell[wide]);
    put(p, "</td></tr>");
}

static void put_table_row(page *p, const tb__block *block, const tb__row *row)
{
    static const char *const begins[] = {
        [TB__ROW] = "<tr>",
        [TB__OPEN] = "<tr class=\"open\">",
        [TB__PART] = "<tr class=\"part\">",
        [TB__LAST] = "<tr class=\"last\">",
    };
    if (row->kind == TB__GROUP) {
        put_group(p, block, row);
        return;
    }
    put(p, row->kind <= TB__LAST ? begins[row->kind] : begins[TB__ROW]);
    for (size_t c = 0; c < block->n_columns; c++)
        put_cell(p, block, row, c);
    put(p, "</tr>");
}

static void put_table(page *p, const tb__block *block)
{
    if (block->text) put_named(p, "h3", NULL, block->text);
    put(p, block->n_columns > 2 ? "<table class=\"lines\">" : "<table>");
    put_head(p, block);
    put(p, "<tbody>");
    for (size_t i = 0; i < block->n_rows; i++)
        put_table_row(p, block, &rows_of(p, block)[i]);
    put(p, "</tbody></table>");
}

/* --- the proof --- */

/* A path of runs of squares, with the margin that readers of the code need. */
static void put_qr(page *p, const char *address)
{
    tb__qr qr = {0};
    if (!tb__qr_make(address, &qr)) return;
    tb_buf_fmt(p->out, "<svg viewBox=\"0 0 %d %d\" aria-hidden=\"true\"><path d=\"", qr.width + 8, qr.width + 8);
    for (int row = 0; row < qr.width; row++)
        for (int at = 0, end; at < qr.width; at = end) {
            for (end = at + 1; end < qr.width && qr.dark[row][end] == qr.dark[row][at];)
                end++;
            if (qr.dark[row][at]) tb_buf_fmt(p->out, "M%d %dh%dv1h-%dz", at + 4, row + 4, end - at, end - at);
        }
    put(p, "\"/></svg>");
}

static void put_proof(page *p, const tb__block *block)
{
    const char *address = block->n_rows > 1 ? rows_of(p, block)[1].cell[0] : NULL;
    put(p, "<div class=\"proof\">");
    if (address) put_qr(p, address);
    put(p, "<div>");
    if (address) {
        put_named(p, "strong", NULL, block->text);
        put(p, "<a href=\"");
        put_escaped(p, address);
        put(p, "\">");
        put_escaped(p, address);
        put(p, "</a>");
    }
    put_named(p, "span", NULL, rows_of(p, block)[0].cell[0]);
    put(p, "</div></div>");
}

/* --- the page --- */

static void begin_section(page *p, const char *class)
{
    if (p->open) put(p, "</section>");
    tb_buf_fmt(p->out, "<section class=\"%s\">", class);
    p->open = true;
}

static void put_block(page *p, const tb__block *block)
{
    switch (block->kind) {
    case TB__TITLE: put_title(p, block); break;
    case TB__FACTS: put_facts(p, block); break;
    case TB__PARTIES: put_parties(p, block); break;
    case TB__HERO: put_hero(p, block); break;
    case TB__ALERT: put_alert(p, block); break;
    case TB__HEADING: put_named(p, "h2", NULL, block->text); break;
    case TB__TABLE: put_table(p, block); break;
    case TB__TOTALS: put_totals(p, block); break;
    case TB__NOTES: put_notes(p, block); break;
    case TB__PROOF: put_proof(p, block); break;
    case TB__DETAILS: begin_section(p, "details"); break;
    case TB__NEW_PAGE: begin_section(p, "new"); break;
    }
}

/* "Page 2 of 6" in a page's margin, where the program that prints can do that. */
static void put_page_rule(tb_buf *out, tb__language language)
{
    const char *word = tb__word_of(language, TB__WORD_PAGE_OF);
    const char *of = strstr(word, "%s"), *end = of + strlen("%s");
    const char *last = strstr(end, "%s");
    tb_buf_fmt(
        out, "@page %s{@bottom-right{font:7.5pt \"Noto Sans\",sans-serif;color:#5b6675;content:\"",
        language == TB__GERMAN ? "de" : "en");
    tb_buf_add(out, word, (size_t)(of - word));
    tb_buf_str(out, "\" counter(page) \"");
    tb_buf_add(out, end, (size_t)(last - end));
    tb_buf_str(out, "\" counter(pages)}}");
}

void tb_print_html_head(const char *title, const tb_print_options *options, tb_buf *out)
{
    tb_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    tb_html_text(out, title);
    tb_buf_str(out, "</title><style>");
    tb_buf_str(out, page_style);
    tb_buf_fmt(out, "@page{size:%s;margin:16mm 17mm 18mm}",
               options && options->letter ? "letter" : "A4");
    put_page_rule(out, TB__ENGLISH);
    put_page_rule(out, TB__GERMAN);
    tb_buf_str(out, ".en{page:en}.de{page:de}</style></head><body>\n");
}

void tb_print_html_tail(tb_buf *out)
{
    tb_buf_str(out, "</body></html>\n");
}

void tb__sheet_html(const tb__sheet *sheet, tb_buf *out)
{
    page p = {.sheet = sheet, .out = out};
    const char *language = sheet->language == TB__GERMAN ? "de" : "en";
    tb_buf_fmt(out, "<article class=\"page %s\" lang=\"%s\">", language, language);
    if (sheet->stamp)
        tb_buf_fmt(out, "<div class=\"stamp\" aria-hidden=\"true\">%s</div>", sheet->stamp);
    for (size_t i = 0; i < sheet->n_blocks; i++)
        put_block(&p, &sheet->blocks[i]);
    put(&p, p.open ? "</section><footer>" : "<footer>");
    put_escaped(&p, sheet->foot);
    put(&p, "</footer></article>\n");
}

tb_code tb_print_html(const tb_statement *statement, const char *sha256,
                      const tb_invoice_names *names, const tb_print_options *options, tb_buf *out,
                      tb_error *err)
{
    tb__sheet sheet;
    tb_code code = tb__sheet_make(&sheet, statement, sha256, names, options, err);
    if (!code) tb__sheet_html(&sheet, out);
    tb__sheet_release(&sheet);
    return code;
}
