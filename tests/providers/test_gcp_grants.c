/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each kind of credentials against the simulator, which knows the same file and checks what is sent
 * against it.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/world/world.h"
#include "tests/providers/gcp_bench.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#define HOST "http://127.0.0.1:1"
#define USER(secret)                                                                               \
    "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"" secret "\","          \
    "\"refresh_token\":\"1//r\",\"token_uri\":\"" HOST "/gcp/token\"}"
#define EXTERNAL(audience)                                                                         \
    "{\"type\":\"external_account\",\"audience\":\"" audience "\",\"subject_token_type\":"         \
    "\"urn:ietf:params:oauth:token-type:jwt\",\"token_url\":\"" HOST "/gcp/v1/token\","            \
    "\"credential_source\":{\"file\":\"%s\"},\"service_account_impersonation_url\":"               \
    "\"" HOST "/gcp/v1/projects/-/serviceAccounts/a@b:generateAccessToken\"}"

static const char config[] =
    "clusters:\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 3}\n"
    "providers:\n"
    "  google: {kind: gcp, credentials: %s}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const struct gcp_pool place = { .project = "p", .zone = "r-a", .group = "g-lab" };

struct outcome {
    int calls;
    size_t count;
    struct error err;
};

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct outcome *out = context;

    out->calls++;
    out->count = page ? page->count : 0;
    out->err = err ? *err : (struct error){ 0 };
}

/* The simulator has the one file, sluice the other. */
static struct outcome list_with(const char *theirs, const char *ours)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *their_path = test_folder_write(folder, "theirs.json", theirs);
    owned(chars) char *our_path = test_folder_write(folder, "ours.json", ours);
    owned(chars) char *text = text_format(config, their_path);
    owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", text);
    owned(chars) char *world_path = test_folder_write(folder, "world.yaml",
                                                      "pools: {lab-main: {nodes: 2}}\n");
    const struct gcp_account account = { .endpoint = HOST "/gcp",
                                         .whose = { .credentials = our_path } };
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    struct error err = { 0 };
    struct simulator *simulator = simulator_new(loop, config_path, world_path, &err);
    struct random random = { 0 };
    struct world world;
    struct provider *provider;
    struct outcome out = { 0 };

    if (!simulator)
        fail_msg("%s", err.text);
    world = (struct world){ loop, simulator_http(simulator), &random, NULL, NULL };
    provider = gcp_provider(&world, &account, &err);
    if (!provider)
        fail_msg("%s", err.text);
    provider_list(provider, address_of(&place), NULL, on_page, &out);
    for (int i = 0; i < 600 && out.calls == 0; i++)
        loop_run_until(loop, loop_now(loop) + 100);
    assert_int_equal(out.calls, 1);
    provider_close(provider);
    simulator_free(simulator);
    return out;
}

static char *new_key(const char *email)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem = NULL;
    long size;

    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    size = BIO_get_mem_data(bio, &pem);
    owned(chars) char *copy = text_format("%.*s", (int)size, pem);
    owned(json) json_t *json = json_make("{s:s, s:s, s:s, s:s, s:s}", "type", "service_account",
                                         "client_email", email, "private_key", copy,
                                         "private_key_id", "k-7", "token_uri", HOST "/gcp/token");

    BIO_free(bio);
    EVP_PKEY_free(key);
    return json_print(json);
}

static void expect_list(const char *theirs, const char *ours)
{
    struct outcome out = list_with(theirs, ours);

    if (out.err.kind != ERROR_NONE || out.count != 2)
        fail_msg("%s", out.err.text);
}

static void expect_denied(const char *theirs, const char *ours, const char *why)
{
    struct outcome out = list_with(theirs, ours);

    if (out.err.kind != ERROR_DENIED || !strstr(out.err.text, why))
        fail_msg("%s: %s", why, out.err.text);
}

static void a_key_is_checked_by_its_signature(void **state)
{
    owned(chars) char *key = new_key("broker@p");
    owned(chars) char *other = new_key("broker@p");

    (void)state;
    expect_list(key, key);
    expect_denied(key, other, "Invalid JWT Signature.");
}

static void a_user_is_checked_by_the_refresh_token(void **state)
{
    (void)state;
    expect_list(USER("s"), USER("s"));
    expect_denied(USER("s"), USER("t"), "The OAuth client was not found.");
}

static void another_issuers_token_is_exchanged_twice(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *subject = test_folder_write(folder, "subject", "header.claims.signature\n");
    owned(chars) char *part = test_folder_write(folder, "part", "header.claims\n");
    owned(chars) char *right = text_format(EXTERNAL("//iam/pool"), subject);
    owned(chars) char *other = text_format(EXTERNAL("//iam/another"), subject);
    owned(chars) char *cut = text_format(EXTERNAL("//iam/pool"), part);

    (void)state;
    expect_list(right, right);
    expect_denied(right, other, "audience");
    expect_denied(right, cut, "not of this issuer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_checked_by_its_signature),
        cmocka_unit_test(a_user_is_checked_by_the_refresh_token),
        cmocka_unit_test(another_issuers_token_is_exchanged_twice),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
