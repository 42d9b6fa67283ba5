/* An account as bills see it: its zones, balancers and attachments with their histories, as known
 * at a data version, and the series that hold their usage. Three statements list it; it is kept
 * while the file stays the same, so that the months of a year cost one reading. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

void tb__billing_free(struct tb__billing *b)
{
    if (!b) return;
    void *const lists[] = {b->account_terms, b->zones,      b->terms,          b->spells, b->series,
                           b->balancers,     b->ties,       b->places,         b->late,   b->parts,
                           b->bytes,         b->optimizers, b->bill_balancers, b->cuts,   b->days,
                           b->faults,        b->meters,     b->bill_meters,    b->bill_usage,
                           b->bill_samples,  b->intervals,  b->fee_spells,     b->bill_fees, b->other_parts,
                           b->used,          b->gauges,     b->seen.gaps};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    tb__meter_list_release(&b->metered);
    free(b);
}

/* --- declarations --- */

/* A row of declaration. What was closed later than `known` was open then. */
typedef struct declared {
    int64_t from_us, to_us, id;
    int64_t first_us; /* when the thing was declared first */
    const char *text;
    size_t len;
} declared;

static declared declared_from(sqlite3_stmt *s, int64_t known)
{
    declared d = {.from_us = sqlite3_column_int64(s, 0), .to_us = sqlite3_column_int64(s, 1)};
    if (sqlite3_column_int64(s, 2) > known) d.to_us = INT64_MAX;
    d.text = (const char *)sqlite3_column_text(s, 3);
    d.len = (size_t)sqlite3_column_bytes(s, 3);
    d.first_us = sqlite3_column_int64(s, 4);
    if (sqlite3_column_count(s) > 5) d.id = sqlite3_column_int64(s, 5);
    return d;
}

/* *ret_fault: the number of the stored fault; 0: none. */
static tb_code note_fault(struct tb__billing *b, const tb_error *why, uint32_t *ret_fault,
                          tb_error *err)
{
    *ret_fault = 0;
    if (why->code == TB_OK) return TB_OK;
    tb_code code = TB__GROW(b, faults, err);
    if (code) return code;
    b->faults[b->n_faults++] = *why;
    *ret_fault = (uint32_t)b->n_faults;
    return TB_OK;
}

tb_code tb__fail_by(const tb__billing *b, uint32_t fault, tb_error *err)
{
    const tb_error *why = &b->faults[fault - 1];
    return tb_fail(err, why->code, why->field, "%s", why->message);
}

static tb_code add_spell(struct tb__billing *b, tb__slice *slice, const declared *d, tb_error *err)
{
    tb_code code = TB__GROW(b, spells, err);
    if (code) return code;
    b->spells[b->n_spells++] = (tb__spell){d->from_us, d->to_us};
    slice->n++;
    return TB_OK;
}

/* What the last declaration says of its beginning and end holds for the whole. */
static void clip(struct tb__billing *b, tb__slice slice, int64_t from_us, int64_t to_us)
{
    for (size_t i = slice.first; i < slice.first + slice.n; i++) {
        b->spells[i].from_us = tb__later(b->spells[i].from_us, from_us);
        b->spells[i].to_us = tb__earlier(b->spells[i].to_us, to_us);
    }
}

/* --- fees --- */

typedef struct fee_row {
    struct tb__billing *b;
    const declared *d;
    int owner;
    int64_t owner_id;
} fee_row;

static tb_code add_fee(void *ctx, const char *id, size_t len, int64_t quantity, tb_error *err)
{
    const fee_row *row = ctx;
    struct tb__billing *b = row->b;
    tb_code code = TB__GROW(b, fee_spells, err);
    if (code) return code;
    tb__fee_spell *spell = &b->fee_spells[b->n_fee_spells++];
    *spell = (tb__fee_spell){.from_us = row->d->from_us, .to_us = row->d->to_us, .declared_us = row->d->first_us};
    spell->of.owner = row->owner;
    spell->of.owner_id = row->owner_id;
    spell->of.quantity = quantity;
    memcpy(spell->of.id, id, len);
    return TB_OK;
}

static tb_code add_fees(struct tb__billing *b, int owner, int64_t owner_id, const declared *d, tb_error *err)
{
    static const char *const who[] = {
        [TB_FEE_OF_ACCOUNT] = "Account", [TB_FEE_OF_ZONE] = "Pull zone", [TB_FEE_OF_BALANCER] = "Load balancer"};
    fee_row row = {b, d, owner, owner_id};
    return tb__fees_of(d->text, d->len, who[owner], owner_id, add_fee, &row, err);
}

