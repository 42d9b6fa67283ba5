/* A form is a row: the text around its invoices, and the function that writes one. */
#include "tollbook/issue.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/partystore.h"
#include "tollbook/prooflog.h"
#include "tollbook/ubl.h"

/* An invoice on its way out. */
typedef struct showing {
    const tb_shown *asked;
    const tb_statement *statement;
    const char *sha256; /* "": a draft's */
    const tb_invoice_names *names; /* NULL: not read */
} showing;

static tb_code show_csv(const showing *s, tb_buf *out, tb_error *err)
{
    (void)err;
    tb_invoice_csv(s->statement, out);
    return TB_OK;
}

static tb_code show_focus(const showing *s, tb_buf *out, tb_error *err)
{
    if (strcmp(s->statement->state, "void") == 0) return TB_OK; /* it bills no one */
    return tb_focus_csv(s->statement, s->names, out, err);
}

static tb_code show_html(const showing *s, tb_buf *out, tb_error *err)
{
    return tb_print_html(s->statement, s->sha256, s->names, &s->asked->pages, out, err);
}

static tb_code show_pdf(const showing *s, tb_buf *out, tb_error *err)
{
    return tb_print_pdf(s->asked->printer, s->statement, s->sha256, s->names, &s->asked->pages, out,
                        err);
}

static tb_code show_ubl(const showing *s, tb_buf *out, tb_error *err)
{
    return tb_ubl_write(s->statement, s->names, TB_UBL_PEPPOL, out, err);
}

static tb_code show_xrechnung(const showing *s, tb_buf *out, tb_error *err)
{
    return tb_ubl_write(s->statement, s->names, TB_UBL_XRECHNUNG, out, err);
}

static void open_json(const char *title, const tb_shown *shown, tb_buf *out)
{
    (void)title, (void)shown;
    tb_buf_str(out, "{\"invoices\":[");
}

static void open_csv(const char *title, const tb_shown *shown, tb_buf *out)
{
    (void)title, (void)shown;
    tb_invoice_csv_head(out);
}

static void open_focus(const char *title, const tb_shown *shown, tb_buf *out)
{
    (void)title, (void)shown;
    tb_focus_csv_head(out);
}

static void open_html(const char *title, const tb_shown *shown, tb_buf *out)
{
    tb_print_html_head(title, &shown->pages, out);
}

static void close_json(tb_buf *out)
{
    tb_buf_str(out, "]}\n");
}

typedef tb_code (*show_fn)(const showing *s, tb_buf *out, tb_error *err);

/* JSON is the stored text itself: it has no `show`. */
static const struct {
    void (*open)(const char *title, const tb_shown *shown, tb_buf *out);
    show_fn show;
    void (*close)(tb_buf *out);
    bool names;
} forms[TB_SHOWN_FORM_COUNT] = {
    [TB_SHOWN_JSON] = {open_json, NULL, close_json, false},
    [TB_SHOWN_CSV] = {open_csv, show_csv, NULL, false},
    [TB_SHOWN_HTML] = {open_html, show_html, tb_print_html_tail, true},
    [TB_SHOWN_FOCUS] = {open_focus, show_focus, NULL, true},
    [TB_SHOWN_PDF] = {NULL, show_pdf, NULL, true},
    [TB_SHOWN_UBL] = {NULL, show_ubl, NULL, true},
    [TB_SHOWN_XRECHNUNG] = {NULL, show_xrechnung, NULL, true},
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

const char *tb_shown_mark(tb_shown_form form)
{
    static const char *const marks[TB_SHOWN_FORM_COUNT] = {
        [TB_SHOWN_CSV] = "account,number,kind,",
        [TB_SHOWN_FOCUS] = "BillingAccountId",
        [TB_SHOWN_UBL] = ":poacc:billing:3.0<",
        [TB_SHOWN_XRECHNUNG] = ":xrechnung_3.0<",
    };
    return marks[form] ? marks[form] : "";
}

bool tb_shown_alone(tb_shown_form form)
{
    return words[form].alone;
}

static void open_titled(const tb_shown *shown, const char *title, tb_buf *out)
{
    if (forms[shown->form].open) forms[shown->form].open(title, shown, out);
}

void tb_shown_open(const tb_shown *shown, tb_buf *out)
{
    open_titled(shown, "Invoices", out);
}

void tb_shown_close(const tb_shown *shown, tb_buf *out)
{
    if (forms[shown->form].close) forms[shown->form].close(out);
}

#define ADDRESS_MAX (TB_SHOWN_URL + 64)

/* What it prints of the log of documents, in names; address is kept by the caller. */
static tb_code find_proof(const tb_shown *shown, const tb_statement *statement, tb_invoice_proof *proof, char address[ADDRESS_MAX],
                          tb_invoice_names *names, tb_error *err)
{
    bool covered;
    tb_code code = tb_store_proof_printed(shown->store, statement->account, statement->number, proof, &covered, err);
    if (code || !covered) return code;
    if (shown->public_url) {
        snprintf(address, ADDRESS_MAX, "%.*s/billing/invoices/%s/proof", TB_SHOWN_URL, shown->public_url, statement->number);
        proof->address = address;
    }
    names->proof = proof;
    return TB_OK;
}

/* at_us: the moment of the names that it shows. */
static tb_code show(const tb_shown *shown, const tb_statement *statement, const char *sha256,
                    int64_t at_us, tb_buf *out, tb_error *err)
{
    tb_invoice_names names = {0};
    tb_invoice_proof proof;
    char address[ADDRESS_MAX];
    const bool named = forms[shown->form].names && shown->store;
    tb_code code = TB_OK;
    if (named)
        code = tb_store_invoice_names(shown->store, statement->account, at_us, &names, err);
    if (code) return code;
    if (named && *sha256) code = find_proof(shown, statement, &proof, address, &names, err);
    if (!code) code = forms[shown->form].show(&(showing){shown, statement, sha256, named ? &names : NULL}, out, err);
    if (named) tb_invoice_names_release(&names);
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
    code = show(shown, &paper.statement, paper.sha256, invoice->finalized_us, out, err);
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
    return show(shown, statement, "", shown->now_us, out, err);
}

/* The document of a single invoice is its text. */
tb_code tb_shown_one(const tb_shown *shown, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    if (!forms[shown->form].show) return show_text(invoice, out, err);
    open_titled(shown, invoice->number, out);
    tb_code code = show_stored(shown, invoice, out, err);
    if (!code) tb_shown_close(shown, out);
    return code ? code : tb_buf_check(out, err);
}
