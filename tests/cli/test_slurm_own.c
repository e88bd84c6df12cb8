/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own between Slurm and Kubernetes: the same machine leaves slurmd, joins the
 * production cluster, and comes back under its name.  The service dies at its commits in turn.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/slurm_world.h"
#include "tests/support/sweep.h"

enum {
    MACHINES = 16, /* all are in a pool: the one that leaves is the only one that can come */
    SAMPLE = 97,   /* without SLUICE_SWEEP one commit in so many */
};

/* The Slurm of that kind, with both pools on machines of one's own. */
static char *own_config(const struct kind *kind)
{
    static const char google[] = "google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', "
                                 "metadata: 'http://127.0.0.1:1/gcp'}\n";
    owned(chars) char *plain = config_of(kind);
    owned(chars) char *named = text_equal(kind->nodes, "dynamic")
                                   ? cloud_text(plain, "gce://p/us-east5-a/{name}", "ssh://{name}")
                                   : mem_copy_chars(plain);
    owned(chars) char *opened = cloud_text(
        named, google, "rack: {kind: ssh, machines: machines.yaml, agent: /run/agent}\n");
    owned(chars) char *first = cloud_text(
        opened, "provider: google, project: p, group: prod-a-east",
        "provider: rack, group: prod, join: script, script: /opt/move");

    return cloud_text(first, "provider: google, project: p, group: research-a-east",
                      "provider: rack, group: lab, join: slurmd,"
                      " slurm_options: '-Z --conf-server slurm:6817'");
}

/* at 0: undisturbed; returns the commits after the schedules were applied. */
static int64_t play(const struct kind *kind, int64_t at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = own_config(kind);
    owned(rehearsal) struct rehearsal *rehearsal = NULL;
    int64_t before;

    cloud_write_machines(folder, MACHINES);
    rehearsal = open_world(kind, folder, 5, config, false);
    apply(rehearsal, 7, 6);
    before = rehearsal->commits;
    die_there_and_back(rehearsal, at, is_after);
    return rehearsal->commits - before;
}

static void a_machine_goes_to_kubernetes_and_back(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int64_t commits = play(&kinds[i], 0, false);

        assert_true(commits > 30);
        for (int64_t at = 1; at <= commits; at++)
            if (sweep_plays(&part))
                play(&kinds[i], at, at / SAMPLE % 2 == 0);
        print_message("sweep death: own machines, Slurm %s, %lld commits\n", kinds[i].name,
                      (long long)commits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_goes_to_kubernetes_and_back),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
