/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bearer tokens and key sets.  No token that the input makes up is believed: only the one that the
 * issuer signed is, byte for byte.  A key set that is accepted has a key, and verifies nothing.
 */
#include "base/memory.h"
#include "broker/access/bearer.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* RFC 7515, A.3.  Its claims have no audience, so the whole token is never believed either. */
static const char set[] =
    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHv"
    "RVEU\",\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

static void try_token(const char *token)
{
    static const struct bearer_rules rules = { "joe", "sluice" };
    static struct web_keys *keys;
    struct error err = { 0 };

    if (!keys)
        keys = web_keys_parse(set, strlen(set), "keys", &err);
    require(keys);
    require(!bearer_read(token, keys, &rules, (struct wall_time){ 1300819000000 }, &err));
    require(err.kind == ERROR_DENIED);
    fuzz_expect_error(&err);
}

static void try_keys(const char *bytes, size_t size)
{
    const struct web_signature claim = { "x", 1, bytes, size };
    struct error err = { 0 };
    struct web_keys *keys = web_keys_parse(bytes, size, "keys", &err);

    if (!keys) {
        fuzz_expect_error(&err);
        return;
    }
    require(web_keys_count(keys) > 0);
    require(!web_keys_verify(keys, "RS256", NULL, &claim));
    require(!web_keys_verify(keys, "ES256", NULL, &claim));
    web_keys_free(keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *chars = mem_new(size + 1);

    memcpy(chars, bytes, size);
    try_token(chars);
    try_keys(chars, size);
    mem_free(chars);
    return 0;
}
