/* The names of the kinds of entries, and which adjustments are opening balances. */
#include "tollbook/entry.h"

#include <string.h>

static const char *const kind_names[TB_LEDGER_KIND_COUNT] = {
#define TB_X(e, name) [TB_LEDGER_##e] = name,
    TB_LEDGER_KINDS(TB_X)
#undef TB_X
};

const char *tb_ledger_kind_name(tb_ledger_kind kind)
{
    return (unsigned)kind < TB_LEDGER_KIND_COUNT ? kind_names[kind] : "";
}

tb_ledger_kind tb_ledger_kind_of(const char *name)
{
    int i = 0;
    while (i < TB_LEDGER_KIND_COUNT && strcmp(name, kind_names[i]) != 0)
        i++;
    return (tb_ledger_kind)i;
}

/* --- opening balances --- */

static bool is_of_opening(const tb_ledger_entry *entry, const char *document)
{
    return entry->kind == TB_LEDGER_ADJUSTMENT && strcmp(entry->document, document) == 0;
}

bool tb_ledger_is_opening(const tb_ledger_entry *entry)
{
    return is_of_opening(entry, TB_OPENING) || is_of_opening(entry, TB_OPENING_BACK);
}

int64_t tb_ledger_opening_back(const tb_ledger_entry *entries, size_t n)
{
    int64_t last = 0;
    for (size_t i = 0; i < n; i++)
        if (is_of_opening(&entries[i], TB_OPENING_BACK) && entries[i].id > last)
            last = entries[i].id;
    return last;
}

const char *tb_ledger_entry_name(const tb_ledger_entry *entry)
{
    return tb_ledger_is_opening(entry) ? "opening_balance" : tb_ledger_kind_name(entry->kind);
}
