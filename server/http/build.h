/* What this program was built from. */
#ifndef TOLLBOOK_SERVER_HTTP_BUILD_H
#define TOLLBOOK_SERVER_HTTP_BUILD_H

/* The commit of the sources, as git named it when the build was configured, with "-modified" behind it where files differed
 * from it; "unknown": they came without git. */
const char *build_commit(void);

#endif
