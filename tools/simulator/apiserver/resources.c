/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See resources.h.
 */
#include "tools/simulator/apiserver/resources.h"

#include "tools/simulator/kube/kube_versions.h"

static const char *const node_fields[] = { "spec.unschedulable", NULL };
static const char *const pod_fields[] = {
    "spec.nodeName",    "spec.restartPolicy",       "spec.schedulerName",
    "status.phase",     "spec.serviceAccountName",  "status.podIP",
    "spec.hostNetwork", "status.nominatedNodeName", NULL,
};
static const char *const event_fields[] = {
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    NULL,
};
static const char *const namespace_fields[] = { "status.phase", NULL };
static const char *const job_fields[] = { "status.successful", NULL };

#define KUEUE "kueue.x-k8s.io"

const struct api_resource api_resources[] = {
    { .version = "v1",
      .group = "",
      .plural = "events",
      .singular = "event",
      .kind = "Event",
      .short_name = "ev",
      .category = "",
      .is_namespaced = true,
      .verbs = API_CREATE,
      .collect = api_collect_events,
      .columns = api_event_columns,
      .fields = event_fields,
      .create = api_create_by_post },
    { .version = "v1",
      .group = "",
      .plural = "namespaces",
      .singular = "namespace",
      .kind = "Namespace",
      .short_name = "ns",
      .category = "",
      .verbs = API_CREATE | API_DELETE,
      .collect = api_collect_namespaces,
      .columns = api_namespace_columns,
      .fields = namespace_fields,
      .create = api_create_namespace,
      .remove = api_remove_by_delete },
    { .version = "v1",
      .group = "",
      .plural = "nodes",
      .singular = "node",
      .kind = "Node",
      .short_name = "no",
      .category = "",
      .verbs = API_ALL,
      .collect = api_collect_nodes,
      .find = api_find_node,
      .columns = api_node_columns,
      .fields = node_fields,
      .create = api_create_by_post,
      .update = api_update_node,
      .remove = api_remove_by_delete },
    { .version = "v1",
      .group = "",
      .plural = "pods",
      .singular = "pod",
      .kind = "Pod",
      .short_name = "po",
      .category = "all",
      .is_namespaced = true,
      .verbs = API_ALL,
      .collect = api_collect_pods,
      .find = api_find_pod,
      .columns = api_pod_columns,
      .fields = pod_fields,
      .create = api_create_by_post,
      .update = api_update_pod,
      .remove = api_remove_by_delete },
    { .version = "v1",
      .group = "apps",
      .plural = "daemonsets",
      .singular = "daemonset",
      .kind = "DaemonSet",
      .short_name = "ds",
      .category = "all",
      .is_namespaced = true,
      .collect = api_collect_daemon_sets,
      .columns = api_daemon_set_columns },
    { .version = "v1",
      .group = "apps",
      .plural = "deployments",
      .singular = "deployment",
      .kind = "Deployment",
      .short_name = "deploy",
      .category = "all",
      .is_namespaced = true,
      .verbs = API_ALL,
      .collect = api_collect_deployments,
      .columns = api_deployment_columns,
      .create = api_create_deployment,
      .update = api_update_deployment,
      .remove = api_remove_deployment },
    { .version = "v1",
      .group = "apps",
      .plural = "replicasets",
      .singular = "replicaset",
      .kind = "ReplicaSet",
      .short_name = "rs",
      .category = "all",
      .is_namespaced = true,
      .collect = api_collect_replica_sets,
      .columns = api_replica_set_columns },
    { .version = "v1",
      .group = "batch",
      .plural = "jobs",
      .singular = "job",
      .kind = "Job",
      .short_name = "",
      .category = "all",
      .is_namespaced = true,
      .collect = api_collect_jobs,
      .columns = api_job_columns,
      .fields = job_fields },
    { .version = "v1",
      .group = "coordination.k8s.io",
      .plural = "leases",
      .singular = "lease",
      .kind = "Lease",
      .short_name = "",
      .category = "",
      .is_namespaced = true,
      .collect = api_collect_leases,
      .columns = api_lease_columns },
    { .group = "policy",
      .plural = "poddisruptionbudgets",
      .singular = "poddisruptionbudget",
      .kind = "PodDisruptionBudget",
      .short_name = "pdb",
      .category = "",
      .is_namespaced = true,
      .verbs = API_CREATE | API_DELETE,
      .collect = api_collect_budgets,
      .columns = api_budget_columns,
      .create = api_create_by_post,
      .remove = api_remove_by_delete },
    { .group = "autoscaling",
      .plural = "horizontalpodautoscalers",
      .singular = "horizontalpodautoscaler",
      .kind = "HorizontalPodAutoscaler",
      .short_name = "hpa",
      .category = "all",
      .is_namespaced = true,
      .verbs = API_ALL,
      .collect = api_collect_stored,
      .columns = api_autoscaler_columns,
      .create = api_create_stored,
      .update = api_update_stored,
      .remove = api_remove_stored },
    { .group = KUEUE,
      .plural = "clusterqueues",
      .singular = "clusterqueue",
      .kind = "ClusterQueue",
      .short_name = "cq",
      .category = "",
      .is_custom = true,
      .verbs = API_ALL,
      .collect = api_collect_stored,
      .columns = api_cluster_queue_columns,
      .create = api_create_stored,
      .update = api_update_stored,
      .remove = api_remove_stored },
    { .group = KUEUE,
      .plural = "localqueues",
      .singular = "localqueue",
      .kind = "LocalQueue",
      .short_name = "queue",
      .category = "",
      .is_namespaced = true,
      .is_custom = true,
      .verbs = API_ALL,
      .collect = api_collect_stored,
      .columns = api_local_queue_columns,
      .create = api_create_stored,
      .update = api_update_stored,
      .remove = api_remove_stored },
    { .group = KUEUE,
      .plural = "resourceflavors",
      .singular = "resourceflavor",
      .kind = "ResourceFlavor",
      .short_name = "rf",
      .category = "",
      .is_custom = true,
      .verbs = API_ALL,
      .collect = api_collect_stored,
      .create = api_create_stored,
      .update = api_update_stored,
      .remove = api_remove_stored },
    { .group = KUEUE,
      .plural = "workloads",
      .singular = "workload",
      .kind = "Workload",
      .short_name = "wl",
      .category = "",
      .is_namespaced = true,
      .is_custom = true,
      .verbs = API_ALL,
      .collect = api_collect_stored,
      .create = api_create_stored,
      .update = api_update_stored,
      .remove = api_remove_stored },
    { 0 },
};

