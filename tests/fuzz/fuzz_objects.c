/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and pods that a hostile API server sends.
 */
#include "clusters/snapshot.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(json) json_t *object = json_parse_foreign((const char *)bytes, size, "fuzz", &err);
    struct node *node;
    struct pod *pod;

    if (!object) {
        fuzz_expect_error(&err);
        return 0;
    }
    node = node_decode(object, &err);
    if (node)
        require(node->name[0] != '\0' && node->uid && node->devices);
    else
        fuzz_expect_error(&err);
    node_free(node);
    pod = pod_decode(object, &err);
    if (pod)
        require(pod->name[0] != '\0' && pod->uid[0] != '\0' && pod->devices && pod->device_claims &&
                pod->grace_s >= 0);
    else
        fuzz_expect_error(&err);
    pod_free(pod);
    return 0;
}
