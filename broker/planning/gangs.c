/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gangs.h.
 */
#include "broker/planning/gangs.h"

#include "base/order.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "base/text_items.h"
#include "broker/config/config.h"

#include <stdlib.h>
#include <string.h>

/* A gang while its pods are counted. */
struct draft {
    size_t index;                /* in the book */
    int64_t parts;               /* of GPUs, on all nodes */
    bool has_priority;           /* of a pod that counts */
    int priority;                /* the highest of them */
    struct wall_time started;    /* of its first pod; 0: none runs yet */
    struct wall_time checkpoint; /* the newest that any pod tells of; 0: none */
    struct wall_time ends;       /* the last of its pods ends by itself then */
    bool is_endless;             /* a pod has no time limit that is known */
    bool is_lost_for_good;       /* its job is cancelled, and not requeued */
};

struct drafts {
    const struct gang_survey *survey;
    struct gang_book *book;
    struct map *by_key; /* "KIND NAMESPACE/NAME" -> struct draft */
    struct map *work;   /* node name -> struct node_work */
    int64_t node_gpus;  /* of the cluster's largest machine */
};

static void work_free(void *value)
{
    struct node_work *work = value;

    array_clear(&work->gangs);
    array_clear(&work->shares);
    mem_free(work);
}

static const char *team_of(const struct config *config, const struct pod *pod)
{
    const char *team = config->victims.team ? pod_label(pod, config->victims.team) : NULL;

    return team ?: pod->namespace;
}

static struct draft *draft_of(struct drafts *drafts, const struct pod *pod)
{
    const char *kind = gang_kind_name(pod->gang.kind);
    owned(chars) char *key = text_format("%s %s", kind, pod->gang.key);
    struct draft *draft = map_get(drafts->by_key, key);

    if (!draft) {
        draft = mem_new(sizeof *draft);
        draft->index = drafts->book->gangs.count;
        *array_add(&drafts->book->gangs) = (struct victim_gang){
            .kind = kind,
            .name = pod->gang.key,
            .team = team_of(drafts->survey->config, pod),
            .is_sunk = true, /* until a pod is found that was not told to stop */
        };
        map_set(drafts->by_key, key, draft);
    }
    return draft;
}

static int64_t weight(const struct gang_share *share, int64_t node_gpus)
{
    int64_t all = node_gpus * GPU_PARTS;

    return share->is_whole && share->parts < all ? all : share->parts;
}

int64_t gang_share_add(struct gang_share *share, struct gpu_demand demand, int64_t node_gpus)
{
    int64_t former = weight(share, node_gpus);

    require(node_gpus > 0 && demand.parts >= 0);
    share->parts += demand.parts;
    share->is_whole = share->is_whole || demand.is_whole;
    require(weight(share, node_gpus) >= former); /* no pod makes another one's share smaller */
    return weight(share, node_gpus) - former;
}

int64_t gang_share_gpus(const struct gang_share *share, int64_t node_gpus)
{
    return gpu_parts_whole(weight(share, node_gpus));
}

/* The most GPUs of a node in any pool of the cluster.  Which pool a pod is in does not matter,
   because the price is an estimate. */
static int64_t node_gpus_of(const struct gang_survey *survey)
{
    const struct config *config = survey->config;
    int64_t most = 1;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster == survey->cluster &&
            config->pools[i].reservation->gpus_per_node > most)
            most = config->pools[i].reservation->gpus_per_node;
    return most;
}

static bool has_protected_priority(const struct config_victims *victims, const struct pod *pod)
{
    return (victims->priority > 0 && pod->priority >= victims->priority) ||
           (pod->priority_class[0] != '\0' &&
            text_items_have(victims->classes, pod->priority_class));
}

static void note_priority(struct draft *draft, const struct pod *pod)
{
    if (!draft->has_priority || pod->priority > draft->priority)
        draft->priority = pod->priority;
    draft->has_priority = true;
}

/* The gang's share of the node, whose gangs are in order; pods come in any order. */
static struct gang_share *share_of(struct node_work *work, size_t gang)
{
    size_t at = work->gangs.count;

