/* Sessions of the console: each is named by an opaque text in a browser's cookie. They are kept in memory only, as
 * hashes, so a restart ends them all and a memory dump reveals none. The caller gives the time. Any thread.
 *
 * The number of sessions is bounded, in all and for each key: the oldest is evicted. */
#ifndef TOLLBOOK_SERVER_HTTP_SESSIONS_H
#define TOLLBOOK_SERVER_HTTP_SESSIONS_H

#include "tollbook/buf.h"
#include "tollbook/key.h"

#define SESSION_RANDOM  32 /* random bytes a text is made from: 256 bits */
#define SESSION_TEXT    64 /* characters of it, terminator not counted */
#define SESSIONS_MAX    4096
#define SESSIONS_OF_KEY 16
#define SESSION_US      (INT64_C(12) * 3600 * 1000000)
#define SESSION_COOKIE  "tollbook_session_" /* and the port: browsers keep cookies for a host with all its ports */

typedef struct session {
    int64_t key, account; /* its holder */
    uint32_t roles;
    int64_t until_us;           /* exclusive */
    uint8_t bound[TB_KEY_HASH]; /* hash of the key, or of the tokens' key: the session ends with it */
} session;

typedef struct sessions sessions;

sessions *sessions_new(void); /* NULL when out of memory */
void sessions_free(sessions *s); /* NULL is fine */
/* Opens a session; out is its text, terminated, made from the caller's random bytes. */
void sessions_open(sessions *s, const session *opened, int64_t now_us,
                   const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1]);
/* Finds the session of this text. */
bool sessions_find(sessions *s, tb_text text, int64_t now_us, session *ret_session);
/* Ends it, if it is there. */
void sessions_close(sessions *s, tb_text text);

/* Makes a one-time sign-in, for the first client that sends its text. There is one at a time; the next replaces it. */
void sessions_put_one_time(sessions *s, const session *opened, const uint8_t random[SESSION_RANDOM],
                           char out[SESSION_TEXT + 1]);
/* Redeems the one-time sign-in, if this is its text. */
bool sessions_redeem(sessions *s, tb_text text, session *ret_session);

/* The next session text for a server with this port in the value of a Cookie header (RFC 6265, 4.2.1), from *at on,
 * which begins as 0; data NULL: there is none. A name may come twice: a page of a sibling host can set it, too. */
tb_text sessions_cookie(tb_text cookies, unsigned port, size_t *at);

#endif
