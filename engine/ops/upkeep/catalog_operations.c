/* apply: the whole declared state, parsed and then applied in one transaction. catalog show: what is declared, as
 * apply takes it. catalog change: apply of what is declared with one object of it changed.
 *
 * A catalogue that was cut short, or is another's, lacks much of what is declared. So what it would delete is listed
 * before anything is done, and where that is much of a kind nothing is done without --delete. */
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/catalog.h"
#include "tollbook/json.h"

/* --- what the catalogue no longer names --- */

#define NAMED_MOST  20   /* of each kind, for people; a dry run names all */
#define LISTED_MOST 1000 /* in JSON; a dry run lists all */

typedef struct unnamed {
    bool dry;
    size_t n[TB_DECLARED_KIND_COUNT], live[TB_DECLARED_KIND_COUNT];
    size_t total, named;
    tb_buf names; /* lines */
    tb_buf list;  /* elements of a JSON list */
} unnamed;

static const char *const words[] = {
#define TB_X(name, word, list) word,
    TB_DECLARED_KINDS(TB_X)
#undef TB_X
};
static const char *const lists[] = {
#define TB_X(name, word, list) list,
    TB_DECLARED_KINDS(TB_X)
#undef TB_X
};

static bool is_container(tb_declared_kind kind)
{
    return kind == TB_DECLARED_REGISTRY || kind == TB_DECLARED_APP || kind == TB_DECLARED_LIMITS;
}

/* "pull zone 102 (video)", "container application shop of account 1", "hostname a.example of pull zone 102" */
static void put_name(const tb_unnamed *one, tb_buf *out)
{
    const bool hostname = one->kind == TB_DECLARED_HOSTNAME;
    tb_buf_str(out, words[one->kind]);
    if (hostname || is_container(one->kind)) {
        tb_buf_str(out, one->name.len ? " " : "");
        tb__put_cell(out, one->name.data, one->name.len);
        if (one->id) tb_buf_fmt(out, " of %s %" PRId64, hostname ? "pull zone" : "account", one->id);
    } else if (one->kind == TB_DECLARED_METER) {
        tb_buf_str(out, " ");
        tb__put_cell(out, one->name.data, one->name.len);
    } else if (one->kind != TB_DECLARED_SELLER) {
        tb_buf_fmt(out, " %" PRId64 "%s", one->id, one->name.len ? " (" : "");
        tb__put_cell(out, one->name.data, one->name.len);
        tb_buf_str(out, one->name.len ? ")" : "");
    }
    tb_buf_str(out, "\n");
}

static void put_listed(const tb_unnamed *one, tb_buf *out)
{
    const bool container = is_container(one->kind), meter = one->kind == TB_DECLARED_METER;
    tb_buf_fmt(out, "%s{\"list\":\"%s\"", out->len ? "," : "", lists[one->kind]);
    if (one->kind != TB_DECLARED_SELLER && !meter)
        tb_buf_fmt(out, ",\"%s\":%" PRId64,
                   container ? "account" : one->kind == TB_DECLARED_HOSTNAME ? "zone" : "id", one->id);
    if (one->name.len) {
        tb_buf_str(out, container ? ",\"id\":" : meter ? ",\"meter\":" : ",\"name\":");
        tb_json_string(out, one->name.data, one->name.len);
    }
    tb_buf_str(out, "}");
}

static void add_unnamed(void *ctx, const tb_unnamed *one)
{
    unnamed *u = ctx;
    if (u->dry || u->total < LISTED_MOST) put_listed(one, &u->list);
    u->total++;
    if (++u->n[one->kind] > NAMED_MOST && !u->dry) return;
    put_name(one, &u->names);
    u->named++;
}

/* All of a kind, or more than a tenth of it and more than one. An only hostname may just have another name. */
static bool is_much(int kind, size_t n, size_t live)
{
    return (n == 1 && live == 1 && kind != TB_DECLARED_HOSTNAME) || (n > 1 && n > live / 10);
}

