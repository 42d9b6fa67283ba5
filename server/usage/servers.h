/* The usage servers: statements to ClickHouse's HTTP interface, for a store whose counters lie there
 * (tollbook/usageclient.h). Sent by libcurl, only to the addresses that the operator named: no redirect is followed;
 * time and answers are bounded.
 *
 * A watch thread probes every server once a second. A server that is away gets only probes: other statements fail at
 * once (TB_E_AWAY), running ones are given up, until it answers a probe.
 *
 * Each statement has an id. One that is given up, because of its time limit or because the answer is not needed any
 * more, is also ended at the server (KILL QUERY). */
#ifndef TOLLBOOK_SERVER_USAGE_SERVERS_H
#define TOLLBOOK_SERVER_USAGE_SERVERS_H

#include "tollbook/usageclient.h"
#include "usage/address.h"
#include "usage/refusal.h"

#include <stdint.h>

#define USAGE_LOGIN_MAX 128
#define USAGE_LOGINS_MAX 64 /* changes of one process */
#define USAGE_ADDED_MAX 16

/* Empty: ClickHouse's user "default" without a password. */
typedef struct usage_login {
    char user[USAGE_LOGIN_MAX + 1], password[USAGE_LOGIN_MAX + 1];
} usage_login;

/* Reads two lines: a user, and a password, which may be empty. false: a line is missing, or there is more. */
bool usage_login_parse(const char *text, size_t len, usage_login *ret);

typedef struct usage_options {
    const char *url; /* usage/address.h */
    const char *ca;  /* a file of certificate authorities; NULL: the system's */
    usage_login login;
    int64_t limit_ms; /* timeout of a statement that reads, or inserts rows */
    size_t remember;  /* bytes of the readers' cache of days */
    /* Reports to the operator that a server is away, or back. On any thread; may be NULL. */
    void (*say)(const char *sentence);
} usage_options;

typedef struct usage_servers usage_servers;

/* Sends no statement yet. TB_E_USAGE: it is no address. */
TB_MUST_USE tb_code usage_servers_open(const usage_options *options, usage_servers **ret_servers, tb_error *err);
void usage_servers_close(usage_servers *s); /* after the last statement; NULL is fine */
/* Statements from now on use this login. One thread calls it. TB_E_BUSY: it was changed too often. */
TB_MUST_USE tb_code usage_servers_use_login(usage_servers *s, const usage_login *login, tb_error *err);
/* Servers that usage is to be moved to, known from now on as those behind the last ones known here: with the same login and options,
 * and closed with them. The same address again gives the same servers. One thread calls it. TB_E_BUSY: there were too many. */
TB_MUST_USE tb_code usage_servers_add(usage_servers *s, const char *url, usage_servers **ret_added, tb_error *err);
/* The usage was moved to servers that were added: the functions below are about them. */
void usage_servers_use(usage_servers *s, usage_servers *added);
bool usage_servers_are_used(const usage_servers *s, const usage_servers *added);
/* For tb_store_options.usage, also after a move. NULL gives NULL. */
const tb_usage_client *usage_servers_client(const usage_servers *s);
/* A number of this address, for tb_usage_client.address; 0: it is none. */
int64_t usage_address_number(const char *url);

/* From now on this thread's statements end when `over` returns true. It is called on this thread, about once a second.
 * NULL: only the time limit ends them. */
void usage_wait_for(bool (*over)(void *ctx), void *ctx);
/* From now on until usage_refused this thread's statements are refused (TB_E_BUSY), because it must not wait. One to a
 * server that is away still fails with TB_E_AWAY, which takes no time. */
void usage_refuse(void);
/* Ends that. Whether a statement was refused; *ret_shard is then the server of the last one. */
bool usage_refused(size_t *ret_shard);

typedef struct usage_shard_figures {
    char host[272];
    bool up;
    char why[USAGE_WHY_MAX]; /* why it is not up */
    int64_t failed_s;        /* when a statement or a probe last failed, since 1970; 0: never */
    uint64_t statements, failures, sent_bytes, received_bytes, busy_us;
} usage_shard_figures;

size_t usage_servers_shards(const usage_servers *s);
void usage_servers_read(usage_servers *s, size_t shard, usage_shard_figures *ret);
/* Whether all servers are up. err, which may be NULL: names one that is not, and why (TB_E_AWAY). */
bool usage_servers_up(usage_servers *s, tb_error *err);
/* Whether all servers store rows. False for half a minute after one refused an INSERT because its disk is full or
 * read-only, or until it takes one: after that time a load balancer may send it batches again. */
bool usage_servers_store_rows(usage_servers *s, tb_error *err);

#endif
