#include "cli/standby.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/secret.h"
#include "cli/signals.h"
#include "http/message.h"
#include "standby/epochs.h"
#include "standby/rejoin.h"
#include "standby/seed.h"
#include "tollbook/operation.h"
#include "outbound/outbound.h"

#define MAX_LAG_S 30

static int refuse_option(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static int read_address(const cli_call *call, char *url, link_options *link)
{
    size_t len = strlen(url);
    const bool tls = strncmp(url, "https://", 8) == 0;
    if ((!tls && strncmp(url, "http://", 7) != 0) || strpbrk(url, "?# ") || link->n_urls == LINK_URLS_MAX)
        return refuse_option(call, "--standby-of is the address of the primary, such as https://tollbook.example:8443, or up to eight with "
                                   "commas between them.");
    while (len && url[len - 1] == '/')
        url[--len] = 0;
    link->urls[link->n_urls++] = url;
    if (!tls && !outbound_is_local(url))
        cli_warn(call, "everything comes from %s in plain HTTP, and the key goes there so: put TLS in front of it, or a "
                      "tunnel between the machines.", url);
    return 0;
}

static int read_addresses(const cli_call *call, link_options *link)
{
    static char list[2048]; /* one server a process */
    char *rest = list;
    int status = 0;
    if ((size_t)snprintf(list, sizeof list, "%s", cli_text(call, "standby-of")) >= sizeof list)
        return refuse_option(call, "--standby-of is too long.");
    for (char *url; !status && (url = strsep(&rest, ","));)
        status = read_address(call, url, link);
    link->url = link->urls[0];
    return status;
}

static int read_own_url(const cli_call *call, server_options *o)
{
    const char *url = o->copy.own_url = cli_text(call, "standby-url");
    const bool good = !url || ((strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) && strlen(url) <= LINK_URL_MAX &&
                               !strpbrk(url, "?#; \"'<>\\`"));
    return good ? 0 : refuse_option(call, "--standby-url is the address of this server, such as https://standby.example:8443, of at most 200 "
                                          "letters.");
}

tb_code cli_load_standby_key(const cli_call *call, char ret_key[LINK_KEY_MAX + 1], tb_error *err)
{
    const char *path = cli_text(call, "standby-key-file");
    FILE *f = fopen(path, "rbe");
    if (!f) return tb_fail(err, TB_E_READ_ONLY, NULL, "--standby-key-file %s: %s.", path, strerror(errno));
    const size_t len = fread(ret_key, 1, LINK_KEY_MAX, f);
    fclose(f);
    ret_key[len] = 0;
    const size_t end = strcspn(ret_key, "\r\n");
    const bool one_line = ret_key[end + strspn(ret_key + end, "\r\n")] == 0 && strlen(ret_key) == len && len < LINK_KEY_MAX;
    ret_key[end] = 0;
    if (!end || !one_line)
        return tb_fail(err, TB_E_READ_ONLY, NULL, "--standby-key-file %s does not hold one line, what `key create --role Replica` printed.", path);
    cli_warn_open(call, "the standby's key", path);
    return TB_OK;
}

int cli_read_standby(const cli_call *call, server_options *o)
{
    static char key[LINK_KEY_MAX + 1]; /* one server a process */
    tb_error err;
    link_options *link = &o->copy.link;
    const char *file = cli_text(call, "standby-key-file");
    if (!cli_given(call, "standby-of")) {
        if (file || cli_given(call, "promotable") || cli_given(call, "max-lag") || cli_given(call, "standby-url"))
            return refuse_option(call, "--standby-key-file, --promotable, --standby-url and --max-lag need --standby-of URL.");
        return 0;
    }
    if (!file) return refuse_option(call, "--standby-of needs --standby-key-file FILE, with a key of the role Replica.");
    if (o->usage)
        return refuse_option(call, "--standby-of and --usage exclude each other: the usage servers of a primary are written by it alone.");
    int status = read_addresses(call, link);
    if (!status) status = read_own_url(call, o);
    if (status) return status;
    if (cli_load_standby_key(call, key, &err)) return cli_fail(call, NULL, &err);
    link->key = key;
    link->ca = o->ca;
    link->promotable = cli_given(call, "promotable");
    const bool everywhere = strncmp(o->listen[0], "0.0.0.0:", 8) == 0 || strncmp(o->listen[0], "[::]:", 5) == 0;
    if (link->promotable && everywhere && !o->copy.own_url)
        return refuse_option(call, "--promotable needs --standby-url URL where --listen is all addresses of this machine: the primary "
                                   "tells its standbys apart by it.");
    o->copy.max_lag_us = cli_number(call, "max-lag", MAX_LAG_S) * 1000000;
    o->copy.check = tb_verify;
    return 0;
}

int cli_seed_standby(const cli_call *call, server_options *o)
{
    seed_options options = {.link = o->copy.link, .db = o->db, .note = message_note, .warn = message_error};
    tb_error err;
    if (!o->copy.link.url) return 0;
    epochs_choose(&o->copy.link);
    options.link = o->copy.link;
    const bool there = access(o->db, F_OK) == 0;
    if (!there && errno != ENOENT) return 0;
    signals_let(true);
    const tb_code code = there ? rejoin_copy(&options, &err) : seed_copy(&options, &err);
    signals_let(false);
    return code ? cli_fail(call, NULL, &err) : 0;
}
