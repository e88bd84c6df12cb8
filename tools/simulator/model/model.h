/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The simulator's inside: the state of the physical world and of the control planes over it, and
 * the functions by which the parts touch each other.  Nothing outside this folder includes it.
 *
 * What has a future (a machine that boots, a pod that stops) is an actor: the agenda holds its
 * coming events.  It is freed after its last event; its `stamp` tells old events from new ones.
 */
#pragma once

#include "base/array.h"
#include "base/input/json.h"
#include "base/map.h"
#include "base/random.h"
#include "base/url.h"
#include "base/world/http.h"
#include "base/world/ssh.h"
#include "tools/simulator/model/referee.h"
#include "tools/simulator/model/scenario.h"
#include "tools/simulator/model/simulator.h"

#define SIM_GPU "nvidia.com/gpu"
#define SIM_STARTING "sluice.dev/starting"
#define SIM_NOT_READY "node.kubernetes.io/not-ready"
#define SIM_UNREACHABLE "node.kubernetes.io/unreachable"
#define SIM_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define SIM_UNSCHEDULABLE "node.kubernetes.io/unschedulable"
#define SIM_DAEMON "gpu-device-plugin"
#define SIM_DAEMON_UID "d0d0d0d0-0000-4000-8000-000000000001"

enum { SIM_NAME_SIZE = 128, SIM_UID_SIZE = 40, SIM_HISTORY = 20000, SIM_PAGE_MAX = 500 };

struct actor {
    int pending; /* events on the agenda */
    bool is_gone;
    void (*free)(struct actor *actor);
};

typedef void (*sim_event_fn)(struct simulator *sim, struct actor *actor, uint64_t stamp);

/* agenda.c */
struct agenda;
struct agenda *sim_agenda_new(struct simulator *sim) __attribute__((returns_nonnull));
void sim_agenda_free(struct agenda *agenda);
void sim_after(struct simulator *sim, int64_t delay_ms, sim_event_fn fn, struct actor *actor,
               uint64_t stamp);
void sim_actor_end(struct actor *actor); /* frees it now or after its last event */

/* One version of an object as JSON text, shared by lists and by the history. */
struct blob {
    int references;
    size_t size;
    char chars[];
};

enum change_type { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };
enum object_kind { OBJECT_NODE, OBJECT_POD, OBJECT_BUDGET, OBJECT_SLICE, OBJECT_CLAIM, OBJECTS };

struct change {
    uint64_t version;
    int64_t at_ms;
    enum object_kind kind;
    enum change_type type;
    bool is_binding; /* a pod was bound to its node: ADDED for watchers of that node */
    char name[SIM_NAME_SIZE];
    char node_name[SIM_NAME_SIZE];
    struct blob *blob;
};

struct kube_cluster {
    const struct scenario_cluster *plan;
    size_t index;
    uint64_t version;
    struct map *nodes;                /* name -> struct kube_node */
    struct map *pods;                 /* "namespace/name" -> struct kube_pod */
    ARRAY(struct kube_pod *) waiting; /* not bound yet, oldest first */
    ARRAY(struct deployment *) deployments;
    ARRAY(struct kube_budget *) budgets;
    struct ctld *slurm;           /* plays Slurm instead of Kubernetes; see slurm.h */
    struct sim_devices *devices;  /* of a driver; NULL: device plugins; see kube_devices.h */
    struct map *attachments;      /* name -> JSON: what the attach controller has not undone */
    struct map *claims;           /* of volumes: namespace/name -> JSON */
    struct map *namespaces;       /* name -> struct kube_namespace, of those that a client posted */
    struct map *rules;            /* of webhooks and policies: name -> the configuration's object */
    struct map *objects;          /* path -> JSON of objects that are only stored */
    struct client_memory *memory; /* of other clients' requests; NULL: none yet */
    ARRAY(struct change) history;
    uint64_t history_floor; /* versions up to this cannot be watched from */
    ARRAY(struct kube_watch *) watches;
    bool is_scheduling, is_reviewing; /* a pass is on the agenda: of pods, of gangs */
    int64_t bad_list_ms[OBJECTS];     /* as of struct pool */
};

struct kube_namespace {
    struct actor actor;
    bool is_terminating;
    char name[SIM_NAME_SIZE];
};

/* A PodDisruptionBudget; its status is as recent as the pods that it counts. */
struct kube_budget {
    struct actor actor;
    struct kube_cluster *cluster;
    char namespace[SIM_NAME_SIZE];
    char name[SIM_NAME_SIZE];
    char uid[SIM_UID_SIZE];
    json_t *labels; /* that a pod must carry */
    int min_available;
    bool allows_unready; /* unhealthyPodEvictionPolicy: AlwaysAllow */
    bool is_observed;    /* the controller has seen this generation */
    int expected;        /* pods that it selects */
    int healthy;         /* of them ready, and not leaving */
    uint64_t version;
    struct blob *blob;
};

