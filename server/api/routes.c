/* The route table: paths, access, handlers, and names for metrics. */
#include "api/routes.h"

#include <jansson.h>

#include "api/handlers.h"
#include "registry/registry.h"

#define ROW(m, path, who, body_, name_, handle_, finish_)                                          \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_##who, .body = ROUTE_##body_,     \
        .name = name_, .handle = handle_, .finish = finish_                                        \
    }

/* The same for a POST or DELETE that changes nothing in the database: a copy answers it too. */
#define READING(m, path, who, body_, name_, handle_, finish_)                                      \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_##who, .body = ROUTE_##body_,     \
        .name = name_, .reads = true, .handle = handle_, .finish = finish_                         \
    }

/* Limits of bodies with a known largest sensible size: JSON takes many times its text in memory while it is parsed, on
 * a thread that serves other connections, too. */
#define EXPORT_BODY ((size_t)4 << 20)
#define EVENTS_BODY ((size_t)8 << 20)
#define DIGEST_BODY ((size_t)64 << 10)
#define PURGE_BODY  ((size_t)64 << 10)
#define SIGN_IN_BODY ((size_t)8 << 10)

#define PURGE(path, body_, max_, name_, handle_, finish_)                                          \
    {                                                                                              \
        .method = HTTP_POST, .pattern = path, .access = TB_ACCESS_PULL_ZONES,                      \
        .body = ROUTE_##body_, .body_max = (max_), .name = name_, .handle = handle_,               \
        .finish = finish_                                                                          \
    }

/* Open, or with --metrics-key for the operator's keys only. */
#define FIGURES(path, name_, handle_)                                                              \
    {                                                                                              \
        .method = HTTP_GET, .pattern = path, .access = TB_ACCESS_NONE, .name = name_,              \
        .keyed = true, .exact = true, .handle = handle_                                            \
    }

/* Prometheus sends a key as a bearer token. The key's roles decide what the answer has: see account_metrics.c. */
#define ACCOUNT_FIGURES(path, name_, handle_, finish_)                                             \
    {                                                                                              \
        .method = HTTP_GET, .pattern = path, .access = TB_ACCESS_METRICS, .name = name_,           \
        .bearer_key = true, .handle = handle_, .finish = finish_                                   \
    }

#define EVENTS(path, name_)                                                                        \
    {                                                                                              \
        .method = HTTP_POST, .pattern = path, .access = TB_ACCESS_INGEST, .body = ROUTE_JSON,      \
        .body_max = EVENTS_BODY, .name = name_, .bearer_key = true, .handle = api_events,          \
        .finish = api_events_done                                                                  \
    }

#define LOGS(path, name_, handle_, finish_)                                                        \
    {                                                                                              \
        .method = HTTP_GET, .pattern = path, .access = TB_ACCESS_PULL_ZONES, .name = name_,        \
        .handle = handle_, .finish = finish_, .errors = ERRORS_LOGGING, .logging = true            \
    }

/* They all read. */
#define SHIELD(m, path, body_, max_, name_, handle_, finish_)                                      \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_PULL_ZONES,                       \
        .body = ROUTE_##body_, .body_max = (max_), .name = name_, .handle = handle_,               \
        .finish = finish_, .reads = true, .errors = ERRORS_SHIELD                                  \
    }

#define MC(m, path, family, body_, max_, name_, handle_, finish_)                                  \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_KEYS,                             \
        .body = ROUTE_##body_, .body_max = (max_), .name = name_, .handle = handle_,               \
        .finish = finish_, .errors = ERRORS_##family                                               \
    }

/* Asks a registry and changes nothing. */
#define DIGEST(path, name_, handle_, finish_)                                                      \
    {                                                                                              \
        .method = HTTP_POST, .pattern = path, .access = TB_ACCESS_KEYS, .body = ROUTE_JSON,        \
        .body_max = DIGEST_BODY, .name = name_, .reads = true, .handle = handle_,                  \
        .finish = finish_, .errors = ERRORS_REGISTRY                                               \
    }

