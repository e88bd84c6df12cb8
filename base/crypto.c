/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hashing and signing on OpenSSL's EVP interface; the encodings by hand, where EVP would add line
 * breaks and accept too much.
 */
#include "base/crypto.h"

#include "base/memory.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <string.h>

static void owned_bio(BIO **bio)
{
    BIO_free(*bio);
}

static void owned_pkey(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void owned_digest(EVP_MD_CTX **digest)
{
    EVP_MD_CTX_free(*digest);
}

void crypto_sha256(const void *bytes, size_t size, unsigned char out[SHA256_SIZE])
{
    require(EVP_Digest(bytes, size, out, NULL, EVP_sha256(), NULL));
}

static void add_hexadecimal(const unsigned char hash[SHA256_SIZE], char out[SHA256_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SHA256_SIZE; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[SHA256_TEXT_SIZE - 1] = '\0';
}

void crypto_sha256_text(const void *bytes, size_t size, char out[SHA256_TEXT_SIZE])
{
    unsigned char hash[SHA256_SIZE];

    crypto_sha256(bytes, size, hash);
    add_hexadecimal(hash, out);
}

struct crypto_digest {
    EVP_MD_CTX *context;
};

struct crypto_digest *crypto_digest_new(void)
{
    struct crypto_digest *digest = mem_new(sizeof *digest);

    digest->context = EVP_MD_CTX_new();
    require(digest->context);
    require(EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL));
    return digest;
}

void crypto_digest_add(struct crypto_digest *digest, const void *bytes, size_t size)
{
    require(EVP_DigestUpdate(digest->context, bytes, size));
}

void crypto_digest_end(struct crypto_digest *digest, char out[SHA256_TEXT_SIZE])
{
    unsigned char hash[SHA256_SIZE];

    require(EVP_DigestFinal_ex(digest->context, hash, NULL));
    add_hexadecimal(hash, out);
    crypto_digest_free(digest);
}

void crypto_digest_free(struct crypto_digest *digest)
{
    if (!digest)
        return;
    EVP_MD_CTX_free(digest->context);
    mem_free(digest);
}

void crypto_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                        unsigned char out[SHA256_SIZE])
{
    unsigned char code[SHA256_SIZE];
    unsigned int length = 0;

    require(key_size <= INT_MAX &&
            HMAC(EVP_sha256(), key, (int)key_size, bytes, size, code, &length));
    require(length == SHA256_SIZE);
    memcpy(out, code, SHA256_SIZE);
    explicit_bzero(code, sizeof code);
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Three bytes become four digits; one or two left over become two or three. */
static void add_digits(struct text *out, const unsigned char *bytes, size_t size,
                       const char *digits, bool is_padded)
{
    for (size_t i = 0; i < size; i += 3) {
        size_t taken = size - i < 3 ? size - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        char group[] = "====";

        if (taken > 1)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (taken > 2)
            bits |= bytes[i + 2];
        for (size_t j = 0; j <= taken; j++)
            group[j] = digits[bits >> (18 - 6 * j) & 63];
        text_add_bytes(out, group, is_padded ? 4 : taken + 1);
    }
}

void crypto_add_base64(struct text *out, const void *bytes, size_t size)
{
    add_digits(out, bytes, size, base64_digits, true);
}

void crypto_add_base64url(struct text *out, const void *bytes, size_t size)
{
    add_digits(out, bytes, size, base64url_digits, false);
}

/* Appends the bytes of four digits; false when they are no digits, or when padding or unused bits
   differ from an encoder's output. */
static bool add_group(struct text *out, const char group[4])
{
    size_t padding = group[3] != '=' ? 0 : group[2] != '=' ? 1 : 2;
    unsigned char bytes[3];
    uint32_t bits = 0;

    for (size_t i = 0; i < 4 - padding; i++) {
        const char *digit = memchr(base64_digits, group[i], 64);

        if (digit == NULL)
            return false;
        bits |= (uint32_t)(digit - base64_digits) << (18 - 6 * i);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(bits >> (16 - 8 * i));
    text_add_bytes(out, bytes, 3 - padding);
    return padding == 0 || (bits & (padding == 1 ? 0xffu : 0xffffu)) == 0;
}

struct text *crypto_decode_base64(const char *chars, struct error *err)
{
    owned(text) struct text *out = text_new(strlen(chars));
    bool is_valid = true;
    bool is_ended = false;
    char group[4];
    size_t count = 0;

    for (; *chars && is_valid; chars++) {
        if (*chars == '\n' || *chars == '\r')
            continue;
        is_valid = !is_ended;
        group[count++] = *chars;
        if (count < sizeof group)
            continue;
        is_valid = is_valid && add_group(out, group);
        is_ended = group[3] == '=';
        count = 0;
    }
    if (!is_valid || count != 0) {
        error_set(err, ERROR_INVALID, "not valid base64");
        return NULL;
    }
    return steal(&out);
}

struct text *crypto_decode_base64url(const char *chars, size_t length, struct error *err)
{
    owned(text) struct text *padded = text_new(length + 4);
    bool is_valid = length % 4 != 1;

    for (size_t i = 0; i < length && is_valid; i++) {
        char digit = chars[i] == '-' ? '+' : chars[i] == '_' ? '/' : chars[i];

        is_valid = chars[i] != '\0' && memchr(base64url_digits, chars[i], 64);
        text_add_bytes(padded, &digit, 1);
    }
    if (!is_valid) {
        error_set(err, ERROR_INVALID, "not valid base64url");
        return NULL;
    }
    while (padded->length % 4 != 0)
        text_add_bytes(padded, "=", 1);
    return crypto_decode_base64(padded->chars, err);
}

/* Without this OpenSSL would ask for the password of an encrypted key on the terminal. */
static int no_password(char *out, int size, int is_writing, void *context)
{
    (void)out, (void)size, (void)is_writing, (void)context;
    return -1;
}

struct crypto_key {
    EVP_PKEY *key;
    unsigned char pem[SHA256_SIZE]; /* the hash of what it was read from */
};

static EVP_PKEY *parse_key(const char *pem, struct error *err)
{
    owned(bio) BIO *bio = BIO_new_mem_buf(pem, -1);
    owned(pkey) EVP_PKEY *key = NULL;

    require(bio);
    key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    ERR_clear_error();
    if (key == NULL)
        error_set(err, ERROR_INVALID, "the private key is not readable (unencrypted PEM expected)");
    else if (!EVP_PKEY_is_a(key, "RSA"))
        error_set(err, ERROR_INVALID, "the private key is not an RSA key");
    else
        return steal(&key);
    return NULL;
}

int crypto_key_read(struct crypto_key **key, const char *pem, struct error *err)
{
    unsigned char hash[SHA256_SIZE];
    EVP_PKEY *parsed;

    crypto_sha256(pem, strlen(pem), hash);
    if (*key && memcmp((*key)->pem, hash, sizeof hash) == 0)
        return 0;
    crypto_key_free(steal(key));
    parsed = parse_key(pem, err);
    if (!parsed)
        return -1;
    *key = mem_new(sizeof **key);
    (*key)->key = parsed;
    memcpy((*key)->pem, hash, sizeof hash);
    return 0;
}

void crypto_key_free(struct crypto_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->key);
    mem_free(key);
}

int crypto_sign_rs256(const struct crypto_key *key, const void *bytes, size_t size,
                      struct text *out, struct error *err)
{
    owned(digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    size_t length = (size_t)EVP_PKEY_get_size(key->key);
    owned(chars) char *signature = mem_new(length);

    require(digest);
    if (EVP_DigestSignInit(digest, NULL, EVP_sha256(), NULL, key->key) != 1 ||
        EVP_DigestSign(digest, (unsigned char *)signature, &length, bytes, size) != 1) {
        ERR_clear_error();
        return error_set(err, ERROR_INVALID, "the private key cannot sign");
    }
    text_add_bytes(out, signature, length);
    return 0;
}

bool crypto_verify_rs256(const struct crypto_key *key, const void *bytes, size_t size,
                         const void *signature, size_t signature_size)
{
    owned(digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool is_right;

    require(digest);
    is_right = EVP_DigestVerifyInit(digest, NULL, EVP_sha256(), NULL, key->key) == 1 &&
               EVP_DigestVerify(digest, signature, signature_size, bytes, size) == 1;
    ERR_clear_error();
    return is_right;
}

void crypto_secret(void *out, size_t size)
{
    require(size <= INT_MAX && RAND_bytes(out, (int)size) == 1);
}

static void owned_certificates(STACK_OF(X509) * *certificates)
{
    sk_X509_pop_free(*certificates, X509_free);
}

static STACK_OF(X509) * read_certificates(const char *pem)
{
    owned(bio) BIO *bio = BIO_new_mem_buf(pem, -1);
    STACK_OF(X509) *all = sk_X509_new_null();
    X509 *certificate;

    require(bio && all);
    while ((certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        require(sk_X509_push(all, certificate) > 0);
    ERR_clear_error(); /* the end of the text is an error, too */
    return all;
}

static void add_pin(X509 *certificate, struct text *out)
{
    unsigned char *der = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    char digest[SHA256_TEXT_SIZE];

    require(size > 0);
    crypto_sha256_text(der, (size_t)size, digest);
    OPENSSL_free(der);
    text_add(out, "%ssha256:%s", out->length > 0 ? "," : "", digest);
}

int crypto_add_pins(const char *pem, struct text *out, struct error *err)
{
    owned(certificates) STACK_OF(X509) *all = read_certificates(pem);

    for (int i = 0; i < sk_X509_num(all); i++)
        add_pin(sk_X509_value(all, i), out);
    return sk_X509_num(all) > 0
               ? 0
               : error_set(err, ERROR_INVALID, "there is no certificate that can be read");
}

/* The root that the first certificate leads to by the others; it is freed with X509_free(). */
static X509 *root_of(STACK_OF(X509) * all)
{
    X509_STORE *roots = X509_STORE_new();
    X509_STORE_CTX *walk = X509_STORE_CTX_new();
    X509 *root = NULL;

    require(roots && walk);
    for (int i = 1; i < sk_X509_num(all); i++)
        if (X509_self_signed(sk_X509_value(all, i), 0) == 1)
            require(X509_STORE_add_cert(roots, sk_X509_value(all, i)) == 1);
    require(X509_STORE_CTX_init(walk, roots, sk_X509_value(all, 0), all) == 1);
    if (X509_verify_cert(walk) == 1) {
        STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(walk);

        root = sk_X509_value(chain, sk_X509_num(chain) - 1);
        X509_up_ref(root);
    }
    ERR_clear_error();
    X509_STORE_CTX_free(walk);
    X509_STORE_free(roots);
    return root;
}

void crypto_k3s_hash(const char *pem, char out[SHA256_TEXT_SIZE])
{
    owned(certificates) STACK_OF(X509) *all = read_certificates(pem);
    X509 *root = sk_X509_num(all) > 1 ? root_of(all) : NULL;
    unsigned char *der = NULL;

    if (root) {
        int size = i2d_X509(root, &der);

        require(size > 0);
        crypto_sha256_text(der, (size_t)size, out);
        OPENSSL_free(der);
        X509_free(root);
    } else {
        crypto_sha256_text(pem, strlen(pem), out);
    }
}
