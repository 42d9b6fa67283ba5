/* Verify: copies of data must agree, and references must have their objects. In one read transaction, so a running
 * server does not matter.
 *
 * The schema comes first (rows.c), then SQLite's own check and references (a list of queries that return the
 * differences), then seals, then the usage (usage.c), then the sums of segments against the stored usage, then the
 * money module (billing.c). Damage in a part is a difference, and the next part goes on. */
#include "store/logs/segment.h"
#include "store/verify/verify.h"

#include "tollbook/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 600

void tb__differs(tb__verify *v, const char *fmt, ...)
{
    char sentence[SENTENCE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    v->differences++;
    if (v->say) v->say(v->ctx, sentence);
}

void tb__remarks(tb__verify *v, const char *fmt, ...)
{
    char sentence[SENTENCE_MAX] = TB_NOTE;
    const size_t len = strlen(sentence);
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence + len, sizeof sentence - len, fmt, args);
    va_end(args);
    if (v->say) v->say(v->ctx, sentence);
}

static const char *const text[TB__V_COUNT] = {
#define TB_X(name, sql) [TB__V_##name] = sql,
    TB__VERIFY_STATEMENTS(TB_X)
#undef TB_X
};

tb_code tb__verify_sql(tb__verify *v, tb__verify_statement id, const int64_t *values, int n,
                       sqlite3_stmt **ret, tb_error *err)
{
    sqlite3_stmt **slot = &v->statement[id];
    if (!*slot) {
        int rc = sqlite3_prepare_v2(v->store->db, text[id], -1, slot, NULL);
        if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    }
    sqlite3_reset(*slot);
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(*slot, i + 1, values[i]);
    *ret = *slot;
    return TB_OK;
}

/* --- the file, and references --- */

#define FOR_EVER "9223372036854775807"
/* A member of a segment's sums, as text. */
#define SUM_OF(name) "iif(json_valid(sums),sums->>'$." name "','?')"
/* Whether segment s was withdrawn. */
#define GONE(s) "EXISTS(SELECT 1 FROM withdrawal y WHERE y.segment=" s ".id)"
/* What the resources of meter m are called. */
#define METER_NOUN "coalesce(iif(json_valid(m.document),m.document->>'$.resource',NULL),'resource')"
/* Everything that a catalogue declares: t. */
#define THINGS                                                                                     \
    "WITH t(kind,name,id,account,document,live) AS (SELECT 'account','Account',id,id,document,"    \
    "deleted_us=" FOR_EVER " FROM account UNION ALL SELECT 'zone','Pull zone',id,account,"         \
    "document,deleted_us=" FOR_EVER " FROM zone UNION ALL SELECT 'balancer','Load balancer',id,"   \
    "account,document,deleted_us=" FOR_EVER " FROM balancer UNION ALL SELECT 'shield_zone',"       \
    "'Shield zone',id,account,document,deleted_us=" FOR_EVER " FROM shield_zone UNION ALL SELECT"  \
    " 'meter','Meter',id,NULL,document,deleted_us=" FOR_EVER " FROM meter UNION ALL SELECT"        \
    " 'seller','Seller',id,NULL,document,to_us=" FOR_EVER " FROM (SELECT id,document,to_us,"       \
    "max(version) FROM declaration WHERE kind='seller' GROUP BY id)) "

