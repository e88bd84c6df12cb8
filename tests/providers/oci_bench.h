/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An API key, a file of profiles, and a simulated node pool of three machines' reservation.
 */
#pragma once

#include "base/world/world.h"
#include "providers/oci/oci.h"
#include "providers/oci/oci_pool.h"
#include "providers/oci/oci_profile.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#define OCI_POOL_ID "ocid1.nodepool.oc1.sim.a"
#define OCI_RESERVATION_ID "ocid1.capacityreservation.oc1.sim.a"

static const char oci_config[] =
    "clusters:\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: BM.GPU.H100.8, region: r, zone: AD-1, gpus_per_node: 8, nodes: 3}\n"
    "providers:\n"
    "  oracle: {kind: oci, credentials: %s}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: oracle, node_pool: " OCI_POOL_ID ",\n"
    "             capacity_reservation: " OCI_RESERVATION_ID "}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const struct oci_pool oci_place = { .node_pool = OCI_POOL_ID,
                                           .capacity_reservation = OCI_RESERVATION_ID,
                                           .zone = "AD-1" };

struct oci_bench {
    char *folder;
    char *profile_path;
    struct oci_account account;
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    struct provider *provider;
    int calls;
    struct error err;
    char operation[128];
    struct instance items[8];
    size_t count;
    enum error_kind shortfall;
};

static inline char *oci_new_key(void)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem = NULL;
    char *copy;
    long size;

    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    size = BIO_get_mem_data(bio, &pem);
    copy = text_format("%.*s", (int)size, pem);
    BIO_free(bio);
    EVP_PKEY_free(key);
    return copy;
}

/* A key and a profile that names it; the caller frees the path. */
static inline char *oci_write_profile(const char *folder, const char *name, const char *user)
{
    owned(chars) char *key = oci_new_key();
    owned(chars) char *key_name = text_format("%s.pem", name);
    owned(chars) char *key_path = test_folder_write(folder, key_name, key);
    owned(chars) char *profile = text_format("# of the tests\n[DEFAULT]\nuser=%s\nfingerprint=aa:bb"
                                             "\ntenancy=ocid1.tenancy.t\nregion=us-test-1\n"
                                             "key_file=%s\n",
                                             user, key_path);

    return test_folder_write(folder, name, profile);
}

/* world: of the pool in world.yaml, or what is denied; is_stranger: sluice has a key that the cloud
   does not know. */
static inline void oci_bench_open(struct oci_bench *bench, const char *world, bool is_stranger)
{
    struct error err = { 0 };

    *bench = (struct oci_bench){ .folder = test_folder_new() };
    bench->profile_path = oci_write_profile(bench->folder, "config", "ocid1.user.u");

    owned(chars) char *config = text_format(oci_config, bench->profile_path);
    owned(chars) char *config_path = test_folder_write(bench->folder, "sluice.yaml", config);
    bool denies = text_starts_with(world, "denied: ");
    owned(chars) char *text = denies ? text_format("pools: {lab-main: {nodes: 1}}\n%s\n", world)
                                     : text_format("pools: {lab-main: {%s}}\n", world);
    owned(chars) char *world_path = test_folder_write(bench->folder, "world.yaml", text);

    if (is_stranger) {
        mem_free(bench->profile_path);
        bench->profile_path = oci_write_profile(bench->folder, "other", "ocid1.user.u");
    }
    bench->account = (struct oci_account){ .credentials = bench->profile_path,
                                           .endpoint = "http://127.0.0.1:1/oci" };
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->simulator = simulator_new(bench->loop, config_path, world_path, &err);
    if (!bench->simulator)
        fail_msg("%s", err.text);
    bench->world = (struct world){ bench->loop, simulator_http(bench->simulator), &bench->random,
                                   NULL, NULL };
    bench->provider = provider_open(&bench->world, &oci_kind,
                                    (const struct provider_account *)(const void *)&bench->account,
                                    &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static inline void oci_bench_close(struct oci_bench *bench)
{
    provider_close(bench->provider);
    simulator_free(bench->simulator);
    loop_free(bench->loop);
    mem_free(bench->profile_path);
    test_folder_free(bench->folder);
}

static inline const struct pool_address *oci_address(void)
{
    return (const struct pool_address *)(const void *)&oci_place;
}

static inline void oci_on_page(void *context, const struct instance_page *page,
                               const struct error *err)
{
    struct oci_bench *bench = context;

    assert_true(!page != !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = page ? page->count : 0;
    bench->shortfall = page && page->shortfall ? page->shortfall->kind : ERROR_NONE;
    for (size_t i = 0; i < bench->count; i++)
        bench->items[i] = page->items[i];
}

static inline void oci_on_done(void *context, const char *operation, const struct error *err)
{
    struct oci_bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation, operation);
}

static inline void oci_wait(struct oci_bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

/* Runs until one more answer is there. */
static inline enum error_kind oci_answer_of(struct oci_bench *bench)
{
    int before = bench->calls;

    for (int i = 0; i < 600 && bench->calls == before; i++)
        oci_wait(bench, 100);
    assert_int_equal(bench->calls, before + 1);
    return bench->err.kind;
}

static inline void oci_list_now(struct oci_bench *bench)
{
    provider_list(bench->provider, oci_address(), NULL, oci_on_page, bench);
    if (oci_answer_of(bench) != ERROR_NONE)
        fail_msg("%s", bench->err.text);
}

/* One call of an order; its progress is stored as the journal would. */
struct oci_order_text {
    const char *request_id;
    char progress[128];
};

static inline enum error_kind oci_step(struct oci_bench *bench, struct oci_order_text *order,
                                       bool is_create)
{
    const struct provider_order given = { .request_key = "0a1b2c3d",
                                          .request_id = order->request_id,
                                          .progress = order->progress };

    (is_create ? provider_create : provider_cancel)(bench->provider, oci_address(), &given,
                                                    oci_on_done, bench);
    oci_answer_of(bench);
    if (bench->err.cause == &provider_goes_on)
        text_copy(order->progress, sizeof order->progress, bench->operation);
    return bench->err.kind;
}

/* All calls of one order, until its last answer. */
static inline enum error_kind oci_order(struct oci_bench *bench, const char *request_id,
                                        bool is_create)
{
    struct oci_order_text order = { .request_id = request_id };

    for (int i = 0; i < 8; i++)
        if (oci_step(bench, &order, is_create) != ERROR_TRANSIENT ||
            bench->err.cause != &provider_goes_on)
            break;
    return bench->err.kind;
}

static inline enum error_kind oci_remove(struct oci_bench *bench, const char *instance)
{
    provider_remove(bench->provider, oci_address(),
                    &(struct provider_order){ .instance = instance,
                                              .request_id = "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5c",
                                              .progress = "" },
                    oci_on_done, bench);
    return oci_answer_of(bench);
}
