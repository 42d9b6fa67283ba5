/* What a server shows and proves itself with in TLS. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_PAIR_H
#define TOLLBOOK_SERVER_HTTP_FRONT_PAIR_H

#include <stdint.h>

#include "tollbook/error.h"
#include "tollbook/range.h"

/* A certificate, with those of its chain, and its private key. It never changes; sessions share it. */
typedef struct tls_pair tls_pair;

/* Reads both (PEM). TB_E_READ_ONLY: one of them cannot be used, or they do not belong together. */
TB_MUST_USE tb_code tls_pair_parse(tb_text chain, tb_text key, tls_pair **ret_pair, tb_error *err);
/* Between which moments the certificate is valid, since 1970. */
void tls_pair_valid(const tls_pair *p, int64_t *ret_from_s, int64_t *ret_until_s);
/* The caller's hold on it ends; sessions have holds of their own. NULL is fine. */
void tls_pair_release(tls_pair *p);

const char *tls_version(void); /* of GnuTLS */

#endif
