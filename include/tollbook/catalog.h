/* The catalogue: the seller, accounts, regions, pull zones, load balancers and meters as declared by CATALOG.json
 * (docs/catalogue.md). Parsing is pure; the store applies the result.
 *
 * Refused with the JSON path and the reason, nothing taken: unknown keys, duplicate keys, wrong
 * types, duplicate ids, ids outside 1..2^63-1, a zone or balancer of an account that the document
 * does not declare, a balancer's or shield zone's pull zone that it does not declare or of another
 * account. */
#ifndef TOLLBOOK_CATALOG_H
#define TOLLBOOK_CATALOG_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
#include "tollbook/error.h"
#include "tollbook/meter.h"
#include "tollbook/metrics.h"

TB_API_BEGIN

/* Containers as a catalogue declares them: registries, container applications, limits of accounts.
 * All three are JSON objects that belong to an account; docs/catalogue.md has their keys. */

typedef enum tb_container_kind {
    TB_CONTAINER_REGISTRY,
    TB_CONTAINER_APP,
    TB_CONTAINER_LIMITS,
    TB_CONTAINER_KINDS
} tb_container_kind;

typedef struct tb_container {
    tb_container_kind kind;
    int64_t account;      /* registries: 0, every account's */
    const char *id;       /* "" for limits */
    const char *document; /* the object as canonical JSON */
    size_t index;         /* within its list */
} tb_container;

/* "registries", "container_apps", "container_limits" */
const char *tb_container_list_name(tb_container_kind kind);

#define TB_CONTAINER_ID_MAX       100 /* bytes of an id */
#define TB_CONTAINER_ORIGIN_MAX   255 /* of a registry's address */
#define TB_CONTAINER_REALM_MAX    500 /* of where its tokens come from */
#define TB_CONTAINER_USER_MAX     255
#define TB_CONTAINER_SECRET_MAX   64 /* of a secret's name */

/* Regions: the name and billing region of each edge location code. A default table is built in;
 * a catalogue's `regions` list replaces it. serverZoneId in queries is a region's id, and the keys
 * of GeoTrafficDistribution are region names ("EU: Frankfurt, DE"). */

#define TB_REGION_NAME_MAX 96

typedef struct tb_region {
    int64_t id;                    /* > 0 */
    char code[TB_EDGE_MAX + 1];    /* edge location code in logs */
    char name[TB_REGION_NAME_MAX]; /* "<continent tag>: <City>, <CC or state>" */
    char billing[8];               /* billing region: EU NA ASIA SA AF */
    char continent[4];             /* EU NA AS OC SA AF */
    char country[4];               /* ISO alpha-2 */
    char price[16];                /* public price per GB, decimal text, for display only */
    double latitude, longitude;    /* degrees, for display only */
    bool latency_routing;
} tb_region;

extern const tb_region tb_region_default[];
extern const size_t tb_region_default_count;

typedef struct tb_catalog_account {
    int64_t id;
    const char *name;     /* UTF-8, 1..255 bytes */
    bool samples;         /* its pull zones' bytes are kept by 5 minutes */
    const char *document; /* the account's object as canonical JSON (sorted keys, no space) */
} tb_catalog_account;

typedef struct tb_catalog_zone {
    int64_t id, account;
    const char *name;
    const char *type;     /* "premium" or "volume" */
    int64_t created_us;   /* INT64_MIN if absent: from the beginning */
    const char *settings; /* canonical JSON object, "{}" where absent */
    const char *document; /* the whole object, canonical JSON: hostnames and the rest */
} tb_catalog_zone;

typedef struct tb_catalog_balancer {
    int64_t id, account;
    int64_t created_us; /* INT64_MIN where absent */
    int64_t deleted_us; /* INT64_MAX where null or absent */
    const int64_t *zones;
    size_t n_zones;
    const char *document;
} tb_catalog_balancer;

/* {"id":42,"account":1,"zone":101,"name":"acme"}: the account that owns the events of a shield zone. */
typedef struct tb_catalog_shield {
    int64_t id, account;
    int64_t zone; /* the pull zone that it shields, of the same account; 0 where absent */
    const char *name; /* NULL where absent */
    const char *document;
} tb_catalog_shield;

typedef struct tb_catalog_meter {
    tb_meter meter; /* its number is the store's, and 0 here */
    const char *document;
} tb_catalog_meter;

typedef struct tb_catalog {
    const char *seller; /* the seller, canonical JSON; NULL: the document has none */
    tb_catalog_account *accounts;
    size_t n_accounts;
    tb_region *regions; /* n_regions 0 and has_regions false: the document has no such list */
    size_t n_regions;
    bool has_regions;
    tb_catalog_zone *zones;
    size_t n_zones;
    tb_catalog_balancer *balancers;
    size_t n_balancers;
    tb_catalog_shield *shields;
    size_t n_shields;
    tb_container *containers; /* of all kinds */
    size_t n_containers;
    tb_catalog_meter *meters; /* with TB_METER_BANDWIDTH where an account keeps samples */
    size_t n_meters;
    void *memory; /* everything above lives in it */
} tb_catalog;

