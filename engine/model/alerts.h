/* An account's declared alerts. They are read in one place, as in declared.h: a new catalogue with an invalid alert is
 * refused, and alerts are evaluated with the same function. */
#ifndef TOLLBOOK_MODEL_ALERTS_H
#define TOLLBOOK_MODEL_ALERTS_H

#include "model/declared.h"
#include "tollbook/catalog.h"

/* `alerts`: a list of objects, each id once. The fault's path is within the list: "[0].above". */
bool tb__declared_alerts(const tb__document *doc, uint32_t value, tb_alert_rule ret[TB_ALERTS_MAX],
                         size_t *ret_n, tb__fault *fault);

#endif
