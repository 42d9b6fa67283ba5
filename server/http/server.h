/* The server: workers with an event loop each, a writer, a job pool, an acceptor, a sweeper, a logger.
 *
 *     acceptor --sockets--> worker 1..N --writes--> writer --commit--> version, keys
 *                                      '--slow, outbound and remote requests, parsing--> job pool
 *     body receiver --whole large bodies--> the worker that suspended the connection
 *     job pool --messages sent, deployments ended, steps of periodic tasks--> writer
 *
 * server_open does everything that can fail with a message for the operator; server_start starts the threads,
 * server_stop ends them; server_free releases it. Signals assume one server a process; this code does not. */
#ifndef TOLLBOOK_SERVER_HTTP_SERVER_H
#define TOLLBOOK_SERVER_HTTP_SERVER_H

#include <pthread.h>

#include "http/accesslog.h"
#include "http/bases.h"
#include "http/cache.h"
#include "http/copy.h"
#include "http/cors.h"
#include "http/figures.h"
#include "http/followers.h"
#include "http/jobs/deployments.h"
#include "http/jobs/mover.h"
#include "http/jobs/outbox_sender.h"
#include "http/jobs/witnesses.h"
#include "http/jobs/periodic.h"
#include "http/jobs/pool.h"
#include "http/jobs/waiting.h"
#include "http/keys.h"
#include "http/published.h"
#include "http/limit.h"
#include "http/front/front.h"
#include "http/metrics.h"
#include "http/compactor.h"
#include "http/stream_slots.h"
#include "http/request.h"
#include "http/token.h"
#include "http/window.h"
#include "http/writer.h"
#include "tollbook/event.h"
#include "usage/servers.h"

#define SERVER_WORKERS_MAX 64
/* So that a short query does not wait for two long ones. */
#define SERVER_SLOW_THREADS 3
#define SERVER_SLOW_US      INT64_C(20000000) /* deadline of a slow query */
/* With usage on servers: threads for requests that need one, and how many of them may wait for the same server. */
#define SERVER_REMOTE_THREADS 8
#define SERVER_REMOTE_SHARE   5
#define SERVER_BLOCKS_MAX     (SERVER_WORKERS_MAX + SERVER_REMOTE_THREADS)

typedef struct acknowledge acknowledge;

/* What this server is to its copies, and to clients that write. */
typedef enum server_role { ROLE_PRIMARY, ROLE_STANDBY, ROLE_SUPERSEDED } server_role;

