/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers of Oracle's cloud, of any status: a kind and a sentence, or a list of machines.  The
 * first byte is the status.
 */
#include "providers/oci/oci_errors.h"
#include "providers/oci/oci_node.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 200, 202, 400, 401, 404, 409, 412, 429, 500, 503 };
    struct error err = { 0 };
    owned(json) json_t *body =
        size > 1 ? json_parse_foreign((const char *)bytes + 1, size - 1, "cloud", &err) : NULL;
    const struct oci_said said = {
        .status = statuses[size > 0 ? bytes[0] % COUNT_OF(statuses) : 0],
        .body = body,
        .is_mutation = size > 0 && bytes[0] >= 128,
    };
    owned(oci_node_list) struct oci_node_list list = { 0 };

    if (oci_error_of_answer(&said, &err) < 0) {
        fuzz_expect_error(&err);
        /* A server that failed does not say that nothing happened. */
        require(!said.is_mutation || said.status < 500 || err.kind == ERROR_UNKNOWN_OUTCOME);
        return 0;
    }
    if (!body)
        return 0;
    if (oci_read_pool(body, "np", &list, &err) < 0) {
        fuzz_expect_error(&err);
        require(list.machines.count == 0);
        return 0;
    }
    require(list.present >= 0 && list.present <= (int64_t)list.machines.count);
    for (size_t i = 0; i < list.machines.count; i++)
        require(list.machines.items[i].name[0] != '\0');
    return 0;
}
