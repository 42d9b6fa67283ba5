/* What every module asks of a kind of charge (bill.h). */
#include "tollbook/bill.h"

#include <string.h>

static const tb_line_kind_info kinds[TB_LINE_KIND_COUNT + 1] = {
#define TB_X(kind, name, unit, owner, basis, product, item, charge, title, note) \
    {name, unit, owner, TB_BASIS_##basis, TB_LINE_##product, item, TB_METER_CHARGE_##charge, title, note},
    TB_LINE_KINDS(TB_X)
#undef TB_X
    {"", "", "", TB_BASIS_CORRECTION, TB_LINE_KIND_COUNT, "", TB_METER_CHARGE_COUNT, "", NULL}};

const tb_line_kind_info *tb_line_kind_of(tb_line_kind kind)
{
    return &kinds[(unsigned)kind < TB_LINE_KIND_COUNT ? kind : TB_LINE_KIND_COUNT];
}

const char *tb_line_kind_name(tb_line_kind kind)
{
    return tb_line_kind_of(kind)->name;
}

const char *tb_line_kind_unit(tb_line_kind kind)
{
    return tb_line_kind_of(kind)->unit;
}

const char *tb_line_kind_owner(tb_line_kind kind)
{
    return tb_line_kind_of(kind)->owner;
}

const char *tb_line_kind_title(tb_line_kind kind)
{
    return tb_line_kind_of(kind)->title;
}

tb_line_kind tb_line_kind_parse(const char *name, size_t len, const char *resource)
{
    for (int k = 0; k < TB_LINE_KIND_COUNT; k++) {
        const size_t owner = strlen(kinds[k].owner);
        const bool is_part = kinds[k].product != (tb_line_kind)k; /* of another kind's product: both may have one name */
        if (is_part && (strncmp(resource, kinds[k].owner, owner) != 0 || resource[owner] != ':')) continue;
        if (strlen(kinds[k].name) == len && memcmp(kinds[k].name, name, len) == 0) return (tb_line_kind)k;
    }
    return TB_LINE_KIND_COUNT;
}
