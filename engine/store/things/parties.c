/* Parties out of the seller's and the account's documents, by the reading that the door judges them
 * with (model/parties.h), and names out of declarations. */
#include "tollbook/partystore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parties.h"
#include "store/core/internal.h"

/* Where a party's texts go while they are read. */
typedef struct taking {
    const tb__document *doc;
    tb__arena *kept;
    tb_parties *parties;
    int64_t month;
    const char *currency;
    tb_error *err;
} taking;

static const char *keep_party_text(const taking *t, const char *text, size_t len)
{
    char *copy = tb__arena_take(t->kept, len + 1);
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

static tb_code take_party(const taking *t, const tb__said_party *said, tb_party *ret)
{
    for (int i = 0; i < TB_PARTY_FIELDS; i++) {
        const tb__node *node = &t->doc->nodes[said->field[i]];
        if (!said->field[i]) continue;
        ret->text[i] = keep_party_text(t, node->text, node->len);
        if (!ret->text[i]) return tb_no_memory(t->err);
    }
    return TB_OK;
}

static tb_code refuse_party(const taking *t, const char *who, const tb__fault *fault)
{
    return tb_fail(t->err, TB_E_DECLARED, fault->path,
                   "The %s's %s must be %s. Apply a catalogue with such a value.", who, fault->path,
                   fault->wanted ? fault->wanted : "a key that is known");
}

/* --- the seller --- */

static tb_code take_rate(const taking *t, const tb__said_seller *said, tb_party *seller)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal rate;
    if (!seller->text[TB_PARTY_TAX_CURRENCY]) return TB_OK;
    if (strcmp(seller->text[TB_PARTY_TAX_CURRENCY], t->currency) == 0) {
        seller->text[TB_PARTY_TAX_CURRENCY] = NULL;
        return TB_OK;
    }
    if (!tb__declared_rate(t->doc, said, t->month, t->currency, &rate)) return TB_OK;
    seller->text[TB_PARTY_TAX_RATE] =
        keep_party_text(t, text, (size_t)(tb_decimal_put(text, rate) - text));
    return seller->text[TB_PARTY_TAX_RATE] ? TB_OK : tb_no_memory(t->err);
}

static tb_code take_seller(const taking *t)
{
    tb__said_seller said;
    tb__fault fault = {.path = ""};
    tb_party *seller = &t->parties->seller;
    if (!tb__declared_seller(t->doc, 0, &said, &fault)) return refuse_party(t, "seller", &fault);
    tb_code code = take_party(t, &said.party, seller);
    if (!code) code = take_rate(t, &said, seller);
    if (seller->text[TB_PARTY_PAYMENT_IBAN] && !seller->text[TB_PARTY_PAYMENT_MEANS])
        seller->text[TB_PARTY_PAYMENT_MEANS] = TB__PAYMENT_MEANS;
    t->parties->has_seller = true;
    t->parties->terms_days = said.terms_days;
    return code;
}

/* --- the buyer --- */

/* An unreadable tax is ignored here: it prevents the bill, which reports it. */
static tb_code take_tax(const taking *t)
{
    tb__tax list[TB__TAXES_MAX];
    tb__fault fault = {.path = ""};
    size_t n = 0;
    tb_parties *p = t->parties;
    const uint32_t at = tb__declared_member(t->doc, 0, "tax");
    if (!at || !tb__declared_tax(t->doc, at, list, &n, &fault) || n != 1 || !list[0].category[0])
        return TB_OK;
    snprintf(p->tax_category, sizeof p->tax_category, "%s", list[0].category);
    const tb__node *reason = list[0].reason, *code = list[0].code;
    if (reason && !(p->tax_reason = keep_party_text(t, reason->text, reason->len)))
        return tb_no_memory(t->err);
    if (code && !(p->tax_reason_code = keep_party_text(t, code->text, code->len)))
        return tb_no_memory(t->err);
    return TB_OK;
}

static tb_code take_account(const taking *t)
{
    tb__said_party said;
    tb__fault fault = {.path = ""};
    const uint32_t buyer = tb__declared_member(t->doc, 0, "buyer");
    const uint32_t terms = tb__declared_member(t->doc, 0, "terms_days");
    if (terms && !tb__declared_terms(t->doc, terms, &t->parties->terms_days, &fault)) {
        snprintf(fault.path, sizeof fault.path, "terms_days");
        return refuse_party(t, "account", &fault);
    }
    tb_code code = take_tax(t);
    if (code || !buyer) return code;
    if (!tb__declared_buyer(t->doc, buyer, &said, &fault)) return refuse_party(t, "buyer", &fault);
    t->parties->has_buyer = true;
    return take_party(t, &said, &t->parties->buyer);
}

/* --- documents --- */

