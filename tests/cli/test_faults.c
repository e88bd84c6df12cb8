/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad luck by seed: lists that lie, lost answers, refusals, stock-outs, slow boots, machines that
 * never join, pods that never stop, watches that forget.  Each seed plays a day there and back;
 * whatever happens, the referee must have nothing to say, and every node must be somewhere in the
 * end.  One case plays the small world, the other one fleets on clouds that the seed draws.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/stepwise.h"

#include <stdlib.h>

static const char faults[] =
    "faults: {lost_answer: 0.02, http_429: 0.02, http_500: 0.02, http_500_after: 0.01,"
    " stockout: 0.1, slow_boot: 0.1, never_joins: 0.1, no_gpus: 0.05, stuck_pod: 0.1,"
    " watch_gap: 0.02, empty_list: 0.01}\n";

/* A world to have bad luck in. */
struct fleet {
    char *name;
    char *config;
    const char *machines; /* the head of world.yaml */
    size_t sides;         /* reservations, with two pools each */
    char *outage;         /* more of world.yaml */
};

static const char *const side_pools[][2] = {
    { "prod-a-east", "research-a-east" },
    { "prod-b-west", "research-b-west" },
};

static void fleet_clear(struct fleet *fleet)
{
    mem_free(fleet->name);
    mem_free(fleet->config);
    mem_free(fleet->outage);
}

static struct fleet small_fleet(void)
{
    return (struct fleet){ mem_copy_chars("small"), mem_copy_chars(small_config), small_machines, 1,
                           mem_copy_chars("") };
}

static const char mixed_machines[] =
    "pools:\n"
    "  prod-a-east: {nodes: 6}\n"
    "  research-a-east: {nodes: 10}\n"
    "  prod-b-west: {nodes: 6}\n"
    "  research-b-west: {nodes: 10}\n"
    "replicas: {chat-2x: {prod-a: 20, prod-b: 20}}\n"
    "latency: {api: 5ms..40ms, delete: 60s..120s, create: 60s..180s, join: 60s..180s,"
    " gpus: 20s..60s, pod_start: 10s..30s, pod_stop: 1s..20s}\n"
    "jobs: {backlog: 60, duration: 20m..2h}\n";

static const struct test_cloud *draw_cloud(struct random *random, const char *not_kind,
                                           const char *nor_kind)
{
    const struct test_cloud *cloud;

    do
        cloud = &test_clouds[random_below(random, COUNT_OF(test_clouds))];
    while (text_equal(cloud->kind, not_kind) || text_equal(cloud->kind, nor_kind));
    return cloud;
}

/* Two clouds; in one fleet of four a pool is Cluster API's, beside one of its reservation's cloud.
   In one of four a cloud does not answer for a while. */
static struct fleet mixed_fleet(uint64_t seed)
{
    const struct test_cloud *east[2], *west[2];
    struct random random;
    bool is_split;
    struct fleet fleet = { .machines = mixed_machines, .sides = 2 };

    random_seed(&random, random_mix(seed, "clouds", 0, 0));
    is_split = random_below(&random, 4) == 0;
    east[0] = east[1] = draw_cloud(&random, is_split ? "capi" : "", "");
    west[0] = west[1] = draw_cloud(&random, east[0]->kind, is_split ? "capi" : "");
    for (size_t i = 0; is_split && i < COUNT_OF(test_clouds); i++)
        if (text_equal(test_clouds[i].kind, "capi"))
            east[random_below(&random, 2)] = &test_clouds[i];
    fleet.config = mixed_config(east, west);
    fleet.name = text_format("%s and %s, %s", east[0]->name, east[1]->name, west[0]->name);
    fleet.outage = random_below(&random, 4) > 0
                       ? mem_copy_chars("")
                       : text_format("outages: [ { cloud: %s, from: %dm, to: %dm } ]\n",
                                     west[0]->kind, 60 + (int)random_below(&random, 60),
                                     125 + (int)random_below(&random, 60));
    return fleet;
}

/* Of half of those an API server has another time anyway: most do not deny the jump then. */
static bool has_jumps(uint64_t seed)
{
    return seed % 3 == 0;
}

static const char *clocks_of(uint64_t seed)
{
    return has_jumps(seed) && seed % 2 == 0 ? "clocks: { research-a: 90s }\n" : "";
}