typedef struct server_options {
    const char *db;
    usage_servers *usage; /* where counters are stored; NULL: in the file. Borrowed */
    uint64_t compact_rows; /* uncompacted rows of a month from which on it is compacted */
    int64_t gather_us;     /* between INSERTs of usage: see writer_hooks */
    bool cells;                   /* followers are asked for cells in place of lines */
    const char *listen[LISTEN_MAX];
    size_t n_listen;
    const char *logging_listen; /* an address only for the request logging API, or NULL */
    bool tls;                   /* all addresses speak TLS; see server_use_tls */
    unsigned threads;
    size_t cache_bytes;
    uint32_t rate_limit;                /* requests a second and account; 0: off */
    const char *access_log;             /* a file, "-", or NULL: off */
    bool search_paged;                  /* GET /pullzone?search=X without page is a page */
    const char *cors[CORS_ORIGINS_MAX]; /* origins whose pages may read answers */
    size_t n_cors;
    bool metrics_key;             /* GET /metrics needs a key of account 0 */
    const char *deploy_hook;      /* a program that deploys container applications, or NULL */
    int64_t deploy_us;            /* how long one deployment may take */
    const char *purge_hook;       /* a program that purges caches, or NULL */
    int64_t purge_us;             /* how long one purge may take */
    const char *ca;               /* certificate authorities for outgoing requests; NULL: the system's */
    const char *registry_secrets; /* a folder of registries' passwords, or NULL */
    int64_t registry_us;          /* how long a look-up in a registry may take */
    copy_options copy;            /* of a standby or a read replica */
    bool replicas;                /* switches replication on */
    int64_t keep_us, keep_bytes;  /* of pieces */
    bool acknowledge_standby;     /* an answer to a write waits for the standbys: acknowledge.h */
    bool standby_absent;          /* and not for those that are away */
    int64_t standby_wait_us;      /* the longest such wait */
    int64_t (*clock)(void);       /* for the moments of pieces, in microseconds since 1970 */
    periodic_task tasks[PERIODIC_TASKS_MAX];
    size_t n_tasks;
    const char *public_url;       /* where customers reach this server, for documents; NULL: not known */
    witness_work witness;         /* of the log of documents */
    outbox_work outbox;           /* how messages are sent; all NULL: none are sent */
    bool idle;                    /* no work of its own: no retention, no deployments */
    int64_t fixed_now_us;         /* INT64_MIN: the clock's */
    conns_limits limits;
    unsigned pending_most; /* sockets that have not sent a whole head yet */
    size_t body_max;     /* longest body as sent */
    size_t plain_max;    /* longest body decompressed */
    size_t bodies_max;   /* most bytes of all bodies together */
    int64_t start_us;    /* how long server_open waits for an address or the database that another process has */
    int64_t stop_us;     /* how long a stop waits; three times that for a running ingest */
} server_options;

/* The defaults; db stays NULL. */
void server_defaults(server_options *options);

/* Readers that a worker keeps open for the next streamed answers. */
#define WORKER_IDLE_READERS 2

typedef struct worker {
    struct server *server;
    unsigned index;
    struct MHD_Daemon *daemon;
    tb_store *store; /* a reader of its own */
    gzip *gzip;
    published_view keys, token, secret, directory; /* as of its last published_get */
    uint64_t requests;                          /* for request ids */
    _Atomic int64_t read_us;                    /* when it last answered a GET */
    tb_buf scratch;      /* where answers are encoded, before their length is known */
    int64_t date_second; /* the time of `date`, since 1970 */
    char date[32];       /* the Date header's value */
    metrics metrics;
    figures figures;                            /* of the store, for /metrics */
    tb_store *idle_reader[WORKER_IDLE_READERS]; /* for answers that outlast a request; NULL: none */
} worker;

typedef struct server {
    server_options options;
    const route *routes;
    size_t n_routes;
    tb_store *store; /* the writing one, of the writer */
    worker workers[SERVER_WORKERS_MAX];
    cache *cache;
    published *keys;   /* the key_table in force */
    published *token;  /* the token_key that checks bearer tokens; none: they are refused */
    published *alert_secret; /* the key that signs messages; none: nothing is sent */
    published *secret; /* TB_KEY_SECRET bytes that encrypt the texts of keys; none: they are not kept */
    limit *limit;
    limit *failure_limit; /* of the server's own failures in its log, by code */
    front *front;
    writer *writer;
    _Atomic server_role role;      /* see replicas.h */
    pthread_mutex_t role_lock;     /* of its end */
    char superseded_by[TB_STANDBY_URL + 1]; /* set before the role */
    copy_server *copy;             /* NULL: this server never was a copy */
    compactor compactor;    /* of usage on servers */
    struct {
        bool checked;     /* all were checked */
        tb_code reported; /* the last failure that was reported */
        int64_t next_us;  /* when to check again */
        int64_t sole_us;  /* when to check next whether another process writes there */
    } usage;              /* of the writer's thread: the state of the usage servers */
    mover *mover;           /* NULL: usage is in the file */
    job_pool *pool;
    worker remote_workers[SERVER_REMOTE_THREADS]; /* the workers of LANE_REMOTE's threads, without an event loop */
    deployments *deployments;
    outbox_sender *outbox;
    witnesses *witnesses;
    periodic *periodic;
    published *directory;          /* the tb_directory in force */
    const void *directory_seen; /* of the writer's thread: the one published last */
    unsigned port; /* of the first address, also for requests to another one */
    accesslog *log;
    uint8_t event_secret[TB_EVENT_SECRET]; /* authenticates continuation tokens of shield events */
    uint8_t event_id_secret[TB_EVENT_SECRET]; /* ids of usage events are hashed under it */
    uint64_t id_seed;
    int64_t start_us;             /* monotonic */
    _Atomic uint64_t version;     /* the store's, as of the last commit */
    _Atomic int64_t committed_us; /* when it grew, monotonic; INT64_MIN: not since the start */
    _Atomic size_t bodies;        /* bytes of bodies held */
    bool replicated;                          /* the file is; the four are NULL where it is not */
    waiting *waiting;
    followers *followers;
    acknowledge *acknowledge;
    bases *bases;
    stream_slots *stream_slots;               /* for streamed answers */
    window *log_window;           /* requests for logs, by pull zone */
    window *sign_ins;             /* failed ones, by address */
    sessions *sessions;
    void (*sign_in_used)(void);   /* of server_leave_sign_in; may be NULL */
    _Atomic bool stopping;
    _Atomic bool restarts;                       /* it stops in order to be started again */
    _Atomic bool gone;                           /* the database is not where it was opened */
    _Atomic bool linked;                         /* it was reported that it has a second name */
    atomic_bool abort_writes;                    /* a running ingest must abort */
} server;

