/* A search over shield events: rows of a page, or groups of equal values.
 *
 * Rows are written while the blocks go by, those of the page alone; all are counted. Groups are counted in a first pass
 * (base/tally.h) and sorted; a second pass describes those of the page, so that only they have a sparkline and a
 * context. */
#include "events/events.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/tally.h"
#include "tollbook/eventsum.h"
#include "tollbook/json.h"

#include <inttypes.h>
#include <stdlib.h>

#define NAMES_MAX 16 /* most features, and most rules, that a group lists */
#define SLOTS     (2 * TB_EVENT_SEARCH_MAX + 24) /* of the page's groups; a power of two */
_Static_assert((SLOTS & (SLOTS - 1)) == 0, "a power of two");

typedef struct names {
    tb_text of[NAMES_MAX];
    size_t n;
} names;

typedef struct found_group {
    tb_text key; /* packed, in the tally */
    uint64_t hash, count;
    int64_t first_ms, last_ms;
    tb_text country, asn; /* of its newest event that has them */
    uint64_t blocked, challenged, logged;
    names features, rules;
    uint64_t *sparkline;
} found_group;

struct tb_event_search {
    tb_event_query *query;
    tb__event_paging paging;
    int pass;
    uint64_t total; /* rows, or groups after the first pass */
    size_t n_rows;
    tb_buf rows, key;
    uint64_t seed; /* of the hashes of keys */
    tb__tally tally;
    tb__arena memory; /* of the groups' texts and sparklines */
    found_group *group;
    size_t n_groups;
    uint16_t slot[SLOTS];                 /* of the group with this hash, + 1 */
    uint32_t at[TB_EVENT_BLOCK / 16 + 1]; /* of the block's records: each has at least 16 bytes */
};

tb_code tb_event_search_new(const char *body, size_t len, int64_t now_ms, tb_event_search **ret, tb_error *err)
{
    tb_event_search *s = calloc(1, sizeof *s);
    if (!s) return tb_no_memory(err);
    tb_buf_init(&s->rows, TB_EVENT_SEARCH_BYTES, NULL);
    tb_buf_init(&s->key, (size_t)2 * TB_LINE_MAX, NULL);
    tb__tally_init(&s->tally);
    tb__arena_init(&s->memory, NULL);
    s->seed = tb__hash_seed();
    tb_code code = tb__event_query_parse(body, len, now_ms, &s->paging, &s->query, err);
    if (code) tb_event_search_free(s);
    else *ret = s;
    return code;
}

void tb_event_search_free(tb_event_search *s)
{
    if (!s) return;
    tb_event_query_free(s->query);
    tb_buf_release(&s->rows);
    tb_buf_release(&s->key);
    tb__tally_release(&s->tally);
    tb__arena_release(&s->memory);
    free(s->group);
    free(s);
}

const tb_event_query *tb_event_search_query(const tb_event_search *s)
{
    return s->query;
}

int tb_event_search_passes(const tb_event_search *s)
{
    return s->paging.n_group ? 2 : 1;
}

/* --- rows --- */

static void put_event_text(tb_buf *out, const char *name, tb_text text, bool *first)
{
    if (!text.len) return;
    tb_buf_fmt(out, "%s\"%s\":", *first ? "" : ",", name);
    tb_json_string(out, text.data, text.len);
    *first = false;
}

/* `fields` are what filters and groups can name, `log` is the rest. */
static void put_event_row(const tb_event *e, tb_buf *out)
{
    bool first = true;
    tb_buf_str(out, "{\"logId\":");
    tb_json_string(out, e->field[TB_EVENT_ID].data, e->field[TB_EVENT_ID].len);
    tb_buf_fmt(out, ",\"timestamp\":%" PRId64 ",\"log\":{", e->time_ms);
    put_event_text(out, "message", e->field[TB_EVENT_LOG], &first);
    for (int f = TB_EVENT_ID + 1; f < TB_EVENT_LOG; f++)
        if (!*tb_event_fields[f].filter) put_event_text(out, tb_event_fields[f].key, e->field[f], &first);
    tb_buf_str(out, "},\"fields\":{");
    first = true;
    for (int f = 0; f < TB_EVENT_FIELD_COUNT; f++)
        if (*tb_event_fields[f].filter) put_event_text(out, tb_event_fields[f].filter, e->field[f], &first);
    tb_buf_str(out, "}}");
}

