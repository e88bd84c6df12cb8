/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An issuer of tokens for tests: two keys made by OpenSSL, its key set, and tokens of any header
 * and claims.
 */
#pragma once

#include "base/crypto.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <string.h>

struct issuer {
    EVP_PKEY *rsa;
    EVP_PKEY *ec;
};

static inline struct issuer issuer_new(void)
{
    struct issuer issuer = { EVP_RSA_gen(2048), EVP_EC_gen("P-256") };

    assert_non_null(issuer.rsa);
    assert_non_null(issuer.ec);
    return issuer;
}

static inline void issuer_clear(struct issuer *issuer)
{
    EVP_PKEY_free(issuer->rsa);
    EVP_PKEY_free(issuer->ec);
}

static inline void issuer_add_number(struct text *out, EVP_PKEY *key, const char *name, int size)
{
    unsigned char bytes[1024];
    BIGNUM *number = NULL;
    int length;

    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
    length = size ? BN_bn2binpad(number, bytes, size) : BN_bn2bin(number, bytes);
    assert_true(length > 0);
    crypto_add_base64url(out, bytes, (size_t)length);
    BN_free(number);
}

/* {"keys": [...]}: the RSA key has kid "r", the other "e". */
static inline struct text *issuer_keys(const struct issuer *issuer)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    text_add(out, "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\",\"use\":\"sig\",\"n\":\"");
    issuer_add_number(out, issuer->rsa, OSSL_PKEY_PARAM_RSA_N, 0);
    text_add(out, "\",\"e\":\"");
    issuer_add_number(out, issuer->rsa, OSSL_PKEY_PARAM_RSA_E, 0);
    text_add(out, "\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"alg\":\"ES256\",\"x\":\"");
    issuer_add_number(out, issuer->ec, OSSL_PKEY_PARAM_EC_PUB_X, 32);
    text_add(out, "\",\"y\":\"");
    issuer_add_number(out, issuer->ec, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    text_add(out, "\"}]}");
    return out;
}

static inline void issuer_sign(struct text *out, EVP_PKEY *key, const char *bytes, size_t size)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    unsigned char signature[1024], pair[64];
    size_t length = sizeof signature;

    assert_int_equal(EVP_DigestSignInit(digest, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestSign(digest, signature, &length, (const unsigned char *)bytes, size),
                     1);
    EVP_MD_CTX_free(digest);
    if (EVP_PKEY_is_a(key, "EC")) {
        const unsigned char *at = signature;
        ECDSA_SIG *der = d2i_ECDSA_SIG(NULL, &at, (long)length);

        BN_bn2binpad(ECDSA_SIG_get0_r(der), pair, 32);
        BN_bn2binpad(ECDSA_SIG_get0_s(der), pair + 32, 32);
        ECDSA_SIG_free(der);
        crypto_add_base64url(out, pair, sizeof pair);
    } else {
        crypto_add_base64url(out, signature, length);
    }
}

/* A token with this header and these claims, as JSON texts. */
static inline char *issuer_token(EVP_PKEY *key, const char *header, const char *claims)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    owned(chars) char *head = NULL;

    crypto_add_base64url(out, header, strlen(header));
    text_add(out, ".");
    crypto_add_base64url(out, claims, strlen(claims));
    head = mem_copy_chars(out->chars);
    text_add(out, ".");
    issuer_sign(out, key, head, strlen(head));
    return text_take(out);
}