/* "zones: 2 of 5, load_balancers: 1 of 1"; "": it is not much of any kind. Terminated. */
static void put_much(const unnamed *u, tb_buf *out)
{
    for (int k = 0; k < TB_DECLARED_KIND_COUNT; k++)
        if (is_much(k, u->n[k], u->live[k]))
            tb_buf_fmt(out, "%s%s: %zu of %zu", out->len ? ", " : "", lists[k], u->n[k], u->live[k]);
    tb_buf_add(out, "", 1);
}

static void say_unnamed(const unnamed *u, const char *verb, tb_reply *reply)
{
    for (size_t at = 0; at < u->names.len;) {
        const char *line = u->names.data + at;
        const size_t len = (size_t)((const char *)memchr(line, '\n', u->names.len - at) - line);
        tb_reply_say(reply, "%s: %.*s", verb, (int)len, line);
        at += len + 1;
    }
    if (u->total > u->named) tb_reply_say(reply, "%s: %zu more", verb, u->total - u->named);
}

static void put_unnamed(const unnamed *u, tb_buf *out)
{
    tb_buf_str(out, "\"deletions\":[");
    tb_buf_add(out, u->list.data, u->list.len);
    tb_buf_fmt(out, "],\"deleted\":%zu", u->total);
}

/* Nothing is done: what would go is the answer. */
static void refuse(const unnamed *u, const char *much, tb_reply *reply)
{
    (void)!tb_fail(&reply->refused, TB_E_DELETES_MUCH, "delete",
                   "Nothing was applied. It needs --delete (over HTTP: delete=true), for much of what is declared is not in "
                   "the catalogue: %s.", much);
    reply->no = reply->settled = true;
    tb_reply_say(reply, "%s", reply->refused.message);
    say_unnamed(u, "would be deleted", reply);
    tb_buf_str(&reply->json, "{");
    tb__put_refused(reply, &reply->json);
    put_unnamed(u, &reply->json);
    tb_buf_str(&reply->json, "}");
}

/* --- what was applied --- */

static void put_applied(tb_reply *reply, const tb_applied *a, const unnamed *u)
{
    tb_buf_fmt(&reply->json,
               "{\"sellersAdded\":%zu,\"accountsAdded\":%zu,\"zonesAdded\":%zu,\"loadBalancersAdded\":%zu,"
               "\"shieldZonesAdded\":%zu,\"containersAdded\":%zu,\"metersAdded\":%zu,\"regions\":%zu,\"changed\":%zu,"
               "\"restored\":%zu,\"adopted\":%zu,\"rebilled\":%zu,\"unbooked\":%zu,\"dryRun\":%s,",
               a->sellers_added, a->accounts_added, a->zones_added, a->balancers_added, a->shields_added,
               a->containers_added, a->meters_added, a->regions, a->changed, a->restored, a->adopted, a->rebilled, a->unbooked,
               u->dry ? "true" : "false");
    put_unnamed(u, &reply->json);
    tb_buf_str(&reply->json, "}");
}

/* What there is none of is not said. */
static void add_count(tb_buf *line, size_t n, const char *one, const char *many)
{
    if (n) tb_buf_fmt(line, "%s%zu %s", line->len ? ", " : "", n, n == 1 ? one : many);
}

