/* A line that is to be packed: its columns, in some 120 bytes instead of 300.
 *
 * The head, then the line's values, without gaps: the id's 16 bytes, the address's 4 or 16, the body bytes;
 * then, each with its length before it, the texts that are not words in the order of tb__log_texted, the
 * address and the id where they are texts, and of a line that has one of them the columns after
 * AUTHORIZATION, which are rare. It ends at a multiple of 8. */
#ifndef TB__LOGS_RECORD_H
#define TB__LOGS_RECORD_H

#include "logs/format.h"
#include "logs/words.h"

/* X(NAME, member of tb_logline): the TEXT columns up to AUTHORIZATION. PATH is never a word. */
#define TB__LOG_TEXTED(X)                                                                          \
    X(CACHE, cache)                                                                                \
    X(STATUS, status)                                                                              \
    X(REFERER, referer)                                                                            \
    X(ORIGIN, origin)                                                                              \
    X(PATH, path)                                                                                  \
    X(EDGE, edge)                                                                                  \
    X(AGENT, agent)                                                                                \
    X(COUNTRY, country)                                                                            \
    X(RANGE, range)                                                                                \
    X(AUTHORIZATION, authorization)

enum {
#define TB_X(name, member) TB__LOG_TEXTED_##name,
    TB__LOG_TEXTED(TB_X)
#undef TB_X
        TB__LOG_TEXTED_COUNT
};

_Static_assert(TB__LOG_TEXTED_COUNT == sizeof(tb_logkeys) / 8, "a key for each");

typedef struct tb__logrecord {
    int64_t time_ms;
    uint64_t bytes;
    uint32_t size; /* of the whole record */
    uint16_t word[TB__LOG_TEXTED_COUNT];
    uint8_t ip, id; /* width: 0 absent, 4, 16, or TB__LOG_TEXT_WIDTH */
    bool body, network; /* it has body bytes; it has JA4, ASN or ORGANIZATION */
} tb__logrecord;

/* All rows of a block as records: of row r is records[r], which has room for its lines. They lie in memory of their
 * own, free(*ret_memory). */
TB_MUST_USE tb_code tb__logwords_rows(tb_logwords *words, tb_logblock *block, const void **records,
                                      void **ret_memory, tb_error *err);

struct tb_logwords {
    tb__words of[TB__LOG_TEXTED_COUNT];
};

#endif