    require(work->shares.count == work->gangs.count);
    while (at > 0 && work->gangs.items[at - 1] > gang)
        at--;
    if (at > 0 && work->gangs.items[at - 1] == gang)
        return &work->shares.items[at - 1];
    (void)array_add(&work->gangs);
    (void)array_add(&work->shares);
    for (size_t i = work->gangs.count - 1; i > at; i--) {
        work->gangs.items[i] = work->gangs.items[i - 1];
        work->shares.items[i] = work->shares.items[i - 1];
    }
    work->gangs.items[at] = gang;
    work->shares.items[at] = (struct gang_share){ 0 };
    return &work->shares.items[at];
}

static struct node_work *work_of(struct drafts *drafts, const char *node)
{
    struct node_work *work = map_get(drafts->work, node);

    if (!work) {
        work = mem_new(sizeof *work);
        map_set(drafts->work, node, work);
    }
    return work;
}

/* snapshot: of the pod; node: the one that its work is lost with. */
static void add_pod(struct drafts *drafts, const struct snapshot *snapshot, const struct pod *pod,
                    const char *node)
{
    struct draft *draft = draft_of(drafts, pod);
    struct node_work *work = work_of(drafts, node);
    struct wall_time checkpoint = gang_time(&pod->gang, drafts->survey->config->victims.checkpoint);
    struct gang_share *share;

    share = share_of(work, draft->index);
    if (pod->deletion.ms > 0)
        return;
    drafts->book->gangs.items[draft->index].is_sunk = false;
    work->is_protected = work->is_protected || pod_is_protected(pod) || pod->is_unread ||
                         has_protected_priority(&drafts->survey->config->victims, pod);
    note_priority(draft, pod);
    draft->parts += gang_share_add(share, gpus_of_pod(snapshot, pod), drafts->node_gpus);
    if (pod->started.ms > 0 && (draft->started.ms == 0 || pod->started.ms < draft->started.ms))
        draft->started = pod->started;
    if (checkpoint.ms > draft->checkpoint.ms)
        draft->checkpoint = checkpoint;
    draft->is_endless |= pod->ends.ms == 0;
    draft->is_lost_for_good |= pod_is_lost_for_good(pod);
    if (pod->ends.ms > draft->ends.ms)
        draft->ends = pod->ends;
}

static int64_t seconds_since(const struct drafts *drafts, struct wall_time then)
{
    int64_t ms = drafts->survey->now.ms - then.ms;

    return then.ms > 0 && ms > 0 ? ms / SECOND_MS : 0;
}

/* The median run time of the cluster's gangs that hold GPUs. */
static int64_t median_run_s(const struct drafts *drafts)
{
    ARRAY(int64_t) runs = { 0 };
    int64_t median = 0;
    void *value;

    for (size_t i = 0; map_next(drafts->by_key, &i, NULL, &value);) {
        const struct draft *draft = value;

        if (draft->started.ms > 0 && draft->parts > 0)
            *array_add(&runs) = seconds_since(drafts, draft->started);
    }
    if (runs.count > 0) {
        qsort(runs.items, runs.count, sizeof *runs.items, order_int64);
        median = runs.items[runs.count / 2];
    }
    array_clear(&runs);
    return median;
}

/* When the pods of a node that is chosen now are stopped at the latest. */
static struct wall_time stopped_at(const struct gang_survey *survey)
{
    const struct config_drain *drain = &survey->config->drain;

    return (struct wall_time){ survey->now.ms +
                               (survey->is_hurried ? 0 : drain->notice_ms + drain->deadline_ms) };
}

/* The work that ends with the gang: since the checkpoint, if one was reported after the start.
   Otherwise since the start, but not more than the median run: a gang without checkpoints must not
   become safe by running long.  None of a gang that its time limit
   will end before it is stopped; a limit that has passed has ended nothing.
   A job that is cancelled for good loses its whole run.  Also after a checkpoint: a person may make
   use of that in a new job, but nothing here starts one. */
static int64_t lost_s(const struct drafts *drafts, const struct draft *draft, int64_t median_s)
{
    int64_t run_s = seconds_since(drafts, draft->started);
    int64_t checkpoint_s = seconds_since(drafts, draft->checkpoint);

    if (!draft->is_endless && draft->ends.ms > drafts->survey->now.ms &&
        draft->ends.ms <= stopped_at(drafts->survey).ms)
        return 0;
    if (draft->is_lost_for_good)
        return run_s;
    if (draft->checkpoint.ms > 0)
        return checkpoint_s < run_s ? checkpoint_s : run_s;
    return run_s < median_s ? run_s : median_s;
}

