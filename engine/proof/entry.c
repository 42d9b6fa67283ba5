/* Entries of the log, as canonical JSON: each member in the order of its name, where the entry's type has it. What is read
 * is written again and compared, so that there is one form of each. */
#include "proof/text.h"

#include "base/jsontext.h"
#include "tollbook/calendar.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_TEXT (TB__QUOTED_MAX(TB_PROOF_BOOK_ID) + 256) /* bytes of the longest entry */

static const struct entry_type {
    const char *name;
    bool book, commit, day, month, of;
} types[TB_PROOF_TYPE_COUNT] = {
#define TB_X(e, name, book, commit, day, month, of) [TB_PROOF_##e] = {name, book, commit, day, month, of},
    TB_PROOF_ENTRIES(TB_X)
#undef TB_X
};

const char *tb_proof_type_name(tb_proof_type type)
{
    return (unsigned)type < TB_PROOF_TYPE_COUNT ? types[type].name : "";
}

typedef struct entry_text {
    size_t len;
    char bytes[ENTRY_TEXT];
} entry_text;

static void add_text(entry_text *text, const char *fmt, ...) TB_PRINTF(2, 3);

static void add_text(entry_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text->bytes + text->len, sizeof text->bytes - text->len, fmt, args);
    va_end(args);
    text->len += (size_t)n;
}

static void format_entry(const tb_proof_entry *entry, entry_text *out)
{
    const struct entry_type *type = &types[entry->type];
    char hex[65], base64[TB_MERKLE_BASE64], month[8];
    const tb_date date = tb_date_from_day(type->day ? entry->day : 0);
    tb_merkle_write(&entry->hash, base64);
    sodium_bin2hex(hex, sizeof hex, entry->hash.bytes, sizeof entry->hash.bytes);
    tb_month_format(type->month ? entry->month : 0, month);
    out->len = 0;
    add_text(out, "{");
    if (type->book) {
        add_text(out, "\"book\":");
        out->len = (size_t)(tb__quote(out->bytes + out->len, entry->book, strlen(entry->book)) - out->bytes);
        add_text(out, ",");
    }
    if (type->commit) add_text(out, "\"commit\":\"%s\",", base64);
    if (type->day) add_text(out, "\"day\":\"%04d-%02d-%02d\",", (int)date.year, (int)date.month, (int)date.day);
    if (type->month) add_text(out, "\"month\":\"%s\",", month);
    if (type->of && entry->of >= 0) add_text(out, "\"of\":%lld,", (long long)entry->of);
    if (type->book) add_text(out, "\"sha256\":\"%s\",", hex);
    add_text(out, "\"type\":\"%s\",\"v\":1}", type->name);
}

void tb_proof_entry_write(const tb_proof_entry *entry, tb_buf *out)
{
    entry_text text;
    format_entry(entry, &text);
    tb_buf_add(out, text.bytes, text.len);
}

/* --- reading --- */

static bool find_type(tb_text text, tb_proof_type *ret)
{
    for (int t = 0; t < TB_PROOF_TYPE_COUNT; t++) {
        char end[64];
        const size_t len = (size_t)snprintf(end, sizeof end, "\"type\":\"%s\",\"v\":1}", types[t].name);
        if (text.len < len || memcmp(text.data + text.len - len, end, len) != 0) continue;
        *ret = (tb_proof_type)t;
        return true;
    }
    return false;
}

/* The characters up to the next quotation mark, which is taken too. */
static bool take_string(tb_text *rest, tb_text *ret)
{
    const char *end = rest->len ? memchr(rest->data, '"', rest->len) : NULL;
    if (!end) return false;
    *ret = (tb_text){rest->data, (size_t)(end - rest->data)};
    *rest = (tb_text){end + 1, rest->len - ret->len - 1};
    return true;
}