static void say_applied(tb_reply *reply, const tb_applied *a, const unnamed *u)
{
    tb_buf line;
    tb_buf_init(&line, 1024, NULL);
    add_count(&line, a->sellers_added, "seller added", "sellers added");
    add_count(&line, a->accounts_added, "account added", "accounts added");
    add_count(&line, a->zones_added, "pull zone added", "pull zones added");
    add_count(&line, a->balancers_added, "load balancer added", "load balancers added");
    add_count(&line, a->shields_added, "shield zone added", "shield zones added");
    add_count(&line, a->containers_added, "container application, limit or registry added",
              "container applications, limits and registries added");
    add_count(&line, a->meters_added, "meter added", "meters added");
    add_count(&line, a->changed, "changed", "changed");
    add_count(&line, u->total, "deleted", "deleted");
    add_count(&line, a->restored, "restored", "restored");
    add_count(&line, a->adopted, "zone with usage joined its account",
              "zones with usage joined their account");
    if (!line.len) tb_reply_say(reply, u->dry ? "Nothing would change."
                                              : "The catalogue was applied before: nothing changed.");
    else tb_reply_say(reply, "%s%.*s.%s", u->dry ? "It would be: " : "", (int)line.len, line.data,
                      u->dry ? " Nothing changed." : "");
    tb_buf_release(&line);
    say_unnamed(u, u->dry ? "would be deleted" : "deleted", reply);
    if (a->rebilled)
        tb_reply_say(reply,
                     "%s with usage %s billed as another region from now on, except in final "
                     "invoices. See: SELECT * FROM region_billing ORDER BY version DESC",
                     TB__COUNTED(a->rebilled, "edge location"), a->rebilled == 1 ? "is" : "are");
    if (a->unbooked)
        tb_reply_say(reply,
                     "%s %s a contract with a price book that is not there in its currency: add it before"
                     " the month is billed.",
                     TB__COUNTED(a->unbooked, "account"), a->unbooked == 1 ? "has" : "have");
}

/* --- applying --- */

static tb_code apply_listed(tb_ops *ops, const tb_catalog *catalog, const unnamed *u, tb_reply *reply, tb_error *err)
{
    tb_applied done = {0};
    tb_code code = u->dry ? tb_store_mark(ops->store, err) : TB_OK;
    if (code) return code;
    code = tb_store_apply_catalog(ops->store, catalog, ops->now_us, &done, err);
    if (u->dry) tb_store_back_to_mark(ops->store);
    reply->settled = u->dry;
    if (code) return code;
    put_applied(reply, &done, u);
    say_applied(reply, &done, u);
    return TB_OK;
}

static tb_code list_and_apply(tb_ops *ops, const tb_args *args, const tb_catalog *catalog, unnamed *u, tb_reply *reply,
                              tb_error *err)
{
    tb_buf much;
    tb_buf_init(&much, 1024, NULL);
    tb_code code = tb_store_unnamed(ops->store, catalog, add_unnamed, u, u->live, err);
    if (!code) put_much(u, &much);
    if (!code) code = tb_buf_check(&much, err);
    if (!code) code = tb_buf_check(&u->names, err);
    if (!code) code = tb_buf_check(&u->list, err);
    const bool refused = !code && *much.data && !tb_arg_given(args, "delete");
    if (refused && !u->dry) refuse(u, much.data, reply);
    else if (!code) code = apply_listed(ops, catalog, u, reply, err);
    if (refused && u->dry && !code) tb_reply_say(reply, "It needs --delete, for much goes: %s.", much.data);
    tb_buf_release(&much);
    return code;
}

static tb_code apply_catalog(tb_ops *ops, const tb_args *args, const tb_catalog *catalog, unnamed *u, tb_reply *reply,
                             tb_error *err)
{
    tb_buf_init(&u->names, TB_REPLY_MAX, NULL);
    tb_buf_init(&u->list, TB_REPLY_MAX, NULL);
    tb_code code = list_and_apply(ops, args, catalog, u, reply, err);
    tb_buf_release(&u->names);
    tb_buf_release(&u->list);
    return code;
}

static tb_code apply(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "document")->text;
    unnamed u = {.dry = tb_arg_given(args, "dry-run")};
    tb_catalog catalog;
    tb_code code = tb_catalog_parse(text.data, text.len, &catalog, err);
    if (code) return code;
    code = apply_catalog(ops, args, &catalog, &u, reply, err);
    tb_catalog_release(&catalog);
    return code;
}

/* --- what is declared --- */

#define SHA256_TEXT (2 * crypto_hash_sha256_BYTES + 1)

