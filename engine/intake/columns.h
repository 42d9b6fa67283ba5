/* Logs with columns that a description names: the compiled form of a description, and the readers over it.
 *
 * A template (nginx, Apache, CloudFront) is cut at its hard characters: those that no value contains, since
 * the server escapes them (an unescaped quote, a tab). Between two of them lies a stretch of columns with
 * soft separators (spaces, pipes), which a client's text may contain. A column is closed from the left where
 * its own characters, or its width, end it before the separator that follows; from the right likewise. So a
 * stretch is read from both its ends, and the middle is one column, or several columns of texts only. A
 * description that would leave a counted column between two open ones is refused: a client could write the
 * count there.
 *
 * A JSON object is a tree of the keys that the map names. */
#ifndef TB__INTAKE_COLUMNS_H
#define TB__INTAKE_COLUMNS_H

#include "intake/line.h"
#include "tollbook/intake.h"

/* What a column is to us. Those up to TB__ROLE_COUNTED are counted, or decide where it counts. */
typedef enum tb__role {
    TB__ROLE_TIME,
    TB__ROLE_CLOCK, /* of a time in two columns: the time of day */
    TB__ROLE_STATUS,
    TB__ROLE_BYTES,
    TB__ROLE_ZONE,
    TB__ROLE_HOST,
    TB__ROLE_HOST_TOO, /* asked where the other host says nothing */
    TB__ROLE_CACHE,
    TB__ROLE_REGION,
    TB__ROLE_COUNTED = TB__ROLE_REGION,
    TB__ROLE_COUNTRY,
    TB__ROLE_IP,
    TB__ROLE_REFERER,
    TB__ROLE_REQUEST, /* "GET /path HTTP/1.1" */
    TB__ROLE_URL,     /* whole, or from the path on */
    TB__ROLE_QUERY,
    TB__ROLE_SCHEME,
    TB__ROLE_AGENT,
    TB__ROLE_ID,
    TB__ROLE_BODY,
    TB__ROLE_RANGE,
    TB__ROLE_AUTHORIZATION,
    TB__ROLE_JA4,
    TB__ROLE_ASN,
    TB__ROLE_ORGANIZATION, /* of the ASN */
    TB__ROLE_USER, /* not kept; Apache writes an empty one as two quotes */
    TB__ROLE_NONE, /* passed over */
    TB__ROLES
} tb__role;

/* What a value may hold. */
typedef enum tb__kind {
    TB__KIND_TEXT,    /* anything but the hard characters */
    TB__KIND_NUMBER,  /* digits, '-' */
    TB__KIND_DECIMAL, /* digits, '.', '-' */
    TB__KIND_TOKEN,   /* letters, digits, '_', '-', '.' */
    TB__KIND_LIST,    /* decimals with ", " and " : " between them */
    TB__KIND_PROTOCOL, /* HTTP/1.1: a token, '/' */
    TB__KIND_ADDRESS, /* a token, ':', '%' */
    TB__KIND_NAME,    /* of a server: no space, quote, '/', ':', '|', ',', ';' */
    TB__KIND_SITE,    /* a server's name or address: a name, ':' */
    TB__KIND_HOST,    /* a client's, as a server lets it through: no space or '/' */
    TB__KIND_LOCAL,   /* 17/May/2015:10:05:03 +0000 */
    TB__KIND_BRACKETED, /* the same in brackets */
    TB__KIND_ISO,     /* 2015-05-17T10:05:03+00:00, with or without a fraction */
    TB__KINDS
} tb__kind;

enum {
    TB__COLUMNS_MAX = 64,
    TB__STRETCHES_MAX = 384,
    TB__KEYS_MAX = 48,
    TB__DEPTH_MAX = 8,
    TB__LITERALS = TB_LOG_TEXT_MAX + 64 /* a literal is read in words, past its end */
};

