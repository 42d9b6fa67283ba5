/* A book's JSON to a tb_book: the whole document is parsed (document.h), then walked (book_walk.h) along the tables
 * here and in book_meters.c.
 *
 * The walk is as deep as the tables are: no document decides it. */
#include "tollbook/book.h"

#include "billing/book_walk.h"
#include "tollbook/calendar.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* --- names --- */

static const char *const region_names[TB_BILLING_REGION_COUNT] = {
#define TB_X(name) #name,
    TB_BILLING_REGIONS(TB_X)
#undef TB_X
};

const char *tb_billing_region_name(tb_billing_region region)
{
    return (unsigned)region < TB_BILLING_REGION_COUNT ? region_names[region] : "";
}

bool tb_billing_region_parse(const char *name, tb_billing_region *ret)
{
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        if (strcmp(name, region_names[r]) != 0) continue;
        *ret = (tb_billing_region)r;
        return true;
    }
    return false;
}

static const char *const account_names[TB_BOOK_ACCOUNT_COUNT][2] = {
#define TB_X(e, name, code) [TB_ACCOUNT_##e] = {name, code},
    TB_BOOK_ACCOUNTS(TB_X)
#undef TB_X
};

const char *tb_book_account_name(tb_book_account account)
{
    return (unsigned)account < TB_BOOK_ACCOUNT_COUNT ? account_names[account][0] : "";
}

const char *tb_book_account_code(tb_book_account account)
{
    return (unsigned)account < TB_BOOK_ACCOUNT_COUNT ? account_names[account][1] : "";
}

/* ISO 4217's currencies without two digits. */
static const struct {
    char code[4];
    int digits;
} minor_table[] = {
    {"BIF", 0}, {"CLP", 0}, {"DJF", 0}, {"GNF", 0}, {"ISK", 0}, {"JPY", 0}, {"KMF", 0}, {"KRW", 0}, {"PYG", 0},
    {"RWF", 0}, {"UGX", 0}, {"UYI", 0}, {"VND", 0}, {"VUV", 0}, {"XAF", 0}, {"XOF", 0}, {"XPF", 0}, {"BHD", 3},
    {"IQD", 3}, {"JOD", 3}, {"KWD", 3}, {"LYD", 3}, {"OMR", 3}, {"TND", 3}, {"CLF", 4}, {"UYW", 4},
};

int tb_currency_minor_digits(const char *currency)
{
    for (size_t i = 0; i < sizeof minor_table / sizeof *minor_table; i++)
        if (strcmp(currency, minor_table[i].code) == 0) return minor_table[i].digits;
    return 2;
}

/* --- setters of single values --- */

static tb_code set_currency(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    bool ok = node->len == 3;
    for (uint32_t i = 0; ok && i < 3; i++)
        ok = node->text[i] >= 'A' && node->text[i] <= 'Z';
    if (!ok) return tb__book_refuse(p, value, "Must be three capital letters such as USD.");
    memcpy(to, node->text, 3);
    ((char *)to)[3] = 0;
    return TB_OK;
}

static tb_code set_effective(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    int64_t us;
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    if (tb_rfc3339_parse(node->text, node->len, &us, NULL) != TB_OK)
        return tb__book_refuse(p, value, "Must be an RFC 3339 time such as 2026-01-01T00:00:00Z.");
    if (us % TB_US_PER_HOUR != 0) return tb__book_refuse(p, value, "Must be on an hour.");
    *(int64_t *)to = us;
    return TB_OK;
}

static tb_code set_rounding(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"half_up", "half_even"};
    int choice = 0;
    tb_code code = tb__book_choice(p, value, names, 2, "Must be half_up or half_even.", &choice);
    if (!code) *(tb_rounding *)to = (tb_rounding)choice;
    return code;
}

static tb_code set_book_scope(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"contract"};
    int choice = 0;
    tb_code code =
        tb__book_choice(p, value, names, 1, "Must be contract; leave it out of a book of the currency.", &choice);
    if (!code) *(bool *)to = true;
    return code;
}

static tb_code check_unit(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"GB"};
    int choice = 0;
    (void)to;
    return tb__book_choice(p, value, names, 1, "Must be GB: 10^9 bytes.", &choice);
}

static tb_code check_scope(tb__book_parser *p, uint32_t value, void *to)
{
    static const char *const names[] = {"account"};
    int choice = 0;
    (void)to;
    return tb__book_choice(p, value, names, 1, "Must be account.", &choice);
}

/* --- sections --- */

