/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of kinds that the contract is played on.
 */
#include "providers/aws/aws.h"
#include "providers/azure/azure.h"
#include "providers/capi/capi.h"
#include "providers/gcp/gcp.h"
#include "tests/providers/contract/contract.h"
#include "tests/providers/oci_bench.h"

#include <stdlib.h>

#define AWS_ACCOUNT                                                                                \
    "{region: us-east-1, autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling', "             \
    "ec2_endpoint: 'http://127.0.0.1:1/aws/ec2', eks_endpoint: 'http://127.0.0.1:1/aws/eks'}"

/* The simulator's keys. */
static void set_up_aws(const char *folder)
{
    (void)folder;
    setenv("AWS_ACCESS_KEY_ID", "AKIASIMULATED0000000", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "simulated/secret+of/the+simulator0000000", 1);
    unsetenv("AWS_SESSION_TOKEN");
}

static void set_up_capi(const char *folder)
{
    mem_free(test_folder_write(
        folder, "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1/capi/cloud'}}]\n"
        "users: [{name: it, user: {token: sim-cloud}}]\n"
        "contexts: [{name: it, context: {cluster: it, user: it}}]\n"));
}

/* One key for all cases: to make one takes long. */
static void set_up_oci(const char *folder)
{
    static char *key;

    if (!key)
        key = oci_new_key();
    owned(chars) char *key_path = test_folder_write(folder, "key.pem", key);
    owned(chars) char *profile = text_format("[DEFAULT]\nuser=ocid1.user.u\nfingerprint=aa:bb\n"
                                             "tenancy=ocid1.tenancy.t\nregion=us-test-1\n"
                                             "key_file=%s\n",
                                             key_path);

    mem_free(test_folder_write(folder, "profile", profile));
}

const struct contract_kind contract_kinds[] = {
    { .name = "gcp",
      .kind = &gcp_kind,
      .account = "{endpoint: 'http://127.0.0.1:1/gcp', metadata: 'http://127.0.0.1:1/gcp'}",
      .pool = "{project: p, group: g-lab}",
      .pool_traps = "gcp: {group: '{\"status\":{\"autoscaler\":\"a\"},"
                    "\"autoHealingPolicies\":[{}]}'}",
      .list = "list_instances",
      .size = "create_instances",
      .create = "create_instances",
      .removes = { "delete_instances" },
      .zone = "one zonal group a pool",
      .token = "`requestId`",
      .want = WANT_LISTED,
      .heals = HEALS_AGAIN,
      .attempts = 10 },
    { .name = "aws, by LaunchInstances",
      .kind = &aws_kind,
      .account = AWS_ACCOUNT,
      .pool = "{group: asg-lab, eks_cluster: lab, nodegroup: ng-lab, grow: launch-instances}",
      .traps = "aws: {pool: {zones: 'us-east-1a,us-east-1b', autoscaler: true}}\n",
      .lingers = "aws: {pool: {hook: true}}\n",
      .set_up = set_up_aws,
      .list = "describe_groups",
      .create = "launch_instances",
      .removes = { "terminate_instance" },
      .protect = "protect_instance",
      .exposes = "aws: {pool: {unprotected: true}}\n",
      .zone = "`AvailabilityZones` of the request",
      .token = "`ClientToken`",
      .zone_trap = "aws: {pool: {zones: 'us-east-1a,us-east-1b'}}\n",
      .names = NAMES_IN_ANSWER,
      .want = WANT_REFUSED,
      .refuses_quota = true,
      .attempts = 10 },
    { .name = "aws, by number",
      .kind = &aws_kind,
      .account = AWS_ACCOUNT,
      .pool = "{group: asg-lab, grow: set-desired-capacity}",
      .traps = "aws: {pool: {warm_pool: true, autoscaler: true}}\n",
      .lingers = "aws: {pool: {hook: true}}\n",
      .set_up = set_up_aws,
      .list = "describe_groups",
      .create = "set_desired",
      .removes = { "terminate_instance" },
      .protect = "protect_instance",
      .exposes = "aws: {pool: {unprotected: true}}\n",
      .zone = "one zone a group",
      .token = "none: planned number",
      .zone_trap = "aws: {pool: {zones: 'us-east-1a,us-east-1b'}}\n",
      .names = NAMES_LATER,
      .want = WANT_COUNTED,
      .loses_races = true,
      .attempts = 10 },
    { .name = "azure",
      .kind = &azure_kind,
      .account = "{subscription: s-1, endpoint: 'http://127.0.0.1:1/azure',"
                 " metadata: 'http://127.0.0.1:1/azure'}",
      .pool = "{resource_group: rg, managed_cluster: c, agent_pool: gpu}",
      .pool_traps = "autoscaler: 'true', zones: '1,2', mode: System",
      .hangs = "hangs: 'true'",
      .list = "list_machines",
      .size = "get_pool",
      .create = "put_pool",
      .removes = { "delete_machines" },
      .zone = "one zone a pool",
      .token = "`If-Match`, and planned number",
      .zone_trap = "zones: '1,2'",
      .names = NAMES_LATER,
      .want = WANT_FAILED,
      .heals = HEALS_IN_PLACE,
      .ids = IDS_OF_MACHINES,
      .refuses_quota = true,
      .is_serial = true,
      .removed_again = ERROR_NOT_FOUND,
      .attempts = 80 },
    { .name = "capi",
      .kind = &capi_kind,
      .account = "{kubeconfig: FOLDER/kubeconfig}",
      .pool = "{namespace: infra, machine_deployment: gpu}",
      .pool_traps = "capi: {group: '{\"metadata\":{\"annotations\":{"
                    "\"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size\":\"9\"},"
                    "\"labels\":{\"topology.cluster.x-k8s.io/owned\":\"\"}}}'}",
      .set_up = set_up_capi,
      .list = "list_machines",
      .size = "get_machine_pool",
      .create = "scale_machines",
      .removes = { "mark_machine", "scale_machines" },
      .zone = "one failure domain a pool",
      .token = "`resourceVersion`, and planned number",
      .zone_trap = "capi: {group: '{\"spec\":{\"failureDomains\":[\"a\",\"b\"]}}'}",
      .names = NAMES_LATER,
      .want = WANT_LISTED,
      .ids = IDS_OF_OTHERS,
      .counts = true,
      .leaves_ms = 5 * SECOND_MS,
      .attempts = 10 },
    { .name = "oci",
      .kind = &oci_kind,
      .account = "{endpoint: 'http://127.0.0.1:1/oci', credentials: FOLDER/profile}",
      .pool = "{node_pool: " OCI_POOL_ID "}",
      .pool_traps = "oci: {node_pool: '{\"nodePoolCyclingDetails\":{\"isNodeCyclingEnabled\":true},"
                    "\"nodeConfigDetails\":{\"placementConfigs\":[]}}'}",
      .set_up = set_up_oci,
      .list = "get_node_pool",
      .create = "update_node_pool",
      .removes = { "delete_node" },
      .zone = "one availability domain a pool",
      .token = "`if-match`, and planned number",
      .zone_trap = "oci: {node_pool: '{\"nodeConfigDetails\":{\"placementConfigs\":[{},{}]}}'}",
      .names = NAMES_LATER,
      .want = WANT_COUNTED,
      .ids = IDS_OF_MACHINES,
      .attempts = 10 },
};

const size_t contract_kind_count = COUNT_OF(contract_kinds);
