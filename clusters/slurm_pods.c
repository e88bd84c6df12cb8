/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pods that are nodes of a Slurm cluster, by THE table of what their tools write on them.
 */
#include "clusters/slurm_pods.h"

#include "base/input/json.h"
#include "base/text.h"

/* A row with `group` holds for a pod whose controller is of an API group that begins so.  Any other
   row holds for a pod that has `label` with that value (NULL: any), and the second label, if given.
 */
static const struct row {
    enum pod_slurm tool;
    const char *group;
    const char *label;
    const char *value;
    const char *label_too;
    const char *value_too;
} rows[] = {
    { POD_SLURM_SLINKY, "slinky.slurm.net/", NULL, NULL, NULL, NULL },
    { POD_SLURM_SLINKY, NULL, "nodeset.slinky.slurm.net/pod-name", NULL, NULL, NULL },
    { POD_SLURM_SLINKY, NULL, "app.kubernetes.io/name", "slurmd", NULL, NULL },
    { POD_SLURM_SUNK, "sunk.coreweave.com/", NULL, NULL, NULL, NULL },
    { POD_SLURM_SOPERATOR, NULL, "slurm.nebius.ai/worker", "true", NULL, NULL },
    { POD_SLURM_SOPERATOR, NULL, "app.kubernetes.io/name", "SlurmCluster",
      "app.kubernetes.io/component", "worker" },
};

static bool has_label(const struct pod *pod, const char *key, const char *value)
{
    const char *own = pod_label(pod, key);

    return own && (!value || text_equal(own, value));
}

static bool holds(const struct row *row, const struct pod *pod)
{
    if (row->group)
        return text_starts_with(pod->owner_version, row->group) &&
               text_equal(pod->owner_kind, "NodeSet");
    return has_label(pod, row->label, row->value) &&
           (!row->label_too || has_label(pod, row->label_too, row->value_too));
}

enum pod_slurm slurm_pod_kind(const struct pod *pod)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (holds(&rows[i], pod))
            return rows[i].tool;
    return POD_SLURM_NONE;
}

/* By the rule of slurm-operator (GetNodeName() of 0.4.1 and 1.0.0), which also writes the name into
   a label; 0.4 has no such label, and a pod on its host's network has an empty one until later. */
static const char *name_of_slinky(const struct pod *pod, const json_t *spec)
{
    const char *label = pod_label(pod, "nodeset.slinky.slurm.net/pod-hostname");
    const char *hostname = json_text_or(spec, "hostname", "");

    if (label && label[0])
        return label;
    if (json_bool_or(spec, "hostNetwork", false))
        return pod->node_name;
    return hostname[0] ? hostname : pod->name;
}

/* SUNK: its documents say that a NodeSet names each pod after the machine it is assigned to, so
   that Slurm's list of nodes is consistent; no more is published.  Soperator: its workers are pods
   of a StatefulSet, whose hostname is their name (worker-0).  A name that Slurm does not list is no
   node: the pod stays, and the transfer says so. */
const char *slurm_pod_name(const struct pod *pod, const json_t *spec)
{
    return pod->slurm == POD_SLURM_SLINKY ? name_of_slinky(pod, spec) : pod->name;
}

const char *pod_slurm_node(const struct pod *pod)
{
    require(pod->slurm != POD_SLURM_NONE);
    return pod->slurm_node;
}

const char *pod_slurm_tool(const struct pod *pod)
{
    static const char *const names[] = {
        [POD_SLURM_NONE] = NULL,
        [POD_SLURM_SLINKY] = "Slinky",
        [POD_SLURM_SUNK] = "SUNK",
        [POD_SLURM_SOPERATOR] = "Soperator",
    };

    return names[pod->slurm];
}

const struct pod *snapshot_slurm_pod(const struct snapshot *snapshot, const char *node)
{
    const struct pod *const *pods;
    const struct pod *found = NULL;
    size_t count;

    if (snapshot->slurm_pods == 0)
        return NULL;
    pods = snapshot_pods_on(snapshot, node, &count);

    for (size_t i = 0; i < count && (!found || found->deletion.ms > 0); i++)
        if (pod_slurm_tool(pods[i]) && pod_must_leave(pods[i]))
            found = pods[i];
    return found;
}
