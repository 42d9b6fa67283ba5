/* Fuzzes maps of JSON objects and logs of theirs: described.h. */
#include "described.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return described_input("", true, data, size);
}
