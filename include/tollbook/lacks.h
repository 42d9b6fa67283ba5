/* What a statement lacks to be an invoice that the law, or a norm of electronic invoices, accepts:
 * one table of rules over the parties, the tax and the currency. Pure. */
#ifndef TOLLBOOK_LACKS_H
#define TOLLBOOK_LACKS_H

#include "tollbook/invoice.h"

TB_API_BEGIN

typedef enum tb_norm {
    TB_NORM_LEGAL,     /* what an invoice with VAT on paper needs in the Union */
    TB_NORM_PEPPOL,    /* Peppol BIS Billing 3.0 */
    TB_NORM_XRECHNUNG, /* XRechnung 3.0 */
} tb_norm;

/* All three are static. */
typedef struct tb_lack {
    const char *path; /* as the catalogue says it: "buyer.country", "accounts[].tax" */
    const char *term; /* of EN 16931: "BT-55"; "" where it has none */
    const char *why;  /* a short sentence; NULL: it is not declared, and that is all */
} tb_lack;

#define TB_LACKS_MAX 40 /* there are no more at once */

/* In the order of the table: seller, buyer, tax, currency, payment. What only a final document has
 * (its number, its days) is not asked of a draft. Returns how many; 0: nothing is lacking. */
size_t tb_statement_lacks(const tb_statement *statement, tb_norm norm, tb_lack ret[TB_LACKS_MAX]);

TB_API_END

#endif
