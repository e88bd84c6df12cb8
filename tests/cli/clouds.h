/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world on each cloud: a row says how a provider and the two pools are written there.
 * The accounts are the simulator's; what they need beside the configuration is put into the folder.
 */
#pragma once

#include "tests/cli/small_world.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

struct test_cloud {
    const char *name; /* for people: "aws by number" */
    const char *kind; /* of its provider, which has this name too */
    const char *zone; /* as that cloud names one */
    const char *provider;
    const char *production; /* keys of the pool */
    const char *research;

    /* The simulator's verbs: what orders a machine, and what a repeated order begins with. */
    const char *create;
    const char *size;
};

static const struct test_cloud test_clouds[] = {
    { "google", "gcp", "us-east5-a",
      "endpoint: 'http://127.0.0.1:1/gcp', metadata: 'http://127.0.0.1:1/gcp'",
      "project: p, group: prod-a-east", "project: p, group: research-a-east", "create_instances",
      "create_instances" },
    { "aws by launch", "aws", "us-east5a",
      "region: us-east-1, credentials: keys, profile: sim,"
      " autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling',"
      " ec2_endpoint: 'http://127.0.0.1:1/aws/ec2', eks_endpoint: 'http://127.0.0.1:1/aws/eks'",
      "group: prod, grow: launch-instances", "group: lab, grow: launch-instances",
      "launch_instances", "describe_groups" },
    { "aws by number", "aws", "us-east5a",
      "region: us-east-1, credentials: keys, profile: sim,"
      " autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling',"
      " ec2_endpoint: 'http://127.0.0.1:1/aws/ec2', eks_endpoint: 'http://127.0.0.1:1/aws/eks'",
      "group: prod, grow: set-desired-capacity", "group: lab, grow: set-desired-capacity",
      "set_desired", "describe_groups" },
    { "azure", "azure", "us-east5-1",
      "subscription: s-1, endpoint: 'http://127.0.0.1:1/azure',"
      " metadata: 'http://127.0.0.1:1/azure'",
      "resource_group: rg, managed_cluster: prod, agent_pool: gpu",
      "resource_group: rg, managed_cluster: lab, agent_pool: gpu", "put_pool", "get_pool" },
    { "cluster api", "capi", "us-east5-a", "kubeconfig: capi.kubeconfig",
      "namespace: infra, machine_deployment: prod", "namespace: infra, machine_deployment: lab",
      "scale_machines", "get_machine_pool" },
    { "oracle", "oci", "AD-1",
      "credentials: profiles, profile: SIM, endpoint: 'http://127.0.0.1:1/oci'",
      "node_pool: ocid1.nodepool.oc1.sim.prod", "node_pool: ocid1.nodepool.oc1.sim.lab",
      "update_node_pool", "get_node_pool" },
    { "own machines", "ssh", "us-east5-a", "machines: machines.yaml, agent: /run/agent",
      "group: prod, join: script, script: /opt/move", "group: lab, join: script, script: /opt/move",
      "ssh_join", "ssh_look" },
};

static inline const struct test_cloud *cloud_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++)
        if (text_equal(test_clouds[i].name, name))
            return &test_clouds[i];
    fail_msg("there is no cloud %s", name);
    return NULL;
}

