/* Whether a number of a scheme of ISO 6523 has the form that Peppol BIS Billing 3 requires. */
#ifndef TOLLBOOK_INVOICE_CHECKDIGITS_H
#define TOLLBOOK_INVOICE_CHECKDIGITS_H

#include <stdbool.h>

/* Whether the number's check digits are right; true also where the scheme has none. */
bool tb__number_fits(const char *scheme, const char *number);

#endif
