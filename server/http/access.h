/* Who asks: an API key, a bearer token, or the cookie of a session that either of them opened. */
#ifndef TOLLBOOK_SERVER_HTTP_ACCESS_H
#define TOLLBOOK_SERVER_HTTP_ACCESS_H

#include "http/request.h"

/* Whether the request may go on to its route's handler, which finds there who asks. Else 401 or 403;
 * *ret_why is a sentence, where there is more to say than the code's own. */
TB_MUST_USE tb_code access_check(request *r, const char **ret_why);

/* Whom a text names that somebody signs in with, a key or a token, and until when. */
bool access_find(request *r, tb_text text, session *ret_session);

/* Ends what the request's cookies stand for. */
void access_end_sessions(const request *r);

/* Whether the request says that a page of the console sent it, as no page from elsewhere can without
 * leave (Fetch, "CORS-safelisted request-header"). */
bool access_from_console(const request *r);

#endif
