/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clock sweep: the wall clock of the broker's machine jumps while a node moves, at each of its
 * steps and in each of its waits.  Everything must happen at the true moments at which it happens
 * without a jump; the simulator's own time, which does not jump, is the judge.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"

#include <stdlib.h>

enum {
    SLICE_MS = 200,
    MOVE_MS = 2 * HOUR_MS,    /* the longest move that is waited for */
    AWAY_MS = 90 * SECOND_MS, /* of the broker, in its scene */
    WAIT_MS = 8 * MINUTE_MS,  /* how long a freeze, an extension, a closed pool holds a move */
    LATE_MS = 10 * SECOND_MS, /* what a jump may change: a poll more or less */
    SOON_MS = 30 * SECOND_MS, /* from what a scene begins with to the jump */
};

/* True moments of one play, in ms since the transfer was first seen; 0: never. */
enum {
    /* the steps' first moments come first */
    MOMENT_TOLD = STEP_COUNT, /* the held pod is told to stop, */
    MOMENT_FORCED,            /* or is deleted */
    MOMENT_THAWED,
    MOMENT_RECLAIM_OVER,
    MOMENT_POOL_OPEN,
    MOMENT_HOST_FREE,
    MOMENT_ENDED,
    MOMENT_COUNT,
};

static const char *const moment_names[MOMENT_COUNT] = {
    "announce",    "notice",       "cordon",    "drain",     "force",    "release",
    "clear",       "acquire",      "join",      "hand over", "pod told", "pod forced",
    "freeze over", "reclaim over", "pool open", "host free", "end",
};

struct course {
    int64_t began_ms;
    int64_t moments[MOMENT_COUNT];
    int64_t grace_s; /* that the held pod was given */
    int64_t lead_ms; /* that was learned */
};

struct scene {
    const char *name;
    enum transfer_step step;                               /* at which it happens, */
    int64_t delay_ms;                                      /* so long before the jump */
    void (*happen)(struct rehearsal *, struct transfer *); /* NULL: nothing but the jump */
    bool is_reclaim;
    bool is_away; /* the broker, while the clock jumps */
};

/* Jumps of one play: of the broker's clock, and where the API servers' clocks stand. */
struct jump {
    int64_t by_ms;
    int64_t again_ms;       /* by_ms and this; 0: there is no second one */
    int64_t again_after_ms; /* the first */
    int64_t prod_ahead_ms;  /* from the start */
    int64_t research_ahead_ms;
    bool is_other_boot; /* the machine started again meanwhile */
};

static const char no_room[] =
    "budgets: [{cluster: research-a, namespace: ml, selector_label: app=held, min_available: "
    "99}]\n";

/* On each node that may leave: a pod that its budget keeps until it is deleted. */
static void post_held_pods(struct rehearsal *rehearsal)
{
    void *value;

    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "research-a")->nodes, &i, NULL, &value);) {
        const struct kube_node *node = value;
        owned(chars) char *name = text_format("held-%s", node->name);

        if (!node->is_static)
            post(rehearsal, "api/v1/namespaces/ml/pods",
                 json_make(
                     "{s:{s:s, s:{s:s}, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}]}}",
                     "metadata", "name", name, "labels", "app", "held", "annotations",
                     "test.sluice.dev/stops-in", "50s", "ownerReferences", "kind", "ReplicaSet",
                     "name", "owner", "controller", 1, "spec", "nodeName", node->name,
                     "terminationGracePeriodSeconds", 60, "containers", "name", "main"));
    }
}

static void freeze_all(struct rehearsal *rehearsal, struct transfer *transfer)
{
    (void)transfer;
    freeze_for(rehearsal, "", WAIT_MS);
}

static void extend(struct rehearsal *rehearsal, struct transfer *transfer)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss sI ss}", "node", transfer->node, "for_s",
                                            (json_int_t)(WAIT_MS / SECOND_MS), "reason", "a run");
    owned(json) json_t *answer = service_hold(rehearsal->service, request, "test", &err);

    assert_non_null(answer);
}

/* As if the last attempt at a machine of the pool had failed, on a host that is to blame. */
static void close_pool(struct rehearsal *rehearsal, struct transfer *transfer)
{
    struct runner *runner = rehearsal->service->runner;
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    struct error err;

    attempts_failed(runner->attempts, transfer, "host-1", runner_now(runner), batch);
    assert_int_equal(journal_commit(rehearsal->journal, &batch, &err), 0);
}

