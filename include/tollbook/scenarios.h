/* Stored what-if scenarios, by name. Append-only. A name may have several texts: the name alone
 * means the one stored last, and the name with "@" and at least TB_SCENARIO_HASH_MIN digits of a
 * SHA-256 the one with that hash. What a text means is whatif.h's. */
#ifndef TOLLBOOK_SCENARIOS_H
#define TOLLBOOK_SCENARIOS_H

#include "tollbook/store.h"

TB_API_BEGIN

#define TB_SCENARIO_NAME_MAX 64
#define TB_SCENARIO_HASH_MIN 8

typedef struct tb_stored_scenario {
    char name[TB_SCENARIO_NAME_MAX + 1];
    char sha256[65]; /* of the text */
    int64_t added_us;
    char *text; /* canonical, terminated; owned */
    size_t text_len;
} tb_stored_scenario;

/* In the caller's transaction. Where the name's last text is this one nothing changes and
 * *ret_known is set. */
TB_MUST_USE tb_code tb_store_add_scenario(tb_store *store, const char *name, const char sha256[65],
                                          const char *text, size_t len, int64_t now_us,
                                          bool *ret_known, tb_error *err);
/* name: "eu-plus-10" or "eu-plus-10@3fa9c01b". TB_E_NOT_FOUND; TB_E_VALIDATION where the digits are
 * too few or fit several texts. */
TB_MUST_USE tb_code tb_store_scenario(tb_store *store, const char *name,
                                      tb_stored_scenario *ret_scenario, tb_error *err);
/* All, in the order of their adding. Release each, free() the array. */
TB_MUST_USE tb_code tb_store_scenarios(tb_store *store, tb_stored_scenario **ret_scenarios,
                                       size_t *ret_n, tb_error *err);
void tb_stored_scenario_release(tb_stored_scenario *scenario);

TB_API_END

#endif
