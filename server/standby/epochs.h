/* Asks servers which epoch they have (GET /replica/epoch), all at once and for a short time. */
#ifndef TOLLBOOK_SERVER_STANDBY_EPOCHS_H
#define TOLLBOOK_SERVER_STANDBY_EPOCHS_H

#include "standby/link.h"

#define EPOCHS_MS 1500L

typedef struct epoch_answer {
    int64_t epoch; /* 0: it did not answer, or has none */
    int64_t piece; /* its newest */
    bool primary, standby; /* its role; neither: superseded, or unknown */
} epoch_answer;

/* Of at most TB_STANDBYS_MAX servers. ca: as link_options has it. */
void epochs_ask(const char *const *urls, size_t n, const char *ca, epoch_answer *ret);
/* Of the link's server. An answer that is not 200 has epoch 0. */
TB_MUST_USE tb_code epochs_ask_one(primary_link *link, epoch_answer *ret, tb_error *err);
/* Of several addresses, takes that of the primary with the highest epoch as options->url; where there is none it stays. */
void epochs_choose(link_options *options);

#endif