static tb_code set_region_prices(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    tb__book_key rules[TB_BILLING_REGION_COUNT];
    tb__book_price prices[TB_BILLING_REGION_COUNT] = {0};
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++)
        rules[r] = (tb__book_key){region_names[r], false, tb__book_set_given, (size_t)r * sizeof *prices};
    tb_code code = tb__book_walk(p, value, rules, TB_BILLING_REGION_COUNT, prices);
    for (int r = 0; r < TB_BILLING_REGION_COUNT && !code; r++) {
        book->region_priced[r] = prices[r].given;
        book->region_shown[r] = prices[r].value;
        code = tb_decimal_shift(prices[r].value, TB__BOOK_GB_PLACES, &book->region_price[r], p->err);
    }
    return code;
}

static const tb__book_key premium_rules[] = {
    {"per", true, check_unit, 0},
    {"regions", true, set_region_prices, 0},
};

static tb_code set_premium(tb__book_parser *p, uint32_t value, void *to)
{
    ((tb_book *)to)->has_premium = true;
    return tb__book_walk(p, value, TB__BOOK_KEYS(premium_rules), to);
}

static const tb__book_key volume_rules[] = {
    {"per", true, check_unit, 0},
    {"scope", false, check_scope, 0},
    {"mode", false, tb__book_set_mode, offsetof(tb__book_list, mode)},
    {"included", false, tb__book_set_gb, offsetof(tb__book_list, included)},
    {"included_axis", false, tb__book_set_axis, offsetof(tb__book_list, axis)},
    {"block", false, tb__book_set_gb, offsetof(tb__book_list, block)},
    {"tiers", true, tb__book_set_node, offsetof(tb__book_list, tiers)},
};

static tb_code set_volume(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    tb__book_list raw = {.mode = TB_GRADUATED, .block = TB__BOOK_NO_BLOCK};
    tb_code code = tb__book_walk(p, value, TB__BOOK_KEYS(volume_rules), &raw);
    book->has_volume = true;
    return code ? code : tb__book_tiers(p, &tb__book_gb, &raw, value, &book->volume);
}

static const tb__book_key bandwidth_rules[] = {
    {"premium", false, set_premium, 0},
    {"volume", false, set_volume, 0},
    {"percentile", false, tb__book_set_percentile, 0},
};

static tb_code set_bandwidth(tb__book_parser *p, uint32_t value, void *to)
{
    return tb__book_walk(p, value, TB__BOOK_KEYS(bandwidth_rules), to);
}

static const tb__book_key optimizer_rules[] = {
    {"monthly", true, tb__book_set_price, offsetof(tb_book, optimizer_monthly)},
};

static tb_code set_optimizer(tb__book_parser *p, uint32_t value, void *to)
{
    ((tb_book *)to)->has_optimizer = true;
    return tb__book_walk(p, value, TB__BOOK_KEYS(optimizer_rules), to);
}

typedef struct raw_balancer {
    tb__book_list list;
    tb_decimal fee;
} raw_balancer;

static const tb__book_key balancer_rules[] = {
    {"monthly_fee", true, tb__book_set_price, offsetof(raw_balancer, fee)},
    {"mode", false, tb__book_set_mode, offsetof(raw_balancer, list.mode)},
    {"included_requests", false, tb__book_set_requests, offsetof(raw_balancer, list.included)},
    {"included_axis", false, tb__book_set_axis, offsetof(raw_balancer, list.axis)},
    {"block", false, tb__book_set_millions, offsetof(raw_balancer, list.block)},
    {"tiers", true, tb__book_set_node, offsetof(raw_balancer, list.tiers)},
};

static tb_code set_balancer(tb__book_parser *p, uint32_t value, void *to)
{
    tb_book *book = to;
    raw_balancer raw = {.list = {.mode = TB_GRADUATED, .block = TB__BOOK_NO_BLOCK}};
    tb_code code = tb__book_walk(p, value, TB__BOOK_KEYS(balancer_rules), &raw);
    if (!code) code = tb__book_tiers(p, &tb__book_millions, &raw.list, value, &book->balancer);
    book->has_balancer = true;
    book->balancer_fee = raw.fee;
    return code;
}

