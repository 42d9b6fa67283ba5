/* Background priority. Under load, threads that take in usage give way to those that answer: a batch may be stored some
 * milliseconds later, an answer may not. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_BACKGROUND_H
#define TOLLBOOK_SERVER_HTTP_JOBS_BACKGROUND_H

/* The calling thread, and those that it starts from now on, get a fifth of the share of other threads on the same
 * processor, and all of it if no other thread runs. */
void run_in_background(void);

#endif
