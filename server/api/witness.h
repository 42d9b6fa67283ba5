/* Witnesses of the log of documents (c2sp.org/tlog-witness): each new checkpoint is sent to them, and their cosignatures are stored
 * with it. A witness that is away, slow or wrong delays nothing: it is asked again, with the newest checkpoint. */
#ifndef TOLLBOOK_SERVER_API_WITNESS_H
#define TOLLBOOK_SERVER_API_WITNESS_H

#include "http/jobs/witnesses.h"
#include "tollbook/proof.h"

#define WITNESS_URL_MAX 400 /* bytes */

typedef struct api_witness {
    char url[WITNESS_URL_MAX + 1]; /* of its submission prefix */
    tb_note_key key;
} api_witness;

/* Reads "URL=VKEY". TB_E_USAGE. */
TB_MUST_USE tb_code api_witness_read(const char *text, api_witness *ret, tb_error *err);

/* The work of the witnesses, which are copied. ca: see webhook.h. limit_us: how long one may take; the first pause before it is
 * asked again is a tenth of it. Called once, before the server starts. TB_E_USAGE: two have the same key. */
TB_MUST_USE tb_code api_witnesses(const api_witness *list, unsigned n, const char *ca, int64_t limit_us, witness_work *ret,
                                  tb_error *err);

/* Appends their metrics. */
void api_witness_metrics(tb_buf *out);

#endif