/* What is declared, with one object changed. */
typedef struct declared {
    tb_buf lists[TB_DECLARED_KIND_COUNT]; /* the elements of each */
    tb_declared_kind kind;                /* of the object that is looked for */
    int64_t id;                           /* its id; 0: none is looked for */
    char meter[TB_METER_ID_MAX + 1];      /* a meter's; "": none is looked for */
    tb_text instead;                      /* its new document; empty: it is left out */
    size_t index;                         /* its place in its list */
    tb_buf document;                      /* it, as it is declared; empty: it is not */
} declared;

static void declared_init(declared *d)
{
    *d = (declared){.id = 0};
    for (int k = 0; k < TB_DECLARED_KIND_COUNT; k++)
        tb_buf_init(&d->lists[k], TB_CATALOG_MAX, NULL);
    tb_buf_init(&d->document, TB_CATALOG_MAX, NULL);
}

static void declared_release(declared *d)
{
    for (int k = 0; k < TB_DECLARED_KIND_COUNT; k++)
        tb_buf_release(&d->lists[k]);
    tb_buf_release(&d->document);
}

static void put_object(tb_buf *list, tb_text document)
{
    if (document.len && list->len) tb_buf_str(list, ",");
    tb_buf_add(list, document.data, document.len);
}

static bool is_text(tb_text a, const char *b)
{
    return a.len == strlen(b) && memcmp(a.data, b, a.len) == 0;
}

static void put_declared(void *ctx, const tb_declared *one)
{
    declared *d = ctx;
    const bool looked_for =
        one->kind == d->kind && (d->meter[0] ? is_text(one->name, d->meter) : d->id && one->id == d->id);
    if (looked_for) tb_buf_add(&d->document, one->document.data, one->document.len);
    d->index += one->kind == d->kind && !d->document.len;
    put_object(&d->lists[one->kind], looked_for ? d->instead : one->document);
}

static void put_region(const tb_region *r, tb_buf *out)
{
    char latitude[TB_DOUBLE_TEXT_MAX], longitude[TB_DOUBLE_TEXT_MAX];
    const char *texts[][2] = {{"code", r->code},           {"name", r->name},       {"billing", r->billing},
                              {"continent", r->continent}, {"country", r->country}, {"price", r->price}};
    *tb_put_double(latitude, r->latitude) = *tb_put_double(longitude, r->longitude) = 0;
    tb_buf_fmt(out, "%s{\"id\":%" PRId64, out->len ? "," : "", r->id);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i][1]) continue;
        tb_buf_fmt(out, ",\"%s\":", texts[i][0]);
        tb_json_string(out, texts[i][1], strlen(texts[i][1]));
    }
    tb_buf_fmt(out, ",\"latitude\":%s,\"longitude\":%s,\"latency_routing\":%s}", latitude, longitude,
               r->latency_routing ? "true" : "false");
}

static tb_code read_declared(tb_store *store, declared *d, tb_error *err)
{
    tb_region *regions = NULL;
    size_t n = 0;
    tb_code code = tb_store_declared(store, put_declared, d, err);
    if (!code) code = tb_store_declared_regions(store, &regions, &n, err);
    for (size_t i = 0; i < n; i++)
        put_region(&regions[i], &d->lists[TB_DECLARED_REGION]);
    free(regions);
    if (!code && !d->document.len) put_object(&d->lists[d->kind], d->instead);
    for (int k = 0; !code && k < TB_DECLARED_KIND_COUNT; k++)
        code = tb_buf_check(&d->lists[k], err);
    return code ? code : tb_buf_check(&d->document, err);
}

/* only: a kind; -1: all. The accounts are always there, as apply asks for them. */
static void put_catalog(const declared *d, int only, tb_buf *out)
{
    const char *before = "{";
    for (int k = 0; k < TB_DECLARED_KIND_COUNT; k++) {
        const tb_buf *list = &d->lists[k];
        const bool one = k == TB_DECLARED_SELLER;
        if (only >= 0 ? k != only : !list->len && k != TB_DECLARED_ACCOUNT) continue;
        tb_buf_fmt(out, "%s\"%s\":%s", before, lists[k], one ? "" : "[");
        if (one && !list->len) tb_buf_str(out, "null");
        tb_buf_add(out, list->data, list->len);
        if (!one) tb_buf_str(out, "]");
        before = ",";
    }
    tb_buf_str(out, "}");
}

