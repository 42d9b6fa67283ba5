/* Fuzzes the log formats: the first byte chooses the format (bit 0: 0 pipe, 1 combined) and, with
 * the length, where the input is cut; the rest is the log. What must hold: prop/intake_check.h. */
#include "prop/intake_check.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    static const tb_known_edge edges[] = {{"DE", 1}, {"NY", 0}, {"UK", 2}};
    const tb_log_layout layout = {.format = data[0] & 1 ? TB_FORMAT_COMBINED : TB_FORMAT_PIPE,
                                  .now_ms = INT64_C(1794960000000),
                                  .zone = 7,
                                  .edge = "DE",
                                  .edge_len = 2,
                                  .edges = edges,
                                  .n_edges = 3};
    char *bytes = with_slack((const char *)data + 1, size - 1, 0);
    const char *wrong =
        intake_check(&layout, bytes, size - 1, data[0] + (uint64_t)size * 2654435761u);
    free(bytes);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}
