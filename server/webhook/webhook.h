/* Webhooks in the form of the Standard Webhooks specification: a JSON body, and three headers, webhook-id,
 * webhook-timestamp and webhook-signature. The signature is "v1," and the base64 of HMAC-SHA256 over
 * "ID.TIMESTAMP.BODY". Sent by libcurl, only to the operator's address: no redirect is followed, and time,
 * headers and body of an answer are bounded. */
#ifndef TOLLBOOK_SERVER_WEBHOOK_H
#define TOLLBOOK_SERVER_WEBHOOK_H

#include "tollbook/buf.h"

#define WEBHOOK_SECRET_MIN  16 /* bytes; the specification asks for 24 to 64 */
#define WEBHOOK_SECRET_MAX  64
#define WEBHOOK_SECRET_TEXT 128 /* longest text of one */
#define WEBHOOK_ANSWER_MAX  ((size_t)64 << 10) /* bytes of its headers, and of its body */
#define WEBHOOK_ERROR_MAX   159

typedef struct webhook_secret {
    size_t len;
    unsigned char bytes[WEBHOOK_SECRET_MAX];
} webhook_secret;
/* A message has a signature of each secret, so that receivers accept it while one replaces the other. */
#define WEBHOOK_SECRETS 2
typedef struct webhook_secrets {
    size_t n;
    webhook_secret list[WEBHOOK_SECRETS];
} webhook_secrets;

/* Reads one line for each secret: "whsec_" and base64. At least one. */
bool webhook_secrets_parse(const char *text, size_t len, webhook_secrets *ret);

#define WEBHOOK_SIGNATURE 48 /* characters, with the terminator */
void webhook_sign(const webhook_secret *secret, const char *id, const char *timestamp, const char *body,
                  size_t len, char ret_signature[WEBHOOK_SIGNATURE]);

/* TB_E_USAGE: it is no http or https URL with a host. */
TB_MUST_USE tb_code webhook_check_url(const char *url, tb_error *err);

/* A sender, which keeps its connection; for one thread. */
typedef struct webhook webhook;
webhook *webhook_new(void); /* NULL: no memory */
void webhook_free(webhook *w);

typedef struct webhook_message {
    const char *url, *body;
    const char *id; /* NULL: no webhook but text, without a signature */
    size_t body_len;
    int64_t now_s; /* since 1970 */
    int64_t limit_us;
    tb_buf *answer; /* takes the body of the answer, and bounds it; NULL: a longer one is cut, and only its status counts */
    const char *ca; /* a file of certificate authorities; NULL: the system's */
    bool (*stop)(void *ctx); /* called often; true ends the exchange */
    void *ctx;
} webhook_message;
typedef struct webhook_answer {
    int status;      /* 0: none came; error says why */
    int64_t after_s; /* Retry-After; 0: absent */
} webhook_answer;
/* secrets: not looked at where the message has no id. */
webhook_answer webhook_send(webhook *w, const webhook_message *message, const webhook_secrets *secrets,
                            char error[WEBHOOK_ERROR_MAX + 1]);

#endif
