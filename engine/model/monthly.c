/* The fields of GET /billing that a declaration may name. */
#include <string.h>

#include "tollbook/meter.h"

tb_monthly_field tb_monthly_field_of(const char *charge)
{
    static const char *const fields[] = {
#define TB_X(e, field, shape) field,
        TB_MONTHLY_FIELDS(TB_X)
#undef TB_X
    };
    for (int f = 0; f < TB_MONTHLY_FIELD_COUNT; f++) {
        const char *name = fields[f] + strlen("Monthly");
        if (strncmp(name, "Charges", 7) == 0) name += 7;
        if (f != TB_MONTHLY_TAXES && strcmp(name, charge) == 0) return (tb_monthly_field)f;
    }
    return TB_MONTHLY_FIELD_COUNT;
}