static bool take_book(tb_text *rest, char book[TB_PROOF_BOOK_ID + 1])
{
    size_t n = 0;
    const char *end = rest->data + rest->len, *at = rest->data;
    while (at < end && *at != '"') {
        char one[8], *to = one;
        size_t step = 1;
        if (*at == '\\') step = tb__unescape(at, end, &to);
        else *to++ = *at;
        if (step == 0 || n + (size_t)(to - one) > TB_PROOF_BOOK_ID) return false;
        memcpy(book + n, one, (size_t)(to - one));
        n += (size_t)(to - one);
        at += step;
    }
    if (at == end || n == 0) return false;
    book[n] = '\0';
    *rest = (tb_text){at + 1, (size_t)(end - at) - 1};
    return true;
}

static int digits_of(const char *text, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++)
        value = 10 * value + (text[i] >= '0' && text[i] <= '9' ? text[i] - '0' : 0);
    return value;
}

static bool take_day(tb_text *rest, int64_t *ret)
{
    tb_text word;
    if (!take_string(rest, &word) || word.len != 10) return false;
    const tb_date date = {digits_of(word.data, 4), digits_of(word.data + 5, 2), digits_of(word.data + 8, 2)};
    if (date.year < 1 || date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return false;
    *ret = tb_day_from_date(date);
    return true;
}

static bool take_month(tb_text *rest, int64_t *ret)
{
    tb_text word;
    return take_string(rest, &word) && tb_month_parse(word.data, word.len, ret);
}

static bool take_commit(tb_text *rest, tb_merkle_hash *ret)
{
    tb_text word;
    return take_string(rest, &word) && tb_merkle_read(word.data, word.len, ret);
}

static bool take_sha256(tb_text *rest, tb_merkle_hash *ret)
{
    tb_text word;
    return take_string(rest, &word) && word.len == 64 &&
           sodium_hex2bin(ret->bytes, sizeof ret->bytes, word.data, word.len, NULL, NULL, NULL) == 0;
}

static bool take_of(tb_text *rest, int64_t *ret)
{
    const char *end = rest->len ? memchr(rest->data, ',', rest->len) : NULL;
    if (!end) return false;
    const tb_text word = {rest->data, (size_t)(end - rest->data)};
    *rest = (tb_text){end, rest->len - word.len};
    return tb__proof_number(word, ret);
}

/* The members of the type in their order. What stands between and behind them is compared by the caller. */
static bool take_members(tb_text rest, tb_proof_entry *entry)
{
    const struct entry_type *type = &types[entry->type];
    if (type->book && (!tb__proof_take(&rest, "{\"book\":\"") || !take_book(&rest, entry->book))) return false;
    if (type->commit && (!tb__proof_take(&rest, "{\"commit\":\"") || !take_commit(&rest, &entry->hash))) return false;
    if (type->day && (!tb__proof_take(&rest, ",\"day\":\"") || !take_day(&rest, &entry->day))) return false;
    if (type->month && (!tb__proof_take(&rest, ",\"month\":\"") || !take_month(&rest, &entry->month))) return false;
    if (type->of && tb__proof_take(&rest, ",\"of\":") && !take_of(&rest, &entry->of)) return false;
    return !type->book || (tb__proof_take(&rest, ",\"sha256\":\"") && take_sha256(&rest, &entry->hash));
}

tb_code tb_proof_entry_read(const char *text, size_t len, tb_proof_entry *ret, tb_error *err)
{
    tb_proof_entry entry = {.of = -1};
    entry_text again;
    const tb_text all = {text, len};
    if (!find_type(all, &entry.type))
        return tb_fail(err, TB_E_VALIDATION, "entry", "This is not an entry of the log: its type is not known.");
    bool same = take_members(all, &entry);
    if (same) format_entry(&entry, &again);
    if (!same || again.len != len || memcmp(again.bytes, text, len) != 0)
        return tb_fail(err, TB_E_VALIDATION, "entry",
                       "This is not an entry of the log: its members are not those of its type \"%s\".", types[entry.type].name);
    *ret = entry;
    return TB_OK;
}
