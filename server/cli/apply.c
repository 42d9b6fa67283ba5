/* tollbook apply: the catalogue, parsed first and applied whole, in one transaction. */
#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/remote_report.h"

static tb_code apply(tb_store *store, const tb_catalog *catalog, int64_t now_us, tb_applied *done,
                     tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_store_apply_catalog(store, catalog, now_us, done, err);
    if (code == TB_OK) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

static int apply_here(const cli_call *call, const tb_catalog *catalog)
{
    tb_store *store;
    tb_error err;
    tb_applied done;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, true, now_us, &store);
    if (status) return status;
    if (apply(store, catalog, now_us, &done, &err)) status = cli_fail(call, call->operands[0], &err);
    else report_applied(call, &done);
    tb_store_close(store);
    return status;
}

int cli_apply(const cli_call *call)
{
    tb_buf text;
    tb_error err;
    tb_catalog catalog;
    int status = cli_check_place(call);
    if (status == 0) status = cli_read_file(call, call->operands[0], TB_CATALOG_MAX, &text);
    if (status) return status;
    if (cli_given(call, "server")) {
        status = remote_apply(call, text.data, text.len);
    } else if (tb_catalog_parse(text.data, text.len, &catalog, &err)) {
        status = cli_fail(call, call->operands[0], &err);
    } else {
        status = apply_here(call, &catalog);
        tb_catalog_release(&catalog);
    }
    tb_buf_release(&text);
    return status;
}
