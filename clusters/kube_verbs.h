/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that read and change one Kubernetes cluster.
 *
 * A verb is exactly one HTTP exchange.  `done` is called once, in a later turn of the loop, with
 * the decoded body or an error whose kind says what the caller may do:
 *
 *   evict      OK, or ERROR_NOT_FOUND / ERROR_CONFLICT (that pod is gone); ERROR_THROTTLED with
 *              retry_after_ms: a budget or a webhook says no (the text names it) or the server is
 *              busy (see cluster_is_budget()); ERROR_DENIED (permission, or budgets that can
 *              never allow it); ERROR_TRANSIENT; ERROR_UNKNOWN_OUTCOME
 *   delete     OK also when the answer says it was gone already, body is that answer's then
 *   patch      ERROR_CONFLICT: read again
 *   read       ERROR_TRANSIENT also where the outcome of the exchange is unknown; ERROR_CONFLICT
 *              for a continue token that is too old: begin the list again
 *
 * A 2xx whose body is a Status with status Failure is a failure; the code in the body counts.
 */
#pragma once

#include "clusters/cluster.h"

#include <jansson.h>

/* Exactly one of body and err is not NULL; body is borrowed. */
typedef void (*cluster_done_fn)(void *context, const json_t *body, const struct error *err);

/* One pod: its address, and the UID that tells it from a later pod of the same name.  The texts are
   borrowed for the call. */
struct pod_ref {
    const char *namespace;
    const char *name;
    const char *uid;
};
static inline struct pod_ref pod_ref_of(const struct pod *pod)
{
    return (struct pod_ref){ .namespace = pod->namespace, .name = pod->name, .uid = pod->uid };
}

void cluster_patch_node(struct cluster *cluster, const char *name, const json_t *merge_patch,
                        cluster_done_fn done, void *context);

/* Eviction API, with a UID precondition; grace_s 0: the pod's own grace period. */
void cluster_evict_pod(struct cluster *cluster, const struct pod_ref *pod, int64_t grace_s,
                       cluster_done_fn done, void *context);

/* The timeout of a read that only informs people: a webhook has 10 s by default, and clients of our
   own API wait at most 30. */
enum { CLUSTER_QUESTION_MS = 12 * SECOND_MS };

/* The same as a dry run: the server answers as it would, and evicts nothing.  ERROR_INVALID, with
   nothing sent, unless the server surely supports dry runs: policy/v1 exists since 1.21, dry runs
   since 1.18. */
bool cluster_knows_dry_runs(const struct cluster *cluster);
int cluster_try_eviction(struct cluster *cluster, const struct pod_ref *pod, cluster_done_fn done,
                         void *context, struct error *err) __attribute__((warn_unused_result));

/* The meaning of an answer to an eviction for a plan. */
enum dry_run {
    DRY_RUN_LEAVES,        /* it would be evicted now */
    DRY_RUN_BUDGET,        /* a disruption budget lets it not go now */
    DRY_RUN_TWO_BUDGETS,   /* more than one selects it: no eviction ever passes */
    DRY_RUN_DENIED,        /* an admission webhook or policy says no */
    DRY_RUN_UNREACHED,     /* an admission webhook does not answer */
    DRY_RUN_NOT_PERMITTED, /* we may not evict it */
    DRY_RUN_GONE,          /* it is not there any more */
    DRY_RUN_UNKNOWN,       /* the server did not say */
};
enum dry_run cluster_dry_run_of(const struct error *err); /* NULL: success */

/* The objects that admit others before they are created: "validatingwebhookconfigurations",
   "mutatingwebhookconfigurations" or "validatingadmissionpolicies".  Next: whether the error proves
   that the API server has no such resource; and whether any object of a list is asked about
   evictions. */
void cluster_read_admission(struct cluster *cluster, const char *resource, cluster_done_fn done,
                            void *context);
bool cluster_serves_none(const struct error *err);
bool cluster_admission_sees_evictions(const json_t *list);

/* True when the server lacks the whole API group; known for the groups that come in several
   versions (served.c).  A missing version alone proves nothing: during an upgrade another replica
   of the API server may serve it. */
bool cluster_lacks_group(const struct error *err);

/* Adds condition DisruptionTarget to the pod's status, as eviction would have. */
void cluster_mark_pod(struct cluster *cluster, const struct pod_ref *pod, const char *message,
                      cluster_done_fn done, void *context);

/* What our conditions in a node's status say (KEP-5683).  The texts are borrowed for the call. */
struct node_conditions {
    const char *node;
    const char *uid;     /* so that a new node of the same name does not get these conditions */
    unsigned marks;      /* as in struct node: these become True, the others of ours False */
    const char *message; /* for people, the same in each */
};
void cluster_tell_node(struct cluster *cluster, const struct node_conditions *conditions,
                       cluster_done_fn done, void *context);

/* An event about an object, for `kubectl describe`.  The name makes a repeat an ERROR_CONFLICT. */
struct kube_event {
    const char *name;
    const char *kind;      /* "Node" or "Pod" */
    const char *namespace; /* of the object; "" for a node */
    const char *object;
    const char *uid;
    const char *reason;
    const char *message;
    bool is_warning;
};
void cluster_post_event(struct cluster *cluster, const struct kube_event *event,
                        cluster_done_fn done, void *context);

/* DELETE with UID precondition.  grace_s 0 removes the object at once: only after the machine is
   proven gone. */
void cluster_delete_pod(struct cluster *cluster, const struct pod_ref *pod, int64_t grace_s,
                        cluster_done_fn done, void *context);
void cluster_delete_node(struct cluster *cluster, const char *name, const char *uid,
                         cluster_done_fn done, void *context);

/* Direct reads, not from the watch: for decisions about irreversible effects. */
void cluster_read_node(struct cluster *cluster, const char *name, cluster_done_fn done,
                       void *context);
/* One page of at most 500 pods bound to the node, from a quorum read; body is the PodList. */
void cluster_read_pods(struct cluster *cluster, const char *node_name, const char *continue_token,
                       cluster_done_fn done, void *context);

/* One page of at most 500 VolumeAttachments of the whole cluster; body is the list.  Until one is
   gone its volume is not detached. */
void cluster_read_attachments(struct cluster *cluster, const char *continue_token,
                              cluster_done_fn done, void *context);

/* Reads any object or list by its path ("/apis/apps/v1/namespaces/a/deployments/b"), or merges a
   patch into it, written as FIELD_MANAGER.  If sluice knows several versions of the path's API
   group, the newest one that the server has, too, replaces the path's version. */
void cluster_read_at(struct cluster *cluster, const char *path, cluster_done_fn done,
                     void *context);
void cluster_patch_at(struct cluster *cluster, const char *path, const json_t *merge_patch,
                      cluster_done_fn done, void *context);

/* Whether an ERROR_THROTTLED of cluster_evict_pod() came from a disruption budget (and not from an
   overloaded server). */
bool cluster_is_budget(const struct error *err);
