/* tollbook --version: a line for the program, and one for everything that it is made of. */
#include <curl/curl.h>
#include <jansson.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <sodium.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/cli.h"
#include "http/build.h"
#include "http/front/pair.h"

int cli_version(FILE *out)
{
    const unsigned hash = XXH_versionNumber();
    fprintf(out, "tollbook %s\nschema %d\ncommit %s\n", TB_VERSION, tb_store_schema(), build_commit());
    fprintf(out, "SQLite %s\nlibmicrohttpd %s\nlibcurl %s\nGnuTLS %s\nOpenSSL %s\n", tb_store_sqlite(), MHD_get_version(),
            curl_version_info(CURLVERSION_NOW)->version, tls_version(), OpenSSL_version(OPENSSL_VERSION_STRING));
    fprintf(out, "jansson %s\nlibsodium %s\nzlib %s\nzstd %s\nxxHash %u.%u.%u\n", jansson_version_str(), sodium_version_string(),
            zlibVersion(), ZSTD_versionString(), hash / 10000, hash / 100 % 100, hash % 100);
    return fflush(out) == 0 && !ferror(out) ? 0 : tb_code_exit(TB_E_IO);
}
