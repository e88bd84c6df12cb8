/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice-simulator: calls its one command.
 */
#include "base/memory.h"
#include "tools/simulator/command.h"

int main(int argc, char **argv)
{
    static const struct command_option none[] = { { 0 } };

    mem_setup();
    return command_main(&simulator_command, none, argc, argv);
}
