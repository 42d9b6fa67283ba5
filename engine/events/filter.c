/* Filters of an export: parsed from the request's body, then asked of each record.
 *
 * What looks inside a text (contains, wildcard, free text) does so without regard to ASCII case, on
 * a lower-case copy. A wildcard's pattern falls apart at its stars; each part is looked for from
 * where the one before was found, leftmost first, and nothing is ever tried twice: the time is linear
 * in text and pattern, whatever they are. */
#include "events/events.h"

#include "model/document.h"
#include "tollbook/eventsum.h"
#include "tollbook/json.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define WORK_OF_VALUE 16 /* cost of a value in addition to the text's bytes */

typedef enum op { OP_EQ, OP_IN, OP_CONTAINS, OP_CIDR, OP_WILDCARD, OP_COUNT } op;
static const char *const op_names[OP_COUNT] = {"eq", "in", "contains", "cidr", "wildcard"};

typedef struct network {
    uint8_t bytes[16];
    unsigned bits, prefix; /* bits: 32 or 128; 0: no address */
} network;

typedef struct filter {
    tb_event_field field;
    op op;
    tb_text *values;   /* lower case where case does not matter */
    network *networks; /* cidr, and addresses of eq and in; else NULL */
    size_t n;
} filter;

struct tb_event_query {
    tb__arena memory;
    int64_t from_ms, to_ms;
    tb_text search; /* lower case */
    filter *filters;
    size_t n;
    tb_buf folded;
    uint64_t work;
};

typedef struct parser {
    tb__document doc;
    tb_event_query *q;
    tb__event_paging *paging; /* NULL: of an export */
    int64_t now_ms;
    tb_error *err;
} parser;

/* --- addresses --- */

bool tb__event_ip(tb_text text, uint8_t out[16], unsigned *ret_bits)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];
    if (text.len < 2 || text.len >= sizeof copy || memchr(text.data, 0, text.len)) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    *ret_bits = 32;
    if (inet_pton(AF_INET, copy, out) == 1) return true;
    if (inet_pton(AF_INET6, copy, out) != 1) return false;
    if (memcmp(out, mapped, sizeof mapped) == 0)
        memmove(out, out + 12, 4);
    else
        *ret_bits = 128;
    return true;
}

/* "10.0.0.0/8", or an address, which is a network of one. Bits past the prefix do not matter. */
static bool parse_network(tb_text text, network *ret)
{
    const char *slash = memchr(text.data, '/', text.len);
    const tb_text ip = {text.data, slash ? (size_t)(slash - text.data) : text.len};
    if (!tb__event_ip(ip, ret->bytes, &ret->bits)) return false;
    ret->prefix = ret->bits;
    if (!slash) return true;
    const char *p = slash + 1, *end = text.data + text.len;
    unsigned prefix = 0;
    if (p == end || end - p > 3 || (*p == '0' && end - p > 1)) return false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') return false;
        prefix = prefix * 10 + (unsigned)(*p - '0');
    }
    /* ::ffff:10.0.0.0/104 is 10.0.0.0/8 */
    if (ret->bits == 32 && memchr(ip.data, ':', ip.len)) {
        if (prefix < 96 || prefix > 128) return false;
        prefix -= 96;
    }
    ret->prefix = prefix;
    return prefix <= ret->bits;
}

static bool within(const network *n, const uint8_t ip[16], unsigned bits)
{
    const unsigned whole = n->prefix / 8, rest = n->prefix % 8;
    if (n->bits != bits || memcmp(n->bytes, ip, whole) != 0) return false;
    return rest == 0 || (n->bytes[whole] ^ ip[whole]) >> (8 - rest) == 0;
}

/* --- parsing --- */

static tb_code refuse_filter(const parser *p, const char *path, const char *sentence)
{
    return tb_fail(p->err, TB_E_VALIDATION, path, "%s%s%s", path ? path : "", path ? ": " : "",
                   sentence);
}