static tb_code add_event_row(tb_event_search *s, const tb_event *e, tb_error *err)
{
    const uint64_t skip = s->paging.page * s->paging.size, row = s->total++;
    if (row < skip || row - skip >= s->paging.size) return TB_OK;
    if (s->n_rows++) tb_buf_str(&s->rows, ",");
    put_event_row(e, &s->rows);
    if (!s->rows.failed) return TB_OK;
    return tb_fail(err, TB_E_TOO_MUCH, "pageSize", "The page has more than %zu MiB: ask for a smaller pageSize.",
                   TB_EVENT_SEARCH_BYTES >> 20);
}

/* --- groups --- */

/* The event's values of groupBy, each after its length. */
static tb_code make_key(tb_event_search *s, const tb_event *e, tb_error *err)
{
    s->key.len = 0;
    for (size_t g = 0; g < s->paging.n_group; g++) {
        const tb_text value = e->field[s->paging.group[g]];
        const uint32_t len = (uint32_t)value.len;
        tb_buf_add(&s->key, &len, sizeof len);
        if (len) tb_buf_add(&s->key, value.data, len);
    }
    return tb_buf_check(&s->key, err);
}

static tb_code count_group(tb_event_search *s, const tb_event *e, tb_error *err)
{
    tb_code code = make_key(s, e, err);
    if (!code) code = tb__tally_add(&s->tally, (tb_text){s->key.data, s->key.len}, 1, 0, err);
    if (code || !s->tally.missed) return code;
    return tb_fail(err, TB_E_TOO_MUCH, "groupBy",
                   "There are more than %zu groups, or more than %zu MiB of their values: ask for a shorter time, or add "
                   "filters.",
                   TB__TALLY_VALUES, TB__TALLY_BYTES >> 20);
}

