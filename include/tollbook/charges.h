/* The money side of the store, all of it. Append-only: a book, an invoice's bytes, a number, a run
 * and a ledger entry never change; triggers in the file hold it. */
#ifndef TOLLBOOK_CHARGES_H
#define TOLLBOOK_CHARGES_H

#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

#endif
