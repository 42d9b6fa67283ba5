/* Counting shield events by product, action and time. */
#include "events/counts.h"

#include "base/list.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS_PER_MINUTE INT64_C(60000)

/* --- words --- */

typedef struct word {
    const char *text;
    int meaning;
} word;

/* The letters and digits of a text in lower case; longer ones are none of ours. */
static size_t fold_word(tb_text text, char to[24])
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i], lower = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        if (!((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))) continue;
        if (n == 24) return 0;
        to[n++] = lower;
    }
    return n;
}

bool tb_shield_product_of(tb_text feature, tb_shield_product *ret)
{
    static const word words[] = {
        {"waf", TB_SHIELD_WAF},         {"ddos", TB_SHIELD_DDOS},
        {"ratelimit", TB_SHIELD_RATE_LIMIT}, {"ratelimits", TB_SHIELD_RATE_LIMIT},
        {"ratelimiting", TB_SHIELD_RATE_LIMIT}, {"accesslist", TB_SHIELD_ACCESS_LIST},
        {"accesslists", TB_SHIELD_ACCESS_LIST}, {"bot", TB_SHIELD_BOT},
        {"botdetection", TB_SHIELD_BOT}, {"upload", TB_SHIELD_UPLOAD},
        {"uploadscanning", TB_SHIELD_UPLOAD}, {"api", TB_SHIELD_API},
        {"apiguardian", TB_SHIELD_API},
    };
    char text[24];
    const size_t len = fold_word(feature, text);
    *ret = TB_SHIELD_WAF;
    if (!feature.len) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].text) != len || memcmp(words[i].text, text, len) != 0) continue;
        *ret = (tb_shield_product)words[i].meaning;
        return true;
    }
    return false;
}

tb_shield_action tb_shield_action_of(tb_text action)
{
    static const word beginnings[] = {
        {"block", TB_SHIELD_BLOCKED},   {"deny", TB_SHIELD_BLOCKED},      {"denied", TB_SHIELD_BLOCKED},
        {"log", TB_SHIELD_LOGGED},      {"challenge", TB_SHIELD_CHALLENGED}, {"verif", TB_SHIELD_VERIFIED},
    };
    char text[24];
    const size_t len = fold_word(action, text);
    if (!action.len) return TB_SHIELD_LOGGED;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const size_t n = strlen(beginnings[i].text);
        if (len >= n && memcmp(beginnings[i].text, text, n) == 0) return (tb_shield_action)beginnings[i].meaning;
    }
    return TB_SHIELD_OTHER;
}

/* --- points --- */

/* The start of the point that holds this time. */
static int64_t point_start(int64_t ms, tb_shield_step step)
{
    static const int64_t width[TB_SHIELD_STEP_COUNT] = {
        [TB_SHIELD_2_MINUTES] = 2 * MS_PER_MINUTE, [TB_SHIELD_10_MINUTES] = 10 * MS_PER_MINUTE,
        [TB_SHIELD_HOURS] = 60 * MS_PER_MINUTE,    [TB_SHIELD_DAYS] = TB_EVENT_MS_PER_DAY,
        [TB_SHIELD_WEEKS] = 7 * TB_EVENT_MS_PER_DAY,
    };
    const int64_t monday = 4 * TB_EVENT_MS_PER_DAY; /* 1970-01-05 */
    if (step == TB_SHIELD_MONTHS)
        return tb_month_first_day(tb_month_from_day(ms / TB_EVENT_MS_PER_DAY)) * TB_EVENT_MS_PER_DAY;
    if (step != TB_SHIELD_WEEKS) return ms - ms % width[step];
    return ms < monday ? 0 : ms - (ms - monday) % width[step];
}

static int64_t next_point(int64_t start, tb_shield_step step)
{
    switch (step) {
    case TB_SHIELD_2_MINUTES: return start + 2 * MS_PER_MINUTE;
    case TB_SHIELD_10_MINUTES: return start + 10 * MS_PER_MINUTE;
    case TB_SHIELD_HOURS: return start + 60 * MS_PER_MINUTE;
    case TB_SHIELD_MONTHS: return point_start(start + 32 * TB_EVENT_MS_PER_DAY, step);
    case TB_SHIELD_WEEKS: return point_start(start + 7 * TB_EVENT_MS_PER_DAY, step);
    default: return start + TB_EVENT_MS_PER_DAY;
    }
}

