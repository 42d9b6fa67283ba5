/* API keys and roles. A key is found by its SHA-256. Its text is shown once, at its creation. It is
 * stored only if the operator has a secret, sealed under it, so that the account's own keys can be
 * listed (GET /apikey). Keys carry 192 random bits. Roles and their access: TB_ROLES. */
#ifndef TOLLBOOK_KEY_H
#define TOLLBOOK_KEY_H

#include "tollbook/error.h"

TB_API_BEGIN

/* X(ENUM, name, opens statistics, pull zones, billing, ingest, what is the operator's alone, the account's page and
 * containers, reading of all accounts, money of all accounts, keys and alerts, the stream of replicas). The order is
 * stored: new roles come last. */
#define TB_ROLES(X)                                                                                \
    X(USER, "User", 1, 1, 1, 0, 0, 1, 0, 0, 0, 0)                                                  \
    X(USER_API, "UserApi", 1, 1, 1, 0, 0, 1, 0, 0, 0, 0)                                           \
    X(SUB_API_STATISTICS, "SubuserAPIStatistics", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)                    \
    X(SUB_STATISTICS, "SubuserStatistics", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)                           \
    X(SUB_MANAGE, "SubuserManage", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)                                   \
    X(SUB_API_MANAGE, "SubuserAPIManage", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)                            \
    X(SUB_API_PULL_ZONES, "SubuserAPIPullZones", 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)                     \
    X(SUB_PULL_ZONES, "SubuserPullZones", 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)                            \
    X(SUB_API_BILLING, "SubuserAPIBilling", 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)                          \
    X(SUB_BILLING, "SubuserBilling", 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)                                 \
    X(INGEST, "Ingest", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)                                              \
    X(OPERATOR, "Operator", 0, 0, 0, 1, 1, 0, 1, 1, 1, 1)                                          \
    X(FINANCE, "Finance", 0, 0, 0, 0, 0, 0, 1, 1, 0, 0)                                            \
    X(SUPPORT, "Support", 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)                                            \
    X(CUSTOMER_ADMIN, "CustomerAdmin", 1, 1, 1, 0, 0, 1, 0, 0, 1, 0)                                  \
    X(REPLICA, "Replica", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)

typedef enum tb_role {
#define TB_X(e, name, stats, zones, billing, ingest, op, keys, reads, money, admin, stream) TB_ROLE_##e,
    TB_ROLES(TB_X)
#undef TB_X
        TB_ROLE_COUNT
} tb_role;

/* The access that a route needs. */
typedef enum tb_access {
    TB_ACCESS_NONE, /* no key needed */
    TB_ACCESS_ANY,  /* any valid key */
    TB_ACCESS_STATISTICS,
    TB_ACCESS_PULL_ZONES,
    TB_ACCESS_BILLING, /* billing's roles, and those that read all accounts */
    TB_ACCESS_INGEST,
    TB_ACCESS_OPERATOR,
    TB_ACCESS_KEYS, /* the account's page, GET /apikey, and its containers */
    TB_ACCESS_INSIGHTS, /* statistics' roles, and those that read all accounts */
    TB_ACCESS_READ,  /* all accounts, without changing anything: Operator, Finance, Support */
    TB_ACCESS_MONEY, /* the ledger and invoices: Operator, Finance */
    TB_ACCESS_ADMIN, /* keys and alerts are changed: of all accounts by Operator, of its own by CustomerAdmin */
    TB_ACCESS_ADMIN_READ, /* the same are looked at: these, and those that read all accounts */
    TB_ACCESS_STREAM, /* the stream of replicas, which has everything: Operator, Replica */
    TB_ACCESS_REPLICA, /* how replication stands: these, and those that read all accounts */
    TB_ACCESS_COUNT
} tb_access;

const char *tb_role_name(tb_role role);
/* Case-sensitive. false: no such role. */
bool tb_role_parse(const char *name, tb_role *ret_role);
/* The same; TB_E_VALIDATION of "role" names the nearest role, and all there are. */
TB_MUST_USE tb_code tb_role_read(const char *name, tb_role *ret_role, tb_error *err);
/* Whether a set of roles (bit r = role r) opens `access`. */
bool tb_roles_open(uint32_t roles, tb_access access);

/* Whether `roles` open nothing that `above` do not open. */
bool tb_roles_within(uint32_t roles, uint32_t above);

/* Account 0 is the operator: its keys have the roles Ingest, Operator, Finance, Support and Replica only, and the
 * last four, which read every account, are for account 0 only. NULL where the roles suit the account, else a sentence that
 * names the valid ones. */
const char *tb_roles_refusal(int64_t account, uint32_t roles);

#define TB_KEY_HASH 32
#define TB_KEY_TEXT 48 /* characters of a key, terminator not counted */
#define TB_KEY_RANDOM 24 /* random bytes it is made from: 192 bits */
#define TB_KEY_SECRET 32 /* bytes of the secret under which keys are sealed */
#define TB_KEY_NONCE  24 /* random bytes a seal is made with */
#define TB_KEY_NAME_MAX 64 /* bytes */
#define TB_KEY_SEALED (TB_KEY_NONCE + 16 + TB_KEY_TEXT)

typedef struct tb_key {
    int64_t id;
    int64_t account; /* 0: the operator's own */
    uint32_t roles;
    uint8_t hash[TB_KEY_HASH];
    char hint[8];       /* the first characters, to tell keys apart in lists */
    char name[TB_KEY_NAME_MAX + 1]; /* what it is for; "": not said */
    int64_t created_us;
    int64_t revoked_us; /* INT64_MAX while it is valid */
    bool has_sealed;
    uint8_t sealed[TB_KEY_SEALED]; /* nonce and secretbox of its text */
} tb_key;

/* The key's text from random bytes of the caller's: lower-case hex. out is terminated. */
void tb_key_format(const uint8_t random[TB_KEY_RANDOM], char out[TB_KEY_TEXT + 1]);
/* Sets hash and hint, by which a new key of this text is found and shown. */
void tb_key_take(tb_key *key, const char text[TB_KEY_TEXT + 1]);
/* Seals a key's text under a secret (XSalsa20-Poly1305). nonce: random bytes of the caller's. */
void tb_key_seal(tb_key *key, const char text[TB_KEY_TEXT + 1],
                 const uint8_t secret[TB_KEY_SECRET], const uint8_t nonce[TB_KEY_NONCE]);
/* The key's text again; false: it is not sealed, or under another secret, or is another key's. */
bool tb_key_unseal(const tb_key *key, const uint8_t secret[TB_KEY_SECRET],
                   char out[TB_KEY_TEXT + 1]);
/* A mask to show instead of the key: its first characters, and stars. */
void tb_key_mask(const tb_key *key, char out[TB_KEY_TEXT + 1]);
/* SHA-256 of the presented text, any length. */
void tb_key_hash(const char *text, size_t len, uint8_t out[TB_KEY_HASH]);
/* Constant time. */
bool tb_key_equal(const uint8_t a[TB_KEY_HASH], const uint8_t b[TB_KEY_HASH]);

TB_API_END

#endif
