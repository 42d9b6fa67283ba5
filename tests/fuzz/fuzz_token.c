/* Bearer tokens: a first line with the header, then the claims, both signed with the server's own
 * secret, so that everything behind the signature is reached; or, where the first line is "raw", the
 * rest as it is. What is accepted names an account and roles in its time, under HS256 alone. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "http/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

#define NOW 1793782800
static const char secret[] = "0123456789abcdef0123456789abcdef";

static token_key *load_key(void)
{
    token_key *key;
    tb_error err;
    int fd = memfd_create("secret", 0);
    PROMISE(fd >= 0 && write(fd, secret, sizeof secret - 1) == (ssize_t)(sizeof secret - 1));
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISE(token_key_load(path, "HS256", TOKEN_CHECKS, &key, &err) == TB_OK);
    close(fd);
    return key;
}

static size_t put_part(char *out, size_t room, const void *bytes, size_t len)
{
    PROMISE(sodium_bin2base64(out, room, bytes, len, sodium_base64_VARIANT_URLSAFE_NO_PADDING));
    return strlen(out);
}

static size_t sign(const uint8_t *head, size_t head_len, const uint8_t *claims, size_t claims_len,
                   char *out, size_t room)
{
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    size_t n = put_part(out, room, head, head_len);
    out[n++] = '.';
    n += put_part(out + n, room - n, claims, claims_len);
    crypto_auth_hmacsha256_init(&state, (const uint8_t *)secret, sizeof secret - 1);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)out, n);
    crypto_auth_hmacsha256_final(&state, mac);
    out[n++] = '.';
    return n + put_part(out + n, room - n, mac, sizeof mac);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static token_key *key;
    static char text[16384];
    token_claims claims;
    if (!key) key = load_key();
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    if (!end || size > 6000) return 0;
    const size_t head = (size_t)(end - data), rest = size - head - 1;
    const bool raw = head == 3 && memcmp(data, "raw", 3) == 0;
    size_t n = rest;
    if (raw) memcpy(text, end + 1, rest);
    else n = sign(data, head, end + 1, rest, text, sizeof text);
    if (!token_check(key, (tb_text){text, n}, NOW, &claims)) return 0;
    PROMISE(n <= TOKEN_TEXT_MAX && claims.account > 0 && claims.roles != 0);
    PROMISE(!(claims.roles >> TB_ROLE_OPERATOR & 1) && claims.roles >> TB_ROLE_COUNT == 0);
    PROMISE(claims.from_s <= NOW && NOW < claims.until_s);
    PROMISE(raw || memmem(data, head, "256", 3));
    return 0;
}
