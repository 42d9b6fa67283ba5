/* In all versions of ClickHouse the message begins with the error's code; the sentence follows "DB::Exception: ". */
#include "usage/refusal.h"

#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 130

/* Numbers of dbms/src/Common/ErrorCodes.cpp. */
static const struct {
    unsigned code;
    usage_refuses refuses;
    const char *remedy;
} known[] = {
    {81, USAGE_REFUSES_NOTHING, "Start tollbook serve again: it makes its database where that is missing."},
    {60, USAGE_REFUSES_NOTHING, "Start tollbook serve again: it makes its tables where they are missing."},
    {159, USAGE_REFUSES_NOTHING, "Ask for less, or allow more with --usage-timeout-ms."},
    {160, USAGE_REFUSES_NOTHING, "Ask for less, or give the server more processors."},
    {164, USAGE_REFUSES_ALL, "Its user may only read: give it the right to write, and to create tables."},
    {192, USAGE_REFUSES_ALL, "Look at the user in the file of --usage-credentials."},
    {193, USAGE_REFUSES_ALL, "Look at the password in the file of --usage-credentials."},
    {194, USAGE_REFUSES_ALL, "It asks for a password: give one with --usage-credentials."},
    {195, USAGE_REFUSES_ALL, "Allow this machine's address in the server's <networks>."},
    {202, USAGE_REFUSES_NOTHING, "Raise max_concurrent_queries, or ask for less at a time."},
    {241, USAGE_REFUSES_NOTHING, "Raise max_memory_usage, or give the server more memory."},
    {242, USAGE_REFUSES_ROWS, "Its table can only be read: look at the server's log and its Keeper."},
    {243, USAGE_REFUSES_ROWS, "Make room on its disk; what was refused can be sent again."},
    {252, USAGE_REFUSES_NOTHING,
     "It merges too slowly: send larger batches, raise --usage-gather-ms, and look at its disk. What was refused can be "
     "sent again."},
    {291, USAGE_REFUSES_ALL, "Allow its user the database."},
    {394, USAGE_REFUSES_NOTHING, "Send the same again."},
    {497, USAGE_REFUSES_ALL, "Give its user the rights on the database."},
    {516, USAGE_REFUSES_ALL, "Look at the file of --usage-credentials."},
};

/* Finds a text in bytes without a terminator. */
static const char *find(const char *in, size_t len, const char *text)
{
    const size_t n = strlen(text);
    for (; len >= n; in++, len--)
        if (memcmp(in, text, n) == 0) return in;
    return NULL;
}

/* The first sentence of the server's message, without its prefix. */
static size_t first_sentence(const char **ret_text, size_t len)
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

/* Replaces control bytes, so that a server cannot control a terminal. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) *text = ' ';
}

usage_refuses usage_refusal(long status, const char *text, size_t len, char ret_why[USAGE_WHY_MAX])
{
    static const char begin[] = "Code: ";
    unsigned code = 0;
    const char *sentence = text;
    size_t at = sizeof begin - 1;
    const bool numbered = len > sizeof begin && memcmp(text, begin, at) == 0 && text[at] >= '0' && text[at] <= '9';
    for (; numbered && at < len && at < sizeof begin + 5 && text[at] >= '0' && text[at] <= '9'; at++)
        code = code * 10 + (unsigned)(text[at] - '0');
    const size_t n = first_sentence(&sentence, len);
    if (!numbered) {
        snprintf(ret_why, USAGE_WHY_MAX, "it answers HTTP %ld: %.*s. Look at its log.", status, (int)n, sentence);
        make_plain(ret_why);
        return USAGE_REFUSES_ALL;
    }
    size_t i = 0;
    while (i < sizeof known / sizeof *known && known[i].code != code)
        i++;
    const bool found = i < sizeof known / sizeof *known;
    snprintf(ret_why, USAGE_WHY_MAX, "code %u, %.*s. %s", code, (int)n, sentence,
             found ? known[i].remedy : "Look at its log.");
    make_plain(ret_why);
    return found ? known[i].refuses : USAGE_REFUSES_NOTHING;
}
