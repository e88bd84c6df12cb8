/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of rights in a Kubernetes cluster, in the order of role.yaml.
 */
#include "clusters/kube_rights.h"

#include "base/memory.h"

static const char no_gangs[] = "the pods of its gangs are evicted one by one, half a minute late";
static const char no_devices[] = "a pod that claims devices counts as a whole node";
static const char no_hooks[] = "one pod of each owner is asked about when a plan is read";
static const char no_replicas[] = "replicas do not follow the nodes";

const struct kube_right kube_rights[] = {
    { "", "nodes", { "get", "list", "watch", "patch", "delete" }, 0, NULL },
    { "", "pods", { "get", "list", "watch", "delete" }, 0, NULL },
    { "", "pods/eviction", { "create" }, 0, NULL },
    { "", "pods/status", { "patch" }, 0, "pods that are deleted do not carry DisruptionTarget" },
    { "", "nodes/status", { "patch" }, 0, "nodes do not show their departure as a condition" },
    { "", "events", { "create" }, 0, "nodes have no Events of their departure" },
    { "policy",
      "poddisruptionbudgets",
      { "list", "watch" },
      0,
      "evictions are tried every few seconds, whether a budget has room or not" },
    { "resource.k8s.io", "resourceslices", { "list", "watch" }, 0, no_devices },
    { "resource.k8s.io", "resourceclaims", { "list", "watch" }, 0, no_devices },
    { "storage.k8s.io",
      "volumeattachments",
      { "list" },
      0,
      "sluice does not see when volumes are detached" },
    { "",
      "persistentvolumeclaims",
      { "get" },
      0,
      "volumes of DaemonSets' pods are waited for, three minutes at most" },
    { "admissionregistration.k8s.io", "validatingwebhookconfigurations", { "list" }, 0, no_hooks },
    { "admissionregistration.k8s.io", "mutatingwebhookconfigurations", { "list" }, 0, no_hooks },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies", { "list" }, 0, no_hooks },
    { "apps", "deployments", { "get" }, RIGHT_ON_PRODUCTION, no_replicas },
    { "apps", "deployments/scale", { "get", "patch" }, RIGHT_ON_PRODUCTION, no_replicas },
    { "leaderworkerset.x-k8s.io", "leaderworkersets", { "get" }, RIGHT_ON_PRODUCTION, no_replicas },
    { "leaderworkerset.x-k8s.io",
      "leaderworkersets/scale",
      { "get", "patch" },
      RIGHT_ON_PRODUCTION,
      no_replicas },
    { "autoscaling",
      "horizontalpodautoscalers",
      { "list" },
      RIGHT_ON_PRODUCTION,
      "an autoscaler that fights for the replicas is not named" },
    { "autoscaling", "horizontalpodautoscalers", { "get", "patch" }, RIGHT_WITH_HPA, no_replicas },
    { "keda.sh", "scaledobjects", { "get", "patch" }, RIGHT_WITH_KEDA, no_replicas },
    { "kueue.x-k8s.io",
      "clusterqueues",
      { "get", "patch" },
      RIGHT_WITH_QUOTAS,
      "the quota does not follow the nodes" },
    { "kueue.x-k8s.io", "workloads", { "get", "list", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "batch", "jobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "jobset.x-k8s.io", "jobsets", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "trainer.kubeflow.org", "trainjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "pytorchjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "tfjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "xgboostjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "paddlejobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "jaxjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "kubeflow.org", "mpijobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "ray.io", "rayjobs", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
    { "ray.io", "rayclusters", { "get" }, RIGHT_ON_RESEARCH, no_gangs },
    { "argoproj.io", "workflows", { "get", "patch" }, RIGHT_ON_RESEARCH, no_gangs },
};

const size_t kube_right_count = COUNT_OF(kube_rights);
