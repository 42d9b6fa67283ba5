/* Counts of shield events as the answers of GET /shield/metrics. What events do not tell (files scanned, requests
 * inspected) is left out. */
#include "events/counts.h"

#include <inttypes.h>

#define B (1u << TB_SHIELD_BLOCKED)
#define L (1u << TB_SHIELD_LOGGED)
#define C (1u << TB_SHIELD_CHALLENGED)
#define V (1u << TB_SHIELD_VERIFIED)
#define ALL ((1u << TB_SHIELD_ACTION_COUNT) - 1)

/* A member of an answer: the events of a product with one of these actions. */
typedef struct member {
    const char *name;
    uint8_t product, actions;
} member;
#define MEMBERS_MAX 7

typedef struct group {
    const char *total, *days; /* its names; NULL: it has none */
    member of[MEMBERS_MAX];   /* up to the first without a name */
} group;

#define EACH_PRODUCT \
    {{"dDoSMitigated", TB_SHIELD_DDOS, B | C}, \
     {"wafTriggeredRules", TB_SHIELD_WAF, ALL}, \
     {"ratelimitBreaches", TB_SHIELD_RATE_LIMIT, ALL}, \
     {"botDetectionChallenged", TB_SHIELD_BOT, C}, \
     {"accessListActions", TB_SHIELD_ACCESS_LIST, ALL}, \
     {"uploadScanningBlocks", TB_SHIELD_UPLOAD, B}, \
     {"apiGuardianBlocks", TB_SHIELD_API, B}}

/* In the order of the contract. */
static const group overview[] = {
    {"overview", NULL, EACH_PRODUCT},
    {"waf", NULL,
     {{"totalTriggeredRules", TB_SHIELD_WAF, ALL},
      {"blockedRequests", TB_SHIELD_WAF, B},
      {"loggedRequests", TB_SHIELD_WAF, L},
      {"challengedRequests", TB_SHIELD_WAF, C}}},
    {NULL, "overviewPastTwentyEightDays", EACH_PRODUCT},
    {"dDoS", "dDoSOverviewPastTwentyEightDays",
     {{"loggedRequests", TB_SHIELD_DDOS, L},
      {"verifiedRequests", TB_SHIELD_DDOS, V},
      {"blockedRequests", TB_SHIELD_DDOS, B},
      {"challengedRequests", TB_SHIELD_DDOS, C}}},
    {"ratelimit", "ratelimitOverviewPastTwentyEightDays",
     {{"totalBreaches", TB_SHIELD_RATE_LIMIT, ALL},
      {"loggedBreaches", TB_SHIELD_RATE_LIMIT, L},
      {"challengedBreaches", TB_SHIELD_RATE_LIMIT, C},
      {"blockedBreaches", TB_SHIELD_RATE_LIMIT, B}}},
    {"botDetection", "botDetectionOverviewPastTwentyEightDays",
     {{"loggedRequests", TB_SHIELD_BOT, L}, {"challengedRequests", TB_SHIELD_BOT, C}}},
    {"accessList", "accessListOverviewPastTwentyEightDays",
     {{"totalActions", TB_SHIELD_ACCESS_LIST, ALL},
      {"blockedRequests", TB_SHIELD_ACCESS_LIST, B},
      {"loggedRequests", TB_SHIELD_ACCESS_LIST, L},
      {"challengedRequests", TB_SHIELD_ACCESS_LIST, C}}},
    {"uploadScanning", "uploadScanningOverviewPastTwentyEightDays",
     {{"loggedRequests", TB_SHIELD_UPLOAD, L}, {"blockedRequests", TB_SHIELD_UPLOAD, B}}},
    {"apiGuardian", "apiGuardianOverviewPastTwentyEightDays",
     {{"blockedRequests", TB_SHIELD_API, B}, {"loggedRequests", TB_SHIELD_API, L}}},
};

/* Answers of one product: totals beside each other, and the same by day under other names. */
typedef struct single {
    member totals[MEMBERS_MAX], days[MEMBERS_MAX];
} single;

static const single bots = {
    {{"totalLoggedRequests", TB_SHIELD_BOT, L}, {"totalChallengedRequests", TB_SHIELD_BOT, C}},
    {{"loggedRequests", TB_SHIELD_BOT, L}, {"challengedRequests", TB_SHIELD_BOT, C}}};
