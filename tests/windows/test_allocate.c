/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The search against trying every number, and whole plans: certified, the same for any number of
 * threads, untouched by other queues, fair where nodes are scarce.
 */
#include "tests/windows/plant.h"
#include "windows/queueing/estimate.h"

#include <math.h>
#include <string.h>

static struct search_setup random_case(struct random *random, struct demand_series *series,
                                       struct segment_list *segments,
                                       const struct service_time *service)
{
    series->start.ms = monday_ms;
    series->step_ms = MINUTE_MS;
    series->count = 40 + random_below(random, 60);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        uint64_t most = 1 + random_below(random, 12);

        series->counts[class] = mem_new_array(series->count, sizeof(int32_t));
        for (size_t i = 0; i < series->count; i++)
            series->counts[class][i] = (int32_t)random_below(random, most);
    }
    segments_of_series(
        series, (struct wall_span){ series->start, demand_time(series, series->count) }, segments);
    return (struct search_setup){
        .series = series,
        .segments = segments,
        .service = service,
        .scale = 1,
        .target = { (int64_t)random_below(random, 40) * SECOND_MS, 90 },
        .seed = random_next(random),
        .seeds = 3,
    };
}

static bool passes_under_all(const struct search_setup *setup, int servers)
{
    for (int seed = 0; seed < setup->seeds; seed++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, seed, NULL);

        if (!replay_passes(arrivals, servers, &setup->target, NULL))
            return false;
    }
    return true;
}

/* Up from one: the first number that passes, the next one too, under all seeds. */
static int exhaustive(const struct search_setup *setup)
{
    for (int servers = 1; servers < 200; servers++)
        if (passes_under_all(setup, servers) && passes_under_all(setup, servers + 1))
            return servers;
    return -1;
}

static void the_search_finds_what_trying_everything_finds(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(15, 1);
    struct random random;
    int different = 0;

    (void)state;
    random_seed(&random, 11);
    for (int turn = 0; turn < 150; turn++) {
        struct demand_series series = { .queue = (char *)(uintptr_t) "small" };
        struct segment_list segments = { 0 };
        struct search_setup setup = random_case(&random, &series, &segments, service);
        struct search_result result;

        assert_int_equal(search_servers(&setup, &result, NULL), 0);
        if (result.servers > 0) {
            assert_true(passes_under_all(&setup, result.servers));
            assert_true(passes_under_all(&setup, result.servers + 1));
            assert_false(result.servers > 1 && passes_under_all(&setup, result.servers - 1));
            different += result.servers != exhaustive(&setup);
        }
        segments_clear(&segments);
        mem_free(series.counts[0]);
        mem_free(series.counts[1]);
    }
    /* the high class is not monotone: a smaller number that passes by chance may be stepped over */
    assert_true(different <= 2);
}

static void every_answer_is_certified(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;

    (void)state;
    plant_init(&plant, queues, 3);

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t i = 0; i < plan->window_count * plan->queue_count; i++) {
        const struct allocate_queue *queue = &plant.queues[i % 3];
        const struct allocate_cell *cell = &plan->cells[i];
        owned(segments) struct segment_list segments = { 0 };
        owned(service_time) struct service_time *service = service_time_new(queue->service_s,
                                                                            queue->service_cv);
        struct search_setup setup = { queue->demand, &segments, service, 1,
                                      queue->target, 1,         3,       false };

        segments_of_window(queue->demand, plant.windows, i / 3,
                           (struct wall_span){ plant.model.from, plant.model.to }, &segments);
        assert_true(cell->search.servers > 1);
        assert_int_equal(cell->granted, cell->search.servers);
        assert_true(cell->wait_s <= 30);
        assert_true(passes_under_all(&setup, cell->search.servers));

        owned(arrivals) struct arrivals *arrivals = search_arrivals(
            &setup, cell->search.failing_seed, NULL);

        assert_false(replay_passes(arrivals, cell->search.servers - 1, &queue->target, NULL));
    }
    plant_clear(&plant);
}

static void the_worst_of_the_seeds_counts(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;
    int raised = 0;

    (void)state;
    plant_init(&plant, queues, 3);
    plant.model.seeds = 1;

    owned(allocate_plan) struct allocate_plan *one = plan_of(&plant);

    plant.model.seeds = 6;

    owned(allocate_plan) struct allocate_plan *six = plan_of(&plant);

    for (size_t i = 0; i < one->window_count * 3; i++) {
        assert_true(six->cells[i].search.servers >= one->cells[i].search.servers);
        if (six->cells[i].search.servers > one->cells[i].search.servers) {
            assert_true(six->cells[i].search.failing_seed > 0);
            raised++;
        }
    }
    assert_true(raised > 0);
    plant_clear(&plant);
}

