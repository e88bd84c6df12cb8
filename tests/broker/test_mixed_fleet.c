/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Twelve nodes whose GPUs are whole, cut into slices, of other makers, and given out by drivers:
 * from API objects to gangs, to the set of nodes that loses least.  What each pod holds is known
 * here by the way it was made, and the best set by trying all of them.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "base/random.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "broker/planning/gangs.h"
#include "clusters/kube_kinds.h"
#include "tests/support/unit.h"

#include <string.h>

enum { NODES = 12, JOBS = 8, PODS = 16, UNITS_MOST = 4, ROUNDS = 25 };

static const char now_text[] = "2026-11-17T12:00:00Z";

/* How a node has its GPUs, and what one unit of them is. */
static const struct {
    const char *labels;
    const char *allocatable;
    const char *resource; /* that pods ask for; NULL: devices of a driver */
    const char *device;   /* one of them, without its name */
    int64_t parts;
} kinds[] = {
    { "", "\"nvidia.com/gpu\":\"8\"", "nvidia.com/gpu", NULL, GPU_PARTS },
    { "\"nvidia.com/gpu.memory\":\"81559\"", "\"nvidia.com/mig-1g.10gb\":\"56\"",
      "nvidia.com/mig-1g.10gb", NULL, GPU_PARTS / 7 },
    { "", "\"amd.com/gpu\":\"8\"", "amd.com/gpu", NULL, GPU_PARTS },
    { "", "", NULL, "{}", GPU_PARTS },
    { "", "", NULL,
      "{\"attributes\":{\"type\":{\"string\":\"mig\"},\"parentUUID\":{\"string\":"
      "\"GPU-0\"},\"profile\":{\"string\":\"3g.40gb\"},\"productName\":{\"string\":"
      "\"NVIDIA H100 80GB HBM3\"}}}",
      GPU_PARTS / 2 },
};

struct job {
    int64_t parts;
    int64_t lost_s;
    unsigned nodes; /* bits */
};

struct fleet {
    struct config config;
    struct config_cluster cluster;
    struct snapshot snapshot;
    struct losses losses;
    struct wall_time now;
    struct job jobs[JOBS];
    int pods;
};

static void put(struct map *objects, struct index *index, const struct kube_kind *kind,
                const char *chars)
{
    struct error err = { 0 };
    owned(json) json_t *object = json_parse(chars, strlen(chars), "object", &err);
    void *decoded = object ? kind->decode(object, &err) : NULL;

    if (!decoded)
        fail_msg("%s: %s", chars, err.text);
    index_change(index, "", NULL, kind->index_key(decoded), decoded);
    map_set(objects, json_text_or(object, kind->key_path, "?"), decoded);
}

static void add_node(struct fleet *fleet, int at)
{
    size_t kind = (size_t)at % COUNT_OF(kinds);
    owned(text) struct text *devices = text_new(TEXT_UNBOUNDED);
    owned(chars) char *node = text_format("{\"metadata\":{\"name\":\"n%d\",\"uid\":\"un%d\","
                                          "\"resourceVersion\":\"1\",\"labels\":{%s}},"
                                          "\"status\":{\"allocatable\":{%s}}}",
                                          at, at, kinds[kind].labels, kinds[kind].allocatable);
    owned(chars) char *slice = NULL;

    put(fleet->snapshot.nodes, fleet->snapshot.nodes_by_provider, &kube_nodes, node);
    if (kinds[kind].resource)
        return;
    for (int i = 0; i < UNITS_MOST; i++) {
        bool is_plain = kinds[kind].device[1] == '}';

        text_add(devices, "%s{\"name\":\"d%d\"%s%s", i > 0 ? "," : "", i, is_plain ? "" : ",",
                 kinds[kind].device + 1);
    }
    slice = text_format(
        "{\"metadata\":{\"name\":\"s%d\"},\"spec\":{\"nodeName\":\"n%d\",\"driver\":"
        "\"gpu.nvidia.com\",\"pool\":{\"name\":\"n%d\",\"generation\":1,"
        "\"resourceSliceCount\":1},\"devices\":[%s]}}",
        at, at, at, devices->chars);
    put(fleet->snapshot.slices, fleet->snapshot.slices_by_node, kube_slices_of("v1"), slice);
}

/* A claim that was given so many devices of the node; its name is the pod's. */
static void add_claim(struct fleet *fleet, int pod, int node, int units)
{
    owned(text) struct text *results = text_new(TEXT_UNBOUNDED);
    owned(chars) char *claim = NULL;

    for (int i = 0; i < units; i++)
        text_add(results,
                 "%s{\"request\":\"r\",\"driver\":\"gpu.nvidia.com\",\"pool\":\"n%d\",\"device\":"
                 "\"d%d\"}",
                 i > 0 ? "," : "", node, i);
    claim = text_format("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"c%d\",\"uid\":\"uc%d\"},"
                        "\"status\":{\"allocation\":{\"devices\":{\"results\":[%s]}},"
                        "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"u\"}]}}",
                        pod, pod, results->chars);
    put(fleet->snapshot.claims, fleet->snapshot.claims_by_key, kube_claims_of("v1"), claim);
}

