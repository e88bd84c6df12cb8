/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE command table.  Help is printed from it, and completion and manual pages can be.
 */
#include "broker/cli/commands.h"

const struct command_option sluice_common_options[] = {
    { "config", 'c', "FILE",
      "the configuration (default: $SLUICE_CONFIG, ./sluice.yaml upward, "
      "/etc/sluice/config.yaml)",
      false },
    { "output", 'o', "table|json", "the form of the answer (default table)", false },
    { 0 },
};

/* clang-format off */
static const struct command commands[] = {
    /* name       what it does                                            arguments   min max */
    { "status",    "show clusters, moves and the margin on one screen",   "",           0,  0,
      COMMAND_READS,  status_options,    status_examples,    status_text,    cmd_status,    NULL },
    { "transfers", "list the nodes that move: where, since when, until when", "[TRANSFER]", 0, 1,
      COMMAND_READS,  transfers_options, transfers_examples, transfers_text, cmd_transfers, NULL },
    { "departures", "list the research nodes that will leave, and when",  "",           0,  0,
      COMMAND_READS,  departures_options, departures_examples, departures_text, cmd_departures,
      NULL },
    { "leads",     "show how long transfers take, step by step",          "",           0,  0,
      COMMAND_READS,  leads_options,     leads_examples,     leads_text,     cmd_leads,     NULL },
    { "events",    "tell what was decided and done",                      "",           0,  0,
      COMMAND_READS,  events_options,    events_examples,    events_text,    cmd_events,    NULL },
    { "plan",      "show what the schedules would do now",                "",           0,  0,
      COMMAND_READS,  plan_options,      plan_examples,      plan_text,      cmd_plan,      NULL },
    { "apply",     "put the schedules in force",                          "[PLAN]",     0,  1,
      COMMAND_WRITES, apply_options,     apply_examples,     apply_text,     cmd_apply,     NULL },
    { "reclaim",   "bring nodes back to production now",                  "[list | end ID]", 0, 2,
      COMMAND_WRITES, reclaim_options,   reclaim_examples,   reclaim_text,   cmd_reclaim,   NULL },
    { "freeze",    "stop voluntary changes until a time",                 "",           0,  0,
      COMMAND_WRITES, freeze_options,    freeze_examples,    freeze_text,    cmd_freeze,    NULL },
    { "unfreeze",  "end a freeze",                                        "",           0,  0,
      COMMAND_WRITES, unfreeze_options,  unfreeze_examples,  unfreeze_text,  cmd_unfreeze,  NULL },
    { "hold",      "ask for a node until later than its departure",       "NODE",       1,  1,
      COMMAND_WRITES, hold_options,      hold_examples,      hold_text,      cmd_hold,      NULL },
    { "hosts",     "list the hosts in quarantine, or use one again",      "[release HOST]", 0, 2,
      COMMAND_WRITES, hosts_options,     hosts_examples,     hosts_text,     cmd_hosts,     NULL },
    { "journal",   "look for damage in the journal, or set it right",     "{check,repair}", 1, 1,
      COMMAND_WRITES, journal_options,   journal_examples,   journal_text,   cmd_journal,   NULL },
    { "snapshot",  "keep recorded arrivals from the sources in a file",   "",           0,  0,
      COMMAND_WRITES, snapshot_options,  snapshot_examples,  snapshot_text,  cmd_snapshot,  NULL },
    { "profile",   "measure the law of a queue's inference engine",       "[QUEUE]",    0,  1,
      COMMAND_READS,  profile_options,   profile_examples,   profile_text,   cmd_profile,   NULL },
    { "allocate",  "size production from demand and write the schedules", "",           0,  0,
      COMMAND_WRITES, allocate_options,  allocate_examples,  allocate_text,  cmd_allocate,  NULL },
    { "explain",   "tell why a number of the plan is what it is",         "{workload,window} NAME", 2, 2,
      COMMAND_READS,  explain_options,   explain_examples,   explain_text,   cmd_explain,   NULL },
    { "whatif",    "plan as if something were otherwise, and write nothing", "",        0,  0,
      COMMAND_READS,  whatif_options,    whatif_examples,    whatif_text,    cmd_whatif,    NULL },
    { "forecast",  "show what the queues will need next week, and how sure", "[QUEUE]", 0, 1,
      COMMAND_READS,  forecast_options,  forecast_examples,  forecast_text,  cmd_forecast,  NULL },
    { "backtest",  "judge ways to plan on weeks that they had not seen",  "",           0,  0,
      COMMAND_READS,  backtest_options,  backtest_examples,  backtest_text,  cmd_backtest,  NULL },
    { "wait",      "compute waits of a queue in closed form",             "",           0,  0,
      COMMAND_READS,  wait_options,      wait_examples,      wait_text,      cmd_wait,      NULL },
    { "replay",    "replay recorded demand through a number of servers",  "",           0,  0,
      COMMAND_READS,  replay_options,    replay_examples,    replay_text,    cmd_replay,    NULL },
    { "windows",   "show the windows of the week",                        "",           0,  0,
      COMMAND_READS,  windows_options,   windows_examples,   windows_text,   cmd_windows,   NULL },
    { "validate",  "check the configuration and schedule files",          "[FILE...]",  0, -1,
      COMMAND_READS,  validate_options,  validate_examples,  validate_text,  cmd_validate,  NULL },
    { "serve",     "run the service",                                     "",           0,  0,
      COMMAND_WRITES, serve_options,     serve_examples,     serve_text,     cmd_serve,     NULL },
    { "demo",      "play a planned weekday against simulated clusters",   "",           0,  0,
      COMMAND_READS,  demo_options,      demo_examples,      demo_text,      cmd_demo,      NULL },
    { "version",   "print the version",                                   "",           0,  0,
      COMMAND_READS,  version_options,   version_examples,   NULL,           cmd_version,   NULL },
    { 0 },
};
/* clang-format on */

const struct command sluice_commands = {
    .name = "sluice",
    .summary = "a capacity broker that moves GPU nodes between production and research clusters",
    .children = commands,
};
