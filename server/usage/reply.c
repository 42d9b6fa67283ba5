/* An answer counts only if it is ClickHouse's and complete: otherwise another program on that port, or a connection
 * that breaks in the middle, could make counters vanish silently. */
#include "usage/internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool begins(const char *line, size_t len, const char *with)
{
    const size_t n = strlen(with);
    return len >= n && strncasecmp(line, with, n) == 0;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    usage_reply *reply = ctx;
    const size_t len = size * n;
    reply->head += len;
    if (begins(bytes, len, "X-ClickHouse-")) reply->ours = true;
    if (begins(bytes, len, "Content-Length:") || begins(bytes, len, "Transfer-Encoding: chunked")) reply->bounded = true;
    return reply->head > USAGE_HEAD_MAX ? 0 : len;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
    usage_reply *reply = ctx;
    const size_t len = size * n;
    long status = 0;
    curl_easy_getinfo(reply->curl, CURLINFO_RESPONSE_CODE, &status);
    reply->got += len;
    if (status == 200 && reply->ours && reply->answer) {
        tb_buf_add(reply->answer, bytes, len);
        return reply->answer->failed ? 0 : len;
    }
    const size_t left = USAGE_SAID_MAX - reply->message_len, kept = len < left ? len : left;
    memcpy(reply->message + reply->message_len, bytes, kept);
    reply->message_len += kept;
    return reply->got > USAGE_HEAD_MAX ? 0 : len;
}

void usage_prepare(const usage_servers *s, CURL *curl, const char *url, long limit_ms, usage_reply *reply)
{
    curl_easy_reset(curl);
    reply->curl = curl;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, s->address.secure ? "https" : "http");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tollbook/" TB_VERSION);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms < USAGE_CONNECT_MS ? limit_ms : USAGE_CONNECT_MS);
    struct curl_slist *lines = s->lines;
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 65536L); /* allocated for each answer; malloc() would use mmap for twice the size */
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (s->options.ca) curl_easy_setopt(curl, CURLOPT_CAINFO, s->options.ca);
}

static bool judge_failure(CURLcode rc, const usage_reply *reply, usage_refuses *ret_refuses, char ret_why[USAGE_WHY_MAX])
{
    if (rc == CURLE_WRITE_ERROR && reply->answer && reply->answer->failed) {
        snprintf(ret_why, USAGE_WHY_MAX, "its answer is longer than there is room for. Ask for less.");
        *ret_refuses = USAGE_REFUSES_NOTHING;
        return false;
    }
    const bool tls = rc == CURLE_SSL_CONNECT_ERROR || rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CERTPROBLEM ||
                     rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_ISSUER_ERROR;
    const char *remedy = "Look at its log.";
    if (rc == CURLE_COULDNT_CONNECT) remedy = "Start it again, or look at the port: it is that of its HTTP interface.";
    if (rc == CURLE_COULDNT_RESOLVE_HOST) remedy = "Look at the name, and at this machine's resolver.";
    if (rc == CURLE_OPERATION_TIMEDOUT) remedy = "Look whether it hangs, and at its load.";
    if (tls) remedy = "Look at its certificate, at --usage-ca, and whether the port is that of HTTPS.";
    snprintf(ret_why, USAGE_WHY_MAX, "%s. %s", curl_easy_strerror(rc), remedy);
    /* A slow server need not be away: the watch's probe tells. */
    const bool closed = rc != CURLE_OPERATION_TIMEDOUT && rc != CURLE_ABORTED_BY_CALLBACK && rc != CURLE_OUT_OF_MEMORY;
    *ret_refuses = closed ? USAGE_REFUSES_ALL : USAGE_REFUSES_NOTHING;
    return false;
}

bool usage_judge(CURLcode rc, const usage_reply *reply, usage_refuses *ret_refuses, char ret_why[USAGE_WHY_MAX])
{
    long status = 0;
    *ret_refuses = USAGE_REFUSES_NOTHING;
    curl_easy_getinfo(reply->curl, CURLINFO_RESPONSE_CODE, &status);
    if ((rc == CURLE_OK || rc == CURLE_WRITE_ERROR) && status && !reply->ours) {
        snprintf(ret_why, USAGE_WHY_MAX, "it is no ClickHouse server: HTTP %ld, and no header of ClickHouse's. Look at the host and the "
                 "port.", status);
        *ret_refuses = USAGE_REFUSES_ALL;
        return false;
    }
    if (rc == CURLE_OK && status == 200 && reply->bounded) return true;
    if (rc == CURLE_OK && status == 200) rc = CURLE_PARTIAL_FILE;
    if (rc != CURLE_OK) return judge_failure(rc, reply, ret_refuses, ret_why);
    *ret_refuses = usage_refusal(status, reply->message, reply->message_len, ret_why);
    return false;
}
