/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API servers whose clocks are not ours: what is waited for does not depend on them.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"
#include "tools/simulator/model/model.h"

#include <stdlib.h>

enum { SLICE_MS = 100 };

static const char *const clocks[] = {
    "",
    "clocks: { prod-a: 90s, research-a: 90s }\n",
    "clocks: { prod-a: -90s, research-a: -90s }\n",
    "clocks: { prod-a: 10m, research-a: -10m }\n",
};

static void moves_come_and_go_by_any_clock(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT_OF(clocks); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, clocks[i]);

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 10, 6);
        rehearsal_run(rehearsal, 118 * MINUTE_MS);
        expect_rest(rehearsal, 10);
        rehearsal_run(rehearsal, 13 * HOUR_MS);
        expect_rest(rehearsal, 6);
    }
}

/* How long the first transfer takes from its cordon to its machine's delete. */
static int64_t drain_ms(const char *clock, bool is_silent)
{
    owned(chars) char *world = text_format("faults: { stuck_pod: 1 }\n%s", clock);
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, world);
    const struct runner *runner = rehearsal->service->runner;
    int64_t began_ms = 0;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    for (int64_t ms = 0; ms < 3 * HOUR_MS; ms += SLICE_MS) {
        const struct transfer *transfer = runner->transfers.count > 0 ? runner->transfers.items[0]
                                                                      : NULL;

        if (began_ms == 0 && transfer && transfer->step == STEP_DRAIN) {
            struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                             transfer->node);

            began_ms = loop_now(rehearsal->loop);
            if (is_silent) {
                node->is_alive = false;
                node->readiness = NODE_UNREACHABLE;
                sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
            }
        }
        if (transfer && transfer->step > STEP_FORCE)
            return loop_now(rehearsal->loop) - began_ms;
        rehearsal_run(rehearsal, SLICE_MS);
    }
    fail_msg("the machine is never deleted");
    return 0;
}

/* Grace is written down by the server's clock, and waited for by ours. */
static void grace_is_as_long_by_any_clock(void **state)
{
    (void)state;
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        int64_t wanted_ms = drain_ms(clocks[0], is_silent);

        for (size_t i = 1; i < COUNT_OF(clocks); i++) {
            int64_t got_ms = drain_ms(clocks[i], is_silent);

            if (llabs(got_ms - wanted_ms) > 3 * SECOND_MS)
                fail_msg("%s: %lld ms, not %lld", clocks[i], (long long)got_ms,
                         (long long)wanted_ms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_come_and_go_by_any_clock),
        cmocka_unit_test(grace_is_as_long_by_any_clock),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
