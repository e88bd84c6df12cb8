/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A physical world to rehearse in: machines, clusters, jobs and traffic, behind strict fakes of
 * the real wire protocols (Kubernetes, Compute Engine).  The same fakes answer in process, as a
 * struct http on any loop, and behind real sockets.  A referee that knows nothing of the broker
 * watches every effect and keeps a list of broken promises.
 *
 *     struct simulator *simulator = simulator_new(loop, "sluice.yaml", "world.yaml", err);
 *     world.http = simulator_http(simulator);
 *
 * Everything is decided by the seed and by what is asked: the same run has the same trace hash.
 * The simulator owns all that it hands out; free it after the users of its struct http and before
 * the loop.
 */
#pragma once

#include "base/error.h"
#include "base/input/json.h"
#include "base/world/http.h"
#include "base/world/loop.h"
#include "base/world/ssh.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simulator;
struct referee;

/* Reads sluice.yaml and world.yaml and starts: machines and pods run, jobs are at work. */
struct simulator *simulator_new(struct loop *loop, const char *config_path, const char *world_path,
                                struct error *err) __attribute__((warn_unused_result));
void simulator_free(struct simulator *simulator);

/* The carrier in process: the host of a URL does not matter, its path does (/clusters/NAME/...,
   /gcp/...). */
struct http *simulator_http(struct simulator *simulator);

/* The machines that are reached over SSH (base/world/ssh.h): login nodes of Slurm, by
   `clusters.NAME.ssh_address`, and machines of one's own, whose address is their name.  The
   simulator owns it. */
struct ssh *simulator_ssh(struct simulator *simulator) __attribute__((returns_nonnull));

/* Serves the same on 127.0.0.1; needs loop_libevent. */
int simulator_listen(struct simulator *simulator, int port, int *ret_port, struct error *err)
    __attribute__((warn_unused_result));

/* The same over TLS, with a certificate that it makes and writes there; needs loop_libevent. */
struct simulator_tls {
    int port; /* 0: any */
    const char *certificate_path;
    const char *key_path;
};
int simulator_listen_tls(struct simulator *simulator, const struct simulator_tls *tls,
                         int *ret_port, struct error *err) __attribute__((warn_unused_result));

/* Where its API servers are. */
struct simulator_urls {
    const char *base_url; /* "https://127.0.0.1:8901" */
    const char *ca_pem;   /* NULL: plain http */
    bool has_admin;       /* FOLDER/admin.kubeconfig too, for kubectl: a context for each cluster */
};
int simulator_write_access(struct simulator *simulator, const char *folder,
                           const struct simulator_urls *urls, struct error *err)
    __attribute__((warn_unused_result));

/* FOLDER/NAME.kubeconfig for each cluster, and for each provider that is a management cluster. */
int simulator_write_kubeconfigs(struct simulator *simulator, const char *folder,
                                const char *base_url, struct error *err)
    __attribute__((warn_unused_result));

/* Machines per pool, waits per queue, GPU-hours, evictions, requests by verb, violations.  The
   caller owns it. */
json_t *simulator_report(struct simulator *simulator)
    __attribute__((returns_nonnull, warn_unused_result));

/* FNV-1a over all events so far. */
uint64_t simulator_trace_hash(const struct simulator *simulator);

/* The next request of that verb (NULL: any) meets the fault; for faults of the world (stockout,
   slow_boot, never_joins, no_gpus, one_gpu_less, gpus_flap, same_host, stuck_pod) the next machine
   or pod does.  Faults are those of world.yaml and empty_list, refused, http_403, denied.  Verbs:
   token, get_group, list_instances, delete_instances, create_instances, get_operation,
   get_instance, discover, list_machines, get_machine, mark_machine, get_machine_pool,
   scale_machines, list_checks, review_access, list_nodes, watch_nodes, get_node, patch_node,
   delete_node, list_pods, watch_pods, get_pod, mark_pod, evict_pod, delete_pod, get_scale,
   write_scale, get_deployment.  An unknown name aborts. */
void simulator_fault_next(struct simulator *simulator, const char *fault, const char *verb);

/* A list that is wrong for a time, in the words of world.yaml ("lies"). */
struct list_lie {
    const char *list; /* machines; nodes or pods, whose watches expire at both ends of the lie */
    const char *of;   /* the pool of the machines, the cluster of the nodes or pods */
    const char *kind; /* empty, half, some, new, old */
    int64_t age_ms;   /* of old */
    int64_t for_ms;
};

/* The list is wrong from now on.  Reads by name are correct.  An unknown word aborts. */
void simulator_lie(struct simulator *simulator, const struct list_lie *wanted);

/* From now on no byte passes to the API server of that cluster, nor back from it; NULL: they pass
   again.  Only for callers of simulator_http(). */
void simulator_cut_off(struct simulator *simulator, const char *cluster);

/* The referee's question whether the broker's journal holds a committed intent for an effect. verb,
   object: patch_node NODE; delete_node NODE; evict_pod, mark_pod, delete_pod NAMESPACE/NAME;
   delete_instance, create_instance INSTANCE; write_scale NAMESPACE/NAME; and one_transfer NODE:
   whether at most one live transfer has this node. */
typedef bool (*simulator_witness_fn)(void *context, const char *verb, const char *object);
void simulator_set_witness(struct simulator *simulator, simulator_witness_fn witness,
                           void *context);

/* Call when no transfer is live any more: the number of machines must be that of the start. */
void simulator_check_end(struct simulator *simulator);

/* What a client writes to the scale of a Deployment. */
struct scale_write {
    const char *cluster;
    const char *namespace;
    const char *name;
    int replicas;
    const char *manager; /* the client's field manager */
};

/* Other clients in a cluster: writes an object that is only stored (a ClusterQueue, an autoscaler)
   by its path; reads it (NULL: there is none); scales a Deployment. */
void simulator_put_object(struct simulator *simulator, const char *cluster, const char *path,
                          const json_t *object);
const json_t *simulator_object(struct simulator *simulator, const char *cluster, const char *path);
void simulator_set_replicas(struct simulator *simulator, const struct scale_write *write);
int simulator_replicas(struct simulator *simulator, const char *cluster, const char *namespace,
                       const char *name);

/* A person at the login node of a cluster of Slurm, which must be one: runs a command (scontrol,
   squeue, sinfo, scancel, sbatch), appends what it prints, and returns its exit status.  The
   referee does not watch it.  And its slurmctld, which stops, and starts again after that time. */
struct text;
int simulator_slurm_run(struct simulator *simulator, const char *cluster, const char *line,
                        struct text *out);
void simulator_slurm_restart(struct simulator *simulator, const char *cluster, int64_t for_ms);

/* Other writers at the cloud: sets the size of a pool; and its healer, which replaces a machine. */
void simulator_resize_pool(struct simulator *simulator, const char *pool, int wanted);
void simulator_heal(struct simulator *simulator, const char *pool, const char *machine);

/* Truths for tests and reports. */
int simulator_pool_running(const struct simulator *simulator, const char *pool);
int simulator_pool_target(const struct simulator *simulator, const char *pool);

struct violation {
    int64_t at_ms;         /* since the start */
    const char *invariant; /* "I4" */
    char *sentence;
};
const struct referee *simulator_referee(const struct simulator *simulator);
size_t referee_violation_count(const struct referee *referee);
const struct violation *referee_violation(const struct referee *referee, size_t at);

static inline void owned_simulator(struct simulator **simulator)
{
    simulator_free(*simulator);
}