static tb_code refuse_in(const parser *p, size_t i, const char *member, const char *sentence)
{
    char path[48];
    snprintf(path, sizeof path, "filters[%zu]%s%s", i, *member ? "." : "", member);
    return refuse_filter(p, path, sentence);
}

static const tb__node *member(const parser *p, uint32_t object, const char *name, uint32_t *ret_at)
{
    const tb__node *nodes = p->doc.nodes;
    for (uint32_t key = object + 1; key != nodes[object].next; key = nodes[key + 1].next) {
        if (!tb__node_is(&nodes[key], name, strlen(name))) continue;
        if (ret_at) *ret_at = key + 1;
        return nodes[key + 1].type == TB__NULL ? NULL : &nodes[key + 1];
    }
    return NULL;
}

static tb_code read_ms(const parser *p, const char *name, int64_t *ret)
{
    const tb__node *node = member(p, 0, name, NULL);
    int64_t value = 0;
    if (!node) return refuse_filter(p, name, "This is missing: milliseconds since 1970, UTC.");
    bool good = node->type == TB__NUMBER && node->len <= 18;
    for (uint32_t i = 0; good && i < node->len; i++) {
        good = node->text[i] >= '0' && node->text[i] <= '9';
        value = value * 10 + (node->text[i] - '0');
    }
    if (!good)
        return refuse_filter(p, name, "Must be a whole number of milliseconds since 1970, UTC.");
    *ret = value;
    return TB_OK;
}