/* Each row of a query is a sentence about a difference. */
static const char *const references[] = {
    "SELECT 'The file: '||integrity_check||'.' FROM pragma_integrity_check(100)"
    " WHERE integrity_check<>'ok'",
    "SELECT format('Table %s, row %s names a row of table %s that is not there.',\"table\","
    "coalesce(rowid,'?'),parent) FROM pragma_foreign_key_check",
    "SELECT format('Series %d is of edge location %d, which is not listed.',id,edge) FROM series"
    " WHERE edge>0 AND edge NOT IN(SELECT id FROM edge)",
    "SELECT format('Series %d is of account %d, which does not exist.',id,owner) FROM series"
    " WHERE scope=2 AND owner NOT IN(SELECT id FROM account)",
    "SELECT format('Series %d is of load balancer %d and has an edge location.',id,owner)"
    " FROM series WHERE scope=3 AND edge<>0",
    "SELECT format('Series %d is of a meter and has an edge location, or its meter series %d is not there.',id,owner)"
    " FROM series WHERE scope=4 AND (edge<>0 OR owner NOT IN(SELECT id FROM meter_series))",
    "SELECT format('Series %d is used %d times.',id,count(*)) FROM series GROUP BY id"
    " HAVING count(*)>1",
    "SELECT format('Series %d and %d are of one owner at one location.',min(p.id,n.id),max(p.id,n.id)) FROM series_new n"
    " CROSS JOIN series_placed p ON p.scope=n.scope AND p.owner=n.owner AND p.edge=n.edge WHERE p.id<>n.id",
    "SELECT format('Account %d shares the series of pull zone %d, which is not its own or has none, or it has others.',"
    "h.account,h.zone) FROM series_shared h WHERE NOT EXISTS(SELECT 1 FROM zone z WHERE z.id=h.zone AND z.account=h.account)"
    " OR NOT EXISTS(SELECT 1 FROM series s WHERE s.scope=1 AND s.owner=h.zone)"
    " OR EXISTS(SELECT 1 FROM series s WHERE s.scope=2 AND s.owner=h.account)",
    "SELECT format('Series %d is newer than the last one given, %d.',max(s.id),m.value)"
    " FROM meta m, series s WHERE m.name='series_id' GROUP BY m.name HAVING max(s.id)>m.value",
    "SELECT format('Load balancer %d is attached to pull zone %d, which does not exist.',balancer,"
    "zone) FROM attachment WHERE zone NOT IN(SELECT id FROM zone)",
    "SELECT format('Pull zone %d is attached to load balancer %d, which does not exist.',zone,"
    "balancer) FROM attachment WHERE balancer NOT IN(SELECT id FROM balancer)",
    "SELECT format('Pull zone %d of account %d is attached to load balancer %d of account %d.',"
    "z.id,z.account,b.id,b.account) FROM attachment a JOIN zone z ON z.id=a.zone"
    " JOIN balancer b ON b.id=a.balancer WHERE z.account<>b.account",
    "SELECT format('Pull zone %d has countries and no usage.',zone) FROM country_day"
    " WHERE NOT EXISTS(SELECT 1 FROM series WHERE scope=1 AND owner=zone) GROUP BY zone",
    /* segments */
    "SELECT format('Batch %s: segment %d begins at byte %d; the one before ends at %d.',name,id,"
    "start,before) FROM (SELECT id,name,start,coalesce(lag(length) OVER batch,0) AS before"
    " FROM segment WHERE name IS NOT NULL AND NOT " GONE("segment") " WINDOW batch AS (PARTITION BY name ORDER BY start))"
    " WHERE start<>before",
    "SELECT format('Batch %s: segment %d begins after line %d; %d lines are before it.',name,id,"
    "lines_before,before) FROM (SELECT id,name,lines_before,"
    "coalesce(lag(lines_before+accepted+rejected) OVER batch,0) AS before"
    " FROM segment WHERE name IS NOT NULL AND NOT " GONE("segment") " WINDOW batch AS (PARTITION BY name ORDER BY start))"
    " WHERE lines_before<>before",
    "SELECT format('Segment %d begins at byte %d, where no other one ends.',s.id,s.start)"
    " FROM segment s LEFT JOIN segment p ON p.length=s.start AND p.kind=s.kind"
    " AND p.lines_before+p.accepted+p.rejected=s.lines_before AND p.id<s.id"
    " AND (" GONE("s") " OR NOT " GONE("p") ")"
    " WHERE s.name IS NULL AND s.start>0 AND p.id IS NULL",
    "SELECT format('Segment %d begins at byte 0 after %d lines.',id,lines_before) FROM segment"
    " WHERE start=0 AND lines_before<>0",
    "SELECT format('Segment %d keeps %d refused lines of %d.',s.id,count(*),s.rejected)"
    " FROM reject r JOIN segment s ON s.id=r.segment GROUP BY s.id HAVING count(*)>s.rejected",
    "SELECT format('Segment %d keeps refused line %d, which is not one of its lines.',s.id,r.line)"
    " FROM reject r JOIN segment s ON s.id=r.segment"
    " WHERE r.line<=s.lines_before OR r.line>s.lines_before+s.accepted+s.rejected",
    "SELECT format('Segment %d kept %s refused lines; %d are there.',id,kept,there) FROM"
    " (SELECT id,iif(" GONE("segment") ",'0',coalesce(" SUM_OF("rejects_kept") ",'0')) AS kept,(SELECT count(*) FROM reject"
    " WHERE segment=segment.id) AS there FROM segment) WHERE CAST(kept AS INTEGER)<>there",
    "SELECT format('Segment %d has refused lines whose text would be kept for ever.',segment) FROM reject r"
    " WHERE length(text)>0 AND NOT EXISTS(SELECT 1 FROM reject_due d JOIN segment s ON s.id=d.segment"
    " WHERE d.segment=r.segment AND d.added_us=s.added_us) GROUP BY segment",
    "SELECT format('Segment %d is to forget the text of refused lines, and has none.',d.segment)"
    " FROM reject_due d WHERE NOT EXISTS(SELECT 1 FROM reject r WHERE r.segment=d.segment)",
    "SELECT format('Segment %d accepted %d lines and added %s requests.',id,accepted,added) FROM"
    " (SELECT id,accepted,CAST(coalesce(" SUM_OF("requests") ",0) AS INTEGER)-CAST(coalesce(" SUM_OF("metered") ",0) AS INTEGER) AS added,"
    "CAST(coalesce(" SUM_OF("heads") ",'0') AS INTEGER) AS heads FROM segment WHERE kind=1)"
    " WHERE added<>accepted-heads",
    "SELECT format('Segment %d is missing: segment %d follows segment %d.',before+1,id,before) FROM"
    " (SELECT id,coalesce(lag(id) OVER (ORDER BY id),0) AS before FROM segment) WHERE id<>before+1"
    /* but for those that were folded into others */
    " AND NOT(before>=(SELECT value FROM meta WHERE name='segments_before')"
    " AND id<=(SELECT value FROM meta WHERE name='segments_folding'))",
    /* the catalogue: a row must be the last declaration */
    THINGS "SELECT format('%s %d has %d declarations in force.',t.name,t.id,count(d.id)) FROM t"
    " LEFT JOIN declaration d ON d.kind=t.kind AND d.id=t.id AND d.to_us=" FOR_EVER
    " GROUP BY t.kind,t.id HAVING count(d.id)<>t.live",
    THINGS "SELECT format('%s %d is not what it was declared to be.',t.name,t.id) FROM t"
    " JOIN declaration d ON d.kind=t.kind AND d.id=t.id AND d.to_us=" FOR_EVER
    " WHERE t.live AND d.document<>t.document",
    THINGS "SELECT format('%s %d has no declaration since its beginning.',t.name,t.id) FROM t"
    " WHERE NOT EXISTS(SELECT 1 FROM declaration d WHERE d.kind=t.kind AND d.id=t.id"
    " AND d.from_us=-9223372036854775807-1)",
    THINGS "SELECT format('A declaration is of the %s %d, which does not exist.',kind,id) FROM"
    " declaration d WHERE NOT EXISTS(SELECT 1 FROM t WHERE t.kind=d.kind AND t.id=d.id)"
    " GROUP BY kind,id",
    "SELECT format('Account %d has %d pull zones; %s are counted.',coalesce(z.account,c.account),"
    "coalesce(z.n,0),coalesce(c.n,'none')) FROM (SELECT account,sum(deleted_us=" FOR_EVER ") AS n"
    " FROM zone GROUP BY account) AS z FULL JOIN zone_count c ON c.account=z.account"
    " WHERE z.n IS NOT c.n",
    THINGS "SELECT format('%s %d is not of the account that its document names.',name,id) FROM t"
    " WHERE account IS NOT iif(json_valid(document),document->>'$.account',-1)"
    " AND kind<>'account'",
    /* while they exist: a catalogue may name a zone under one that has ended and under its next */
    "SELECT format('Pull zone %d has two load balancers at once: %d and another.',zone,balancer)"
    " FROM (SELECT zone,balancer,from_us,max(to_us) OVER (PARTITION BY zone ORDER BY from_us"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until FROM (SELECT zone,balancer,"
    "max(from_us,coalesce(created_us,from_us)) AS from_us,min(to_us,coalesce(ended_us,to_us)) AS to_us"
    " FROM attachment LEFT JOIN balancer ON balancer.id=attachment.balancer) WHERE to_us>from_us)"
    " WHERE until>from_us",
    "SELECT format('Load balancer %d is declared with %d pull zones; %d are attached.',id,n,m) FROM"
    " (SELECT id,iif(json_valid(document),json_array_length(document,'$.zones'),-1) AS n,"
    "(SELECT count(*) FROM attachment WHERE balancer=balancer.id AND to_us=" FOR_EVER ") AS m"
    " FROM balancer WHERE deleted_us=" FOR_EVER ") WHERE n<>m",
    /* meters */
    "SELECT format('Meter series %d is of account %d; %s %s is of account %s.',s.id,s.account,"
    METER_NOUN ",s.resource,coalesce(r.account,'?')) FROM meter_series s JOIN meter m ON m.id=s.meter LEFT JOIN"
    " meter_resource r ON r.noun=" METER_NOUN " AND r.name=s.resource WHERE r.account IS NOT s.account",
    "SELECT format('Resource %s %s was named by segment %d, which is not there.',noun,name,segment) FROM meter_resource"
    " WHERE segment NOT IN(SELECT id FROM segment)",
    "SELECT format('Meter series %d has values of segment %d, which is not there.',series,segment) FROM gauge"
    " WHERE segment NOT IN(SELECT id FROM segment) GROUP BY 1",
    "SELECT format('Meter series %d has values of segment %d that count until version %d; it was withdrawn in %s.',"
    "g.series,g.segment,g.gone_version,coalesce(w.version,'none')) FROM gauge g LEFT JOIN withdrawal w ON"
    " w.segment=g.segment WHERE g.gone_version IS NOT coalesce(w.version," FOR_EVER ") GROUP BY 1",
    "SELECT format('Meter series %d has values, but its meter is no gauge.',g.series) FROM gauge g JOIN meter_series s ON"
    " s.id=g.series JOIN meter m ON m.id=s.meter WHERE iif(json_valid(m.document),m.document->>'$.kind','')<>'gauge'"
    " GROUP BY g.series",
    "SELECT format('Key %d is of account %d, which does not exist.',id,account) FROM key"
    " WHERE account>0 AND account NOT IN(SELECT id FROM account)",
    "SELECT format('Audit entry %d is of key %d, which does not exist.',id,\"key\") FROM audit"
    " WHERE \"key\">0 AND \"key\" NOT IN(SELECT id FROM key)",
};

/* SQLite's check reports a page that it had no memory for as if the page were damaged. */
static bool is_out_of_memory(const char *sentence)
{
    static const char code[] = "error code=7"; /* SQLITE_NOMEM */
    const char *at = strstr(sentence, code);
    return at && (at[sizeof code - 1] < '0' || at[sizeof code - 1] > '9');
}

/* Table-valued pragmas turn the file's own checks into rows; a reader may use them. A difference is looked up a
 * second time before it is reported: an SQL function that was out of memory for a moment may have returned NULL. */
tb_code tb__verify_reference(tb__verify *v, const char *sql, tb_error *err)
{
    sqlite3_stmt *s;
    bool again = false;
    int rc = sqlite3_prepare_v2(v->store->db, sql, -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (!again) {
            again = true;
            sqlite3_reset(s);
            continue;
        }
        const char *sentence = (const char *)sqlite3_column_text(s, 0);
        if (!sentence || is_out_of_memory(sentence)) {
            rc = SQLITE_NOMEM;
            break;
        }
        tb__differs(v, "%s", sentence);
    }
    tb_code code =
        rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    sqlite3_finalize(s);
    return code;
}

/* Damage is what verify looks for; everything else stops it. SQLite calls a statement of ours an
 * error (ours: internal) only where a table or column is not there. */
tb_code tb__verify_note(tb__verify *v, tb_code code, const tb_error *err)
{
    if (code != TB_E_CORRUPT && code != TB_E_NOT_OURS && code != TB_E_INTERNAL) return code;
    v->damaged = true;
    tb__differs(v, "%s", err->message);
    return TB_OK;
}

static tb_code verify_references(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    return code;
}

/* --- sums of segments --- */

/* Decimal digits only, up to 38 of them: no sum of counters is longer. */
static bool parse_sum(const char *digits, int len, tb_u128 *ret)
{
    tb_u128 value = 0;
    if (!digits || len < 1 || len >= TB_U128_TEXT_MAX) return false;
    for (int i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9') return false;
        value = value * 10 + (unsigned)(digits[i] - '0');
    }
    *ret = value;
    return true;
}

/* What all segments together say they added. */
typedef struct added {
    tb_u128 metric[TB_METRIC_COUNT];
    tb_u128 country_requests, country_bytes, rejects_kept, rung_seals;
    tb_u128 ambiguous, heads; /* stored nowhere else */
    tb_u128 cells, metered, samples; /* likewise: withdrawing uses them */
} added;

static int metric_named(const char *name)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (strcmp(tb_metric_table[m].name, name) == 0) return m;
    return -1;
}

