/* Who follows this file: the copies that asked for pieces lately, by name, and what each has. In memory alone. Any
 * thread. */
#ifndef TOLLBOOK_SERVER_HTTP_FOLLOWERS_H
#define TOLLBOOK_SERVER_HTTP_FOLLOWERS_H

#include "tollbook/range.h"
#include "tollbook/replica.h"

#define FOLLOWERS_MAX       32 /* of more the one that has not asked for longest is forgotten */
#define FOLLOWERS_SHOWN     (FOLLOWERS_MAX + TB_STANDBYS_MAX) /* with those that are listed and away */
#define FOLLOWERS_FORGET_US INT64_C(3600000000)

typedef struct followers followers;

followers *followers_new(void); /* NULL: out of memory */
void followers_free(followers *f); /* NULL is fine */

/* Reads the value of the header Tollbook-Replica: a name, and behind "; " each: "promotable", "url=URL", "schema=N". The
 * last two go to ret_standby. false: it is something else. */
bool followers_read(tb_text header, tb_follower *ret, tb_standby *ret_standby);
/* This one has asked, now_us being monotonic. */
void followers_note(followers *f, const tb_follower *one, int64_t now_us);
/* Those that asked within FOLLOWERS_FORGET_US, by name; returns how many. */
size_t followers_list(followers *f, int64_t now_us, tb_follower out[FOLLOWERS_MAX]);

#endif
