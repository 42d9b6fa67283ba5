/* Text in pages. */
#ifndef TOLLBOOK_HTML_H
#define TOLLBOOK_HTML_H

#include "tollbook/buf.h"

/* Appends the text, its & < > and " as entities, so that it stands for itself in an element and in
 * a quoted attribute. */
void tb_html_text(tb_buf *out, const char *text);

#endif
