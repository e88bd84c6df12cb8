/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a cluster's pods to gangs with a price, and whom earlier moves made dearer.
 */
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "broker/planning/gangs.h"
#include "tests/support/unit.h"

#include <string.h>

static const char now_text[] = "2026-11-17T12:00:00Z";

struct scene {
    struct config config;
    struct config_cluster cluster;
    struct snapshot snapshot;
    struct losses losses;
    struct gang_book book;
    struct map *work;
    struct wall_time now;
    bool is_hurried;
};

static void scene_init(struct scene *scene)
{
    struct error err;

    *scene = (struct scene){ .cluster.role = ROLE_RESEARCH };
    scene->config.victims = (struct config_victims){ .checkpoint = (char *)(uintptr_t) "saved",
                                                     .blocks = (char *)(uintptr_t) "rack, block" };
    snapshot_init(&scene->snapshot);
    losses_init(&scene->losses);
    assert_int_equal(wall_parse(now_text, false, &scene->now, &err), 0);
}

static void owned_scene(struct scene *scene)
{
    map_free(scene->work);
    snapshot_clear(&scene->snapshot);
    losses_clear(&scene->losses);
    array_clear(&scene->book.gangs);
}

/* A running pod of a Job.  Times are of today, "" for none. */
struct given {
    const char *node;
    const char *job;
    const char *start;
    const char *saved;
    const char *drain; /* Cluster API's label; NULL: none */
    int gpus;
    const char *resource; /* NULL: nvidia.com/gpu */
    int priority;
    const char *class; /* NULL: none */
};

static void add(struct scene *scene, const struct given *given)
{
    struct error err = { 0 };
    owned(chars) char *uid = text_format("u-%zu", map_count(scene->snapshot.pods));
    owned(chars) char *note = given->saved[0]
                                  ? text_format("\"saved\":\"2026-11-17T%s:00Z\"", given->saved)
                                  : mem_copy_chars("");
    owned(chars) char *began = given->start[0] ? text_format(",\"startTime\":\"2026-11-17T%s:00Z\"",
                                                             given->start)
                                               : mem_copy_chars("");
    owned(chars) char *drain = given->drain
                                   ? text_format(",\"cluster.x-k8s.io/drain\":\"%s\"", given->drain)
                                   : mem_copy_chars("");
    owned(chars) char *class = given->class ? text_format(",\"priorityClassName\":\"%s\"",
                                                          given->class)
                                            : mem_copy_chars("");
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"%s\",\"uid\":\"%s\","
        "\"labels\":{\"team\":\"vision\"%s},\"annotations\":{%s},"
        "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"%s\",\"controller\":true}]},"
        "\"spec\":{\"priority\":%d%s,\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\","
        "\"resources\":"
        "{\"limits\":{\"%s\":\"%d\"}}}]},\"status\":{\"phase\":\"Running\"%s}}",
        uid, uid, drain, note, given->job, given->priority, class, given->node,
        given->resource ?: "nvidia.com/gpu", given->gpus, began);
    owned(json) json_t *object = json_parse(chars, strlen(chars), "pod", &err);
    struct pod *pod = object ? pod_decode(object, &err) : NULL;

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    map_set(scene->snapshot.pods, uid, pod);
}

static void add_pod(struct scene *scene, const char *node, const char *job, const char *start,
                    const char *saved)
{
    add(scene, &(struct given){ node, job, start, saved, NULL, 4, NULL, 0, NULL });
}

static void survey_with(struct scene *scene, const struct snapshot *slurm)
{
    const struct gang_survey survey = {
        &scene->config, &scene->cluster, &scene->snapshot,  &scene->losses,
        scene->now,     slurm,           scene->is_hurried,
    };

    scene->work = gangs_survey(&survey, &scene->book);
}

static void survey(struct scene *scene)
{
    survey_with(scene, NULL);
}