static tb_code read_window(const parser *p)
{
    tb_event_query *q = p->q;
    tb_code code = read_ms(p, "from", &q->from_ms);
    if (!code) code = read_ms(p, "to", &q->to_ms);
    if (code) return code;
    if (q->to_ms <= q->from_ms) return refuse_filter(p, "to", "Must be after from.");
    if (q->to_ms < p->now_ms - TB_EVENT_EXPORT_MS || q->to_ms > p->now_ms + TB_EVENT_AHEAD_MS)
        return refuse_filter(p, "to", "Must be within the last 72 hours.");
    return TB_OK;
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool keep(parser *p, const tb__node *node, bool folded, tb_text *ret)
{
    char *copy = tb__arena_take(&p->q->memory, (size_t)node->len + 1);
    if (!copy) return false;
    for (uint32_t i = 0; i < node->len; i++)
        copy[i] = folded ? fold(node->text[i]) : node->text[i];
    *ret = (tb_text){copy, node->len};
    return true;
}

#define DIMENSIONS "feature, ruleId, ip, ja4, ua, url, asn, country or action."

/* The field that filters and groups call so. */
static bool find_dimension(const tb__node *node, tb_event_field *ret)
{
    for (int k = 0; node && node->type == TB__STRING && k < TB_EVENT_FIELD_COUNT; k++) {
        const char *name = tb_event_fields[k].filter;
        if (!*name || !tb__node_is(node, name, strlen(name))) continue;
        *ret = (tb_event_field)k;
        return true;
    }
    return false;
}

static tb_code read_field(const parser *p, size_t i, uint32_t object, filter *f)
{
    if (find_dimension(member(p, object, "field", NULL), &f->field)) return TB_OK;
    return refuse_in(p, i, "field", "Must be " DIMENSIONS);
}

static tb_code read_op(const parser *p, size_t i, uint32_t object, filter *f)
{
    const tb__node *node = member(p, object, "op", NULL);
    int k = 0;
    while (node && node->type == TB__STRING && k < OP_COUNT &&
           !tb__node_is(node, op_names[k], strlen(op_names[k])))
        k++;
    if (!node || node->type != TB__STRING || k == OP_COUNT)
        return refuse_in(p, i, "op", "Must be eq, in, contains, cidr or wildcard.");
    f->op = (op)k;
    if (f->op == OP_CIDR && f->field != TB_EVENT_IP)
        return refuse_in(p, i, "op", "cidr is only for the field ip.");
    return TB_OK;
}

/* Addresses are compared as such, whatever they are written like. */
static tb_code read_networks(const parser *p, size_t i, filter *f)
{
    if (f->field != TB_EVENT_IP || (f->op != OP_CIDR && f->op != OP_EQ && f->op != OP_IN))
        return TB_OK;
    f->networks = tb__arena_take(&p->q->memory, f->n * sizeof *f->networks);
    if (!f->networks) return tb_no_memory(p->err);
    memset(f->networks, 0, f->n * sizeof *f->networks);
    for (size_t k = 0; k < f->n; k++) {
        network *n = &f->networks[k];
        if (f->op == OP_CIDR && !parse_network(f->values[k], n))
            return refuse_in(p, i, "value",
                             "Must be networks such as 10.0.0.0/8 or 2001:db8::/32.");
        if (f->op != OP_CIDR && tb__event_ip(f->values[k], n->bytes, &n->bits)) n->prefix = n->bits;
        else if (f->op != OP_CIDR) n->bits = 0;
    }
    return TB_OK;
}

static tb_code read_values(parser *p, size_t i, uint32_t object, filter *f)
{
    uint32_t at = 0;
    const tb__node *list = member(p, object, "value", &at);
    if (!list || list->type != TB__ARRAY || list->len < 1)
        return refuse_in(p, i, "value", "Must be an array of at least one string.");
    if (list->len > TB_EVENT_VALUES_MAX)
        return refuse_in(p, i, "value", "Must have at most 1000 strings.");
    f->values = tb__arena_take(&p->q->memory, list->len * sizeof *f->values);
    if (!f->values) return tb_no_memory(p->err);
    uint32_t child = at + 1;
    for (f->n = 0; f->n < list->len; f->n++, child = p->doc.nodes[child].next) {
        const tb__node *node = &p->doc.nodes[child];
        if (node->type != TB__STRING || node->len > TB_EVENT_VALUE_MAX)
            return refuse_in(p, i, "value", "Must hold strings of at most 1024 bytes.");
        if (!keep(p, node, f->op == OP_CONTAINS || f->op == OP_WILDCARD, &f->values[f->n]))
            return tb_no_memory(p->err);
    }
    return read_networks(p, i, f);
}

static tb_code read_filters(parser *p)
{
    uint32_t at = 0;
    const tb__node *list = member(p, 0, "filters", &at);
    if (!list) return TB_OK;
    if (list->type != TB__ARRAY) return refuse_filter(p, "filters", "Must be an array.");
    if (list->len > TB_EVENT_FILTERS_MAX) return refuse_filter(p, "filters", "Must be at most 32.");
    p->q->filters = tb__arena_take(&p->q->memory, (list->len + 1) * sizeof *p->q->filters);
    if (!p->q->filters) return tb_no_memory(p->err);
    uint32_t child = at + 1;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < list->len; i++, child = p->doc.nodes[child].next) {
        filter *f = &p->q->filters[i];
        *f = (filter){.n = 0};
        if (p->doc.nodes[child].type != TB__OBJECT)
            return refuse_in(p, i, "", "Must be an object.");
        code = read_field(p, i, child, f);
        if (!code) code = read_op(p, i, child, f);
        if (!code) code = read_values(p, i, child, f);
        p->q->n = i + 1;
    }
    return code;
}

static tb_code read_search(parser *p)
{
    const tb__node *node = member(p, 0, "query", NULL);
    if (!node) return TB_OK;
    if (node->type != TB__STRING || node->len > TB_EVENT_VALUE_MAX)
        return refuse_filter(p, "query", "Must be a string of at most 1024 bytes.");
    return keep(p, node, true, &p->q->search) ? TB_OK : tb_no_memory(p->err);
}

/* --- pages and groups of a search --- */

static tb_code read_group_by(const parser *p)
{
    tb__event_paging *paging = p->paging;
    uint32_t at = 0;
    const tb__node *list = member(p, 0, "groupBy", &at);
    if (!list) return TB_OK;
    if (list->type != TB__ARRAY) return refuse_filter(p, "groupBy", "Must be an array.");
    uint32_t child = at + 1;
    for (uint32_t i = 0; i < list->len; i++, child = p->doc.nodes[child].next) {
        tb_event_field field;
        bool good = find_dimension(&p->doc.nodes[child], &field);
        for (size_t g = 0; good && g < paging->n_group; g++)
            good = paging->group[g] != field;
        if (!good) return refuse_filter(p, "groupBy", "Must be different ones of " DIMENSIONS);
        paging->group[paging->n_group++] = field;
    }
    return TB_OK;
}