/* Where a segment's sum of this name goes; NULL: there is no such sum. */
static tb_u128 *sum_named(added *sums, const char *name)
{
    if (strcmp(name, TB__COUNTRY_REQUESTS) == 0) return &sums->country_requests;
    if (strcmp(name, TB__COUNTRY_BYTES) == 0) return &sums->country_bytes;
    if (strcmp(name, TB__REJECTS_KEPT) == 0) return &sums->rejects_kept;
    if (strcmp(name, TB__RUNG_SEALS) == 0) return &sums->rung_seals;
    if (strcmp(name, TB__AMBIGUOUS) == 0) return &sums->ambiguous;
    if (strcmp(name, TB__HEADS) == 0) return &sums->heads;
    if (strcmp(name, TB__CELLS) == 0) return &sums->cells;
    if (strcmp(name, TB__METERED) == 0) return &sums->metered;
    if (strcmp(name, TB__SAMPLES) == 0) return &sums->samples;
    int m = metric_named(name);
    return m >= 0 && tb_metric_table[m].how == TB_HOW_SUM ? &sums->metric[m] : NULL;
}

static tb_code add_segments(tb__verify *v, added *sums, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SUMS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        bool null = sqlite3_column_type(s, 2) == SQLITE_NULL;
        const char *name = (const char *)sqlite3_column_text(s, 1);
        const char *digits = (const char *)sqlite3_column_text(s, 2);
        if (!name || (!digits && !null)) return tb_no_memory(err);
        tb_u128 sum, *to = sum_named(sums, name);
        if (!to || !parse_sum(digits, sqlite3_column_bytes(s, 2), &sum))
            tb__differs(v, "Segment %lld: its sum of %s cannot be read.",
                        (long long)sqlite3_column_int64(s, 0), name);
        else
            *to += sum;
    }
    return code;
}

