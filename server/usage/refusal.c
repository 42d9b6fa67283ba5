/* ClickHouse begins with its number of the error, in all versions; the sentence follows "DB::Exception: ". */
#include "usage/refusal.h"

#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 130

/* Numbers of dbms/src/Common/ErrorCodes.cpp. */
static const struct {
    unsigned code;
    bool closed; /* to every statement */
    const char *remedy;
} known[] = {
    {81, false, "Start tollbook serve again: it makes its database where that is missing."},
    {60, false, "Start tollbook serve again: it makes its tables where they are missing."},
    {159, false, "Ask for less, or allow more with --usage-timeout-ms."},
    {160, false, "Ask for less, or give the server more processors."},
    {164, true, "Its user may only read: give it the right to write, and to create tables."},
    {192, true, "Look at the user in the file of --usage-credentials."},
    {193, true, "Look at the password in the file of --usage-credentials."},
    {194, true, "It asks for a password: give one with --usage-credentials."},
    {195, true, "Allow this machine's address in the server's <networks>."},
    {202, false, "Raise max_concurrent_queries, or ask for less at a time."},
    {241, false, "Raise max_memory_usage, or give the server more memory."},
    {242, false, "Its table can only be read: look at the server's log and its Keeper."},
    {243, false, "Make room on its disk; what was refused can be sent again."},
    {252, false,
     "It merges too slowly: send larger batches, raise --usage-gather-ms, and look at its disk. What was refused can be "
     "sent again."},
    {291, true, "Allow its user the database."},
    {394, false, "Send the same again."},
    {497, true, "Give its user the rights on the database."},
    {516, true, "Look at the file of --usage-credentials."},
};

static size_t digits_of(const char *text, size_t len, unsigned *ret)
{
    size_t n = 0;
    *ret = 0;
    for (; n < len && n < 6 && text[n] >= '0' && text[n] <= '9'; n++)
        *ret = *ret * 10 + (unsigned)(text[n] - '0');
    return n;
}

/* Where a text stands in bytes that have no end of their own. */
static const char *find(const char *in, size_t len, const char *what)
{
    const size_t n = strlen(what);
    for (; len >= n; in++, len--)
        if (memcmp(in, what, n) == 0) return in;
    return NULL;
}

/* The first sentence of what the server says, without its own frame. */
static size_t sentence_of(const char **ret_text, size_t len)
{
    static const char frame[] = "DB::Exception: ";
    const char *text = *ret_text, *at = find(text, len, frame);
    if (at) {
        len -= (size_t)(at - text) + sizeof frame - 1;
        text = at + sizeof frame - 1;
    }
    static const char *const ends[] = {", e.what()", ". ", "\n", "\r", " (version"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if ((at = find(text, len, ends[i]))) len = (size_t)(at - text);
    while (len && (text[len - 1] == '.' || text[len - 1] == ' '))
        len--;
    *ret_text = text;
    return len > SENTENCE_MAX ? SENTENCE_MAX : len;
}

/* Nobody's terminal is told anything by a server. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) *text = ' ';
}

bool usage_refusal(long status, const char *text, size_t len, char ret_why[USAGE_WHY_MAX])
{
    static const char begin[] = "Code: ";
    unsigned code = 0;
    const char *sentence = text;
    const bool numbered = len > sizeof begin && memcmp(text, begin, sizeof begin - 1) == 0 &&
                          digits_of(text + sizeof begin - 1, len - (sizeof begin - 1), &code);
    const size_t n = sentence_of(&sentence, len);
    if (!numbered) {
        snprintf(ret_why, USAGE_WHY_MAX, "it answers HTTP %ld: %.*s. Look at its log.", status, (int)n, sentence);
        make_plain(ret_why);
        return true;
    }
    size_t i = 0;
    while (i < sizeof known / sizeof *known && known[i].code != code)
        i++;
    const bool found = i < sizeof known / sizeof *known;
    snprintf(ret_why, USAGE_WHY_MAX, "code %u, %.*s. %s", code, (int)n, sentence,
             found ? known[i].remedy : "Look at its log.");
    make_plain(ret_why);
    return found && known[i].closed;
}
