/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The whole configuration, as sluice.yaml.
 */
#include "broker/config/config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *path = fuzz_file(bytes, size);
    struct error err = { 0 };
    struct config *config = config_read(path, &err);

    if (!config)
        fuzz_expect_error(&err);
    config_free(config);
    return 0;
}