static const single uploads = {
    {{"totalLoggedRequests", TB_SHIELD_UPLOAD, L}, {"totalBlockedRequests", TB_SHIELD_UPLOAD, B}},
    {{"loggedRequests", TB_SHIELD_UPLOAD, L}, {"blockedRequests", TB_SHIELD_UPLOAD, B}}};
static const single guardian = {
    {{"totalBlockedRequests", TB_SHIELD_API, B}, {"totalLoggedRequests", TB_SHIELD_API, L}},
    {{"blockedRequests", TB_SHIELD_API, B}, {"loggedRequests", TB_SHIELD_API, L}}};
static const single waf_rule = {
    {{"totalTriggers", TB_SHIELD_WAF, ALL},
     {"blockedRequests", TB_SHIELD_WAF, B},
     {"loggedRequests", TB_SHIELD_WAF, L},
     {"challengedRequests", TB_SHIELD_WAF, C}},
    {{"totalTriggers", TB_SHIELD_WAF, ALL},
     {"blockedRequests", TB_SHIELD_WAF, B},
     {"loggedRequests", TB_SHIELD_WAF, L},
     {"challengedRequests", TB_SHIELD_WAF, C}}};
static const member breaches[MEMBERS_MAX] = {{"totalBreaches", 0, ALL},
                                             {"loggedBreaches", 0, L},
                                             {"challengedBreaches", 0, C},
                                             {"blockedBreaches", 0, B}};

static uint64_t sum_actions(const uint64_t of[TB_SHIELD_ACTION_COUNT], unsigned actions)
{
    uint64_t sum = 0;
    for (int a = 0; a < TB_SHIELD_ACTION_COUNT; a++)
        if (actions >> a & 1) sum += of[a];
    return sum;
}

static void put_count(tb_buf *out, const char *name, uint64_t value, bool first)
{
    tb_buf_fmt(out, "%s\"%s\":%" PRIu64, first ? "" : ",", name, value);
}

static void put_members(const member of[MEMBERS_MAX], const tb__shield_sums *sums, tb_buf *out)
{
    for (int m = 0; m < MEMBERS_MAX && of[m].name; m++)
        put_count(out, of[m].name, sum_actions(sums->of[of[m].product], of[m].actions), m == 0);
}

/* "04-11-2026", as clients of the charts read a day. */
static void put_day_name(int64_t start_ms, bool first, tb_buf *out)
{
    const tb_date d = tb_date_from_day(start_ms / TB_EVENT_MS_PER_DAY);
    tb_buf_fmt(out, "%s\"%02d-%02d-%04d\":", first ? "" : ",", (int)d.day, (int)d.month, (int)d.year);
}

static void put_days(const tb_shield_counts *c, const char *name, const member of[MEMBERS_MAX], tb_buf *out)
{
    tb_buf_fmt(out, "\"%s\":{", name);
    for (size_t i = 0; i < c->n; i++) {
        put_day_name(c->start[i], i == 0, out);
        tb_buf_str(out, "{");
        put_members(of, &c->point[i], out);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "}");
}

static void put_overview(const tb_shield_counts *c, uint64_t requests, tb_buf *out)
{
    for (size_t g = 0; g < sizeof overview / sizeof *overview; g++) {
        tb_buf_str(out, g ? "," : "{");
        if (overview[g].total) {
            tb_buf_fmt(out, "\"%s\":{", overview[g].total);
            put_members(overview[g].of, &c->total, out);
            tb_buf_str(out, overview[g].days ? "}," : "}");
        }
        if (overview[g].days) put_days(c, overview[g].days, overview[g].of, out);
    }
    put_count(out, "totalCleanRequestsLimit", 0, false);
    put_count(out, "totalBillableRequests", requests, false);
    tb_buf_str(out, "}");
}

static void put_single(const tb_shield_counts *c, const single *of, tb_buf *out)
{
    tb_buf_str(out, "{");
    put_members(of->totals, &c->total, out);
    tb_buf_str(out, ",");
    put_days(c, "overviewPastTwentyEightDays", of->days, out);
    tb_buf_str(out, "}");
}

static void put_point_name(int64_t start_ms, bool first, tb_buf *out)
{
    char text[20];
    tb_time_format(start_ms * 1000, text);
    tb_buf_fmt(out, "%s\"%.20s\":", first ? "" : ",", text);
}

