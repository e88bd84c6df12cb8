/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The little cryptography that protocols ask for, on OpenSSL.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { SHA256_SIZE = 32, SHA256_TEXT_SIZE = 65 };

void crypto_sha256(const void *bytes, size_t size, unsigned char out[SHA256_SIZE]);

/* In lower-case hexadecimal. */
void crypto_sha256_text(const void *bytes, size_t size, char out[SHA256_TEXT_SIZE]);

/* The same of bytes that come one after the other. */
struct crypto_digest;

struct crypto_digest *crypto_digest_new(void) __attribute__((returns_nonnull, warn_unused_result));
void crypto_digest_add(struct crypto_digest *digest, const void *bytes, size_t size);
void crypto_digest_end(struct crypto_digest *digest, char out[SHA256_TEXT_SIZE]); /* frees it */
void crypto_digest_free(struct crypto_digest *digest);

/* HMAC (RFC 2104) with SHA-256; out may be the key. */
void crypto_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                        unsigned char out[SHA256_SIZE]);

/* RFC 4648, section 5, without padding.  Decoding accepts an encoder's output alone: anything else,
   bits that are left over too, is ERROR_INVALID. */
void crypto_add_base64url(struct text *out, const void *bytes, size_t size);
struct text *crypto_decode_base64url(const char *chars, size_t length, struct error *err)
    __attribute__((warn_unused_result));

/* RFC 4648, section 4, padded.  Decoding skips line breaks; anything else foreign is
   ERROR_INVALID. */
void crypto_add_base64(struct text *out, const void *bytes, size_t size);
struct text *crypto_decode_base64(const char *chars, struct error *err)
    __attribute__((warn_unused_result));

/* Fills it with random bytes for a secret.  No seed repeats them: for all else, struct random. */
void crypto_secret(void *out, size_t size);

/* The SHA-256 of the public key (SubjectPublicKeyInfo in DER) of each certificate in a PEM, as
   kubeadm pins authorities: "sha256:HEX", with commas between them.  ERROR_INVALID: no certificate,
   or one that cannot be read. */
int crypto_add_pins(const char *pem, struct text *out, struct error *err)
    __attribute__((warn_unused_result));

/* The hash by which k3s pins its authorities, in hexadecimal: SHA-256 of the PEM as it stands; of a
   PEM with more certificates, of the root (DER) that the first leads to by the others, if it does
   (https://docs.k3s.io/cli/token, "Secure"). */
void crypto_k3s_hash(const char *pem, char out[SHA256_TEXT_SIZE]);

/* A private RSA key.  Who signs often keeps it: to read one takes longer than to sign. */
struct crypto_key;

/* Reads an unencrypted PEM into *key.  A *key that was read from the same PEM stays; any other is
   freed before (NULL: none).  After ERROR_INVALID *key is NULL. */
int crypto_key_read(struct crypto_key **key, const char *pem, struct error *err)
    __attribute__((warn_unused_result));
void crypto_key_free(struct crypto_key *key);

static inline void owned_crypto_key(struct crypto_key **key)
{
    crypto_key_free(*key);
}

/* RSASSA-PKCS1-v1_5 with SHA-256; appends the raw signature to `out`. */
int crypto_sign_rs256(const struct crypto_key *key, const void *bytes, size_t size,
                      struct text *out, struct error *err) __attribute__((warn_unused_result));

/* Whether the signature is of these bytes, by the public half of the key. */
bool crypto_verify_rs256(const struct crypto_key *key, const void *bytes, size_t size,
                         const void *signature, size_t signature_size);
