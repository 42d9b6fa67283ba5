/* Which requests stay on this machine, and the options of libcurl that all have. */
#include "outbound/outbound.h"

#include "tollbook/api.h"

#include <string.h>
#include <strings.h>

bool outbound_is_local(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    const size_t len = strcspn(host, ":/?");
    return (len == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == len) || strncmp(host, "[::1]", 5) == 0;
}

void outbound_prepare(CURL *curl, const char *url, const char *ca)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tollbook/" TB_VERSION);
    if (ca) curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
    if (outbound_is_local(url)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
}

void outbound_prepare_job(CURL *curl, const char *url, const char *ca)
{
    outbound_prepare(curl, url, ca);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
}