/* Adds the sums of expired days to the stored ones. */
static tb_code add_gone(tb__verify *v, tb_error *err)
{
    added sums = {.rung_seals = 0};
    sqlite3_stmt *s = NULL;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_GONE, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        const char *name = (const char *)sqlite3_column_text(s, 1);
        const char *digits = (const char *)sqlite3_column_text(s, 2);
        tb_u128 sum, *to = name ? sum_named(&sums, name) : NULL;
        if (!name || !digits) return tb_no_memory(err);
        if (!to || !parse_sum(digits, sqlite3_column_bytes(s, 2), &sum))
            tb__differs(v, "Account %lld: the sum of %s of what went cannot be read.",
                        (long long)sqlite3_column_int64(s, 0), name);
        else
            *to += sum;
    }
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        v->sums[m] += sums.metric[m];
    v->country_requests += sums.country_requests;
    v->country_bytes += sums.country_bytes;
    return code;
}

/* Usage that is not billed, since it arrived when its month was closed. */
static tb_code remark_closed(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = false;
    tb_code code = tb__verify_sql(v, TB__V_CLOSED_LATE, NULL, 0, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    const long long n = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    if (n)
        tb__remarks(v, "%lld %s of usage came for months whose hours are no longer kept: counted, and not "
                       "billed (SELECT * FROM late).",
                    n, n == 1 ? "day" : "days");
    return TB_OK;
}

static void compare_sum(tb__verify *v, const char *what, const char *parts, tb_u128 expected,
                        tb_u128 found)
{
    char said[TB_U128_TEXT_MAX + 1], there[TB_U128_TEXT_MAX + 1];
    if (expected == found) return;
    *tb_put_u128(said, expected) = 0;
    *tb_put_u128(there, found) = 0;
    tb__differs(v, "All batches together added %s of %s; the %s sum to %s.", said, what, parts,
                there);
}

/* Those that went with their segments. */
static tb_code sum_withdrawn(tb__verify *v, uint64_t *ret_sum, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    *ret_sum = 0;
    tb_code code = tb__verify_sql(v, TB__V_RUNGS_WITHDRAWN, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        *ret_sum += (uint64_t)sqlite3_column_int64(s, 0);
    return code;
}

static tb_code verify_sums(tb__verify *v, tb_error *err)
{
    added sums = {.rung_seals = 0};
    tb_u128 rungs = 0;
    int64_t before = 0;
    uint64_t withdrawn = 0;
    tb_code code = add_segments(v, &sums, err);
    if (!code) code = add_gone(v, err);
    if (!code) code = remark_closed(v, err);
    if (!code) code = tb__sum_rungs(v, &rungs, err);
    if (!code) code = sum_withdrawn(v, &withdrawn, err);
    if (!code) code = tb__meta_get(v->store, "rungs_before", &before, err);
    if (code) return code;
    if ((uint64_t)rungs != (uint64_t)sums.rung_seals + (uint64_t)before - withdrawn)
        tb__differs(v, "The hashes of inputs' beginnings (rungs) are not those that were written.");
    if (v->damaged) return TB_OK;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (tb_metric_table[m].how == TB_HOW_SUM)
            compare_sum(v, tb_metric_table[m].name, "hours", sums.metric[m], v->sums[m]);
    if (v->countries_damaged) return TB_OK;
    compare_sum(v, "countries' requests", "days", sums.country_requests, v->country_requests);
    compare_sum(v, "countries' bytes", "days", sums.country_bytes, v->country_bytes);
    return TB_OK;
}

static tb_code verify_newest(tb__verify *v, tb_error *err)
{
    int64_t newest = 0;
    tb_code code = tb__meta_get(v->store, "newest_hour", &newest, err);
    if (code || (newest >= v->newest_hour && tb_month_from_day(tb__floor_div(newest, 24)) < v->kept_most))
        return code; /* that hour may be gone */
    if (!code && !v->damaged && newest != v->newest_hour)
        tb__differs(v, "The newest hour is noted as %lld hours since 1970; it is %lld.",
                    (long long)newest, (long long)v->newest_hour);
    return code;
}

/* --- the whole --- */

static tb_code load_kept(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = false;
    tb_code code = tb__verify_sql(v, TB__V_KEPT_MOST, NULL, 0, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    v->kept_most = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

void tb__verify_differ(void *v, const char *sentence)
{
    tb__differs(v, "%s", sentence);
}

/* Counters that are elsewhere. */
static tb_code verify_elsewhere(tb__verify *v, tb_error *err)
{
    tb__held_sums sums = {.newest_hour = INT64_MIN};
    tb_code code = v->store->plane.counters->verify(v->store, &sums, tb__verify_differ, v, err);
    memcpy(v->sums, sums.metric, sizeof v->sums);
    v->country_requests = sums.country_requests;
    v->country_bytes = sums.country_bytes;
    v->newest_hour = sums.newest_hour == INT64_MIN ? TB__NO_HOUR : sums.newest_hour;
    return code;
}

static tb_code verify_counters(tb__verify *v, tb_error *err)
{
    static tb_code (*const parts[])(tb__verify *, tb_error *) = {
        tb__verify_runs, tb__verify_zones, tb__verify_accounts, tb__verify_balancers, tb__verify_meters,
    };
    tb_code code = TB_OK;
    if (v->store->control) {
        v->damaged = true; /* there are no sums to compare with */
        tb__remarks(v, "The usage is on servers, and was not checked.");
        return TB_OK;
    }
    if (v->store->plane.counters->verify) return verify_elsewhere(v, err);
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
        code = tb__verify_note(v, parts[i](v, err), err);
    return code;
}

static tb_code verify_all(tb__verify *v, tb_error *err)
{
    static tb_code (*const parts[])(tb__verify *, tb_error *) = {
        tb__verify_schema, verify_references,   tb__verify_sealed,    tb__verify_roles, load_kept,
        tb__verify_derived, verify_counters,    verify_sums,
        verify_newest,     tb__verify_trees,    tb__verify_billing,  tb__verify_prepaid,  tb__verify_chains,
        tb__verify_plans,  tb__verify_logs,     tb__verify_events,   tb__verify_event_ids, tb__verify_containers,
        tb__verify_declared, tb__verify_pieces,   tb__verify_proof,
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
        code = tb__verify_note(v, parts[i](v, err), err);
    return code;
}

tb_code tb_store_verify(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                        tb_error *err)
{
    tb__verify v = {.store = store, .say = say, .ctx = ctx, .newest_hour = TB__NO_HOUR};
    tb_error own;
    if (!err) err = &own; /* the parts' sentences are needed */
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    tb_code code = own_snapshot ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = verify_all(&v, err);
    for (int i = 0; i < TB__V_COUNT; i++)
        sqlite3_finalize(v.statement[i]);
    if (own_snapshot) tb_store_read_end(store);
    if (!code) *ret_differences = v.differences;
    return code;
}