static const struct victim_gang *gang(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->book.gangs.count; i++)
        if (text_equal(scene->book.gangs.items[i].name, name))
            return &scene->book.gangs.items[i];
    fail_msg("no gang %s", name);
    return NULL;
}

/* A gang that its time limit ends before its node is asked to empty loses nothing; a reclaim does
   not wait for it.  One pod without a limit, and nothing is known. */
static void what_ends_by_itself_is_not_lost(void **state)
{
    static const struct {
        int first_min, second_min; /* from now until the pods' limits; 0: none */
        bool is_hurried;
        int64_t lost_gpu_s;
    } rows[] = { { 30, 40, false, 0 },           { 30, 41, false, 8 * 3600 },
                 { 30, 0, false, 8 * 3600 },     { 0, 0, false, 8 * 3600 },
                 { 30, 40, true, 8 * 3600 },     { -600, -600, false, 8 * 3600 },
                 { -600, -600, true, 8 * 3600 }, { -600, 40, false, 0 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const int minutes[] = { rows[i].first_min, rows[i].second_min };
        owned(scene) struct scene scene;
        size_t at = 0;
        void *value;

        scene_init(&scene);
        scene.config.drain = (struct config_drain){ .notice_ms = 10 * MINUTE_MS,
                                                    .deadline_ms = 30 * MINUTE_MS };
        scene.is_hurried = rows[i].is_hurried;
        add_pod(&scene, "n1", "train", "11:00", "");
        add_pod(&scene, "n2", "train", "11:00", "");
        for (size_t k = 0; map_next(scene.snapshot.pods, &at, NULL, &value); k++)
            if (minutes[k] != 0)
                ((struct pod *)value)->ends.ms = scene.now.ms + minutes[k] * MINUTE_MS;
        survey(&scene);
        if (gang(&scene, "ml/train")->lost_gpu_s != rows[i].lost_gpu_s)
            fail_msg("row %zu loses %lld", i, (long long)gang(&scene, "ml/train")->lost_gpu_s);
    }
}

/* The pools of the scene's cluster have nodes of eight GPUs. */
static void with_machines(struct scene *scene, struct config_reservation *reservation,
                          struct config_pool *pool)
{
    *reservation = (struct config_reservation){ .gpus_per_node = 8 };
    *pool = (struct config_pool){ .reservation = reservation, .cluster = &scene->cluster };
    scene->config.pools = pool;
    scene->config.pool_count = 1;
}

/* What cannot be read is no idle node, and not free: it counts as all of the node, once. */
static void accelerators_that_cannot_be_read_are_a_whole_node(void **state)
{
    static const char odd[] = "nvidia.com/mig-5g.17gb";
    owned(scene) struct scene scene;
    struct config_reservation reservation;
    struct config_pool pool;

    (void)state;
    scene_init(&scene);
    with_machines(&scene, &reservation, &pool);
    add_pod(&scene, "n0", "plain", "11:00", "");
    for (int i = 0; i < 7; i++)
        add(&scene, &(struct given){ "n1", "sliced", "11:00", "", NULL, 1, odd, 0, NULL });
    add(&scene, &(struct given){ "n2", "sliced", "11:00", "", NULL, 1, odd, 0, NULL });
    add(&scene, &(struct given){ "n3", "mixed", "11:00", "", NULL, 4, NULL, 0, NULL });
    add(&scene, &(struct given){ "n3", "mixed", "11:00", "", NULL, 1, "example.com/npu", 0, NULL });
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/plain")->gpus, 4);
    assert_int_equal(gang(&scene, "ml/sliced")->gpus, 16);
    assert_int_equal(gang(&scene, "ml/sliced")->lost_gpu_s, 16 * 3600);
    assert_int_equal(gang(&scene, "ml/sliced")->price_gpu_s, 16 * 3600);
    assert_int_equal(gang(&scene, "ml/mixed")->gpus, 8);
}

/* A node that a person reserved, from then on. */
static void add_reserved(struct scene *scene, const char *name, int64_t from_ms)
{
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"1\"}}", name, name);
    struct error err = { 0 };
    owned(json) json_t *object = json_parse(chars, strlen(chars), "node", &err);
    struct node *node = object ? node_decode(object, &err) : NULL;

    if (!node)
        fail_msg("%s: %s", chars, err.text);
    node->reserved.ms = scene->now.ms + from_ms;
    map_set(scene->snapshot.nodes, name, node);
}

