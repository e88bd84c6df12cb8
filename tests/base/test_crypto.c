/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hashes and encodings by their published vectors; a signature verified with the public key.
 */
#include "base/crypto.h"
#include "base/memory.h"
#include "tests/support/identity.h"
#include "tests/support/unit.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

static void hashes_the_published_vectors(void **state)
{
    char text[SHA256_TEXT_SIZE];

    (void)state;
    crypto_sha256_text("", 0, text);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    crypto_sha256_text("abc", 3, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4231, cases 2 and 6 (a key longer than a block). */
static void authenticates_the_published_vectors(void **state)
{
    static const unsigned char jefe[] = { 0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
                                          0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
                                          0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83,
                                          0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43 };
    static const unsigned char longer[] = { 0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f,
                                            0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f,
                                            0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28, 0xc5, 0x14,
                                            0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54 };
    static const char question[] = "what do ya want for nothing?";
    static const char advice[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    unsigned char key[131];
    unsigned char code[SHA256_SIZE];

    (void)state;
    crypto_hmac_sha256("Jefe", 4, question, strlen(question), code);
    assert_memory_equal(code, jefe, sizeof code);
    memset(key, 0xaa, sizeof key);
    crypto_hmac_sha256(key, sizeof key, advice, strlen(advice), key);
    assert_memory_equal(key, longer, sizeof longer);
}

static const struct {
    const char *plain, *base64, *base64url;
} vectors[] = {
    { "", "", "" },
    { "f", "Zg==", "Zg" },
    { "fo", "Zm8=", "Zm8" },
    { "foo", "Zm9v", "Zm9v" },
    { "foob", "Zm9vYg==", "Zm9vYg" },
    { "fooba", "Zm9vYmE=", "Zm9vYmE" },
    { "foobar", "Zm9vYmFy", "Zm9vYmFy" },
    { "\xfb\xff\xfe", "+//+", "-__-" },
};

static void encodes_and_decodes_base64(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        owned(text) struct text *padded = text_new(64), *url = text_new(64);
        owned(text) struct text *decoded = NULL;

        crypto_add_base64(padded, vectors[i].plain, strlen(vectors[i].plain));
        crypto_add_base64url(url, vectors[i].plain, strlen(vectors[i].plain));
        decoded = crypto_decode_base64(vectors[i].base64, NULL);
        assert_string_equal(padded->chars, vectors[i].base64);
        assert_string_equal(url->chars, vectors[i].base64url);
        assert_string_equal(decoded->chars, vectors[i].plain);
    }
}

static void decoding_skips_line_breaks(void **state)
{
    owned(text) struct text *decoded = crypto_decode_base64("Zm9\r\nvYg=\n=\n", NULL);

    (void)state;
    assert_string_equal(decoded->chars, "foob");
}

static void refuses_what_no_encoder_writes(void **state)
{
    static const char *const bad[] = { "Z",     "Zg",       "Zg=",    "Zg=a", "=aaa",
                                       "Zm 9v", "Zg==Zg==", "Zh==",   "Zm9=", "-__-",
                                       "Zg===", "====",     "Zm9v\t", "Z===", "Zm9v\xc3zzz" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = { 0 };

        print_message("    %s\n", bad[i]);
        assert_null(crypto_decode_base64(bad[i], &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* The private key in PEM, encrypted when a password is given; the caller frees it. */
static char *print_key(EVP_PKEY *key, const char *password)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes, *pem;
    long size;

    require(PEM_write_bio_PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
                                     (const unsigned char *)password,
                                     password ? (int)strlen(password) : 0, NULL, NULL));
    size = BIO_get_mem_data(bio, &bytes);
    pem = text_format("%.*s", (int)size, bytes);
    BIO_free(bio);
    return pem;
}

static void signs_so_that_the_public_key_verifies(void **state)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    owned(chars) char *pem = print_key(key, NULL);
    owned(text) struct text *signature = text_new(1024);
    owned(crypto_key) struct crypto_key *mine = NULL;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(crypto_key_read(&mine, pem, &err), 0);
    assert_int_equal(crypto_sign_rs256(mine, "message", 7, signature, &err), 0);
    assert_int_equal(signature->length, 256);
    assert_int_equal(EVP_DigestVerifyInit(digest, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(digest, (const unsigned char *)signature->chars,
                                      signature->length, (const unsigned char *)"message", 7),
                     1);
    assert_true(crypto_verify_rs256(mine, "message", 7, signature->chars, signature->length));
    assert_false(crypto_verify_rs256(mine, "massage", 7, signature->chars, signature->length));
    assert_false(crypto_verify_rs256(mine, "message", 7, signature->chars, 255));
    EVP_MD_CTX_free(digest);
    EVP_PKEY_free(key);
}

/* A file of a key may change while the service runs. */
static void a_key_is_kept_until_its_text_changes(void **state)
{
    EVP_PKEY *rsa[2] = { EVP_RSA_gen(2048), EVP_RSA_gen(2048) };
    owned(crypto_key) struct crypto_key *key = NULL;
    const struct crypto_key *first;
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rsa); i++) {
        owned(chars) char *pem = print_key(rsa[i], NULL);
        owned(text) struct text *signature = text_new(1024);
        owned(crypto_key) struct crypto_key *fresh = NULL;

        assert_int_equal(crypto_key_read(&key, pem, &err), 0);
        first = key;
        assert_int_equal(crypto_key_read(&key, pem, &err), 0);
        assert_ptr_equal(key, first);
        assert_int_equal(crypto_key_read(&fresh, pem, &err), 0);
        assert_int_equal(crypto_sign_rs256(key, "m", 1, signature, &err), 0);
        assert_true(crypto_verify_rs256(fresh, "m", 1, signature->chars, signature->length));
        EVP_PKEY_free(rsa[i]);
    }
    assert_int_equal(crypto_key_read(&key, "nonsense", &err), -1);
    assert_null(key);
}

static void refuses_other_keys_without_asking(void **state)
{
    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    EVP_PKEY *curve = EVP_EC_gen("P-256");
    owned(chars) char *encrypted = print_key(rsa, "password");
    owned(chars) char *elliptic = print_key(curve, NULL);
    owned(crypto_key) struct crypto_key *key = NULL;
    struct error err = { 0 };

    (void)state;
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(curve);
    assert_int_equal(crypto_key_read(&key, "nonsense", &err), -1);
    assert_string_equal(err.text, "the private key is not readable (unencrypted PEM expected)");
    assert_int_equal(crypto_key_read(&key, encrypted, &err), -1);
    assert_string_equal(err.text, "the private key is not readable (unencrypted PEM expected)");
    assert_int_equal(crypto_key_read(&key, elliptic, &err), -1);
    assert_string_equal(err.text, "the private key is not an RSA key");
}

/* k3s: "token CA hash does not match the Cluster CA certificate hash" ends a join by another hash.
 */
static void authorities_are_pinned_as_k3s_does(void **state)
{
    struct identity root = identity_make("root", NULL, NULL);
    struct identity issued = identity_make("server-ca", NULL, &root);
    struct identity other = identity_make("another root", NULL, NULL);
    const struct {
        const char *first, *second;
        bool is_text; /* the hash of the text, not that of the root */
    } rows[] = {
        { root.certificate_pem, "", true },
        { issued.certificate_pem, "", true },
        { issued.certificate_pem, root.certificate_pem, false },
        { issued.certificate_pem, other.certificate_pem, true }, /* it leads nowhere */
        { root.certificate_pem, other.certificate_pem, true }, /* the next authority and the last */
    };
    unsigned char *der = NULL;
    int size = i2d_X509(root.certificate, &der);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *pem = text_format("%s%s", rows[i].first, rows[i].second);
        char want[SHA256_TEXT_SIZE], hash[SHA256_TEXT_SIZE];

        if (rows[i].is_text)
            crypto_sha256_text(pem, strlen(pem), want);
        else
            crypto_sha256_text(der, (size_t)size, want);
        crypto_k3s_hash(pem, hash);
        assert_string_equal(hash, want);
    }
    OPENSSL_free(der);
    identity_clear(&root);
    identity_clear(&issued);
    identity_clear(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_the_published_vectors),
        cmocka_unit_test(authenticates_the_published_vectors),
        cmocka_unit_test(encodes_and_decodes_base64),
        cmocka_unit_test(decoding_skips_line_breaks),
        cmocka_unit_test(refuses_what_no_encoder_writes),
        cmocka_unit_test(signs_so_that_the_public_key_verifies),
        cmocka_unit_test(a_key_is_kept_until_its_text_changes),
        cmocka_unit_test(refuses_other_keys_without_asking),
        cmocka_unit_test(authorities_are_pinned_as_k3s_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
