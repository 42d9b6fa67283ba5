/* Authentication: an API key, a bearer token, or the cookie of a session that either of them opened. */
#ifndef TOLLBOOK_SERVER_HTTP_ACCESS_H
#define TOLLBOOK_SERVER_HTTP_ACCESS_H

#include "http/request.h"

/* Authenticates the request and checks that its roles open the route; fills in key, account, roles and session. Else
 * 401 or 403; *ret_why is set if there is a better sentence than the code's own. */
TB_MUST_USE tb_code access_check(request *r, const char **ret_why);

/* The session that a key or a token may open, or false. */
bool access_find(request *r, tb_text text, session *ret_session);

/* Ends the sessions of the request's cookies. */
void access_end_sessions(const request *r);

/* Whether the request has the console's header, which a page of another site cannot send without permission (Fetch,
 * "CORS-safelisted request-header"). */
bool access_from_console(const request *r);

#endif
