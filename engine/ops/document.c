/* A form is a row: what stands around its invoices, and what writes one. */
#include "tollbook/document.h"

#include "tollbook/print.h"

#include <string.h>

/* An invoice on its way out. */
typedef struct showing {
    const tb_shown *asked;
    const tb_statement *statement;
    const char *sha256; /* "": a draft's */
} showing;

static tb_code show_csv(const showing *s, tb_buf *out, tb_error *err)
{
    (void)err;
    tb_invoice_csv(s->statement, out);
    return TB_OK;
}

static tb_code show_focus(const showing *s, tb_buf *out, tb_error *err)
{
    if (strcmp(s->statement->state, "void") == 0) return TB_OK; /* nobody is billed for it */
    return tb_focus_csv(s->statement, out, err);
}

static tb_code show_html(const showing *s, tb_buf *out, tb_error *err)
{
    const tb_print_options options = {.letter = s->asked->letter, .auditor = s->asked->audit};
    return tb_print_html(s->statement, s->sha256, NULL, &options, out, err);
}

static tb_code show_pdf(const showing *s, tb_buf *out, tb_error *err)
{
    const tb_print_options options = {.letter = s->asked->letter, .auditor = s->asked->audit};
    return tb_print_pdf(s->asked->printer, s->statement, s->sha256, NULL, &options, out, err);
}

static void open_html(const char *title, tb_buf *out)
{
    tb_print_html_head(title, NULL, out);
}

static void open_json(const char *title, tb_buf *out)
{
    (void)title;
    tb_buf_str(out, "{\"invoices\":[");
}

static void open_csv(const char *title, tb_buf *out)
{
    (void)title;
    tb_invoice_csv_head(out);
}

static void open_focus(const char *title, tb_buf *out)
{
    (void)title;
    tb_focus_csv_head(out);
}

static void close_json(tb_buf *out)
{
    tb_buf_str(out, "]}\n");
}

typedef tb_code (*show_fn)(const showing *s, tb_buf *out, tb_error *err);

/* JSON is the stored text itself: it has no `show`. */
static const struct {
    void (*open)(const char *title, tb_buf *out);
    show_fn show;
    void (*close)(tb_buf *out);
} forms[TB_SHOWN_FORM_COUNT] = {
    [TB_SHOWN_JSON] = {open_json, NULL, close_json},
    [TB_SHOWN_CSV] = {open_csv, show_csv, NULL},
    [TB_SHOWN_HTML] = {open_html, show_html, tb_print_html_tail},
    [TB_SHOWN_FOCUS] = {open_focus, show_focus, NULL},
    [TB_SHOWN_PDF] = {NULL, show_pdf, NULL},
};

static const struct {
    const char *word, *media_type, *end;
    bool alone;
} words[TB_SHOWN_FORM_COUNT] = {
#define TB_X(e, word, media, end, alone) {word, media, end, alone},
    TB_SHOWN_FORMS(TB_X)
#undef TB_X
};

tb_shown_form tb_shown_form_of(const char *word, size_t len)
{
    int form = 0;
    while (form < TB_SHOWN_FORM_COUNT &&
           (strlen(words[form].word) != len || memcmp(words[form].word, word, len) != 0))
        form++;
    return (tb_shown_form)form;
}

const char *tb_shown_media_type(tb_shown_form form)
{
    return words[form].media_type;
}

const char *tb_shown_end(tb_shown_form form)
{
    return words[form].end;
}

bool tb_shown_alone(tb_shown_form form)
{
    return words[form].alone;
}

static void open_titled(tb_shown_form form, const char *title, tb_buf *out)
{
    if (forms[form].open) forms[form].open(title, out);
}

void tb_shown_open(const tb_shown *shown, tb_buf *out)
{
    open_titled(shown->form, "Invoices", out);
}

void tb_shown_close(const tb_shown *shown, tb_buf *out)
{
    if (forms[shown->form].close) forms[shown->form].close(out);
}

static tb_code show(const showing *s, tb_buf *out, tb_error *err)
{
    tb_code code = forms[s->asked->form].show(s, out, err);
    return code ? code : tb_buf_check(out, err);
}

static tb_code show_text(const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    if (invoice->state == TB_INVOICE_VOID)
        tb_invoice_text_void(invoice->text, invoice->text_len, out);
    else
        tb_buf_add(out, invoice->text, invoice->text_len);
    return tb_buf_check(out, err);
}

static tb_code show_stored(const tb_shown *shown, const tb_invoice *invoice, tb_buf *out,
                           tb_error *err)
{
    tb_paper paper;
    if (!forms[shown->form].show) return show_text(invoice, out, err);
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    if (invoice->state == TB_INVOICE_VOID) memcpy(paper.statement.state, "void", sizeof "void");
    code = show(&(showing){shown, &paper.statement, paper.sha256}, out, err);
    tb_paper_release(&paper);
    return code;
}

static void separate(tb_shown_form form, bool first, tb_buf *out)
{
    if (form == TB_SHOWN_JSON && !first) tb_buf_str(out, ",");
}

tb_code tb_shown_stored(const tb_shown *shown, const tb_invoice *invoice, bool first, tb_buf *out,
                        tb_error *err)
{
    separate(shown->form, first, out);
    return show_stored(shown, invoice, out, err);
}

tb_code tb_shown_draft(const tb_shown *shown, const tb_statement *statement, bool first,
                       tb_buf *out, tb_error *err)
{
    separate(shown->form, first, out);
    if (!forms[shown->form].show) return tb_statement_json(statement, out, NULL, err);
    return show(&(showing){shown, statement, ""}, out, err);
}

/* The text of an invoice alone is a document as it is. */
tb_code tb_shown_one(const tb_shown *shown, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    if (!forms[shown->form].show) return show_text(invoice, out, err);
    open_titled(shown->form, invoice->number, out);
    tb_code code = show_stored(shown, invoice, out, err);
    if (!code) tb_shown_close(shown, out);
    return code ? code : tb_buf_check(out, err);
}