/* Text with the first `old` replaced, which it must have. */
static inline char *cloud_text(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);

    if (!at)
        fail_msg("the configuration lacks \"%s\"", old);
    return text_format("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* The small world's configuration with both pools on this cloud. */
static inline char *cloud_config(const struct test_cloud *cloud)
{
    owned(chars) char *provider = text_format("%s: {kind: %s, %s}\n", cloud->kind, cloud->kind,
                                              cloud->provider);
    owned(chars) char *production = text_format("provider: %s, %s", cloud->kind, cloud->production);
    owned(chars) char *research = text_format("provider: %s, %s", cloud->kind, cloud->research);
    owned(chars) char *zoned = cloud_text(small_config, "us-east5-a, gpus", "ZONE, gpus");
    owned(chars) char *placed = cloud_text(zoned, "ZONE", cloud->zone);
    owned(chars) char *opened = cloud_text(
        placed,
        "google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: "
        "'http://127.0.0.1:1/gcp'}\n",
        provider);
    owned(chars) char *first = cloud_text(
        opened, "provider: google, project: p, group: prod-a-east", production);

    return cloud_text(first, "provider: google, project: p, group: research-a-east", research);
}

/* Two reservations of 16 nodes: `east` as in the small world, and `west` with two clusters more.
   Each pair of pools has clouds of its own, production first; all of a side must be in one zone,
   and no kind is on both sides. */
static inline char *mixed_config(const struct test_cloud *const east[2],
                                 const struct test_cloud *const west[2])
{
    const struct test_cloud *const all[] = { east[0], east[1], west[0], west[1] };
    owned(text) struct text *providers = text_new(4096);

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (i % 2 == 0 || all[i] != all[i - 1])
            text_add(providers, "  %s: {kind: %s, %s}\n", all[i]->kind, all[i]->kind,
                     all[i]->provider);
    return text_format(
        "time_zone: UTC\n"
        "windows:\n"
        "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
        "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
        "journal: ':memory:'\n"
        "ephemeral_label: sluice.dev/ephemeral=true\n"
        "repack_nodes: 0\n"
        "drain: {notice: 5m, deadline: 5m, settle: 5s}\n"
        "lead: {prior_p50: 15m, prior_p95: 25m}\n"
        "clusters:\n"
        "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
        "  prod-b: {role: production, kubeconfig: prod-b.kubeconfig}\n"
        "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
        "  research-b: {role: research, kubeconfig: research-b.kubeconfig}\n"
        "reservations:\n"
        "  east: {machine: a3-megagpu-8g, region: us-east5, zone: %s, gpus_per_node: 8, nodes: "
        "16}\n"
        "  west: {machine: west-8g, region: us-east5, zone: %s, gpus_per_node: 8, nodes: 16}\n"
        "providers:\n%s"
        "pools:\n"
        "  prod-a-east: {cluster: prod-a, reservation: east, provider: %s, %s, static_nodes: 2}\n"
        "  research-a-east: {cluster: research-a, reservation: east, provider: %s, %s,"
        " static_nodes: 1}\n"
        "  prod-b-west: {cluster: prod-b, reservation: west, provider: %s, %s, static_nodes: 2}\n"
        "  research-b-west: {cluster: research-b, reservation: west, provider: %s, %s,"
        " static_nodes: 1}\n"
        "queues:\n"
        "  chat: {wait_target: 30s, service: 20s}\n"
        "workloads:\n"
        "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}, prod-b: "
        "{}}}\n",
        east[0]->zone, west[0]->zone, providers->chars, east[0]->kind, east[0]->production,
        east[1]->kind, east[1]->research, west[0]->kind, west[0]->production, west[1]->kind,
        west[1]->research);
}

/* One key for all plays of a program: making one takes long.  It ends with the program. */
static inline const char *cloud_key(void)
{
    static char pem[4096];
    EVP_PKEY *key;
    BIO *bio;

    if (pem[0] != '\0')
        return pem;
    key = EVP_RSA_gen(512); /* signs fifty times as fast as a real one */
    bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_in_range(BIO_read(bio, pem, sizeof pem - 1), 1, sizeof pem - 2);
    BIO_free(bio);
    EVP_PKEY_free(key);
    return pem;
}

static inline void cloud_write_machines(const char *folder, int count)
{
    owned(text) struct text *list = text_new(TEXT_UNBOUNDED);

    for (int i = 1; i <= count; i++)
        text_add(list,
                 "gpu-%02d: {address: gpu-%02d, host_key: 'ssh-ed25519 "
                 "AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390'}\n",
                 i, i);
    mem_free(test_folder_write(folder, "machines.yaml", list->chars));
}

/* The files that the accounts of all rows name; as many machines as both pools may ever have. */
static inline void cloud_write_accounts(const char *folder)
{
    cloud_write_machines(folder, 32);
    owned(chars) char *key_path = test_folder_write(folder, "oracle.pem", cloud_key());
    owned(chars) char *profiles = text_format("[SIM]\nuser=ocid1.user.u\nfingerprint=aa:bb\n"
                                              "tenancy=ocid1.tenancy.t\nregion=us-test-1\n"
                                              "key_file=%s\n",
                                              key_path);

    mem_free(test_folder_write(folder, "profiles", profiles));
    mem_free(test_folder_write(folder, "keys",
                               "[sim]\naws_access_key_id = AKIASIMULATED0000000\n"
                               "aws_secret_access_key = simulated/secret+of/the+simulator0000000"
                               "\n"));
}
