/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: GPUs that are cut into slices (MIG).
 */
#include "broker/config/config.h"
#include "broker/planning/gangs.h"
#include "clusters/slurm_snapshot.h"
#include "tests/slurm/slurm_stage.h"

/* What the product knows of the cluster, and the jobs that it would weigh in a choice of nodes. */
struct view {
    struct snapshot snapshot;
    struct losses losses;
    struct gang_book book;
    struct map *work;
};

static json_t *list_of(struct stage *stage, enum slurm_action action)
{
    if (!stage_ask(stage, action, NULL))
        fail_msg("%s", stage->err.text);
    return json_incref(stage->list);
}

static void look(struct stage *stage, struct view *view)
{
    owned(json) json_t *nodes = list_of(stage, SLURM_LIST_NODES);
    owned(json) json_t *jobs = list_of(stage, SLURM_LIST_JOBS);
    owned(json) json_t *reservations = list_of(stage, SLURM_LIST_RESERVATIONS);
    owned(json) json_t *partitions = list_of(stage, SLURM_LIST_PARTITIONS);
    const struct slurm_lists lists = { nodes, jobs, reservations, partitions };
    const struct slurm_view names = { .cluster = "lab", .machine = "gce://p/z/{name}" };
    struct config config = { 0 };
    struct config_cluster cluster = { .role = ROLE_RESEARCH };

    *view = (struct view){ 0 };
    snapshot_init(&view->snapshot);
    losses_init(&view->losses);
    if (slurm_snapshot_fill(&view->snapshot, &lists, &names, &stage->err) < 0)
        fail_msg("%s", stage->err.text);
    view->work = gangs_survey(&(struct gang_survey){ .config = &config,
                                                     .cluster = &cluster,
                                                     .snapshot = &view->snapshot,
                                                     .losses = &view->losses,
                                                     .now = loop_wall(stage->loop) },
                              &view->book);
}

static void view_clear(struct view *view)
{
    map_free(view->work);
    array_clear(&view->book.gangs);
    losses_clear(&view->losses);
    snapshot_clear(&view->snapshot);
}

/* A whole GPU, seven slices of a second one, and three sevenths of a third. */
void slices_are_counted(struct stage *stage)
{
    owned(text) struct text *slices = text_new(1000);
    struct view view;

    look(stage, &view);
    const struct node *node = map_get(view.snapshot.nodes, "s1");

    assert_non_null(node);
    assert_true(node->is_ready);
    assert_int_equal(gpus_of_node(&view.snapshot, node), 3);
    gpus_slices(&view.snapshot, node, slices);
    assert_non_null(strstr(slices->chars, "nvidia.com/mig-1g.5gb 7"));
    assert_non_null(strstr(slices->chars, "nvidia.com/mig-3g.20gb 1"));
    assert_null(map_get(view.work, "s1"));
    view_clear(&view);
}

/* The slices of a job, as the product has read them: sevenths of a GPU. */
static void check_job(const struct view *view, const char *job, int sevenths)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(&view->snapshot, "s1", &count);
    const struct node_work *work = map_get(view->work, "s1");

    assert_non_null(work);
    assert_int_equal(gangs_rank(work), VICTIM_OPEN);
    for (size_t i = 0; i < count; i++)
        if (text_equal(pods[i]->name, job)) {
            struct gpu_demand demand = gpus_of_pod(&view->snapshot, pods[i]);

            assert_false(demand.is_whole);
            assert_int_equal(demand.parts, sevenths * (GPU_PARTS / 7));
            for (size_t k = 0; k < work->gangs.count; k++)
                if (text_equal(view->book.gangs.items[work->gangs.items[k]].name,
                               pods[i]->gang.key))
                    return;
        }
    fail_msg("job %s is not weighed on its node", job);
}

void a_job_with_a_slice_is_weighed(struct stage *stage)
{
    static const char common[] = "--partition=slices --time=20";
    owned(chars) char *two = text_format("%s --gres=gpu:a100_1g.5gb:2", common);
    owned(chars) char *all = text_format("%s --gres=gpu:3g.20gb:1", common);
    owned(chars) char *first = stage_submit(stage, SCRIPT_PLAIN, 600, two);
    owned(chars) char *second = stage_submit(stage, SCRIPT_PLAIN, 600, all);
    const struct slurm_blanks blanks = { .job = first };
    struct view view;

    stage_await_job(stage, first, SLURM_JOB_RUNNING);
    stage_await_job(stage, second, SLURM_JOB_RUNNING);
    look(stage, &view);
    check_job(&view, first, 2);
    assert_int_equal(view.book.gangs.count, 2);
    view_clear(&view);
    if (!stage_ask(stage, SLURM_REQUEUE_JOB, &blanks))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, first, SLURM_JOB_PENDING);
    assert_string_equal(stage_job(stage, first).nodes, "");
    assert_int_equal(stage_job(stage, second).state, SLURM_JOB_RUNNING);
}

