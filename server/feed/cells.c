/* The body is read whole: a piece is bounded, and its cells are far shorter than its lines. The lines beside
 * the cells are one block, whose lines have the numbers that they have in the piece. */
#include "feed/cells.h"

#include <stdlib.h>

#include "tollbook/batches.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"

#define READ_FIRST ((size_t)64 << 10)

/* The zone of a cell; 0: its lines may not be sent as cells, because the zone keeps its lines, or bytes by 5 minutes. */
static int64_t zone_of(void *ctx, const tb_cell_key *key)
{
    const feed_run *run = ctx;
    const tb_log_layout *layout = &run->options->layout;
    const int64_t zone =
        key->zone ? key->zone : tb_known_hosts_find(layout->hosts, key->host.data, key->host.len);
    const bool kept = zone && run->keeper.zones && tb_logged_find(run->keeper.zones, zone);
    const bool sampled = run->directory && tb_sampled_account(run->directory->sampled, zone, run->directory->samples);
    return kept || sampled || zone < 0 ? 0 : zone;
}

static tb_code read_cells_body(feed_run *run, feed_block *block, tb_error *err)
{
    size_t n = 1;
    while (n > 0) {
        if (block->cap - block->len < READ_FIRST) {
            const size_t cap = block->cap ? block->cap * 2 : READ_FIRST * 2;
            char *more = realloc(block->bytes, cap + TB_INTAKE_SLACK);
            if (!more) return tb_no_memory(err);
            block->bytes = more;
            block->cap = cap;
        }
        tb_code code =
            feed_source_read(run->source, block->bytes + block->len, block->cap - block->len, &n, err);
        if (code) return code;
        block->len += n;
    }
    feed_source_close(run->source); /* frees the codec's memory, as many bodies may be queued for the writer */
    run->source = run->reader.source = NULL;
    return TB_OK;
}

static tb_code parse_beside(feed_run *run, const tb_cell_batch *batch, tb_error *err)
{
    feed_worker *worker = &run->workers[0];
    const feed_block whole = worker->block;
    if (!batch->text_len) return TB_OK;
    worker->block = (feed_block){.bytes = whole.bytes + (batch->text - whole.bytes),
                                 .cap = batch->text_len,
                                 .len = batch->text_len};
    worker->numbers = batch->numbers;
    tb_code code = feed_worker_parse(worker, run->options, err);
    worker->numbers = NULL;
    worker->block = whole;
    if (!code && worker->logs) code = feed_logs_pack(worker->logs, err);
    return code;
}

/* Lines that came as counters have no places. The clock allowed them: one is behind the first line that is too new
 * where not all that follow came as lines. */
static void note_limit(feed_run *run, const tb_cell_batch *batch)
{
    feed_worker *worker = &run->workers[0];
    const uint64_t first = worker->first_too_new;
    if (first && batch->n_numbers - first != batch->lines - batch->numbers[first - 1])
        worker->last_in_time = UINT64_MAX;
    else if (!worker->last_in_time && batch->n_numbers < batch->lines)
        worker->last_in_time = 1; /* before it */
    feed_run_note_limit(run, worker);
}

static tb_code count_batch(feed_run *run, const tb_cell_batch *batch, tb_error *err)
{
    const feed_worker *worker = &run->workers[0];
    const bool full = feed_worker_full(worker) || (worker->logs && feed_logs_full(worker->logs));
    if (worker->lines != batch->n_numbers || worker->n_heads)
        return tb_fail(err, TB_E_BAD_INPUT, "cells", "A head does not go with cells. Send the lines.");
    run->counts = calloc(1, sizeof *run->counts);
    if (!run->counts) return tb_no_memory(err);
    run->n_counts = run->cap_counts = 1;
    run->counts[0] = (uint32_t)batch->lines;
    run->lines = batch->lines;
    run->refused = worker->n_rejects;
    run->refused_too_new = worker->n_too_new;
    run->refused_in_time = worker->n_in_time;
    note_limit(run, batch);
    run->taken_ambiguous = worker->n_ambiguous;
    run->ended = full ? ENDED_FULL : ENDED_INPUT;
    if (run->refused <= FEED_REFUSED_MAX) return TB_OK;
    return tb_fail(err, TB_E_TOO_LARGE, NULL, "More than %d lines of this body were refused.",
                   FEED_REFUSED_MAX);
}

static tb_code take_cells(feed_run *run, tb_cell_batch *batch, tb_error *err)
{
    feed_worker *worker = &run->workers[0];
    const feed_piece *piece = run->options->piece;
    const tb_cells_judge judge = {run->options->layout.now_ms, zone_of, run};
    tb_code code = read_cells_body(run, &worker->block, err);
    if (code) return code;
    worker->lines = worker->n_rejects = worker->n_too_new = worker->n_in_time = 0;
    worker->n_ambiguous = worker->n_heads = worker->first_too_new = worker->last_in_time = 0;
    code = tb_cells_read(worker->block.bytes, worker->block.len, &judge, worker->rollup, batch, err);
    if (code) return code;
    /* a line has a byte at least, and the sender says how many bytes the piece has */
    if (piece->length <= piece->start || batch->lines > piece->length - piece->start)
        return tb_fail(err, TB_E_BAD_INPUT, "cells", "The piece has fewer bytes than lines.");
    code = parse_beside(run, batch, err);
    if (code) return code;
    free(run->granted); /* the requested keys that may be sent as cells */
    run->n_granted = 0;
    run->granted = malloc((batch->n_asked + 1) * sizeof *run->granted);
    if (!run->granted) return tb_no_memory(err);
    for (size_t i = 0; i < batch->n_asked; i++)
        if (zone_of(run, &batch->asked[i])) run->granted[run->n_granted++] = (uint32_t)i;
    return count_batch(run, batch, err);
}

tb_code feed_cells_parse(feed_run *run, tb_error *err)
{
    tb_cell_batch batch = {0};
    run->ended = NOT_ENDED;
    tb_code code = take_cells(run, &batch, err);
    feed_block_release(&run->workers[0].block); /* the parts that are kept were copied */
    free(batch.asked);
    free(batch.numbers);
    return code;
}
