/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demo_layout.h.
 */
#include "broker/demo/demo_layout.h"

/* Of the simulated login nodes, which show none. */
#define LOGIN_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHeY7hxwNvzLpEw5s4yQGf0Gm3sQh5eQxW6cCkqv0m1r"

static const struct demo_place google_places[] = {
    { "prod-a", "research-a", "prod-a-main", "research-a-main", 64 },
    { "prod-b", "research-b", "prod-b-second", "research-b-second", 32 },
};

const struct demo_layout demo_google = {
    .places = google_places,
    .count = sizeof google_places / sizeof *google_places,
    .config =
        "lead: {prior_p50: 40m, prior_p95: 60m}\n"
        "clusters:\n"
        "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
        "  prod-b: {role: production, kubeconfig: prod-b.kubeconfig}\n"
        "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
        "  research-b: {role: research, kubeconfig: research-b.kubeconfig}\n"
        "reservations:\n"
        "  main: {machine: a3-megagpu-8g, region: us-region-1, zone: us-region-1-a,"
        " gpus_per_node: 8, nodes: 64}\n"
        "  second: {machine: a3-megagpu-8g, region: us-region-1, zone: us-region-1-b,"
        " gpus_per_node: 8, nodes: 32}\n"
        "providers:\n"
        "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata:"
        " 'http://127.0.0.1:1/gcp'}\n"
        "pools:\n"
        "  prod-a-main: {cluster: prod-a, reservation: main, provider: google, project: serving,"
        " group: prod-a-main, static_nodes: 8}\n"
        "  research-a-main: {cluster: research-a, reservation: main, provider: google,"
        " project: research, group: research-a-main, static_nodes: 4}\n"
        "  prod-b-second: {cluster: prod-b, reservation: second, provider: google,"
        " project: serving, group: prod-b-second, static_nodes: 4}\n"
        "  research-b-second: {cluster: research-b, reservation: second, provider: google,"
        " project: research, group: research-b-second, static_nodes: 2}\n",
    .shares = "prod-a: {weight: 2, replica_min: 1}, prod-b: {weight: 1, replica_min: 1}",
    .world = "",
    .backlog = 900,
};

static const struct demo_place cloud_places[] = {
    { "prod-google", "research-google", "prod-google-main", "research-google-main", 48 },
    { "prod-aws", "research-aws", "prod-aws-main", "research-aws-main", 32 },
    { "prod-azure", "research-azure", "prod-azure-main", "research-azure-main", 24 },
};

/* The second cloud does not answer while the first wave of the morning is on its way.  AKS takes
   one change of a cluster at a time: the last of a wave comes later than on the other clouds. */
const struct demo_layout demo_clouds = {
    .places = cloud_places,
    .count = sizeof cloud_places / sizeof *cloud_places,
    .config =
        "lead: {prior_p50: 45m, prior_p95: 80m}\n"
        "clusters:\n"
        "  prod-google: {role: production, kubeconfig: prod-google.kubeconfig}\n"
        "  prod-aws: {role: production, kubeconfig: prod-aws.kubeconfig}\n"
        "  prod-azure: {role: production, kubeconfig: prod-azure.kubeconfig}\n"
        "  research-google: {role: research, kubeconfig: research-google.kubeconfig}\n"
        "  research-aws: {role: research, kubeconfig: research-aws.kubeconfig}\n"
        "  research-azure: {role: research, kubeconfig: research-azure.kubeconfig}\n"
        "reservations:\n"
        "  google-main: {machine: a3-megagpu-8g, region: us-region-1, zone: us-region-1-a,"
        " gpus_per_node: 8, nodes: 48}\n"
        "  aws-block: {machine: p5.48xlarge, region: us-east-1, zone: us-east-1a,"
        " gpus_per_node: 8, nodes: 32}\n"
        "  azure-group: {machine: Standard_ND96isr_H100_v5, region: eastus, zone: eastus-1,"
        " gpus_per_node: 8, nodes: 24}\n"
        "providers:\n"
        "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata:"
        " 'http://127.0.0.1:1/gcp'}\n"
        "  amazon: {kind: aws, region: us-east-1, credentials: " DEMO_CREDENTIALS ", profile: demo,"
        " autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling',"
        " ec2_endpoint: 'http://127.0.0.1:1/aws/ec2'}\n"
        "  microsoft: {kind: azure, subscription: 00000000-0000-0000-0000-000000000001,"
        " endpoint: 'http://127.0.0.1:1/azure', metadata: 'http://127.0.0.1:1/azure'}\n"
        "pools:\n"
        "  prod-google-main: {cluster: prod-google, reservation: google-main, provider: google,"
        " project: serving, group: prod-google-main, static_nodes: 6}\n"
        "  research-google-main: {cluster: research-google, reservation: google-main,"
        " provider: google, project: research, group: research-google-main, static_nodes: 3}\n"
        "  prod-aws-main: {cluster: prod-aws, reservation: aws-block, provider: amazon,"
        " group: prod-aws-main, static_nodes: 4}\n"
        "  research-aws-main: {cluster: research-aws, reservation: aws-block, provider: amazon,"
        " group: research-aws-main, static_nodes: 2}\n"
        "  prod-azure-main: {cluster: prod-azure, reservation: azure-group, provider: microsoft,"
        " resource_group: serving, managed_cluster: prod, agent_pool: gpu, static_nodes: 3}\n"
        "  research-azure-main: {cluster: research-azure, reservation: azure-group,"
        " provider: microsoft, resource_group: research, managed_cluster: research,"
        " agent_pool: gpu, static_nodes: 2}\n",
    .shares = "prod-google: {weight: 2, replica_min: 1}, prod-aws: {weight: 1, replica_min: 1},"
              " prod-azure: {weight: 1, replica_min: 1}",
    .world = "outages: [ { cloud: aws, from: 4h, to: 4h30m } ]\n",
    .backlog = 900,
    .credentials = "[demo]\naws_access_key_id = AKIASIMULATED0000000\n"
                   "aws_secret_access_key = simulated/secret+of/the+simulator0000000\n",
};

