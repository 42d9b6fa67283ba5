/* Shared by the files of this folder: the state of the servers, and one exchange with one of them. */
#ifndef TOLLBOOK_SERVER_USAGE_INTERNAL_H
#define TOLLBOOK_SERVER_USAGE_INTERNAL_H

#include "usage/address.h"
#include "usage/servers.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define USAGE_CONNECT_MS 3000L
#define USAGE_PROBE_MS   3000L   /* timeout of a probe, and of a KILL QUERY */
#define USAGE_WORK_MS    600000L /* timeout of a statement without rows, which is work for the server only */
#define USAGE_ID_MAX     48
#define USAGE_SAID_MAX   1024 /* bytes kept of an error message */
#define USAGE_HEAD_MAX   ((size_t)64 << 10)
#define USAGE_IDLE_MAX   32

typedef struct usage_shard {
    bool away;
    bool abandoned; /* it may still run statements that were given up */
    char why[USAGE_WHY_MAX];
    int64_t failed_s;
    char full[USAGE_WHY_MAX]; /* why it stores nothing; "": it stores rows */
    int64_t full_us;          /* when it last said so */
    _Atomic unsigned losses; /* how often it was lost */
    _Atomic uint64_t statements, failures, sent_bytes, received_bytes, busy_us;
} usage_shard;

/* A running statement; its thread owns this. */
typedef struct usage_running {
    struct usage_running *next, **at;
    size_t shard;
    char id[USAGE_ID_MAX];
} usage_running;

struct usage_servers {
    tb_usage_client client;
    usage_address address;
    usage_options options;
    struct curl_slist *_Atomic lines; /* headers of every request, with the login */
    struct curl_slist *former[USAGE_LOGINS_MAX]; /* of requests that were under way when the login changed; idle handles keep them */
    size_t n_former;          /* only the thread that changes logins uses it */
    pthread_mutex_t change;      /* of the first ones: held while a login changes, and while servers are added */
    usage_servers *_Atomic next; /* that were added after these */
    usage_servers *_Atomic used; /* of the first ones: those that have the usage; NULL: they themselves */
    _Atomic bool left;           /* usage was moved away: nobody needs to know whether they answer */
    uint64_t run;             /* the number of this process, in the ids of statements */
    pthread_mutex_t lock;     /* of the following fields */
    uint64_t count;           /* statements begun so far; their ids ascend */
    usage_running *running;
    usage_shard shard[USAGE_SHARDS_MAX];
    CURL *idle[USAGE_IDLE_MAX]; /* handles with their connections, as many as were in use at once */
    size_t n_idle;
    /* Of the watch: */
    pthread_t thread;
    bool watched;
    _Atomic bool stop, probe_now;
    CURLM *multi;
};

/* A server's reply, filled in by the callbacks of libcurl. */
typedef struct usage_reply {
    CURL *curl;
    tb_buf *answer; /* NULL: only `message` */
    char message[USAGE_SAID_MAX + 1];
    size_t message_len, head, got;
    bool ours;    /* it has headers of ClickHouse */
    bool bounded; /* its length is known, so that a cut connection is noticed */
} usage_reply;

/* Sets the handle up for a request to a shard, which fills in reply. */
void usage_prepare(const usage_servers *s, CURL *curl, const char *url, long limit_ms, usage_reply *reply);
/* true: ClickHouse answered. Else ret_why tells why not, and *ret_refuses what it will most likely refuse, too. */
bool usage_judge(CURLcode rc, const usage_reply *reply, usage_refuses *ret_refuses, char ret_why[USAGE_WHY_MAX]);
/* "a.example:8123 (shard 1 of 2)". */
void usage_name(const usage_servers *s, size_t shard, char *out, size_t size);
/* Notes a shard's state; why NULL: it answers. */
void usage_note(usage_servers *s, size_t shard, const char *why, bool away);

bool usage_watch_start(usage_servers *s);
void usage_watch_stop(usage_servers *s);
/* A statement begins, with an id of its own, and ends; abandoned: the server may still run it, and is told to end
 * it. */
void usage_watch_begin(usage_servers *s, size_t shard, usage_running *r);
void usage_watch_end(usage_servers *s, usage_running *r, bool abandoned);
/* A shard took too long: probes all shards now. */
void usage_watch_probe(usage_servers *s);

#endif
