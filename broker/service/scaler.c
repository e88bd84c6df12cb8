/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas: each workload has, in each cluster, the number that the schedules in force want.  It
 * grows with the nodes that are ready, ahead of its window and at the window's begin in any case;
 * it shrinks before nodes leave.  Where an autoscaler owns the replicas its least is set instead,
 * or, if the configuration does not say so, nothing: two controllers of one number fight.
 */
#include "base/json.h"
#include "base/text.h"
#include "broker/service/dial.h"
#include "clusters/kube_verbs.h"

struct scaler {
    struct service *service;
    struct dial *dials; /* each `of` a struct share */
    struct share {
        const struct config_workload *workload;
        struct target target;
        int64_t has;  /* as last known: a write makes the dial's value unknown until it is read */
        int64_t base; /* what it has or must have whatever nodes are ready */
    } * shares;
    size_t count;
};

#define AUTOSCALING "autoscaling/v2"

/* Where the number is, by what the workload keeps. */
static const struct way {
    const char *kind;
    const char *group; /* and its version, for which the server's is put */
    const char *plural;
    const char *value; /* path in the object */
    const char *key;   /* its last part */
    int64_t absent;    /* what a missing value means */
    int64_t least;     /* that the object may hold */
    const char *below; /* the subresource that is written; "": the object itself */
} ways[] = {
    { "Deployment", "apps/v1", "deployments", "spec/replicas", "replicas", 1, 0, "/scale" },
    { "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets", "spec/replicas",
      "replicas", 1, 0, "/scale" },
    { "HorizontalPodAutoscaler", AUTOSCALING, "horizontalpodautoscalers", "spec/minReplicas",
      "minReplicas", 1, 1, "" },
    { "ScaledObject", "keda.sh/v1alpha1", "scaledobjects", "spec/minReplicaCount",
      "minReplicaCount", 0, 0, "" },
};

enum { WAY_DEPLOYMENT, WAY_LEADER_WORKER_SET, WAY_HPA, WAY_KEDA, WAY_COUNT };

static const struct config_workload *workload_of(const struct dial *dial)
{
    return ((const struct share *)dial->of)->workload;
}

static int way_index(const struct config_workload *workload)
{
    switch (workload->keeps) {
    case KEEPS_HPA:
        return WAY_HPA;
    case KEEPS_KEDA:
        return WAY_KEDA;
    case KEEPS_REPLICAS:
        break;
    }
    return workload->is_leader_worker_set ? WAY_LEADER_WORKER_SET : WAY_DEPLOYMENT;
}

static const char *object_of(const struct config_workload *workload)
{
    return workload->keeps != KEEPS_REPLICAS && workload->autoscaler ? workload->autoscaler
                                                                     : workload->name;
}

/* Names in Kubernetes need no escapes. */
static char *path_of(const struct config_workload *workload, const char *below)
{
    const struct way *way = &ways[way_index(workload)];

    return text_format("/apis/%s/namespaces/%s/%s/%s%s", way->group, workload->namespace,
                       way->plural, object_of(workload), below);
}

static struct cluster *cluster_of(const struct dial *dial)
{
    return fleet_cluster(dial->service->fleet, dial->cluster);
}

/* A server that does not know its kind (one without KEDA) has no such object either. */
static void object_was_read(void *context, const json_t *object, const struct error *err)
{
    struct dial *dial = context;
    const struct config_workload *workload = workload_of(dial);
    struct error none = { 0 };

    if (err && (err->kind == ERROR_NOT_FOUND || cluster_serves_none(err)))
        error_set(&none, ERROR_NOT_FOUND, "there is no %s %s/%s", ways[way_index(workload)].kind,
                  workload->namespace, object_of(workload));
    dial_was_read(dial, object, none.kind == ERROR_NONE ? err : &none);
}

static void read_object(struct dial *dial)
{
    owned(chars) char *path = path_of(workload_of(dial), "");

    cluster_read_at(cluster_of(dial), path, object_was_read, dial);
}

static int decode(const struct dial *dial, const json_t *object, int64_t *ret_value,
                  struct error *err)
{
    const struct way *way = &ways[way_index(workload_of(dial))];

    *ret_value = way->absent;
    return json_find_int(object, way->value, ret_value, err);
}

static void write_object(struct dial *dial)
{
    const struct way *way = &ways[way_index(workload_of(dial))];
    owned(chars) char *path = path_of(workload_of(dial), way->below);
    owned(json) json_t *patch = json_make("{s:{s:I}}", "spec", way->key, (json_int_t)dial->sent);

    cluster_patch_at(cluster_of(dial), path, patch, dial_was_written, dial);
}

