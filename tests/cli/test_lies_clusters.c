/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clusters whose lists and watches lie for minutes, as test_lies.c has it of clouds.
 */
#include "tests/cli/lying.h"

static void no_cluster_that_lies_breaks_a_promise(void **state)
{
    (void)state;
    lying_sweep(2, COUNT_OF(lying_lists), 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cluster_that_lies_breaks_a_promise),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
