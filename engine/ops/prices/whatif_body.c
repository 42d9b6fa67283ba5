/* jansson says whether it is JSON and reads the small members; where the scenarios' bytes begin and
 * end is found by walking over text that is known to be well formed. */
#include "tollbook/whatifrun.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/prices/scenario.h"
#include "ops/prices/slices.h"
#include "tollbook/monthbill.h"
#include "tollbook/bookstore.h"

/* Three are read at a time, and bodies of others wait. */
#define WEIGHT_MAX ((size_t)1 << 16)

static void slice_elements(tb__slice list, tb_whatif_body *body)
{
    tb__slices at = tb__slices_of(list);
    for (tb__slice one; (one = tb__slices_next(&at)).text;)
        body->scenario[body->n_scenarios++] = (tb_whatif_slice){one.text, one.len};
}

/* --- members --- */

static tb_code read_month(const json_t *root, const char *name, char out[16], tb_error *err)
{
    const json_t *value = json_object_get(root, name);
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= 16)
        return tb_fail(err, TB_E_VALIDATION, name, "%s must be a month like \"2026-10\".",
                       name);
    snprintf(out, 16, "%s", text);
    return TB_OK;
}

static tb_code read_account(const json_t *root, int64_t *ret, tb_error *err)
{
    const json_t *value = json_object_get(root, "account");
    *ret = 0;
    if (!value) return TB_OK;
    if (!json_is_integer(value) || json_integer_value(value) <= 0)
        return tb_fail(err, TB_E_VALIDATION, "account", "account must be an account's id.");
    *ret = json_integer_value(value);
    return TB_OK;
}

static tb_code check_members(json_t *root, tb_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "from") != 0 && strcmp(name, "to") != 0 && strcmp(name, "account") != 0 &&
            strcmp(name, "scenarios") != 0)
            return tb_fail(err, TB_E_VALIDATION, name, "There is no member \"%.40s\".", name);
    }
    return TB_OK;
}

static tb_code check_scenarios(const json_t *root, tb_error *err)
{
    const json_t *list = json_object_get(root, "scenarios");
    size_t n = json_array_size(list);
    if (n == 0)
        return tb_fail(err, TB_E_VALIDATION, "scenarios", "scenarios must be a list of at least "
                                        "one.");
    if (n > TB_WHATIF_BODY_SCENARIOS_MAX)
        return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                       "%zu scenarios; at most %d are computed at once.", n,
                       TB_WHATIF_BODY_SCENARIOS_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        char field[32];
        snprintf(field, sizeof field, "scenarios[%zu]", i);
        if (!json_is_object(one) && !json_is_string(one))
            return tb_fail(err, TB_E_VALIDATION, field,
                           "A scenario must be an object, or the name of a stored one.");
    }
    return TB_OK;
}

static tb_code read_all(json_t *root, const char *text, size_t len, tb_whatif_body *body,
                        tb_error *err)
{
    tb__slice scenarios = {NULL, 0};
    tb_code code = check_members(root, err);
    if (!code) code = read_month(root, "from", body->from, err);
    if (!code) code = read_month(root, "to", body->to, err);
    if (!code) code = read_account(root, &body->account, err);
    if (!code) code = check_scenarios(root, err);
    if (!code) scenarios = tb__slice_member(text, len, "scenarios");
    if (!code && !scenarios.text)
        code = tb_fail(err, TB_E_VALIDATION, "scenarios", "Write \"scenarios\" without escapes.");
    if (!code) slice_elements(scenarios, body);
    return code;
}

tb_code tb_whatif_body_parse(const char *text, size_t len, tb_whatif_body *ret, tb_error *err)
{
    tb_error why;
    tb_whatif_body body = {.n_scenarios = 0};
    if (len > TB_WHATIF_BODY_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "The body has %zu bytes; it may have at most "
                                        "%zu.",
                       len, TB_WHATIF_BODY_MAX);
    if (tb__body_weight(text, len) > WEIGHT_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL,
                       "The body has more than %zu JSON values (an object or a list counts as four, a name as one, a long text as "
                       "one for each 16 bytes). Send fewer scenarios at a time.",
                       WEIGHT_MAX);
    json_t *root = tb__body_read(text, len, &why);
    if (!root) return tb_fail(err, why.code, NULL, "%s", why.message);
    tb_code code = read_all(root, text, len, &body, err);
    json_decref(root);
    if (!code) *ret = body;
    return code;
}