/* As clip: of the fees of one owner, which are the last. */
static void clip_fees(struct tb__billing *b, int owner, int64_t owner_id, int64_t from_us, int64_t to_us)
{
    for (size_t i = b->n_fee_spells; i-- > 0;) {
        tb__fee_spell *spell = &b->fee_spells[i];
        if ((int)spell->of.owner != owner || spell->of.owner_id != owner_id) return;
        spell->from_us = tb__later(spell->from_us, from_us);
        spell->to_us = tb__earlier(spell->to_us, to_us);
    }
}

/* --- the account --- */

static tb_code add_account_row(struct tb__billing *b, const declared *d, tb_error *err)
{
    tb_error why[TB__PARTS];
    tb_code code = TB__GROW(b, account_terms, err);
    if (code) return code;
    tb__account_terms *terms = &b->account_terms[b->n_account_terms];
    code = tb__account_terms_of(d->text, d->len, b->account, terms, why, err);
    for (int i = 0; !code && i < TB__PARTS; i++)
        code = note_fault(b, &why[i], &terms->fault[i], err);
    if (code) return code;
    terms->from_us = d->from_us;
    terms->to_us = d->to_us;
    b->n_account_terms++;
    return add_fees(b, TB_FEE_OF_ACCOUNT, b->account, d, err);
}

static tb_code load_account(tb_store *store, struct tb__billing *b, tb_error *err)
{
    const int64_t values[2] = {b->account, b->known};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_ACCOUNT, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        declared d = declared_from(s, b->known);
        b->declared_us = d.first_us;
        code = add_account_row(b, &d, err);
        if (code) sqlite3_reset(s);
    }
    for (size_t i = 0; !code && i + 1 < b->n_account_terms; i++)
        code = tb__keep_currency(store, b->account, b->account_terms[b->n_account_terms - 1].currency,
                                 b->account_terms[i].currency, err);
    return code;
}

/* --- zones --- */

static tb_code add_zone_row(struct tb__billing *b, const declared *d, int64_t *created_us,
                            tb_error *err)
{
    tb_code code = TB_OK;
    if (!b->n_zones || b->zones[b->n_zones - 1].id != d->id) {
        code = TB__GROW(b, zones, err);
        if (code) return code;
        b->zones[b->n_zones++] =
            (tb__billed_zone){.id = d->id, .terms = {b->n_terms, 0}, .spells = {b->n_spells, 0}};
    }
    tb__billed_zone *zone = &b->zones[b->n_zones - 1];
    tb_error why = {0};
    code = TB__GROW(b, terms, err);
    if (code) return code;
    tb__terms *terms = &b->terms[b->n_terms];
    code = tb__zone_terms(d->text, d->len, d->id, terms, created_us, &why, err);
    if (!code) code = note_fault(b, &why, &terms->fault, err);
    if (code) return code;
    terms->from_us = d->from_us;
    b->n_terms++;
    zone->terms.n++;
    code = add_spell(b, &zone->spells, d, err);
    return code ? code : add_fees(b, TB_FEE_OF_ZONE, d->id, d, err);
}

/* The last zone has all its rows. */
static void end_zone(struct tb__billing *b, int64_t created_us)
{
    if (!b->n_zones) return;
    const tb__billed_zone *zone = &b->zones[b->n_zones - 1];
    clip(b, zone->spells, created_us, INT64_MAX);
    clip_fees(b, TB_FEE_OF_ZONE, zone->id, created_us, INT64_MAX);
}

static tb_code load_zones(tb_store *store, struct tb__billing *b, tb_error *err)
{
    const int64_t values[4] = {b->account, b->known, b->zones_of.first, b->zones_of.last};
    int64_t created_us = INT64_MIN;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_ZONES, values, 4, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        declared d = declared_from(s, b->known);
        if (b->n_zones && b->zones[b->n_zones - 1].id != d.id) end_zone(b, created_us);
        code = add_zone_row(b, &d, &created_us, err);
        if (code) sqlite3_reset(s);
    }
    end_zone(b, created_us);
    return code;
}

