/* The object stays loaded: fonts are read once, and its libraries cannot be unloaded cleanly. */
#include "base/heavy.h"

#include <dlfcn.h>

#ifndef TB_PRINT_FOLDER
#define TB_PRINT_FOLDER "/usr/lib" /* the build says where it would be installed */
#endif

tb_code tb__heavy_other(tb_error *err)
{
    return tb_fail(err, TB_E_IO, NULL,
                   "%s is of another version than this tollbook (%s). Install both of one version.",
                   TB__HEAVY_LIBRARY, TB_VERSION);
}

/* By its name, as the system finds libraries, or where this build would be installed. */
static void *open_library(void)
{
    void *object = dlopen(TB__HEAVY_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return object ? object : dlopen(TB_PRINT_FOLDER "/" TB__HEAVY_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

tb_code tb__heavy_find(const char *symbol, const char *for_what, const void **ret, tb_error *err)
{
    void *object = open_library();
    const char *why = object ? NULL : dlerror();
    if (!object)
        return tb_fail(err, TB_E_IO, NULL,
                       "%s need %s. Install the package libtollbook-print1 of this version. (%.200s)",
                       for_what, TB__HEAVY_LIBRARY, why ? why : "It cannot be loaded.");
    *ret = dlsym(object, symbol);
    return *ret ? TB_OK : tb__heavy_other(err);
}