static void hash_document(const tb_buf *document, char out[SHA256_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)document->data, document->len);
    sodium_bin2hex(out, SHA256_TEXT, hash, sizeof hash);
}

static int list_of(const tb_args *args)
{
    int k = TB_DECLARED_KIND_COUNT - 1;
    while (k >= 0 && !tb_arg_is(args, "list", lists[k]))
        k--;
    return k;
}

#define NAME_ROOM (TB_METER_ID_MAX + 32)

/* "pull zone 102", "meter storage" */
static const char *name_object(const declared *d, char out[NAME_ROOM])
{
    if (d->meter[0]) snprintf(out, NAME_ROOM, "%s %s", words[d->kind], d->meter);
    else snprintf(out, NAME_ROOM, "%s %" PRId64, words[d->kind], d->id);
    return out;
}

static tb_code show_one(const declared *d, tb_reply *reply, tb_error *err)
{
    char hash[SHA256_TEXT], name[NAME_ROOM];
    if (!d->document.len)
        return tb_fail(err, TB_E_NOT_FOUND, d->meter[0] ? "meter" : "id", "There is no %s.", name_object(d, name));
    hash_document(&d->document, hash);
    tb_buf_str(&reply->json, "{\"document\":");
    tb_buf_add(&reply->json, d->document.data, d->document.len);
    tb_buf_fmt(&reply->json, ",\"sha256\":\"%s\"}", hash);
    tb_buf_add(&reply->out, d->document.data, d->document.len);
    tb_buf_str(&reply->out, "\n");
    return TB_OK;
}

static tb_code show_catalog(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int list = list_of(args);
    declared d;
    declared_init(&d);
    d.kind = list >= 0 ? (tb_declared_kind)list : TB_DECLARED_SELLER;
    d.id = list == TB_DECLARED_SELLER ? 1 : tb_arg_number(args, "id", 0);
    if (tb_arg_given(args, "meter")) snprintf(d.meter, sizeof d.meter, "%s", tb_arg_text(args, "meter"));
    tb_code code = d.id && list < 0 ? tb_fail(err, TB_E_VALIDATION, "list", "It must be given beside an id.") : TB_OK;
    if (!code && (list == TB_DECLARED_METER ? d.id : d.meter[0]))
        code = tb_fail(err, TB_E_VALIDATION, list == TB_DECLARED_METER ? "id" : "meter", "Only the list meters has meters, "
                       "and no other ids.");
    if (!code) code = read_declared(ops->store, &d, err);
    if (!code && (d.id || d.meter[0])) {
        code = show_one(&d, reply, err);
    } else if (!code) {
        put_catalog(&d, list, &reply->json);
        put_catalog(&d, list, &reply->out);
        tb_buf_str(&reply->out, "\n");
    }
    declared_release(&d);
    return code;
}

/* --- changing one object --- */