#define TB_CATALOG_MAX ((size_t)256 << 20) /* longest document, bytes */

/* On success the caller releases *ret_catalog. On failure err->field is the JSON path
 * ("zones[3].id"), err->byte the place of a syntax error. */
TB_MUST_USE tb_code tb_catalog_parse(const char *text, size_t len, tb_catalog *ret_catalog,
                                     tb_error *err);
void tb_catalog_release(tb_catalog *catalog);

/* The contract of an account, in addition to its price book: a book of its own, a percentage off, a minimum of its
 * own, commits, a cap. Part of the account's declaration (docs/catalogue.md); bill.h describes its effect on a bill. A
 * month is billed by the contract in force at the start of its last hour. */

#define TB_CONTRACT_PERCENT_SCALE 4 /* digits after the point of its percentage, at most */
#define TB_COMMITS_MAX            24 /* of a contract */

/* What is paid at least in each period from its first month to its last. */
typedef struct tb_commit {
    tb_decimal amount; /* of a period */
    int months;        /* of a period: 1, 3 or 12 */
    bool rollover;     /* what a period's true-up paid counts as use of the next period */
    /* Months since January 1970, both within. INT64_MIN, as declared: from the month in which the account
     * was first declared (a bill's input has that one), under a scenario always. INT64_MAX: no end. */
    int64_t from, to;
} tb_commit;

typedef enum tb_cap_action { TB_CAP_NONE, TB_CAP_ALERT, TB_CAP_DISABLE } tb_cap_action;

/* All zeros: no contract. */
typedef struct tb_contract {
    char book[65];       /* the id of the account's own book; "": its currency's books */
    tb_decimal discount; /* percent of the month's usage and fees, 0 to 100 */
    bool own_minimum;    /* minimum is set; else the book's counts */
    tb_decimal minimum;  /* a month */
    tb_commit commits[TB_COMMITS_MAX]; /* ascending; each begins in the month after the one before ends */
    size_t n_commits;
    tb_cap_action cap_action; /* TB_CAP_NONE: no cap */
    tb_decimal cap;           /* net charges of a month */
    bool percentile;          /* bandwidth is billed at the book's percentile, not by bytes */
} tb_contract;

/* A period of a commit: full, or cut by its commit's end. */
typedef struct tb_commit_period {
    const tb_commit *commit;
    int64_t first, last; /* months */
    bool carries; /* the period before it ends right before it and rolls over */
} tb_commit_period;
/* The period that a month is in; false: it is in none. Periods count from their commit's first month, those of a commit
 * without one from January. */
bool tb_contract_period(const tb_contract *contract, int64_t month, tb_commit_period *ret_period);

/* Alerts as the catalogue declares them for an account: a threshold on its money, usage, balance or traffic. Raised
 * alerts: alertstore.h; their evaluation: alerts.h. */

#define TB_ALERT_KINDS(X)                                                                          \
    X(MONTH_TO_DATE, "month_to_date") /* gross charges of the running month so far */              \
    X(FORECAST, "forecast")           /* forecast gross charges of the running month */            \
    X(USAGE, "usage")                 /* bytes, or a meter's quantity, of the running month so far */ \
    X(BALANCE, "balance")             /* the ledger's, below the threshold */                      \
    X(ANOMALY, "anomaly")             /* bytes of an hour, as a multiple of the usual number */    \
    X(CAP, "cap") /* net charges of the running month so far: the contract's cap declares it */
typedef enum tb_alert_kind {
#define TB_X(e, name) TB_ALERT_##e,
    TB_ALERT_KINDS(TB_X)
#undef TB_X
        TB_ALERT_KIND_COUNT
} tb_alert_kind;
const char *tb_alert_kind_name(tb_alert_kind kind);

#define TB_ALERTS_MAX   32 /* of an account, beside that of its cap */
#define TB_ALERT_CAP_ID "contract:cap" /* no declared alert can have this id */
#define TB_ALERT_ID_MAX 64 /* bytes */

/* limit: `above`, for BALANCE `below`, for CAP `at`. Amounts are of the account's currency, usage is in bytes or in the units of
 * its meter, and an
 * anomaly's is how many times the usual. probability: of FORECAST, between 0 and 1. */
typedef struct tb_alert_rule {
    char id[TB_ALERT_ID_MAX + 1];
    tb_alert_kind kind;
    tb_decimal limit, probability;
    char meter[TB_METER_ID_MAX + 1]; /* of USAGE: whose quantity is looked at; "": bytes of traffic */
    bool own; /* set by the account's people, not declared in the catalogue */
} tb_alert_rule;

TB_API_END

#endif