/* A whole number from 0 on; *ret stays where the member is missing. */
static tb_code read_count(const parser *p, const char *name, uint64_t *ret)
{
    const tb__node *node = member(p, 0, name, NULL);
    uint64_t value = 0;
    if (!node) return TB_OK;
    bool good = node->type == TB__NUMBER && node->len <= 9;
    for (uint32_t i = 0; good && i < node->len; i++) {
        good = node->text[i] >= '0' && node->text[i] <= '9';
        value = value * 10 + (uint64_t)(node->text[i] - '0');
    }
    if (!good) return refuse_filter(p, name, "Must be a whole number from 0 to 999999999.");
    *ret = value;
    return TB_OK;
}

static tb_code read_paging(const parser *p)
{
    tb__event_paging *paging = p->paging;
    *paging = (tb__event_paging){.size = TB_EVENT_SEARCH_PAGE};
    tb_code code = read_group_by(p);
    if (!code) code = read_count(p, "page", &paging->page);
    if (!code) code = read_count(p, "pageSize", &paging->size);
    if (!code) code = read_count(p, "buckets", &paging->buckets);
    if (!code && paging->buckets > TB_EVENT_SEARCH_MAX) return refuse_filter(p, "buckets", "Must be at most 500.");
    if (paging->size < 1) paging->size = 1;
    if (paging->size > TB_EVENT_SEARCH_MAX) paging->size = TB_EVENT_SEARCH_MAX;
    return code;
}

static tb_code read_body(parser *p)
{
    if (p->doc.nodes[0].type != TB__OBJECT)
        return refuse_filter(p, NULL, "The body must be an object.");
    tb_code code = read_window(p);
    if (!code) code = read_search(p);
    if (!code) code = read_filters(p);
    return !code && p->paging ? read_paging(p) : code;
}

tb_code tb_event_query_parse(const char *body, size_t len, int64_t now_ms, tb_event_query **ret,
                             tb_error *err)
{
    return tb__event_query_parse(body, len, now_ms, NULL, ret, err);
}

tb_code tb__event_query_parse(const char *body, size_t len, int64_t now_ms, tb__event_paging *ret_paging,
                              tb_event_query **ret, tb_error *err)
{
    parser p = {.paging = ret_paging, .now_ms = now_ms, .err = err};
    tb__arena strings;
    if (!tb_json_fits(body, len))
        return tb_fail(err, TB_E_TOO_LARGE, NULL,
                       "The body has more than %zu JSON values (an object or a list counts as four, a name as one).",
                       TB_JSON_VALUES_MAX);
    p.q = calloc(1, sizeof *p.q);
    if (!p.q) return tb_no_memory(p.err);
    tb__arena_init(&p.q->memory, NULL);
    tb_buf_init(&p.q->folded, (size_t)2 * TB_LINE_MAX, NULL);
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(body, len, TB_E_VALIDATION, &strings, NULL, &p.doc, err);
    if (!code) {
        code = read_body(&p);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&strings);
    if (code)
        tb_event_query_free(p.q);
    else
        *ret = p.q;
    return code;
}

void tb_event_query_free(tb_event_query *query)
{
    if (!query) return;
    tb__arena_release(&query->memory);
    tb_buf_release(&query->folded);
    free(query);
}

int64_t tb_event_query_from(const tb_event_query *query)
{
    return query->from_ms;
}

int64_t tb_event_query_to(const tb_event_query *query)
{
    return query->to_ms;
}

uint64_t tb_event_query_work(const tb_event_query *query)
{
    return query->work;
}

bool tb_event_query_all(const tb_event_query *query)
{
    return query->n == 0 && query->search.len == 0;
}

/* --- matching --- */