static int by_event_count(const void *a, const void *b)
{
    const found_group *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    const size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    const int order = len ? memcmp(x->key.data, y->key.data, len) : 0;
    return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

static uint16_t *group_slot(tb_event_search *s, uint64_t hash, tb_text key)
{
    size_t at = hash & (SLOTS - 1);
    for (; s->slot[at]; at = (at + 1) & (SLOTS - 1)) {
        const found_group *g = &s->group[s->slot[at] - 1];
        if (g->hash == hash && g->key.len == key.len && memcmp(g->key.data, key.data, key.len) == 0) break;
    }
    return &s->slot[at];
}

/* Sorts the counted groups, the largest first, and keeps those of the page. */
static tb_code choose_groups(tb_event_search *s, tb_error *err)
{
    const tb__tally *t = &s->tally;
    const uint64_t skip = s->paging.page * s->paging.size;
    s->total = t->n;
    s->group = calloc(t->n + 1, sizeof *s->group);
    if (!s->group) return tb_no_memory(err);
    for (size_t i = 0, n = 0; i < t->n_slots; i++)
        if (t->slot[i].count)
            s->group[n++] = (found_group){.key = tb__tally_text(t, &t->slot[i]), .count = t->slot[i].count};
    qsort(s->group, t->n, sizeof *s->group, by_event_count);
    if (skip >= s->total) return TB_OK;
    s->n_groups = s->total - skip < s->paging.size ? (size_t)(s->total - skip) : (size_t)s->paging.size;
    memmove(s->group, s->group + skip, s->n_groups * sizeof *s->group);
    for (size_t i = 0; i < s->n_groups; i++) {
        found_group *g = &s->group[i];
        g->hash = XXH3_64bits_withSeed(g->key.data, g->key.len, s->seed);
        *group_slot(s, g->hash, g->key) = (uint16_t)(i + 1);
        if (!s->paging.buckets) continue;
        g->sparkline = tb__arena_take(&s->memory, s->paging.buckets * sizeof *g->sparkline);
        if (!g->sparkline) return tb_no_memory(err);
        memset(g->sparkline, 0, s->paging.buckets * sizeof *g->sparkline);
    }
    return TB_OK;
}

static bool keep_group_text(tb_event_search *s, tb_text text, tb_text *ret)
{
    char *copy = tb__arena_take(&s->memory, text.len + 1);
    if (!copy) return false;
    if (text.len) memcpy(copy, text.data, text.len);
    *ret = (tb_text){copy, text.len};
    return true;
}

static bool add_name(tb_event_search *s, names *list, tb_text text)
{
    if (!text.len || list->n == NAMES_MAX) return true;
    for (size_t i = 0; i < list->n; i++)
        if (list->of[i].len == text.len && memcmp(list->of[i].data, text.data, text.len) == 0) return true;
    return keep_group_text(s, text, &list->of[list->n++]);
}

static tb_code describe_group(tb_event_search *s, const tb_event *e, tb_error *err)
{
    tb_code code = make_key(s, e, err);
    if (code) return code;
    const tb_text key = {s->key.data, s->key.len};
    const uint16_t slot = *group_slot(s, XXH3_64bits_withSeed(key.data, key.len, s->seed), key);
    if (!slot) return TB_OK; /* of another page */
    found_group *g = &s->group[slot - 1];
    const int64_t from = tb_event_query_from(s->query), span = tb_event_query_to(s->query) - from;
    const tb_shield_action action = tb_shield_action_of(e->field[TB_EVENT_ACTION]);
    if (!g->last_ms) g->last_ms = e->time_ms; /* the newest comes first */
    g->first_ms = e->time_ms;
    g->blocked += action == TB_SHIELD_BLOCKED;
    g->challenged += action == TB_SHIELD_CHALLENGED;
    g->logged += action == TB_SHIELD_LOGGED;
    if (g->sparkline) {
        const int64_t buckets = (int64_t)s->paging.buckets, width = (span + buckets - 1) / buckets;
        g->sparkline[(e->time_ms - from) / width]++;
    }
    const tb_text country = e->field[TB_EVENT_COUNTRY], asn = e->field[TB_EVENT_ASN];
    bool ok = g->country.len || !country.len || keep_group_text(s, country, &g->country);
    ok = ok && (g->asn.len || !asn.len || keep_group_text(s, asn, &g->asn));
    ok = ok && add_name(s, &g->features, e->field[TB_EVENT_FEATURE]);
    ok = ok && add_name(s, &g->rules, e->field[TB_EVENT_RULE_ID]);
    return ok ? TB_OK : tb_no_memory(err);
}

/* --- passes --- */

tb_code tb_event_search_begin(tb_event_search *s, int pass, tb_error *err)
{
    s->pass = pass;
    return pass == 1 ? choose_groups(s, err) : TB_OK;
}

static tb_code add_record(tb_event_search *s, const tb_event_record *record, tb_error *err)
{
    tb_event e;
    bool fits = true;
    const bool matches = tb_event_query_match(s->query, record, &fits);
    if (!fits) return tb_no_memory(err);
    if (!matches) return TB_OK;
    tb_event_unpack(record, &e);
    if (!s->paging.n_group) return add_event_row(s, &e, err);
    return s->pass ? describe_group(s, &e, err) : count_group(s, &e, err);
}

tb_code tb_event_search_add(tb_event_search *s, const void *block, size_t len, bool *ret_end, tb_error *err)
{
    const int64_t from = tb_event_query_from(s->query), to = tb_event_query_to(s->query);
    tb_event_record record;
    size_t n = 0, at = 0;
    tb_code code = TB_OK;
    *ret_end = false;
    while (at < len && n < sizeof s->at / sizeof *s->at) {
        s->at[n++] = (uint32_t)at;
        if (!tb_event_next(block, len, &at, &record))
            return tb_fail(err, TB_E_CORRUPT, NULL, "A block of shield events cannot be read.");
    }
    while (!code && n-- > 0) { /* the newest first */
        at = s->at[n];
        if (!tb_event_next(block, len, &at, &record))
            return tb_fail(err, TB_E_CORRUPT, NULL, "A block of shield events cannot be read.");
        if (record.time_ms >= to) continue;
        *ret_end = record.time_ms < from;
        if (*ret_end) break;
        code = add_record(s, &record, err);
    }
    return code;
}

/* --- the answer --- */

static void put_names(tb_buf *out, const char *name, const names *list)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    const size_t from = out->len;
    for (size_t i = 0; i < list->n && !out->failed; i++) {
        const size_t seam = out->len - 1;
        tb_json_string(out, list->of[i].data, list->of[i].len);
        if (i == 0 || out->failed) continue;
        out->data[seam] = ','; /* in place of the quotes between two strings */
        memmove(out->data + seam + 1, out->data + seam + 2, out->len - seam - 2);
        out->len--;
    }
    if (out->len == from) tb_buf_str(out, "\"\"");
}