/* Both lists ascend by zone. Zones that were not known yet are passed over. */
static tb_code load_series(tb_store *store, struct tb__billing *b, tb_error *err)
{
    const int64_t values[3] = {b->account, b->zones_of.first, b->zones_of.last};
    sqlite3_stmt *s;
    bool row = true;
    size_t at = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_SERIES, values, 3, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t zone = sqlite3_column_int64(s, 0), edge = sqlite3_column_int64(s, 1);
        while (at < b->n_zones && b->zones[at].id < zone)
            at++;
        if (edge == 0 || at == b->n_zones || b->zones[at].id != zone) continue;
        code = TB__GROW(b, series, err);
        if (code) {
            sqlite3_reset(s);
            break;
        }
        tb__slice *own = &b->zones[at].series;
        if (!own->n) own->first = b->n_series;
        own->n++;
        b->series[b->n_series++] = (tb__placed){edge, sqlite3_column_int64(s, 2)};
    }
    return code;
}

/* --- balancers --- */

static tb_code add_balancer_row(struct tb__billing *b, const declared *d, tb_error *err)
{
    tb_code code = TB_OK;
    if (!b->n_balancers || b->balancers[b->n_balancers - 1].id != d->id) {
        code = TB__GROW(b, balancers, err);
        if (code) return code;
        b->balancers[b->n_balancers++] =
            (tb__billed_balancer){.id = d->id, .spells = {b->n_spells, 0}};
    }
    tb__billed_balancer *own = &b->balancers[b->n_balancers - 1];
    code = tb__balancer_span(d->text, d->len, d->id, &own->created_us, &own->ended_us, err);
    if (!code) code = add_spell(b, &own->spells, d, err);
    return code ? code : add_fees(b, TB_FEE_OF_BALANCER, d->id, d, err);
}

static tb_code load_balancers(tb_store *store, struct tb__billing *b, tb_error *err)
{
    const int64_t values[2] = {b->account, b->known};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_BALANCERS, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        declared d = declared_from(s, b->known);
        const tb__billed_balancer *last = b->n_balancers ? &b->balancers[b->n_balancers - 1] : NULL;
        if (last && last->id != d.id) clip_fees(b, TB_FEE_OF_BALANCER, last->id, last->created_us, last->ended_us);
        code = add_balancer_row(b, &d, err);
        if (code) sqlite3_reset(s);
    }
    for (size_t i = 0; !code && i < b->n_balancers; i++) {
        tb__billed_balancer *own = &b->balancers[i];
        if (i + 1 == b->n_balancers) clip_fees(b, TB_FEE_OF_BALANCER, own->id, own->created_us, own->ended_us);
        clip(b, own->spells, own->created_us, own->ended_us);
        code = tb__int_of(store, TB__SQL_BALANCER_SERIES, &own->id, 1, 0, &own->series, err);
    }
    return code;
}

/* A zone that was not known at that version cannot have been attached then, so none is looked up.
 */
static tb_code load_ties(tb_store *store, struct tb__billing *b, tb_error *err)
{
    const int64_t values[2] = {b->account, b->known};
    sqlite3_stmt *s;
    bool row = true;
    size_t at = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_TIES, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t balancer = sqlite3_column_int64(s, 0), to_us = sqlite3_column_int64(s, 3);
        while (at < b->n_balancers && b->balancers[at].id < balancer)
            at++;
        if (at == b->n_balancers || b->balancers[at].id != balancer) continue;
        code = TB__GROW(b, ties, err);
        if (code) {
            sqlite3_reset(s);
            break;
        }
        tb__billed_balancer *own = &b->balancers[at];
        if (sqlite3_column_int64(s, 4) > b->known) to_us = INT64_MAX;
        if (!own->ties.n) own->ties.first = b->n_ties;
        own->ties.n++;
        b->ties[b->n_ties++] = (tb__tie){sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 5),
                                         tb__later(sqlite3_column_int64(s, 2), own->created_us),
                                         tb__earlier(to_us, own->ended_us)};
    }
    return code;
}

/* --- the whole --- */

static tb_code billing_of(tb_store *store, struct tb__billing **ret, tb_error *err)
{
    if (!store->billing) store->billing = calloc(1, sizeof *store->billing);
    *ret = store->billing;
    return store->billing ? TB_OK : tb_no_memory(err);
}