enum readiness { NODE_NOT_READY, NODE_READY, NODE_UNREACHABLE };

struct kube_node {
    struct actor actor;
    struct kube_cluster *cluster;
    struct pool *pool;       /* NULL: a client posted it */
    struct machine *machine; /* NULL once the machine is gone, or never was */
    char name[SIM_NAME_SIZE];
    char uid[SIM_UID_SIZE];
    char *provider_id;
    uint64_t version;
    uint64_t stamp;
    json_t *finalizers;  /* NULL: none */
    int64_t deletion_ms; /* loop time; 0: is not leaving */
    json_t *labels, *annotations, *taints;
    json_t *conditions, *managed; /* others' conditions; managedFields; NULL: none */
    bool is_unschedulable;
    bool is_open;  /* the scheduler may use it */
    bool is_alive; /* its kubelet runs */
    bool is_static;
    enum readiness readiness;
    int gpus; /* allocatable; 0: absent */
    int gpus_used;
    int gpus_counted; /* offered to research, as accounted */
    int64_t created_ms;
    int64_t ready_changed_ms;
    int64_t cordoned_ms; /* since the start; -1: is not */
    int daring_told;     /* pods that tolerate all, told to leave since then */
    ARRAY(struct kube_pod *) pods;
    struct blob *blob;
};

enum pod_state { POD_IS_PENDING, POD_IS_RUNNING, POD_IS_SUCCEEDED, POD_IS_FAILED };

struct kube_pod {
    struct actor actor;
    struct kube_cluster *cluster;
    const char *namespace;
    char name[254]; /* a server that is not ours may have longer ones than we make */
    char uid[SIM_UID_SIZE];
    uint64_t version;
    uint64_t stamp;
    struct kube_node *node; /* NULL: not bound, or the Node object is gone */
    char node_name[SIM_NAME_SIZE];
    struct job *job;
    struct deployment *deployment;
    struct ctld_node *slurm_node; /* its slurmd; NULL: it runs none */
    json_t *written;              /* as a client posted it; none of the three: a DaemonSet's */
    enum pod_state state;
    bool is_ready;   /* as the API says */
    bool is_serving; /* as it is */
    bool is_stuck;
    bool is_forced; /* a raw DELETE asked for it */
    bool has_finalizer;
    bool has_claim;    /* of a persistent volume */
    bool is_ephemeral; /* the claim is made for this pod alone */
    int gpus;
    int64_t grace_s; /* of its spec */
    int64_t created_ms, started_ms;
    int64_t deletion_ms; /* end of its grace, loop time; 0: is not leaving */
    int64_t deletion_grace_s;
    int64_t work_ms;              /* of a Job: what is left to do once it runs */
    int64_t stop_ms;              /* when its process ends; 0: not told to */
    json_t *conditions;           /* written by others; NULL: none */
    json_t *labels, *annotations; /* of a pod that no client posted, as a client patched them */
    struct blob *blob;
};

struct job {
    char name[32];
    char uid[SIM_UID_SIZE];
    const char *team;
    int gpus;
    int64_t duration_ms;
    int attempts;
};

enum machine_state {
    MACHINE_QUEUED,  /* asked for; no VM yet */
    MACHINE_BOOTING, /* the VM exists */
    MACHINE_RUNNING,
    MACHINE_STOPPING, /* told to go; still takes its slot when it had one */
};

/* Why the last attempt to make a machine failed.  Each cloud has its own words for it. */
enum trouble { TROUBLE_NONE, TROUBLE_STOCKOUT, TROUBLE_RESERVATION_FULL, TROUBLE_QUOTA };

struct machine {
    struct actor actor;
    struct pool *pool;
    enum machine_state state;
    char name[SIM_NAME_SIZE];
    char node_name[SIM_NAME_SIZE]; /* of its Node */
    char id[24];                   /* "" until the VM exists */
    uint64_t stamp;
    int host; /* of the reservation's, while it has a slot */
    bool has_slot;
    bool is_static;
    bool never_joins, no_gpus;
    bool lacks_gpu;  /* one of them */
    bool flaps;      /* its GPUs go once more after they came */
    bool is_exposed; /* to scale-in, of a cloud that can protect machines from it */
    enum trouble trouble;
    int64_t tried_ms; /* the last attempt; 0: none yet */
    struct kube_node *node;
    struct ctld_node *slurm_node; /* in a cluster of Slurm, instead of the other */
    int64_t created_ms;
};

