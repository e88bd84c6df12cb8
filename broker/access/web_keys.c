/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See web_keys.h.  Keys are built and used by OpenSSL's EVP interface.
 */
#include "broker/access/web_keys.h"

#include "base/array.h"
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/text.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

enum { RSA_BITS_LEAST = 2048, RSA_BITS_MOST = 8192, EC_SIZE = 32, EC_POINT_SIZE = 1 + 2 * EC_SIZE };

/* What a key is for: RFC 7518, sections 3.3, 3.4 and 6. */
struct algorithm {
    const char *name;
    const char *type;
    EVP_PKEY *(*build)(const json_t *json, struct error *err);
};

struct web_key {
    const struct algorithm *algorithm;
    char *id; /* NULL: it has none */
    EVP_PKEY *key;
};

struct web_keys {
    ARRAY(struct web_key) list;
};

static void owned_params(OSSL_PARAM **params)
{
    OSSL_PARAM_free(*params);
}

static void owned_builder(OSSL_PARAM_BLD **builder)
{
    OSSL_PARAM_BLD_free(*builder);
}

static void owned_number(BIGNUM **number)
{
    BN_free(*number);
}

static void owned_key_context(EVP_PKEY_CTX **context)
{
    EVP_PKEY_CTX_free(*context);
}

static void owned_digest(EVP_MD_CTX **digest)
{
    EVP_MD_CTX_free(*digest);
}

/* A member in base64url. */
static struct text *need_bytes(const json_t *json, const char *name, struct error *err)
{
    const char *chars;
    struct text *bytes;

    if (json_need_text(json, name, &chars, err) < 0)
        return NULL;
    bytes = crypto_decode_base64url(chars, strlen(chars), err);
    if (!bytes)
        error_context(err, "%s", name);
    return bytes;
}

static EVP_PKEY *key_of(const char *type, OSSL_PARAM *params)
{
    owned(key_context) EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    require(context && params);
    if (EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    ERR_clear_error();
    return key;
}

static EVP_PKEY *build_rsa(const json_t *json, struct error *err)
{
    owned(text) struct text *n_bytes = need_bytes(json, "n", err);
    owned(text) struct text *e_bytes = n_bytes ? need_bytes(json, "e", err) : NULL;
    owned(builder) OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    owned(params) OSSL_PARAM *params = NULL;
    owned(number) BIGNUM *n = NULL;
    owned(number) BIGNUM *e = NULL;
    EVP_PKEY *key;

    if (!e_bytes)
        return NULL;
    if (n_bytes->length > RSA_BITS_MOST / 8 || e_bytes->length > sizeof(uint32_t)) {
        error_set(err, ERROR_INVALID, "its modulus or exponent is too large");
        return NULL;
    }
    n = BN_bin2bn((const unsigned char *)n_bytes->chars, (int)n_bytes->length, NULL);
    e = BN_bin2bn((const unsigned char *)e_bytes->chars, (int)e_bytes->length, NULL);
    require(builder && n && e);
    if (BN_num_bits(n) < RSA_BITS_LEAST || !BN_is_odd(n) || !BN_is_odd(e) || BN_is_one(e)) {
        error_set(err, ERROR_INVALID, "its modulus has under %d bits, or it is no RSA key",
                  RSA_BITS_LEAST);
        return NULL;
    }
    require(OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
            OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1);
    params = OSSL_PARAM_BLD_to_param(builder);
    key = key_of("RSA", params);
    if (!key)
        error_set(err, ERROR_INVALID, "it is no RSA key");
    return key;
}

/* A point that is not on the curve would leak nothing here, but is no key. */
static bool is_on_curve(EVP_PKEY *key)
{
    owned(key_context) EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    bool is_good = context && EVP_PKEY_public_check(context) == 1;

    ERR_clear_error();
    return is_good;
}

static EVP_PKEY *build_ec(const json_t *json, struct error *err)
{
    owned(text) struct text *x = need_bytes(json, "x", err);
    owned(text) struct text *y = x ? need_bytes(json, "y", err) : NULL;
    owned(builder) OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    owned(params) OSSL_PARAM *params = NULL;
    unsigned char point[EC_POINT_SIZE] = { POINT_CONVERSION_UNCOMPRESSED };
    EVP_PKEY *key = NULL;

    if (!y)
        return NULL;
    if (x->length == EC_SIZE && y->length == EC_SIZE) {
        memcpy(point + 1, x->chars, EC_SIZE);
        memcpy(point + 1 + EC_SIZE, y->chars, EC_SIZE);
        require(builder &&
                OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1",
                                                0) == 1 &&
                OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point,
                                                 sizeof point) == 1);
        params = OSSL_PARAM_BLD_to_param(builder);
        key = key_of("EC", params);
    }
    if (key && is_on_curve(key))
        return key;
    EVP_PKEY_free(key);
    error_set(err, ERROR_INVALID, "it is no point of P-256");
    return NULL;
}

static const struct algorithm algorithms[] = {
    { "RS256", "RSA", build_rsa },
    { "ES256", "EC", build_ec },
};