/* The slices of a job that runs, as the product reads them; all in its account. */
static struct gpu_demand demand_of(struct stage *stage, const char *job)
{
    struct gpu_demand demand = { .parts = -1 };
    struct view view;
    size_t count;

    look(stage, &view);
    const struct pod *const *pods = snapshot_pods_on(&view.snapshot, "s1", &count);

    for (size_t i = 0; i < count; i++)
        if (text_equal(pods[i]->name, job))
            demand = gpus_of_pod(&view.snapshot, pods[i]);
    view_clear(&view);
    return demand;
}

/* sbatch itself refuses it. */
static void refuse(struct stage *stage, const char *gres, const char *why)
{
    stage_run(stage, "sbatch --partition=slices --time=20 --gres=%s --wrap='sleep 600'", gres);
    assert_int_equal(stage->status, 1);
    if (!stage_said(stage, why))
        fail_msg("%s: %s", gres, stage->out->chars);
}

/* Those that slurmctld refused: FAILED, and on no node. */
static int count_failed(struct stage *stage)
{
    owned(json) json_t *jobs = list_of(stage, SLURM_LIST_JOBS);
    int count = 0;
    size_t i;
    json_t *item;

    json_array_foreach(jobs, i, item) {
        struct slurm_job job;

        if (slurm_read_job(item, &job, &stage->err) < 0)
            fail_msg("%s", stage->err.text);
        if (!text_equal(json_text_or(item, "state_reason", ""), "BadConstraints"))
            continue;
        assert_int_equal(job.state, SLURM_JOB_ENDED);
        assert_string_equal(job.nodes, "");
        count++;
    }
    return count;
}

void slices_are_asked_for(struct stage *stage)
{
    static const char lacks[] = "Batch job submission failed: Requested node configuration is not "
                                "available";
    int before = count_failed(stage);

    refuse(stage, "gpu:3g.20gb:2", lacks);
    refuse(stage, "gpu:a100_1g.5gb:8", lacks);
    refuse(stage, "gpu:1g.5gb:1", lacks); /* not by its profile alone */
    refuse(stage, "gpu:h100:1", lacks);   /* of another partition */
    refuse(stage, "gpu:10", lacks);
    refuse(stage, "foo:1", "Invalid generic resource (gres) specification");
    refuse(stage, "gpu:1,gpu:a100:1",
           "Invalid GRES specification (with and without type identification)");
    refuse(stage, "gpu:a100_1g.5gb:x",
           stage->release < 2411 ? "Invalid generic resource (gres) specification"
                                 : "Invalid Trackable RESource (TRES) specification");
    assert_int_equal(count_failed(stage), before + 5);
    if (stage->release < 2411)
        refuse(stage, "gpu:3g.20gb", "Invalid Trackable RESource (TRES) specification");

    owned(chars) char *job = stage_submit(
        stage, SCRIPT_PLAIN, 600,
        stage->release < 2411 ? "--partition=slices --time=20 --gres=gpu:a100_1g.5gb"
                              : "--partition=slices --time=20 --gres=gpu:3g.20gb");
    struct gpu_demand demand;

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    demand = demand_of(stage, job);
    assert_false(demand.is_whole);
    assert_int_equal(demand.parts, stage->release < 2411 ? GPU_PARTS / 7 : GPU_PARTS / 2);
    assert_int_equal(count_failed(stage), before + 5);
}

/* Where a whole GPU is free, it is the first. */
void any_gpu_may_be_a_slice(struct stage *stage)
{
    static const char options[] = "--partition=slices --time=20 --gpus=2";
    owned(chars) char *both = stage_submit(stage, SCRIPT_PLAIN, 600, options);
    owned(chars) char *slices = NULL;
    struct slurm_job job;

    stage_await_job(stage, both, SLURM_JOB_RUNNING);
    slices = stage_submit(stage, SCRIPT_PLAIN, 600, options);
    stage_await_job(stage, slices, SLURM_JOB_RUNNING);
    job = stage_job(stage, both);
    assert_int_equal(json_array_size(job.gres), 1);
    assert_string_equal(json_string_value(json_array_get(job.gres, 0)),
                        "gpu:a100:1(IDX:0),gpu:a100_1g.5gb:1(IDX:1),gpu:3g.20gb:0(IDX:)");
    job = stage_job(stage, slices);
    assert_string_equal(json_string_value(json_array_get(job.gres, 0)),
                        "gpu:a100:0(IDX:),gpu:a100_1g.5gb:2(IDX:2-3),gpu:3g.20gb:0(IDX:)");
    assert_false(demand_of(stage, both).is_whole);
    assert_int_equal(demand_of(stage, both).parts, GPU_PARTS + GPU_PARTS / 7);
    assert_int_equal(demand_of(stage, slices).parts, 2 * (GPU_PARTS / 7));
}