#define SIGN_IN(path, name_, handle_)                                                              \
    {                                                                                              \
        .method = HTTP_POST, .pattern = path, .access = TB_ACCESS_NONE, .body = ROUTE_JSON,        \
        .body_max = SIGN_IN_BODY, .secret = true, .reads = true, .name = name_, .exact = true,     \
        .handle = handle_                                                                          \
    }

/* They change the session alone, which is in memory. */
#define CONSOLE(m, path, who, name_, handle_)                                                      \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_##who, .name = name_,             \
        .reads = true, .exact = true, .handle = handle_                                            \
    }

/* A path of its own for an operation: the answer is the operation's JSON. Its access is the operation's, and what a copy
 * answers is decided there. */
#define OPERATION(m, path, who, body_, name_, operation_, fixed_, fills_)                          \
    {                                                                                              \
        .method = HTTP_##m, .pattern = path, .access = TB_ACCESS_##who, .body = ROUTE_##body_,     \
        .name = name_, .operation = operation_, .fixed = fixed_, .fills = fills_, .reads = true,   \
        .handle = api_operation_named, .finish = api_operation_done                                \
    }

const route api_routes[] = {
    ROW(GET, "/statistics", STATISTICS, NO_BODY, "statistics", api_statistics, NULL),
    ROW(GET, "/insights", INSIGHTS, NO_BODY, "insights", api_insights, api_cached_done),
    /* Which roles depends on the field: see why.c. */
    ROW(GET, "/insights/why", ANY, NO_BODY, "why", api_why, api_cached_done),
    ROW(GET, "/pullzone", PULL_ZONES, NO_BODY, "pullzones", api_pullzones, NULL),
    ROW(GET, "/pullzone/count", PULL_ZONES, NO_BODY, "pullzone_count", api_pullzone_count, NULL),
    ROW(GET, "/pullzone/{id}", PULL_ZONES, NO_BODY, "pullzone", api_pullzone, NULL),
    ROW(GET, "/pullzone/{id}/optimizer/statistics", PULL_ZONES, NO_BODY, "optimizer",
        api_optimizer, NULL),
    ROW(GET, "/pullzone/{id}/originshield/queuestatistics", PULL_ZONES, NO_BODY, "queue", api_queue,
        NULL),
    ROW(GET, "/pullzone/{id}/safehop/statistics", PULL_ZONES, NO_BODY, "safehop", api_safehop,
        NULL),
    PURGE("/pullzone/{id}/purgeCache", JSON, PURGE_BODY, "purge_zone", api_purge_zone,
          api_purge_zone_done),
    PURGE("/purge", NO_BODY, 0, "purge_url", api_purge_url, api_purge_url_done),
    ROW(GET, "/search", SEARCH, NO_BODY, "search", api_search, api_drawn_done),
    ROW(GET, "/storagezone", PULL_ZONES, NO_BODY, "storage_zones", api_nothing_listed, NULL),
    ROW(GET, "/dnszone", PULL_ZONES, NO_BODY, "dns_zones", api_nothing, NULL),
    ROW(GET, "/videolibrary", PULL_ZONES, NO_BODY, "video_libraries", api_nothing_listed, NULL),
    ROW(GET, "/compute/script", PULL_ZONES, NO_BODY, "scripts", api_nothing, NULL),
    ROW(GET, "/abusecase", PULL_ZONES, NO_BODY, "abuse_cases", api_nothing, NULL),
    ROW(GET, "/loadbalancer/{id}/usage", PULL_ZONES, NO_BODY, "balancer_usage", api_balancer_usage,
        NULL),
    ROW(GET, "/billing", BILLING, NO_BODY, "billing", api_billing, NULL),
    ROW(GET, "/billing/summary", BILLING, NO_BODY, "billing_summary", api_billing_summary, NULL),
    ROW(GET, "/billing/payment-requests", BILLING, NO_BODY, "payment_requests", api_payment_requests, NULL),
    ROW(GET, "/billing/payment-request-invoice/{id}/pdf", BILLING, NO_BODY, "payment_request_pdf", api_record_pdf,
        api_drawn_done),
    ROW(GET, "/billing/summary/{id}/pdf", BILLING, NO_BODY, "billing_record_pdf", api_record_pdf, api_drawn_done),
    ROW(GET, "/billing/affiliate", BILLING, NO_BODY, "affiliate", api_affiliate, NULL),
    ROW(GET, "/billing/forecast", BILLING, NO_BODY, "forecast", api_forecast, NULL),
    ROW(GET, "/billing/statement", BILLING, NO_BODY, "statement", api_account_statement,
        api_drawn_done),
    ROW(GET, "/billing/invoices", BILLING, NO_BODY, "invoices", api_invoices, NULL),
    ROW(GET, "/billing/invoices/{id}", BILLING, NO_BODY, "invoice", api_invoice, api_drawn_done),
    ROW(GET, "/billing/invoices/{id}/forms", BILLING, NO_BODY, "invoice_forms", api_invoice_forms, api_drawn_done),
    ROW(GET, "/billing/invoices/{id}/proof", BILLING, NO_BODY, "invoice_proof", api_invoice_proof, api_drawn_done),
    ROW(GET, "/usage/receipts", BILLING, NO_BODY, "usage_receipts", api_usage_receipts, api_drawn_done),
    ROW(GET, "/billing/invoices/{id}/lines/{id}/explain", BILLING, NO_BODY, "invoice_explain",
        api_invoice_explain, NULL),
    OPERATION(GET, "/billing/alerts", BILLING, NO_BODY, "alerts", "alert list", NULL, NULL),
    OPERATION(POST, "/billing/alerts", ADMIN, JSON, "alerts_set", "alert set", NULL, NULL),
    OPERATION(DELETE, "/billing/alerts/{id}", ADMIN, NO_BODY, "alerts_drop", "alert drop", NULL, NULL),
    READING(POST, "/billing/what-if", BILLING, JSON, "what_if", api_whatif, api_whatif_done),
    OPERATION(GET, "/meters", INSIGHTS, NO_BODY, "meters", "meter list", NULL, NULL),
    OPERATION(GET, "/meters/{id}/usage", INSIGHTS, NO_BODY, "meter_usage", "meter usage", NULL, NULL),
    ROW(POST, "/ingest/logs", INGEST, BYTES, "ingest_logs", api_ingest_logs, api_ingest_done),
    ROW(POST, "/ingest/cells", INGEST, BYTES, "ingest_cells", api_ingest_cells, api_ingest_done),
    ROW(POST, "/ingest/logs/withdraw", OPERATOR, BYTES, "withdraw_logs", api_withdraw_logs,
        api_withdraw_done),
    ROW(POST, "/ingest/buckets/withdraw", OPERATOR, BYTES, "withdraw_buckets", api_withdraw_buckets,
        api_withdraw_done),
    ROW(GET, "/ingest/segments", INGEST, NO_BODY, "ingest_segments", api_ingest_segments, NULL),
    ROW(POST, "/ingest/buckets", INGEST, BYTES, "ingest_buckets", api_ingest_buckets,
        api_ingest_done),
    EVENTS("/events", "events"),
    EVENTS("/api/v1/events", "events_v1"), /* where OpenMeter's clients post them */
    LOGS("/v2/pullzones/{id}/logs", "logs_v2", api_logs_v2, NULL),
    LOGS("/v2/pullzones/{id}/logs/summary", "logs_summary", api_logs_summary, api_cached_done),
    LOGS("/{id}/{id}.log", "logs_v1", api_logs_v1, NULL),
    SHIELD(POST, "/shield/event-logs/{id}/export", JSON, EXPORT_BODY, "shield_export",
           api_shield_export, NULL),
    SHIELD(POST, "/shield/event-logs/{id}/search", JSON, EXPORT_BODY, "shield_search", api_shield_search,
           api_shield_search_done),
    SHIELD(GET, "/shield/event-logs/{id}/{date}", NO_BODY, 0, "shield_events", api_shield_events, NULL),
    SHIELD(GET, "/shield/event-logs/{id}/{date}/{token}", NO_BODY, 0, "shield_events_next",
           api_shield_events, NULL),
    SHIELD(GET, "/shield/shield-zones", NO_BODY, 0, "shield_zones", api_shield_zones, NULL),
    SHIELD(GET, "/shield/shield-zone/{id}", NO_BODY, 0, "shield_zone", api_shield_zone, NULL),
    SHIELD(GET, "/shield/shield-zone/get-by-pullzone/{id}", NO_BODY, 0, "shield_zone_of", api_shield_zone_of, NULL),
    SHIELD(GET, "/shield/metrics/overview/{id}", NO_BODY, 0, "shield_overview", api_shield_overview, api_cached_done),
    SHIELD(GET, "/shield/metrics/overview/{id}/detailed", NO_BODY, 0, "shield_detailed", api_shield_detailed,
           api_cached_done),
    SHIELD(GET, "/shield/metrics/rate-limits/{id}", NO_BODY, 0, "shield_rate_limits", api_shield_rate_limits,
           api_cached_done),
    SHIELD(GET, "/shield/metrics/shield-zone/{id}/bot-detection", NO_BODY, 0, "shield_bots", api_shield_bots,
           api_cached_done),
    SHIELD(GET, "/shield/metrics/shield-zone/{id}/upload-scanning", NO_BODY, 0, "shield_uploads", api_shield_uploads,
           api_cached_done),
    SHIELD(GET, "/shield/metrics/shield-zone/{id}/api-guardian", NO_BODY, 0, "shield_guardian", api_shield_guardian,
           api_cached_done),
    SHIELD(GET, "/shield/metrics/shield-zone/{id}/waf-rule/{rule}", NO_BODY, 0, "shield_rule", api_shield_rule,
           api_cached_done),
    MC(GET, "/mc/apps", CONTAINER, NO_BODY, 0, "mc_apps", api_mc_apps, NULL),
    MC(GET, "/mc/apps/{id}", CONTAINER, NO_BODY, 0, "mc_app", api_mc_app, NULL),
    MC(POST, "/mc/apps/{id}/deploy", CONTAINER, NO_BODY, 0, "mc_deploy", api_mc_deploy,
       api_mc_deployed),
    MC(GET, "/mc/apps/{id}/deployment", CONTAINER, NO_BODY, 0, "mc_deployment", api_mc_deployment,
       NULL),
    MC(GET, "/mc/limits", CONTAINER, NO_BODY, 0, "mc_limits", api_mc_limits, NULL),
    MC(GET, "/mc/registries", CONTAINER, NO_BODY, 0, "mc_registries", api_mc_registries, NULL),
    DIGEST("/mc/registries/digest", "mc_digest", api_mc_digest, api_mc_digested),
    ROW(GET, "/region", NONE, NO_BODY, "region", api_region, NULL),
    ROW(GET, "/healthz", NONE, NO_BODY, "healthz", api_healthz, NULL),
    ROW(GET, "/readyz", NONE, NO_BODY, "readyz", api_readyz, NULL),
    FIGURES("/metrics", "metrics", api_metrics),
    ACCOUNT_FIGURES("/metrics/account", "account_metrics", api_account_metrics, api_account_metrics_done),
    ROW(GET, "/openapi.json", NONE, NO_BODY, "openapi", api_openapi, NULL),
    OPERATION(POST, "/catalog", OPERATOR, JSON, "catalog", "apply", NULL, NULL),
    OPERATION(POST, "/books", OPERATOR, JSON, "books_add", "book add", NULL, NULL),
    OPERATION(DELETE, "/books/{id}", OPERATOR, NO_BODY, "books_drop", "book drop", NULL, NULL),
    OPERATION(POST, "/books/{id}/activate", OPERATOR, NO_BODY, "books_activate", "book activate", NULL, NULL),
    OPERATION(GET, "/invoices/late", READ, NO_BODY, "invoices_late", "invoice", "late", NULL),
    OPERATION(POST, "/invoices/{id}/void", MONEY, NO_BODY, "invoices_void", "invoice", NULL, "void"),
    /* Open to all roles that may run any operation; each operation has its own access. */
    ROW(GET, "/operations", ADMIN_READ, NO_BODY, "operations", api_operations, NULL),
    READING(POST, "/operations/{id}", ADMIN_READ, JSON, "operation", api_operation, api_operation_done),
    OPERATION(POST, "/ledger", MONEY, JSON, "ledger", "ledger enter", NULL, NULL),
    ROW(GET, "/replica/pieces", STREAM, NO_BODY, "replica_pieces", api_replica_pieces, api_replica_pieces_done),
    ROW(GET, "/replica/base", STREAM, NO_BODY, "replica_base", api_replica_base, api_replica_base_done),
    ROW(GET, "/replica/status", REPLICA, NO_BODY, "replica_status", api_replica_status, api_replica_status_done),
    ROW(GET, "/replica/epoch", NONE, NO_BODY, "replica_epoch", api_replica_epoch, NULL),
    READING(POST, "/replica/promote", OPERATOR, JSON, "replica_promote", api_replica_promote, api_replica_promote_done),
    ROW(GET, "/proof/checkpoint", NONE, NO_BODY, "proof_checkpoint", api_proof_checkpoint, NULL),
    ROW(GET, "/proof/tile/{+tile}", NONE, NO_BODY, "proof_tile", api_proof_tile, NULL),
    ROW(GET, "/user", KEYS, NO_BODY, "user", api_user, NULL),
    ROW(GET, "/user/audit/{date}", KEYS, NO_BODY, "user_audit", api_user_audit, api_drawn_done),
    ROW(GET, "/country", ANY, NO_BODY, "country", api_country, NULL),
    ROW(GET, "/apikey", KEYS, NO_BODY, "apikey", api_apikey, NULL),
    OPERATION(GET, "/keys", ADMIN_READ, NO_BODY, "keys_list", "key list", NULL, NULL),
    OPERATION(POST, "/keys", ADMIN, JSON, "keys_create", "key create", NULL, NULL),
    OPERATION(DELETE, "/keys/{id}", ADMIN, NO_BODY, "keys_revoke", "key revoke", NULL, "id"),
    LOGS("/{id}/{#date}", "origin_errors", api_origin_errors, NULL), /* behind all rows of two parts */
    /* The console's rows come last, so that a server without a console can leave them out (API_CONSOLE_ROUTES). */
    CONSOLE(GET, "/", NONE, "root", api_root),
    SIGN_IN("/console/session", "sign_in", api_sign_in),
    CONSOLE(GET, "/console/session", ANY, "session", api_session),
    CONSOLE(DELETE, "/console/session", NONE, "sign_out", api_sign_out),
    CONSOLE(GET, "/console/open", NONE, "console_open", api_console_open),
    CONSOLE(GET, "/console/assets/{+file}", NONE, "console_asset", api_console_asset),
    CONSOLE(GET, "/console", NONE, "console", api_console_page),
    CONSOLE(GET, "/console/{+view}", NONE, "console_view", api_console_page),
};
const size_t api_n_routes = sizeof api_routes / sizeof *api_routes;

_Static_assert(sizeof api_routes / sizeof *api_routes < METRICS_ROUTES_MAX,
               "a row of counters for each route, and one for requests without a route");

void api_start(void)
{
    json_object_seed(0);
    registry_start();
}
