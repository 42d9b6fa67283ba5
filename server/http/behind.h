/* Which threads give way. Where processors are short, who brings usage waits for who reads: a batch that comes a few
 * milliseconds later is noticed by nobody, an answer is. */
#ifndef TOLLBOOK_SERVER_HTTP_BEHIND_H
#define TOLLBOOK_SERVER_HTTP_BEHIND_H

/* The calling thread, and those it starts from here on, get a fifth of what others get who want the same processor.
 * Where nobody else wants it they get all of it. */
void behind_others(void);

#endif