static tb_code with_document(const taking *t, sqlite3_stmt *s, tb_code (*take)(const taking *))
{
    tb__arena strings;
    tb__document doc;
    const char *text = (const char *)sqlite3_column_text(s, 0);
    if (!text) return tb_no_memory(t->err);
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(text, (size_t)sqlite3_column_bytes(s, 0), TB_E_CORRUPT,
                                      &strings, NULL, &doc, t->err);
    if (!code) {
        taking now = *t;
        now.doc = &doc;
        code = take(&now);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

/* Hands the document that a statement gives for an id to `take`; *ret_row: there is one. */
static tb_code read_document(tb_store *store, tb__statement id, int64_t value, taking *t,
                             tb_code (*take)(const taking *), bool *ret_row)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, id, &value, 1, &s, t->err);
    if (!code) code = tb__step(store, s, ret_row, t->err);
    if (code || !*ret_row) return code;
    code = with_document(t, s, take);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_parties(tb_store *store, int64_t account, int64_t month, const char currency[4],
                         tb_parties *ret_parties, tb_error *err)
{
    tb_parties parties = {.terms_days = -1};
    taking t = {.parties = &parties, .month = month, .currency = currency, .err = err};
    bool row = false;
    t.kept = malloc(sizeof *t.kept);
    if (!t.kept) return tb_no_memory(err);
    tb__arena_init(t.kept, NULL);
    parties.memory = t.kept;
    tb_code code = read_document(store, TB__SQL_SELLER_NOW, 1, &t, take_seller, &row);
    if (!code) code = read_document(store, TB__SQL_ACCOUNT_GET, account, &t, take_account, &row);
    if (!code && !row) code = tb__no_account("account", account, err);
    if (code)
        tb_parties_release(&parties);
    else
        *ret_parties = parties;
    return code;
}

void tb_parties_release(tb_parties *parties)
{
    tb__arena *kept = parties->memory;
    if (kept) tb__arena_release(kept);
    free(kept);
    *parties = (tb_parties){.terms_days = -1};
}

/* --- names --- */

/* Row for row as the statement gives them: 0 and the account, then its zones. Texts are offsets + 1
 * in one buffer until that stays where it is. */
typedef struct naming {
    tb_zone_name *zones;
    size_t n, cap;
    tb_buf texts;
} naming;

static const char *note_text(naming *all, const char *text)
{
    const size_t at = all->texts.len;
    if (!text) return NULL;
    tb_buf_add(&all->texts, text, strlen(text) + 1);
    return (const char *)(uintptr_t)(at + 1);
}

static tb_code note_row(naming *all, sqlite3_stmt *s, tb_error *err)
{
    if (all->n == all->cap) {
        const size_t cap = all->cap ? all->cap * 2 : 16;
        void *zones = realloc(all->zones, cap * sizeof *all->zones);
        if (!zones) return tb_no_memory(err);
        all->zones = zones;
        all->cap = cap;
    }
    const char *name = note_text(all, (const char *)sqlite3_column_text(s, 1));
    const char *labels = note_text(all, (const char *)sqlite3_column_text(s, 2));
    all->zones[all->n++] = (tb_zone_name){sqlite3_column_int64(s, 0), name, labels};
    return TB_OK;
}

static const char *text_at(const char *texts, const char *noted)
{
    return noted ? texts + ((uintptr_t)noted - 1) : NULL;
}

/* One block: the rows, and the texts behind them. */
static tb_code settle(const naming *all, tb_invoice_names *ret, tb_error *err)
{
    tb_zone_name *block = malloc(all->n * sizeof *block + all->texts.len);
    if (!block) return tb_no_memory(err);
    char *texts = (char *)(block + all->n);
    if (all->texts.len) memcpy(texts, all->texts.data, all->texts.len);
    for (size_t i = 0; i < all->n; i++) {
        const tb_zone_name *z = &all->zones[i];
        /* the account's row goes last, so that the block begins with the zones */
        block[i ? i - 1 : all->n - 1] =
            (tb_zone_name){z->zone, text_at(texts, z->name), text_at(texts, z->labels)};
    }
    const tb_zone_name *account = &block[all->n - 1];
    *ret = (tb_invoice_names){account->name, account->labels, block, all->n - 1, NULL};
    return TB_OK;
}

tb_code tb_store_invoice_names(tb_store *store, int64_t account, int64_t at_us,
                               tb_invoice_names *ret_names, tb_error *err)
{
    const int64_t values[2] = {account, at_us};
    naming all = {.n = 0};
    sqlite3_stmt *s;
    bool row = true;
    tb_buf_init(&all.texts, (size_t)256 << 20, NULL);
    tb_code code = tb__sql_ints(store, TB__SQL_INVOICE_NAMES, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = note_row(&all, s, err);
        if (code) sqlite3_reset(s);
    }
    if (!code) code = tb_buf_check(&all.texts, err);
    if (!code && all.n == 0) code = tb__no_account("account", account, err);
    if (!code) code = settle(&all, ret_names, err);
    tb_buf_release(&all.texts);
    free(all.zones);
    return code;
}

void tb_invoice_names_release(tb_invoice_names *names)
{
    free((void *)(uintptr_t)names->zones);
    *names = (tb_invoice_names){.n_zones = 0};
}
