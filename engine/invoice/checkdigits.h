/* Whether a number of a scheme of ISO 6523 has the form that Peppol BIS Billing 3 asks of it. */
#ifndef TOLLBOOK_INVOICE_CHECKDIGITS_H
#define TOLLBOOK_INVOICE_CHECKDIGITS_H

#include <stdbool.h>

/* true too where the scheme is none whose numbers are checked. */
bool tb__number_fits(const char *scheme, const char *number);

#endif