static tb_code load_base(tb_store *store, struct tb__billing *b, tb_error *err)
{
    b->n_account_terms = b->n_zones = b->n_terms = b->n_spells = b->n_series = 0;
    b->n_balancers = b->n_ties = b->n_faults = b->n_fee_spells = 0;
    b->zones_of = TB__NO_ZONES;
    b->metered_loaded = false;
    tb_code code = tb_store_kept(store, b->account, &b->kept, err);
    if (!code) code = load_account(store, b, err);
    if (!code) code = load_balancers(store, b, err);
    b->n_base_spells = b->n_spells;
    b->n_base_faults = b->n_faults;
    b->n_base_fee_spells = b->n_fee_spells;
    tb__fee_spells_sort(b->fee_spells, b->n_fee_spells);
    return code || !b->n_balancers ? code : load_ties(store, b, err);
}

/* In the place of those that were loaded. */
static tb_code load_range(tb_store *store, struct tb__billing *b, tb__zone_range zones,
                          tb_error *err)
{
    b->n_zones = b->n_terms = b->n_series = 0;
    b->n_spells = b->n_base_spells;
    b->n_faults = b->n_base_faults;
    b->n_fee_spells = b->n_base_fee_spells;
    b->zones_of = zones;
    tb_code code = load_zones(store, b, err);
    tb__fee_spells_sort(b->fee_spells + b->n_base_fee_spells, b->n_fee_spells - b->n_base_fee_spells);
    return code ? code : load_series(store, b, err);
}

tb_code tb__billed_load(tb_store *store, int64_t account, int64_t known, tb__zone_range zones,
                        struct tb__billing **ret, tb_error *err)
{
    struct tb__billing *b;
    int64_t version = 0;
    tb_code code = billing_of(store, &b, err);
    if (!code) code = tb__meta_get(store, "data_version", &version, err);
    if (code) return code;
    /* What this transaction has changed has no version of its own yet: nothing of it is kept. */
    bool kept = b->account == account && b->version == version && b->known == known &&
                !store->billing_stale;
    b->account = account;
    b->version = b->file_version = version;
    b->known = known;
    if (!kept) code = load_base(store, b, err);
    bool there = b->zones_of.first == zones.first && b->zones_of.last == zones.last;
    if (!code && zones.first <= zones.last && !there) code = load_range(store, b, zones, err);
    if (code || store->billing_stale) b->version = -1;
    *ret = b;
    return code;
}

/* --- where locations are billed --- */

static tb_code add_place(struct tb__billing *b, sqlite3_stmt *s, tb_error *err)
{
    tb_code code = TB__GROW(b, places, err);
    if (code) return code;
    const char *edge = (const char *)sqlite3_column_text(s, 1);
    const char *billing = (const char *)sqlite3_column_text(s, 2);
    if (!edge || !billing) return tb_no_memory(err);
    tb__billed_place *place = &b->places[b->n_places++];
    *place = (tb__billed_place){.edge = sqlite3_column_int64(s, 0)};
    place->priced = tb_billing_region_parse(billing, &place->region);
    memcpy(place->code, edge, strnlen(edge, sizeof place->code - 1));
    return TB_OK;
}

/* The versions between which nothing changed about regions, around `known`. */
static tb_code load_changes(tb_store *store, int64_t known, tb_error *err)
{
    tb__billing *b = store->billing;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_PLACES_CHANGES, &known, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    b->places_from = sqlite3_column_int64(s, 0);
    b->places_to = sqlite3_column_int64(s, 1);
    sqlite3_reset(s);
    return TB_OK;
}

/* Nothing changed between places_from and places_to, so places read for any version in between can be reused. */
static bool places_kept(const tb__billing *b, int64_t priced, int64_t known)
{
    return b->n_places && b->places_version == b->file_version && known >= b->places_from &&
           (known < b->places_to || b->places_to == INT64_MAX) &&
           (priced == b->places_priced ||
            (priced >= b->places_from && b->places_priced >= b->places_from));
}

tb_code tb__places_load(tb_store *store, int64_t priced, int64_t known, tb_error *err)
{
    tb__billing *b = store->billing;
    const int64_t values[2] = {priced, known};
    sqlite3_stmt *s;
    bool row = true;
    if (places_kept(b, priced, known) && !store->billing_stale) return TB_OK;
    b->n_places = 0;
    b->places_priced = priced;
    tb_code code = load_changes(store, known, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_BILLED_PLACES, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_place(b, s, err);
        if (code) sqlite3_reset(s);
    }
    if (code) b->n_places = 0;
    b->places_version = store->billing_stale ? -1 : b->file_version;
    return code;
}
