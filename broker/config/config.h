/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice.yaml: what there is (clusters, reservations, pools), what it serves (queues, workloads),
 * when (windows), and how to behave (notice, drain, guard).  Read whole and checked whole; nothing
 * is used of a file that has a mistake in it.
 */
#pragma once

#include "base/error.h"
#include "base/input/settings.h"
#include "broker/access/access.h"
#include "clusters/accelerators.h"
#include "providers/common/provider.h"
#include "windows/calendar/window.h"
#include "windows/demand/demand.h"
#include "windows/queueing/replay.h"
#include "windows/servers/engine_table.h"
#include "windows/servers/service_shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster_kind;

enum cluster_role { ROLE_PRODUCTION, ROLE_RESEARCH };

/* The members that only the entry's kind knows. */
struct config_own {
    const struct settings_kind *kind;
    void *settings; /* owned */
};

struct config_cluster {
    char *name;
    char *kind_name;
    struct config_own own; /* only the kind knows its struct */
    const struct cluster_kind *kind;
    char *role_name;
    enum cluster_role role;
    int64_t weight; /* research: share of what production leaves */
    char *slurm_name;
    const struct config_cluster *slurm; /* some of its pods are nodes of that cluster; NULL: none */
};

struct config_reservation {
    char *name;
    char *machine; /* type, as schedules call it */
    char *region;
    char *zone;
    int64_t gpus_per_node;
    int64_t nodes;
    char *ends_text;       /* NULL: it does not end */
    struct wall_time ends; /* from then on its machines are gone; 0: never */
    double price;          /* of a GPU for an hour; 0: not known */
    char *price_currency;  /* NULL: no price */
    char *price_basis;     /* as people say it: "3y commitment"; NULL: not told */
    char *price_date;      /* since when, as people say it; NULL: not told */
    size_t zone_index;     /* of `zone` among the zones of its machine and region, sorted by name */
};

struct config_provider {
    char *name;
    char *kind_name;
    struct config_own own; /* a struct provider_account */
    const struct provider_kind *kind;
};

struct config_pool {
    char *name;
    char *cluster_name;
    char *reservation_name;
    char *provider_name;
    struct config_own own; /* a struct pool_address */
    int64_t static_nodes;  /* nodes of this pool that are not movable: the floor */
    int64_t node_max;      /* the pool never grows over this; 0: the reservation's size */
    int64_t group; /* nodes that serve only together, at least 1: as many as the cluster's largest
                      replicas take (place_group()) */
    const struct config_cluster *cluster;
    const struct config_reservation *reservation;
    const struct config_provider *provider;
};

/* Where recorded arrivals are asked for. */
struct config_source {
    char *name;
    char *kind_name;
    struct config_own own; /* a struct source_settings */
    char *missing;
    int64_t settle_ms;
};

/* The replica of a queue that serves many requests at once (windows/servers/engine.h). */
struct config_engine {
    int64_t slots;
    double iteration_s; /* with per_request_s 0: the short form, the times are the queue's */
    double per_request_s;
    double prefill_s;
    double tokens_in; /* means of a request */
    double tokens_out;
    double tokens_cv;  /* of tokens_out */
    bool has_cv;       /* it is given, and not the default */
    char *tokens_law;  /* NULL: the one that tokens_cv stands for */
    char *tokens_file; /* absolute path of measured lengths; NULL: none */
    int64_t kv_tokens; /* 0: the slots alone limit */
    char *router_name;
    char *metrics;             /* what its source calls it; NULL: nothing */
    struct token_pairs *pairs; /* owned: lengths of a demand's rows, config_take_lengths(); NULL */
    double scale_in; /* of measured lengths; not 1 only in supposed engines (config_suppose()) */
    double scale_out;
};

