/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command tree, made of the list in commands.h.  Help is printed from it.
 */
#include "broker/terminal/commands.h"

#include "broker/terminal/colors.h"

const struct command_option sluice_common_options[] = {
    { "config", 'c', "FILE",
      "the configuration (default: $SLUICE_CONFIG, ./sluice.yaml upward, "
      "/etc/sluice/config.yaml)",
      false },
    { "output", 'o', "table|json|yaml", "the form of the answer (default table)", false },
    COLOR_OPTION,
    { 0 },
};

/* What people type who know kubectl, terraform, Slurm or systemd. */
static const struct command_synonym synonyms[] = {
    { "cancel", "abort" },       { "stop", "abort" },       { "undo", "abort" },
    { "rollback", "abort" },     { "scancel", "abort" },    { "continue", "resume" },
    { "uncordon", "resume" },    { "pause", "freeze" },     { "cordon", "freeze" },
    { "lock", "freeze" },        { "unlock", "unfreeze" },  { "drain", "reclaim" },
    { "scale", "reclaim" },      { "borrow", "reclaim" },   { "logs", "events" },
    { "log", "events" },         { "history", "events" },   { "who", "audit" },
    { "get", "status" },         { "top", "status" },       { "info", "status" },
    { "sinfo", "status" },       { "health", "status" },    { "alerts", "status" },
    { "conditions", "status" },  { "report", "backtest" },  { "list", "transfers" },
    { "ls", "transfers" },       { "moves", "transfers" },  { "move", "transfers" },
    { "describe", "transfers" }, { "squeue", "transfers" }, { "diff", "plan" },
    { "drift", "plan" },         { "deploy", "apply" },     { "setup", "init" },
    { "schema", "config" },      { "check", "doctor" },     { "test", "doctor" },
    { "lint", "validate" },      { "server", "serve" },     { "start", "serve" },
    { "daemon", "serve" },       { "reread", "reload" },    { "sighup", "reload" },
    { "predict", "forecast" },   { "simulate", "whatif" },  { "schedule", "windows" },
    { "quarantine", "hosts" },   { "extend", "hold" },      { "postpone", "hold" },
    { "hooks", "webhooks" },     { "slack", "webhooks" },   { 0 },
};

#define ROW(name, arguments, min, max, mode)                                                       \
    { #name, arguments, min, max, mode, name##_options, &name##_help, cmd_##name, NULL, NULL },
static const struct command commands[] = { SLUICE_COMMANDS(ROW){ 0 } };
#undef ROW

static const struct command_help root_help = {
    .summary = "a capacity broker that moves GPU nodes between production and research clusters",
};

const struct command sluice_commands = {
    .name = "sluice",
    .help = &root_help,
    .children = commands,
    .synonyms = synonyms,
};
