/* A final document as an electronic invoice: UBL 2.1, as Peppol BIS Billing 3.0 or XRechnung 3.0
 * wants it, both of the European norm EN 16931. Pure: no store, no clock, no locale; the same
 * statement and names give the same bytes. */
#ifndef TOLLBOOK_UBL_H
#define TOLLBOOK_UBL_H

#include "tollbook/invoice.h"

TB_API_BEGIN

typedef enum tb_ubl_profile { TB_UBL_PEPPOL, TB_UBL_XRECHNUNG } tb_ubl_profile;

#define TB_UBL_TEXT_MAX ((size_t)256 << 20) /* longest document, bytes */

/* Appends the document: an Invoice (type 380), or a CreditNote (381) for credit notes and where an invoice's total
 * is negative. names may be NULL: zones are then called by their numbers. TB_E_VALIDATION: a draft, a void document,
 * or one that lacks what the profile needs; err->field is the first of it, as "buyer.country", and the message names
 * its term and how many more there are (tb_statement_missing_fields in invoice.h). TB_E_OVERFLOW: a sum of amounts.
 * On an error nothing is appended. Memory of the XML writer is libxml2's own. */
TB_MUST_USE tb_code tb_ubl_write(const tb_statement *statement, const tb_invoice_names *names,
                                 tb_ubl_profile profile, tb_buf *out, tb_error *err);

TB_API_END

#endif