/* Which object is meant: by its document, or as what is removed; the seller has no id. */
static tb_code read_id(const tb_args *args, declared *d, tb_error *err)
{
    const bool meter = d->kind == TB_DECLARED_METER;
    const tb_arg *document = tb_arg_of(args, "document");
    const char *removed = meter ? "remove-meter" : "remove";
    json_error_t wrong;
    d->id = d->kind == TB_DECLARED_SELLER ? 1 : tb_arg_number(args, "remove", 0);
    if (tb_arg_given(args, "remove-meter")) snprintf(d->meter, sizeof d->meter, "%s", tb_arg_text(args, "remove-meter"));
    if (meter ? d->id : d->meter[0])
        return tb_fail(err, TB_E_VALIDATION, meter ? "remove" : "remove-meter",
                       "Meters are removed with remove-meter, other objects with remove.");
    if (document && tb_arg_given(args, removed))
        return tb_fail(err, TB_E_VALIDATION, removed, "Give a document, or the id of what is removed.");
    if (!document && !d->id && !d->meter[0])
        return tb_fail(err, TB_E_VALIDATION, "document", "Give a document, or the id of what is removed.");
    if (!document) return TB_OK;
    if (!tb_json_fits(document->text.data, document->text.len))
        return tb_fail(err, TB_E_TOO_MUCH, "document", "It holds too many values.");
    json_t *object = json_loadb(document->text.data, document->text.len, 0, &wrong);
    const json_t *id = json_object_get(object, meter ? "meter" : "id");
    const bool is_object = json_is_object(object);
    if (meter && json_is_string(id) && json_string_length(id) < sizeof d->meter)
        snprintf(d->meter, sizeof d->meter, "%s", json_string_value(id));
    else if (d->kind != TB_DECLARED_SELLER) d->id = json_integer_value(id);
    json_decref(object);
    if (!is_object) return tb_fail(err, TB_E_CATALOG, "document", "It must be one JSON object.");
    if (meter && !d->meter[0])
        return tb_fail(err, TB_E_CATALOG, "meter", "Must be 1 to 64 letters, digits, '_', '.' and '-'.");
    return meter || d->id > 0 ? TB_OK : tb_fail(err, TB_E_CATALOG, "id", "Must be a whole number from 1 to 2^63-1.");
}

/* Whether the document that is replaced is the one that the caller has seen. */
static tb_code check_was(const tb_args *args, const declared *d, tb_error *err)
{
    const char *was = tb_arg_text(args, "was");
    char hash[SHA256_TEXT] = "none", name[NAME_ROOM];
    if (d->document.len) hash_document(&d->document, hash);
    if (!d->instead.len && !d->document.len)
        return tb_fail(err, TB_E_NOT_FOUND, d->meter[0] ? "remove-meter" : "remove", "There is no %s.", name_object(d, name));
    if (!was || strcmp(was, hash) == 0) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "was", d->document.len ? "The %s was changed meanwhile, or is there already. Look at"
                                                                  " it again, and change that."
                                                                : "The %s was removed meanwhile.",
                   name_object(d, name));
}

/* "accounts[12].tax.rate" of the object that is changed is "tax.rate". The place is one in the whole catalogue. */
static void place_error(const declared *d, tb_error *err)
{
    char path[64];
    const int len = d->kind == TB_DECLARED_SELLER ? snprintf(path, sizeof path, "seller")
                                                  : snprintf(path, sizeof path, "%s[%zu]", lists[d->kind], d->index);
    err->byte = 0;
    err->line = 0;
    if (strncmp(err->field, path, (size_t)len) == 0 && err->field[len] == '.')
        memmove(err->field, err->field + len + 1, strlen(err->field + len + 1) + 1);
}

static tb_code change_object(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    unnamed u = {.dry = tb_arg_given(args, "dry-run")};
    tb_error own;
    declared d;
    tb_buf text;
    tb_catalog catalog;
    const tb_arg *document = tb_arg_of(args, "document");
    if (!err) err = &own;
    declared_init(&d);
    tb_buf_init(&text, TB_CATALOG_MAX, NULL);
    d.kind = (tb_declared_kind)list_of(args);
    if (document) d.instead = document->text;
    tb_code code = read_id(args, &d, err);
    if (!code) code = read_declared(ops->store, &d, err);
    if (!code) code = check_was(args, &d, err);
    if (!code) {
        put_catalog(&d, -1, &text);
        code = tb_buf_check(&text, err);
    }
    if (!code) {
        code = tb_catalog_parse(text.data, text.len, &catalog, err);
        if (!code) {
            code = apply_catalog(ops, args, &catalog, &u, reply, err);
            tb_catalog_release(&catalog);
        }
        if (code) place_error(&d, err);
    }
    tb_buf_release(&text);
    declared_release(&d);
    return code;
}

