/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See owner_search.h.
 */
#include "broker/sides/kube/owner_search.h"

#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"
#include "clusters/owner.h"

#include <string.h>

enum {
    AGAIN_MS = SECOND_MS,
    CENSUS_MS = SECOND_MS, /* a count of pods may be so old */
    HEIGHT_MAX = 4,        /* owners above owners */
};

struct search {
    struct owner_searches *searches;
    const struct config_cluster *cluster;
    char path[OWNER_PATH_SIZE]; /* of the object that is asked about, or that was found */
    struct owner owner;
    int height;
    enum owner_found found;
    bool is_alone;       /* began for the only pod there was */
    bool is_spared;      /* found none, because the Job can tolerate the evictions counted by this
                            search */
    bool wants_workload; /* the object was read: next its Kueue Workload */
    bool is_under_way;
    int64_t began_ms;
    int64_t not_before_ms;
    int64_t patience_ms; /* of the caller that asked last */
    int denials;         /* each is waited for twice as long as the one before */
};

/* How many pods of each gang a cluster has. */
struct census {
    struct map *counts; /* gang key -> size_t */
    int64_t taken_ms;
    bool lacks_kueue;
};

struct owner_searches {
    struct runner *runner;
    struct map *searches;    /* "CLUSTER PATH", of what the pod says -> struct search */
    struct census *censuses; /* as config->clusters */
};

static void ask(struct search *search);

struct owner_searches *owner_searches_new(struct runner *runner)
{
    struct owner_searches *searches = mem_new(sizeof *searches);

    searches->runner = runner;
    searches->searches = map_new(mem_free);
    searches->censuses = mem_new_array(runner->config->cluster_count, sizeof *searches->censuses);
    return searches;
}

static void forget_counts(struct owner_searches *searches)
{
    for (size_t i = 0; i < searches->runner->config->cluster_count; i++) {
        map_free(searches->censuses[i].counts);
        searches->censuses[i] = (struct census){ 0 };
    }
}

void owner_searches_free(struct owner_searches *searches)
{
    if (!searches)
        return;
    forget_counts(searches);
    mem_free(searches->censuses);
    map_free(searches->searches);
    mem_free(searches);
}

static struct census *census_of(const struct owner_searches *searches,
                                const struct config_cluster *cluster)
{
    return &searches->censuses[cluster - searches->runner->config->clusters];
}

static struct map *count_pods(const struct snapshot *snapshot)
{
    struct map *counts = map_new(mem_free);
    void *value;

    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);) {
        const struct pod *pod = value;
        size_t *count = map_get(counts, pod->gang.key);

        if (!pod_must_leave(pod))
            continue;
        if (!count) {
            count = mem_new(sizeof *count);
            map_set(counts, pod->gang.key, count);
        }
        ++*count;
    }
    return counts;
}

/* Whether it is the only pod of its gang, and Kueue does not manage the gang.  Such a pod is
   evicted, unless that would end its Job: to suspend the owner would lose as much work. */
static bool is_alone(struct owner_searches *searches, const struct config_cluster *cluster,
                     const struct pod *pod)
{
    struct census *census = census_of(searches, cluster);
    int64_t now = loop_now(searches->runner->world->loop);
    const size_t *count;

    if (owner_is_queued(pod))
        return false;
    if (!census->counts || now - census->taken_ms > CENSUS_MS) {
        map_free(census->counts);
        census->counts = count_pods(fleet_snapshot(searches->runner->fleet, cluster));
        census->taken_ms = now;
    }
    count = map_get(census->counts, pod->gang.key);
    return !count || *count < 2;
}

