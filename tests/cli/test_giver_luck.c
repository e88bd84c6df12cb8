/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reclaims from one research cluster when luck is bad, and when the service dies: the others give
 * nothing, and the order in which reclaims are served is kept.
 */
#include "tests/cli/wide_world.h"
#include "tests/support/sweep.h"

enum { COMMITS = 12, SEEDS = 2 };

static const char faults[] =
    "faults: {lost_answer: 0.02, http_429: 0.02, http_500: 0.02, http_500_after: 0.01,"
    " stockout: 0.1, slow_boot: 0.1, never_joins: 0.1, no_gpus: 0.05, stuck_pod: 0.1,"
    " watch_gap: 0.02, empty_list: 0.01}\n";

/* How many nodes of the cluster left, or are leaving, also those that came back. */
static int left(struct rehearsal *rehearsal, const char *cluster)
{
    const struct runner *runner = rehearsal->service->runner;
    int count = 0;

    for (size_t i = 0; i < runner->transfers.count; i++)
        count += text_equal(runner->transfers.items[i]->source->cluster->name, cluster);
    return count;
}

/* The schedule has what it wants, so each transfer is the reclaim's. */
static void no_luck_makes_another_cluster_give(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *machines = text_format("%s%s", wide_machines, faults);
        owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, wide_config, machines, 9,
                                                                   seed);
        owned(json) json_t *answer = NULL;
        struct error err = { 0 };

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply_wide(rehearsal, 6, 4, 3);
        for (int minutes = 0; !answer && minutes < 30; minutes++) {
            rehearsal_run(rehearsal, MINUTE_MS);
            answer = ask_from(rehearsal, "research-b", 4, &err);
        }
        if (!answer)
            fail_msg("seed %d: %s", (int)seed, err.text);
        for (int minutes = 0; minutes < 110; minutes++) {
            rehearsal_run(rehearsal, MINUTE_MS);
            if (minutes % 25 == 3)
                restart(rehearsal);
            assert_int_equal(left(rehearsal, "research-a"), 0);
        }
        assert_true(left(rehearsal, "research-b") >= json_int_or(answer, "accepted_nodes", 0));
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* The first reclaim's cluster has nothing to give.  A death at any commit changes nothing of who
   gives how many to the second. */
static void play_death(int64_t at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    struct error err = { 0 };

    owned(json) json_t *first = reclaim_from(rehearsal, "research-b", 2);
    keep_all(rehearsal, "research-b-east");
    owned(json) json_t *second = reclaim_from(rehearsal, "research-a", 3);
    if (is_after)
        rehearsal_kill_after_commit(rehearsal, at);
    else
        rehearsal_kill_at_commit(rehearsal, at);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_true(rehearsal->is_dead);
    rehearsal_kill(rehearsal);
    rehearsal->kill_at = 0;
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 9);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 7);
    assert_int_equal(nodes_of(rehearsal, "research-b-east"), 8);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void a_death_does_not_change_who_gives(void **state)
{
    struct sweep_part part = sweep_part(5);

    (void)state;
    for (int64_t at = 1; at <= COMMITS; at++)
        for (int is_after = 0; is_after < 2; is_after++)
            if (sweep_plays(&part))
                play_death(at, is_after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_luck_makes_another_cluster_give),
        cmocka_unit_test(a_death_does_not_change_who_gives),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
