#include "api/machine.h"

#include "http/marks.h"
#include "http/process.h"

void machine_look(const char *db, tb_machine *machine)
{
    disk_state disk = {0};
    machine->disk_known = process_disk(db, &disk);
    machine->disk_free = disk.free_bytes;
    if (!mark_read(db, MARK_BACKUP, &machine->backup_us)) machine->backup_us = INT64_MIN;
    if (!mark_read(db, MARK_BASE, &machine->base_us)) machine->base_us = INT64_MIN;
    if (!mark_read(db, MARK_VERIFY, &machine->verify_us)) machine->verify_us = INT64_MIN;
}