/* Pods of the Job on nodes that drain now, or will when their move is cordoned. */
static int64_t leaving_pods(const struct search *search)
{
    const struct runner *runner = search->searches->runner;
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, search->cluster);
    const char *name = strrchr(search->path, '/') + 1;
    const struct transfer *transfer;
    int64_t count = 0;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
        const struct pod *const *pods;
        size_t pod_count;

        if (transfer->source->cluster != search->cluster || transfer->is_undoing ||
            transfer->step < STEP_CORDON || transfer->step > STEP_FORCE)
            continue;
        pods = snapshot_pods_on(snapshot, transfer->node, &pod_count);
        for (size_t k = 0; k < pod_count; k++) {
            /* the name first: thousands of pods, of as many Jobs, may leave at once */
            bool may_be = text_equal(pods[k]->owner_name, name) && owner_counts_pod(pods[k]);
            owned(chars) char *job = may_be ? owner_job_of_pod(pods[k]) : NULL;

            count += text_equal(job, search->path);
        }
    }
    return count;
}

static void settle(struct search *search, enum owner_found found)
{
    require(found != OWNER_UNKNOWN && !search->is_under_way);
    search->found = found;
    runner_wake(search->searches->runner);
}

static int64_t age_ms(const struct search *search)
{
    return loop_now(search->searches->runner->world->loop) - search->began_ms;
}

/* A missing right: a server that has just started may deny for a moment. */
static bool is_denied_for_now(struct search *search, const struct error *err)
{
    return err->kind == ERROR_DENIED && age_ms(search) < search->patience_ms;
}

/* A question that failed: again later, or never. */
static void failed(struct search *search, const struct error *err)
{
    bool is_denied = is_denied_for_now(search, err);
    int64_t wait_ms = is_denied ? (int64_t)AGAIN_MS << search->denials++ : AGAIN_MS;

    if (err->retry_after_ms > wait_ms)
        wait_ms = err->retry_after_ms;
    if (is_denied || err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED ||
        err->kind == ERROR_UNKNOWN_OUTCOME || err->kind == ERROR_CONFLICT) {
        search->not_before_ms = loop_now(search->searches->runner->world->loop) + wait_ms;
        return;
    }
    if (err->kind != ERROR_NOT_FOUND)
        log_warn("owner_unknown", FIELD_TEXT("cluster", search->cluster->name),
                 FIELD_TEXT("owner", search->path), FIELD_TEXT("text", err->text));
    settle(search, OWNER_NONE);
}

/* Whether the Job survives the evictions of its pods on those nodes: then they are evicted. */
static bool spares(struct search *search)
{
    if (leaving_pods(search) > search->owner.spare)
        return false;
    search->is_spared = true;
    settle(search, OWNER_NONE);
    return true;
}

/* The object has no Workload: its owner counts, or the object itself. */
static void judge(struct search *search)
{
    const struct owner *owner = &search->owner;

    require(search->height <= HEIGHT_MAX);
    if (owner->above[0] != '\0' && search->height < HEIGHT_MAX) {
        text_copy(search->path, sizeof search->path, owner->above);
        search->height++;
        ask(search);
        return;
    }
    if (!owner->can_stop || owner->is_part)
        settle(search, OWNER_NONE);
    else if (!owner->is_bag || !spares(search))
        settle(search, OWNER_FOUND);
}

static void workloads_came(void *context, const json_t *body, const struct error *err)
{
    struct search *search = context;
    owned(chars) char *path = body ? owner_workload_in(body, search->path, search->owner.uid)
                                   : NULL;

    require(search->is_under_way && search->wants_workload);
    search->is_under_way = false;
    /* The server has just answered for the object, so that it refuses this path is no fault of the
       server: it has no Kueue. */
    if (err && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_INVALID) {
        failed(search, err);
        return;
    }
    search->wants_workload = false;
    if (err)
        census_of(search->searches, search->cluster)->lacks_kueue = true;
    if (path) {
        text_copy(search->path, sizeof search->path, path);
        settle(search, OWNER_FOUND);
    } else {
        judge(search);
    }
}

