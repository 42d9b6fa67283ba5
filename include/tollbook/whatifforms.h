/* A what-if's answer as bytes: JSON, CSV, a table for a terminal, a page with charts. All forms are
 * made from the same values, with money as decimal text. */
#ifndef TOLLBOOK_WHATIFFORMS_H
#define TOLLBOOK_WHATIFFORMS_H

#include "tollbook/whatifrun.h"

TB_API_BEGIN

/* Where the bytes go. flush (may be NULL) is called now and then, so that a long answer need not
 * lie in memory as a whole: it takes out's content and empties it. */
typedef struct tb_whatif_sink {
    tb_buf *out;
    void (*flush)(void *ctx, tb_buf *out);
    void *ctx;
} tb_whatif_sink;

/* form: "table", "json", "csv" or "html". */
void tb_whatif_put(const tb_whatif_answer *answer, const char *form, tb_whatif_sink *sink);

/* {"from","to","scenarios":[...],"late":[...]}: docs/openapi.yaml. One member of scenarios for each
 * currency that a scenario touches. */
void tb_whatif_json(const tb_whatif_answer *answer, tb_whatif_sink *sink);
/* RFC 4180. The column `row` says what a row is: total, month, account or line (of the largest
 * increases); rows of total, of month and of account each sum to the whole. */
void tb_whatif_csv(const tb_whatif_answer *answer, tb_whatif_sink *sink);
void tb_whatif_table(const tb_whatif_answer *answer, tb_whatif_sink *sink);
/* One page that loads nothing, for screen and paper. */
void tb_whatif_html(const tb_whatif_answer *answer, tb_whatif_sink *sink);

/* --- what they share: whatif_text.c --- */

#define TB_WHATIF_MONEY_MAX (TB_DECIMAL_TEXT_MAX + 4)

/* A scenario in one currency. group NULL: nothing was billed in it. */
typedef struct tb_whatif_part {
    const tb_whatif_result *result;
    const tb_whatif_group *group;
    const char *currency;
    int minor;
    const tb_whatif_book *book; /* the last one patched in this currency; NULL: none */
} tb_whatif_part;

/* How many parts the answer has, and one of them. */
size_t tb_whatif_n_parts(const tb_whatif_answer *answer);
tb_whatif_part tb_whatif_part_of(const tb_whatif_answer *answer, size_t number);

/* All zero if there is no group. */
tb_whatif_change tb_whatif_total(const tb_whatif_part *part);

/* Terminated. */
const char *tb_whatif_money(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX]);
/* With a sign, also of what is above zero. */
const char *tb_whatif_signed(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX]);
/* "+12.35 %", "0.00 %"; "new" if there was nothing before. */
const char *tb_whatif_percent(const tb_whatif_change *change, char out[TB_WHATIF_MONEY_MAX]);

/* Appends such text with commas between thousands and a true minus. */
void tb_whatif_figure(const char *text, tb_buf *out);

/* Lets the sink empty its buffer where it has grown. */
void tb_whatif_breathe(tb_whatif_sink *sink);

TB_API_END

#endif