/* How far and when the wall clock of the broker's machine jumps, by seed; most do not.  A jump that
   is followed moves the windows: in all by less than two hours, so that midnight is at rest. */
static void run_with_jumps(struct rehearsal *rehearsal, uint64_t seed, int64_t duration_ms)
{
    static const int64_t sizes[] = { 20 * SECOND_MS, 10 * MINUTE_MS, 35 * MINUTE_MS, DAY_MS };
    struct random random;
    int64_t most_ms = duration_ms - 3 * HOUR_MS;
    uint64_t jumps;

    random_seed(&random, random_mix(seed, "jumps", 0, 0));
    jumps = has_jumps(seed) ? 1 + random_below(&random, 3) : 0;
    for (uint64_t i = 0; i < jumps; i++) {
        int64_t wait_ms = (int64_t)random_below(&random, (uint64_t)(most_ms / 2));
        int64_t by_ms = sizes[random_below(&random, COUNT_OF(sizes))];

        rehearsal_run(rehearsal, wait_ms);
        loop_virtual_jump(rehearsal->loop, random_below(&random, 2) == 0 ? by_ms : -by_ms);
        duration_ms -= wait_ms;
        most_ms -= wait_ms;
    }
    rehearsal_run(rehearsal, duration_ms);
}

/* One seed in three has a lie or two, at the time of a move; the caller frees the text. */
static char *lies_of(uint64_t seed, size_t sides)
{
    static const char *const lists[][2] = {
        { "machines", "prod-a-east" }, { "machines", "research-a-east" },
        { "nodes", "prod-a" },         { "nodes", "research-a" },
        { "pods", "prod-a" },          { "pods", "research-a" },
        { "machines", "prod-b-west" }, { "machines", "research-b-west" },
        { "nodes", "prod-b" },         { "nodes", "research-b" },
        { "pods", "prod-b" },          { "pods", "research-b" },
    };
    static const char *const kinds[] = { "empty", "half", "some", "new", "old" };
    owned(text) struct text *lies = text_new(1024);
    struct random random;

    random_seed(&random, random_mix(seed, "lies", 0, 0));
    if (random_below(&random, 3) > 0)
        return mem_copy_chars("");
    for (uint64_t left = 1 + random_below(&random, 2); left > 0; left--) {
        size_t list = random_below(&random, sides * COUNT_OF(lists) / COUNT_OF(side_pools));
        size_t kind = random_below(&random, COUNT_OF(kinds));
        int from = (int)random_below(&random, 180) + (random_below(&random, 2) ? 0 : 13 * 60);
        int minutes = 1 + (int)random_below(&random, 60);

        /* A cloud that names machines itself lists one within four minutes, or never. */
        if (sides > 1 && lists[list][0][0] == 'm' && kinds[kind][0] != 'h' && kinds[kind][0] != 's')
            minutes = 1 + minutes % 3;

        text_add(lies, "%s  - {list: %s, of: %s, kind: %s, age: %dm, from: %dm, to: %dm}\n",
                 lies->length > 0 ? "" : "lies:\n", lists[list][0], lists[list][1], kinds[kind],
                 1 + (int)random_below(&random, 60), from, from + minutes);
    }
    return mem_copy_chars(lies->chars);
}

static void expect_notice_was_kept(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    assert_int_equal(json_int_or(status, "notice_violations", -1), 0);
}

/* Six machines in a row that never join take longer than until midnight.  Without further bad luck
   whatever is under way then must end. */
static void heal(struct rehearsal *rehearsal)
{
    memset(rehearsal->simulator->scenario->faults, 0,
           sizeof rehearsal->simulator->scenario->faults);
    if (transfers_of(rehearsal, false) > 0)
        rehearsal_run(rehearsal, 4 * HOUR_MS); /* the night goes on */
}

static int nodes_of_side(struct rehearsal *rehearsal, size_t side)
{
    return nodes_of(rehearsal, side_pools[side][0]) + nodes_of(rehearsal, side_pools[side][1]);
}

static void expect_rest_of(struct rehearsal *rehearsal, const struct fleet *fleet)
{
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    assert_int_equal(transfers_of(rehearsal, false), 0);
    for (size_t i = 0; i < fleet->sides; i++)
        assert_int_equal(nodes_of_side(rehearsal, i), 16);
    expect_notice_was_kept(rehearsal);
}

