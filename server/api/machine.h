/* What an operation is told of the machine. */
#ifndef TOLLBOOK_SERVER_API_MACHINE_H
#define TOLLBOOK_SERVER_API_MACHINE_H

#include "tollbook/status.h"

/* The database's disk, and its last backup and verify; the rest stays as it is. */
void machine_look(const char *db, tb_machine *machine);

#endif
