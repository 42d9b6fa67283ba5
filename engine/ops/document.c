/* One switch on the form in each place where they differ. */
#include "tollbook/document.h"

#include <string.h>

#include "tollbook/ubl.h"

void tb_shown_open(tb_shown_form form, tb_buf *out)
{
    switch (form) {
    case TB_SHOWN_JSON: tb_buf_str(out, "{\"invoices\":["); break;
    case TB_SHOWN_CSV: tb_invoice_csv_head(out); break;
    case TB_SHOWN_HTML: tb_invoice_html_head("Invoices", out); break;
    case TB_SHOWN_FOCUS: tb_focus_csv_head(out); break;
    default: break;
    }
}

void tb_shown_close(tb_shown_form form, tb_buf *out)
{
    if (form == TB_SHOWN_JSON) tb_buf_str(out, "]}\n");
    if (form == TB_SHOWN_HTML) tb_invoice_html_tail(out);
}

static tb_code show(tb_shown_form form, const tb_statement *s, const char *sha256, tb_buf *out,
                    tb_error *err)
{
    if (form == TB_SHOWN_FOCUS) return tb_focus_csv(s, NULL, out, err);
    if (form == TB_SHOWN_HTML) return tb_invoice_html(s, sha256, out, err);
    if (form == TB_SHOWN_UBL) return tb_ubl_write(s, NULL, TB_UBL_PEPPOL, out, err);
    if (form == TB_SHOWN_XRECHNUNG) return tb_ubl_write(s, NULL, TB_UBL_XRECHNUNG, out, err);
    tb_invoice_csv(s, out);
    return TB_OK;
}

static tb_code show_stored(tb_shown_form form, const tb_invoice *invoice, tb_buf *out,
                           tb_error *err)
{
    tb_paper paper;
    bool is_void = invoice->state == TB_INVOICE_VOID;
    if (form == TB_SHOWN_JSON) {
        if (is_void)
            tb_invoice_text_void(invoice->text, invoice->text_len, out);
        else
            tb_buf_add(out, invoice->text, invoice->text_len);
        return tb_buf_check(out, err);
    }
    if (form == TB_SHOWN_FOCUS && is_void) return TB_OK; /* nobody is billed for it */
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    if (is_void) memcpy(paper.statement.state, "void", sizeof "void");
    code = show(form, &paper.statement, paper.sha256, out, err);
    tb_paper_release(&paper);
    return code ? code : tb_buf_check(out, err);
}

static void separate(tb_shown_form form, bool first, tb_buf *out)
{
    if (form == TB_SHOWN_JSON && !first) tb_buf_str(out, ",");
}

tb_code tb_shown_stored(tb_shown_form form, const tb_invoice *invoice, bool first, tb_buf *out,
                        tb_error *err)
{
    separate(form, first, out);
    return show_stored(form, invoice, out, err);
}

tb_code tb_shown_draft(tb_shown_form form, const tb_statement *statement, bool first, tb_buf *out,
                       tb_error *err)
{
    separate(form, first, out);
    if (form == TB_SHOWN_JSON) return tb_statement_json(statement, out, NULL, err);
    tb_code code = show(form, statement, "", out, err);
    return code ? code : tb_buf_check(out, err);
}

tb_code tb_shown_one(tb_shown_form form, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    if (form == TB_SHOWN_HTML)
        tb_invoice_html_head(invoice->number, out);
    else if (form != TB_SHOWN_JSON)
        tb_shown_open(form, out);
    tb_code code = show_stored(form, invoice, out, err);
    if (form == TB_SHOWN_HTML) tb_invoice_html_tail(out);
    return code ? code : tb_buf_check(out, err);
}

const char *tb_shown_media_type(tb_shown_form form)
{
    switch (form) {
    case TB_SHOWN_JSON: return "application/json";
    case TB_SHOWN_HTML: return "text/html; charset=utf-8";
    case TB_SHOWN_UBL:
    case TB_SHOWN_XRECHNUNG: return "application/xml";
    default: return "text/csv; charset=utf-8";
    }
}
