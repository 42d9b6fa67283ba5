/* The catalogue: the seller, accounts, regions, pull zones and load balancers as declared by CATALOG.json
 * (docs/catalogue.md). Parsing is pure; the store applies the result.
 *
 * Refused with the JSON path and the reason, nothing taken: unknown keys, duplicate keys, wrong
 * types, duplicate ids, ids outside 1..2^63-1, a zone or balancer of an account that the document
 * does not declare, a balancer's or shield zone's pull zone that it does not declare or of another
 * account. */
#ifndef TOLLBOOK_CATALOG_H
#define TOLLBOOK_CATALOG_H

#include "tollbook/alloc.h"
#include "tollbook/container.h"
#include "tollbook/error.h"
#include "tollbook/region.h"

TB_API_BEGIN

typedef struct tb_catalog_account {
    int64_t id;
    const char *name;     /* UTF-8, 1..255 bytes */
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

/* {"id":42,"account":1,"zone":101,"name":"acme"}: whose the events of a shield zone are. */
typedef struct tb_catalog_shield {
    int64_t id, account;
    int64_t zone; /* the pull zone that it shields, of the same account; 0 where absent */
    const char *name; /* NULL where absent */
    const char *document;
} tb_catalog_shield;

typedef struct tb_catalog {
    const char *seller; /* who sells, canonical JSON; NULL: the document has none */
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
    void *memory; /* everything above lives in it */
} tb_catalog;

#define TB_CATALOG_MAX ((size_t)256 << 20) /* longest document, bytes */

/* On success the caller releases *ret_catalog. On failure err->field is the JSON path
 * ("zones[3].id"), err->byte the place of a syntax error. */
TB_MUST_USE tb_code tb_catalog_parse(const char *text, size_t len, tb_catalog *ret_catalog,
                                     tb_error *err);
void tb_catalog_release(tb_catalog *catalog);

TB_API_END

#endif
