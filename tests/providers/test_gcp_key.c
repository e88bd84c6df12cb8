/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Service account keys: what is refused, and the signed assertion, checked with OpenSSL.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/world/world.h"
#include "tests/clusters/scripted_http.h"
#include "tests/providers/gcp_bench.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <unistd.h>

#define TOKEN_URL "http://127.0.0.1:8/token"
#define LIST                                                                                       \
    "http://127.0.0.1:9/compute/v1/projects/p/zones/z/instanceGroupManagers/g/"                    \
    "listManagedInstances?maxResults=500"

static char path[] = "/tmp/sluice-key-XXXXXX";
static EVP_PKEY *key;

static int make_key(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    key = EVP_RSA_gen(2048);
    return key ? 0 : -1;
}

static int free_key(void **state)
{
    (void)state;
    unlink(path);
    EVP_PKEY_free(key);
    return 0;
}

static void write_file(const char *chars)
{
    struct error err = { 0 };
    if (file_write(path, chars, strlen(chars), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static void write_key(void)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem = NULL;
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    long size = BIO_get_mem_data(bio, &pem);
    owned(chars) char *copy = text_format("%.*s", (int)size, pem);
    BIO_free(bio);
    owned(json) json_t *json = json_make("{s:s, s:s, s:s, s:s, s:s}", "type", "service_account",
                                         "client_email", "broker@p.example", "private_key", copy,
                                         "private_key_id", "k-7", "token_uri", TOKEN_URL);
    owned(chars) char *chars = json_print(json);
    write_file(chars);
}

/* From base64url without padding. */
static struct text *decode(const char *chars, size_t size)
{
    struct error err = { 0 };
    owned(text) struct text *padded = text_new(8192);
    for (size_t i = 0; i < size; i++) {
        char one = chars[i] == '-' ? '+' : chars[i] == '_' ? '/' : chars[i];
        text_add_bytes(padded, &one, 1);
    }
    while (padded->length % 4 != 0)
        text_add(padded, "=");
    struct text *bytes = crypto_decode_base64(padded->chars, &err);
    if (!bytes)
        fail_msg("%s", err.text);
    return bytes;
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    (void)err;
    *(int *)context += page ? 1 : 100;
}

static void expect_json(const char *chars, size_t size, const char *want)
{
    owned(text) struct text *bytes = decode(chars, size);
    assert_string_equal(bytes->chars, want);
}

static void expect_signature(const char *chars, size_t signed_size)
{
    const char *signature = chars + signed_size + 1;
    owned(text) struct text *bytes = decode(signature, strlen(signature));
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(digest, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(digest, (const unsigned char *)bytes->chars, bytes->length,
                                      (const unsigned char *)chars, signed_size),
                     1);
    EVP_MD_CTX_free(digest);
}

static void the_assertion_is_signed_and_exchanged(void **state)
{
    static const struct script_step steps[] = {
        { .method = HTTP_POST,
          .url = TOKEN_URL,
          .status = 200,
          .answer = "{\"access_token\":\"one\",\"expires_in\":3599}" },
        { .method = HTTP_POST, .url = LIST, .status = 200, .answer = "{}" },
    };
    static const char start[] = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
                                "&assertion=";
    const struct gcp_pool place = { .project = "p", .zone = "z", .group = "g" };
    const struct gcp_account account = { .endpoint = "http://127.0.0.1:9",
                                         .whose = { .credentials = path } };
    struct error err = { 0 };
    int pages = 0;
    (void)state;
    write_key();
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1790000000999 });
    struct scripted_http *script = scripted_http_new(loop, steps, COUNT_OF(steps));
    struct world world = { loop, &script->http, NULL, NULL, NULL };
    struct provider *provider = gcp_provider(&world, &account, &err);
    if (!provider)
        fail_msg("%s", err.text);
    provider_list(provider, address_of(&place), NULL, on_page, &pages);
    loop_run(loop);
    assert_int_equal(pages, 1);
    assert_string_equal(script->authorization, "Bearer one");

    const char *form = strstr(script->transcript->chars, start);
    assert_non_null(form);
    const char *token = form + strlen(start);
    owned(chars) char *jwt = text_format("%.*s", (int)strcspn(token, "\n"), token);
    size_t header_size = strcspn(jwt, ".");
    size_t claims_size = strcspn(jwt + header_size + 1, ".");
    expect_json(jwt, header_size, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k-7\"}");
    expect_json(jwt + header_size + 1, claims_size,
                "{\"iss\":\"broker@p.example\",\"scope\":"
                "\"https://www.googleapis.com/auth/cloud-platform\",\"aud\":\"" TOKEN_URL
                "\",\"iat\":1789999990,\"exp\":1790003590}");
    expect_signature(jwt, header_size + 1 + claims_size);
    assert_null(strpbrk(jwt, "=+/"));
    provider_close(provider);
    http_free(&script->http);
}

static void keys_that_are_refused(void **state)
{
    static const struct {
        const char *file;
        const char *want;
    } cases[] = {
        { "{}", "expected credentials of type \"service_account\", \"authorized_user\" or "
                "\"external_account\", found \"\"" },
        { "{\"type\":\"password\"}", "found \"password\"" },
        { "{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"k\","
          "\"private_key_id\":\"i\",\"token_uri\":\"http://oauth2.example/token\"}",
          "plain http is refused for oauth2.example" },
        { "{\"type\":\"service_account\"}", "client_email" },
        { "{\"type\":\"service_account\",\"client_email\":\"e\"}", "private_key" },
        { "{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"k\","
          "\"private_key_id\":\"i\",\"token_uri\":\"file:///etc\"}",
          "" },
        { "not json", "" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        struct world world = { 0 };
        const struct gcp_account account = { .whose = { .credentials = path } };
        write_file(cases[i].file);
        assert_null(gcp_provider(&world, &account, &err));
        if (err.kind == ERROR_NONE || !strstr(err.text, cases[i].want) || !strstr(err.text, path))
            fail_msg("%s: %s", cases[i].file, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_assertion_is_signed_and_exchanged),
        cmocka_unit_test(keys_that_are_refused),
    };
    return cmocka_run_group_tests(tests, make_key, free_key);
}
