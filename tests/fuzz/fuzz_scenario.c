/* Fuzzes the scenario parser with documents as they come. What is accepted must keep the promises
 * of whatif.h, its canonical text must be the same scenario, and what its patch makes of a book
 * must be a book, the same when it is patched once more. */
#include "tollbook/whatif.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static const char standard[] =
    "{\"book\":\"standard-2026\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.01\",\"NA\":\"0.01\"}},\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\","
    "\"to\":null,\"price\":\"0.005\"}]}},\"optimizer\":{\"monthly\":\"9.50\"}}";

static void check_scenario(const tb_scenario *s)
{
    MUST(s->name[0] && strlen(s->name) <= 64 && strlen(s->base) <= 64 && strlen(s->sha256) == 64);
    MUST(strlen(s->canonical) == s->canonical_len && strlen(s->patch) == s->patch_len);
    MUST(s->patch[0] == '{' && (!s->everywhere || s->base[0]));
    MUST(s->n_factors <= TB_SCENARIO_FACTORS_MAX);
    for (size_t i = 0; i < s->n_factors; i++) {
        const tb_usage_factor *f = &s->factors[i];
        MUST(f->factor.mantissa >= 0 && f->factor.scale <= TB_FACTOR_SCALE_MAX);
        MUST(tb_decimal_compare(f->factor, tb_decimal_from_int(1000000)) <= 0);
        MUST(!f->has_balancer || (!f->has_zone && !f->has_region));
        MUST(!f->meter[0] || (f->product == TB_FACTOR_ANY && !f->has_zone && !f->has_region && !f->has_balancer));
    }
}

static void check_book(const tb_scenario *s)
{
    tb_book base, book, again;
    tb_error err;
    MUST(tb_book_parse(standard, sizeof standard - 1, NULL, &base, &err) == TB_OK);
    tb_code code = tb_scenario_book(s, &base, NULL, &book, &err);
    if (code == TB_OK) {
        MUST(strcmp(book.currency, "USD") == 0 && book.effective_us == base.effective_us);
        MUST(tb_scenario_book(s, &book, NULL, &again, &err) == TB_OK);
        MUST(strcmp(book.canonical, again.canonical) == 0);
        tb_book_release(&again);
        tb_book_release(&book);
    } else {
        MUST(code == TB_E_BOOK && strncmp(err.field, "patch", 5) == 0 && err.message[0]);
    }
    tb_book_release(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    tb_scenario scenario, again;
    tb_error err;
    tb_code code = tb_scenario_parse(text, size, NULL, &scenario, &err);
    /* Nothing of the scenario may point into the input. */
    free(text);
    if (code != TB_OK) {
        MUST(code == TB_E_VALIDATION && err.code == code && err.message[0] && err.byte <= size + 1);
        return 0;
    }
    check_scenario(&scenario);
    MUST(tb_scenario_parse(scenario.canonical, scenario.canonical_len, NULL, &again, &err) ==
         TB_OK);
    MUST(strcmp(again.sha256, scenario.sha256) == 0);
    MUST(strcmp(again.canonical, scenario.canonical) == 0 && again.n_factors == scenario.n_factors);
    check_book(&scenario);
    tb_scenario_release(&again);
    tb_scenario_release(&scenario);
    return 0;
}
