/* A strict parser: each part accepts only its own characters. */
#include "usage/address.h"

#include <string.h>

#define SCHEME      "clickhouse://"
#define PORT        "8123"
#define SECURE_PORT "8443"
#define DIGITS      "0123456789"
#define LETTERS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static tb_code bad_address(tb_error *err, const char *problem)
{
    return tb_fail(err, TB_E_USAGE, "usage",
                   "%s An address is such as clickhouse://a.example:8123,b.example:8123/tollbook: up to %d hosts, and "
                   "a database's name of letters, digits and underscores; \"?secure=1\" after it asks for TLS.",
                   problem, USAGE_SHARDS_MAX);
}

/* 1..65535; 0: it is no port. */
static unsigned long port_number(const char *text, size_t len)
{
    unsigned long port = 0;
    if (!len || len > 5 || strspn(text, DIGITS) < len) return 0;
    for (size_t i = 0; i < len; i++)
        port = port * 10 + (unsigned long)(text[i] - '0');
    return port < 65536 ? port : 0;
}

/* The length of a host's name or address before its port; 0: it is invalid. */
static size_t host_length(const char *text, size_t len)
{
    if (text[0] != '[') {
        const size_t n = strspn(text, LETTERS DIGITS ".-_");
        return n < len ? n : len;
    }
    const char *end = memchr(text, ']', len);
    const size_t n = end ? (size_t)(end - text) - 1 : 0;
    return n && strspn(text + 1, "ABCDEFabcdef" DIGITS ":.") == n ? n + 2 : 0;
}

static bool add_shard(usage_address *a, const char *text, size_t len)
{
    const char *port = a->secure ? SECURE_PORT : PORT;
    const size_t host = len ? host_length(text, len) : 0;
    if (!host || len > USAGE_HOST_MAX - sizeof PORT || a->shards == USAGE_SHARDS_MAX) return false;
    if (host < len && (text[host] != ':' || port_number(text + host + 1, len - host - 1) == 0)) return false;
    char *out = a->shard[a->shards++];
    memcpy(out, text, len);
    out[len] = 0;
    if (host == len) {
        out[len] = ':';
        memcpy(out + len + 1, port, strlen(port) + 1);
    }
    return true;
}

static bool is(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Reads the options after '?', before the hosts, whose default port depends on them. *ret_shards is only set if
 * given. */
static tb_code read_options(const char *at, usage_address *a, size_t *ret_shards, tb_error *err)
{
    while (*at) {
        const size_t len = strcspn(at, "&"), name = strcspn(at, "=&");
        const char *value = at + name + (name < len);
        const size_t n = len - name - (name < len);
        if (is(at, name, "secure") && (is(value, n, "1") || is(value, n, "true"))) {
            a->secure = true;
        } else if (is(at, name, "secure") && (is(value, n, "0") || is(value, n, "false"))) {
            a->secure = false;
        } else if (is(at, name, "shards") && n && n < 3 && strspn(value, DIGITS) == n && value[0] != '0') {
            *ret_shards = (size_t)(value[0] - '0');
            if (n == 2) *ret_shards = *ret_shards * 10 + (size_t)(value[1] - '0');
        } else {
            return bad_address(err, "After '?' only secure=1 and shards=N are allowed.");
        }
        at += len + (at[len] == '&');
    }
    return TB_OK;
}

tb_code usage_address_parse(const char *url, usage_address *ret, tb_error *err)
{
    size_t shards = 0;
    *ret = (usage_address){0};
    if (strchr(url, '@'))
        return tb_fail(err, TB_E_USAGE, "usage",
                       "A user and a password do not belong into an address, which many can read: put them into a file "
                       "for --usage-credentials.");
    if (strncmp(url, SCHEME, strlen(SCHEME)) != 0) return bad_address(err, "It must begin with " SCHEME);
    const char *at = url + strlen(SCHEME), *slash = strchr(at, '/'), *mark = strchr(at, '?');
    if (!slash || (mark && mark < slash)) return bad_address(err, "A database's name is missing.");
    tb_code code = mark ? read_options(mark + 1, ret, &shards, err) : TB_OK;
    if (code) return code;
    const char *name = slash + 1;
    const size_t name_len = strcspn(name, "?");
    if (!name_len || name_len > USAGE_NAME_MAX || strspn(name, LETTERS DIGITS "_") != name_len)
        return bad_address(err, "That is no database's name.");
    memcpy(ret->database, name, name_len);
    ret->database[name_len] = 0;
    for (size_t len; at <= slash; at += len + 1) {
        len = strcspn(at, ",/");
        if (!add_shard(ret, at, len)) return bad_address(err, "That is no list of hosts.");
    }
    if (!shards || shards == ret->shards) return TB_OK;
    return tb_fail(err, TB_E_USAGE, "usage",
                   "shards=%zu, and %zu hosts are named. Each host is one shard: name them all, in their order.", shards,
                   ret->shards);
}
