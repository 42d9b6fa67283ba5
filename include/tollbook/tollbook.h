/* tollbook: statistics and billing for content delivery, over one SQLite file. This is the whole of
 * the library; each header can be included alone too. Begin with these:
 *
 *   statistics.h  an account's usage, as JSON: tb_statistics_file is one call
 *   store.h       the database: create, open, write, read
 *   error.h       how a call fails
 *   book.h bill.h issue.h  prices, a month's bill, its invoice
 *   operation.h   the operations of the command line and the server, by name
 *
 * Functions return a tb_code: TB_OK, or an error, with a sentence in the tb_error. They do not print, read the clock
 * or the environment, or keep state outside of the objects that they return. A store is for one thread at a time;
 * give each thread its own. Link with `pkg-config --libs tollbook`. */
#ifndef TOLLBOOK_TOLLBOOK_H
#define TOLLBOOK_TOLLBOOK_H

#include "tollbook/print.h"
#include "tollbook/accountaudit.h"
#include "tollbook/accountforecast.h"
#include "tollbook/forecast.h"
#include "tollbook/catalog.h"
#include "tollbook/cloudevents.h"
#include "tollbook/alerts.h"
#include "tollbook/alertstore.h"
#include "tollbook/buf.h"
#include "tollbook/bundle.h"
#include "tollbook/answer.h"
#include "tollbook/api.h"
#include "tollbook/archive.h"
#include "tollbook/audit.h"
#include "tollbook/statistics.h"
#include "tollbook/bill.h"
#include "tollbook/billsource.h"
#include "tollbook/book.h"
#include "tollbook/bookstore.h"
#include "tollbook/solve.h"
#include "tollbook/calendar.h"
#include "tollbook/chargestore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/usageservers.h"
#include "tollbook/containerstore.h"
#include "tollbook/invoice.h"
#include "tollbook/decimal.h"
#include "tollbook/issue.h"
#include "tollbook/entry.h"
#include "tollbook/error.h"
#include "tollbook/event.h"
#include "tollbook/eventids.h"
#include "tollbook/eventsum.h"
#include "tollbook/logstore.h"
#include "tollbook/meter.h"
#include "tollbook/meterstore.h"
#include "tollbook/meterusage.h"
#include "tollbook/replica.h"
#include "tollbook/retain.h"
#include "tollbook/ledger.h"
#include "tollbook/rollup.h"
#include "tollbook/intake.h"
#include "tollbook/json.h"
#include "tollbook/key.h"
#include "tollbook/meter.h"
#include "tollbook/meterstore.h"
#include "tollbook/metrics.h"
#include "tollbook/monthbill.h"
#include "tollbook/operation.h"
#include "tollbook/party.h"
#include "tollbook/partystore.h"
#include "tollbook/proof.h"
#include "tollbook/prooflog.h"
#include "tollbook/settle.h"
#include "tollbook/range.h"
#include "tollbook/pullzone.h"
#include "tollbook/requestlog.h"
#include "tollbook/search.h"
#include "tollbook/series.h"
#include "tollbook/shield.h"
#include "tollbook/status.h"
#include "tollbook/store.h"
#include "tollbook/tariff.h"
#include "tollbook/totals.h"
#include "tollbook/ubl.h"
#include "tollbook/usage.h"
#include "tollbook/usageclient.h"
#include "tollbook/batches.h"
#include "tollbook/whatif.h"
#include "tollbook/whatifrun.h"
#include "tollbook/withdraw.h"

#endif