static const char *find_bytes(const char *from, const char *end, const char *what, size_t len)
{
    return len == 0 ? from : memmem(from, (size_t)(end - from), what, len);
}

static bool contains(tb_text text, tb_text what)
{
    return what.len <= text.len && (what.len == 0 || find_bytes(text.data, text.data + text.len,
                                                                what.data, what.len) != NULL);
}

static bool begins(const char *from, const char *end, const char *what, size_t len)
{
    return (size_t)(end - from) >= len && (len == 0 || memcmp(from, what, len) == 0);
}

static bool matches_wildcard(tb_text text, tb_text pattern)
{
    const char *at = text.data, *end = at + text.len;
    const char *p = pattern.data, *p_end = p + pattern.len;
    const char *star = memchr(p, '*', pattern.len);
    const size_t head = star ? (size_t)(star - p) : pattern.len;
    if (!begins(at, end, p, head)) return false;
    if (!star) return text.len == pattern.len;
    at += head;
    for (p = star + 1; (star = memchr(p, '*', (size_t)(p_end - p))); p = star + 1) {
        const size_t len = (size_t)(star - p);
        at = find_bytes(at, end, p, len);
        if (!at) return false;
        at += len;
    }
    const size_t tail = (size_t)(p_end - p); /* what ends the text, behind all that was found */
    return (size_t)(end - at) >= tail && (tail == 0 || memcmp(end - tail, p, tail) == 0);
}

static bool same(tb_text a, tb_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool fold_text(tb_event_query *q, tb_text text, tb_text *ret)
{
    q->folded.len = 0;
    char *to = tb_buf_room(&q->folded, text.len + 1);
    if (!to) return false;
    for (size_t i = 0; i < text.len; i++)
        to[i] = fold(text.data[i]);
    *ret = (tb_text){to, text.len};
    return true;
}

static bool in_network(const filter *f, tb_text text, size_t i, const uint8_t ip[16], unsigned bits)
{
    if (bits && f->networks[i].bits) return within(&f->networks[i], ip, bits);
    return f->op != OP_CIDR && same(text, f->values[i]);
}

static bool passes_ip(const filter *f, tb_text text)
{
    uint8_t ip[16];
    unsigned bits = 0;
    if (!tb__event_ip(text, ip, &bits)) bits = 0;
    for (size_t i = 0; i < f->n; i++)
        if (in_network(f, text, i, ip, bits)) return true;
    return false;
}

static bool passes(tb_event_query *q, const filter *f, tb_text text, bool *ret_ok)
{
    if (f->networks) {
        q->work += f->n * WORK_OF_VALUE;
        return passes_ip(f, text);
    }
    const bool exact = f->op == OP_EQ || f->op == OP_IN;
    if (!exact && !fold_text(q, text, &text)) return *ret_ok = false;
    for (size_t i = 0; i < f->n; i++) {
        const tb_text value = f->values[i];
        q->work += WORK_OF_VALUE + (exact ? 0 : text.len);
        if (exact ? same(text, value)
                  : f->op == OP_CONTAINS ? contains(text, value) : matches_wildcard(text, value))
            return true;
    }
    return false;
}

static bool found(tb_event_query *q, const tb_event *e, bool *ret_ok)
{
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++) {
        tb_text text;
        if (!tb_event_fields[f].searched || e->field[f].len < q->search.len) continue;
        if (!fold_text(q, e->field[f], &text)) return *ret_ok = false;
        q->work += WORK_OF_VALUE + text.len;
        if (contains(text, q->search)) return true;
    }
    return false;
}

bool tb_event_query_match(tb_event_query *query, const tb_event_record *record, bool *ret_ok)
{
    tb_event e;
    *ret_ok = true;
    if (tb_event_query_all(query)) return true;
    tb_event_unpack(record, &e);
    for (size_t i = 0; i < query->n; i++)
        if (!passes(query, &query->filters[i], e.field[query->filters[i].field], ret_ok))
            return false;
    return query->search.len == 0 || found(query, &e, ret_ok);
}
