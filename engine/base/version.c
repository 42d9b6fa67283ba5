/* The library's version. */
#include "tollbook/api.h"

const char *tb_version(void)
{
    return TB_VERSION;
}
