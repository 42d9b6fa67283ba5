/* The object stays loaded: fonts that were read once are not read again, and what it links has no way
 * to be unloaded cleanly. */
#include "base/heavy.h"

#include <dlfcn.h>

tb_code tb__heavy_other(tb_error *err)
{
    return tb_fail(err, TB_E_IO, NULL,
                   "%s is of another version than this tollbook (%s). Install both of one version.",
                   TB__HEAVY_LIBRARY, TB_VERSION);
}

tb_code tb__heavy_find(const char *symbol, const char *for_what, const void **ret, tb_error *err)
{
    void *object = dlopen(TB__HEAVY_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *why = object ? NULL : dlerror();
    if (!object)
        return tb_fail(err, TB_E_IO, NULL,
                       "%s need %s, which is part of tollbook, and the libraries that it links:"
                       " %.160s",
                       for_what, TB__HEAVY_LIBRARY, why ? why : "it cannot be loaded");
    *ret = dlsym(object, symbol);
    return *ret ? TB_OK : tb__heavy_other(err);
}
