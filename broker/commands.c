/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command tree, made of the list in commands.h.  Help is printed from it.
 */
#include "broker/terminal/commands.h"

const struct command_option sluice_common_options[] = {
    { "config", 'c', "FILE",
      "the configuration (default: $SLUICE_CONFIG, ./sluice.yaml upward, "
      "/etc/sluice/config.yaml)",
      false },
    { "output", 'o', "table|json", "the form of the answer (default table)", false },
    { 0 },
};

#define ROW(name, arguments, min, max, mode)                                                       \
    { #name, arguments, min, max, mode, name##_options, &name##_help, cmd_##name, NULL },
static const struct command commands[] = { SLUICE_COMMANDS(ROW){ 0 } };
#undef ROW

static const struct command_help root_help = {
    .summary = "a capacity broker that moves GPU nodes between production and research clusters",
};

const struct command sluice_commands = {
    .name = "sluice",
    .help = &root_help,
    .children = commands,
};