/* NULL: a key for something else. */
static const struct algorithm *algorithm_of(const json_t *json)
{
    const char *type = json_text_or(json, "kty", "");
    const json_t *operations = json_object_get(json, "key_ops");
    bool verifies = !operations;

    for (size_t i = 0; i < json_array_size(operations); i++)
        verifies |= text_equal(json_string_value(json_array_get(operations, i)), "verify");
    if (!verifies || !text_equal(json_text_or(json, "use", "sig"), "sig") ||
        (text_equal(type, "EC") && !text_equal(json_text_or(json, "crv", ""), "P-256")))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(algorithms); i++)
        if (text_equal(algorithms[i].type, type) &&
            text_equal(json_text_or(json, "alg", algorithms[i].name), algorithms[i].name))
            return &algorithms[i];
    return NULL;
}

static const struct web_key *find(const struct web_keys *keys, const char *id)
{
    for (size_t i = 0; i < keys->list.count; i++)
        if (keys->list.items[i].id && text_equal(keys->list.items[i].id, id))
            return &keys->list.items[i];
    return NULL;
}

static int add_key(struct web_keys *keys, const json_t *json, struct error *err)
{
    const struct algorithm *algorithm = json_is_object(json) ? algorithm_of(json) : NULL;
    const char *id = NULL;
    EVP_PKEY *key;

    if (!algorithm)
        return 0;
    if (json_find_text(json, "kid", &id, err) < 0)
        return -1;
    if (id && find(keys, id))
        return error_set(err, ERROR_INVALID, "two keys have the kid \"%.100s\"", id);
    key = algorithm->build(json, err);
    if (!key)
        return -1;
    *array_add(&keys->list) = (struct web_key){ algorithm, id ? mem_copy_chars(id) : NULL, key };
    return 0;
}

struct web_keys *web_keys_parse(const char *bytes, size_t size, const char *source,
                                struct error *err)
{
    owned(web_keys) struct web_keys *keys = mem_new(sizeof *keys);
    owned(json) json_t *set = json_parse(bytes, size, source, err);
    json_t *list;

    if (!set)
        return NULL;
    if (json_need_array(set, "keys", &list, err) < 0) {
        error_context(err, "%s", source);
        return NULL;
    }
    if (json_array_size(list) > WEB_KEYS_MOST) {
        error_set(err, ERROR_INVALID, "%s: over %d keys", source, WEB_KEYS_MOST);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (add_key(keys, json_array_get(list, i), err) < 0) {
            error_context(err, "%s: keys[%zu]", source, i);
            return NULL;
        }
    if (keys->list.count == 0) {
        error_set(err, ERROR_INVALID, "%s: has no key for RS256 or ES256", source);
        return NULL;
    }
    return steal(&keys);
}

void web_keys_free(struct web_keys *keys)
{
    if (!keys)
        return;
    for (size_t i = 0; i < keys->list.count; i++) {
        mem_free(keys->list.items[i].id);
        EVP_PKEY_free(keys->list.items[i].key);
    }
    array_clear(&keys->list);
    mem_free(keys);
}

size_t web_keys_count(const struct web_keys *keys)
{
    return keys->list.count;
}

/* The key for the algorithm: an id of a key for another one finds nothing. */
static const struct web_key *choose(const struct web_keys *keys, const char *algorithm,
                                    const char *id)
{
    const struct web_key *found = NULL;

    for (size_t i = 0; i < keys->list.count; i++) {
        const struct web_key *key = &keys->list.items[i];

        if (!text_equal(key->algorithm->name, algorithm) || (id && !text_equal(key->id, id)))
            continue;
        if (found)
            return NULL;
        found = key;
    }
    return found;
}

bool web_keys_has(const struct web_keys *keys, const char *algorithm, const char *id)
{
    return choose(keys, algorithm, id) != NULL;
}

static bool verify(const struct web_key *key, const struct web_signature *claim,
                   const unsigned char *signature, size_t size)
{
    owned(digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool is_right;

    require(digest);
    is_right = EVP_DigestVerifyInit(digest, NULL, EVP_sha256(), NULL, key->key) == 1 &&
               EVP_DigestVerify(digest, signature, size, claim->bytes, claim->size) == 1;
    ERR_clear_error();
    return is_right;
}

/* r and s, one after the other, as the DER text that OpenSSL expects.  -1: not possible. */
static int der_of(const struct web_signature *claim, unsigned char **ret_der)
{
    const unsigned char *bytes = claim->signature;
    ECDSA_SIG *pair;
    int size;

    if (claim->signature_size != 2 * EC_SIZE)
        return -1;
    pair = ECDSA_SIG_new();
    require(pair && ECDSA_SIG_set0(pair, BN_bin2bn(bytes, EC_SIZE, NULL),
                                   BN_bin2bn(bytes + EC_SIZE, EC_SIZE, NULL)) == 1);
    size = i2d_ECDSA_SIG(pair, ret_der);
    ECDSA_SIG_free(pair);
    return size;
}

bool web_keys_verify(const struct web_keys *keys, const char *algorithm, const char *id,
                     const struct web_signature *claim)
{
    const struct web_key *key = choose(keys, algorithm, id);
    unsigned char *der = NULL;
    bool is_right;
    int size;

    if (!key)
        return false;
    if (key->algorithm->build == build_rsa)
        return verify(key, claim, claim->signature, claim->signature_size);
    size = der_of(claim, &der);
    is_right = size > 0 && verify(key, claim, der, (size_t)size);
    OPENSSL_free(der);
    return is_right;
}