struct config_queue {
    char *name;
    char *source_name;   /* NULL: its arrivals come from files only */
    char *arrivals;      /* their name in the source; NULL: by priority, or no source */
    char *arrivals_high; /* both or neither */
    char *arrivals_low;
    const struct config_source *source;
    int64_t wait_target_ms;
    double percentile;      /* 98 */
    double ttft_target_s;   /* until the first token; 0: none */
    double ttft_percentile; /* 0: as `percentile` */
    double itl_target_s;    /* mean time of each later token; 0: none */
    double itl_percentile;
    char *slo;                           /* "pooled" or "each-day" */
    int64_t service_ms;                  /* mean time that one worker takes for one request */
    double service_cv;                   /* standard deviation over mean; 1: exponential */
    char *service_law;                   /* NULL: the one that service_cv stands for */
    char *service_file;                  /* absolute path of measured times; NULL: none */
    char *service_histogram;             /* what its source calls its times; NULL: nothing */
    int64_t service_max_ms;              /* what no request takes longer than; 0: not known */
    struct service_shape *service;       /* owned; its mean and cv are those above; NULL: its engine
                                            waits for lengths (config_take_lengths()) */
    const struct yaml_node *engine_node; /* NULL: one request at a time */
    struct config_engine engine;
    bool is_supposed; /* they are not those of the file (config_suppose()) */
    double scale_up;  /* arrivals are multiplied by this before sizing */
};

struct config_headroom { /* what queues survive within twice their targets */
    bool node;           /* the loss of the worst node */
    bool zone;           /* the loss of the worst zone */
};

struct config_workload {
    char *name; /* of the Deployment too */
    char *queue_name;
    char *namespace;
    int64_t gpus;     /* per replica */
    char *kind_name;  /* "deployment", "leaderworkerset" */
    char *keeps_name; /* "replicas", "hpa", "keda" */
    enum config_keeps { KEEPS_REPLICAS, KEEPS_HPA, KEEPS_KEDA } keeps;
    bool is_leader_worker_set;
    char *autoscaler; /* of keeps hpa and keda; NULL: named as the workload */
    const struct yaml_node *headroom_node;
    struct config_headroom headroom; /* keys that it does not give are those of the top level */
    const struct yaml_node *clusters_node;
    const struct config_queue *queue;
    struct config_share {
        const struct config_cluster *cluster;
        int64_t weight;
        int64_t replica_min;
    } * shares; /* one per production cluster that runs it */
    size_t share_count;
};

/* A quota of a Kueue ClusterQueue that follows the cluster's movable nodes. */
struct config_quota {
    char *name;
    char *cluster_name;
    char *cluster_queue;
    char *flavor;
    char *resource;
    char *pool_name; /* NULL: the nodes of all pools count */
    int64_t fixed_gpus;
    bool is_reserved; /* not written: it must fit the cluster's static nodes */
    const struct config_cluster *cluster;
    const struct config_pool *pool;
};

struct config_drain {
    int64_t notice_ms;   /* between the announcement and the cordon */
    int64_t deadline_ms; /* from the cordon until the last pod is forced */
    int64_t settle_ms;   /* after the cordon, before the node may count as empty */
    char *gangs_name;    /* "suspend", "evict" */
    bool suspends_gangs; /* through their owners, before their first pod is evicted */
};

struct config_guard {
    int64_t in_flight;             /* transfers at once, in all */
    int64_t in_flight_per_cluster; /* of those that leave one cluster */
    int64_t fresh_ms;              /* older knowledge frees no node */
    int64_t attempts;              /* at creating the machine, before it is given back */
    int64_t breaker;               /* failed attempts in a row that close a pool; 0: none do */
    int64_t breaker_pause_ms;      /* how long it stays closed */
    bool canary;                   /* moves to a pool begin with one node, and double */
    int64_t approval_nodes;        /* from so many on an act needs a second person; 0: never */
    int64_t approval_wait_ms;      /* how long it waits for that person */
};

/* When a new machine may serve, and the limits for one that never may.  Lists are texts with commas
   between their items; NULL: none. */
struct config_join {
    int64_t deadline_ms;   /* from the machine's start until its Node may serve */
    int64_t stable_ms;     /* all must hold for so long */
    char *startup_taints;  /* keys of others' taints that must be gone */
    char *labels;          /* keys that its Node must carry */
    char *daemons;         /* NAMESPACE/NAME of DaemonSets whose pod must be Ready on it */
    int64_t quarantine_ms; /* how long a host is not used again; 0: hosts are not remembered */
};

struct config_victims {
    char *checkpoint; /* the pods' annotation with the time of the last checkpoint */
    char *team;       /* the pods' label that names their team; NULL: the namespace */
    char *blocks;     /* the nodes' labels that name a topology block, separated by commas */
    double block_hours;
    double fairness;
    char *classes; /* PriorityClasses whose pods are protected, separated by commas; NULL: none */
    int64_t priority; /* pods of at least this priority are protected; 0: none */
};

