/* The billed values of the catalogue's objects: rates, discounts, prices, times. They are read in one place: a new
 * catalogue with an invalid value is refused (catalog.c), and bills apply the same rule to a file that an older
 * version filled (store/money/declared.c), so that no rule has a second copy.
 *
 * A function returns false if the value breaks a rule: *fault has the place within the value and the valid values.
 * No number becomes a double. */
#ifndef TOLLBOOK_MODEL_DECLARED_H
#define TOLLBOOK_MODEL_DECLARED_H

#include "model/document.h"
#include "tollbook/meter.h"
#include "tollbook/catalog.h"

typedef struct tb__fault {
    char path[48];      /* within the value: "VAT", "[2].percent", "" for the value itself */
    const char *wanted; /* "true or false"; NULL: nothing, the key is unknown */
    uint32_t node;
} tb__fault;

/* Sets the fault. Returns false. */
bool tb__fault_at(tb__fault *fault, const char *path, uint32_t node, const char *wanted);

/* Sets the fault to a key, with its name as printable path. Returns false. */
bool tb__fault_at_key(const tb__document *doc, tb__fault *fault, uint32_t key, const char *wanted);

/* Appends path to `before`, as a JSON path: "tax" and "VAT" are "tax.VAT". room: of out; a longer one is cut between
 * characters. */
void tb__fault_path(const char *before, const char *path, char *out, size_t room);
/* The same to the fault's own path. Returns false. */
bool tb__fault_inside(tb__fault *fault, const char *before);

/* Which regions one covers, billing knows. */
#define TB__DISCOUNTS(X)                                                                           \
    X(EUUS, "EUUSDiscount")                                                                        \
    X(SOUTH_AMERICA, "SouthAmericaDiscount")                                                       \
    X(AFRICA, "AfricaDiscount")                                                                    \
    X(ASIA_OCEANIA, "AsiaOceaniaDiscount")
typedef enum tb__discount {
#define TB_X(e, name) TB__DISCOUNT_##e,
    TB__DISCOUNTS(TB_X)
#undef TB_X
        TB__DISCOUNT_COUNT
} tb__discount;

/* An account's `discounts`: an object of only those above, each a whole percent or null; 0 if absent. A misspelt one
 * would be a wrong invoice. */
bool tb__declared_discounts(const tb__document *doc, uint32_t value, int ret[TB__DISCOUNT_COUNT],
                            tb__fault *fault);

bool tb__declared_currency(const tb__document *doc, uint32_t value, char ret[4], tb__fault *fault);

#define TB__TAXES_MAX    8
#define TB__TAX_NAME_MAX 39 /* bytes */
#define TB__TAX_REASON_MAX 255
#define TB__TAX_CODE_MAX   31
typedef struct tb__tax {
    const char *name; /* not terminated; the document's, or standing text */
    uint32_t len;
    tb_decimal percent;
    const char *category; /* E, AE, K, G, O; "": it follows from the percent. Static */
    const tb__node *reason, *code; /* of such a category; NULL: none is given */
} tb__tax;

/* An account's `tax`: a percent; {"name","percent"}, where `rate` is another word for percent; a list
 * of these; an object of names and percents; or {"category","rate","reason","reason_code"}, which is
 * one rate, named VAT. */
bool tb__declared_tax(const tb__document *doc, uint32_t value, tb__tax ret[TB__TAXES_MAX],
                      size_t *ret_n, tb__fault *fault);

/* An account's `contract`: {"book", "discount_percent", "minimum_monthly", "commit", "cap": {"monthly", "action"},
 * "bandwidth"}, each key optional. A commit is {"amount", "every", "from", "to", "rollover"}, {"monthly", "from", "to"},
 * or a list of these in which each begins in the month after the one before ends. Amounts are such as 10^18 units fit a
 * decimal at, as a price book's are. */
bool tb__declared_contract(const tb__document *doc, uint32_t value, tb_contract *ret,
                           tb__fault *fault);

/* `fees` of an account, a pull zone or a load balancer: [id, {"fee": id, "quantity": n}], each id once. */
typedef struct tb__declared_fee {
    const tb__node *id;
    int64_t quantity;
} tb__declared_fee;
bool tb__declared_fees(const tb__document *doc, uint32_t value, tb__declared_fee ret[TB_FEES_MAX], size_t *ret_n,
                       tb__fault *fault);

/* What of a zone's `settings` is billed by. */
typedef struct tb__declared_zone {
    bool enabled, optimizer;
    bool own_optimizer; /* optimizer_price is set */
    int discount[TB__DISCOUNT_COUNT];
    tb_decimal override_price; /* per byte; zero: none */
    tb_decimal optimizer_price;
} tb__declared_zone;
bool tb__declared_settings(const tb__document *doc, uint32_t value, tb__declared_zone *ret,
                           tb__fault *fault);
/* Whether 10^18 units at its prices fit a decimal, as a price book requires: a further check of new catalogues, for
 * a bill at a larger price can only overflow. */
bool tb__declared_prices_safe(const tb__document *doc, uint32_t value, const tb__declared_zone *zone,
                              tb__fault *fault);

/* `created`, `deleted`. */
bool tb__declared_time(const tb__document *doc, uint32_t value, int64_t *ret_us, tb__fault *fault);

/* Whether a string is valid in any document: no control character, and nothing that XML forbids. */
bool tb__node_plain(const tb__node *node);

/* The value of an object's member; 0 where it is absent or null, or `object` is none. */
uint32_t tb__declared_member(const tb__document *doc, uint32_t object, const char *name);

#endif