static const struct scene scenes[] = {
    { "announce", STEP_ANNOUNCE, 0, NULL, false, false },
    { "notice", STEP_NOTICE, 0, NULL, false, false },
    { "cordon", STEP_CORDON, 0, NULL, false, false },
    { "drain", STEP_DRAIN, 0, NULL, false, false },
    { "force", STEP_FORCE, 0, NULL, false, false },
    { "release", STEP_RELEASE, 0, NULL, false, false },
    { "clear", STEP_CLEAR, 0, NULL, false, false },
    { "acquire", STEP_ACQUIRE, 0, NULL, false, false },
    { "join", STEP_JOIN, 0, NULL, false, false },
    { "hand over", STEP_HAND_OVER, 0, NULL, false, false },
    { "a freeze in the drain", STEP_DRAIN, SOON_MS, freeze_all, false, false },
    { "an extension", STEP_NOTICE, SOON_MS, extend, false, false },
    { "a closed pool", STEP_NOTICE, SOON_MS, close_pool, false, false },
    { "a reclaim", STEP_DRAIN, SOON_MS, NULL, true, false },
    { "away in the notice", STEP_NOTICE, SOON_MS, NULL, false, true },
    { "away in the drain", STEP_DRAIN, SOON_MS, NULL, false, true },
};

static struct rehearsal *open_world(const char *folder, const struct jump *jump)
{
    owned(chars) char *world = text_format(
        "%sclocks: { prod-a: %llds, research-a: %llds }\n", no_room,
        (long long)(jump ? jump->prod_ahead_ms / SECOND_MS : 0),
        (long long)(jump ? jump->research_ahead_ms / SECOND_MS : 0));

    return small_rehearsal_with(folder, 8, world,
                                "guard: {breaker: 1, breaker_pause: 8m}\n"
                                "join: {quarantine: 8m}\n",
                                "");
}

static void begin_move(struct rehearsal *rehearsal, const struct scene *scene)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss si}", "cluster", "prod-a", "nodes", 1,
                                            "reason", "launch", "for_s", 20 * 60);
    owned(json) json_t *answer = NULL;

    if (!scene->is_reclaim)
        return apply(rehearsal, 7, 7);
    apply(rehearsal, 6, 6);
    answer = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
}

static void note(struct course *course, int moment, bool is_now, int64_t now_ms)
{
    if (is_now && course->moments[moment] == 0)
        course->moments[moment] = now_ms - course->began_ms;
}

static void watch_pod(struct rehearsal *rehearsal, const struct transfer *transfer,
                      struct course *course, int64_t now_ms)
{
    owned(chars) char *id = text_format("ml/held-%s", transfer->node);
    const struct kube_pod *pod = map_get(sim_cluster(rehearsal->simulator, "research-a")->pods, id);

    if (!pod)
        return;
    note(course, MOMENT_TOLD, pod->deletion_ms > 0, now_ms);
    note(course, MOMENT_FORCED, pod->is_forced, now_ms);
    if (pod->deletion_ms > 0)
        course->grace_s = pod->deletion_grace_s;
}

/* What the broker says has ended. */
static void watch_holds(struct rehearsal *rehearsal, struct course *course, int64_t now_ms)
{
    const struct service *service = rehearsal->service;
    const struct runner *runner = service->runner;
    const struct config_pool *pool = config_pool(service->config, "prod-a-east");
    const struct lane *lane = attempts_lane(runner->attempts, pool);
    owned(json) json_t *freezes = freezes_describe(service, false);
    owned(json) json_t *reclaims = reclaims_describe(service);
    owned(json) json_t *hosts = attempts_hosts(runner->attempts, runner_now(runner));

    note(course, MOMENT_THAWED, service->guard.freezes.count > 0 && json_array_size(freezes) == 0,
         now_ms);
    note(course, MOMENT_RECLAIM_OVER, service->reclaims.count > 0 && json_array_size(reclaims) == 0,
         now_ms);
    note(course, MOMENT_HOST_FREE, lane->failures > 0 && json_array_size(hosts) == 0, now_ms);
    note(course, MOMENT_POOL_OPEN,
         lane->failures > 0 &&
             lane_closed_until(lane, &service->config->guard, runner_now(runner)).ms == 0,
         now_ms);
}

static void watch(struct rehearsal *rehearsal, const struct transfer *transfer,
                  struct course *course)
{
    int64_t now_ms = loop_now(rehearsal->loop);

    if (course->began_ms == 0)
        course->began_ms = now_ms;
    for (int step = 0; step <= transfer->step; step++)
        note(course, step, true, now_ms);
    watch_pod(rehearsal, transfer, course, now_ms);
    if (now_ms % (4 * SECOND_MS) < SLICE_MS)
        watch_holds(rehearsal, course, now_ms);
    note(course, MOMENT_ENDED, transfer->state != TRANSFER_LIVE, now_ms);
}

