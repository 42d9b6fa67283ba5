/* The server: workers with an event loop each, a writer, a job pool, an acceptor, a sweeper, a logger.
 *
 *     acceptor --hands sockets--> worker 1..N --writes--> writer --commit--> version, keys
 *                                            '--slow, outbound and remote requests, parsing--> job pool
 *     body receiver --whole large bodies--> the worker that suspended the connection
 *     job pool --messages sent, deployments ended, steps of periodic tasks--> writer
 *
 * server_open makes everything that can fail with a sentence; server_run serves until server_stop
 * is asked for; server_free lets go. One server a process is what signals assume, not this. */
#ifndef TOLLBOOK_SERVER_HTTP_SERVER_H
#define TOLLBOOK_SERVER_HTTP_SERVER_H

#include "http/accesslog.h"
#include "http/cache.h"
#include "http/cors.h"
#include "http/figures.h"
#include "http/jobs/deployments.h"
#include "http/jobs/outbox_sender.h"
#include "http/jobs/periodic.h"
#include "http/jobs/pool.h"
#include "http/keys.h"
#include "http/latest.h"
#include "http/limit.h"
#include "http/front/front.h"
#include "http/metrics.h"
#include "http/compactor.h"
#include "http/places.h"
#include "http/request.h"
#include "http/token.h"
#include "http/window.h"
#include "http/writer.h"
#include "tollbook/event.h"
#include "usage/servers.h"

#define SERVER_WORKERS_MAX 64
/* A short question does not wait for two long ones. */
#define SERVER_SLOW_THREADS 3
#define SERVER_SLOW_US      INT64_C(20000000) /* the longest answer */
/* Where usage lies on servers: threads for requests that have to ask one, and how many of them one server may hold up. */
#define SERVER_REMOTE_THREADS 8
#define SERVER_REMOTE_SHARE   5
#define SERVER_BLOCKS_MAX     (SERVER_WORKERS_MAX + SERVER_REMOTE_THREADS)

typedef struct server_options {
    const char *db;
    usage_servers *usage; /* where counters lie; NULL: in the file. They live as long as the server */
    uint64_t compact_rows; /* of a month of these, that wait: they are folded */
    int64_t gather_us;     /* between INSERTs of usage: see writer_hooks */
    bool cells;                   /* followers are asked for cells in place of lines */
    const char *listen[LISTEN_MAX];
    size_t n_listen;
    const char *logging_listen; /* where the request logging API alone is answered, or NULL */
    unsigned threads;
    size_t cache_bytes;
    uint32_t rate_limit;                /* requests a second and account; 0: off */
    const char *access_log;             /* a file, "-", or NULL: off */
    bool search_paged;                  /* GET /pullzone?search=X without page is a page */
    const char *cors[CORS_ORIGINS_MAX]; /* origins whose pages may read answers */
    size_t n_cors;
    bool metrics_key;             /* GET /metrics asks for a key of account 0 */
    const char *deploy_hook;      /* a program that deploys container applications, or NULL */
    int64_t deploy_us;            /* how long one deployment may take */
    const char *purge_hook;       /* a program that purges caches, or NULL */
    int64_t purge_us;             /* how long one purge may take */
    const char *ca;               /* a file of authorities: of registries and the alerts' receiver; NULL: the system's */
    const char *registry_secrets; /* a folder of registries' passwords, or NULL */
    int64_t registry_us;          /* how long a look-up in a registry may take */
    periodic_task tasks[PERIODIC_TASKS_MAX];
    size_t n_tasks;
    outbox_work outbox;           /* how messages are sent; all NULL: they are not */
    bool idle;                    /* it does what it is asked alone: lets nothing go, deploys nothing */
    int64_t fixed_now_us;         /* INT64_MIN: the clock's */
    conns_limits limits;
    unsigned pending_most; /* sockets that have not sent a whole head yet */
    size_t body_max;     /* longest body as sent */
    size_t plain_max;    /* longest body decompressed */
    size_t bodies_max;   /* most bytes of all bodies together */
    int64_t stop_us;     /* how long a stop waits; three times that for a running ingest */
} server_options;

/* The defaults; db stays NULL. */
void server_defaults(server_options *options);

/* Readers of its own that a worker keeps for the next streamed answer. */
#define WORKER_IDLE_READERS 2

typedef struct worker {
    struct server *server;
    unsigned index;
    struct MHD_Daemon *daemon;
    tb_store *store; /* a reader of its own */
    gzip *gzip;
    latest_view keys, token, secret, directory; /* as of its last look */
    uint64_t requests;                          /* for request ids */
    _Atomic int64_t read_us;                    /* when it answered who reads last */
    tb_buf scratch;      /* where answers are encoded, before their length is known */
    int64_t date_second; /* that date says, since 1970 */
    char date[32];       /* of the header, once it was needed */
    metrics metrics;
    figures figures;                            /* the store's, as /metrics last counted them */
    tb_store *idle_reader[WORKER_IDLE_READERS]; /* for answers that outlast a request; NULL: none */
} worker;

