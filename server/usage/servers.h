/* The usage servers: statements to ClickHouse's HTTP interface, for a store whose counters lie there
 * (tollbook/usageclient.h). By libcurl, to the addresses that the operator named and no other: no redirect is followed;
 * time and answers are bounded.
 *
 * A thread of its own looks at every server once a second. One that is away is asked nothing but that: whoever wants it
 * is told so at once (TB_E_AWAY), what was on its way to it is given up, and the first look that it answers ends this.
 *
 * A statement has an id of its own. One that is given up, because its time is over or nobody waits for it any more, is
 * ended at the server too (KILL QUERY). */
#ifndef TOLLBOOK_SERVER_USAGE_SERVERS_H
#define TOLLBOOK_SERVER_USAGE_SERVERS_H

#include "tollbook/usageclient.h"
#include "usage/address.h"
#include "usage/refusal.h"

#include <stdint.h>

#define USAGE_LOGIN_MAX 128
#define USAGE_LOGINS_MAX 64 /* changes of one process */

/* Empty: ClickHouse's own user "default" without a password. */
typedef struct usage_login {
    char user[USAGE_LOGIN_MAX + 1], password[USAGE_LOGIN_MAX + 1];
} usage_login;

/* Reads two lines: a user and a password, which may be empty. false: these are not there, or there is more. */
bool usage_login_parse(const char *text, size_t len, usage_login *ret);

typedef struct usage_options {
    const char *url; /* usage/address.h */
    const char *ca;  /* a file of certificates that the servers' are signed by; NULL: the system's */
    usage_login login;
    int64_t limit_ms; /* of a statement that reads, or brings rows */
    size_t remember;  /* bytes of days that readers remember */
    /* A sentence for the operator: a server is away, or back. On a thread of its own; NULL: nobody wants it. */
    void (*say)(const char *sentence);
} usage_options;

typedef struct usage_servers usage_servers;

/* Asks nothing yet. TB_E_USAGE: it is no address. */
TB_MUST_USE tb_code usage_servers_open(const usage_options *options, usage_servers **ret_servers, tb_error *err);
void usage_servers_close(usage_servers *s); /* once nobody asks it any more; NULL is fine */
/* Statements from here on are asked with this login. One thread calls it. TB_E_BUSY: it was changed too often. */
TB_MUST_USE tb_code usage_servers_use_login(usage_servers *s, const usage_login *login, tb_error *err);
/* For tb_store_options.usage. NULL: of NULL. */
const tb_usage_client *usage_servers_client(const usage_servers *s);

/* Who waits for the statements of this thread from here on: once `over` says so they end. NULL: they just take their
 * time. `over` is called on this thread, about once a second. */
void usage_wait_for(bool (*over)(void *ctx), void *ctx);
/* From here on until usage_refused a statement of this thread, on whose time others depend, is refused (TB_E_BUSY); one to a server
 * that is away still gets TB_E_AWAY, which takes no time. */
void usage_refuse(void);
/* Whether one was; *ret_shard is then the server that the last of them was for. */
bool usage_refused(size_t *ret_shard);

typedef struct usage_shard_figures {
    char host[272];
    bool up;
    char why[USAGE_WHY_MAX]; /* it is not */
    int64_t failed_s;        /* when a statement or a look last failed, since 1970; 0: never */
    uint64_t statements, failures, sent_bytes, received_bytes, busy_us;
} usage_shard_figures;

size_t usage_servers_shards(const usage_servers *s);
void usage_servers_read(usage_servers *s, size_t shard, usage_shard_figures *ret);
/* Whether all are there. err: it says which is not, and why (TB_E_AWAY); or NULL. */
bool usage_servers_up(usage_servers *s, tb_error *err);

#endif