/* Points that fit a time if nobody chose them. */
static tb_shield_step step_for(int64_t span_ms)
{
    if (span_ms <= 6 * 60 * MS_PER_MINUTE) return TB_SHIELD_2_MINUTES;
    if (span_ms <= TB_EVENT_MS_PER_DAY) return TB_SHIELD_10_MINUTES;
    return span_ms <= 7 * TB_EVENT_MS_PER_DAY ? TB_SHIELD_HOURS : TB_SHIELD_DAYS;
}

tb_code tb_shield_counts_new(const tb_shield_counts_ask *ask, tb_shield_counts **ret, tb_error *err)
{
    tb_shield_counts *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    c->ask = *ask;
    if (ask->step == TB_SHIELD_AUTO) c->ask.step = step_for(ask->to_ms - ask->from_ms);
    int64_t at = point_start(ask->from_ms, c->ask.step);
    for (; at < ask->to_ms && c->n < TB_SHIELD_POINTS_MAX; at = next_point(at, c->ask.step))
        c->start[c->n++] = at;
    c->point = calloc(c->n + 1, sizeof *c->point);
    tb_code code = c->point ? TB_OK : tb_no_memory(err);
    if (!code && at < ask->to_ms)
        code = tb_fail(err, TB_E_VALIDATION, "Resolution",
                       "The time has more than %d points of this resolution: ask for a coarser one or a shorter time.",
                       TB_SHIELD_POINTS_MAX);
    if (!code && ask->rules && c->n > TB_EVENT_DAYS)
        code = tb_fail(err, TB_E_INTERNAL, NULL, "Rules are counted by day.");
    if (code) tb_shield_counts_free(c);
    else *ret = c;
    return code;
}

void tb_shield_counts_free(tb_shield_counts *c)
{
    if (!c) return;
    free(c->point);
    free(c->rule);
    free(c);
}

/* --- adding --- */

/* A rate limit's number; false: its ruleId is none. */
static bool read_rule(tb_text text, int64_t *ret)
{
    int64_t value = 0;
    if (text.len < 1 || text.len > 18) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *ret = value;
    return true;
}

static tb_code add_to_rule(tb_shield_counts *c, int64_t id, tb_shield_action action, tb_error *err)
{
    size_t lo = 0, hi = c->n_rules;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (c->rule[mid].id < id) lo = mid + 1;
        else hi = mid;
    }
    if (lo == c->n_rules || c->rule[lo].id != id) {
        if (c->n_rules == TB_SHIELD_RULES_MAX)
            return tb_fail(err, TB_E_TOO_MUCH, NULL, "The shield zone has events of more than %d rate limits.",
                           TB_SHIELD_RULES_MAX);
        tb_code code = tb__grow(&c->rule, c->n_rules, &c->rules_cap, sizeof *c->rule, err);
        if (code) return code;
        memmove(c->rule + lo + 1, c->rule + lo, (c->n_rules - lo) * sizeof *c->rule);
        c->rule[lo] = (tb__shield_rule){.id = id};
        c->n_rules++;
    }
    c->rule[lo].of[c->at][action]++;
    return TB_OK;
}

static tb_code count_event(tb_shield_counts *c, const tb_event *e, tb_error *err)
{
    const tb_text rule = e->field[TB_EVENT_RULE_ID];
    tb_shield_product product;
    int64_t id;
    if (e->time_ms < c->ask.from_ms || e->time_ms >= c->ask.to_ms) return TB_OK;
    if (c->ask.rule.len &&
        (rule.len != c->ask.rule.len || memcmp(rule.data, c->ask.rule.data, rule.len) != 0))
        return TB_OK;
    if (!tb_shield_product_of(e->field[TB_EVENT_FEATURE], &product)) return TB_OK;
    while (c->at + 1 < c->n && e->time_ms >= c->start[c->at + 1])
        c->at++;
    const tb_shield_action action = tb_shield_action_of(e->field[TB_EVENT_ACTION]);
    c->point[c->at].of[product][action]++;
    c->total.of[product][action]++;
    if (!c->ask.rules || product != TB_SHIELD_RATE_LIMIT || !read_rule(rule, &id)) return TB_OK;
    return add_to_rule(c, id, action, err);
}

tb_code tb_shield_counts_add(tb_shield_counts *c, const void *block, size_t len, tb_error *err)
{
    tb_event_record record;
    tb_event e;
    tb_code code = TB_OK;
    for (size_t at = 0; !code && c->n && at < len;) {
        if (!tb_event_next(block, len, &at, &record))
            return tb_fail(err, TB_E_CORRUPT, NULL, "A block of shield events cannot be read.");
        tb_event_unpack(&record, &e);
        code = count_event(c, &e, err);
    }
    return code;
}
