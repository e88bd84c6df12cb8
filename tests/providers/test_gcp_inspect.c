/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What inspect() finds in the simulator's world, one planted mistake a case; and that each request
 * that is sent has a row in the table of actions.
 */
#include "base/log.h"
#include "base/world/world.h"
#include "tests/providers/gcp_bench.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <stdlib.h>
#include <string.h>

static const char config[] =
    "clusters:\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 3}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab,\n"
    "             gke_location: r, gke_cluster: c, node_pool: np}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const struct gcp_pool whole = {
    .project = "p",
    .zone = "r-a",
    .group = "g-lab",
    .gke_location = "r",
    .gke_cluster = "c",
    .node_pool = "np",
    .gce_reservation = "main",
};

struct hearing {
    struct text *said; /* "VERDICT SUBJECT: TEXT" a line */
    int wrong;
    int doubtful;
    bool has_no_remedy;
    int calls;
    struct error err;
};

static void on_finding(void *context, const struct finding *finding)
{
    static const char *const verdicts[] = { "right", "doubtful", "wrong" };
    struct hearing *hearing = context;

    text_add(hearing->said, "%s %s: %s\n", verdicts[finding->verdict], finding->subject,
             finding->text);
    hearing->wrong += finding->verdict == FINDING_WRONG;
    hearing->doubtful += finding->verdict == FINDING_DOUBTFUL;
    hearing->has_no_remedy |= finding->verdict != FINDING_RIGHT && finding->remedy[0] == '\0';
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct hearing *hearing = context;

    (void)operation;
    hearing->calls++;
    hearing->err = err ? *err : (struct error){ 0 };
}

