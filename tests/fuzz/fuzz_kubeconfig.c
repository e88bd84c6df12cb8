/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kubeconfig, without a plugin that it may run.
 */
#include "clusters/kube/kube_config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(kube_config) struct kube_config *config = kube_config_read(fuzz_file(bytes, size), NULL,
                                                                     NULL, &err);

    if (!config) {
        fuzz_expect_error(&err);
        return 0;
    }
    require(strncmp(config->server, "https://", 8) == 0 ||
            strncmp(config->server, "http://", 7) == 0);
    require(!config->plugin); /* none is allowed */
    return 0;
}
