/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SLUICE_ONLY='a_budget*' build/asan/test_cli_gate plays the cases of that name alone.  Linked into
 * each test program by its name (tests/CMakeLists.txt), because nothing calls it.
 */
#include "tests/support/unit.h"

#include <stdlib.h>

__attribute__((constructor)) void play_only(void);

void play_only(void)
{
    if (getenv("SLUICE_ONLY"))
        cmocka_set_test_filter(getenv("SLUICE_ONLY"));
}