static void object_came(void *context, const json_t *body, const struct error *err)
{
    struct search *search = context;
    struct error bad = { 0 };

    require(search->is_under_way && !search->wants_workload);
    search->is_under_way = false;
    if (!err && owner_read(search->path, body, &search->owner, &bad) < 0)
        err = &bad;
    if (err) {
        failed(search, err);
        return;
    }
    if (search->is_alone && spares(search))
        return;
    search->is_alone = false;
    if (owner_is_workload(search->path)) {
        settle(search, OWNER_FOUND);
    } else if (census_of(search->searches, search->cluster)->lacks_kueue) {
        judge(search);
    } else {
        search->wants_workload = true;
        ask(search);
    }
}

static void ask(struct search *search)
{
    struct cluster *cluster = fleet_cluster(search->searches->runner->fleet, search->cluster);

    require(!search->is_under_way && search->path[0] == '/');
    search->is_under_way = true;
    if (search->wants_workload) {
        owned(chars) char *list = owner_workloads_path(search->path, search->owner.uid);

        cluster_read_at(cluster, list, workloads_came, search);
    } else {
        cluster_read_at(cluster, search->path, object_came, search);
    }
}

static void begin(struct search *search, bool is_alone)
{
    search->found = OWNER_UNKNOWN;
    search->is_alone = is_alone;
    search->is_spared = search->wants_workload = false;
    search->denials = search->height = 0;
    search->began_ms = loop_now(search->searches->runner->world->loop);
    ask(search);
}

static struct search *search_of(struct owner_searches *searches,
                                const struct config_cluster *cluster, const char *path)
{
    owned(chars) char *key = path ? text_format("%s %s", cluster->name, path) : NULL;

    return key ? map_get(searches->searches, key) : NULL;
}

/* The search for the pod's owner; NULL: there is nothing to ask. */
static struct search *find_or_begin(struct owner_searches *searches,
                                    const struct config_cluster *cluster, const struct pod *pod,
                                    int64_t patience_ms)
{
    owned(chars) char *owner = owner_of_pod(pod);
    struct search *search = search_of(searches, cluster, owner);
    bool alone = !search && is_alone(searches, cluster, pod);
    owned(chars) char *job = alone ? owner_job_of_pod(pod) : NULL;
    const char *path = alone ? job : owner;

    if (alone)
        search = search_of(searches, cluster, job);
    if (search || !path)
        return search;
    owned(chars) char *key = text_format("%s %s", cluster->name, path);
    search = mem_new(sizeof *search);
    search->searches = searches;
    search->cluster = cluster;
    search->patience_ms = patience_ms;
    text_copy(search->path, sizeof search->path, path);
    map_set(searches->searches, key, search);
    begin(search, alone);
    return search;
}

enum owner_found owner_search(struct owner_searches *searches, const struct transfer *transfer,
                              const struct pod *pod, int64_t patience_ms, const char **ret_path)
{
    const struct config_cluster *cluster = transfer->source->cluster;
    struct search *search = find_or_begin(searches, cluster, pod, patience_ms);

    if (!search)
        return OWNER_NONE;
    *ret_path = search->path;
    search->patience_ms = patience_ms;
    /* The evictions that a Job tolerates were counted before this node, and maybe others, began to
       drain. */
    if (search->is_spared && search->began_ms < transfer->step_began_ms)
        begin(search, is_alone(searches, cluster, pod));
    if (search->found == OWNER_UNKNOWN && age_ms(search) >= patience_ms)
        return OWNER_NONE;
    return search->found;
}

bool owner_searches_tick(struct owner_searches *searches)
{
    int64_t now = loop_now(searches->runner->world->loop);
    bool is_open = false;
    void *value;

    for (size_t i = 0; map_next(searches->searches, &i, NULL, &value);) {
        struct search *search = value;

        is_open = is_open || search->found == OWNER_UNKNOWN;
        if (search->found == OWNER_UNKNOWN && !search->is_under_way && now >= search->not_before_ms)
            ask(search);
    }
    return is_open;
}

void owner_searches_forget(struct owner_searches *searches)
{
    const char *key;
    void *value;

    for (size_t i = 0; map_next(searches->searches, &i, &key, &value);)
        if (!((struct search *)value)->is_under_way)
            map_remove(searches->searches, key);
    forget_counts(searches);
}
