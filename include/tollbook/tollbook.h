/* tollbook: statistics and billing for content delivery, over one SQLite file. This is the whole of
 * the library; each header can be included alone too. Begin with these:
 *
 *   statistics.h  what an account has used, as JSON: tb_statistics_file is one call
 *   store.h       the database: create, open, write, read
 *   error.h       how a call fails
 *   book.h bill.h issue.h  prices, a month's bill, its invoice
 *   operation.h   what the command line and the server can be asked for, by name
 *
 * Functions return a tb_code: TB_OK, or what went wrong, with a sentence in the tb_error. Nothing
 * prints, reads the clock or the environment, or keeps state outside of what it returns. A store is
 * for one thread at a time; give each thread its own. Link with `pkg-config --libs tollbook`. */
#ifndef TOLLBOOK_TOLLBOOK_H
#define TOLLBOOK_TOLLBOOK_H

#include "tollbook/accountforecast.h"
#include "tollbook/advice.h"
#include "tollbook/alloc.h"
#include "tollbook/answer.h"
#include "tollbook/api.h"
#include "tollbook/audit.h"
#include "tollbook/balancer.h"
#include "tollbook/bill.h"
#include "tollbook/billsource.h"
#include "tollbook/book.h"
#include "tollbook/bookstore.h"
#include "tollbook/breakeven.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"
#include "tollbook/catalog.h"
#include "tollbook/charges.h"
#include "tollbook/container.h"
#include "tollbook/containerstore.h"
#include "tollbook/correction.h"
#include "tollbook/decimal.h"
#include "tollbook/document.h"
#include "tollbook/error.h"
#include "tollbook/event.h"
#include "tollbook/eventstore.h"
#include "tollbook/explain.h"
#include "tollbook/forecast.h"
#include "tollbook/forget.h"
#include "tollbook/grid.h"
#include "tollbook/history.h"
#include "tollbook/intake.h"
#include "tollbook/invoice.h"
#include "tollbook/invoicestore.h"
#include "tollbook/issue.h"
#include "tollbook/issuegroup.h"
#include "tollbook/json.h"
#include "tollbook/key.h"
#include "tollbook/ledger.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/logformat.h"
#include "tollbook/logstore.h"
#include "tollbook/metrics.h"
#include "tollbook/monthbill.h"
#include "tollbook/monthpairs.h"
#include "tollbook/operation.h"
#include "tollbook/party.h"
#include "tollbook/percentile.h"
#include "tollbook/pullzone.h"
#include "tollbook/range.h"
#include "tollbook/region.h"
#include "tollbook/requestlog.h"
#include "tollbook/retain.h"
#include "tollbook/rollup.h"
#include "tollbook/running.h"
#include "tollbook/scenarios.h"
#include "tollbook/series.h"
#include "tollbook/shadow.h"
#include "tollbook/shadowbills.h"
#include "tollbook/size.h"
#include "tollbook/solve.h"
#include "tollbook/statistics.h"
#include "tollbook/store.h"
#include "tollbook/tariff.h"
#include "tollbook/terms.h"
#include "tollbook/unowned.h"
#include "tollbook/usage.h"
#include "tollbook/verify.h"
#include "tollbook/whatif.h"
#include "tollbook/whatifbody.h"
#include "tollbook/whatifforms.h"
#include "tollbook/whatifrun.h"
#include "tollbook/withdraw.h"
#include "tollbook/zones.h"

#endif
