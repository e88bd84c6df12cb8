/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a batch script asks for with --signal, as sbatch of 22.05 and 24.11 reads such lines.
 */
#include "base/text.h"
#include "clusters/slurm/slurm_script.h"
#include "tests/support/unit.h"

#define HEAD "#!/bin/bash\n"

static const struct {
    const char *script, *name;
    bool is_for_steps;
} rows[] = {
    { HEAD "#SBATCH --signal=B:USR1@60\n", "USR1", false },
    { HEAD "#SBATCH --signal=USR2@60\n", "USR2", true },
    { HEAD "#SBATCH --signal=R:USR2\n", "USR2", true },
    { HEAD "#SBATCH --signal=RB:sigusr2@10\n", "USR2", false },
    { HEAD "#SBATCH --signal=b:10\n", "10", false },
    { HEAD "#SBATCH --signal=SIGTERM@\n", "TERM", true },
    { HEAD "#SBATCH --signal B:XCPU # a note\n", "XCPU", false },
    { HEAD "#SBATCH\t-N1 --signal=\"B:HUP@9\" -n 2\r\n", "HUP", false },
    { HEAD "#SBATCH --signal='B:HUP'", "HUP", false },
    { HEAD "\n  # a comment\n#SBATCH -N1\n#SBATCH --signal=B:INT\n", "INT", false },
    /* The last one counts, unless sbatch would not have taken it. */
    { HEAD "#SBATCH --signal=B:INT\n#SBATCH --signal=USR1\n", "USR1", true },
    { HEAD "#SBATCH --signal=B:INT\n#SBATCH --signal=NOPE\n", "INT", false },
    /* The leader's options stand before those of the other components. */
    { HEAD "#SBATCH --signal=B:INT\n#SBATCH hetjob\n#SBATCH --signal=USR1\n", "INT", false },
    { HEAD "#SBATCH packjob\n#SBATCH --signal=USR1\n", "", false },
    /* Nothing, or nothing that can be used. */
    { "", "", false },
    { HEAD, "", false },
    { HEAD "echo\n#SBATCH --signal=USR1\n", "", false },
    { HEAD "# #SBATCH --signal=USR1\n #SBATCH --signal=USR1\n", "", false },
    { HEAD "#SBATCH # --signal=USR1\n", "", false },
    { HEAD "#SBATCH --signals=USR1\n", "", false },
    { HEAD "#SBATCH --signal=\n#SBATCH --signal\n", "", false },
    { HEAD "#SBATCH --signal=NOPE\n#SBATCH --signal=B:\n", "", false },
    { HEAD "#SBATCH --signal=0\n#SBATCH --signal=65\n#SBATCH --signal=-1\n", "", false },
    { HEAD "#SBATCH --signal=X:USR1\n#SBATCH --signal=USR1@soon\n", "", false },
    { HEAD "#SBATCH --signal=B:KILL\n#SBATCH --signal=9\n#SBATCH --signal=SIGSTOP\n", "", false },
    { HEAD "#SBATCH --signal=\"USR1", "USR1", true },
    { HEAD "#SBATCH --signal=USR1USR1USR1USR1USR1USR1\n", "", false },
};

static void signals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct slurm_signal signal = slurm_script_signal(rows[i].script);

        if (!text_equal(signal.name, rows[i].name) || signal.is_for_steps != rows[i].is_for_steps)
            fail_msg("%s: %s%s", rows[i].script, signal.name,
                     signal.is_for_steps ? " for steps" : "");
    }
    assert_true(slurm_script_is_one(HEAD));
    assert_false(slurm_script_is_one(""));
    assert_false(slurm_script_is_one("job script retrieval failed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(signals) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