struct pool {
    const struct scenario_pool *plan;
    const struct sim_cloud *cloud;
    struct reservation *reservation;
    struct kube_cluster *cluster;
    ARRAY(struct machine *) machines;
    int target;
    uint64_t version;        /* changes with each change of the pool or its machines */
    const char *accelerator; /* of new machines, instead of whole GPUs; NULL: whole ones */
    int64_t bad_list_ms;     /* a failed or empty list was answered, and no good one since; 0: no */
};

struct reservation {
    const struct scenario_reservation *plan;
    int slots_used;
    ARRAY(int) free_hosts; /* the one that is free longest first; a few more than slots */
    int target_start;      /* sum of the pools' sizes at the start */
};

struct operation;
struct traffic;
struct socket_server;
struct carrier;

struct scripted_fault {
    enum fault fault;
    char verb[24]; /* "": any */
};

struct simulator {
    struct loop *loop;
    struct scenario *scenario;
    struct agenda *agenda;
    struct referee *referee;
    struct carrier *carrier;
    struct ssh *ssh;
    struct socket_server *socket;
    struct traffic *traffic;
    struct lies *lies;
    int64_t start_ms;
    int64_t wall_offset_ms; /* wall clock minus loop clock */
    uint64_t trace;
    struct actor actor;
    bool is_started;      /* the world of the start is made */
    bool is_other_client; /* the request under way is not sluice's: no fault, no referee */
    struct random faults, latency, machine_chance, pod_chance, job_chance, names;
    ARRAY(struct scripted_fault) scripted;
    const char *retry_after; /* of a 429; NULL: "1" */
    simulator_witness_fn witness;
    void *witness_context;
    struct kube_cluster *clusters;
    size_t cluster_count;
    struct reservation *reservations;
    size_t reservation_count;
    struct pool *pools;
    size_t pool_count;
    ARRAY(struct job *) jobs; /* waiting, in order */
    uint64_t job_count;
    struct map *operations;  /* name -> struct operation, or what else a cloud keeps in a block */
    struct map *request_ids; /* requestId -> struct operation, borrowed */
    struct map *tokens;      /* token -> struct token */
    struct crypto_key *oci_key; /* that checked the last signature of Oracle Cloud */
    uint64_t operation_count, token_count;
    struct map *verbs; /* verb -> uint64_t *, how often it was asked */
    int64_t accounted_ms;
    int research_gpus, research_gpus_used;
    double offered_gpu_s, used_gpu_s, lost_gpu_s;
    uint64_t jobs_done, jobs_evicted;
    uint64_t evictions, forced_deletes, machines_created, machines_deleted, stockouts_met;
};

