/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one cluster looked like: nodes and pods, and how old that knowledge is.  The watch keeps
 * it current; readers hold nothing across turns of the loop, because the next event may replace
 * what a pointer points to.
 */
#pragma once

#include "base/error.h"
#include "base/map.h"
#include "base/timestamp.h"
#include "clusters/accelerators.h"
#include "clusters/gang.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct index;
struct shared_pool;

/* Conditions of a node that announce its departure; ours have this reason. */
enum { NODE_MARK_PLANNED, NODE_MARK_DRAINING, NODE_MARK_DRAINED, NODE_MARK_COUNT };
#define NODE_MARK_REASON "SluiceTransfer"

/* "MaintenancePlanned", "DrainInProgress", "Drained". */
const char *node_mark_name(int mark);

/* The texts of nodes and pods are shared_text, the maps of texts packed. */
struct node {
    const char *name;
    const char *uid;
    const char *resource_version;
    const char *provider_id; /* spec.providerID; "" while unknown */
    bool is_unschedulable;
    bool is_ready;       /* condition Ready is True */
    bool is_silent;      /* it is Unknown: the kubelet does not answer any more */
    bool is_leaving;     /* metadata.deletionTimestamp is set */
    unsigned marks;      /* bits 1 << NODE_MARK_...: the conditions of ours that are True */
    const char *devices; /* its extended resources: "nvidia.com/gpu" -> "8"; see gpus.h */
    struct wall_time created;
    const char *troubles; /* conditions that are not as on a healthy node, for people: "Ready is
                             False (KubeletNotReady)"; "": none */
    const char *labels;
    struct gpu_facts gpu_facts; /* what the labels say of its GPUs */
    const char *annotations;    /* without long ones and other controllers' notes to themselves */
    json_t *taints;             /* array of {key, value, effect, ...} as the server wrote it */
    struct wall_time reserved;  /* from then on a person's reservation holds it (Slurm); 0: none */
};

/* The finalizer that the Job controller removes from a pod once it has counted the pod. */
#define POD_JOB_FINALIZER "batch.kubernetes.io/job-tracking"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

enum pod_class {
    POD_CLASS_MIRROR,    /* the kubelet's own: never touched, never in the way */
    POD_CLASS_DAEMON,    /* of a DaemonSet: comes straight back, never in the way */
    POD_CLASS_FINISHED,  /* succeeded, failed, or only to be counted yet: not in the way */
    POD_CLASS_WORK,      /* has an owner that will make it again */
    POD_CLASS_UNMANAGED, /* no controller will make it again */
};

/* Tools that run nodes of a Slurm cluster (slurmd) as pods.  Such a pod's jobs are Slurm's: only
   Slurm can make them leave. */
enum pod_slurm { POD_SLURM_NONE, POD_SLURM_SLINKY, POD_SLURM_SUNK, POD_SLURM_SOPERATOR };

struct pod {
    const char *namespace;
    const char *name;
    const char *uid;
    const char *node_name;  /* "" while not bound */
    const char *owner_kind; /* of the controlling owner; "" without one */
    const char *owner_name;
    const char *owner_version; /* "batch/v1" */
    const char *finalizers;    /* "a, b"; "" without any */
    const char *labels;
    const char *annotations;
    struct gang_ref gang; /* the gang that it loses its work with */
    enum pod_phase phase;
    const char *devices;        /* extended resources that its containers ask for, as a node's */
    const char *device_claims;  /* the pod's name for a claim -> the name of the ResourceClaim; "":
                                   none yet */
    int priority;               /* spec.priority, as its class said when it was made */
    const char *priority_class; /* "": none */
    enum pod_slurm slurm;       /* it is a node of a Slurm cluster, run by this tool */
    const char *slurm_node;     /* what Slurm calls that node; NULL: not known, or it is none */
    int claims;                 /* of persistent volumes, which a controller has to detach */
    struct wall_time created;
    struct wall_time started;  /* status.startTime; 0: not yet */
    struct wall_time ends;     /* its time limit ends it then (Slurm); 0: none is known */
    struct wall_time deletion; /* metadata.deletionTimestamp: the end of its grace; 0: none */
    int64_t grace_s;           /* spec.terminationGracePeriodSeconds; 30 where absent */
    bool is_mirror;
    bool is_unread;    /* pod_stand_in(): it could not be decoded, and this is its readable part */
    bool awaits_count; /* its processes have ended: deleted with grace 0, it stays until the
                          Job controller has counted it */
    bool is_ready;     /* condition Ready is True */
    bool has_local_storage; /* emptyDir on a disk, or hostPath */
};

struct snapshot {
    struct map *nodes;   /* by name -> struct node */
    struct map *pods;    /* by UID -> struct pod */
    struct map *budgets; /* by UID -> struct budget; empty until they are known */
    struct map *slices;  /* by name -> struct device_slice; empty where the server has none */
    struct map *claims;  /* by UID -> struct device_claim; likewise */
    struct index *pods_by_node;
    struct index *slices_by_node;
    struct index *claims_by_key; /* "NAMESPACE/NAME" */
    struct index *budgets_by_namespace;
    struct index *nodes_by_provider;
    struct shared_pool *texts;
    struct map *unreadable; /* "nodes/NAME" or "pods/UID" -> why: objects that exist but could not
                               be decoded.  They are not absent: their former state stays in the
                               maps, and a pod without one has a stand-in there */
    int64_t node_changes;   /* counted up when a Node came or went, or changed its readiness, its
                               departure or its provider ID; heartbeats do not count */
    int64_t slurm_pods;     /* pods that run slurmd, whatever they do; -1: not counted */
    bool is_known;          /* both lists have been read at least once */
    int64_t nodes_seen_ms;  /* loop time at which the nodes were last known to be current: an
                               event, a bookmark or a list */
    int64_t pods_seen_ms;
    bool budgets_are_known; /* without them pods are evicted as the server lets them */
    bool devices_are_known; /* slices and claims were listed and are watched, or the server has none
                               of them; otherwise their GPUs may be incomplete */
    const struct accelerators *accelerators; /* the names of a configuration; NULL: none */
    int64_t ahead_ms; /* by how much the clock that wrote its times is ahead of ours */
};

