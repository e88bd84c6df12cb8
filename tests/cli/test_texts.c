/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text that a person or a server gives, in any characters and of any length, neither ends the
 * service nor leaves a record that the next start cannot read.
 */
#include "tests/cli/small_world.h"
#include "tests/cli/stepwise.h"
#include "tools/simulator/model.h"

#include <string.h>

static void restart(struct rehearsal *rehearsal)
{
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

/* A character of two bytes stands where the sentence is cut. */
static void a_reason_is_cut_at_a_character(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    owned(chars) char *reason = text_format("%0109d\xc3\xa9 ist ein Grund", 0);
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    transfer = run_to(rehearsal, STEP_HOLD);
    assert_non_null(transfer);
    request = json_make("{ss si ss}", "node", transfer->node, "for_s", 60, "reason", reason);
    answer = service_hold(rehearsal->service, request, "anna", &err);
    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(strlen(json_text_or(answer, "held", "")), strlen("anna: ") + 109);
    restart(rehearsal);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 10);
}

static struct kube_cluster *cluster_of(struct rehearsal *rehearsal, const char *name)
{
    for (size_t i = 0; i < rehearsal->simulator->cluster_count; i++)
        if (text_equal(rehearsal->simulator->clusters[i].plan->name, name))
            return &rehearsal->simulator->clusters[i];
    fail_msg("there is no cluster %s", name);
    return NULL;
}

/* The API server is not ours: the name of a pod there is whatever it says. */
static void add_pod(struct rehearsal *rehearsal, const char *node, const char *name)
{
    struct simulator *sim = rehearsal->simulator;
    struct kube_cluster *cluster = cluster_of(rehearsal, "research-a");
    struct kube_pod *pod = sim_pod_new(sim, cluster, "ml", name);

    pod->written = json_make("{s{ss} s{ss s[{ss}]}}", "metadata", "name", name, "spec", "nodeName",
                             node, "containers", "name", "main");
    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_pod_bind(sim, pod, map_get(cluster->nodes, node));
}

static void a_name_is_cut_at_a_character(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    owned(chars) char *name = text_format("%0159d\xc3\xa9", 0);
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    transfer = run_to(rehearsal, STEP_HOLD);
    assert_non_null(transfer);
    add_pod(rehearsal, transfer->node, name);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_is_cut_at_a_character),
        cmocka_unit_test(a_name_is_cut_at_a_character),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
