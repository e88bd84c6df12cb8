/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice: picks the command.
 */
#include "base/memory.h"
#include "broker/terminal/commands.h"

int main(int argc, char **argv)
{
    mem_setup();
    return command_main(&sluice_commands, sluice_common_options, argc, argv);
}