struct config_lead {
    int64_t prior_p50_ms; /* believed until the journal has enough transfers to learn from */
    int64_t prior_p95_ms;
};

struct config_traces {
    char *endpoint; /* URL of a collector of OpenTelemetry; NULL: no traces */
};

enum webhook_topic {
    WEBHOOK_DEPARTURES,
    WEBHOOK_LATE,
    WEBHOOK_RECLAIMS,
    WEBHOOK_HEALTH,
    WEBHOOK_TOPICS,
};
enum webhook_form { WEBHOOK_CLOUDEVENTS, WEBHOOK_SLACK, WEBHOOK_FORMS };

/* A receiver of messages. */
struct config_webhook {
    char *name;
    char *form_name;
    enum webhook_form form;
    char *topics_text;
    bool wants[WEBHOOK_TOPICS];
    char *url;         /* NULL: it is in url_file */
    char *url_file;    /* paths, absolute; NULL: none */
    char *secret_file; /* NULL: nothing is signed */
    char *source;
};

/* Where commands ask the service; not of the file. */
struct config_remote {
    char *url;    /* https://HOST:PORT; NULL: its socket */
    char *ca_pem; /* texts; NULL: none */
    char *certificate_pem;
    char *key_pem;
    char *authorization; /* the header's value */
};

struct config_listen {
    char *address;     /* NULL: no TLS */
    char *certificate; /* paths, absolute */
    char *key;
    char *client_ca;  /* NULL: no client certificates */
    char *client_crl; /* NULL: no revocation lists are read */
};

struct config {
    char *path;
    struct yaml_document *document;
    struct window_set *windows;
    char *time_zone;
    char *schedules;       /* folder, absolute */
    char *journal;         /* path, absolute; ":memory:" is kept */
    char *socket;          /* path, absolute */
    char *socket_group;    /* by name or number; NULL: that of the process */
    char *ephemeral_label; /* "key=value": only nodes that carry it are ever moved */
    int64_t poll_ms;       /* how often pools are listed */
    int64_t metrics_port;  /* on loopback; 0: none */
    int64_t repack_nodes;  /* spare nodes a cluster, for pods that do not pack perfectly */
    struct config_drain drain;
    struct config_guard guard;
    struct config_lead lead;
    struct config_join join;
    struct config_traces traces;
    struct config_victims victims;
    struct config_headroom headroom; /* of all workloads */
    struct accelerators accelerators;
    struct config_cluster *clusters;
    size_t cluster_count;
    struct config_reservation *reservations;
    size_t reservation_count;
    struct config_provider *providers;
    size_t provider_count;
    struct config_pool *pools;
    size_t pool_count;
    struct config_source *sources;
    size_t source_count; /* may be 0 */
    struct config_queue *queues;
    size_t queue_count;
    struct config_workload *workloads;
    size_t workload_count;
    struct config_quota *quotas;
    size_t quota_count; /* may be 0 */
    struct config_webhook *webhooks;
    size_t webhook_count; /* may be 0 */
    struct config_listen listen;
    struct config_remote remote;
    struct access_tokens tokens;
    struct access_rule *access;
    size_t access_count; /* may be 0 */
};

/* As they are written in the file. */
const char *webhook_topic_name(enum webhook_topic topic)
    __attribute__((returns_nonnull, warn_unused_result));
const char *webhook_form_name(enum webhook_form form)
    __attribute__((returns_nonnull, warn_unused_result));

/* Reads and checks the file.  Paths in it are relative to its folder. */
struct config *config_read(const char *path, struct error *err) __attribute__((warn_unused_result));
void config_free(struct config *config);

/* Whether the reservation's machines are there at that time, as far as the file says. */
bool config_reservation_lasts(const struct config_reservation *reservation, struct wall_time until);

/* A text that identifies a pool at its provider: equal texts mean the same pool.  The caller frees
   it. */
char *config_place_of_pool(const struct config_pool *pool)
    __attribute__((returns_nonnull, warn_unused_result));

/* A file that the provider's settings name; NULL: they name none. */
const char *config_provider_file(const struct config_provider *provider);

/* The key of the first path that the cluster's kind needs for access ("kubeconfig"), and its
   value.  NULL: the kind has none. */
const char *config_cluster_access(const struct config_cluster *cluster, const char **ret_key);

