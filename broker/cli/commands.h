/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each cmd_*.c gives to THE command table in commands.c: its options, its examples, its
 * function.  Options that every command takes: --config FILE, -o/--output table|json, --help.
 */
#pragma once

#include "base/options.h"

extern const struct command sluice_commands; /* the root of the tree */
extern const struct command_option sluice_common_options[];

/* cmd_wait.c, cmd_replay.c, cmd_allocate.c, cmd_windows.c, cmd_validate.c */
extern const struct command_option wait_options[], replay_options[], allocate_options[],
    windows_options[], validate_options[];
extern const char wait_examples[], replay_examples[], allocate_examples[], windows_examples[],
    validate_examples[];
extern const char wait_text[], replay_text[], allocate_text[], windows_text[], validate_text[];
int cmd_wait(struct command_call *call);
int cmd_replay(struct command_call *call);
int cmd_allocate(struct command_call *call);
int cmd_windows(struct command_call *call);
int cmd_validate(struct command_call *call);

/* cmd_events.c */
extern const struct command_option events_options[];
extern const char events_examples[], events_text[];
int cmd_events(struct command_call *call);

/* cmd_departures.c */
extern const struct command_option departures_options[];
extern const char departures_examples[], departures_text[];
int cmd_departures(struct command_call *call);

/* cmd_leads.c */
extern const struct command_option leads_options[];
extern const char leads_examples[], leads_text[];
int cmd_leads(struct command_call *call);

/* cmd_explain.c, cmd_whatif.c */
extern const struct command_option explain_options[], whatif_options[];
extern const char explain_examples[], explain_text[], whatif_examples[], whatif_text[];
int cmd_explain(struct command_call *call);
int cmd_whatif(struct command_call *call);

/* cmd_serve.c, cmd_status.c, cmd_transfers.c, cmd_plan.c, cmd_reclaim.c, cmd_freeze.c */
extern const struct command_option serve_options[], status_options[], transfers_options[],
    plan_options[], apply_options[], reclaim_options[], freeze_options[], unfreeze_options[];
extern const char serve_examples[], status_examples[], transfers_examples[], plan_examples[],
    apply_examples[], reclaim_examples[], freeze_examples[], unfreeze_examples[];
extern const char serve_text[], status_text[], transfers_text[], plan_text[], apply_text[],
    reclaim_text[], freeze_text[], unfreeze_text[];
int cmd_serve(struct command_call *call);
int cmd_status(struct command_call *call);
int cmd_transfers(struct command_call *call);
int cmd_plan(struct command_call *call);
int cmd_apply(struct command_call *call);
int cmd_reclaim(struct command_call *call);
int cmd_freeze(struct command_call *call);
int cmd_unfreeze(struct command_call *call);

/* cmd_hold.c */
extern const struct command_option hold_options[];
extern const char hold_examples[], hold_text[];
int cmd_hold(struct command_call *call);

/* cmd_journal.c */
extern const struct command_option journal_options[];
extern const char journal_examples[], journal_text[];
int cmd_journal(struct command_call *call);

/* cmd_hosts.c */
extern const struct command_option hosts_options[];
extern const char hosts_examples[], hosts_text[];
int cmd_hosts(struct command_call *call);

/* cmd_snapshot.c */
extern const struct command_option snapshot_options[];
extern const char snapshot_examples[], snapshot_text[];
int cmd_snapshot(struct command_call *call);

/* cmd_profile.c */
extern const struct command_option profile_options[];
extern const char profile_examples[], profile_text[];
int cmd_profile(struct command_call *call);

/* cmd_forecast.c */
extern const struct command_option forecast_options[];
extern const char forecast_examples[], forecast_text[];
int cmd_forecast(struct command_call *call);

/* cmd_backtest.c */
extern const struct command_option backtest_options[];
extern const char backtest_examples[], backtest_text[];
int cmd_backtest(struct command_call *call);

/* cmd_demo.c, cmd_version.c */
extern const struct command_option demo_options[], version_options[];
extern const char demo_examples[], version_examples[];
extern const char demo_text[];
int cmd_demo(struct command_call *call);
int cmd_version(struct command_call *call);