/* Whole GPU-seconds, as many as a gang may have. */
static int64_t gpu_s_of(double gpu_s)
{
    require(gpu_s >= 0);
    return gpu_s < (double)VICTIM_GPU_S_MOST ? (int64_t)gpu_s : VICTIM_GPU_S_MOST;
}

static void price_gangs(struct drafts *drafts)
{
    const struct gang_survey *survey = drafts->survey;
    int64_t median_s = median_run_s(drafts);
    void *value;

    for (size_t i = 0; map_next(drafts->by_key, &i, NULL, &value);) {
        const struct draft *draft = value;
        struct victim_gang *gang = &drafts->book->gangs.items[draft->index];
        double factor = 1 +
                        survey->config->victims.fairness * losses_share(survey->losses, gang->team);

        /* A replica is rebuilt elsewhere and loses nothing but its place. */
        int64_t run_s = survey->cluster->role == ROLE_PRODUCTION ? 1
                                                                 : lost_s(drafts, draft, median_s);

        require(draft->index < drafts->book->gangs.count && run_s >= 0 && factor >= 1);
        gang->gpus = gpu_parts_whole(draft->parts);
        gang->priority = draft->priority;
        gang->lost_gpu_s = gpu_s_of((double)draft->parts * (double)run_s / GPU_PARTS);
        gang->price_gpu_s = gpu_s_of((double)gang->lost_gpu_s * factor);
    }
}

/* hosts: where each node of Slurm runs.  Parts of a job on other nodes count too, on no node. */
static void add_jobs(struct drafts *drafts, const struct map *hosts)
{
    const struct snapshot *slurm = drafts->survey->slurm;
    void *value;

    for (size_t i = 0; slurm && map_next(slurm->pods, &i, NULL, &value);) {
        const struct pod *part = value;

        if (part->node_name[0] != '\0' && pod_must_leave(part))
            add_pod(drafts, slurm, part, map_get(hosts, part->node_name) ?: "");
    }
}

/* hosts: as add_jobs(). */
static void note_reserved(struct drafts *drafts, const struct map *hosts)
{
    const struct gang_survey *survey = drafts->survey;
    struct wall_time soon = { survey->now.ms + DAY_MS };
    void *value;

    for (size_t i = 0; map_next(survey->snapshot->nodes, &i, NULL, &value);)
        if (node_is_reserved(value, soon))
            work_of(drafts, ((const struct node *)value)->name)->is_reserved = true;
    for (size_t i = 0; survey->slurm && map_next(survey->slurm->nodes, &i, NULL, &value);) {
        const char *host = map_get(hosts, ((const struct node *)value)->name);

        if (host && node_is_reserved(value, soon))
            work_of(drafts, host)->is_reserved = true;
    }
}

enum victim_rank gangs_rank(const struct node_work *work)
{
    return work && work->is_protected  ? VICTIM_PROTECTED
           : work && work->is_reserved ? VICTIM_RESERVED
                                       : VICTIM_OPEN;
}

struct map *gangs_survey(const struct gang_survey *survey, struct gang_book *book)
{
    struct drafts drafts = { .survey = survey, .book = book, .node_gpus = node_gpus_of(survey) };
    owned(map) struct map *hosts = map_new(NULL); /* node of Slurm -> name of its pod's node */
    void *value;

    drafts.by_key = map_new(mem_free);
    drafts.work = map_new(work_free);
    for (size_t i = 0; map_next(survey->snapshot->pods, &i, NULL, &value);) {
        const struct pod *pod = value;
        const char *slurm_node = survey->slurm && pod_slurm_tool(pod) ? pod_slurm_node(pod) : NULL;

        if (pod->node_name[0] == '\0' || !pod_must_leave(pod))
            continue;
        if (slurm_node)
            map_set(hosts, slurm_node, (void *)(uintptr_t)pod->node_name);
        else
            add_pod(&drafts, survey->snapshot, pod, pod->node_name);
    }
    add_jobs(&drafts, hosts);
    note_reserved(&drafts, hosts);
    require(book->gangs.count >= map_count(drafts.by_key)); /* with those of other clusters */
    price_gangs(&drafts);
    map_free(drafts.by_key);
    return drafts.work;
}

const char *gangs_block(const struct config *config, const struct node *node)
{
    const char *labels = config->victims.blocks;
    const char *label;
    size_t length;

    while (text_items_next(&labels, &label, &length)) {
        const char *block = packed_map_find(node->labels, label, length);

        if (block)
            return block;
    }
    return NULL;
}
