/* Containers in the store: the declared ones, and the deployments of applications. Every read names the account;
 * another account's containers do not exist for it.
 *
 * An application starts with its declared status. Deployments then change it, and so does a catalogue that declares
 * another status than before. A requested deployment makes it `progressing` and is pending until tb_store_deployed
 * reports its end; one that was requested in the meantime stays pending. */
#ifndef TOLLBOOK_CONTAINERSTORE_H
#define TOLLBOOK_CONTAINERSTORE_H

#include "tollbook/catalog.h"
#include "tollbook/range.h"
#include "tollbook/store.h"

TB_API_BEGIN

typedef struct tb_app {
    const char *id, *name, *description, *status;
    const char *endpoint_id, *endpoint_address, *endpoint_type; /* all NULL: it has none */
} tb_app;

/* Applications of an account, ascending by id. */
typedef struct tb_app_page {
    tb_app *apps;
    size_t n;
    void *memory; /* everything above; tb_app_page_release */
} tb_app_page;

/* The first `limit` ids above `after` ("": from the beginning). */
TB_MUST_USE tb_code tb_store_apps(tb_store *store, int64_t account, tb_text after, int64_t limit,
                                  tb_app_page *ret_page, tb_error *err);
/* A page of the one of this id. TB_E_APP_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_app(tb_store *store, int64_t account, tb_text id, tb_app_page *ret_page,
                                 tb_error *err);
void tb_app_page_release(tb_app_page *page);
TB_MUST_USE tb_code tb_store_count_apps(tb_store *store, int64_t account, int64_t *ret_n,
                                        tb_error *err);

/* Limits as they are answered, in this order. -1: none. */
typedef enum tb_limit {
    TB_LIMIT_APPS,
    TB_LIMIT_EXISTING_APPS, /* counted */
    TB_LIMIT_REGIONS,
    TB_LIMIT_CPU,
    TB_LIMIT_MEMORY,
    TB_LIMIT_INSTANCES_PER_REGION,
    TB_LIMIT_INSTANCES,
    TB_LIMIT_VOLUMES,
    TB_LIMIT_VOLUME_SIZE,
    TB_LIMIT_COUNT
} tb_limit;
const char *tb_limit_name(tb_limit limit);
/* Limits that the account does not declare have the public default. TB_E_LIMITS_NOT_FOUND: it has no declaration. */
TB_MUST_USE tb_code tb_store_limits(tb_store *store, int64_t account,
                                    int64_t ret_limits[TB_LIMIT_COUNT], tb_error *err);

/* Calls for each registry that the account may name, ascending by id. username: "" where it has none. */
typedef void (*tb_registry_fn)(void *ctx, tb_text id, tb_text url, tb_text username);
TB_MUST_USE tb_code tb_store_registries(tb_store *store, int64_t account, tb_registry_fn each, void *ctx,
                                        tb_error *err);

typedef struct tb_registry {
    char url[TB_CONTAINER_ORIGIN_MAX + 1];
    char realm[TB_CONTAINER_REALM_MAX + 1];     /* "": none declared */
    char username[TB_CONTAINER_USER_MAX + 1];   /* "": none */
    char secret[TB_CONTAINER_SECRET_MAX + 1];   /* the name of its password */
} tb_registry;
/* The account's registry of this id, else the one that is every account's. *ret_found. */
TB_MUST_USE tb_code tb_store_registry(tb_store *store, int64_t account, tb_text id,
                                      tb_registry *ret_registry, bool *ret_found, tb_error *err);

/* --- deployments --- */

typedef struct tb_deployment {
    int64_t account, asked; /* asked: the how manieth of the application */
    char app[TB_CONTAINER_ID_MAX + 1];
    char name[256];
} tb_deployment;

/* Asks for one, in the caller's transaction; at_once: it is done with that. TB_E_APP_NOT_FOUND,
 * TB_E_APP_SUSPENDED. */
TB_MUST_USE tb_code tb_store_deploy(tb_store *store, int64_t account, tb_text app, bool at_once,
                                    int64_t now_us, tb_error *err);
/* Pending deployments, the oldest first; at most `cap`. */
TB_MUST_USE tb_code tb_store_deployments(tb_store *store, tb_deployment *ret, size_t cap,
                                         size_t *ret_n, tb_error *err);
#define TB_DEPLOYMENT_OUTPUT_MAX ((size_t)512 << 10) /* bytes that are kept of a deployment's output */
#define TB_DEPLOYMENT_REASON_MAX 159

typedef struct tb_deployment_end {
    bool succeeded;
    int exit_status; /* 0 to 255; -1: its program did not end by itself, or there was none */
    char reason[TB_DEPLOYMENT_REASON_MAX + 1]; /* why it did not succeed; "": it did */
} tb_deployment_end;

/* Records the end of a deployment in the caller's transaction, and its output: lines, each ended by '\n', of which
 * TB_DEPLOYMENT_OUTPUT_MAX bytes are kept. Only the last requested deployment changes the status; the end is kept for
 * every existing application until a later one's. Recording it again changes nothing. */
TB_MUST_USE tb_code tb_store_deployed(tb_store *store, const tb_deployment *deployment,
                                      const tb_deployment_end *end, tb_text output, int64_t now_us,
                                      tb_error *err);

typedef struct tb_deployment_state {
    bool waits; /* one is pending; the other members are of the one before */
    bool ended; /* one has ended since the application was declared; else the other members are not set */
    int64_t ended_us;
    tb_deployment_end end;
} tb_deployment_state;
/* The state of an application's deployments; appends the output of the last one that ended.
 * TB_E_APP_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_deployment(tb_store *store, int64_t account, tb_text app,
                                        tb_deployment_state *ret, tb_buf *output, tb_error *err);

TB_API_END

#endif
