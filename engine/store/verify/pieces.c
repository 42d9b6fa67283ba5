/* Verifying pieces (tollbook/replica.h): their numbers have no gaps, each follows the one before, and the file's epoch is
 * that of the newest. Of the oldest that is kept only what the next one says is known. */
#include "store/verify/verify.h"
#include "tollbook/replica.h"

typedef struct checking {
    tb__verify *v;
    tb_piece before; /* number 0: none yet */
} checking;

static bool check_piece(void *ctx, const tb_piece *piece)
{
    checking *c = ctx;
    const bool known = c->before.number || piece->number == 1; /* the first follows none */
    if (known && !tb_piece_follows(piece, &c->before))
        tb__differs(c->v, "Piece %lld of replication does not follow piece %lld.", (long long)piece->number,
                    (long long)c->before.number);
    c->before = *piece;
    return true;
}

tb_code tb__verify_pieces(tb__verify *v, tb_error *err)
{
    checking c = {.v = v};
    tb_replication now;
    int64_t epoch = 0;
    tb_code code = tb_store_replication(v->store, &now, err);
    if (!code) code = tb__meta_get(v->store, "epoch", &epoch, err);
    if (!code && now.first > 0) code = tb_store_pieces(v->store, now.first - 1, check_piece, &c, err);
    if (!code)
        code = tb__verify_reference(v,
                                    "SELECT format('Piece %d of replication does not continue the sum of bytes before it.',id) FROM"
                                    " (SELECT id,total,lag(total) OVER(ORDER BY id) AS before,length(data) AS own FROM piece)"
                                    " WHERE iif(id=1,total<>0,total<>before+own)",
                                    err);
    if (!code && (epoch > 0 || c.before.number) && epoch != c.before.epoch)
        tb__differs(v, "The newest piece of replication is of epoch %lld, the file of epoch %lld.", (long long)c.before.epoch,
                    (long long)epoch);
    return code;
}