/* Takes a reader for an account's answer that is sent over many calls. On the worker's own thread. TB_E_RATE_LIMITED:
 * too many at once. */
TB_MUST_USE tb_code worker_take_reader(worker *w, int64_t account, tb_store **ret_store,
                                       tb_error *err);
/* Returns it. bytes: what stream_slots_hold booked for it, or 0. */
void worker_return_reader(worker *w, int64_t account, size_t bytes, tb_store *store);

/* Makes a one-time sign-in, for the first client that sends its text, to an account with all its data, or for account 0
 * as the operator. It is bound to no key, since whoever may open the database file needs none. used, which may be NULL,
 * is called on a worker's thread when it is redeemed. */
void server_leave_sign_in(server *s, int64_t account, void (*used)(void), char out[SESSION_TEXT + 1]);

/* Whether the database is still the file that was opened. Reports on standard error when that changes, and once if it
 * has a second name. Any thread. */
bool server_check_database(server *s);
/* Notes that the database is gone, as the caller has just found. */
void server_lost(server *s, const tb_error *err);

/* The remote worker of this reader. */
worker *server_remote_worker(server *s, const tb_store *store);
/* The metrics of all workers, SERVER_BLOCKS_MAX at most; returns how many. */
size_t server_metrics(const server *s, const metrics **ret_blocks);

/* Replaces the key for bearer tokens, which it takes over, and the secret that encrypts the texts of keys, also while
 * the server runs. A running request keeps the ones that it saw. */
TB_MUST_USE tb_code server_use_token_key(server *s, token_key *key, tb_error *err);
TB_MUST_USE tb_code server_use_secret(server *s, const uint8_t secret[TB_KEY_SECRET],
                                      tb_error *err);
/* Replaces the key that signs messages: size bytes, copied. */
TB_MUST_USE tb_code server_use_alert_secret(server *s, const void *secret, size_t size, tb_error *err);
/* Replaces the certificate and the key of TLS, which it takes over; before server_start for the first. */
TB_MUST_USE tb_code server_use_tls(server *s, struct tls_pair *pair, tb_error *err);
/* The current ones, on the worker's own thread; NULL if there is none. */
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
/* Accepts no more, finishes running requests, ends all threads and checkpoints. false: something did not finish in
 * time. */
bool server_stop(server *s);
void server_free(server *s); /* after server_stop, or if it never started */

#endif