static void tell(const struct dial *dial, json_t *event)
{
    json_object_set_new(event, "workload", json_text(workload_of(dial)->name));
}

/* The autoscaler whose target this workload is, if there is one. */
static const json_t *autoscaler_of(const struct config_workload *workload, const json_t *list)
{
    const char *kind = ways[way_index(workload)].kind;
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        const json_t *target = json_at(item, "spec/scaleTargetRef");

        if (text_equal(json_text_or(target, "kind", ""), kind) &&
            text_equal(json_text_or(target, "name", ""), workload->name))
            return item;
    }
    return NULL;
}

static void autoscalers_answered(void *context, const json_t *body, const struct error *err)
{
    struct dial *dial = context;
    const struct config_workload *workload = workload_of(dial);
    const json_t *found = body ? autoscaler_of(workload, body) : NULL;
    const json_t *owner = json_array_get(json_at(found, "metadata/ownerReferences"), 0);
    bool is_keda = text_equal(json_text_or(owner, "kind", ""), "ScaledObject");
    owned(chars) char *why = NULL;

    if (found)
        why = text_format("%s %s scales %s: set keeps: %s and autoscaler: %s of workload %s, or "
                          "remove it",
                          is_keda ? "ScaledObject" : "HorizontalPodAutoscaler",
                          json_text_or(is_keda ? owner : json_at(found, "metadata"), "name", "?"),
                          workload->name, is_keda ? "keda" : "hpa",
                          json_text_or(is_keda ? owner : json_at(found, "metadata"), "name", "?"),
                          workload->name);
    else if (err && !cluster_lacks_group(err)) /* a server without autoscalers has none */
        why = text_format("whether an autoscaler scales %s: %s", workload->name, err->text);
    dial_may_be_written(dial, why);
}

static void check_autoscalers(struct dial *dial)
{
    const struct config_workload *workload = workload_of(dial);
    owned(chars) char *path = text_format(
        "/apis/" AUTOSCALING "/namespaces/%s/horizontalpodautoscalers", workload->namespace);

    cluster_read_at(cluster_of(dial), path, autoscalers_answered, dial);
}

/* Pods that were told to stop are not counted here, and a rollout has some more than are wanted for
   as long as it takes: neither is waited for.  (Of a LeaderWorkerSet the pods that stop count, and
   one that does not stop would keep the nodes for ever.) */
static bool is_down(const struct dial *dial)
{
    int64_t replicas = json_int_or(dial->object, "status/replicas", 0);

    return replicas <= dial->wanted ||
           json_int_or(dial->object, "status/updatedReplicas", 0) < replicas;
}

#define KIND(path, checks, follows)                                                                \
    {                                                                                              \
        .name = "scale", .read = read_object, .decode = decode, .field = path,                     \
        .write = write_object, .tell = tell, .check = checks, .is_followed = follows               \
    }
static const struct dial_kind kinds[WAY_COUNT] = {
    [WAY_DEPLOYMENT] = KIND("f:spec/f:replicas", check_autoscalers, is_down),
    [WAY_LEADER_WORKER_SET] = KIND("f:spec/f:replicas", check_autoscalers, NULL),
    [WAY_HPA] = KIND("f:spec/f:minReplicas", NULL, NULL),
    [WAY_KEDA] = KIND("f:spec/f:minReplicaCount", NULL, NULL),
};

struct scaler *scaler_new(struct service *service)
{
    const struct config *config = service->config;
    struct scaler *scaler = mem_new(sizeof *scaler);
    size_t count = 0;

    for (size_t i = 0; i < config->workload_count; i++)
        count += config->workloads[i].share_count;
    scaler->service = service;
    scaler->dials = mem_new_array(count, sizeof *scaler->dials);
    scaler->shares = mem_new_array(count, sizeof *scaler->shares);
    for (size_t i = 0; i < config->workload_count; i++) {
        for (size_t k = 0; k < config->workloads[i].share_count; k++) {
            const struct config_workload *workload = &config->workloads[i];
            const struct config_cluster *cluster = workload->shares[k].cluster;
            struct share *share = &scaler->shares[scaler->count];

            share->workload = workload;
            share->has = -1;
            dial_init(&scaler->dials[scaler->count++], service, &kinds[way_index(workload)],
                      cluster, share, text_format("%s@%s", workload->name, cluster->name));
        }
    }
    return scaler;
}

