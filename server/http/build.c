#include "http/build.h"

const char *build_commit(void)
{
    return TB_COMMIT; /* CMakeLists.txt */
}
