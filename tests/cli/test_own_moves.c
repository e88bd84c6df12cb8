/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own move between two clusters, and each kind of trouble meets each command
 * once: connections that end before or after it, another host key, a refused key, a machine that
 * hangs, a full disk, garbage.  Each run ends with each node moved once, and nothing lost.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/dying.h"

static struct rehearsal *open_machines(const char *folder)
{
    owned(chars) char *world = text_format("seed: 11\n%s", small_machines);
    owned(chars) char *config = cloud_config(cloud_of("own machines"));

    cloud_write_accounts(folder);
    return world_start(folder, config, world, 6, 11);
}

static const char *const faults[] = { "refused",    "http_500", "lost_answer", "http_500_after",
                                      "http_403",   "denied",   "slow_boot",   "quota",
                                      "empty_list", "busy" };
static const char *const verbs[] = { "ssh_look", "ssh_claim", "ssh_join", "ssh_leave" };

static void move_with(const char *fault, const char *verb, int times)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_machines(folder);
    owned(json) json_t *answer = NULL;

    print_message("      %s x%d at %s\n", fault, times, verb);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    for (int i = 0; i < times; i++)
        simulator_fault_next(rehearsal->simulator, fault, verb);
    run_to_rest(rehearsal);
    assert_int_equal(rehearsal->simulator->scripted.count, 0); /* each was met */
    expect_rest(rehearsal, 6 + NODES);
    expect_tidy(rehearsal);
}

static void each_trouble_meets_each_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        for (size_t k = 0; k < COUNT_OF(verbs); k++)
            move_with(faults[i], verbs[k], 1 + (int)((i + k) % 2));
}

/* What is in the status while a machine shows another host key. */
static void another_host_key_is_told_in_clear_words(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_machines(folder);
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    for (int i = 0; i < 400; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", "ssh_leave");
    assert_non_null(run_to(rehearsal, STEP_RELEASE));
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(rehearsal->simulator->machines_deleted, 0);

    const struct runner *runner = rehearsal->service->runner;
    bool is_told = false;

    for (size_t i = 0; i < runner->transfers.count; i++)
        is_told |= strstr(runner->transfers.items[i]->waiting, "its host key is") != NULL;
    assert_true(is_told);
    array_clear(&rehearsal->simulator->scripted); /* a person put the right machine there */
    for (int64_t ms = 0; ms < HOUR_MS && transfers_of(rehearsal, false) > 0; ms += MINUTE_MS)
        rehearsal_run(rehearsal, MINUTE_MS);
    expect_rest(rehearsal, 7);
    expect_tidy(rehearsal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trouble_meets_each_command),
        cmocka_unit_test(another_host_key_is_told_in_clear_words),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