/* Only what is reserved now or within a day counts, and what asks not to be disturbed counts more.
 */
static void reserved_nodes_have_a_rank_of_their_own(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add_reserved(&scene, "n0", -HOUR_MS);
    add_reserved(&scene, "n1", 23 * HOUR_MS);
    add_reserved(&scene, "n2", 25 * HOUR_MS);
    add_reserved(&scene, "n3", HOUR_MS);
    add_pod(&scene, "n3", "urgent", "11:00", "");
    ((struct pod *)map_get(scene.snapshot.pods, "u-0"))->gang.is_protected = true;
    survey(&scene);
    assert_int_equal(gangs_rank(map_get(scene.work, "n0")), VICTIM_RESERVED);
    assert_int_equal(gangs_rank(map_get(scene.work, "n1")), VICTIM_RESERVED);
    assert_int_equal(gangs_rank(map_get(scene.work, "n2")), VICTIM_OPEN);
    assert_int_equal(gangs_rank(map_get(scene.work, "n3")), VICTIM_PROTECTED);
}

/* The slurmd itself loses nothing; the part of a job on a node elsewhere is lost with it. */
static void jobs_of_slurm_count_where_their_slurmd_runs(void **state)
{
    owned(scene) struct scene scene, slurm;
    struct config_reservation reservation;
    struct config_pool pool;
    struct pod *slurmd;
    const struct node_work *work;

    (void)state;
    scene_init(&scene);
    scene_init(&slurm);
    with_machines(&scene, &reservation, &pool);
    add_pod(&scene, "n0", "slurmd", "02:00", "");
    add_pod(&scene, "n1", "plain", "11:00", "");
    slurmd = map_get(scene.snapshot.pods, "u-0");
    slurmd->slurm = POD_SLURM_SUNK;
    slurmd->slurm_node = shared_text_of(slurmd->name);
    add_pod(&slurm, slurmd->name, "train", "11:00", "");
    add_pod(&slurm, "a-node-without-a-pod", "train", "11:00", "");
    add_reserved(&slurm, slurmd->name, 3 * HOUR_MS);
    survey_with(&scene, &slurm.snapshot);
    assert_int_equal(gangs_rank(map_get(scene.work, "n0")), VICTIM_RESERVED);
    assert_int_equal(gangs_rank(map_get(scene.work, "n1")), VICTIM_OPEN);
    work = map_get(scene.work, "n0");
    assert_int_equal(scene.book.gangs.count, 2);
    assert_int_equal(work->gangs.count, 1);
    assert_ptr_equal(&scene.book.gangs.items[work->gangs.items[0]], gang(&scene, "ml/train"));
    assert_int_equal(gang(&scene, "ml/train")->gpus, 8);
    assert_int_equal(gang(&scene, "ml/train")->lost_gpu_s, 8 * 3600);
    assert_int_equal(gang(&scene, "ml/plain")->lost_gpu_s, 4 * 3600);
}

