/* What the two endpoints of shield events share. */
#ifndef TOLLBOOK_SERVER_API_SHIELD_H
#define TOLLBOOK_SERVER_API_SHIELD_H

#include "http/request.h"
#include "http/server.h"
#include "tollbook/logstore.h"

/* The path's shield zone, where it is the account's: TB_E_SHIELD_NOT_FOUND, also for what is no id. In
 * a snapshot of the caller's. */
TB_MUST_USE tb_code shield_zone(request *r, int64_t *ret_zone, tb_error *err);

#endif