static void do_jump(struct rehearsal *rehearsal, const struct scene *scene, const struct jump *jump)
{
    struct error err = { 0 };

    if (scene->is_away)
        rehearsal_kill(rehearsal);
    if (jump)
        loop_virtual_jump(rehearsal->loop, jump->by_ms);
    if (jump && jump->is_other_boot)
        loop_virtual_reboot(rehearsal->loop);
    if (!scene->is_away)
        return;
    rehearsal_run(rehearsal, AWAY_MS);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

/* Until the transfer ended, and its freeze or reclaim with it. */
static struct course play(const struct scene *scene, const struct jump *jump)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_world(folder, jump);
    struct course course = { 0 };
    int64_t happened_ms = -1;
    int64_t jumped_ms = -1;
    const struct leads *leads;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    post_held_pods(rehearsal);
    begin_move(rehearsal, scene);
    for (int64_t ms = 0; ms < MOVE_MS; ms += SLICE_MS) {
        struct transfer *transfer = transfer_at(rehearsal, 0);

        if (transfer)
            watch(rehearsal, transfer, &course);
        if (transfer && happened_ms < 0 && transfer->step >= (int)scene->step) {
            if (scene->happen)
                scene->happen(rehearsal, transfer);
            happened_ms = ms;
        }
        if (happened_ms >= 0 && jumped_ms < 0 && ms >= happened_ms + scene->delay_ms) {
            do_jump(rehearsal, scene, jump);
            jumped_ms = ms;
        }
        if (jump && jump->again_ms != 0 && jumped_ms >= 0 && ms == jumped_ms + jump->again_after_ms)
            loop_virtual_jump(rehearsal->loop, jump->again_ms);
        if (course.moments[MOMENT_ENDED] > 0 &&
            (!scene->is_reclaim || course.moments[MOMENT_RECLAIM_OVER] > 0))
            break;
        rehearsal_run(rehearsal, SLICE_MS);
    }
    leads = lead_book_of(rehearsal->service->runner->leads,
                         config_pool(rehearsal->config, "prod-a-east"));
    course.lead_ms = leads->whole.count == 1 ? leads->whole.kept[0].ms : -1;
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    assert_int_equal(rehearsal->service->runner->notices.violations, 0);
    if (!scene->is_reclaim)
        expect_rest(rehearsal, 7);
    return course;
}

/* At most so much later than without a jump, and never sooner. */
static void expect_same(const struct course *got, const struct course *want, int64_t later_ms,
                        const char *scene, const struct jump *jump)
{
    char by[DURATION_TEXT_SIZE];
    owned(text) struct text *complaints = text_new(4096);

    for (int i = 0; i < MOMENT_COUNT; i++)
        if (got->moments[i] < want->moments[i] - LATE_MS ||
            got->moments[i] > want->moments[i] + LATE_MS + later_ms)
            text_add(complaints, " %s at %lld s, not %lld s;", moment_names[i],
                     (long long)got->moments[i] / 1000, (long long)want->moments[i] / 1000);
    if (llabs(got->grace_s - want->grace_s) > 2)
        text_add(complaints, " a grace of %lld s, not %lld s;", (long long)got->grace_s,
                 (long long)want->grace_s);
    if (llabs(got->lead_ms - want->lead_ms) > LATE_MS + later_ms)
        text_add(complaints, " learned %lld s, not %lld s;", (long long)got->lead_ms / 1000,
                 (long long)want->lead_ms / 1000);
    if (complaints->length > 0)
        fail_msg("%s, a jump of %s and %lld s, servers at %lld and %lld s:%s", scene,
                 duration_format(jump->by_ms, by), (long long)jump->again_ms / 1000,
                 (long long)jump->prod_ahead_ms / 1000, (long long)jump->research_ahead_ms / 1000,
                 complaints->chars);
}

static int case_count;

enum { JUMP_SAMPLE = 11 }; /* prime to the number of sizes */

static struct sweep_part part; /* set in main() */

static void try_jump(const struct scene *scene, const struct course *want, int64_t later_ms,
                     struct jump jump)
{
    struct course got;

    if (!sweep_plays(&part))
        return;
    got = play(scene, &jump);
    expect_same(&got, want, later_ms, scene->name, &jump);
    case_count++;
}

/* Where the API servers' clocks are: ours was right and is wrong now; it was wrong and is set
   right; or one server says this and the other that. */
enum servers { SERVERS_STAY, SERVERS_WERE_THERE, SERVERS_DIFFER };

static struct jump jump_by(int64_t by_ms, enum servers servers)
{
    return (struct jump){
        .by_ms = by_ms,
        .prod_ahead_ms = servers == SERVERS_WERE_THERE ? by_ms : 0,
        .research_ahead_ms = servers == SERVERS_STAY ? 0 : by_ms,
    };
}

