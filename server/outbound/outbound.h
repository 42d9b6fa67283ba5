/* What all requests to other machines have in common. */
#ifndef TOLLBOOK_OUTBOUND_H
#define TOLLBOOK_OUTBOUND_H

#include <curl/curl.h>
#include <stdbool.h>

/* Whether the host is this machine, by its address: a name that only begins like one is not. */
bool outbound_is_local(const char *url);

/* Sets the URL, HTTP or HTTPS alone, tollbook as the agent, the authorities of `ca` (NULL: the system's), and no proxy to this
 * machine. Signals are left alone. */
void outbound_prepare(CURL *curl, const char *url, const char *ca);

/* The same for threads of a server: no redirections, and an abandoned name look-up ends on its own thread. Waiting for it could
 * block the thread, and a stop, for the resolver's half a minute. */
void outbound_prepare_job(CURL *curl, const char *url, const char *ca);

#endif