static void the_number_of_threads_changes_nothing(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;

    (void)state;
    plant_init(&plant, queues, 3);

    owned(allocate_plan) struct allocate_plan *one = plan_of(&plant);

    plant.model.threads = 5;

    owned(allocate_plan) struct allocate_plan *five = plan_of(&plant);
    owned(chars) char *left = all_schedules(one);
    owned(chars) char *right = all_schedules(five);

    assert_string_equal(left, right);
    for (size_t i = 0; i < one->window_count * one->queue_count; i++) {
        assert_int_equal(one->cells[i].search.worst_seed, five->cells[i].search.worst_seed);
        assert_true(one->cells[i].wait_s == five->cells[i].wait_s);
    }
    plant_clear(&plant);
}

struct told {
    struct progress_state last;
    size_t calls;
    bool is_forward;
};

static void note(void *context, const struct progress_state *state)
{
    struct told *told = context;

    told->is_forward = told->is_forward && state->share >= told->last.share &&
                       state->done == told->calls;
    told->calls++;
    told->last = *state;
}

/* What is known already is not searched again, and not counted. */
static void progress_is_told_of_each_number_that_is_searched(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;
    size_t searched = 0;

    (void)state;
    plant_init(&plant, queues, 3);
    plant.model.threads = 3;
    owned(allocate_plan) struct allocate_plan *plan = allocate_plan_new(&plant.model);

    for (size_t parts = 2; parts > 0; parts--) {
        struct told told = { .is_forward = true };

        plant.model.report = (struct progress_report){ note, &told };
        assert_int_equal(allocate_search(&plant.model, plan, 0, parts, NULL), 0);
        assert_true(told.is_forward);
        assert_true(told.last.count > 0 && told.last.count < plan->window_count * 3);
        assert_int_equal(told.last.done, told.last.count);
        assert_true(fabs(told.last.share - 1) < 1e-9);
        searched += told.last.count;
    }
    assert_int_equal(searched, plan->window_count * 3);
    plant_clear(&plant);
}

static void another_queue_leaves_the_rows_of_the_others(void **state)
{
    static const char *const few[] = { "b", "c" };
    static const char *const many[] = { "b", "c", "a" };
    struct plant plant;

    (void)state;
    plant_init(&plant, few, 2);

    owned(allocate_plan) struct allocate_plan *before = plan_of(&plant);

    plant_clear(&plant);
    plant_init(&plant, many, 3);

    owned(allocate_plan) struct allocate_plan *after = plan_of(&plant);

    for (size_t window = 0; window < before->window_count; window++)
        for (size_t i = 0; i < 2; i++) {
            const struct search_result *left = &before->cells[window * 2 + i].search;
            const struct search_result *right = &after->cells[window * 3 + i].search;

            assert_int_equal(left->servers, right->servers);
            assert_int_equal(left->worst_seed, right->worst_seed);
            assert_true(left->wait_s[0] == right->wait_s[0] && left->wait_s[1] == right->wait_s[1]);
        }
    plant_clear(&plant);
}

static void replicas_and_nodes_add_up(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;

    (void)state;
    plant_init(&plant, queues, 3);

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    for (size_t window = 0; window < plan->window_count; window++) {
        const struct schedule *schedule = plan->schedules[window];
        int gpus[2] = { 0 };

        for (size_t i = 0; i < 3; i++) {
            int parts[2] = { schedule_replicas_of(schedule, plant.workloads[i].name, "prod-a"),
                             schedule_replicas_of(schedule, plant.workloads[i].name, "prod-b") };

            assert_int_equal(parts[0] + parts[1], plan->cells[window * 3 + i].search.servers);
            for (size_t at = 0; at < 2; at++)
                gpus[at] += parts[at] * plant.workloads[i].gpus;
        }
        for (size_t at = 0; at < 2; at++) {
            const char *name = plant.clusters[at].name;

            assert_int_equal(schedule_nodes_of(schedule, "h100", "r1", name, 0) +
                                 schedule_nodes_of(schedule, "h100", "r1", name, 1),
                             (gpus[at] + 7) / 8 + 1);
        }
    }
    plant_clear(&plant);
}

static void scarce_nodes_go_to_whom_they_help_most_and_the_plan_says_so(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;

    (void)state;
    plant_init(&plant, queues, 3);
    plant.reservation_nodes[0] = 12;
    plant.reservation_nodes[1] = 6;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);
    int misses = 0;

    assert_false(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++) {
        const struct schedule *schedule = plan->schedules[window];
        int nodes = 0;

        for (size_t zone = 0; zone < 2; zone++)
            for (size_t at = 0; at < 2; at++)
                nodes += schedule_nodes_of(schedule, "h100", "r1", plant.clusters[at].name, zone);
        assert_true(nodes <= 18);
        for (size_t i = 0; i < 3; i++) {
            const struct allocate_cell *cell = &plan->cells[window * 3 + i];

            assert_true(cell->granted <= cell->search.servers);
            if (cell->granted < cell->search.servers) {
                assert_true(plan->missing_nodes[window] > 0);
                assert_true(cell->granted > 0);
                misses++;
            }
        }
    }
    assert_true(misses > 0);
    plant_clear(&plant);
}

