/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of cases: what is played here, what another test plays, and what nothing plays yet.
 */
#include "tests/conformance/conformance.h"

const struct conformance_case conformance_cases[] = {
    /* cordon */
    { "T1",
      "a cordon is one patch of one resourceVersion: unschedulable, taint, annotations, and the "
      "label that takes the node out of load balancers",
      cordon_is_one_patch, ON_BOTH,
      "tests/cli/test_cordon.c a_node_leaves_the_load_balancers_with_its_cordon", NULL, NULL },
    { "T2",
      "another client taints between read and patch: the patch is refused, the node is read again, "
      "and both taints stay",
      a_stale_cordon_is_refused, ON_BOTH, NULL, NULL, NULL },
    { "T3", "after the undo, a node that a person had cordoned is as it was before the transfer",
      a_human_cordon_stays, ON_BOTH,
      "tests/cli/test_hazards.c the_way_back_leaves_what_others_had_said", NULL, NULL },
    { "T4", "a node made again under the old name is refused by its UID",
      a_node_made_again_is_left_alone, ON_BOTH,
      "tests/cli/test_doubts.c a_node_made_again_under_the_name_is_not_ours", NULL, NULL },
    { "T5", "a taint of another autoscaler is seen", a_foreign_taint_is_seen, ON_BOTH,
      "tests/cli/test_withdrawals.c a_node_that_a_rival_claims_is_left_to_it", NULL,
      "It plays a node that was announced before the taint: sluice gives it back. "
      "`a_node_that_a_rival_has_marked_is_not_chosen` of tests/cli/test_doubts.c plays a node that "
      "has the taint before the plan chooses nodes" },
    { "T6", "a pod bound after the cordon is in the list that decides whether the node is empty",
      a_late_pod_is_listed, ON_BOTH,
      "tests/cli/test_doubts.c a_pod_that_only_the_server_lists_keeps_its_node", NULL,
      "In that test no watch shows the pod" },
    /* classes */
    { "T7",
      "mirror, DaemonSet, finished and unmanaged pods are told apart; a pod whose DaemonSet is "
      "gone "
      "delays nothing",
      an_ownerless_daemon_holds_nothing, ON_BOTH,
      "tests/clusters/test_decode.c pods_fall_into_their_classes", NULL,
      "If its DaemonSet is gone, the garbage collector deletes the pod within seconds; a pod that "
      "was "
      "orphaned on purpose has no owner, and is evicted as any other" },
    { "T8", "a DaemonSet's pod that comes back delays nothing", a_daemon_comes_back, ON_BOTH, NULL,
      NULL, NULL },
    { "T9", "a terminating pod is not evicted again; its grace is only ever shortened",
      grace_only_shortens, ON_BOTH,
      "tests/cli/test_deadlines.c a_long_grace_of_another_client_is_cut_at_the_deadline", NULL,
      NULL },
    /* eviction */
    { "T10", "no budget: one eviction, DisruptionTarget is set, the pod goes",
      an_eviction_is_marked, ON_BOTH, "tests/clusters/test_verbs.c what_is_on_the_wire", NULL,
      NULL },
    { "T11", "an exhausted budget: 429 with its cause and no Retry-After",
      an_exhausted_budget_says_no, ON_BOTH,
      "tests/cli/test_evictions.c a_refused_budget_is_asked_again_at_its_pace", NULL,
      "Its message is in tests/clusters/test_verbs.c `answers_to_an_eviction`" },
    { "T12", "two budgets over one pod: never taken for evicted", two_budgets_are_a_failure,
      ON_BOTH, NULL, NULL,
      "The true answer is HTTP 500 with a Status, `code` 500, no `reason`, no `details`: \"This "
      "pod has more than one PodDisruptionBudget, which the eviction subresource does not "
      "support.\"" },
    { "T13",
      "a budget that the controller has not seen: 429 that asks for 10 s; sluice waits as long "
      "before it asks again",
      an_unseen_budget_asks_for_patience, ON_BOTH,
      "tests/cli/test_evictions.c an_unseen_budget_is_asked_with_patience", NULL,
      "That test also plays a budget that sluice may not read" },
    { "T14", "an unready pod is evicted as the budget's unhealthyPodEvictionPolicy says",
      unready_pods_go_by_policy, ON_BOTH,
      "tests/cli/test_evictions.c an_unready_pod_goes_when_its_budget_says_so", NULL, NULL },
    { "T15", "a pod made again under the name of another is not evicted instead of it",
      a_namesake_is_not_evicted, ON_BOTH, NULL, NULL, NULL },
    { "T16",
      "a namespace that is deleted: 403 NamespaceTerminating, before and after the pod was told to "
      "stop",
      a_leaving_namespace_is_waited_for, ON_BOTH, NULL, NULL, NULL },
    { "T17",
      "ten evictions at once under a budget of one: one succeeds, and the others get only the "
      "budget's refusal",
      a_budget_lets_one_go, ON_BOTH,
      "tests/cli/test_evictions.c a_budget_has_one_eviction_under_way", NULL,
      "`budgets_are_asked_only_when_they_have_room` of tests/cli/test_moves.c tests that a "
      "transfer "
      "sends no eviction that the budget's status would refuse" },
    { "T18", "an overloaded server: plain 429 with Retry-After is not a budget",
      an_overload_is_no_budget, ON_BOTH, "tests/cli/test_gate.c one_refusal_holds_all_of_a_drain",
      NULL,
      "`an_overloaded_server_is_left_alone_and_no_other` of the same file tests that other "
      "clusters "
      "are asked as before, and `nothing_is_asked_again_before_the_time_that_a_server_named` the "
      "length of the pause. On a real server evictions have a priority level with one seat; the "
      "answer is plain text: \"Too many requests, please try again later.\"" },
    { "T19",
      "a webhook out of reach: 500, asked again; the pod is evicted once the webhook is gone; a "
      "policy that denies an eviction delays that pod alone",
      what_stands_before_an_eviction_is_told_apart, ON_BOTH,
      "tests/cli/test_gate.c a_rule_that_forbids_costs_the_deadline", NULL,
      "A ValidatingAdmissionPolicy answers 422 Invalid; webhooks' denials of any code are in "
      "tests/clusters/test_verbs.c" },
    { "T20", "an eviction whose answer was lost is asked again without harm",
      evicting_twice_is_evicting_once, ON_BOTH,
      "tests/cli/test_faults.c bad_luck_breaks_no_promise", NULL, NULL },
    /* deadline and force */
    { "T21", "a blocked pod is deleted with its whole grace before the deadline",
      a_delete_passes_a_budget_and_is_marked, ON_BOTH,
      "tests/cli/test_deadlines.c a_blocked_pod_is_deleted_its_own_grace_before_the_deadline",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true", NULL },
    { "T22", "a pod that ignores SIGTERM is still there after a grace of 1 s",
      a_deaf_pod_needs_grace_zero, ON_BOTH,
      "tests/cli/test_deadlines.c a_pod_that_does_not_stop_has_until_the_deadline", NULL, NULL },
    { "T23", "a delete with grace 0 and the UID removes that pod, and no other",
      a_deaf_pod_needs_grace_zero, ON_BOTH,
      "tests/cli/test_deadlines.c what_outlives_its_machine_is_removed_before_its_node", NULL,
      "The referee reports a grace 0 before the machine is gone" },
    { "T24", "a foreign finalizer is seen and stays", a_foreign_finalizer_stays, ON_BOTH,
      "tests/cli/test_deadlines.c a_foreign_finalizer_is_left_and_gone_past",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "The transfer shows it, before its machine goes and after" },
    { "T25", "a Job's pod whose finalizer no controller takes away", a_foreign_finalizer_stays,
      ON_BOTH, "tests/cli/test_moves.c a_pod_that_is_only_to_be_counted_holds_no_drain_up", NULL,
      "The single requests are tested by the same function as T24. The real Job controller may "
      "keep "
      "`job-tracking` on pods that have ended (`deletionGracePeriodSeconds` 0) for over a minute "
      "when four of a Job go at once: no drain waits for that" },
    { "T26", "sluice warns of a grace longer than the whole drain", a_cut_grace_is_told_once,
      ON_BOTH, "tests/broker/test_blockers.c each_blocker_is_said_in_its_words",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "The Event `GraceCut` on the pod says how much grace the pod gets: "
      "`a_grace_beyond_the_deadline_is_cut_and_the_pod_says_so` of tests/cli/test_deadlines.c" },
    { "T27", "a dead kubelet: the machine is deleted first, then the pods and the Node",
      a_silent_node_keeps_its_pods, ON_BOTH,
      "tests/cli/test_hazards.c a_silent_node_is_not_waited_for",
      "tests/real/clocks.c grace_is_as_long_by_any_clock", NULL },
    { "T28",
      "the out-of-service taint: only when the machine is gone and its node is down, and only for "
      "volumes that are still attached",
      an_out_of_service_node_is_let_go, ON_BOTH,
      "tests/cli/test_volumes.c a_dead_machine_lets_its_volumes_go", NULL,
      "sluice clears pods itself; the taint saves the six minutes that a volume is kept for a "
      "kubelet. On real servers the pod garbage collector obeyed the taint. The detach of a real "
      "volume was not tested" },
    /* volumes */
    { "T29", "a VolumeAttachment is waited for", attachments_are_listed, ON_BOTH,
      "tests/cli/test_volumes.c volumes_are_waited_for_until_they_are_detached", NULL, NULL },
    { "T30", "a VolumeAttachment that stays is shown, and the transfer goes on",
      a_silent_attacher_keeps_its_volume, ON_BOTH,
      "tests/cli/test_volumes.c a_volume_that_stays_attached_stops_nothing", NULL,
      "On a real server: a deleted attachment counts until its attacher removes the finalizer" },
    { "T31", "a VolumeAttachment of a DaemonSet's pod is ignored", a_daemons_volume_stays_with_it,
      ON_BOTH, "tests/cli/test_volumes.c volumes_that_stay_or_are_not_there_cost_nothing", NULL,
      "On a real server: sluice sees the claim of a worker and the claim of a DaemonSet's pod. "
      "Only "
      "the worker must leave. A claim names its volume" },
    /* node and machine */
    { "T32", "the machine is deleted and seen gone before its Node is deleted", NULL, 0,
      "tests/simulator/test_referee.c test_each_broken_promise_is_reported",
      "tests/real/picture.c picture_check_move", "The referee watches it in every run" },
    { "T33", "the delete of a Node that another client has already removed counts as done",
      a_node_gone_already_is_deleted, ON_BOTH, NULL, NULL, NULL },
    { "T34", "a Node with a foreign finalizer leaves, and the transfer goes on",
      a_foreign_finalizer_of_a_node_stays, ON_BOTH, NULL, NULL, NULL },
    { "T35", "a 404 of the cloud while its list has the machine proves nothing", NULL, 0,
      "tests/cli/test_doubts.c a_machine_that_is_listed_is_not_gone", NULL,
      "`a_list_that_lies_clears_no_node` of tests/cli/test_hazards.c plays the reverse: neither a "
      "read nor the list has a machine whose Node is Ready" },
    { "T36", "a create whose answer was lost: one machine", NULL, 0,
      "tests/cli/test_doubts.c a_machine_whose_answer_was_lost_is_the_only_one", NULL, NULL },
    { "T37",
      "a machine that died while its create was repeated is replaced by another attempt, with a "
      "name and a key of its own",
      NULL, 0, "tests/cli/test_repeats.c a_machine_that_died_under_a_repeated_create_is_replaced",
      NULL,
      "`a_machine_is_named_by_transfer_and_attempt` of tests/broker/test_transfer_record.c tests "
      "only the name" },
    { "T38", "a stock-out closes the pool, and the node is made again in its old pool", NULL, 0,
      "tests/cli/test_joining.c a_stock_out_tears_no_second_wave_down", NULL,
      "It plays the closed pool. `a_node_without_room_elsewhere_is_made_again_at_home` of "
      "tests/cli/test_doubts.c plays the node that is made again" },
    { "T39", "a new machine with an old Node's name is matched by provider ID",
      a_node_is_found_by_its_machine, ON_BOTH,
      "tests/cli/test_joining.c an_old_node_of_the_same_name_is_not_taken", NULL,
      "On a real server: a Node of the machine's name with another provider ID is not taken; one "
      "with the machine's provider ID is" },
    /* readiness */
    { "T40", "Ready without GPUs does not serve", gpus_are_counted_as_they_come_and_go, ON_BOTH,
      "tests/cli/test_joining.c the_taint_goes_last", "tests/real/pair.c expect_starting", NULL },
    { "T41", "GPUs that come and go are waited out", gpus_are_counted_as_they_come_and_go, ON_BOTH,
      "tests/cli/test_joining.c the_taint_goes_last", NULL,
      "On a real server: the count follows the kubelet, and Ready says nothing of it" },
    { "T42", "a machine with seven of eight GPUs: another attempt, on another host", NULL, 0,
      "tests/cli/test_joining.c seven_of_eight_gpus_are_not_enough",
      "tests/real/machines.c seven_of_eight_gpus_are_not_enough", NULL },
    { "T43", "sluice lifts the start-up taint last", NULL, 0,
      "tests/cli/test_joining.c the_taint_goes_last", "tests/real/pair.c expect_starting", NULL },
    { "T44", "a machine that never joins is replaced", NULL, 0,
      "tests/cli/test_joining.c attempts_are_bounded_by_the_guard",
      "tests/real/machines.c a_machine_that_never_joins_is_replaced",
      "On real servers the second machine serves" },
    /* crash and concurrency */
    { "T45", "the service dies at any commit", NULL, 0,
      "tests/cli/test_crash.c a_death_at_any_commit_loses_nothing",
      "tests/real/two_clusters.c a_node_moves_once_whenever_the_service_dies",
      "`a_death_among_forced_deletes_loses_nothing` of the same file does so in a move with pods "
      "that a budget keeps and pods that do not stop. `tests/real/sigkill` does so with SIGKILL on "
      "sockets" },
    { "T46",
      "a torn tail of the journal is cut off at a commit, and the move ends; all else that is "
      "damaged is refused",
      NULL, 0, "tests/cli/test_torn.c a_commit_that_was_torn_never_was", NULL,
      "`commits_that_the_disk_lost_are_seen_in_the_world` of the same file tears the last few "
      "commits, although the disk had confirmed them. tests/broker/test_damage.c damages the files "
      "byte by byte. `a_changed_story_is_found` of tests/broker/test_journal.c changes or deletes "
      "an event of the journal" },
    { "T47", "no effect is sent before its intent is on the disk", NULL, 0,
      "tests/cli/test_crash.c a_full_disk_lets_nothing_out", NULL, NULL },
    { "T48",
      "two brokers: a second process on one journal is refused, and a process that lost the "
      "journal "
      "does nothing more; two brokers with a journal each move no node twice",
      NULL, 0, "tests/cli/test_two_brokers.c who_lost_the_journal_does_nothing_more", NULL,
      "`a_second_process_on_one_journal_ends_at_once` and "
      "`two_brokers_on_one_fleet_move_no_node_twice` of the same file test the first and the last "
      "of these. `an_older_epoch_writes_no_more` of tests/broker/test_journal.c tests only the "
      "store" },
    { "T49",
      "a machine of an open intent is not discarded, and a node of another broker is not chosen",
      NULL, 0, "tests/cli/test_hazards.c a_node_of_another_broker_is_not_chosen", NULL,
      "`a_machine_that_serves_is_not_discarded` of the same file tests the machine. A transfer "
      "discards only the machine that it made itself" },
    { "T50", "a list in pages holds every pod", pages_hold_every_pod, ON_BOTH,
      "tests/clusters/test_watch.c an_expired_watch_lists_again_and_drops_what_vanished", NULL,
      NULL },
    { "T51",
      "one API server of two is out of reach for long: what moves there stands still, what moves "
      "elsewhere goes on",
      NULL, 0, "tests/cli/test_outage.c an_unreachable_cluster_stands_still_and_no_other",
      "tests/real/two_clusters.c a_node_moves_once_after_a_long_outage",
      "`an_unseen_machine_is_not_late` of the same file plays the outage in the cluster that the "
      "new machine joins. `a_long_outage_discards_no_machine` of tests/cli/test_hazards.c plays a "
      "broker that was down for long. On real servers the server's process is stopped for minutes "
      "in the middle of a drain" },
    /* gangs and more than one cluster */
    { "T52", "the nodes that touch the fewest gangs are chosen", NULL, 0,
      "tests/broker/test_victims.c the_least_work_is_lost", NULL, NULL },
    { "T53", "a gang is suspended as a whole before its first eviction", NULL, 0,
      "tests/cli/test_gangs.c a_gang_is_stopped_as_a_whole_and_goes_on_afterwards",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "On real servers Kueue does it, through `spec.active` of the Workload" },
    { "T54", "a gang is resumed when its move is withdrawn", NULL, 0,
      "tests/cli/test_gangs.c a_gang_goes_on_when_the_last_of_its_nodes_is_kept",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes", NULL },
    { "T55", "the whole move is cordoned before its first eviction", NULL, 0,
      "tests/cli/test_doubts.c a_move_is_closed_before_its_first_eviction",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes", NULL },
    { "T56",
      "a quota follows the nodes: it shrinks before the drain, and grows with usable GPUs; no node "
      "leaves while reserved quotas exceed the static nodes",
      a_missing_kueue_is_told_apart, ON_BOTH,
      "tests/cli/test_setpoints.c a_quota_shrinks_before_the_drain_and_grows_with_what_is_ready",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "`what_is_reserved_has_to_fit_the_static_nodes` of the same file tests reserved quotas. On "
      "real servers `a_promise_that_static_nodes_cannot_keep_holds_all_nodes` does so" },
    { "T57",
      "50 of 500 nodes with 30 pods each are drained at once, bounded in requests, memory and "
      "turns",
      NULL, 0, "tests/cli/test_crowd.c fifty_nodes_are_drained_at_once", NULL,
      "None of 1,500 evictions is refused, 1.13 requests a pod; there is no rate to configure, but "
      "never more than 64 evictions of a cluster at once. `tools/bench move` and "
      "`tests/real/scale` "
      "measure this on a real server" },
    { "T58", "a transfer is withdrawn at each step", NULL, 0,
      "tests/cli/test_withdrawals.c each_step_has_its_way_back_or_none",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "On real servers a move goes back in the middle of its drain" },
    { "T59", "an API server's clock differs from the broker's", NULL, 0,
      "tests/cli/test_clocks.c grace_is_as_long_by_any_clock",
      "tests/real/clocks.c grace_is_as_long_by_any_clock",
      "sluice reads the server's clock from the Date of its answers. On real servers the test sets "
      "the service's clock 90 s ahead and 90 s behind. Two servers whose clocks differ from each "
      "other are not tested on real servers" },
    { "T60", "the reason why a transfer waits or will wait", NULL, 0,
      "tests/broker/test_blockers.c each_blocker_is_said_in_its_words",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "It compares 13 blockers word for word, before a move. `what_is_said_of_a_pod_comes_true` of "
      "tests/cli/test_blocked.c reads blockers in a running service, and sees the drain do what "
      "they say. `a_held_transfer_says_what_holds_it` of tests/cli/test_moves.c checks the reason "
      "that a transfer shows during a move. On real servers seven of the 13 are checked, on eight "
      "pods of one node; a budget that has no room now, unhealthy pods, a silent node and volumes "
      "are not among the seven" },
    { "T61", "a dry run of an eviction: each refusal is told apart, and nothing is evicted",
      a_dry_run_tells_and_does_nothing, ON_BOTH,
      "tests/cli/test_trials.c two_budgets_are_asked_about_a_few_for_each_node", NULL, NULL },
    { "T62",
      "Dynamic Resource Allocation: a node has the GPUs that its complete pools show, cut or "
      "whole, "
      "and a pod holds what its claim was allocated",
      devices_are_counted_as_they_are_allocated, ON_REAL,
      "tests/cli/test_devices.c a_node_serves_by_its_slices", NULL,
      "On the simulator a node joins by its slices, and jobs hold whole devices for hours" },
};

const size_t conformance_case_count = sizeof conformance_cases / sizeof conformance_cases[0];
