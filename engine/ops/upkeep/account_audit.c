/* The audit log in the form of the CDN API that is imitated (GET /user/audit), one account's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "tollbook/accountaudit.h"
#include "tollbook/audit.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* Operations that concern one account. id: the argument that names the resource; NULL: none does. */
static const struct kind {
    const char *operation, *product, *type, *action, *id;
} kinds[] = {
    {"key create", "Account", "ApiKey", "Create", NULL},
    {"key revoke", "Account", "ApiKey", "Delete", "id"},
    {"alert set", "Billing", "Alert", "Update", "id"},
    {"alert drop", "Billing", "Alert", "Delete", "id"},
    {"ledger enter", "Billing", "LedgerEntry", "Create", "reference"},
    {"ledger credit", "Billing", "Credit", "Create", "reference"},
    {"charge add", "Billing", "Charge", "Create", "reference"},
    {"invoice", "Billing", "Invoice", "Create", "month"},
};

/* An entry as it is shown. */
typedef struct shown {
    const tb_audit_entry *entry;
    const struct kind *kind;
    const char *actor_type, *diff;
    const char *field[TB_AUDIT_FIELD_COUNT]; /* NULL: null */
    char resource[256], actor[24];
} shown;

static const struct kind *logged_kind(const char *operation)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].operation, operation) == 0) return &kinds[i];
    return NULL;
}

static void read_resource(shown *s)
{
    json_error_t at;
    json_t *arguments = s->kind->id ? json_loads(s->entry->arguments, 0, &at) : NULL;
    const json_t *id = json_object_get(arguments, s->kind->id ? s->kind->id : "");
    if (json_is_string(id)) snprintf(s->resource, sizeof s->resource, "%s", json_string_value(id));
    else if (json_is_integer(id)) snprintf(s->resource, sizeof s->resource, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    json_decref(arguments);
    if (s->resource[0]) s->field[TB_AUDIT_RESOURCE_ID] = s->resource;
}

/* Without a key it was the system's user on a command line, the server itself, or an account's token, whose address is
 * kept; the operator has no tokens. */
static const char *actor_type(const tb_audit_entry *e, bool own)
{
    if (own) return "ApiKey";
    if (e->key) return "Operator";
    if (!*e->origin) return "System";
    return strncmp(e->origin, "user ", 5) == 0 ? "Operator" : "Token";
}

/* false: the operation does not concern one account. */
static bool show_change(const tb_audit_entry *e, bool own, shown *s)
{
    *s = (shown){.entry = e, .kind = logged_kind(e->operation), .actor_type = actor_type(e, own)};
    if (!s->kind) return false;
    s->field[TB_AUDIT_PRODUCT] = s->kind->product;
    s->field[TB_AUDIT_RESOURCE_TYPE] = s->kind->type;
    read_resource(s);
    if (own) {
        snprintf(s->actor, sizeof s->actor, "%" PRId64, e->key);
        s->field[TB_AUDIT_ACTOR_ID] = s->actor;
    }
    if (own || strcmp(s->actor_type, "Token") == 0) s->diff = e->arguments;
    return true;
}

static bool fits(const tb_audit_filter *filter, const shown *s)
{
    const char *value = s->field[filter->field];
    return value && strlen(value) == filter->value.len && strncasecmp(value, filter->value.data, filter->value.len) == 0;
}

/* Of each field with filters one of them fits. */
static bool is_wanted(const tb_audit_ask *ask, const shown *s)
{
    unsigned asked = 0, fitting = 0;
    for (size_t i = 0; i < ask->n_filters; i++) {
        asked |= 1u << ask->filter[i].field;
        if (fits(&ask->filter[i], s)) fitting |= 1u << ask->filter[i].field;
    }
    return asked == fitting;
}

/* --- the page --- */

/* New entries come behind the others, so that a page's place is how many stand before it, or in descending order how
 * many are left. */
typedef struct page {
    const tb_audit_ask *ask;
    tb_buf *out;
    size_t begin;             /* of out, where the page begins */
    int64_t total, before, n; /* descending: all; before the page; on it */
    int64_t passed;           /* of those before it */
    bool more;
} page;

static void put_log_text(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (value) tb_json_string(out, value, strlen(value));
    else tb_buf_str(out, "null");
}

static void put_entry(const shown *s, tb_buf *out)
{
    char at[20];
    tb_time_format(s->entry->at_us, at);
    tb_buf_fmt(out, "{\"Timestamp\":\"%.20s\"", at);
    put_log_text(out, "Product", s->kind->product);
    put_log_text(out, "ResourceType", s->kind->type);
    put_log_text(out, "ResourceId", s->field[TB_AUDIT_RESOURCE_ID]);
    put_log_text(out, "Action", s->kind->action);
    put_log_text(out, "ActorId", s->field[TB_AUDIT_ACTOR_ID]);
    put_log_text(out, "ActorType", s->actor_type);
    put_log_text(out, "Diff", s->diff);
    tb_buf_str(out, "}");
}

static bool count_wanted(void *ctx, const tb_audit_entry *entry, bool own)
{
    page *p = ctx;
    shown s;
    p->total += show_change(entry, own, &s) && is_wanted(p->ask, &s);
    return true;
}

static bool put_wanted(void *ctx, const tb_audit_entry *entry, bool own)
{
    page *p = ctx;
    shown s;
    if (!show_change(entry, own, &s) || !is_wanted(p->ask, &s)) return true;
    if (p->passed < p->before) {
        p->passed++;
        return true;
    }
    p->more = p->n == p->ask->limit || (p->n && p->out->len - p->begin > TB_AUDIT_PAGE_BYTES);
    if (p->more) return false;
    if (p->n++) tb_buf_str(p->out, ",");
    put_entry(&s, p->out);
    return true;
}

tb_code tb_account_audit(tb_store *store, const tb_audit_ask *ask, tb_buf *out, tb_error *err)
{
    const tb_audit_span span = {ask->account, ask->day * TB_US_PER_DAY, (ask->day + 1) * TB_US_PER_DAY, ask->descending};
    page p = {.ask = ask, .out = out, .before = ask->at};
    tb_code code = ask->descending ? tb_store_audit_each(store, &span, count_wanted, &p, err) : TB_OK;
    if (ask->descending) p.before = ask->at && ask->at < p.total ? p.total - ask->at : 0;
    tb_buf_str(out, "{\"Logs\":[");
    p.begin = out->len;
    if (!code) code = tb_store_audit_each(store, &span, put_wanted, &p, err);
    if (code) return code;
    const int64_t next = ask->descending ? p.total - p.before - p.n : p.before + p.n;
    tb_buf_fmt(out, "],\"HasMoreData\":%s,\"ContinuationToken\":", p.more ? "true" : "false");
    if (p.more) tb_buf_fmt(out, "\"%" PRId64 "\"}", next);
    else tb_buf_str(out, "null}");
    return tb_buf_check(out, err);
}