static void a_window_without_knowledge_is_an_error_and_not_zero(void **state)
{
    static const char *const queues[] = { "a" };
    struct plant plant;
    struct error err = { 0 };

    (void)state;
    plant_init(&plant, queues, 1);
    plant.model.to.ms = monday_ms + DAY_MS; /* one Monday */
    assert_null(allocate_plan(&plant.model, &err));
    assert_non_null(strstr(err.text, "queue a: nothing is known"));
    assert_non_null(strstr(err.text, "weekend-day"));
    plant_clear(&plant);
}

/* Half of the steps forgotten: the answer stays, where zeroes would have halved it. */
static void unknown_steps_are_left_out_of_both_sides(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(20, 1);
    int32_t counts[720];
    struct demand_series series = { .queue = (char *)(uintptr_t) "half",
                                    .start = { monday_ms },
                                    .step_ms = MINUTE_MS,
                                    .count = 720,
                                    .is_single = true,
                                    .counts = { NULL, counts } };
    struct search_result results[2];

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        owned(segments) struct segment_list segments = { 0 };
        struct search_setup setup = {
            &series, &segments, service, 1, { .wait_ms = 10 * SECOND_MS, .percentile = 98 },
            1,       4,         false,
        };

        for (int i = 0; i < 720; i++)
            counts[i] = turn == 1 && i / 60 % 2 == 1 ? DEMAND_UNKNOWN : 120;
        segments_of_series(&series, (struct wall_span){ series.start, demand_time(&series, 720) },
                           &segments);
        assert_int_equal(segments.list.count, turn == 1 ? 6 : 1);
        assert_int_equal(search_servers(&setup, &results[turn], NULL), 0);
    }
    assert_int_equal(results[0].requests[DEMAND_LOW], 720 * 120);
    assert_int_equal(results[1].requests[DEMAND_LOW], 360 * 120);
    assert_true(results[0].servers > 40);
    assert_true(abs(results[0].servers - results[1].servers) <= 2);
}

static void the_estimate_is_near_the_replay(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct plant plant;

    (void)state;
    plant_init(&plant, queues, 3);

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    for (size_t i = 0; i < plan->window_count * 3; i++) {
        const struct allocate_queue *queue = &plant.queues[i % 3];
        owned(segments) struct segment_list segments = { 0 };
        owned(service_time) struct service_time *service = service_time_new(queue->service_s,
                                                                            queue->service_cv);
        struct arrivals_setup setup = { queue->demand, &segments, service, 1, 1 };
        struct estimate estimate;

        segments_of_window(queue->demand, plant.windows, i / 3,
                           (struct wall_span){ plant.model.from, plant.model.to }, &segments);
        estimate_init(&estimate, &setup);

        double ratio = (double)estimate_servers(&estimate, 0.98, 30) /
                       (double)plan->cells[i].search.servers;

        assert_true(ratio > 0.85 && ratio < 1.15);
    }
    plant_clear(&plant);
}

static void pressure_is_finite_and_falls_with_servers(void **state)
{
    struct estimate estimate = { .mean_s = 10, .cv = 1, .load_max = 50 };
    double previous = 1e9;

    (void)state;
    estimate.share[ESTIMATE_BINS - 1] = 0.5;
    estimate.share[ESTIMATE_BINS / 2] = 0.5;
    for (int servers = 0; servers < 80; servers++) {
        double pressure = estimate_pressure(&estimate, servers, 0.98, 30);

        assert_true(isfinite(pressure) && pressure <= previous && pressure >= 0);
        assert_true((servers < 50) == (pressure >= 1000));
        previous = pressure;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_trying_everything_finds),
        cmocka_unit_test(every_answer_is_certified),
        cmocka_unit_test(the_worst_of_the_seeds_counts),
        cmocka_unit_test(the_number_of_threads_changes_nothing),
        cmocka_unit_test(progress_is_told_of_each_number_that_is_searched),
        cmocka_unit_test(another_queue_leaves_the_rows_of_the_others),
        cmocka_unit_test(replicas_and_nodes_add_up),
        cmocka_unit_test(scarce_nodes_go_to_whom_they_help_most_and_the_plan_says_so),
        cmocka_unit_test(a_window_without_knowledge_is_an_error_and_not_zero),
        cmocka_unit_test(unknown_steps_are_left_out_of_both_sides),
        cmocka_unit_test(the_estimate_is_near_the_replay),
        cmocka_unit_test(pressure_is_finite_and_falls_with_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
