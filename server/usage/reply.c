/* An answer is believed only where it says that it is ClickHouse's, and only whole: whoever listens in its place, or dies in
 * the middle, would otherwise make counters vanish without a word. */
#include "usage/internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool begins(const char *line, size_t len, const char *with)
{
    const size_t n = strlen(with);
    return len >= n && strncasecmp(line, with, n) == 0;
}

static size_t see_line(char *bytes, size_t size, size_t n, void *ctx)
{
    usage_reply *reply = ctx;
    const size_t len = size * n;
    reply->head += len;
    if (begins(bytes, len, "X-ClickHouse-")) reply->ours = true;
    if (begins(bytes, len, "Content-Length:") || begins(bytes, len, "Transfer-Encoding: chunked")) reply->bounded = true;
    return reply->head > USAGE_HEAD_MAX ? 0 : len;
}

static void keep_said(usage_reply *reply, const char *bytes, size_t len)
{
    const size_t room = USAGE_SAID_MAX - reply->said_len;
    if (len > room) len = room;
    memcpy(reply->said + reply->said_len, bytes, len);
    reply->said_len += len;
}

static size_t see_body(char *bytes, size_t size, size_t n, void *ctx)
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
    keep_said(reply, bytes, len);
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
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, see_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 65536L); /* for each answer anew, and malloc() maps what is twice as large */
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, see_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (s->options.ca) curl_easy_setopt(curl, CURLOPT_CAINFO, s->options.ca);
}

static bool is_tls(CURLcode rc)
{
    return rc == CURLE_SSL_CONNECT_ERROR || rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CERTPROBLEM ||
           rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_ISSUER_ERROR;
}

static const char *remedy_of(CURLcode rc)
{
    if (rc == CURLE_COULDNT_CONNECT) return "Start it again, or look at the port: it is that of its HTTP interface.";
    if (rc == CURLE_COULDNT_RESOLVE_HOST) return "Look at the name, and at this machine's resolver.";
    if (rc == CURLE_OPERATION_TIMEDOUT) return "Look whether it hangs, and at its load.";
    if (is_tls(rc)) return "Look at its certificate, at --usage-ca, and whether the port is that of HTTPS.";
    return "Look at its log.";
}

static bool judge_failure(CURLcode rc, const usage_reply *reply, bool *ret_closed, char ret_why[USAGE_WHY_MAX])
{
    if (rc == CURLE_WRITE_ERROR && reply->answer && reply->answer->failed) {
        snprintf(ret_why, USAGE_WHY_MAX, "its answer is longer than there is room for. Ask for less.");
        *ret_closed = false;
        return false;
    }
    snprintf(ret_why, USAGE_WHY_MAX, "%s. %s", curl_easy_strerror(rc), remedy_of(rc));
    /* Too slow is another thing than away: the watch finds that out. */
    *ret_closed = rc != CURLE_OPERATION_TIMEDOUT && rc != CURLE_ABORTED_BY_CALLBACK && rc != CURLE_OUT_OF_MEMORY;
    return false;
}

bool usage_judge(CURLcode rc, const usage_reply *reply, bool *ret_closed, char ret_why[USAGE_WHY_MAX])
{
    long status = 0;
    *ret_closed = false;
    curl_easy_getinfo(reply->curl, CURLINFO_RESPONSE_CODE, &status);
    if ((rc == CURLE_OK || rc == CURLE_WRITE_ERROR) && status && !reply->ours) {
        snprintf(ret_why, USAGE_WHY_MAX, "it is no ClickHouse server: HTTP %ld, and no header of ClickHouse's. Look at the host and the "
                 "port.", status);
        *ret_closed = true;
        return false;
    }
    if (rc == CURLE_OK && status == 200 && reply->bounded) return true;
    if (rc == CURLE_OK && status == 200) rc = CURLE_PARTIAL_FILE;
    if (rc != CURLE_OK) return judge_failure(rc, reply, ret_closed, ret_why);
    *ret_closed = usage_refusal(status, reply->said, reply->said_len, ret_why);
    return false;
}