/* Slices count as their share of a GPU, other makers' GPUs as GPUs. */
static void slices_and_other_makers_gpus_are_counted(void **state)
{
    static const struct {
        const char *resource;
        int count;
        int64_t gpus;       /* in the bill: whole ones */
        int64_t lost_gpu_s; /* of an hour */
    } rows[] = {
        { "amd.com/gpu", 4, 4, 14400 },
        { "gpu.intel.com/i915", 2, 2, 7200 },
        { "gpu.intel.com/xe", 2, 2, 7200 },
        { "nvidia.com/mig-1g.5gb", 7, 1, 3600 },
        { "nvidia.com/mig-1g.5gb", 1, 1, 3600 / 7 },
        { "nvidia.com/mig-3g.40gb", 3, 2, 5400 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(scene) struct scene scene;
        struct config_reservation reservation;
        struct config_pool pool;

        scene_init(&scene);
        with_machines(&scene, &reservation, &pool);
        add(&scene, &(struct given){ "n1", "job", "11:00", "", NULL, rows[i].count,
                                     rows[i].resource, 0, NULL });
        survey(&scene);
        if (gang(&scene, "ml/job")->gpus != rows[i].gpus ||
            gang(&scene, "ml/job")->lost_gpu_s != rows[i].lost_gpu_s)
            fail_msg("%s %d: %lld GPUs, %lld GPU-seconds", rows[i].resource, rows[i].count,
                     (long long)gang(&scene, "ml/job")->gpus,
                     (long long)gang(&scene, "ml/job")->lost_gpu_s);
    }
}

static void a_gang_is_priced_whole(void **state)
{
    owned(scene) struct scene scene;
    const struct node_work *work;

    (void)state;
    scene_init(&scene);
    add_pod(&scene, "n1", "sft", "11:00", "");
    add_pod(&scene, "n1", "sft", "11:30", ""); /* replaced: the gang began before */
    add_pod(&scene, "n2", "sft", "11:00", "");
    survey(&scene);
    assert_int_equal(scene.book.gangs.count, 1);
    assert_int_equal(gang(&scene, "ml/sft")->gpus, 12);
    assert_int_equal(gang(&scene, "ml/sft")->lost_gpu_s, 12 * 3600);
    assert_string_equal(gang(&scene, "ml/sft")->team, "ml");
    work = map_get(scene.work, "n1");
    assert_int_equal(work->gangs.count, 1); /* once, with two pods */
    assert_non_null(map_get(scene.work, "n2"));
    assert_null(map_get(scene.work, "n3"));
}

static void a_checkpoint_saves_what_was_before_it(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add_pod(&scene, "n1", "told", "08:00", "11:50");
    add_pod(&scene, "n2", "told", "08:00", "11:20");  /* the newest counts */
    add_pod(&scene, "n3", "old", "11:00", "07:00");   /* of a run before this one */
    add_pod(&scene, "n4", "early", "11:00", "12:30"); /* a clock that is ahead */
    add_pod(&scene, "n5", "waits", "", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/told")->lost_gpu_s, 8 * 600);
    assert_int_equal(gang(&scene, "ml/old")->lost_gpu_s, 4 * 3600);
    assert_int_equal(gang(&scene, "ml/early")->lost_gpu_s, 0);
    assert_int_equal(gang(&scene, "ml/waits")->lost_gpu_s, 0);
}

static void silence_protects_up_to_the_median(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add_pod(&scene, "n1", "a", "11:50", "");
    add_pod(&scene, "n2", "b", "11:00", "");
    add_pod(&scene, "n3", "c", "02:00", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/a")->lost_gpu_s, 4 * 600);
    assert_int_equal(gang(&scene, "ml/b")->lost_gpu_s, 4 * 3600);
    assert_int_equal(gang(&scene, "ml/c")->lost_gpu_s, 4 * 3600);
}

/* A job that Slurm may not requeue is cancelled.  One with a checkpoint costs no less: nothing
   starts it again.  Its time limit may still end it before. */
static void a_job_that_is_cancelled_loses_its_whole_run(void **state)
{
    static const struct {
        const char *saved, *owner;
        int64_t ends_min; /* from now; 0: no limit */
        int64_t lost_gpu_s;
    } rows[] = {
        { "", "SlurmJob", 0, 4 * 3600 }, /* the median */
        { "11:50", "SlurmJob", 0, 4 * 600 }, { "", "", 0, 4 * 10 * 3600 },
        { "11:50", "", 0, 4 * 10 * 3600 },   { "", "", 5, 0 },
        { "", "", 50, 4 * 10 * 3600 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(scene) struct scene scene;
        struct pod *job;

        scene_init(&scene);
        scene.config.drain.deadline_ms = 30 * MINUTE_MS;
        add_pod(&scene, "n1", "job", "02:00", rows[i].saved);
        add_pod(&scene, "n2", "a", "11:50", "");
        add_pod(&scene, "n3", "b", "11:00", "");
        job = map_get(scene.snapshot.pods, "u-0");
        job->gang.kind = GANG_SLURM_JOB;
        shared_text_drop(job->owner_kind);
        job->owner_kind = shared_text_of(rows[i].owner);
        if (rows[i].ends_min > 0)
            job->ends.ms = scene.now.ms + rows[i].ends_min * MINUTE_MS;
        survey(&scene);
        if (gang(&scene, "ml/job")->lost_gpu_s != rows[i].lost_gpu_s)
            fail_msg("row %zu loses %lld", i, (long long)gang(&scene, "ml/job")->lost_gpu_s);
    }
}

/* A web server that has run for months says nothing of how long work on GPUs runs. */
static void the_median_is_of_gangs_with_gpus(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add_pod(&scene, "n1", "a", "11:50", "");
    add_pod(&scene, "n2", "b", "11:00", "");
    add_pod(&scene, "n3", "c", "02:00", "");
    add(&scene, &(struct given){ "n1", "web", "01:00", "", NULL, 0, NULL, 0, NULL });
    add(&scene, &(struct given){ "n2", "log", "01:00", "", NULL, 0, NULL, 0, NULL });
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/c")->lost_gpu_s, 4 * 3600);
}

static bool is_protected(const struct scene *scene, const char *node)
{
    const struct node_work *work = map_get(scene->work, node);

    return work->is_protected;
}

static void a_pod_that_is_not_to_be_drained_protects_its_node(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add(&scene, &(struct given){ "n1", "a", "11:00", "", "skip", 4, NULL, 0, NULL });
    add(&scene, &(struct given){ "n2", "b", "11:00", "", "wait-completed", 4, NULL, 0, NULL });
    add(&scene, &(struct given){ "n3", "c", "11:00", "", "yes", 4, NULL, 0, NULL });
    survey(&scene);
    assert_true(is_protected(&scene, "n1"));
    assert_true(is_protected(&scene, "n2"));
    assert_false(is_protected(&scene, "n3"));
}

/* It may be the dearest of all. */
static void a_pod_that_cannot_be_read_protects_its_node(void **state)
{
    static const char odd[] = "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"odd\",\"uid\":\"o\"},"
                              "\"spec\":{\"nodeName\":\"a\",\"containers\":7}}";
    owned(scene) struct scene scene;
    struct error err = { 0 };
    owned(json) json_t *object = json_parse(odd, strlen(odd), "odd", &err);
    const struct node_work *work;

    (void)state;
    scene_init(&scene);
    map_set(scene.snapshot.pods, "o", pod_stand_in(object, NULL));
    survey(&scene);
    work = map_get(scene.work, "a");
    assert_non_null(work);
    assert_true(work->is_protected && work->shares.items[0].is_whole);
    assert_int_equal(scene.book.gangs.items[0].gpus, 1); /* no machine of it is configured */
}

static void a_priority_over_the_floor_protects_its_node(void **state)
{
    static const struct {
        char *classes;
        int64_t floor;
        int priority;
        const char *class;
        bool is_protected;
    } rows[] = {
        { NULL, 0, 2000000000, "research-high", false },
        { NULL, 1000, 999, NULL, false },
        { NULL, 1000, 1000, NULL, true },
        { (char *)(uintptr_t) "prod, research-high", 0, 5, "research-high", true },
        { (char *)(uintptr_t) "prod, research-high", 0, 5, "research", false },
        { (char *)(uintptr_t) "prod,research-high", 0, 5, "prod", true },
        { (char *)(uintptr_t) "prod", 0, 5, NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(scene) struct scene scene;

        scene_init(&scene);
        scene.config.victims.classes = rows[i].classes;
        scene.config.victims.priority = rows[i].floor;
        add(&scene, &(struct given){ "n1", "a", "11:00", "", NULL, 4, NULL, rows[i].priority,
                                     rows[i].class });
        survey(&scene);
        if (is_protected(&scene, "n1") != rows[i].is_protected)
            fail_msg("row %zu", i);
    }
}

/* A gang has the highest priority of its pods; one below zero is lower than none. */
static void the_priority_of_a_gang_is_its_highest(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add(&scene, &(struct given){ "n1", "a", "11:00", "", NULL, 4, NULL, -20, NULL });
    add(&scene, &(struct given){ "n2", "a", "11:00", "", NULL, 4, NULL, -10, NULL });
    add(&scene, &(struct given){ "n3", "b", "11:00", "", NULL, 4, NULL, 100, NULL });
    add(&scene, &(struct given){ "n3", "b", "11:00", "", NULL, 4, NULL, 50, NULL });
    add_pod(&scene, "n4", "c", "11:00", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/a")->priority, -10);
    assert_int_equal(gang(&scene, "ml/b")->priority, 100);
    assert_int_equal(gang(&scene, "ml/c")->priority, 0);
}

static void who_lost_lately_is_dearer(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    scene.config.victims.fairness = 2;
    scene.config.victims.team = (char *)(uintptr_t) "team";
    losses_add(&scene.losses, "vision", 300, scene.now);
    losses_add(&scene.losses, "speech", 100, scene.now);
    add_pod(&scene, "n1", "a", "11:00", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/a")->lost_gpu_s, 14400);
    assert_int_equal(gang(&scene, "ml/a")->price_gpu_s, 36000); /* 1 + 2 x 3/4 */
}

static void no_price_is_more_than_a_plan_can_add_up(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    scene.config.victims.fairness = 1e30;
    losses_add(&scene.losses, "ml", 300, scene.now);
    add_pod(&scene, "n1", "a", "11:00", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/a")->lost_gpu_s, 14400);
    assert_int_equal(gang(&scene, "ml/a")->price_gpu_s, VICTIM_GPU_S_MOST);
}

static void replicas_lose_only_their_place(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    scene.cluster.role = ROLE_PRODUCTION;
    add_pod(&scene, "n1", "a", "02:00", "");
    survey(&scene);
    assert_int_equal(gang(&scene, "ml/a")->lost_gpu_s, 4);
}

static void end_pod(struct scene *scene, const char *uid)
{
    struct pod *pod = map_get(scene->snapshot.pods, uid);

    assert_non_null(pod);
    pod->deletion = scene->now;
    pod->gang.is_protected = true;
}

/* A pod that was told to stop is no work any more, however long it takes. */
static void what_is_leaving_already_costs_nothing(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    add_pod(&scene, "n1", "gone", "02:00", "");
    add_pod(&scene, "n2", "half", "11:00", "");
    add_pod(&scene, "n3", "half", "11:00", "");
    end_pod(&scene, "u-0");
    end_pod(&scene, "u-1");
    survey(&scene);
    assert_true(gang(&scene, "ml/gone")->is_sunk);
    assert_int_equal(gang(&scene, "ml/gone")->lost_gpu_s, 0);
    assert_false(((struct node_work *)map_get(scene.work, "n1"))->is_protected);
    assert_false(gang(&scene, "ml/half")->is_sunk);
    assert_int_equal(gang(&scene, "ml/half")->gpus, 4);
}

static void losses_fade_and_survive_a_restart(void **state)
{
    struct losses losses;
    struct losses again;
    struct error err = { 0 };
    owned(json) json_t *stored = NULL;
    struct wall_time monday = { 1794787200000 };
    struct wall_time week_later = { monday.ms + 7 * (int64_t)DAY_MS };

    (void)state;
    losses_init(&losses);
    losses_init(&again);
    assert_true(losses_share(&losses, "a") == 0);
    losses_add(&losses, "a", 1000, monday);
    losses_add(&losses, "b", 500, week_later); /* a's 1000 are half forgotten */
    stored = losses_encode(&losses);
    assert_int_equal(losses_decode(&again, stored, &err), 0);
    assert_true(losses_share(&again, "a") > 0.499 && losses_share(&again, "a") < 0.501);
    losses_add(&again, "b", 1, (struct wall_time){ monday.ms + 365 * (int64_t)DAY_MS });
    assert_true(losses_share(&again, "a") == 0);
    losses_clear(&losses);
    losses_clear(&again);
}

/* A journal that was changed by hand makes no team's work worth less than nothing. */
static void losses_below_zero_are_refused(void **state)
{
    static const struct {
        const char *value;
        bool is_good;
    } rows[] = { { "5", true }, { "0", true }, { "-5", false }, { "\"5\"", false } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct losses losses;
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            "{\"at\":\"2026-11-17T12:00:00Z\",\"gpu_s\":{\"a\":%s,\"b\":1}}", rows[i].value);
        owned(json) json_t *value = json_parse(chars, strlen(chars), "losses", &err);

        losses_init(&losses);
        assert_int_equal(losses_decode(&losses, value, &err) == 0, rows[i].is_good);
        assert_int_equal(map_count(losses.teams), rows[i].is_good ? 2 : 0);
        losses_clear(&losses);
    }
}

static void the_first_label_names_the_block(void **state)
{
    static const struct {
        const char *labels;
        const char *block;
    } cases[] = {
        { "{\"rack\":\"r1\",\"block\":\"b1\"}", "r1" },
        { "{\"block\":\"b1\"}", "b1" },
        { "{\"other\":\"x\"}", NULL },
    };
    owned(scene) struct scene scene;

    (void)state;
    scene_init(&scene);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            "{\"metadata\":{\"name\":\"n\",\"uid\":\"U\",\"resourceVersion\":\"9\",\"labels\":%s}}",
            cases[i].labels);
        owned(json) json_t *object = json_parse(chars, strlen(chars), "node", &err);
        struct node *node = node_decode(object, &err);

        assert_non_null(node);
        if (!text_equal(gangs_block(&scene.config, node), cases[i].block))
            fail_msg("%s", cases[i].labels);
        node_free(node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_by_itself_is_not_lost),
        cmocka_unit_test(reserved_nodes_have_a_rank_of_their_own),
        cmocka_unit_test(accelerators_that_cannot_be_read_are_a_whole_node),
        cmocka_unit_test(jobs_of_slurm_count_where_their_slurmd_runs),
        cmocka_unit_test(slices_and_other_makers_gpus_are_counted),
        cmocka_unit_test(a_gang_is_priced_whole),
        cmocka_unit_test(a_checkpoint_saves_what_was_before_it),
        cmocka_unit_test(silence_protects_up_to_the_median),
        cmocka_unit_test(a_job_that_is_cancelled_loses_its_whole_run),
        cmocka_unit_test(the_median_is_of_gangs_with_gpus),
        cmocka_unit_test(a_pod_that_is_not_to_be_drained_protects_its_node),
        cmocka_unit_test(a_pod_that_cannot_be_read_protects_its_node),
        cmocka_unit_test(a_priority_over_the_floor_protects_its_node),
        cmocka_unit_test(the_priority_of_a_gang_is_its_highest),
        cmocka_unit_test(who_lost_lately_is_dearer),
        cmocka_unit_test(no_price_is_more_than_a_plan_can_add_up),
        cmocka_unit_test(replicas_lose_only_their_place),
        cmocka_unit_test(what_is_leaving_already_costs_nothing),
        cmocka_unit_test(losses_fade_and_survive_a_restart),
        cmocka_unit_test(losses_below_zero_are_refused),
        cmocka_unit_test(the_first_label_names_the_block),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