void scaler_free(struct scaler *scaler)
{
    if (!scaler)
        return;
    for (size_t i = 0; i < scaler->count; i++)
        dial_clear(&scaler->dials[i]);
    mem_free(scaler->dials);
    mem_free(scaler->shares);
    mem_free(scaler);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct scaler *scaler = context;

    for (size_t i = 0; i < scaler->count; i++)
        if (text_equal(scaler->dials[i].id, id))
            return dial_load(&scaler->dials[i], rev, value, err);
    return 0;
}

int scaler_load(struct scaler *scaler, struct error *err)
{
    return journal_load(scaler->service->world->journal, "scale", load_one, scaler, err);
}

/* What tolerates which taint is often written into pods by a webhook, and a replica too few is
   worse than one that waits: only a node in trouble, or of another controller, is not counted. */
static bool is_welcome(const void *context, const struct node *node)
{
    (void)context;
    return !node_rival(node) && !node_is_in_trouble(node);
}

/* GPUs of the nodes on which replicas can start, in the pools that the schedules share out. */
static int64_t ready_gpus(const struct scaler *scaler, const struct config_cluster *cluster)
{
    const struct config *config = scaler->service->config;
    int64_t gpus = 0;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster == cluster)
            gpus += supply_units(scaler->service, &config->pools[i], NULL, is_welcome, NULL);
    return gpus;
}

/* What each replica count of a cluster is whatever the nodes: that of the window in force, or what
   there is already of the window to come. */
static int64_t set_bases(struct scaler *scaler, const struct config_cluster *cluster)
{
    struct service *service = scaler->service;
    struct reach reach = survey_reach(service, cluster);
    int64_t gpus = 0;

    for (size_t i = 0; i < scaler->count; i++) {
        struct share *share = &scaler->shares[i];
        const struct dial *dial = &scaler->dials[i];

        if (dial->cluster != cluster)
            continue;
        share->has = dial->value >= 0 ? dial->value : share->has;
        share->target = target_replicas(service->config, service->book, share->workload, cluster,
                                        loop_wall(service->world->loop), &reach);
        share->base = share->has < share->target.wanted ? share->has : share->target.wanted;
        if (share->base < share->target.now)
            share->base = share->target.now;
        gpus += share->base > 0 ? share->base * share->workload->gpus : 0;
    }
    return gpus;
}

static void advance_cluster(struct scaler *scaler, const struct config_cluster *cluster)
{
    int64_t free_gpus = ready_gpus(scaler, cluster) - set_bases(scaler, cluster);

    for (size_t i = 0; i < scaler->count && !scaler->service->runner->is_broken; i++) {
        const struct share *share = &scaler->shares[i];
        int64_t wanted = share->target.wanted;
        int64_t more = wanted - share->base;
        int64_t room = free_gpus > 0 ? free_gpus / share->workload->gpus : 0;
        const struct way *way = &ways[way_index(share->workload)];

        if (scaler->dials[i].cluster != cluster)
            continue;
        if (wanted >= 0 && more > room) {
            wanted = share->base + room;
            more = room;
        }
        free_gpus -= wanted >= 0 ? more * share->workload->gpus : 0;
        dial_advance(&scaler->dials[i], wanted >= 0 && wanted < way->least ? way->least : wanted);
    }
}

void scaler_advance(struct scaler *scaler)
{
    const struct config *config = scaler->service->config;

    for (size_t i = 0; i < config->cluster_count; i++)
        if (config->clusters[i].role == ROLE_PRODUCTION)
            advance_cluster(scaler, &config->clusters[i]);
}

bool scaler_is_settled(const struct scaler *scaler, const struct config_cluster *cluster)
{
    for (size_t i = 0; i < scaler->count; i++)
        if (scaler->dials[i].cluster == cluster && !dial_is_settled(&scaler->dials[i]))
            return false;
    return true;
}

json_t *scaler_describe(const struct scaler *scaler)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < scaler->count; i++) {
        const struct dial *dial = &scaler->dials[i];

        json_array_append_new(
            rows, json_make("{ss ss so so ss}", "workload", scaler->shares[i].workload->name,
                            "cluster", dial->cluster->name, "replicas",
                            dial->value < 0 ? json_null() : json_integer((json_int_t)dial->value),
                            "wanted_replicas",
                            dial->wanted < 0 ? json_null() : json_integer((json_int_t)dial->wanted),
                            "trouble", dial->trouble));
    }
    return rows;
}
