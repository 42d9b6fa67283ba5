/* Shared by the two endpoints of shield events. */
#ifndef TOLLBOOK_SERVER_API_SHIELD_H
#define TOLLBOOK_SERVER_API_SHIELD_H

#include "http/request.h"
#include "http/server.h"
#include "tollbook/logstore.h"

/* The path's shield zone, if it belongs to the account; TB_E_SHIELD_NOT_FOUND, also for an invalid id. In the caller's
 * snapshot. */
TB_MUST_USE tb_code shield_zone(request *r, int64_t *ret_zone, tb_error *err);

#endif
