/* An invoice as a sheet: its parts, one after the other. */
#include <stdlib.h>
#include <string.h>

#include "print/maker.h"

static tb__language language_of(const tb_statement *s)
{
    return strcmp(tb_party_text(s->buyer, TB_PARTY_LANGUAGE), "de") == 0 ? TB__GERMAN : TB__ENGLISH;
}

tb_code tb__sheet_make(tb__sheet *sheet, const tb_statement *statement, const char *sha256,
                       const tb_invoice_names *names, const tb_print_options *options,
                       tb_error *err)
{
    tb__maker m = {.sheet = sheet,
                   .s = statement,
                   .sha256 = sha256,
                   .names = names,
                   .language = language_of(statement),
                   .err = err};
    *sheet = (tb__sheet){.language = m.language, .letter = options && options->letter};
    tb__arena_init(&sheet->texts, NULL);
    tb_buf_init(&m.out, TB_PRINT_MAX, NULL);
    tb__make_head(&m);
    tb__make_summary(&m);
    tb__make_totals(&m);
    tb__make_proof(&m);
    tb__make_details(&m);
    if (options && options->auditor) tb__make_auditor(&m);
    tb_buf_release(&m.out);
    return m.code;
}

void tb__sheet_release(tb__sheet *sheet)
{
    free(sheet->blocks);
    free(sheet->rows);
    tb__arena_release(&sheet->texts);
    *sheet = (tb__sheet){0};
}