static const int64_t sizes[] = { MINUTE_MS, -MINUTE_MS, HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS };

/* The steps, and what else a node waits for, are apart: of those an hour is enough. */
static void a_jump_changes_no_moment(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT_OF(scenes); s++) {
        const struct scene *scene = &scenes[s];
        struct course want = play(scene, NULL);

        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            bool is_short = scene->delay_ms == 0 || llabs(sizes[i]) == HOUR_MS;

            if (is_short)
                try_jump(scene, &want, 0, jump_by(sizes[i], SERVERS_STAY));
            if (is_short && llabs(sizes[i]) == HOUR_MS)
                try_jump(scene, &want, 0, jump_by(sizes[i], SERVERS_WERE_THERE));
        }
    }
}

/* One after the other before the first is followed, and after that; and back again. */
static void nor_do_two(void **state)
{
    static const struct {
        int64_t part; /* of the first, in whole ones */
        int64_t after_ms;
    } seconds[] = { { 1, 20 * SECOND_MS }, { 1, 3 * MINUTE_MS }, { -1, 90 * SECOND_MS } };
    static const enum transfer_step steps[] = { STEP_NOTICE, STEP_DRAIN, STEP_JOIN };

    (void)state;
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        const struct scene *scene = &scenes[steps[s]];
        struct course want = play(scene, NULL);

        for (size_t i = 0; i < COUNT_OF(seconds); i++)
            for (int sign = -1; sign <= 1; sign += 2) {
                struct jump jump = jump_by(sign * HOUR_MS, SERVERS_DIFFER);

                jump.again_ms = seconds[i].part * jump.by_ms;
                jump.again_after_ms = seconds[i].after_ms;
                try_jump(scene, &want, 0, jump);
            }
    }
}

/* How long the machine was off is not known: that time, and what was not written down of the time
   before, is given to the pods. */
static void after_a_start_of_the_machine_no_pod_has_less(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT_OF(scenes); s++) {
        struct course want;

        if (!scenes[s].is_away)
            continue;
        want = play(&scenes[s], NULL);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            struct jump jump = jump_by(sizes[i], i % 2 == 0 ? SERVERS_STAY : SERVERS_WERE_THERE);

            jump.is_other_boot = true;
            try_jump(&scenes[s], &want, AWAY_MS + SOON_MS, jump);
        }
    }
}

/* The order and its transfers are shifted alike: what the order covered, it covers still. */
static void an_order_that_was_shifted_still_takes_back_its_moves(void **state)
{
    static const int64_t jumps[] = { -10 * MINUTE_MS, 10 * MINUTE_MS, -DAY_MS };
    const struct scene scene = { .name = "an ended reclaim", .is_reclaim = true };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct jump jump = jump_by(jumps[i], SERVERS_WERE_THERE);
        owned(rehearsal) struct rehearsal *rehearsal = open_world(folder, &jump);
        const struct reclaim *order;
        struct transfer *transfer;
        struct error err = { 0 };
        owned(json) json_t *request = NULL;
        owned(json) json_t *answer = NULL;
        int64_t held_ms;
        int64_t promised_ms;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        post_held_pods(rehearsal);
        loop_virtual_jump(rehearsal->loop, jump.by_ms);
        rehearsal_run(rehearsal, SOON_MS);
        begin_move(rehearsal, &scene);
        order = &rehearsal->service->reclaims.items[0];
        held_ms = order->until.ms - order->created.ms;
        promised_ms = order->promised.ms - order->created.ms;
        transfer = run_to(rehearsal, STEP_DRAIN);
        assert_non_null(transfer);
        assert_int_equal(story_count(rehearsal, "clock_followed"), 0);
        while (story_count(rehearsal, "clock_followed") == 0)
            rehearsal_run(rehearsal, SECOND_MS);
        assert_int_equal(transfer->step, STEP_DRAIN);
        assert_int_equal(order->until.ms - order->created.ms, held_ms);
        assert_int_equal(order->promised.ms - order->created.ms, promised_ms);
        request = json_make("{ss ss}", "id", order->order, "reason", "it is over");
        answer = service_end_reclaim(rehearsal->service, request, "ada", &err);
        assert_non_null(answer);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_string_equal(transfer_state_name(transfer->state), "undone");
        expect_rest(rehearsal, 6);
    }
}

static int print_count(void **state)
{
    (void)state;
    print_message("sweep clock: %d cases\n", case_count);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_changes_no_moment),
        cmocka_unit_test(nor_do_two),
        cmocka_unit_test(an_order_that_was_shifted_still_takes_back_its_moves),
        cmocka_unit_test_teardown(after_a_start_of_the_machine_no_pod_has_less, print_count),
    };

    part = sweep_part(JUMP_SAMPLE);
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
