/* HTML text, for the pages of invoices and comparisons. */
#include "tollbook/json.h"

void tb_html_text(tb_buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': tb_buf_str(out, "&amp;"); break;
        case '<': tb_buf_str(out, "&lt;"); break;
        case '>': tb_buf_str(out, "&gt;"); break;
        case '"': tb_buf_str(out, "&quot;"); break;
        default: tb_buf_add(out, text, 1);
        }
    }
}
