/* What concerns several of a catalogue's objects: unique ids, owners, balancers' zones. Judged over
 * sorted ids, so that the order of the lists does not matter. */
#include "model/catalog_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ELEMENT SIZE_MAX

typedef struct checker {
    const tb_catalog *out;
    tb__arena *scratch;
    size_t element; /* of the list under the key; NO_ELEMENT if there is none */
    tb_error *err;
} checker;

static tb_code refuse_thing(const checker *p, const char *list, size_t index, const char *key,
                            const char *message)
{
    char path[48];
    int n = snprintf(path, sizeof path, "%s[%zu].%s", list, index, key);
    if (p->element != NO_ELEMENT)
        snprintf(path + n, sizeof path - (size_t)n, "[%zu]", p->element);
    return tb_fail(p->err, TB_E_CATALOG, path, "%s", message);
}

static tb_code refuse_about(const checker *p, const char *list, size_t index, const char *key,
                            const char *what, int64_t id)
{
    char message[96];
    snprintf(message, sizeof message, "%s %lld.", what, (long long)id);
    return refuse_thing(p, list, index, key, message);
}

typedef struct id_ref {
    int64_t id;
    size_t index;
} id_ref;

static int compare_refs(const void *a, const void *b)
{
    const id_ref *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sorted ids of n things of `size` bytes that start with their id, each once. */
static tb_code sort_ids(checker *p, const char *list, const void *things, size_t n, size_t size,
                        id_ref **ret_ids)
{
    id_ref *ids = tb__arena_take(p->scratch, n * sizeof *ids);
    if (!ids) return tb_no_memory(p->err);
    for (size_t i = 0; i < n; i++) {
        memcpy(&ids[i].id, (const char *)things + i * size, sizeof ids[i].id);
        ids[i].index = i;
    }
    qsort(ids, n, sizeof *ids, compare_refs);
    for (size_t i = 1; i < n; i++)
        if (ids[i].id == ids[i - 1].id)
            return refuse_about(p, list, ids[i].index, "id", "Duplicate id", ids[i].id);
    *ret_ids = ids;
    return TB_OK;
}

/* The first ref of an id, or NULL. */
static const id_ref *find_id(const id_ref *ids, size_t n, int64_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ids[low].id == id ? &ids[low] : NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Codes decide where usage belongs, names are keys of a JSON object: both must be unique. */
static tb_code check_region_texts(checker *p, size_t offset, const char *key)
{
    size_t n = p->out->n_regions;
    const char **texts = tb__arena_take(p->scratch, n * sizeof *texts);
    if (!texts) return tb_no_memory(p->err);
    for (size_t i = 0; i < n; i++)
        texts[i] = (const char *)&p->out->regions[i] + offset;
    qsort(texts, n, sizeof *texts, compare_texts);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(texts[i - 1], texts[i]) != 0) continue;
        const char *later = texts[i] > texts[i - 1] ? texts[i] : texts[i - 1];
        size_t index = (size_t)(later - offset - (const char *)p->out->regions) / sizeof(tb_region);
        return refuse_thing(p, "regions", index, key, "An earlier region has the same value.");
    }
    return TB_OK;
}

static tb_code check_regions(checker *p)
{
    id_ref *ids;
    tb_code code =
        sort_ids(p, "regions", p->out->regions, p->out->n_regions, sizeof(tb_region), &ids);
    if (!code) code = check_region_texts(p, offsetof(tb_region, code), "code");
    if (!code) code = check_region_texts(p, offsetof(tb_region, name), "name");
    return code;
}

static tb_code check_balancer_zones(checker *p, size_t index, const id_ref *zones)
{
    const tb_catalog_balancer *b = &p->out->balancers[index];
    id_ref *own = tb__arena_take(p->scratch, b->n_zones * sizeof *own);
    if (!own) return tb_no_memory(p->err);
    for (size_t i = 0; i < b->n_zones; i++) {
        p->element = i;
        const id_ref *zone = find_id(zones, p->out->n_zones, b->zones[i]);
        if (!zone)
            return refuse_about(p, "load_balancers", index, "zones", "No such zone:", b->zones[i]);
        if (p->out->zones[zone->index].account != b->account)
            return refuse_about(p, "load_balancers", index, "zones",
                                "Another account owns the zone", b->zones[i]);
        own[i] = (id_ref){b->zones[i], i};
    }
    qsort(own, b->n_zones, sizeof *own, compare_refs);
    for (size_t i = 1; i < b->n_zones; i++) {
        p->element = own[i].index;
        if (own[i].id == own[i - 1].id)
            return refuse_about(p, "load_balancers", index, "zones", "Duplicate id", own[i].id);
    }
    p->element = NO_ELEMENT;
    return TB_OK;
}

/* A zone attached to a balancer while that balancer exists. */
typedef struct attachment {
    int64_t zone, from_us, to_us;
    size_t balancer;
} attachment;

static int compare_attachments(const void *a, const void *b)
{
    const attachment *x = a, *y = b;
    if (x->zone != y->zone) return x->zone < y->zone ? -1 : 1;
    if (x->from_us != y->from_us) return x->from_us < y->from_us ? -1 : 1;
    return x->balancer < y->balancer ? -1 : x->balancer > y->balancer;
}

