/* The servers of --server: one URL, or several with commas between them, of which one is asked at a time. */
#ifndef TOLLBOOK_SERVER_CLI_SERVERS_H
#define TOLLBOOK_SERVER_CLI_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#define SERVERS_MAX 8

typedef struct server_list {
    char text[2048]; /* the URLs, each terminated */
    const char *url[SERVERS_MAX]; /* without slashes at their ends */
    size_t n, at;
    size_t first; /* where the next round begins: the one that answered last */
    bool asked[SERVERS_MAX]; /* in this round */
} server_list;

/* false: one of them is no URL, or there are too many. */
bool servers_read(server_list *list, const char *text);
/* The URL that is asked now. */
const char *servers_url(const server_list *list);
/* A new round: each server may be asked again. */
void servers_begin(server_list *list);
/* It answers: the next round begins with it. */
void servers_keep(server_list *list);
/* Goes on to this server, or, where it is not in the list or was asked in this round, to the next one that was not. NULL: it
 * is not known. false: all were asked. */
bool servers_next(server_list *list, const char *primary);

#endif