static tb_code set_code(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    if (!tb__node_is_id(node, TB_LEDGER_CODE_ROOM - 1))
        return tb__book_refuse(p, value, "Must be 1 to 31 letters, digits, '.', '_' and '-'.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

static const tb__book_key code_rules[] = {
#define TB_X(e, name, code) {name, false, set_code, TB_ACCOUNT_##e * TB_LEDGER_CODE_ROOM},
    TB_BOOK_ACCOUNTS(TB_X)
#undef TB_X
};

static tb_code set_codes(tb__book_parser *p, uint32_t value, void *to)
{
    return tb__book_walk(p, value, TB__BOOK_KEYS(code_rules), to);
}

static const tb__book_key book_rules[] = {
    {"book", true, tb__book_set_id, offsetof(tb_book, id)},
    {"currency", true, set_currency, offsetof(tb_book, currency)},
    {"effective_from", true, set_effective, offsetof(tb_book, effective_us)},
    {"supersedes", false, tb__book_set_id, offsetof(tb_book, supersedes)},
    {"scope", false, set_book_scope, offsetof(tb_book, contract)},
    {"rounding", false, set_rounding, offsetof(tb_book, rounding)},
    {"minimum_monthly", false, tb__book_set_price, offsetof(tb_book, minimum_monthly)},
    {"ledger_codes", false, set_codes, offsetof(tb_book, ledger_code)},
    {"bandwidth", false, set_bandwidth, 0},
    {"optimizer", false, set_optimizer, 0},
    {"load_balancer", false, set_balancer, 0},
    {"meters", false, tb__book_set_meters, 0},
    {"fees", false, tb__book_set_fees, 0},
};

/* --- the whole --- */

static tb_code keep_canonical(tb__book_parser *p, tb_book *book)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    size_t len;
    const char *text = tb__document_canonical(&p->doc, 0, p->scratch, &len);
    if (!text) return tb_no_memory(p->err);
    book->canonical = tb_alloc_resize(book->alloc, NULL, 0, len + 1);
    if (!book->canonical) return tb_no_memory(p->err);
    memcpy(book->canonical, text, len + 1);
    book->canonical_len = len;
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(book->sha256, sizeof book->sha256, hash, sizeof hash);
    return TB_OK;
}

static bool has_codes(const tb_book *book)
{
    for (int a = 0; a < TB_BOOK_ACCOUNT_COUNT; a++)
        if (book->ledger_code[a][0]) return true;
    return false;
}

static tb_code parse_into(const char *text, size_t len, tb_book *book, tb_error *err)
{
    tb__arena scratch;
    tb__book_parser p = {.scratch = &scratch, .err = err};
    tb__arena_init(&scratch, book->alloc);
    tb_code code = tb__document_parse(text, len, TB_E_BOOK, &scratch, book->alloc, &p.doc, err);
    if (!code) {
        code = tb__book_walk(&p, 0, TB__BOOK_KEYS(book_rules), book);
        if (!code && book->contract && book->supersedes[0])
            code = tb__book_refuse_member(&p, 0, "supersedes",
                                          "A contract names its book by id: one of scope contract takes no"
                                          " other's place.");
        if (!code && book->contract && has_codes(book))
            code = tb__book_refuse_member(&p, 0, "ledger_codes",
                                          "The general ledger takes its codes from the books of the currency: one of"
                                          " scope contract has none.");
        if (!code) code = tb__book_own_lists(book, book, err);
        if (!code) code = keep_canonical(&p, book);
        tb__document_release(&p.doc);
    }
    tb__arena_release(&scratch);
    return code;
}

tb_code tb_book_parse(const char *text, size_t len, const tb_alloc *alloc, tb_book *ret_book, tb_error *err)
{
    if (len > TB_BOOK_MAX) return tb_fail(err, TB_E_TOO_LARGE, NULL, "A book has at most %zu bytes.", TB_BOOK_MAX);
    tb_book book = {.alloc = alloc};
    tb_code code = parse_into(text, len, &book, err);
    if (code) {
        tb_book_release(&book);
        return code;
    }
    book.minor_digits = tb_currency_minor_digits(book.currency);
    *ret_book = book;
    return TB_OK;
}

tb_code tb_book_check_shown(const tb_book *book, tb_error *err)
{
    const tb_i128 million = 1000000;
    for (size_t i = 0; book->has_balancer && i < book->balancer.n; i++) {
        const tb_tier *tier = &book->balancer.tier[i];
        char field[64];
        bool from = tier->from % million != 0;
        if (!from && (tier->open || tier->to % million == 0)) continue;
        snprintf(field, sizeof field, "load_balancer.tiers[%zu].%s", i, from ? "from_millions" : "to_millions");
        return tb_fail(err, TB_E_BOOK, field,
                       "Must be whole millions: GET /loadbalancer/{id}/usage answers them as "
                       "integers.");
    }
    return TB_OK;
}

tb_code tb_book_copy(const tb_book *from, tb_book *ret_book, tb_error *err)
{
    tb_book book = *from;
    book.memory = NULL;
    book.canonical = tb_alloc_resize(book.alloc, NULL, 0, book.canonical_len + 1);
    if (!book.canonical) return tb_no_memory(err);
    memcpy(book.canonical, from->canonical, book.canonical_len + 1);
    tb_code code = tb__book_own_lists(&book, from, err);
    if (code)
        tb_book_release(&book);
    else
        *ret_book = book;
    return code;
}

void tb_book_release(tb_book *book)
{
    if (book->canonical) tb_alloc_free(book->alloc, book->canonical, book->canonical_len + 1);
    if (book->memory) tb_alloc_free(book->alloc, book->memory, book->memory_size);
    *book = (tb_book){0};
}