/* --- the answer --- */

/* Where in the body it is wrong. */
static tb_code fail_in(size_t number, const tb_error *why, tb_error *err)
{
    char field[sizeof why->field + 40]; /* tb_fail cuts it where a character ends */
    snprintf(field, sizeof field, "scenarios[%zu]%s%s", number, why->field[0] ? "." : "",
             why->field);
    return tb_fail(err, why->code, field, "%s", why->message);
}

/* A stored scenario, by its quoted name. Stored scenarios are the operator's, and hidden from customers. */
static tb_code read_stored(tb_store *store, const tb_whatif_slice *slice, bool operator_,
                           tb_scenario *ret, tb_error *err)
{
    char name[TB_SCENARIO_NAME_MAX + 80];
    if (!operator_)
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "Stored scenarios are the operator's; send the scenario itself.");
    snprintf(name, sizeof name, "%.*s", (int)slice->len - 2, slice->text + 1);
    return tb__scenario_stored(store, name, ret, err);
}

static tb_code read_scenarios(tb_store *store, const tb_whatif_body *body, bool operator_,
                              tb_scenario *list, size_t *ret_n, tb_error *err)
{
    for (size_t i = 0; i < body->n_scenarios; i++) {
        const tb_whatif_slice *slice = &body->scenario[i];
        tb_error why = {0};
        tb_code code = *slice->text == '"'
                           ? read_stored(store, slice, operator_, &list[i], &why)
                           : tb_scenario_parse(slice->text, slice->len, NULL, &list[i], &why);
        if (code) return fail_in(i, &why, err);
        ++*ret_n;
    }
    return TB_OK;
}

static tb_code read_question(const tb_whatif_ask *ask, const tb_whatif_body *body,
                             tb_whatif_question *q, tb_error *err)
{
    tb_code code = tb_month_span(body->from, body->to, ask->now_us, &q->from, &q->to, err);
    if (code) return code;
    if (q->to - q->from >= TB_WHATIF_BODY_MONTHS_MAX)
        return tb_fail(err, TB_E_TOO_MUCH, "from", "At most %d months are computed at once.",
                       TB_WHATIF_BODY_MONTHS_MAX);
    if (ask->account && body->account && body->account != ask->account)
        return tb_fail(err, TB_E_VALIDATION, "account",
                       "This key is account %" PRId64 "'s and asks for that alone.", ask->account);
    q->account = ask->account ? ask->account : body->account;
    q->own_books = ask->account != 0;
    return TB_OK;
}

static tb_code answer(tb_store *store, const tb_whatif_ask *ask, const tb_whatif_question *q,
                      tb_buf *out, tb_error *err)
{
    tb_whatif_answer a;
    tb_whatif_sink sink = {.out = out};
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_whatif_run(store, q, &a, err);
    tb_store_read_end(store);
    if (code) return code;
    tb_whatif_put(&a, ask->form, &sink);
    tb_whatif_answer_release(&a);
    if (!out->failed) return TB_OK;
    return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                   "The answer is longer than %zu bytes. Ask for fewer scenarios.", out->max);
}

tb_code tb_whatif_ask_put(tb_store *store, const tb_whatif_ask *ask, tb_buf *out, tb_error *err)
{
    tb_whatif_question q = {.now_us = ask->now_us, .bills_max = TB_WHATIF_BODY_BILLS_MAX,
                            .step = ask->step, .ctx = ask->ctx};
    tb_scenario *list = calloc(TB_WHATIF_BODY_SCENARIOS_MAX, sizeof *list);
    tb_whatif_body *body = malloc(sizeof *body);
    tb_code code = list && body ? TB_OK : tb_no_memory(err);
    if (!code) code = tb_whatif_body_parse(ask->body, ask->len, body, err);
    if (!code) code = read_question(ask, body, &q, err);
    if (!code) code = read_scenarios(store, body, ask->account == 0, list, &q.n_scenarios, err);
    q.scenarios = list;
    if (!code) code = answer(store, ask, &q, out, err);
    for (size_t i = 0; i < q.n_scenarios; i++)
        tb_scenario_release(&list[i]);
    free(body);
    free(list);
    return code;
}
