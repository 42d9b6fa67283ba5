/* serve --retain: the operation `retain` as a periodic task. */
#ifndef TOLLBOOK_SERVER_API_RETAIN_H
#define TOLLBOOK_SERVER_API_RETAIN_H

#include "http/jobs/periodic.h"

/* text: HOURS,DAYS,LOGS, each as the operation takes it, or "-" for no limit: "25,60,72h", "-,-,24h". TB_E_USAGE: it is
 * something else. *ret_task->ctx lives as long as the program. */
TB_MUST_USE tb_code api_retain(const char *text, periodic_task *ret_task, tb_error *err);

#endif
