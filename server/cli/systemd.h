/* Tells systemd that a service of Type=notify runs, as sd_notify(3) does: `systemctl start` returns then. Does nothing
 * where no service manager asks for it (NOTIFY_SOCKET). */
#ifndef TOLLBOOK_SERVER_CLI_SYSTEMD_H
#define TOLLBOOK_SERVER_CLI_SYSTEMD_H

void systemd_ready(void);

#endif
