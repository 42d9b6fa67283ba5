/* A what-if's answer as bytes: JSON, CSV, a table for a terminal, a page with charts. All are made
 * of the same values, with money as decimal text. */
#ifndef TOLLBOOK_SERVER_API_WHATIF_FORMS_H
#define TOLLBOOK_SERVER_API_WHATIF_FORMS_H

#include "api/whatif_run.h"

/* Where the bytes go. flush (may be NULL) is called now and then, so that a long answer need not
 * lie in memory as a whole: it takes out's content and empties it. */
typedef struct whatif_sink {
    tb_buf *out;
    void (*flush)(void *ctx, tb_buf *out);
    void *ctx;
} whatif_sink;

#define WHATIF_ANSWER_MAX ((size_t)1 << 30)

/* {"from","to","scenarios":[...],"late":[...]}: docs/openapi.yaml. One member of scenarios for each
 * currency that a scenario touches. */
void whatif_json(const whatif_answer *answer, whatif_sink *sink);
/* RFC 4180. The column `row` says what a row is: total, month, account or line (of the largest
 * increases); rows of total, of month and of account each sum to the whole. */
void whatif_csv(const whatif_answer *answer, whatif_sink *sink);
void whatif_table(const whatif_answer *answer, whatif_sink *sink);
/* One page that loads nothing, for screen and paper. */
void whatif_html(const whatif_answer *answer, whatif_sink *sink);

/* --- what they share: whatif_text.c --- */

#define WHATIF_MONEY_MAX (TB_DECIMAL_TEXT_MAX + 4)

/* A scenario in one currency. group NULL: nothing was billed in it. */
typedef struct whatif_part {
    const tb_whatif_result *result;
    const tb_whatif_group *group;
    const char *currency;
    int minor;
    const tb_whatif_book *book; /* the last one patched in this currency; NULL: none */
} whatif_part;

/* How many parts the answer has, and one of them. */
size_t whatif_n_parts(const whatif_answer *answer);
whatif_part whatif_part_of(const whatif_answer *answer, size_t number);

/* All zero where there is no group. */
tb_whatif_change whatif_total(const whatif_part *part);

/* Terminated. */
const char *whatif_money(tb_decimal amount, int minor, char out[WHATIF_MONEY_MAX]);
/* With a sign, also of what is above zero. */
const char *whatif_signed(tb_decimal amount, int minor, char out[WHATIF_MONEY_MAX]);
/* "+12.35 %", "0.00 %"; "new" where there was nothing before. */
const char *whatif_percent(const tb_whatif_change *change, char out[WHATIF_MONEY_MAX]);

/* Appends such text with commas between thousands and a true minus. */
void whatif_figure(const char *text, tb_buf *out);

/* Lets the sink empty its buffer where it has grown. */
void whatif_breathe(whatif_sink *sink);

#endif
