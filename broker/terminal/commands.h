/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE list of commands.  For each, cmd_*.c defines NAME_options[] and cmd_NAME(), and help/NAME.md
 * is its summary, prose and examples (cmake/help.cmake makes NAME_help of it).  Options that every
 * command takes: --config FILE, -o/--output table|json, --help.
 */
#pragma once

#include "base/input/options.h"

/* COMMAND(name, arguments, fewest of them, most (-1: any), mode), in the order of the help. */
/* clang-format off */
#define SLUICE_COMMANDS(COMMAND)                                     \
    COMMAND(status, "", 0, 0, COMMAND_READS)                         \
    COMMAND(transfers, "[TRANSFER | NODE]", 0, 1, COMMAND_READS)     \
    COMMAND(departures, "", 0, 0, COMMAND_READS)                     \
    COMMAND(leads, "", 0, 0, COMMAND_READS)                          \
    COMMAND(events, "", 0, 0, COMMAND_READS)                         \
    COMMAND(audit, "", 0, 0, COMMAND_READS)                          \
    COMMAND(plan, "", 0, 0, COMMAND_READS)                           \
    COMMAND(apply, "[PLAN]", 0, 1, COMMAND_WRITES)                   \
    COMMAND(reclaim, "[list | end ID]", 0, 2, COMMAND_WRITES)        \
    COMMAND(approve, "[list | ID]", 0, 1, COMMAND_WRITES)            \
    COMMAND(freeze, "", 0, 0, COMMAND_WRITES)                        \
    COMMAND(unfreeze, "", 0, 0, COMMAND_WRITES)                      \
    COMMAND(abort, "{TRANSFER | MOVE | NODE}", 1, 1, COMMAND_WRITES) \
    COMMAND(resume, "{TRANSFER | MOVE | NODE}", 1, 1, COMMAND_WRITES) \
    COMMAND(hold, "NODE", 1, 1, COMMAND_WRITES)                      \
    COMMAND(hosts, "[release HOST]", 0, 2, COMMAND_WRITES)           \
    COMMAND(webhooks, "[test NAME]", 0, 2, COMMAND_WRITES)           \
    COMMAND(journal, "{check,repair}", 1, 1, COMMAND_WRITES)         \
    COMMAND(snapshot, "", 0, 0, COMMAND_WRITES)                      \
    COMMAND(profile, "[QUEUE]", 0, 1, COMMAND_READS)                 \
    COMMAND(allocate, "", 0, 0, COMMAND_WRITES)                      \
    COMMAND(explain, "{workload,window} NAME", 2, 2, COMMAND_READS)  \
    COMMAND(whatif, "", 0, 0, COMMAND_READS)                         \
    COMMAND(forecast, "[QUEUE]", 0, 1, COMMAND_READS)                \
    COMMAND(backtest, "", 0, 0, COMMAND_READS)                       \
    COMMAND(wait, "", 0, 0, COMMAND_READS)                           \
    COMMAND(replay, "", 0, 0, COMMAND_READS)                         \
    COMMAND(windows, "", 0, 0, COMMAND_READS)                        \
    COMMAND(init, "", 0, 0, COMMAND_WRITES)                          \
    COMMAND(validate, "[FILE...]", 0, -1, COMMAND_READS)             \
    COMMAND(doctor, "", 0, 0, COMMAND_READS)                         \
    COMMAND(config, "{schema | show [KEY]}", 1, 2, COMMAND_READS)    \
    COMMAND(serve, "", 0, 0, COMMAND_WRITES)                         \
    COMMAND(reload, "", 0, 0, COMMAND_WRITES)                        \
    COMMAND(demo, "", 0, 0, COMMAND_READS)                           \
    COMMAND(version, "", 0, 0, COMMAND_READS)
/* clang-format on */

#define DECLARE_COMMAND(name, ...)                                                                 \
    extern const struct command_option name##_options[];                                           \
    extern const struct command_help name##_help;                                                  \
    int cmd_##name(struct command_call *call);
SLUICE_COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

extern const struct command sluice_commands; /* the root of the tree */
extern const struct command_option sluice_common_options[];