/* A time of one of its objects, by our clock. */
static inline struct wall_time snapshot_wall(const struct snapshot *snapshot,
                                             struct wall_time their)
{
    return (struct wall_time){ their.ms - snapshot->ahead_ms };
}

/* The pods bound to the node, borrowed until the next turn; NULL and 0 when there are none. */
const struct pod *const *snapshot_pods_on(const struct snapshot *snapshot, const char *node_name,
                                          size_t *ret_count);

/* The Node with this provider ID, or NULL; of several, the one named so, else the oldest known. */
const struct node *snapshot_node_of_provider(const struct snapshot *snapshot, const char *id,
                                             const char *name);

/* Decode one API object.  NULL and ERROR_CORRUPT, with the
   object's path, when a member that must be there is not. */
struct node *node_decode(const json_t *object, struct error *err)
    __attribute__((warn_unused_result));
struct pod *pod_decode(const json_t *object, struct error *err) __attribute__((warn_unused_result));
void node_free(struct node *node);
void pod_free(struct pod *pod);

/* Builds a stand-in from the readable members of a pod that pod_decode() refuses, so that its node
   does not count as idle.  The stand-in must leave its node as others must, and counts as the whole
   node.  Returns NULL if `former` (which may be NULL) tells more: then keep it. */
struct pod *pod_stand_in(const json_t *object, const struct pod *former)
    __attribute__((warn_unused_result));

enum pod_class pod_class_of(const struct pod *pod);

/* Whether it is a part of a job of Slurm that is lost when it must leave: Slurm may not start it
   again under its number (--no-requeue, and what has no batch script). */
bool pod_is_lost_for_good(const struct pod *pod);

/* Whether this pod must leave before its node may be deleted. */
bool pod_must_leave(const struct pod *pod);

/* The tool that runs it as a node of a Slurm cluster ("Slinky"); NULL: it is no such pod. */
const char *pod_slurm_tool(const struct pod *pod);

/* The name that Slurm has for it; NULL: not known yet.  It must be such a pod. */
const char *pod_slurm_node(const struct pod *pod);

/* A pod on this node that runs slurmd and must leave; NULL: none.  Pods that are not being
   deleted come first.  Valid as long as the snapshot does not change. */
const struct pod *snapshot_slurm_pod(const struct snapshot *snapshot, const char *node);

/* Whether it asks not to be evicted (karpenter.sh/do-not-disrupt, safe-to-evict=false, Cluster
   API's drain label): it is left alone until its own last moment. */
bool pod_is_protected(const struct pod *pod);

/* Whether a person's reservation holds the node before that time. */
bool node_is_reserved(const struct node *node, struct wall_time before);

/* The text of a label or annotation, or NULL. */
const char *node_label(const struct node *node, const char *key);
const char *node_annotation(const struct node *node, const char *key);
const char *pod_label(const struct pod *pod, const char *key);
const char *pod_annotation(const struct pod *pod, const char *key);
bool node_has_taint(const struct node *node, const char *key);

#define NODE_TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

/* An autoscaler's taint that it may remove the node: a hint, which our announcement overrides. */
#define NODE_TAINT_CANDIDATE "DeletionCandidateOfClusterAutoscaler"

/* The taint by which another controller announces that it removes the node, or that the node is
   dead; NULL: none. */
const char *node_rival(const struct node *node);

/* Whether a taint of the cluster's own (node.kubernetes.io/) keeps new pods from it. */
bool node_is_in_trouble(const struct node *node);

/* A change of one node, as one merge patch: its resourceVersion is in it, so the server refuses it
   when the node changed since (spec.taints is a list without merge key: the patch replaces it). */
struct node_change {
    enum { NODE_KEEP, NODE_CORDON, NODE_UNCORDON } cordon;
    const char *taint_key; /* set or removed; NULL: taints stay */
    const char *taint_value;
    const char *taint_effect;  /* NULL: the taint of that key is removed */
    const json_t *annotations; /* key -> text, or null to remove; NULL: they stay */
    const json_t *labels;      /* likewise */
};
json_t *node_change_patch(const struct node *node, const struct node_change *change)
    __attribute__((returns_nonnull, warn_unused_result));

/* Only for the module that keeps the snapshot. */
void snapshot_init(struct snapshot *snapshot);
void snapshot_clear(struct snapshot *snapshot);
/* A node or pod took the place of the former; both NULL: all were replaced.  They keep the counts
   node_changes and slurm_pods.  context: the snapshot. */
void snapshot_node_replaced(void *context, const void *former, const void *object);
void snapshot_pod_replaced(void *context, const void *former, const void *object);
void node_share(struct node *node, struct shared_pool *pool);
void pod_share(struct pod *pod, struct shared_pool *pool);