static const struct demo_place slurm_places[] = {
    { "prod-a", "research-a", "prod-a-main", "research-a-main", 48 },
    { "prod-b", "research-b", "prod-b-second", "research-b-second", 24 },
};

/* One Slurm has dynamic nodes and a slurmrestd; the other is old, has the nodes of its slurm.conf,
   and is asked by commands. */
const struct demo_layout demo_slurm = {
    .places = slurm_places,
    .count = sizeof slurm_places / sizeof *slurm_places,
    .config =
        "lead: {prior_p50: 40m, prior_p95: 60m}\n"
        "clusters:\n"
        "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
        "  prod-b: {role: production, kubeconfig: prod-b.kubeconfig}\n"
        "  research-a: {kind: slurm, role: research, poll: 1m,"
        " rest: 'http://127.0.0.1:1/slurm/research-a', rest_user: root, token: research-a.token,"
        " ssh_address: login-a, ssh_host_key: '" LOGIN_KEY "', ssh_key: " DEMO_CREDENTIALS ","
        " machine: 'gce://research/us-region-1-a/{name}'}\n"
        "  research-b: {kind: slurm, role: research, poll: 1m,"
        " ssh_address: login-b, ssh_host_key: '" LOGIN_KEY "', ssh_key: " DEMO_CREDENTIALS ","
        " machine: '{extra}'}\n"
        "reservations:\n"
        "  main: {machine: a3-megagpu-8g, region: us-region-1, zone: us-region-1-a,"
        " gpus_per_node: 8, nodes: 48}\n"
        "  second: {machine: a3-megagpu-8g, region: us-region-1, zone: us-region-1-b,"
        " gpus_per_node: 8, nodes: 24}\n"
        "providers:\n"
        "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata:"
        " 'http://127.0.0.1:1/gcp'}\n"
        "pools:\n"
        "  prod-a-main: {cluster: prod-a, reservation: main, provider: google, project: serving,"
        " group: prod-a-main, static_nodes: 6}\n"
        "  research-a-main: {cluster: research-a, reservation: main, provider: google,"
        " project: research, group: research-a-main, static_nodes: 3}\n"
        "  prod-b-second: {cluster: prod-b, reservation: second, provider: google,"
        " project: serving, group: prod-b-second, static_nodes: 3}\n"
        "  research-b-second: {cluster: research-b, reservation: second, provider: google,"
        " project: research, group: research-b-second, static_nodes: 2}\n",
    .shares = "prod-a: {weight: 2, replica_min: 1}, prod-b: {weight: 1, replica_min: 1}",
    .world = "slurm: {research-b: {release: '22.05', nodes: fixed}}\n",
    .backlog = 24,
    .credentials = "the simulated login nodes ask for no key\n",
};