/* model.c */
int64_t sim_now(const struct simulator *sim); /* the loop's clock */
int64_t sim_since_start(const struct simulator *sim);
void sim_trace(struct simulator *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t sim_draw(struct random *random, const struct range *range);
void sim_uuid(struct simulator *sim, char out[SIM_UID_SIZE]);
const char *sim_time(const struct simulator *sim, int64_t loop_ms, char out[WALL_TEXT_SIZE]);
bool sim_witness(struct simulator *sim, const char *verb, const char *object);
void sim_account(struct simulator *sim); /* before the research counters change */
struct kube_cluster *sim_cluster(struct simulator *sim, const char *name);
/* faults.c */
bool sim_fault_now(struct simulator *sim, enum fault fault, const char *verb);
bool sim_fault_scripted(struct simulator *sim, enum fault fault, const char *verb);

/* machine.c */
struct machine *sim_machine_new(struct simulator *sim, struct pool *pool, const char *name);
void sim_machine_start(struct simulator *sim, struct machine *machine);
void sim_machine_remove(struct simulator *sim, struct machine *machine);
void sim_machine_recreate(struct simulator *sim, struct machine *machine); /* as a healer does */
void sim_machine_free(struct actor *actor);
struct machine *sim_machine_find(const struct pool *pool, const char *name);
/* One machine more, which the cloud names. */
struct machine *sim_pool_grow(struct simulator *sim, struct pool *pool);
/* One less: one that was asked for and does not exist yet; otherwise the youngest, whatever runs on
   it, as clouds do that are told a number only. */
void sim_pool_shrink(struct simulator *sim, struct pool *pool);

/* node.c: what kubelet, node controller and cloud controller do to Nodes */
struct kube_node *sim_node_register(struct simulator *sim, struct machine *machine, bool is_new);
void sim_node_ready(struct simulator *sim, struct kube_node *node);
void sim_node_machine_dies(struct simulator *sim, struct kube_node *node);
void sim_node_delete(struct simulator *sim, struct kube_node *node);
bool sim_node_leave(struct simulator *sim, struct kube_node *node);  /* false: a finalizer has it */
void sim_node_review(struct simulator *sim, struct kube_node *node); /* after any change */
bool sim_node_has_taint(const struct kube_node *node, const char *key);
void sim_node_post(struct simulator *sim, struct kube_cluster *cluster, const json_t *object);
void sim_node_set_ready(struct simulator *sim, struct kube_node *node, const char *status);
void sim_node_free(struct actor *actor);

/* kubelet.c: the life of a pod */
struct kube_pod *sim_pod_new(struct simulator *sim, struct kube_cluster *cluster,
                             const char *namespace, const char *name);
void sim_pod_bind(struct simulator *sim, struct kube_pod *pod, struct kube_node *node);
void sim_pod_run(struct simulator *sim, struct kube_pod *pod);
void sim_pod_finish(struct simulator *sim, struct kube_pod *pod, enum pod_state state);
/* grace_s < 0: the pod's own */
void sim_pod_terminate(struct simulator *sim, struct kube_pod *pod, int64_t grace_s);
void sim_pod_remove(struct simulator *sim, struct kube_pod *pod);
void sim_pod_set_serving(struct simulator *sim, struct kube_pod *pod, bool is_serving);
bool sim_pod_must_leave(const struct kube_pod *pod);
bool sim_pod_tolerates_all(const struct kube_pod *pod);
bool sim_pod_is_over(const struct kube_pod *pod); /* succeeded or failed */
const char *sim_pod_label(const struct kube_pod *pod, const char *key);
void sim_pod_free(struct actor *actor);

/* scheduler.c, deployments.c, jobs.c */
void sim_schedule_soon(struct simulator *sim, struct kube_cluster *cluster);
void sim_schedule_now(struct simulator *sim, struct kube_cluster *cluster);
void sim_daemon_start(struct simulator *sim, struct kube_node *node);
void sim_jobs_new(struct simulator *sim);
void sim_jobs_place(struct simulator *sim, struct kube_cluster *cluster);
void sim_job_pod_gone(struct simulator *sim, struct kube_pod *pod);
struct kube_node *sim_scheduler_pick(const struct kube_cluster *cluster, int gpus);

/* traffic.c */
struct traffic *sim_traffic_new(struct simulator *sim, struct error *err);
void sim_traffic_free(struct traffic *traffic);
void sim_traffic_servers(struct simulator *sim, size_t queue, int change);
json_t *sim_traffic_report(struct simulator *sim);

/* kube_objects.c */
struct blob *sim_encode_node(const struct simulator *sim, const struct kube_node *node);
struct blob *sim_encode_pod(const struct simulator *sim, const struct kube_pod *pod);
struct blob *sim_blob_of(json_t *object); /* takes the object */
void sim_blob_drop(struct blob *blob);
void sim_node_changed(struct simulator *sim, struct kube_node *node, enum change_type type);
void sim_pod_changed(struct simulator *sim, struct kube_pod *pod, enum change_type type);

/* Requests and answers, the same for both carriers. */
struct sim_request {
    enum http_method method;
    const char *target, *unix_socket; /* the latter: through which it came; NULL: TCP */
    const struct http_header *headers;
    size_t header_count;
    const char *body;
    size_t body_size;
};

struct watch_query {
    struct kube_cluster *cluster; /* NULL: the answer is no watch */
    enum object_kind kind;
    char name[SIM_NAME_SIZE];      /* "": any */
    char node_name[SIM_NAME_SIZE]; /* "": any */
    uint64_t version;
    bool wants_bookmarks;
    bool has_gap;
    int64_t timeout_ms;
    struct follow *follow; /* of another client's watch, which takes it; NULL: sluice's */
};

struct sim_answer {
    int status;
    struct text *body;
    const char *content_type;
    struct http_header headers[4];
    size_t header_count;
    char date[32], own_header[64]; /* what the header Date, and a cloud's own, point to */
    struct watch_query watch;
    int64_t delay_ms; /* the answer takes so much longer */
    bool is_lost;     /* the effect took place, the answer gets lost */
    bool is_refused;
};

void sim_answer_clear(struct sim_answer *answer);
void sim_answer_request(struct simulator *sim, const struct sim_request *request,
                        struct sim_answer *answer);
void sim_answer_json(struct sim_answer *answer, int status, json_t *body); /* takes body */

/* A request taken apart. */
struct sim_call {
    struct simulator *sim;
    const struct sim_request *request;
    struct url_segments *path;
    struct sim_answer *answer;
    struct kube_cluster *cluster;
    const struct sim_cloud *cloud; /* NULL: it is not for a cloud */
    const char *verb;
};
void sim_count_verb(struct simulator *sim, const char *verb);
bool sim_call_fault(struct sim_call *call); /* true: answered (or lost before the effect) */

/* kube_api.c, kube_write.c, kube_scale.c */
void sim_kube_answer(struct sim_call *call, size_t at);
void sim_kube_status(struct sim_answer *answer, int code, const char *reason, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));
bool sim_kube_query_is_known(struct sim_call *call, const char *const *known, size_t count);
void sim_kube_patch_node(struct sim_call *call, const char *name);
void sim_kube_delete_node(struct sim_call *call, const char *name);
void sim_kube_mark_pod(struct sim_call *call, struct kube_pod *pod);
void sim_kube_evict_pod(struct sim_call *call, struct kube_pod *pod);
void sim_kube_delete_pod(struct sim_call *call, struct kube_pod *pod);