static const tb_param apply_params[] = {
    {.name = "document",
     .value = "CATALOG.json",
     .kind = TB_PARAM_DOCUMENT,
     .operand = true,
     .required = true,
     .max = TB_CATALOG_MAX,
     .help = "the catalogue"},
    TB__PARAM_BACKDATED,
    {.name = "dry-run", .kind = TB_PARAM_FLAG, .help = "say what would change, name all that would be deleted, and change"
                                                       " nothing"},
    {.name = "delete", .kind = TB_PARAM_FLAG, .help = "delete much of a kind too: all of it, or more than a tenth"},
};

static const tb_param show_params[] = {
    {.name = "list", .value = "seller|accounts|zones|load_balancers|shield_zones|registries|container_apps|container_limits|meters|regions",
     .kind = TB_PARAM_CHOICE, .help = "only this list; default: all"},
    {.name = "id", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT64_MAX,
     .help = "one object of the list: an account, pull zone, load balancer or shield zone"},
    {.name = "meter", .value = "METER", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_METER_ID_MAX,
     .help = "one object of the list meters"},
};

static const tb_param change_params[] = {
    {.name = "document", .value = "OBJECT.json", .kind = TB_PARAM_DOCUMENT, .operand = true, .max = TB_CATALOG_MAX,
     .help = "the object as it shall be; its id (of a meter: `meter`) says which one, and one that is not there is added"},
    {.name = "list", .value = "seller|accounts|zones|load_balancers|shield_zones|meters", .kind = TB_PARAM_CHOICE,
     .required = true, .help = "the catalogue's list that it is in"},
    {.name = "remove", .value = "ID", .kind = TB_PARAM_NUMBER, .min = 1, .max = INT64_MAX,
     .help = "in place of a document: remove this object"},
    {.name = "remove-meter", .value = "METER", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_METER_ID_MAX,
     .help = "in place of a document: remove this meter; its usage stays"},
    {.name = "was", .value = "SHA256", .kind = TB_PARAM_TEXT, .min = 4, .max = SHA256_TEXT - 1,
     .help = "replace the object only if it still has this SHA-256 (catalog show prints it); none: only if there is none yet"},
    TB__PARAM_BACKDATED,
    {.name = "dry-run", .kind = TB_PARAM_FLAG, .help = "say what would change, and change nothing"},
    {.name = "delete", .kind = TB_PARAM_FLAG, .help = "remove the only one of its kind too"},
};

static const tb_operation rows[] = {
    {.name = "apply",
     .summary =
         "Declare the seller, accounts, pull zones, load balancers, shield zones, containers, meters and regions",
     .details =
         "The document is the whole declared state. The same again changes nothing, and what\n"
         "it no longer names is marked deleted, and named; so are hostnames, and regions that have usage or are\n"
         "not built in. Where that is all of a kind, or more than one and more than a tenth of it, a terminal is\n"
         "asked; elsewhere nothing is applied without --delete, and the exit status is 1. \"-\" reads standard input.\n"
         "A change holds from its moment on: where the clock is behind the newest entry of the audit log it is\n"
         "refused, or taken with --backdated, which that log shows.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(apply_params),
     .consent = "delete",
     .declares = true,
     .write = apply},
    {.name = "catalog show",
     .summary = "Print the catalogue that is in force, or one object of it",
     .details = "It is what `apply` takes, and applying it changes nothing. Regions are in it if they are not the\n"
                "built-in ones.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(show_params),
     .read = show_catalog},
    {.name = "catalog change",
     .summary = "Declare one object of the catalogue: add, replace or remove it",
     .details = "All else stays as it is declared. The next `apply` of a whole catalogue takes back what that one does\n"
                "not name: print it with `catalog show` first.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(change_params),
     .consent = "delete",
     .declares = true,
     .write = change_object},
};
const tb__operations tb__catalog_operations = TB__OPERATIONS(rows);
