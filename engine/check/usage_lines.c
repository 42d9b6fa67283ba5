/* The lines of a day (engine/store/proof/day.c has their form): of pull zones and of load balancers; usage_meters.c reads those of
 * meters. Lines ascend, so nothing is there twice. */
#include <string.h>

#include "check/usage_filling.h"
#include "base/list.h"
#include "tollbook/calendar.h"

/* --- fields --- */

bool tb__read_number(const char *text, size_t len, uint64_t *ret)
{
    uint64_t value = 0;
    if (len == 0 || len > 20 || (len > 1 && *text == '0')) return false;
    for (size_t i = 0; i < len; i++) {
        const unsigned digit = (unsigned char)text[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static bool read_id(const tb__day_line *l, size_t i, int64_t *ret)
{
    uint64_t value;
    if (!tb__read_number(l->field[i], l->len[i], &value) || value > INT64_MAX) return false;
    *ret = (int64_t)value;
    return true;
}

bool tb__read_time(const tb__filling *f, const tb__day_line *l, size_t i, int64_t *ret_s)
{
    static const char form[] = "T00:00:00Z";
    const char *const t = l->field[i] + 10;
    int at[3];
    if (l->len[i] != 20 || memcmp(l->field[i], f->date, 10) != 0) return false;
    for (size_t k = 0; k < 10; k++)
        if (form[k] == '0' ? t[k] < '0' || t[k] > '9' : t[k] != form[k]) return false;
    for (int k = 0; k < 3; k++)
        at[k] = (t[1 + 3 * k] - '0') * 10 + (t[2 + 3 * k] - '0');
    *ret_s = (at[0] * 60 + at[1]) * 60 + at[2];
    return at[0] < 24 && at[1] < 60 && at[2] < 60;
}

static bool read_hour(const tb__filling *f, const tb__day_line *l, size_t i, int64_t *ret)
{
    int64_t at = 0;
    if (!tb__read_time(f, l, i, &at) || at % 3600) return false;
    *ret = f->day * 24 + at / 3600;
    return true;
}

bool tb__field_is(const tb__day_line *l, size_t i, const char *text)
{
    return l->len[i] == strlen(text) && memcmp(l->field[i], text, l->len[i]) == 0;
}

/* --- pull zones and load balancers --- */

/* Reads counters, "name=value" between tabs, up to the line's end: the values of those two names. false: they are not as written. */
static bool read_counters(const char *at, const char *end, const char *const names[2], uint64_t value[2])
{
    while (at < end) {
        const char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        uint64_t read;
        if (!equals || !tb__read_number(equals + 1, (size_t)(stop - equals - 1), &read)) return false;
        for (int k = 0; k < 2; k++)
            if (names[k] && strlen(names[k]) == (size_t)(equals - at) && memcmp(names[k], at, strlen(names[k])) == 0) {
                if (value[k]) return false; /* twice */
                value[k] = read;
            }
        if (tab && tab + 1 == end) return false;
        at = tab ? tab + 1 : end;
    }
    return true;
}

static int place_of_code(const void *key, const void *item)
{
    return strcmp(key, ((const tb_origin_place *)item)->code);
}

static const tb_origin_place *find_place(const tb_bill_origins *o, const char *code)
{
    return tb__find_sorted(code, o->places, o->n_places, sizeof *o->places, place_of_code);
}

/* The line's zone, place and hour, which ascend. */
static tb_code read_cell(tb__filling *f, const tb__day_line *l)
{
    int64_t zone, hour;
    char code[24] = "";
    if (l->n < 4 || !read_id(l, 1, &zone) || l->len[2] >= sizeof code || !read_hour(f, l, 3, &hour))
        return tb__wrong_line(f, "a pull zone, a region and an hour of the day are expected");
    memcpy(code, l->field[2], l->len[2]);
    int order = zone < f->cell.zone ? -1 : zone > f->cell.zone;
    if (!order) order = strcmp(code, f->cell.code);
    if (order < 0 || (order == 0 && hour <= f->cell.hour)) return tb__wrong_line(f, "lines do not ascend");
    f->cell.hour = hour;
    if (order == 0) return TB_OK;
    f->cell.zone = zone;
    memcpy(f->cell.code, code, sizeof code);
    f->cell.place = find_place(&f->month->origins, code);
    return TB_OK;
}

static tb_code add_bytes(tb__filling *f, const tb__day_line *l, uint64_t bytes)
{
    const tb_origin_place *place = f->cell.place;
    if (bytes == 0) return TB_OK;
    f->filled->counted.bytes += bytes;
    if (!place) return tb__left_out(f, l, "the terms do not say where that region is billed");
    const tb__usage_entry key = {.zone = f->cell.zone, .place = place->priced ? (int)place->region : -1,
                           .location = place->priced ? "" : f->cell.code, .from = f->cell.hour};
    const tb__usage_entry *t = tb__find_entry(f->bytes, f->n_bytes, &key);
    if (!t) return tb__left_out(f, l, "the terms have no entry for it");
    f->byte_sums[t->index].day[f->day - f->from_hour / 24] += bytes;
    return TB_OK;
}

static tb_code add_requests(tb__filling *f, const tb__day_line *l, int64_t balancer, int64_t hour, uint64_t requests)
{
    const tb_bill_input *in = &f->filled->input;
    if (requests == 0) return TB_OK;
    f->filled->counted.requests += requests;
    const tb_bill_balancer *entry = tb__find_balancer(in, balancer, tb__part_at(in, hour));
    if (!entry) return tb__left_out(f, l, "the terms have no entry for its requests");
    f->balancer_sums[entry - in->balancers].day[f->day - f->from_hour / 24] += requests;
    return TB_OK;
}

/* Requests of a zone reach the balancer that it was attached to at that hour. */
static tb_code add_tied(tb__filling *f, const tb__day_line *l, uint64_t requests)
{
    const tb__usage_entry key = {.zone = f->cell.zone, .place = -1, .location = "", .from = f->cell.hour};
    if (requests == 0) return TB_OK;
    const tb__usage_entry *t = tb__find_entry(f->ties, f->n_ties, &key);
    return t ? add_requests(f, l, f->month->origins.ties[t->index].balancer, f->cell.hour, requests) : TB_OK;
}

static tb_code add_zone(tb__filling *f, const tb__day_line *l)
{
    static const char *const names[2] = {"bytes", "balancer_requests"};
    uint64_t value[2] = {0, 0};
    tb_code code = read_cell(f, l);
    if (code) return code;
    if (l->n < 5 || !read_counters(l->field[4], l->end, names, value)) return tb__wrong_line(f, "counters are expected");
    if (f->bandwidth) f->bandwidth[f->month_s / TB_METER_INTERVAL + (uint32_t)(f->cell.hour - f->from_hour)] += value[0];
    if (f->cell.hour >= f->until_hour) return TB_OK;
    code = add_bytes(f, l, value[0]);
    return code ? code : add_tied(f, l, value[1]);
}

static tb_code add_balancer(tb__filling *f, const tb__day_line *l)
{
    static const char *const names[2] = {"requests", NULL};
    uint64_t value[2] = {0, 0};
    int64_t balancer, hour;
    if (l->n < 4 || !read_id(l, 1, &balancer) || !read_hour(f, l, 2, &hour) || !read_counters(l->field[3], l->end, names, value))
        return tb__wrong_line(f, "a load balancer, an hour of the day and requests are expected");
    if (balancer < f->balancer.id || (balancer == f->balancer.id && hour <= f->balancer.hour)) return tb__wrong_line(f, "lines do not ascend");
    f->balancer.id = balancer;
    f->balancer.hour = hour;
    return hour >= f->until_hour ? TB_OK : add_requests(f, l, balancer, hour, value[0]);
}

/* --- a day --- */

/* The line that begins at `from`; *ret_len: with its line end. false: it has none. Of more than eight fields the first eight are kept. */
static bool split(const char *from, size_t len, tb__day_line *ret, size_t *ret_len)
{
    const char *const end = memchr(from, '\n', len);
    if (!end) return false;
    *ret_len = (size_t)(end - from) + 1;
    ret->n = 0;
    ret->end = end;
    for (const char *at = from; ret->n < 8; at = ret->field[ret->n - 1] + ret->len[ret->n - 1] + 1) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        ret->field[ret->n] = at;
        ret->len[ret->n++] = (size_t)((tab ? tab : end) - at);
        if (!tab) break;
    }
    return true;
}

/* The kinds of lines, in the order of a day. */
static const struct {
    const char *name;
    tb_code (*add)(tb__filling *f, const tb__day_line *l);
} kinds[] = {{"zone", add_zone}, {"load_balancer", add_balancer}, {"meter", tb__add_meter}};
#define KINDS (sizeof kinds / sizeof *kinds)

tb_code tb__add_usage_day(tb__filling *f, tb_text text)
{
    const char *at = text.data;
    size_t left = text.len, len = 0, kind = 0;
    tb_code code = TB_OK;
    memset(&f->cell, 0, sizeof f->cell);
    f->cell.zone = f->cell.hour = f->balancer.id = f->balancer.hour = INT64_MIN;
    f->metered.line.n = f->line = 0;
    for (; !code && left; at += len, left -= len) {
        tb__day_line l;
        f->line++;
        if (!split(at, left, &l, &len)) return tb__wrong_line(f, "it has no end");
        while (kind < KINDS && !tb__field_is(&l, 0, kinds[kind].name))
            kind++;
        if (kind == KINDS) return tb__wrong_line(f, "a pull zone, a load balancer or a meter is expected, in this order");
        if (++f->filled->counted.cells > TB_CHECK_CELLS_MAX) return tb__wrong_line(f, "there are too many lines");
        code = kinds[kind].add(f, &l);
    }
    return code;
}
