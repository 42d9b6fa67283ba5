/* What the files of this folder share: the servers as they are, and one exchange with one of them. */
#ifndef TOLLBOOK_SERVER_USAGE_INTERNAL_H
#define TOLLBOOK_SERVER_USAGE_INTERNAL_H

#include "usage/address.h"
#include "usage/servers.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define USAGE_CONNECT_MS 3000L
#define USAGE_LOOK_MS    3000L   /* what a look may take, and a KILL QUERY */
#define USAGE_WORK_MS    600000L /* what a statement may that is work for the server alone */
#define USAGE_ID_MAX     48
#define USAGE_SAID_MAX   1024 /* bytes kept of a refusal */
#define USAGE_HEAD_MAX   ((size_t)64 << 10)
#define USAGE_IDLE_MAX   32

typedef struct usage_shard {
    bool away;
    bool left; /* it may run statements for which nobody waits */
    char why[USAGE_WHY_MAX];
    int64_t failed_s;
    _Atomic unsigned losses; /* how often it went away */
    _Atomic uint64_t statements, failures, sent_bytes, received_bytes, busy_us;
} usage_shard;

/* A statement on its way, as its thread keeps it. */
typedef struct usage_running {
    struct usage_running *next, **at;
    size_t shard;
    char id[USAGE_ID_MAX];
} usage_running;

struct usage_servers {
    tb_usage_client client;
    usage_address address;
    usage_options options;
    struct curl_slist *_Atomic lines; /* of every request: who asks */
    struct curl_slist *former[USAGE_LOGINS_MAX]; /* of requests that were on their way when another login came; the watch's and the
                                                  * readers' handles keep them */
    size_t n_former;          /* of the one thread that takes logins */
    uint64_t run;             /* of this process, in the ids of statements */
    pthread_mutex_t lock;     /* of what follows */
    uint64_t count;           /* of statements that ever began; their ids ascend */
    usage_running *running;
    usage_shard shard[USAGE_SHARDS_MAX];
    CURL *idle[USAGE_IDLE_MAX]; /* a handle keeps its connection: as many as threads ask at once */
    size_t n_idle;
    /* The watch's: */
    pthread_t thread;
    bool watched;
    _Atomic bool stop, look_now;
    CURLM *multi;
};

/* What comes back from a server, as the callbacks of libcurl put it down. */
typedef struct usage_reply {
    CURL *curl;
    tb_buf *answer; /* NULL: only `said` */
    char said[USAGE_SAID_MAX + 1];
    size_t said_len, head, got;
    bool ours;    /* it says that it is ClickHouse */
    bool bounded; /* its end can be told from a connection that was cut */
} usage_reply;

/* The handle's settings for a request to a shard: reply is filled while it runs. */
void usage_prepare(const usage_servers *s, CURL *curl, const char *url, long limit_ms, usage_reply *reply);
/* TB_OK: it was answered as ClickHouse does. Otherwise ret_why says what happened; *ret_closed: nothing else will be answered
 * either, as far as this shows. */
bool usage_judge(CURLcode rc, const usage_reply *reply, bool *ret_closed, char ret_why[USAGE_WHY_MAX]);
/* "a.example:8123 (shard 1 of 2)". */
void usage_name(const usage_servers *s, size_t shard, char *out, size_t size);
/* What was seen of a shard; why NULL: it answers. */
void usage_note(usage_servers *s, size_t shard, const char *why, bool away);

bool usage_watch_start(usage_servers *s);
void usage_watch_stop(usage_servers *s);
/* A statement begins, with an id of its own, and is over; left: its server may still be at it, and soon is told to end it. */
void usage_watch_begin(usage_servers *s, size_t shard, usage_running *r);
void usage_watch_end(usage_servers *s, usage_running *r, bool left);
/* A shard took too long: it is looked at now. */
void usage_watch_look(usage_servers *s);

#endif
