/* apply: the whole declared state, parsed and then applied in one transaction. */
#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/catalog.h"

static void put_applied(tb_reply *reply, const tb_applied *a)
{
    tb_buf_fmt(&reply->json,
               "{\"sellersAdded\":%zu,\"accountsAdded\":%zu,\"zonesAdded\":%zu,\"loadBalancersAdded\":%zu,"
               "\"shieldZonesAdded\":%zu,\"containersAdded\":%zu,\"regions\":%zu,\"changed\":%zu,"
               "\"deleted\":%zu,\"restored\":%zu,\"adopted\":%zu,\"rebilled\":%zu,\"unbooked\":%zu}",
               a->sellers_added, a->accounts_added, a->zones_added, a->balancers_added, a->shields_added,
               a->containers_added, a->regions, a->changed, a->deleted, a->restored, a->adopted,
               a->rebilled, a->unbooked);
}

/* What there is none of is not said. */
static void add_count(tb_buf *line, size_t n, const char *one, const char *many)
{
    if (n) tb_buf_fmt(line, "%s%zu %s", line->len ? ", " : "", n, n == 1 ? one : many);
}

static void say_applied(tb_reply *reply, const tb_applied *a)
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
    add_count(&line, a->deleted, "deleted", "deleted");
    add_count(&line, a->restored, "restored", "restored");
    add_count(&line, a->adopted, "zone with usage joined its account",
              "zones with usage joined their account");
    if (line.len) tb_reply_say(reply, "%.*s.", (int)line.len, line.data);
    else tb_reply_say(reply, "The catalogue was applied before: nothing changed.");
    tb_buf_release(&line);
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

static tb_code apply(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "document")->text;
    tb_catalog catalog;
    tb_applied done = {0};
    tb_code code = tb_catalog_parse(text.data, text.len, &catalog, err);
    if (code) return code;
    code = tb_store_apply_catalog(ops->store, &catalog, ops->now_us, &done, err);
    tb_catalog_release(&catalog);
    if (code) return code;
    put_applied(reply, &done);
    say_applied(reply, &done);
    return TB_OK;
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
};

static const tb_operation rows[] = {
    {.name = "apply",
     .summary =
         "Declare the seller, accounts, pull zones, load balancers, shield zones, containers and regions",
     .details =
         "The document is the whole declared state. The same again changes nothing, and what\n"
         "it no longer names is marked deleted. \"-\" reads standard input. A change holds from its moment on: where the\n"
         "clock is behind the newest entry of the audit log it is refused, or taken with --backdated, which that log shows.",
     .access = TB_ACCESS_OPERATOR,
     TB__PARAMS(apply_params),
     .declares = true,
     .write = apply},
};
const tb__operations tb__catalog_operations = TB__OPERATIONS(rows);