bool sim_kube_custom(struct sim_call *call, size_t at);
void sim_free_json(void *json);
void sim_custom_put(struct simulator *sim, struct kube_cluster *cluster, const char *path,
                    const json_t *object);
json_t *sim_managed_fields(const struct simulator *sim, const char *manager, int64_t at_ms,
                           const json_t *patch);
json_t *sim_kube_body(struct sim_call *call);                        /* NULL: answered 400 */
bool sim_kube_is_content(struct sim_call *call, const char *wanted); /* false: answered 415 */
void sim_kube_not_found(struct sim_call *call, const char *what, const char *name);
void sim_kube_answer_blob(struct sim_call *call, int code, const struct blob *blob);
/* Whether the UID is the wanted one (NULL: any). sim_kube_uid_is() is for preconditions,
   sim_kube_uid_stays() for patches. */
bool sim_kube_uid_is(struct sim_call *call, const char *kind, const char *name, const char *uid,
                     const char *wanted);
bool sim_kube_uid_stays(struct sim_call *call, const char *kind, const char *name, const char *uid,
                        const char *wanted);

/* kube_create.c: what people and other controllers post */
void sim_kube_patch_pod(struct sim_call *call, struct kube_pod *pod);
void sim_kube_patch_node_status(struct sim_call *call, struct kube_node *node);

/* kube_admission.c: false: answered */
bool sim_namespace_admits(struct sim_call *call, const char *namespace, const char *pod);
bool sim_rules_admit(struct sim_call *call, const char *namespace, const char *pod);
void sim_rule_free(void *rule);
/* kube_budgets.c */
void sim_budgets_new(struct simulator *sim, struct kube_cluster *cluster);
bool sim_budgets_allow(struct sim_call *call, const struct kube_pod *pod); /* false: answered */
void sim_budgets_review(struct simulator *sim, struct kube_pod *pod); /* after any change of it */
void sim_budgets_clear(struct kube_cluster *cluster);

/* kube_discovery.c; false: another path */
bool sim_kube_discover(struct sim_call *call, size_t at);

/* kube_list.c; namespace NULL: all; a watch of one namespace is not known. */
void sim_kube_list(struct sim_call *call, enum object_kind kind, const char *namespace);

/* kube_watch.c */
const char *sim_kind_name(enum object_kind kind); /* "Node" */
const char *sim_list_verb(enum object_kind kind);
const char *sim_watch_verb(enum object_kind kind);
typedef void (*sim_frames_fn)(void *context, const char *bytes, size_t size);
typedef void (*sim_watch_end_fn)(void *context);
struct kube_watch;
struct kube_watch *sim_watch_open(struct simulator *sim, const struct watch_query *query,
                                  sim_frames_fn send, sim_watch_end_fn end, void *context);
void sim_watch_close(struct kube_watch *watch); /* without calling `end` */
void sim_history_add(struct simulator *sim, struct kube_cluster *cluster,
                     const struct change *change);
void sim_history_clear(struct kube_cluster *cluster);

/* plain_api.c, own/ssh_machines.c */
void sim_plain_answer(struct sim_call *call, size_t at);
void sim_own_play(struct simulator *sim, const struct ssh_host *host,
                  const struct ssh_request *request, struct ssh_play *play);

/* carrier.c, socket.c */
struct carrier *sim_carrier_new(struct simulator *sim) __attribute__((returns_nonnull));
void sim_carrier_free(struct carrier *carrier);
void sim_socket_free(struct socket_server *socket);
