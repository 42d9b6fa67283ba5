#include "ops/invoicing/invoice_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"

tb_code tb__invoice_files_init(tb__invoice_files *f, tb_ops *ops, const tb_args *args,
                               tb_reply *reply, const tb_shown *shown, tb_error *err)
{
    *f = (tb__invoice_files){.ops = ops, .reply = reply, .shown = *shown,
                             .folder = tb_arg_given(args, "out"),
                             .resume = tb_arg_given(args, "resume")};
    return shown->form == TB_SHOWN_PDF ? tb_printer_new(&f->shown.printer, err) : TB_OK;
}

void tb__invoice_files_release(tb__invoice_files *f)
{
    tb_printer_free(f->shown.printer);
    f->shown.printer = NULL;
}

/* Boxes in place of letters are not found by whoever sends it. */
static void say_unknown(const tb__invoice_files *f, const char *name)
{
    const size_t n = f->shown.printer ? tb_printer_unknown(f->shown.printer) : 0;
    if (n)
        tb_reply_say(f->reply,
                     "%s: %s of no font of this machine. Install fonts-noto-core and fonts-noto-cjk,"
                     " and write it again.",
                     name, TB__COUNTED(n, "character"));
}

bool tb__is_own_trouble(tb_code code)
{
    return code == TB_E_VALIDATION || code == TB_E_OVERFLOW || code == TB_E_INTERNAL || code == TB_E_CORRUPT;
}

static tb_code write_draft(const tb_shown *shown, const tb_statement *draft, tb_buf *out,
                           tb_error *err)
{
    tb_shown_open(shown, out);
    tb_code code = tb_shown_draft(shown, draft, true, out, err);
    if (!code) tb_shown_close(shown, out);
    return code;
}

void tb__say_refused(tb_reply *reply, const tb_invoice *invoice, const tb_statement *draft, const tb_error *why)
{
    if (invoice)
        tb_reply_say(reply, "%s (account %" PRId64 "): %s", invoice->number, invoice->account, why->message);
    else
        tb_reply_say(reply, "account %" PRId64 ": %s", draft->account, why->message);
}

/* The next document gets a printer that has drawn nothing yet. */
static tb_code renew_printer(tb__invoice_files *f, tb_error *err)
{
    if (!f->shown.printer) return TB_OK;
    tb__invoice_files_release(f);
    return tb_printer_new(&f->shown.printer, err);
}

/* Its number is made of digits and a dash, so it names a file. */
static tb_code make_file(tb__invoice_files *f, const char *name, const tb_invoice *invoice,
                    const tb_statement *draft, tb_error *err)
{
    tb_buf bytes;
    tb_error why = {0};
    tb_buf_init(&bytes, f->ops->files ? TB_PRINT_MAX : TB_REPLY_MAX / 2, NULL);
    tb_code code = invoice ? tb_shown_one(&f->shown, invoice, &bytes, &why)
                           : write_draft(&f->shown, draft, &bytes, &why);
    if (!code) {
        say_unknown(f, name);
        code = tb__reply_file(f->ops, f->reply, &(tb__made){name, tb_shown_mark(f->shown.form), &bytes}, err);
        f->made += !code;
    } else if (tb__is_own_trouble(code) || bytes.failed) { /* too long: the others are not */
        tb__say_refused(f->reply, invoice, draft, &why);
        f->refused++;
        code = renew_printer(f, err);
    } else {
        code = tb_fail(err, code, why.field, "%s", why.message);
    }
    tb_buf_release(&bytes);
    return code;
}

static bool is_there(const tb__invoice_files *f, const char *name)
{
    const tb_files *to = f->ops->files;
    return f->resume && to && to->wanted && !to->wanted(to->ctx, name, tb_shown_mark(f->shown.form));
}

tb_code tb__invoice_file(tb__invoice_files *f, const tb_invoice *invoice, const tb_statement *draft,
                         tb_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", invoice ? invoice->number : "draft",
             tb_shown_end(f->shown.form));
    if (!f->folder && f->made + f->refused) {
        f->several = true;
    } else if (f->folder && invoice->state == TB_INVOICE_VOID) {
        tb_reply_say(f->reply, "%s is void and left out.", invoice->number);
        f->voids++;
    } else if (is_there(f, name)) {
        f->kept++;
    } else {
        return make_file(f, name, invoice, draft, err);
    }
    return TB_OK;
}

tb_code tb__invoice_files_check(const tb__invoice_files *f, tb_error *err)
{
    if (!f->several) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "format",
                   "There are several invoices, and a document of this form holds one. Give --out DIR"
                   " for one file each, or --number NUMBER.");
}

bool tb__invoice_files_end(const tb__invoice_files *f)
{
    tb_reply *reply = f->reply;
    if (f->folder) tb_reply_say(reply, "%s made.", TB__COUNTED(f->made, "file"));
    if (f->kept) tb_reply_say(reply, "%s there before.", TB__COUNTED(f->kept, "file"));
    if (f->refused)
        tb_reply_say(reply, "%s refused, for the reason above.", TB__COUNTED(f->refused, "invoice"));
    return f->made + f->kept && !f->refused;
}
