/* Makes a month's accounts final in groups, or shows them. A commit waits for the disk, so accounts
 * share one. A group's end depends only on the accounts, never on the clock: a run that was killed
 * and completed has the same watermarks, and so the same bytes, as an undisturbed one. */
#ifndef TOLLBOOK_ISSUEGROUP_H
#define TOLLBOOK_ISSUEGROUP_H

#include "tollbook/shadowbills.h"
#include "tollbook/issue.h"

TB_API_BEGIN

#define TB_ISSUE_GROUP_ACCOUNTS 50
#define TB_ISSUE_GROUP_BYTES    ((size_t)1 << 20) /* of invoices' texts */
#define TB_ISSUE_SAID_MAX       ((size_t)16 << 20)
#define TB_ISSUE_UNPRICED_MAX   1000 /* lines that are said of one account; the rest is counted */

/* A stored invoice or, where invoice is NULL, a draft. shown: how many came before it. */
typedef tb_code (*tb_issue_put)(void *ctx, const tb_invoice *invoice, const tb_statement *draft,
                                size_t shown, tb_buf *out, tb_error *err);

typedef struct tb_issue_group {
    /* What is asked. */
    tb_store *store;
    int64_t month, now_us;
    bool empty; /* also where nothing is due */
    bool stored; /* showing: no drafts; accounts without an invoice that stands count as nothing */
    const tb_month_books *books;
    const tb_shadow_books *shadows; /* finalising alone */
    tb_issue_put put;
    void *ctx;
    tb_buf *out; /* where put writes; what it wrote of a refused account is taken back */
    /* What became of it. */
    size_t n, made, known, nothing, refused; /* accounts of this group */
    size_t unsold, lacking; /* of those made: without a seller; that lack anything for the law */
    size_t shown;                            /* by put, over all groups */
    size_t bytes;                            /* of this group's texts */
    tb_buf said; /* lines for people, to be said once the group is committed */
} tb_issue_group;

/* group: what is asked is set, the rest is zero. */
void tb_issue_group_init(tb_issue_group *group);
void tb_issue_group_release(tb_issue_group *group);
/* In the caller's transaction: all of the account or nothing of it. What is the account's own
 * trouble (usage without a price, say) is said and counted, and the group goes on. All documents that the
 * account's run of the month made are put. After any error roll back. */
TB_MUST_USE tb_code tb_issue_group_finalize(tb_issue_group *group, int64_t account, tb_error *err);
/* In the caller's snapshot: what is stored of the month, what its runs made and, where no invoice stands, its draft. An
 * account whose draft cannot be made is said and counted likewise, and nothing is put for it. */
TB_MUST_USE tb_code tb_issue_group_show(tb_issue_group *group, int64_t account, tb_error *err);
/* One document, of tb_store_issued. */
TB_MUST_USE tb_code tb_issue_group_document(tb_issue_group *group, int64_t place, tb_error *err);
/* Whether it is to be committed. */
bool tb_issue_group_full(const tb_issue_group *group);
/* After that: the next group begins. */
void tb_issue_group_next(tb_issue_group *group);

/* The accounts of a month, ascending: those that have anything in it, an invoice or a run of it, or
 * an earlier month that waits; or the one that is asked for (0: all). TB_E_NOT_FOUND: there is no
 * such account. free(). */
TB_MUST_USE tb_code tb_issue_accounts(tb_store *store, int64_t month, int64_t account,
                                      int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* In a transaction of its own, after a run over everybody: notes that all who have no run of the
 * month had nothing in it when this was read. Where some came in after the run had listed its
 * accounts they are *ret_left, ascending, and nothing is noted: run them and ask again. free().
 * Notes it once a month. */
TB_MUST_USE tb_code tb_issue_everybody(tb_store *store, int64_t month, int64_t now_us,
                                       int64_t **ret_left, size_t *ret_n, tb_error *err);

TB_API_END

#endif
