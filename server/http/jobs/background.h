/* Threads of lower priority. Where processors are short, threads that take usage in wait for those that answer: a batch
 * may be taken some milliseconds later, an answer may not. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_BACKGROUND_H
#define TOLLBOOK_SERVER_HTTP_JOBS_BACKGROUND_H

/* The calling thread, and those that it starts from here on, get a fifth of what other threads get that want the same
 * processor, and all of it where none does. */
void run_in_background(void);

#endif