typedef struct server {
    server_options options;
    const route *routes;
    size_t n_routes;
    tb_store *store; /* the writing one: the writer's */
    worker workers[SERVER_WORKERS_MAX];
    cache *cache;
    latest *keys;   /* the key_table in force */
    latest *token;  /* the token_key that checks bearer tokens; none: they are not taken */
    latest *alert_secret; /* what messages are signed with; none: nothing is sent */
    latest *secret; /* TB_KEY_SECRET bytes that keys' texts are sealed under; none: they are not */
    limit *limit;
    limit *complaints; /* how many of the server's own failures are said, by code */
    front *front;
    writer *writer;
    compactor compactor;    /* of usage on servers */
    struct {
        bool good;       /* all were looked at */
        tb_code said;    /* what is wrong with one, as it was said last */
        int64_t next_us; /* when to look again */
        int64_t alone_us; /* when to look whether another process writes there */
    } usage;             /* the writer's thread: servers that were away at the start */
    job_pool *pool;
    worker remote_workers[SERVER_REMOTE_THREADS]; /* LANE_REMOTE's threads answer as these: without a daemon */
    deployments *deployments;
    outbox_sender *outbox;
    periodic *periodic;
    latest *directory;          /* the tb_directory in force, as the writer has it */
    const void *directory_seen; /* the writer's thread: what was published last */
    unsigned port; /* of the first address, whichever of them a request came by */
    accesslog *log;
    uint8_t event_secret[TB_EVENT_SECRET]; /* of the continuation tokens of shield events */
    uint64_t id_seed;
    int64_t start_us;             /* monotonic */
    _Atomic uint64_t version;     /* the store's, as of the last commit */
    _Atomic int64_t committed_us; /* when it grew, monotonic; INT64_MIN: not since the start */
    _Atomic size_t bodies;        /* bytes of bodies held */
    places *places;               /* of readers lent out */
    window *log_window;           /* requests for logs, by pull zone */
    window *sign_ins;             /* those that failed, by address */
    sessions *sessions;
    void (*sign_in_used)(void);   /* of server_leave_sign_in; NULL: nobody wants to know */
    _Atomic bool stopping;
    _Atomic bool gone;                           /* the database is not where it was opened */
    _Atomic bool linked;                         /* it was said that it has another name */
    atomic_bool abort_writes;                    /* a running ingest must end and take nothing */
} server;

/* A reader for an account's answer that is sent over many calls, and back. The worker's own thread
 * alone. TB_E_RATE_LIMITED: too many at once. */
TB_MUST_USE tb_code worker_lend_reader(worker *w, int64_t account, tb_store **ret_store,
                                       tb_error *err);
/* bytes: what its place holds (places_hold), or 0. */
void worker_take_back(worker *w, int64_t account, size_t bytes, tb_store *store);

/* Leaves a sign-in for whoever brings its text first: to all of an account, or for account 0 as the
 * operator. It is bound to no key: who has the file needs none. used, which may be NULL, is called on a
 * worker's thread when it is brought. */
void server_leave_sign_in(server *s, int64_t account, void (*used)(void), char out[SESSION_TEXT + 1]);

/* Whether the database is still what was opened; says on standard error when that changes, and once
 * when it has a second name. Any thread. */
bool server_look(server *s);
/* The same, as whoever has just met it says. */
void server_lost(server *s, const tb_error *err);

/* The one that has this reader. */
worker *server_remote_worker(server *s, const tb_store *store);
/* The counters of all who answer, SERVER_BLOCKS_MAX at most; returns how many. */
size_t server_metrics(const server *s, const metrics **ret_blocks);

/* What the server uses from now on, also while it serves: a key for bearer tokens, which it takes
 * over, and the secret that the texts of keys are sealed under. A request that has looked already
 * stays with what it saw. */
TB_MUST_USE tb_code server_use_token_key(server *s, token_key *key, tb_error *err);
TB_MUST_USE tb_code server_use_secret(server *s, const uint8_t secret[TB_KEY_SECRET],
                                      tb_error *err);
/* What messages are signed with from the next one on: size bytes, copied. */
TB_MUST_USE tb_code server_use_alert_secret(server *s, const void *secret, size_t size, tb_error *err);
/* The same as a worker's own thread sees them; NULL if there is none. */
const token_key *worker_token_key(worker *w);
const uint8_t *worker_secret(worker *w);
const tb_directory *worker_directory(worker *w);

/* Workers that answered a GET within the last ten milliseconds. */
unsigned workers_read_from(server *s);

/* Opens the store and the sockets. The exit status of a failure is tb_code_exit of the code. */
TB_MUST_USE tb_code server_open(const server_options *options, const route *routes, size_t n_routes,
                                server **ret_server, tb_error *err);
/* Starts all threads. */
TB_MUST_USE tb_code server_start(server *s, tb_error *err);
/* Accepts no more, lets what has begun finish, ends all threads and checkpoints. false: something
 * did not finish in time. */
bool server_stop(server *s);
void server_free(server *s); /* after server_stop, or where it never started */

#endif
