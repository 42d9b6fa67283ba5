/* Alerts and webhooks, as the courier's work. */
#ifndef TOLLBOOK_SERVER_API_ALERTS_H
#define TOLLBOOK_SERVER_API_ALERTS_H

#include "http/courier.h"

/* What `serve --alert-url` says; the URL and the name of the authorities' file (NULL: the system's)
 * stay the caller's. TB_E_USAGE: it is no URL. */
TB_MUST_USE tb_code api_alerts(const char *url, const char *ca, int64_t limit_us, int64_t pause_us,
                               courier_work *ret_work, tb_error *err);

#endif