/* Production of each side has 10 nodes by day and 6 by night. */
static void apply_to(struct rehearsal *rehearsal, const struct fleet *fleet)
{
    static const struct {
        const char *name;
        int nodes;
    } windows[] = { { "day", 10 }, { "night", 6 } };
    owned(json) json_t *schedules = json_object();
    struct error err = { 0 };
    owned(json) json_t *plan = NULL;

    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        int nodes = windows[i].nodes, replicas = nodes * 4 - 4;
        owned(text) struct text *text = text_new(4096);

        text_add(text, "workloads:\n  chat-2x:\n    prod-a: %d\n", replicas);
        if (fleet->sides > 1)
            text_add(text, "    prod-b: %d\n", replicas);
        text_add(text,
                 "compute:\n  a3-megagpu-8g:\n    us-east5:\n      prod-a:\n"
                 "        counts: [%d]\n",
                 nodes);
        if (fleet->sides > 1)
            text_add(text, "  west-8g:\n    us-east5:\n      prod-b:\n        counts: [%d]\n",
                     nodes);
        json_object_set_new(schedules, windows[i].name, json_string(text->chars));
    }
    plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);
    if (!plan)
        fail_msg("%s", err.text);
}

/* Takes fleet. */
static void play(uint64_t seed, struct fleet fleet, uint64_t *ret_hash)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *lies = lies_of(seed, fleet.sides);
    owned(chars) char *world = text_format("seed: %llu\n%s%s%s%s%s", (unsigned long long)seed,
                                           fleet.machines, faults, clocks_of(seed), lies,
                                           fleet.outage);
    owned(rehearsal) struct rehearsal *rehearsal = NULL;
    bool is_lost = false;

    cloud_write_accounts(folder);
    rehearsal = world_start(folder, fleet.config, world, 6, seed);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply_to(rehearsal, &fleet);
    run_with_jumps(rehearsal, seed, 18 * HOUR_MS); /* midnight */
    heal(rehearsal);
    for (size_t i = 0; i < fleet.sides; i++)
        is_lost |= nodes_of_side(rehearsal, i) != 16;
    if (transfers_of(rehearsal, false) > 0 || is_lost || rehearsal_violations(rehearsal) > 0)
        print_message("seed %llu: %s\n%s%s", (unsigned long long)seed, fleet.name, lies,
                      fleet.outage);
    expect_rest_of(rehearsal, &fleet);
    *ret_hash = simulator_trace_hash(rehearsal->simulator);
    fleet_clear(&fleet);
}

struct span {
    uint64_t first;
    uint64_t last;
};

static struct span wished_seeds(uint64_t otherwise)
{
    const char *wish = getenv("SLUICE_SEEDS");
    const char *dash = wish ? strchr(wish, '-') : NULL;
    owned(chars) char *begin = dash ? text_format("%.*s", (int)(dash - wish), wish) : NULL;
    long long first = 1, last = (long long)otherwise;

    if (wish && (!text_to_int(dash ? dash + 1 : wish, 1, 1000000, &last) ||
                 (dash && !text_to_int(begin, 1, last, &first))))
        fail_msg("SLUICE_SEEDS: \"%s\" is neither a number of seeds nor FIRST-LAST", wish);
    return (struct span){ (uint64_t)first, (uint64_t)last };
}

static void bad_luck_breaks_no_promise(void **state)
{
    struct span seeds = wished_seeds(3);
    uint64_t hash;

    (void)state;
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        play(seed, small_fleet(), &hash);
}

static void bad_luck_on_mixed_fleets_breaks_none(void **state)
{
    struct span seeds = wished_seeds(1);
    uint64_t hash;

    (void)state;
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        play(seed, mixed_fleet(seed), &hash);
    print_message("sweep seeds: %llu mixed fleets\n",
                  (unsigned long long)(seeds.last - seeds.first + 1));
}

static void the_same_seed_gives_the_same_run(void **state)
{
    uint64_t first;
    uint64_t second;

    (void)state;
    play(7, small_fleet(), &first);
    play(7, small_fleet(), &second);
    assert_true(first == second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_luck_breaks_no_promise),
        cmocka_unit_test(bad_luck_on_mixed_fleets_breaks_none),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