/* A request counts for one balancer: a zone has at most one at a time. */
static tb_code check_attachments(checker *p)
{
    const tb_catalog *c = p->out;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < c->n_balancers; i++)
        n += c->balancers[i].n_zones;
    attachment *all = tb__arena_take(p->scratch, n * sizeof *all);
    if (!all) return tb_no_memory(p->err);
    for (size_t i = 0; i < c->n_balancers; i++)
        for (size_t z = 0; z < c->balancers[i].n_zones; z++)
            all[at++] = (attachment){c->balancers[i].zones[z], c->balancers[i].created_us,
                                     c->balancers[i].deleted_us, i};
    qsort(all, n, sizeof *all, compare_attachments);
    for (size_t i = 1; i < n; i++)
        if (all[i].zone == all[i - 1].zone && all[i].from_us < all[i - 1].to_us)
            return refuse_about(
                p, "load_balancers", all[i].balancer, "zones",
                "Another load balancer has the same zone at the same time:", all[i].zone);
    return TB_OK;
}

static tb_code check_balancers(checker *p, const id_ref *accounts, const id_ref *zones)
{
    id_ref *ids;
    const tb_catalog *c = p->out;
    tb_code code =
        sort_ids(p, "load_balancers", c->balancers, c->n_balancers, sizeof *c->balancers, &ids);
    for (size_t i = 0; i < c->n_balancers && !code; i++) {
        const tb_catalog_balancer *b = &c->balancers[i];
        if (!find_id(accounts, c->n_accounts, b->account))
            return refuse_about(p, "load_balancers", i, "account", "No such account:", b->account);
        if (b->deleted_us < b->created_us)
            return refuse_about(p, "load_balancers", i, "deleted",
                                "Must not be before created: load balancer", b->id);
        code = check_balancer_zones(p, i, zones);
    }
    return code ? code : check_attachments(p);
}

/* A shield zone's events belong to its account only: so must its pull zone. */
static tb_code check_shields(checker *p, const id_ref *accounts, const id_ref *zones)
{
    id_ref *ids;
    const tb_catalog *c = p->out;
    tb_code code = sort_ids(p, "shield_zones", c->shields, c->n_shields, sizeof *c->shields, &ids);
    for (size_t i = 0; i < c->n_shields && !code; i++) {
        const tb_catalog_shield *s = &c->shields[i];
        if (!find_id(accounts, c->n_accounts, s->account))
            return refuse_about(p, "shield_zones", i, "account", "No such account:", s->account);
        const id_ref *zone = s->zone ? find_id(zones, c->n_zones, s->zone) : NULL;
        if (s->zone && !zone)
            return refuse_about(p, "shield_zones", i, "zone", "No such zone:", s->zone);
        if (zone && c->zones[zone->index].account != s->account)
            return refuse_about(p, "shield_zones", i, "zone", "Another account owns the zone",
                                s->zone);
    }
    return code;
}

/* --- containers --- */

/* Applications are found by their id, the others by account and id. */
static int compare_containers(const void *a, const void *b)
{
    const tb_container *x = *(const tb_container *const *)a, *y = *(const tb_container *const *)b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->kind != TB_CONTAINER_APP && x->account != y->account)
        return x->account < y->account ? -1 : 1;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static bool same_container(const tb_container *x, const tb_container *y)
{
    return x->kind == y->kind && strcmp(x->id, y->id) == 0 &&
           (x->kind == TB_CONTAINER_APP || x->account == y->account);
}

static tb_code check_containers(checker *p, const id_ref *accounts)
{
    const tb_catalog *c = p->out;
    const tb_container **all = tb__arena_take(p->scratch, c->n_containers * sizeof *all);
    if (!all) return tb_no_memory(p->err);
    for (size_t i = 0; i < c->n_containers; i++) {
        const tb_container *one = all[i] = &c->containers[i];
        if (one->account && !find_id(accounts, c->n_accounts, one->account))
            return refuse_about(p, tb_container_list_name(one->kind), one->index, "account",
                                "No such account:", one->account);
    }
    if (c->n_containers) qsort(all, c->n_containers, sizeof *all, compare_containers);
    for (size_t i = 1; i < c->n_containers; i++)
        if (same_container(all[i - 1], all[i]))
            return refuse_thing(p, tb_container_list_name(all[i]->kind), all[i]->index,
                          all[i]->id[0] ? "id" : "account", "An earlier entry has the same value.");
    return TB_OK;
}

static tb_code check_meters(checker *p)
{
    const tb_catalog *c = p->out;
    for (size_t i = 0; i < c->n_meters; i++) {
        const tb_meter *meter = &c->meters[i].meter;
        if (strcmp(meter->id, TB_METER_BANDWIDTH) == 0)
            return refuse_thing(p, "meters", i, "meter", "It is the meter of accounts with \"samples\". Choose another id.");
        if (strcmp(meter->noun, TB_METER_BANDWIDTH_NOUN) == 0)
            return refuse_thing(p, "meters", i, "resource", "It is the resource of the meter bandwidth. Choose another word.");
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->meters[k].meter.id, c->meters[i].meter.id) == 0)
                return refuse_thing(p, "meters", i, "meter", "An earlier entry has the same value.");
    }
    return TB_OK;
}

tb_code tb__catalog_check(const tb_catalog *c, tb__arena *scratch, tb_error *err)
{
    checker all = {c, scratch, NO_ELEMENT, err}, *p = &all;
    id_ref *accounts = NULL, *zones = NULL;
    tb_code code =
        sort_ids(p, "accounts", c->accounts, c->n_accounts, sizeof *c->accounts, &accounts);
    if (!code) code = check_regions(p);
    if (!code) code = sort_ids(p, "zones", c->zones, c->n_zones, sizeof *c->zones, &zones);
    if (code) return code;
    for (size_t i = 0; i < c->n_zones; i++)
        if (!find_id(accounts, c->n_accounts, c->zones[i].account))
            return refuse_about(p, "zones", i, "account", "No such account:", c->zones[i].account);
    code = check_balancers(p, accounts, zones);
    if (!code) code = check_shields(p, accounts, zones);
    if (!code) code = check_containers(p, accounts);
    return code ? code : check_meters(p);
}