/* Checks who may change the files of a configuration.  ERROR_DENIED when other users may change the
   file itself, because it names programs that are run, and servers to which credentials are sent.
   Calls `warn` (NULL: none) for each file that a group may change, and for a journal that others
   may change.  Other files that others may change (kubeconfigs, plugins, keys) are refused when
   they are read. */
typedef void (*config_warn_fn)(void *context, const char *path, const char *text);
int config_check_files(const struct config *config, config_warn_fn warn, void *context,
                       struct error *err) __attribute__((warn_unused_result));

/* The configuration of a command that has no file and asks a service elsewhere: only `remote` has
   anything, which the caller sets, and `windows` and `path` are NULL. */
struct config *config_remote_only(void) __attribute__((returns_nonnull, warn_unused_result));

/* Where the file is: the option, else $SLUICE_CONFIG, else ./sluice.yaml upward to the root of the
   git checkout, else $XDG_CONFIG_HOME/sluice/config.yaml (~/.config when unset), else
   /etc/sluice/config.yaml.  The caller frees it; ERROR_NOT_FOUND lists where was looked. */
char *config_find(const char *option, struct error *err) __attribute__((warn_unused_result));

/* Replaces the queue's service times; the slots of its engine stay.  Takes the shape, which must
   not be that of another engine. */
void config_set_service(struct config_queue *queue, struct service_shape *shape);

/* Replaces the law and the mean lengths of the queue's engine; slots, cache, router and a file of
   lengths stay.  ERROR_INVALID when a target is below the engine's floor. */
int config_set_engine(struct config *config, size_t queue, const struct engine_measure *measure,
                      const char *origin, struct error *err) __attribute__((warn_unused_result));

/* Engines without lengths in their blocks get those of the demand's rows: pairs of a prompt and its
   answer.  All others keep theirs.  ERROR_INVALID for a queue of the demand whose engine then still
   has none.  A queue that is not in the demand stays as it is. */
int config_take_lengths(struct config *config, const struct demand *demand, struct error *err)
    __attribute__((warn_unused_result));

/* Whether the queue's engine knows its iterations but not yet the lengths of its requests; a demand
   or a measurement may give them.  Its service is NULL until then. */
bool config_engine_lacks_lengths(const struct config_queue *queue);

/* Seconds of an iteration with one request, for an engine whose iterations are known. */
double config_engine_alone_s(const struct config_queue *queue);

/* Plans with other engines.  "chat.slots=128" sets a key of the block in sluice.yaml,
   "chat.tokens_out=x1.5" multiplies it, "chat.times=x0.6" multiplies all its times, as another GPU
   would.  All keys are set before they are checked together.  Call after config_set_service().
   ERROR_INVALID names the text that cannot be applied; the configuration must not be used then. */
int config_suppose(struct config *config, const char *const *texts, size_t count, struct error *err)
    __attribute__((warn_unused_result));

/* The targets of the queue's replicas.  A percentile of 0 means the queue's own. */
struct replay_target config_target(const struct config_queue *queue, double percentile);

const struct config_cluster *config_cluster(const struct config *config, const char *name);
/* Sets ERROR_INVALID: "there is no cluster x in sluice.yaml; there are: prod-a, research-a", and
   returns -1. */
int config_refuse_cluster(const struct config *config, const char *name, struct error *err);
/* Whether the one is a research cluster, and some reservation has pools of both.  NULL: it cannot.
 */
bool config_can_give(const struct config *config, const struct config_cluster *giver,
                     const struct config_cluster *taker);
const struct config_pool *config_pool(const struct config *config, const char *name);

/* What differs between two files, setting by setting, in the words of the files: [{key, change
   ("added", "changed" or "removed"), before, after (texts or null), line (in the new file; of a
   removed setting in the old one)}]. */
json_t *config_changes(const struct config *before, const struct config *after)
    __attribute__((returns_nonnull, warn_unused_result));

/* Every setting and where its value comes from: [{key, value (null: none), origin ("FILE:LINE" or
   "default"), line (or null)}]. */
json_t *config_origins(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));

/* Key, type, default and meaning of every setting, as Markdown. */
void config_document(struct text *out);

/* The same as a JSON Schema (draft 7), for editors. */
json_t *config_schema(void) __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_config(struct config **config)
{
    config_free(*config);
}