static struct hearing inspect(const char *gcp, const struct gcp_pool *pool, const char *fault)
{
    static const struct gcp_account account = {
        .endpoint = "http://127.0.0.1:1/gcp",
        .whose = { .metadata = "http://127.0.0.1:1/gcp" },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", config);
    bool denies = gcp && text_starts_with(gcp, "denied: ");
    owned(chars) char *text = denies
                                  ? text_format("pools: {lab-main: {nodes: 2}}\n%s\n", gcp)
                                  : text_format("pools: {lab-main: {nodes: 2%s%s%s}}\n",
                                                gcp ? ", gcp: {" : "", gcp ?: "", gcp ? "}" : "");
    owned(chars) char *world_path = test_folder_write(folder, "world.yaml", text);
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    struct hearing hearing = { .said = text_new(16 * 1024) };
    struct error err = { 0 };
    struct simulator *simulator = simulator_new(loop, config_path, world_path, &err);
    struct random random = { 0 };
    struct world world;
    struct provider *provider;

    if (!simulator)
        fail_msg("%s", err.text);
    if (fault)
        simulator_fault_next(simulator, fault, "get_node_pool");
    world = (struct world){ loop, simulator_http(simulator), &random, NULL, NULL };
    provider = gcp_provider(&world, &account, &err);
    assert_non_null(provider);
    assert_true(provider_can_inspect(provider));
    provider_inspect(provider, address_of(pool), on_finding, on_done, &hearing);
    for (int i = 0; i < 600 && hearing.calls == 0; i++)
        loop_run_until(loop, loop_now(loop) + 100);
    assert_int_equal(hearing.calls, 1);
    assert_false(hearing.has_no_remedy);
    provider_close(provider);
    simulator_free(simulator);
    return hearing;
}

static void a_pool_as_it_should_be(void **state)
{
    static const char want[] =
        "right permissions: the account has all that are needed\n"
        "right status/autoscaler: no autoscaler changes the size of the group\n"
        "right targetSizePolicy/mode: the group can grow by one machine\n"
        "right autoHealingPolicies: no autohealing policy makes machines again\n"
        "right listManagedInstancesResults: machines are listed in pages\n"
        "right autoscaling/enabled: no autoscaler changes the size of the node pool\n"
        "right instanceGroupUrls: the group is a part of the node pool\n"
        "right config/reservationAffinity/values: the node pool uses the reservation\n"
        "right status: the reservation is ready\n"
        "right specificReservation: 1 of the 3 machines of the reservation are free\n";
    struct hearing hearing = inspect(NULL, &whole, NULL);

    (void)state;
    assert_int_equal(hearing.err.kind, ERROR_NONE);
    assert_string_equal(hearing.said->chars, want);
    text_free(hearing.said);
}

/* Of a pool without GKE only the group is read. */
static void a_group_of_its_own(void **state)
{
    static const struct gcp_pool alone = { .project = "p", .zone = "r-a", .group = "g-lab" };
    struct hearing hearing = inspect("denied: [{whose: google, action: container.clusters.get}]",
                                     &alone, NULL);

    (void)state;
    assert_int_equal(hearing.err.kind, ERROR_NONE);
    assert_int_equal(hearing.wrong + hearing.doubtful, 0);
    assert_null(strstr(hearing.said->chars, "reservation"));
    text_free(hearing.said);
}

/* The name of the reservation is read from the node pool when the configuration has none. */
static void a_reservation_that_the_node_pool_names(void **state)
{
    struct gcp_pool pool = whole;
    struct hearing hearing;

    (void)state;
    pool.gce_reservation = NULL;
    hearing = inspect("node_pool: '{\"config\":{\"reservationAffinity\":{\"values\":["
                      "\"projects/p/reservations/main/reservationBlocks/b\"]}}}'",
                      &pool, NULL);
    assert_int_equal(hearing.wrong + hearing.doubtful, 0);
    assert_non_null(strstr(hearing.said->chars, "1 of the 3 machines"));
    text_free(hearing.said);
}

static void planted_mistakes_are_named(void **state)
{
    static const struct {
        const char *gcp;
        const char *want;
    } cases[] = {
        { "group: '{\"status\":{\"autoscaler\":\"https://x/autoscalers/a\"}}'",
          "wrong status/autoscaler: " },
        { "group: '{\"targetSizePolicy\":{\"mode\":\"BULK\"}}'", "wrong targetSizePolicy/mode: " },
        { "group: '{\"autoHealingPolicies\":[{\"initialDelaySec\":60}]}'",
          "doubtful autoHealingPolicies: " },
        { "group: '{\"updatePolicy\":{\"type\":\"PROACTIVE\"}}'", "doubtful updatePolicy/type: " },
        { "group: '{\"listManagedInstancesResults\":\"PAGELESS\"}'",
          "right listManagedInstancesResults: all machines are listed in one answer (PAGELESS)" },
        { "machines: '{\"scheduling\":{\"terminationTimestamp\":\"2026-12-01T10:00:00Z\"}}'",
          "doubtful scheduling/terminationTimestamp: Google deletes 2 of the machines at a set "
          "time, the first at 2026-12-01T10:00:00Z" },
        { "resize_requests: '{\"items\":[{\"name\":\"rr\",\"state\":\"SUCCEEDED\","
          "\"requestedRunDuration\":{\"seconds\":\"7200\"}}]}'",
          "doubtful resizeRequests: machines of the resize request rr are deleted 2h after they "
          "start" },
        { "resize_requests: '{\"items\":[{\"name\":\"rr\",\"state\":\"ACCEPTED\"}]}'",
          "doubtful resizeRequests: a resize request waits for machines" },
        { "node_pool: '{\"autoscaling\":{\"enabled\":true}}'", "wrong autoscaling/enabled: " },
        { "node_pool: '{\"queuedProvisioning\":{\"enabled\":true}}'",
          "wrong queuedProvisioning/enabled: " },
        { "node_pool: '{\"updateInfo\":{\"blueGreenInfo\":{\"phase\":\"DRAINING_BLUE_POOL\"}}}'",
          "wrong updateInfo/blueGreenInfo/phase: " },
        { "node_pool: '{\"status\":\"RECONCILING\"}'", "doubtful status: GKE changes" },
        { "node_pool: '{\"status\":\"ERROR\"}'", "wrong status: the node pool cannot be used" },
        { "node_pool: '{\"placementPolicy\":{\"type\":\"COMPACT\"}}'",
          "doubtful placementPolicy/type: " },
        { "node_pool: '{\"management\":{\"autoUpgrade\":true}}'",
          "doubtful management/autoUpgrade: " },
        { "node_pool: '{\"config\":{\"reservationAffinity\":{\"consumeReservationType\":"
          "\"ANY_RESERVATION\"}}}'",
          "doubtful config/reservationAffinity/consumeReservationType: " },
        { "node_pool: '{\"config\":{\"reservationAffinity\":{\"values\":[\"other\"]}}}'",
          "wrong config/reservationAffinity/values: the node pool uses the reservation other, not "
          "main" },
        { "node_pool: '{\"config\":{\"reservationAffinity\":{\"values\":[]}}}'",
          "wrong config/reservationAffinity/values: the node pool names no reservation" },
        { "node_pool: '{\"instanceGroupUrls\":[\"https://x/projects/p/zones/r-a/"
          "instanceGroupManagers/g-lab\",\"https://x/projects/p/zones/r-a/instanceGroupManagers/"
          "g-green\"]}'",
          "wrong instanceGroupUrls: the node pool has more than one group in the zone" },
        { "node_pool: '{\"instanceGroupUrls\":[\"https://x/projects/p/zones/r-ab/"
          "instanceGroupManagers/g-lab\"]}'",
          "wrong instanceGroupUrls: the group is not a part of the node pool" },
        { "reservation: '{\"status\":\"DELETING\"}'", "wrong status: the reservation is being" },
        { "reservation: '{\"deleteAtTime\":\"2026-12-24T00:00:00Z\"}'",
          "doubtful deleteAtTime: the reservation ends at 2026-12-24T00:00:00Z" },
        { "reservation: '{\"specificReservation\":{\"inUseCount\":\"3\"}}'",
          "right specificReservation: 0 of the 3 machines of the reservation are free" },
        { "reservation: '{\"specificReservation\":{\"count\":null}}'",
          "doubtful specificReservation: " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hearing hearing = inspect(cases[i].gcp, &whole, NULL);
        bool is_right = strncmp(cases[i].want, "right", 5) == 0;

        if (hearing.err.kind != ERROR_NONE || !strstr(hearing.said->chars, cases[i].want) ||
            is_right == (hearing.wrong + hearing.doubtful > 0))
            fail_msg("%s:\n%s%s", cases[i].gcp, hearing.said->chars, hearing.err.text);
        text_free(hearing.said);
    }
}

/* With any one permission taken away, inspect() names it. */
static void each_missing_permission_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < gcp_kind.action_count; i++) {
        const struct provider_action *action = &gcp_kind.actions[i];
        owned(chars) char *gcp = text_format("denied: [{whose: google, action: %s}]",
                                             action->permission);
        owned(chars) char *want = text_format("wrong %s: the account lacks it: sluice ",
                                              action->permission);
        struct hearing hearing;

        assert_true(action->name && action->name[0] && action->purpose && action->purpose[0]);
        if (action->permission[0] == '\0')
            continue;
        hearing = inspect(gcp, &whole, NULL);
        if (hearing.err.kind != ERROR_NONE || !strstr(hearing.said->chars, want))
            fail_msg("%s:\n%s%s", action->permission, hearing.said->chars, hearing.err.text);
        text_free(hearing.said);
    }
}

static void a_cloud_that_does_not_answer_is_an_error(void **state)
{
    struct hearing hearing = inspect(NULL, &whole, "http_500");

    (void)state;
    assert_int_equal(hearing.err.kind, ERROR_TRANSIENT);
    text_free(hearing.said);
}

static void a_node_pool_has_three_keys_or_none(void **state)
{
    static const struct gcp_pool part = { .project = "p", .group = "g", .node_pool = "np" };
    static const struct gcp_pool none = { .project = "p", .group = "g" };
    const char *key = NULL;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(gcp_kind.pool.check(&whole, &key, &err), 0);
    assert_int_equal(gcp_kind.pool.check(&none, &key, &err), 0);
    assert_int_equal(gcp_kind.pool.check(&part, &key, &err), -1);
    assert_string_equal(key, "node_pool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_as_it_should_be),
        cmocka_unit_test(a_group_of_its_own),
        cmocka_unit_test(a_reservation_that_the_node_pool_names),
        cmocka_unit_test(planted_mistakes_are_named),
        cmocka_unit_test(each_missing_permission_is_named),
        cmocka_unit_test(a_cloud_that_does_not_answer_is_an_error),
        cmocka_unit_test(a_node_pool_has_three_keys_or_none),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