typedef struct tb__column {
    uint16_t literal, literal_len; /* the text before it in its stretch */
    uint16_t place;                /* in the description, from 1: for errors */
    uint8_t role, kind, width;     /* width 0: any */
    uint8_t rank;                  /* among columns of the same role */
    bool path;                     /* begins with '/', or is missing */
    bool port;                     /* followed by a port: it ends at the last colon before the separator */
    bool stops;                    /* closed from the left by this character; else it ends with its stretch */
    char stop;
} tb__column;

typedef struct tb__stretch {
    uint8_t first, n, left, right; /* columns; how many are closed from the left, of the rest from the right */
    bool whole;                    /* one column, which is all of it */
    bool user;                     /* Apache's user name is among its columns */
    char end;                      /* the hard character after it; 0: the line's end */
    uint16_t tail, tail_len;       /* the text after its last column */
} tb__stretch;

/* A key that the map names, or one on the way to it. */
typedef struct tb__key {
    uint64_t word;           /* the first eight bytes of the name, padded with zeros */
    uint16_t name, name_len; /* in literals */
    uint8_t role;            /* TB__ROLE_NONE: only on the way */
    uint8_t child, next;     /* of the list of keys inside it, of its siblings; 0: none (0 is the root) */
} tb__key;

typedef enum tb__family { TB__FAMILY_NGINX, TB__FAMILY_APACHE, TB__FAMILY_W3C, TB__FAMILY_JSON } tb__family;

struct tb_log_columns {
    tb__family family;
    bool escapes; /* a backslash takes the next byte with it */
    bool given;   /* W3C: the fields were given, a log's head changes nothing */
    uint32_t roles; /* bit per role that some column has */
    uint8_t n, n_keys;
    uint16_t n_stretches;
    uint16_t literals_len;
    tb__column column[TB__COLUMNS_MAX];
    tb__stretch stretch[TB__STRETCHES_MAX];
    tb__key key[TB__KEYS_MAX];
    uint16_t fields_len; /* W3C: the names, for comparing heads */
    char fields[TB_LOG_TEXT_MAX];
    char literals[TB__LITERALS];
    char edge[TB_EDGE_MAX];
    uint16_t hit, hit_len; /* JSON: in literals, the status of a cached answer; hit_len 0: as in tb__cache_word */
    uint16_t format_len, map_len;
    char format[TB_LOG_TEXT_MAX], map[TB_LOG_TEXT_MAX]; /* as they were given */
};

static inline bool tb__has_role(const tb_log_columns *c, tb__role role)
{
    return c->roles >> role & 1;
}

/* --- compiling --- */

/* A description on its way to columns: literals and columns in turn, then tb__template_end. */
typedef struct tb__template {
    tb_log_columns *to;
    const char *text; /* the description */
    size_t len;
    bool quotes; /* a bare quote is hard */
    bool controls; /* control characters are */
    tb__column column[TB__COLUMNS_MAX];
    tb__column tail; /* its literal is the text after the last column */
    const char *name[TB__COLUMNS_MAX]; /* of each column, as the description writes it */
    uint8_t name_len[TB__COLUMNS_MAX];
    size_t n;
    tb_error *err;
} tb__template;

typedef struct tb__known {
    uint8_t role, kind, width, rank;
} tb__known;

TB_MUST_USE tb_code tb__template_literal(tb__template *t, const char *bytes, size_t len);
TB_MUST_USE tb_code tb__template_column(tb__template *t, const char *name, size_t len,
                                        tb__known known);
TB_MUST_USE tb_code tb__template_end(tb__template *t);

/* Whether the description begins with the directive's own name, in any letter case; *text is the rest. */
const char *tb__past_blanks(const char *p, const char *end);
bool tb__template_take_word(tb_text *text, const char *word);

