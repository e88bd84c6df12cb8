/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a credential plugin prints.
 */
#include "clusters/kube/kube_token.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(json) json_t *credential = json_parse_foreign((const char *)bytes, size, "plugin", &err);
    owned(chars) char *token = NULL;
    struct wall_time expires;

    if (!credential)
        return 0;
    token = kube_token_decode(credential, "client.authentication.k8s.io/v1", &expires, &err);
    if (!token) {
        fuzz_expect_error(&err);
        return 0;
    }
    /* It becomes a header. */
    require(token[0] != '\0' && !strpbrk(token, "\r\n"));
    return 0;
}