static void add_pod(struct fleet *fleet, int job, int node, int units)
{
    size_t kind = (size_t)node % COUNT_OF(kinds);
    struct wall_time saved = { fleet->now.ms - fleet->jobs[job].lost_s * SECOND_MS };
    char text[WALL_TEXT_SIZE];
    int pod = fleet->pods++;
    owned(chars) char *holds = kinds[kind].resource
                                   ? text_format("\"containers\":[{\"resources\":{\"limits\":{"
                                                 "\"%s\":\"%d\"}}}]",
                                                 kinds[kind].resource, units)
                                   : text_format("\"resourceClaims\":[{\"name\":\"g\","
                                                 "\"resourceClaimName\":\"c%d\"}]",
                                                 pod);
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"p%d\",\"uid\":\"up%d\",\"annotations\":{"
        "\"saved\":\"%s\"},\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j%d\",\"controller\":"
        "true}]},\"spec\":{\"nodeName\":\"n%d\",%s},\"status\":{\"phase\":\"Running\","
        "\"startTime\":\"2026-11-16T12:00:00Z\"}}",
        pod, pod, wall_format(saved, text), job, node, holds);

    if (!kinds[kind].resource)
        add_claim(fleet, pod, node, units);
    put(fleet->snapshot.pods, fleet->snapshot.pods_by_node, &kube_pods, chars);
    fleet->jobs[job].parts += units * kinds[kind].parts;
    fleet->jobs[job].nodes |= 1u << node;
}

static void fleet_init(struct fleet *fleet, struct random *random)
{
    struct error err;

    *fleet = (struct fleet){ .cluster.role = ROLE_RESEARCH };
    fleet->config.victims.checkpoint = (char *)(uintptr_t) "saved";
    assert_int_equal(wall_parse(now_text, false, &fleet->now, &err), 0);
    snapshot_init(&fleet->snapshot);
    losses_init(&fleet->losses);
    for (int i = 0; i < NODES; i++)
        add_node(fleet, i);
    for (int j = 0; j < JOBS; j++)
        fleet->jobs[j].lost_s = 60 * (1 + (int64_t)random_below(random, 600));
    for (int i = 0; i < PODS; i++) /* of all jobs at once, as a server lists them */
        add_pod(fleet, (int)random_below(random, JOBS), (int)random_below(random, NODES),
                1 + (int)random_below(random, UNITS_MOST));
}

/* GPU-seconds that end with these nodes. */
static int64_t lost_with(const struct fleet *fleet, unsigned nodes)
{
    int64_t lost = 0;

    for (int j = 0; j < JOBS; j++)
        if (fleet->jobs[j].nodes & nodes)
            lost += fleet->jobs[j].parts * fleet->jobs[j].lost_s / GPU_PARTS;
    return lost;
}

static int64_t least_lost(const struct fleet *fleet, size_t wanted)
{
    int64_t least = INT64_MAX;

    for (unsigned set = 0; set < 1u << NODES; set++)
        if ((size_t)__builtin_popcount(set) == wanted && lost_with(fleet, set) < least)
            least = lost_with(fleet, set);
    return least;
}

static void expect_best(const struct fleet *fleet, const struct victim_case *scene, size_t wanted)
{
    size_t *nodes = victims_choose(scene, wanted, NULL);
    struct victim_bill bill;
    unsigned set = 0;

    for (size_t i = 0; i < wanted; i++)
        set |= 1u << nodes[i];
    victims_bill(scene, nodes, wanted, &bill);
    assert_int_equal(lost_with(fleet, set), least_lost(fleet, wanted));
    assert_int_equal(bill.lost_gpu_s, lost_with(fleet, set));
    victim_bill_clear(&bill);
    mem_free(nodes);
}

static void a_mixed_fleet_loses_the_least_that_it_can(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 31);
    for (int round = 0; round < ROUNDS; round++) {
        struct fleet fleet;
        struct gang_book book = { 0 };
        struct victim_node nodes[NODES] = { 0 };
        char names[NODES][8];
        struct map *work;

        fleet_init(&fleet, &random);
        work = gangs_survey(&(struct gang_survey){ &fleet.config, &fleet.cluster, &fleet.snapshot,
                                                   &fleet.losses, fleet.now, NULL, false },
                            &book);
        for (int i = 0; i < NODES; i++) {
            const struct node_work *mine;

            text_print(names[i], sizeof names[i], "n%d", i);
            mine = map_get(work, names[i]);
            nodes[i] = (struct victim_node){ .name = names[i],
                                             .gangs = mine ? mine->gangs.items : NULL,
                                             .gang_count = mine ? mine->gangs.count : 0 };
        }
        for (size_t wanted = 1; wanted < NODES; wanted += 2)
            expect_best(
                &fleet,
                &(struct victim_case){ nodes, NODES, book.gangs.items, book.gangs.count, 0 },
                wanted);
        map_free(work);
        array_clear(&book.gangs);
        losses_clear(&fleet.losses);
        snapshot_clear(&fleet.snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixed_fleet_loses_the_least_that_it_can),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
