/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the referee knows of Slurm: each promise, broken once, is reported; and what keeps them all
 * is not.
 */
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"
#include "tools/simulator/slurm/ctld_peek.h"

static const char config[] =
    "clusters:\n"
    "  lab: {kind: slurm, role: research, ssh_address: login}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 4}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const char world[] = "seed: 5\npools: {lab-main: {nodes: 4}}\n"
                            "slurm: {lab: {release: '24.11', nodes: fixed}}\n";

struct bench {
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
};

static struct bench open_bench(void)
{
    struct bench bench = { .folder = test_folder_new() };
    owned(chars) char *config_path = test_folder_write(bench.folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(bench.folder, "world.yaml", world);
    struct error err = { 0 };

    bench.loop = loop_virtual_new((struct wall_time){ 1795600800000 });
    bench.simulator = simulator_new(bench.loop, config_path, world_path, &err);
    if (!bench.simulator)
        fail_msg("%s", err.text);
    loop_run_until(bench.loop, MINUTE_MS);
    return bench;
}

static void close_bench(struct bench *bench)
{
    simulator_free(bench->simulator);
    loop_free(bench->loop);
    test_folder_free(bench->folder);
}

/* Lines of a person begin with "!", "-" takes a machine away, "+" starts the slurmd of a dynamic
   node; all others are sluice's. */
static void act(struct bench *bench, const char *line)
{
    owned(text) struct text *out = text_new(1 << 20);
    owned(text) struct text *errors = text_new(1 << 16);
    struct ctld_output output = { .out = out, .errors = errors };

    if (text_equal(line, "-")) {
        sim_pool_shrink(bench->simulator, &bench->simulator->pools[0]);
    } else if (line[0] == '+') {
        sim_slurm_slurmd(bench->simulator, "lab", line + 1, true);
    } else if (line[0] == '!') {
        output.status = simulator_slurm_run(bench->simulator, "lab", line + 1, out);
    } else {
        sim_slurm_run(bench->simulator, bench->simulator->clusters[0].slurm, line, &output);
    }
    if (output.status != 0)
        fail_msg("%s: %s%s", line, out->chars, errors->chars);
    loop_run_until(bench->loop, loop_now(bench->loop) + 10 * SECOND_MS);
}

#define JOB "!sbatch --wrap='sleep 900' --gpus=8 --nodelist=n1 --time=60"
#define DRAIN(node) "scontrol update NodeName=" node " State=DRAIN Reason='sluice-leaving t-1'"
#define KEEP "!scontrol update NodeName=n1 State=DRAIN Reason='fan 3'"
#define RESERVE                                                                                    \
    "scontrol create reservation ReservationName=sluice_t-1 Nodes=n1 StartTime=now Duration=60 "   \
    "Users=root Flags=MAINT,IGNORE_JOBS"

static const struct {
    const char *lines[6];
    const char *invariant; /* NULL: none is broken */
} rows[] = {
    { { JOB, DRAIN("n1"), "scontrol requeue 1", "scontrol update NodeName=n1 State=UNDRAIN" },
      NULL },
    { { JOB, KEEP, RESERVE, "scontrol requeue 1", "scontrol delete ReservationName=sluice_t-1" },
      NULL },
    { { JOB, "scontrol requeue 1" }, "S1" },
    { { JOB, DRAIN("n2"), "scancel --batch --signal=USR1 1",
        "scontrol update NodeName=n2 State=UNDRAIN" },
      "S1" },
    { { JOB, "scontrol update NodeName=n1 State=DOWN Reason=x" }, "S1" },
    { { JOB, DRAIN("n1"), "scancel 1", "scontrol update NodeName=n1 State=UNDRAIN" }, "S2" },
    { { JOB " --no-requeue", DRAIN("n1"), "scancel 1",
        "scontrol update NodeName=n1 State=UNDRAIN" },
      NULL },
    { { KEEP, "scontrol update NodeName=n1 State=UNDRAIN" }, "S3" },
    { { KEEP, DRAIN("n1") }, "S3" },
    { { "+d1", "!scontrol update NodeName=d1 State=DRAIN Reason='fan 3'",
        "scontrol delete NodeName=d1" },
      "S3" },
    { { "!scontrol create reservation ReservationName=theirs Nodes=n1 StartTime=now+60 "
        "Duration=60 Users=root Flags=MAINT",
        "scontrol delete ReservationName=theirs" },
      "S3" },
    { { "-" }, "S4" },
    { { DRAIN("n1") }, "S5" },
    { { RESERVE }, "S5" },
};

static bool is_as_told(const struct referee *referee, const char *invariant)
{
    for (size_t i = 0; invariant && i < referee_violation_count(referee); i++)
        if (text_equal(referee_violation(referee, i)->invariant, invariant))
            return true;
    return !invariant && referee_violation_count(referee) == 0;
}

static void each_broken_promise_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = open_bench();
        const struct referee *referee = simulator_referee(bench.simulator);

        for (size_t k = 0; k < COUNT_OF(rows[i].lines) && rows[i].lines[k]; k++)
            act(&bench, rows[i].lines[k]);
        if (!text_equal(rows[i].lines[0], "-"))
            simulator_check_end(bench.simulator);
        if (!is_as_told(referee, rows[i].invariant))
            fail_msg("row %zu: %zu violations, the first is %s", i,
                     referee_violation_count(referee),
                     referee_violation_count(referee) ? referee_violation(referee, 0)->sentence
                                                      : "none");
        close_bench(&bench);
    }
}

/* What world.yaml says of a cluster, and why it is refused. */
static const char *const wrong[][2] = {
    { "sliced: [s1]", "sliced" },
    { "sliced: {s1: 3}", "sliced.s1" },
    { "sliced: {s1: {}}", "one to 8 types, and at most 64 slices and GPUs" },
    { "sliced: {s1: {a100: 0}}", "sliced.s1.a100" },
    { "sliced: {s1: {a100: 1, a100_1g.5gb: 64}}", "at most 64 slices and GPUs" },
    { "sockets: /run/rest", "sockets" },
};

static void wrong_worlds_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char *folder = test_folder_new();
        owned(chars) char *text = text_format(
            "seed: 5\npools: {lab-main: {nodes: 4}}\nslurm: {lab: {%s}}\n", wrong[i][0]);
        owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", config);
        owned(chars) char *world_path = test_folder_write(folder, "world.yaml", text);
        struct loop *loop = loop_virtual_new((struct wall_time){ 1795600800000 });
        struct error err = { 0 };

        assert_null(simulator_new(loop, config_path, world_path, &err));
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.text);
        loop_free(loop);
        test_folder_free(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_promise_is_reported),
        cmocka_unit_test(wrong_worlds_are_refused),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
