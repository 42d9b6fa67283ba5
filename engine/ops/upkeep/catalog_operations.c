/* apply: the whole declared state, parsed and then applied in one transaction.
 *
 * A catalogue that was cut short, or is another's, lacks much of what is declared. So what it would delete is listed
 * before anything is done, and where that is much of a kind nothing is done without --delete. */
#include <inttypes.h>
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
    } else if (one->kind != TB_DECLARED_SELLER) {
        tb_buf_fmt(out, " %" PRId64 "%s", one->id, one->name.len ? " (" : "");
        tb__put_cell(out, one->name.data, one->name.len);
        tb_buf_str(out, one->name.len ? ")" : "");
    }
    tb_buf_str(out, "\n");
}

static void put_listed(const tb_unnamed *one, tb_buf *out)
{
    const bool container = is_container(one->kind);
    tb_buf_fmt(out, "%s{\"list\":\"%s\"", out->len ? "," : "", lists[one->kind]);
    if (one->kind != TB_DECLARED_SELLER)
        tb_buf_fmt(out, ",\"%s\":%" PRId64,
                   container ? "account" : one->kind == TB_DECLARED_HOSTNAME ? "zone" : "id", one->id);
    if (one->name.len) {
        tb_buf_str(out, container ? ",\"id\":" : ",\"name\":");
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
               "\"shieldZonesAdded\":%zu,\"containersAdded\":%zu,\"regions\":%zu,\"changed\":%zu,"
               "\"restored\":%zu,\"adopted\":%zu,\"rebilled\":%zu,\"unbooked\":%zu,\"dryRun\":%s,",
               a->sellers_added, a->accounts_added, a->zones_added, a->balancers_added, a->shields_added,
               a->containers_added, a->regions, a->changed, a->restored, a->adopted, a->rebilled, a->unbooked,
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

static tb_code apply(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "document")->text;
    unnamed u = {.dry = tb_arg_given(args, "dry-run")};
    tb_catalog catalog;
    tb_code code = tb_catalog_parse(text.data, text.len, &catalog, err);
    if (code) return code;
    tb_buf_init(&u.names, TB_REPLY_MAX, NULL);
    tb_buf_init(&u.list, TB_REPLY_MAX, NULL);
    code = list_and_apply(ops, args, &catalog, &u, reply, err);
    tb_buf_release(&u.names);
    tb_buf_release(&u.list);
    tb_catalog_release(&catalog);
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

static const tb_operation rows[] = {
    {.name = "apply",
     .summary =
         "Declare the seller, accounts, pull zones, load balancers, shield zones, containers and regions",
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
};
const tb__operations tb__catalog_operations = TB__OPERATIONS(rows);
