/* The names of the kinds of entries. */
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