TB_MUST_USE tb_code tb__compile_nginx(tb_log_columns *to, tb_text text, tb_error *err);
TB_MUST_USE tb_code tb__compile_apache(tb_log_columns *to, tb_text text, tb_error *err);
TB_MUST_USE tb_code tb__compile_w3c(tb_log_columns *to, tb_text fields, tb_error *err);
TB_MUST_USE tb_code tb__compile_json(tb_log_columns *to, tb_text map, tb_error *err);

/* --- reading --- */

typedef struct tb__columns_parts {
    int64_t time_ms;
    bool ambiguous;
    tb__part of[TB__ROLES];
} tb__columns_parts;

/* The shape of an object: the bytes between its values, and the kinds of the values. */
enum {
    TB__STEPS_MAX = 96,
    TB__SHAPE_TEXT = 4096
};
typedef enum tb__step_action { TB__STEP_QUOTED, TB__STEP_BARE, TB__STEP_NESTED } tb__step_action;
typedef struct tb__step {
    uint16_t text, len; /* the bytes before the value */
    uint8_t role, action;
} tb__step;
typedef struct tb__shape {
    uint16_t n, len, tail, tail_len; /* n 0: there is none */
    tb__step step[TB__STEPS_MAX];
    char text[TB__SHAPE_TEXT + 16];
} tb__shape;

/* Values shared with the line before: its second, its host, its shape. Members without a comment are not
 * initialised. */
typedef struct tb__memo {
    char time[32];
    size_t time_len;
    int64_t time_ms;
    char host[64];
    size_t host_len;
    int64_t zone;
    tb__columns_parts parts; /* of the line read last; those that no column has stay zero */
    tb__shape shape;
} tb__memo;

static inline void tb__memo_init(tb__memo *memo)
{
    memo->time_len = memo->host_len = 0;
    memo->shape.n = 0;
    memo->parts = (tb__columns_parts){0};
}

bool tb__columns_read(const tb_log_layout *layout, const char *line, size_t len, tb__memo *memo,
                      tb_hit *ret_hit, tb__columns_parts *parts, tb_reject *ret_reject);
/* Finds the columns, unchecked; false with the place of the error. */
bool tb__template_read(const tb_log_columns *c, const char *line, size_t len,
                       tb__columns_parts *parts, const char **ret_stop);
bool tb__object_read(const tb_log_columns *c, const char *line, size_t len, tb__shape *shape,
                     tb__columns_parts *parts, const char **ret_stop);
/* Whether the line is a head line; *ret_good: its columns are those of the layout. */
bool tb__columns_head(const tb_log_columns *c, const char *line, size_t len, bool *ret_good);

/* --- values --- */

/* Any time that a log writes: epoch seconds to nanoseconds with or without a fraction, RFC 3339, and the
 * form of the combined format, with or without brackets. */
bool tb__any_time(tb__part text, int64_t *ret_ms);
/* A JSON number with a fraction or an exponent in plain digits, without a fraction of zeros: "1.5e3" is "1500",
 * "10.0" is "10". False where it is none, is below zero, or needs more room; then *text is as it was. */
enum { TB__PLAIN_MAX = 48 };
bool tb__plain_number(tb__part *text, char to[TB__PLAIN_MAX]);
/* A text of JSON without its escapes. False where it has none, or no escape, or needs more room; then *text is as it
 * was. */
bool tb__plain_text(tb__part *text, char to[TB_HOST_MAX]);
/* "2015-05-17" and "10:05:03", UTC. */
bool tb__day(tb__part date, int64_t *ret_ms);
bool tb__clock(tb__part clock, int64_t *ret_ms);
/* The cache status of a server's word: HIT, hit, Hit from x, RefreshHit, HIT-CLUSTER. A number, or a yes or no, gives
 * none: its meaning depends on the log. */
tb_cache tb__cache_word(tb__part word);
/* A hostname in lower case without port and last point, an address in the one form that all its spellings have; the
 * length, 0: it is none. */
size_t tb__host_fold(tb__part text, char to[TB_HOST_MAX]);

extern const uint16_t tb__kind_class[256]; /* bit per kind */

#endif
