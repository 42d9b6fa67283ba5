/* The parts of the catalogue parser; with an allocator, for tests that let allocations fail. */
#ifndef TOLLBOOK_MODEL_CATALOG_PRIVATE_H
#define TOLLBOOK_MODEL_CATALOG_PRIVATE_H

#include "base/arena.h"
#include "tollbook/catalog.h"

TB_MUST_USE tb_code tb__catalog_parse(const char *text, size_t len, const tb_alloc *alloc,
                                      tb_catalog *ret_catalog, tb_error *err);

/* Checks one object of a list ("accounts", "zones", "load_balancers", "shield_zones", "meters"), or the "seller", as
 * stored in a file, by the rules for a catalogue. TB_E_CATALOG, err->field the path within it; syntax is TB_E_CORRUPT. */
TB_MUST_USE tb_code tb__catalog_judge(const char *list, const char *text, size_t len,
                                      tb_error *err);

/* The whole against itself: ids, owners, attachments. TB_E_CATALOG, err->field the JSON path. */
TB_MUST_USE tb_code tb__catalog_check(const tb_catalog *catalog, tb__arena *scratch, tb_error *err);

#endif
