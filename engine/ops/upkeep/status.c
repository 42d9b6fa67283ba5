#include "tollbook/status.h"

const char *tb_status_problem_name(tb_status_problem problem)
{
    static const char *const names[TB_STATUS_COUNT] = {
#define TB_X(e, name) [TB_STATUS_##e] = name,
        TB_STATUS_PROBLEMS(TB_X)
#undef TB_X
    };
    return names[problem];
}

int64_t tb_status_intake_us(const tb_status *status)
{
    const int64_t log_us = status->store.newest_log_us, rows_us = status->store.newest_buckets_us;
    return log_us > rows_us ? log_us : rows_us;
}

int64_t tb_status_backup_us(const tb_machine *machine)
{
    return machine->backup_us > machine->base_us ? machine->backup_us : machine->base_us;
}

/* moment INT64_MIN: it never was, which is too long ago. */
static bool is_old(int64_t moment_us, int64_t most_us, int64_t now_us)
{
    return most_us > 0 && (moment_us == INT64_MIN || now_us - moment_us > most_us);
}

tb_code tb_status_read(tb_store *store, const tb_machine *machine, const tb_status_bounds *bounds, int64_t now_us,
                       tb_status *ret_status, tb_error *err)
{
    tb_status s = {.schema = tb_store_schema()};
    s.written = tb_store_writer(store, &s.writer);
    tb_code code = tb_store_read_figures(store, &s.store, err);
    if (!code) code = tb_store_outbox_figures(store, &s.outbox, err);
    if (code) return code;
    const bool found[TB_STATUS_COUNT] = {
        [TB_STATUS_SERVER] = machine->serving && !machine->ready,
        [TB_STATUS_DISK] = machine->disk_known && machine->disk_free < bounds->free_bytes,
        [TB_STATUS_BACKUP] = is_old(tb_status_backup_us(machine), bounds->backup_us, now_us),
        [TB_STATUS_VERIFY] = is_old(machine->verify_us, bounds->verify_us, now_us),
        [TB_STATUS_INTAKE] = is_old(tb_status_intake_us(&s), bounds->intake_us, now_us),
        [TB_STATUS_OUTBOX] = s.outbox.oldest_us != INT64_MAX && now_us - s.outbox.oldest_us > TB_STATUS_OUTBOX_US,
    };
    for (int p = 0; p < TB_STATUS_COUNT; p++)
        if (found[p]) s.problems |= UINT32_C(1) << p;
    *ret_status = s;
    return TB_OK;
}
