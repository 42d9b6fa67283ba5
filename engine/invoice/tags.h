/* Labels of an account and of one of its zones as one set of tags. */
#ifndef TOLLBOOK_INVOICE_TAGS_H
#define TOLLBOOK_INVOICE_TAGS_H

#include "tollbook/buf.h"

/* Appends a JSON object with sorted keys: the account's labels and the zone's, which win where both
 * have a key. Either may be NULL; both: nothing is appended. Texts that are no object are an
 * error. */
TB_MUST_USE tb_code tb__tags(const char *account, const char *zone, tb_buf *out, tb_error *err);

#endif
