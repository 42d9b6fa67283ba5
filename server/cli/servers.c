#include "cli/servers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Only visible ASCII may go into a request. */
static bool is_url(const char *text)
{
    if (strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0) return false;
    for (; *text; text++)
        if (*text < 0x21 || *text > 0x7e) return false;
    return true;
}

bool servers_read(server_list *list, const char *text)
{
    const int len = snprintf(list->text, sizeof list->text, "%s", text);
    list->n = list->at = list->first = 0;
    if (len < 0 || (size_t)len >= sizeof list->text) return false;
    for (char *url = list->text, *end; url; url = end) {
        if ((end = strchr(url, ',')) != NULL) *end++ = 0;
        for (size_t n = strlen(url); n > 0 && url[n - 1] == '/'; n--)
            url[n - 1] = 0;
        if (list->n == SERVERS_MAX || !is_url(url)) return false;
        list->url[list->n++] = url;
    }
    return true;
}

const char *servers_url(const server_list *list)
{
    return list->url[list->at];
}

void servers_begin(server_list *list)
{
    memset(list->asked, 0, sizeof list->asked);
    list->at = list->first;
    list->asked[list->at] = true;
}

void servers_keep(server_list *list)
{
    list->first = list->at;
}

/* A standby names the address of its primary; here the API may be below a path of it. */
static bool is_at(const char *url, const char *primary)
{
    const size_t len = strlen(primary);
    return strncasecmp(url, primary, len) == 0 && (url[len] == 0 || url[len] == '/');
}

bool servers_next(server_list *list, const char *primary)
{
    size_t next = list->n;
    for (size_t i = 0; primary && *primary && i < list->n; i++)
        if (!list->asked[i] && is_at(list->url[i], primary)) next = i;
    for (size_t i = 1; i < list->n && next == list->n; i++)
        if (!list->asked[(list->at + i) % list->n]) next = (list->at + i) % list->n;
    if (next == list->n) return false;
    list->at = next;
    list->asked[next] = true;
    return true;
}
