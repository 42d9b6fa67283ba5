/* Fuzzes the reader of stored invoices. What is accepted is written in every form, and its canonical
 * text reads back to itself. */
#include "tollbook/print.h"
#include "tollbook/ubl.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

#define MOST ((size_t)16 << 20)

static void check_forms(const tb_paper *paper)
{
    tb_buf out;
    tb_error err;
    tb_buf_init(&out, MOST, NULL);
    tb_invoice_csv_head(&out);
    tb_invoice_csv(&paper->statement, &out);
    tb_focus_csv_head(&out);
    tb_code code = tb_focus_csv(&paper->statement, NULL, &out, &err);
    MUST(code == TB_OK || code == TB_E_OVERFLOW);
    tb_print_html_head("fuzz", NULL, &out);
    code = tb_print_html(&paper->statement, paper->sha256, NULL,
                         &(tb_print_options){.auditor = true}, &out, &err);
    MUST(code == TB_OK || code == TB_E_OVERFLOW);
    tb_print_html_tail(&out);
    code = tb_ubl_write(&paper->statement, NULL, TB_UBL_XRECHNUNG, &out, &err);
    MUST(code == TB_OK || code == TB_E_OVERFLOW || code == TB_E_VALIDATION);
    tb_buf_release(&out);
}

static void check_again(const tb_paper *paper)
{
    tb_buf first, second;
    tb_paper again;
    char sha256[65];
    tb_buf_init(&first, MOST, NULL);
    tb_buf_init(&second, MOST, NULL);
    MUST(tb_statement_json(&paper->statement, &first, sha256, NULL) == TB_OK);
    MUST(tb_paper_parse(first.data, first.len, NULL, &again, NULL) == TB_OK);
    MUST(again.sha256_true && strcmp(again.sha256, sha256) == 0);
    MUST(tb_statement_json(&again.statement, &second, NULL, NULL) == TB_OK);
    MUST(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    tb_paper_release(&again);
    tb_buf_release(&first);
    tb_buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tb_paper paper;
    tb_error err;
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    tb_code code = tb_paper_parse(text, size, NULL, &paper, &err);
    free(text); /* nothing of it may be pointed into */
    if (code != TB_OK) {
        MUST(err.code == code && err.message[0] && err.byte <= size + 1);
        return 0;
    }
    check_again(&paper);
    check_forms(&paper);
    tb_paper_release(&paper);
    return 0;
}