static const struct scenario_group *group_of(const struct api_resource *resource, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < SCENARIO_GROUPS; ++*ret_at)
        if (text_equal(scenario_groups[*ret_at].name, resource->group))
            return &scenario_groups[*ret_at];
    return NULL;
}

/* Kueue is installed where world.yaml names it, or where a test put its objects. */
static bool has_kueue(const struct sim_call *call)
{
    owned(json) json_t *group = sim_version_group(call, KUEUE);

    return group || yaml_get(yaml_root(call->sim->scenario->world), "kueue");
}

bool api_resource_is_served(const struct sim_call *call, const struct api_resource *resource)
{
    size_t at;

    if (resource->version)
        return true;
    return group_of(resource, &at) && call->sim->scenario->served[at] &&
           (!text_equal(resource->group, KUEUE) || has_kueue(call));
}

const char *api_resource_version(const struct sim_call *call, const struct api_resource *resource)
{
    size_t at;

    if (resource->version)
        return resource->version;
    (void)group_of(resource, &at);
    return sim_version_of(call->sim, (enum scenario_group_id)at);
}

static bool has_version(const struct sim_call *call, const struct api_resource *resource,
                        const char *version)
{
    const struct scenario_group *group;
    size_t at;

    if (resource->version)
        return text_equal(resource->version, version);
    group = group_of(resource, &at);
    for (size_t i = 0; group && i < SCENARIO_VERSIONS; i++)
        if (call->sim->scenario->served[at] & (1u << i) && text_equal(group->versions[i], version))
            return true;
    return false;
}

const struct api_resource *api_resource_find(const struct sim_call *call, const char *group,
                                             const char *version, const char *plural)
{
    for (const struct api_resource *row = api_resources; row->plural; row++)
        if (text_equal(row->group, group) && text_equal(row->plural, plural) &&
            api_resource_is_served(call, row) && has_version(call, row, version))
            return row;
    return NULL;
}

void api_resource_full_name(const struct api_resource *resource, char out[SIM_NAME_SIZE])
{
    snprintf(out, SIM_NAME_SIZE, "%s%s%s", resource->plural, resource->group[0] ? "." : "",
             resource->group);
}
