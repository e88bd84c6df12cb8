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
    static const char common[] = "-p slices --time=20";
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
