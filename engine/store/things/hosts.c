/* Hostnames of pull zones, for logs of many virtual hosts: read once, until the catalogue changes. */
#include "store/core/internal.h"
#include "tollbook/logformat.h"

static tb_code read_hosts(tb_store *store, tb_known_hosts *hosts, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_KNOWN_HOSTS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const char *name = (const char *)sqlite3_column_text(s, 1);
        if (name)
            code = tb_known_hosts_add(hosts, name, (size_t)sqlite3_column_bytes(s, 1),
                                      sqlite3_column_int64(s, 0), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_known_hosts(tb_store *store, const struct tb_known_hosts **ret_hosts, tb_error *err)
{
    tb_known_hosts *hosts = NULL;
    tb_code code = store->hosts ? TB_OK : tb_known_hosts_new(&hosts, err);
    if (!code && hosts) code = read_hosts(store, hosts, err);
    if (code) {
        tb_known_hosts_free(hosts);
        return code;
    }
    if (hosts) store->hosts = hosts;
    *ret_hosts = store->hosts;
    return TB_OK;
}
