/* Messages on standard error: the one place where they are written. A message is a sentence for people; what a program reads
 * of it is its level, its moment and the command.
 *
 * Forms: "tollbook ingest: text" of a command that ends by itself; "2026-11-20T12:00:00.000Z info tollbook serve: text" of one
 * that runs on; JSON, a line each, on request. Where standard error is the journal of systemd (JOURNAL_STREAM), which has
 * moments of its own, a line begins with its priority in place of a moment and a level ("<6>", sd-daemon(3)). */
#ifndef TOLLBOOK_SERVER_HTTP_MESSAGE_H
#define TOLLBOOK_SERVER_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tollbook/api.h"
#include "tollbook/buf.h"

/* X(level, name, priority of syslog) */
#define MESSAGE_LEVELS(X)                                                                          \
    X(ERROR, "error", 3)     /* something failed */                                                \
    X(WARNING, "warning", 4) /* somebody should look, also that it works again */                  \
    X(INFO, "info", 6)       /* what was done */                                                   \
    X(DEBUG, "debug", 7)     /* how it was done */

typedef enum message_level {
#define TB_X(level, name, priority) MESSAGE_##level,
    MESSAGE_LEVELS(TB_X)
#undef TB_X
        MESSAGE_LEVEL_COUNT
} message_level;

typedef struct message_options {
    const char *program; /* NULL: "tollbook" */
    const char *command; /* "serve"; NULL: none yet */
    message_level least; /* what is less important is not written */
    bool json;
    bool moments;        /* in text, where it is not the journal's */
    int64_t fixed_us;    /* the moment that tests fix, or INT64_MIN */
} message_options;

/* Before there are threads. Until then: text of level info, without a command. */
void message_use(const message_options *options);
/* Sets the function that puts the database's path into the hints at a message's end. */
void message_use_hints(void (*put)(const char *text, tb_buf *out));

bool message_wanted(message_level level);
/* Writes a message, if its level is wanted, in one write, as other threads write too. Control bytes that it quotes are escaped
 * (tb_buf_shown), so they do nothing to a terminal; its own tabs and line ends stay. */
void message_say(message_level level, const char *fmt, ...) TB_PRINTF(2, 3);
/* The same at level info, and at level error: for modules that are given a function. */
void message_note(const char *fmt, ...) TB_PRINTF(1, 2);
void message_error(const char *fmt, ...) TB_PRINTF(1, 2);
/* The same whatever levels are wanted, without hints: somebody has asked for it. */
void message_put(message_level level, const char *text);
/* The bytes of a message at a moment, for message_put. */
void message_encode(const message_options *options, bool journal, message_level level, int64_t at_us, const char *text,
                    tb_buf *out);

#endif
