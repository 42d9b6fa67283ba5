/* Sign-ins of the console: what an opaque text in a browser's cookie stands for. They live in memory
 * alone, as hashes, so a restart ends them all and nobody who reads memory can use one. The clock is
 * the caller's. Any thread.
 *
 * Of one key, and in all, only so many are kept: the oldest gives way. */
#ifndef TOLLBOOK_SERVER_HTTP_SESSIONS_H
#define TOLLBOOK_SERVER_HTTP_SESSIONS_H

#include "tollbook/buf.h"
#include "tollbook/key.h"

#define SESSION_RANDOM  32 /* random bytes a text is made from: 256 bits */
#define SESSION_TEXT    64 /* characters of it, terminator not counted */
#define SESSIONS_MAX    4096
#define SESSIONS_OF_KEY 16
#define SESSION_US      (INT64_C(12) * 3600 * 1000000)
#define SESSION_COOKIE  "tollbook_session"

typedef struct session {
    int64_t key, account; /* together: whose it is */
    uint32_t roles;
    int64_t until_us;           /* not in it any more */
    uint8_t bound[TB_KEY_HASH]; /* hash of what must still be in force: the key, or the tokens' key */
} session;

typedef struct sessions sessions;

sessions *sessions_new(void); /* NULL when out of memory */
void sessions_free(sessions *s); /* NULL is fine */
/* A new session; out is its text, terminated, from random bytes of the caller's. */
void sessions_open(sessions *s, const session *what, int64_t now_us,
                   const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1]);
/* Whether there is one of that text, and what it says. */
bool sessions_find(sessions *s, tb_text text, int64_t now_us, session *ret_session);
/* Ends it, if it is there. */
void sessions_close(sessions *s, tb_text text);

/* Leaves a sign-in for whoever brings its text first. There is one at a time: the next takes its place. */
void sessions_leave(sessions *s, const session *what, const uint8_t random[SESSION_RANDOM],
                    char out[SESSION_TEXT + 1]);
/* Whether it is the text of the one that is left. Then it is left no more. */
bool sessions_collect(sessions *s, tb_text text, session *ret_session);

/* The session's text in the value of a Cookie header (RFC 6265, 4.2.1); data NULL: it has none. */
tb_text sessions_cookie(tb_text cookies);

#endif
