/* A reader of one line that is a JSON object of known keys: rows of usage (row.c) and of meters (meter_line.c).
 *
 * It knows just what such a line may hold: strings, whole numbers and times under keys of one table. Everything else
 * (fractions, exponents, unknown or repeated keys) is refused where it begins, with a sentence that names the key. Keys are
 * looked for from the place of the key before, since writers keep an order. */
#ifndef TB__INTAKE_FLAT_H
#define TB__INTAKE_FLAT_H

#include "intake/chars.h"
#include "intake/line.h"
#include "intake/reject.h"

typedef struct tb__key_name {
    const char *name;
    size_t len;
} tb__key_name;

#define TB__KEY_BIT(k) (UINT32_C(1) << (k))

/* Longest string that is kept whole. */
enum { TB__FLAT_STRING = 64 };

typedef struct tb__flat_text {
    size_t len; /* TB__FLAT_STRING + 1: it is longer */
    char bytes[TB__FLAT_STRING + 1];
} tb__flat_text;

typedef struct tb__flat {
    const char *line, *at, *end;
    const tb__key_name *keys;
    unsigned n_keys;
    const char *unknown; /* the sentence for a key that is not in the table */
    int64_t now_ms;
    uint32_t seen; /* keys */
    unsigned last; /* key found last */
    const char *key_at; /* where it stands */
    tb_reject *reject;
    tb_error *err;
} tb__flat;

/* The reader of a line; false: it is blank or too long, and refused. The caller has set keys, n_keys, unknown, now_ms, reject
 * and err. */
bool tb__flat_begin(tb__flat *r, const char *line, size_t len);
/* Refuses the line at `at`; key names the field of the error, NULL if there is none. All of these return false. */
bool tb__flat_refuse(tb__flat *r, const char *at, tb_reject_reason reason, const char *key, const char *sentence);
bool tb__flat_not_json(tb__flat *r, const char *sentence);
/* The same at the line's end, with a key of the table. */
bool tb__flat_lacks(tb__flat *r, unsigned key, const char *sentence);

TB__INLINE void tb__flat_space(tb__flat *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Takes the character, behind blanks, if it comes next. */
TB__INLINE bool tb__flat_char(tb__flat *r, char c)
{
    tb__flat_space(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* The rest of a string after its opening quote. Only ASCII can be part of anything known: other escapes become '?'. */
bool tb__flat_string(tb__flat *r, tb__flat_text *ret);
/* A string with its opening quote, as UTF-8: 1 to `most` bytes, all printable; false: refused with the sentence. out is
 * terminated. */
bool tb__flat_name(tb__flat *r, const char *key, size_t most, const char *sentence, char *out);
/* The whole object; `take` takes the value of each key. Its reader begins with a tb__flat. */
bool tb__flat_members(tb__flat *r, bool (*take)(tb__flat *r, unsigned key));
/* A whole number from min to max, written plainly; the sentence says which. */
bool tb__flat_whole(tb__flat *r, unsigned key, uint64_t min, uint64_t max, tb_reject_reason reason, const char *sentence,
                    uint64_t *ret);
/* An RFC 3339 time, on the hour where `hourly`, within the clock's window. */
bool tb__flat_time(tb__flat *r, unsigned key, bool hourly, int64_t *ret_us);
#endif