/* One product's points by action, and their sums. Rare actions are shown where there is one. */
static void put_product(const tb_shield_counts *c, tb_shield_product p, const char *name, tb_buf *out)
{
    static const char *const keys[] = {
#define TB_X(action, key) key,
        TB_SHIELD_ACTIONS(TB_X)
#undef TB_X
    };
    const uint64_t *total = c->total.of[p];
    bool shown[TB_SHIELD_ACTION_COUNT];
    tb_buf_fmt(out, "\"%s\":{\"metrics\":{", name);
    for (int a = 0; a < TB_SHIELD_ACTION_COUNT; a++) {
        shown[a] = a <= TB_SHIELD_CHALLENGED || total[a] > 0;
        if (!shown[a]) continue;
        tb_buf_fmt(out, "%s\"%s\":{", a ? "," : "", keys[a]);
        for (size_t i = 0; i < c->n; i++) {
            put_point_name(c->start[i], i == 0, out);
            tb_buf_fmt(out, "%" PRIu64, c->point[i].of[p][a]);
        }
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "},\"totals\":{");
    for (int a = 0; a < TB_SHIELD_ACTION_COUNT; a++)
        if (shown[a]) put_count(out, keys[a], total[a], a == 0);
    tb_buf_str(out, "}}");
}

static void put_detailed(const tb_shield_counts *c, uint64_t requests, tb_buf *out)
{
    static const char *const names[] = {
#define TB_X(product, member) member,
        TB_SHIELD_PRODUCTS(TB_X)
#undef TB_X
    };
    for (int p = 0; p < TB_SHIELD_PRODUCT_COUNT; p++) {
        tb_buf_str(out, p ? "," : "{");
        put_product(c, (tb_shield_product)p, names[p], out);
    }
    put_count(out, "totalCleanRequestsLimit", 0, false);
    put_count(out, "totalBillableRequestsThisMonth", requests, false);
    put_count(out, "resolution", (uint64_t)c->ask.step, false);
    tb_buf_str(out, "}");
}

static void put_breaches(const uint64_t of[TB_SHIELD_ACTION_COUNT], tb_buf *out)
{
    tb_buf_str(out, "{");
    for (int m = 0; m < MEMBERS_MAX && breaches[m].name; m++)
        put_count(out, breaches[m].name, sum_actions(of, breaches[m].actions), m == 0);
    tb_buf_str(out, "}");
}

static void put_rules(const tb_shield_counts *c, tb_buf *out)
{
    tb_buf_str(out, "[");
    for (size_t r = 0; r < c->n_rules; r++) {
        const tb__shield_rule *rule = &c->rule[r];
        uint64_t total[TB_SHIELD_ACTION_COUNT] = {0};
        for (size_t i = 0; i < c->n; i++)
            for (int a = 0; a < TB_SHIELD_ACTION_COUNT; a++)
                total[a] += rule->of[i][a];
        tb_buf_fmt(out, "%s{\"ratelimitId\":%" PRId64 ",\"overview\":", r ? "," : "", rule->id);
        put_breaches(total, out);
        tb_buf_str(out, ",\"ratelimitOverviewPastTwentyEightDays\":{");
        for (size_t i = 0; i < c->n; i++) {
            put_day_name(c->start[i], i == 0, out);
            put_breaches(rule->of[i], out);
        }
        tb_buf_str(out, "}}");
    }
    tb_buf_str(out, "]");
}

void tb_shield_counts_json(const tb_shield_counts *c, tb_shield_view view, uint64_t requests, tb_buf *out)
{
    switch (view) {
    case TB_SHIELD_OVERVIEW: put_overview(c, requests, out); break;
    case TB_SHIELD_DETAILED: put_detailed(c, requests, out); break;
    case TB_SHIELD_BOTS: put_single(c, &bots, out); break;
    case TB_SHIELD_UPLOADS: put_single(c, &uploads, out); break;
    case TB_SHIELD_GUARDIAN: put_single(c, &guardian, out); break;
    case TB_SHIELD_WAF_RULE: put_single(c, &waf_rule, out); break;
    case TB_SHIELD_RATE_LIMITS: put_rules(c, out); break;
    }
}