static void put_context(const found_group *g, tb_buf *out)
{
    bool first = true;
    tb_buf_str(out, ",\"context\":{");
    put_event_text(out, "country", g->country, &first);
    put_event_text(out, "asn", g->asn, &first);
    tb_buf_fmt(out, "%s\"blocked\":%" PRIu64 ",\"challenged\":%" PRIu64 ",\"logged\":%" PRIu64, first ? "" : ",", g->blocked,
               g->challenged, g->logged);
    put_names(out, "features", &g->features);
    put_names(out, "ruleIds", &g->rules);
    tb_buf_str(out, "}");
}

static void put_found_group(const tb_event_search *s, const found_group *g, tb_buf *out)
{
    const char *p = g->key.data;
    tb_buf_str(out, "{\"key\":{");
    for (size_t i = 0; i < s->paging.n_group; i++) {
        uint32_t len;
        memcpy(&len, p, sizeof len);
        tb_buf_fmt(out, "%s\"%s\":", i ? "," : "", tb_event_fields[s->paging.group[i]].filter);
        tb_json_string(out, p + sizeof len, len);
        p += sizeof len + len;
    }
    tb_buf_fmt(out, "},\"count\":%" PRIu64 ",\"firstSeen\":%" PRId64 ",\"lastSeen\":%" PRId64, g->count, g->first_ms, g->last_ms);
    put_context(g, out);
    if (g->sparkline) tb_buf_str(out, ",\"sparkline\":[");
    for (uint64_t b = 0; g->sparkline && b < s->paging.buckets; b++)
        tb_buf_fmt(out, "%s%" PRIu64, b ? "," : "", g->sparkline[b]);
    tb_buf_str(out, g->sparkline ? "]}" : "}");
}

void tb_event_search_json(const tb_event_search *s, tb_buf *out)
{
    const uint64_t size = s->paging.size;
    if (s->paging.n_group) {
        tb_buf_str(out, "{\"rows\":null,\"groups\":[");
        for (size_t i = 0; i < s->n_groups; i++) {
            if (i) tb_buf_str(out, ",");
            put_found_group(s, &s->group[i], out);
        }
        tb_buf_str(out, "]");
    } else {
        tb_buf_str(out, "{\"rows\":[");
        tb_buf_add(out, s->rows.data, s->rows.len);
        tb_buf_str(out, "],\"groups\":null");
    }
    tb_buf_fmt(out, ",\"total\":%" PRIu64 ",\"totalPages\":%" PRIu64 ",\"page\":%" PRIu64 ",\"errorResponse\":null}", s->total,
               (s->total + size - 1) / size, s->paging.page);
}
