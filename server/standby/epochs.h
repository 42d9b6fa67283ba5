/* Asks servers which epoch they have (GET /replica/epoch), all at once and for a short time. */
#ifndef TOLLBOOK_SERVER_STANDBY_EPOCHS_H
#define TOLLBOOK_SERVER_STANDBY_EPOCHS_H

#include "tollbook/replica.h"

#define EPOCHS_MS 1500L

/* ret_epochs[i] is that of list[i].url; 0: it did not answer, or has none. ca: as link_options has it. */
void epochs_ask(const tb_standby *list, size_t n, const char *ca, int64_t *ret_epochs);

#endif
