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
      "another client adds a taint between sluice's read and patch: the server refuses the patch, "
      "sluice reads the node again, and both taints stay",
      a_stale_cordon_is_refused, ON_BOTH, NULL, NULL, NULL },
    { "T3",
      "if a person had cordoned a node, the undo leaves the node as it was before the transfer",
      a_human_cordon_stays, ON_BOTH,
      "tests/cli/test_hazards.c the_way_back_leaves_what_others_had_said", NULL, NULL },
    { "T4", "sluice does not take a new node for an old one of the same name: the UIDs differ",
      a_node_made_again_is_left_alone, ON_BOTH,
      "tests/cli/test_doubts.c a_node_made_again_under_the_name_is_not_ours", NULL, NULL },
    { "T5", "sluice sees the taint of another autoscaler", a_foreign_taint_is_seen, ON_BOTH,
      "tests/cli/test_withdrawals.c a_node_that_a_rival_claims_is_left_to_it", NULL,
      "The test plays a node that was announced before it got the taint: sluice gives the node "
      "back. In `a_node_that_a_rival_has_marked_is_not_chosen` of tests/cli/test_doubts.c the node "
      "has the taint before the plan chooses nodes" },
    { "T6",
      "a pod that is bound after the cordon is in the list by which sluice decides whether the "
      "node is empty",
      a_late_pod_is_listed, ON_BOTH,
      "tests/cli/test_doubts.c a_pod_that_only_the_server_lists_keeps_its_node", NULL,
      "In that test no watch shows the pod" },
    /* classes */
    { "T7",
      "sluice tells mirror, DaemonSet, finished and unmanaged pods apart; a pod whose DaemonSet is "
      "deleted delays nothing",
      an_ownerless_daemon_holds_nothing, ON_BOTH,
      "tests/clusters/test_decode.c pods_fall_into_their_classes", NULL,
      "If the DaemonSet is deleted, the garbage collector deletes the pod within seconds. A pod "
      "that was orphaned on purpose has no owner, and sluice evicts it like any other pod" },
    { "T8", "a DaemonSet's pod that comes back delays nothing", a_daemon_comes_back, ON_BOTH, NULL,
      NULL, NULL },
    { "T9", "sluice does not evict a terminating pod again; it only ever shortens the pod's grace",
      grace_only_shortens, ON_BOTH,
      "tests/cli/test_deadlines.c a_long_grace_of_another_client_is_cut_at_the_deadline", NULL,
      NULL },
    /* eviction */
    { "T10", "without a budget one eviction is enough: DisruptionTarget is set, and the pod leaves",
      an_eviction_is_marked, ON_BOTH, "tests/clusters/test_verbs.c what_is_on_the_wire", NULL,
      NULL },
    { "T11",
      "for an exhausted budget the server answers 429 with the cause and without Retry-After",
      an_exhausted_budget_says_no, ON_BOTH,
      "tests/cli/test_evictions.c a_refused_budget_is_asked_again_at_its_pace", NULL,
      "The text of the refusal is in `answers_to_an_eviction` of tests/clusters/test_verbs.c" },
    { "T12", "if two budgets select a pod, sluice never counts the pod as evicted",
      two_budgets_are_a_failure, ON_BOTH, NULL, NULL,
      "A real server answers HTTP 500 with a Status, `code` 500, no `reason`, no `details`: \"This "
      "pod has more than one PodDisruptionBudget, which the eviction subresource does not "
      "support.\"" },
    { "T13",
      "for a budget that the controller has not seen, the server answers 429 and asks for a pause "
      "of 10 s; sluice waits as long",
      an_unseen_budget_asks_for_patience, ON_BOTH,
      "tests/cli/test_evictions.c an_unseen_budget_is_asked_with_patience", NULL,
      "That test also plays a budget that sluice may not read" },
    { "T14", "an unready pod is evicted as the budget's unhealthyPodEvictionPolicy says",
      unready_pods_go_by_policy, ON_BOTH,
      "tests/cli/test_evictions.c an_unready_pod_goes_when_its_budget_says_so", NULL, NULL },
    { "T15", "the eviction of an old pod does not evict a new pod of the same name",
      a_namesake_is_not_evicted, ON_BOTH, NULL, NULL, NULL },
    { "T16",
      "in a namespace that is being deleted, the answer to an eviction is 403 "
      "NamespaceTerminating, before and after the pod was told to stop",
      a_leaving_namespace_is_waited_for, ON_BOTH, NULL, NULL, NULL },
    { "T17",
      "ten evictions at once, and a budget that allows one: one succeeds, and the others get only "
      "the budget's refusal",
      a_budget_lets_one_go, ON_BOTH,
      "tests/cli/test_evictions.c a_budget_has_one_eviction_under_way", NULL,
      "`budgets_are_asked_only_when_they_have_room` of tests/cli/test_moves.c tests that a "
      "transfer "
      "sends no eviction that the budget's status would refuse" },
    { "T18",
      "sluice does not take the 429 of an overloaded server (plain, with Retry-After) for a "
      "refusal by a budget",
      an_overload_is_no_budget, ON_BOTH, "tests/cli/test_gate.c one_refusal_holds_all_of_a_drain",
      NULL,
      "Two tests of the same file: `an_overloaded_server_is_left_alone_and_no_other` (other "
      "clusters are asked as before), `nothing_is_asked_again_before_the_time_that_a_server_named` "
      "(the length of the pause). On a real server evictions get a priority level with one seat; "
      "the answer is plain text: \"Too many requests, please try again later.\"" },
    { "T19",
      "a webhook that cannot be reached causes a 500: sluice asks again, and evicts the pod once "
      "the webhook is gone. A policy that denies an eviction delays only that pod",
      what_stands_before_an_eviction_is_told_apart, ON_BOTH,
      "tests/cli/test_gate.c a_rule_that_forbids_costs_the_deadline", NULL,
      "A ValidatingAdmissionPolicy answers 422 Invalid. tests/clusters/test_verbs.c tests webhooks "
      "that deny with any code" },
    { "T20", "if the answer to an eviction is lost, sluice asks again without harm",
      evicting_twice_is_evicting_once, ON_BOTH,
      "tests/cli/test_faults.c bad_luck_breaks_no_promise", NULL, NULL },
    /* deadline and force */
    { "T21", "sluice deletes a blocked pod one grace period before the deadline",
      a_delete_passes_a_budget_and_is_marked, ON_BOTH,
      "tests/cli/test_deadlines.c a_blocked_pod_is_deleted_its_own_grace_before_the_deadline",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true", NULL },
    { "T22", "a pod that ignores SIGTERM is still there after a grace of 1 s",
      a_deaf_pod_needs_grace_zero, ON_BOTH,
      "tests/cli/test_deadlines.c a_pod_that_does_not_stop_has_until_the_deadline", NULL, NULL },
    { "T23", "a delete with grace 0 and the UID removes that pod, and no other",
      a_deaf_pod_needs_grace_zero, ON_BOTH,
      "tests/cli/test_deadlines.c what_outlives_its_machine_is_removed_before_its_node", NULL,
      "The referee reports a delete with grace 0 before the machine is gone" },
    { "T24", "sluice sees the finalizer of another controller, and leaves it",
      a_foreign_finalizer_stays, ON_BOTH,
      "tests/cli/test_deadlines.c a_foreign_finalizer_is_left_and_gone_past",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "The transfer shows the finalizer, before and after its machine is deleted" },
    { "T25", "if no controller removes the finalizer of a Job's pod, the pod delays no drain",
      a_foreign_finalizer_stays, ON_BOTH,
      "tests/cli/test_moves.c a_pod_that_is_only_to_be_counted_holds_no_drain_up", NULL,
      "The function of T24 tests the requests one by one. If four pods of a Job leave at once, the "
      "real Job controller may keep `job-tracking` on ended pods (`deletionGracePeriodSeconds` 0) "
      "for over a minute. No drain waits for that" },
    { "T26", "sluice warns of a grace longer than the whole drain", a_cut_grace_is_told_once,
      ON_BOTH, "tests/broker/test_blockers.c each_blocker_is_said_in_its_words",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "The Event `GraceCut` on the pod says how much grace the pod gets: "
      "`a_grace_beyond_the_deadline_is_cut_and_the_pod_says_so` of tests/cli/test_deadlines.c" },
    { "T27", "if the kubelet is dead, sluice deletes the machine first, then the pods and the Node",
      a_silent_node_keeps_its_pods, ON_BOTH,
      "tests/cli/test_hazards.c a_silent_node_is_not_waited_for",
      "tests/real/clocks.c grace_is_as_long_by_any_clock", NULL },
    { "T28",
      "sluice sets the out-of-service taint only if the machine is gone and its node is down, and "
      "only for volumes that are still attached",
      an_out_of_service_node_is_let_go, ON_BOTH,
      "tests/cli/test_volumes.c a_dead_machine_lets_its_volumes_go", NULL,
      "sluice clears pods itself. Without the taint a volume would wait six minutes for a kubelet. "
      "On real servers the pod garbage collector obeyed the taint. The detach of a real volume was "
      "not tested" },
    /* volumes */
    { "T29", "sluice waits until a VolumeAttachment is gone", attachments_are_listed, ON_BOTH,
      "tests/cli/test_volumes.c volumes_are_waited_for_until_they_are_detached", NULL, NULL },
    { "T30", "sluice shows a VolumeAttachment that stays, and the transfer goes on",
      a_silent_attacher_keeps_its_volume, ON_BOTH,
      "tests/cli/test_volumes.c a_volume_that_stays_attached_stops_nothing", NULL,
      "On a real server: a deleted attachment counts until its attacher removes the finalizer" },
    { "T31", "sluice ignores a VolumeAttachment of a DaemonSet's pod",
      a_daemons_volume_stays_with_it, ON_BOTH,
      "tests/cli/test_volumes.c volumes_that_stay_or_are_not_there_cost_nothing", NULL,
      "On a real server: sluice sees the claims of a worker pod and of a DaemonSet's pod; only the "
      "worker must leave. A claim names its volume" },
    /* node and machine */
    { "T32", "sluice deletes the machine and sees that it is gone, before it deletes the Node",
      NULL, 0, "tests/simulator/test_referee.c test_each_broken_promise_is_reported",
      "tests/real/picture.c picture_check_move", "The referee checks this in every run" },
    { "T33", "if another client has already removed a Node, its delete counts as done",
      a_node_gone_already_is_deleted, ON_BOTH, NULL, NULL, NULL },
    { "T34",
      "the delete of a Node counts as done even if another controller's finalizer keeps the Node, "
      "and the transfer goes on",
      a_foreign_finalizer_of_a_node_stays, ON_BOTH, NULL, NULL, NULL },
    { "T35", "a cloud's 404 for a machine proves nothing while the cloud's list has the machine",
      NULL, 0, "tests/cli/test_doubts.c a_machine_that_is_listed_is_not_gone", NULL,
      "`a_list_that_lies_clears_no_node` of tests/cli/test_hazards.c plays the reverse: the Node "
      "of a machine is Ready, but neither a read nor the list has the machine" },
    { "T36", "if the answer to a create is lost, the repeat makes no second machine", NULL, 0,
      "tests/cli/test_doubts.c a_machine_whose_answer_was_lost_is_the_only_one", NULL, NULL },
    { "T37",
      "if a machine dies while its create is repeated, another attempt replaces it, under a name "
      "and a key of its own",
      NULL, 0, "tests/cli/test_repeats.c a_machine_that_died_under_a_repeated_create_is_replaced",
      NULL,
      "`a_machine_is_named_by_transfer_and_attempt` of tests/broker/test_transfer_record.c tests "
      "only the name" },
    { "T38", "a stock-out closes the pool, and sluice creates a machine in the node's old pool",
      NULL, 0, "tests/cli/test_joining.c a_stock_out_tears_no_second_wave_down", NULL,
      "This test plays the closed pool. `a_node_without_room_elsewhere_is_made_again_at_home` of "
      "tests/cli/test_doubts.c plays the machine in the old pool" },
    { "T39",
      "sluice finds the Node of a new machine by provider ID, even if an old Node has the "
      "machine's name",
      a_node_is_found_by_its_machine, ON_BOTH,
      "tests/cli/test_joining.c an_old_node_of_the_same_name_is_not_taken", NULL,
      "On a real server: a Node of the machine's name with another provider ID is not taken; one "
      "with the machine's provider ID is" },
    /* readiness */
    { "T40", "a Node that is Ready without GPUs does not serve",
      gpus_are_counted_as_they_come_and_go, ON_BOTH, "tests/cli/test_joining.c the_taint_goes_last",
      "tests/real/pair.c expect_starting", NULL },
    { "T41", "if GPUs come and go, sluice waits until they stay",
      gpus_are_counted_as_they_come_and_go, ON_BOTH, "tests/cli/test_joining.c the_taint_goes_last",
      NULL,
      "On a real server: the number of GPUs follows the kubelet, and the condition Ready does not "
      "show it" },
    { "T42", "a machine with seven of eight GPUs leads to another attempt, on another host", NULL,
      0, "tests/cli/test_joining.c seven_of_eight_gpus_are_not_enough",
      "tests/real/machines.c seven_of_eight_gpus_are_not_enough", NULL },
    { "T43", "sluice lifts the start-up taint last", NULL, 0,
      "tests/cli/test_joining.c the_taint_goes_last", "tests/real/pair.c expect_starting", NULL },
    { "T44", "sluice replaces a machine that never joins", NULL, 0,
      "tests/cli/test_joining.c attempts_are_bounded_by_the_guard",
      "tests/real/machines.c a_machine_that_never_joins_is_replaced",
      "On real servers the second machine serves" },
    /* crash and concurrency */
    { "T45", "the service is killed at any commit, and no node is lost or moved twice", NULL, 0,
      "tests/cli/test_crash.c a_death_at_any_commit_loses_nothing",
      "tests/real/two_clusters.c a_node_moves_once_whenever_the_service_dies",
      "`a_death_among_forced_deletes_loses_nothing` of tests/cli/test_crash.c kills the service in "
      "a move with pods that a budget keeps and pods that do not stop. `tests/real/sigkill` kills "
      "it with SIGKILL on sockets" },
    { "T46",
      "if the end of the journal is torn, the journal continues from its last whole commit and the "
      "move ends; sluice refuses a journal with any other damage",
      NULL, 0, "tests/cli/test_torn.c a_commit_that_was_torn_never_was", NULL,
      "`commits_that_the_disk_lost_are_seen_in_the_world` of the same file tears the last few "
      "commits, which the disk had confirmed. tests/broker/test_damage.c damages the files "
      "byte by byte. `a_changed_story_is_found` of tests/broker/test_journal.c changes or deletes "
      "an event of the journal" },
    { "T47", "no effect is sent before its intent is on the disk", NULL, 0,
      "tests/cli/test_crash.c a_full_disk_lets_nothing_out", NULL, NULL },
    { "T48",
      "two brokers: a second process on one journal is refused, and a process that lost the "
      "journal "
      "does nothing more; two brokers with a journal each move no node twice",
      NULL, 0, "tests/cli/test_two_brokers.c who_lost_the_journal_does_nothing_more", NULL,
      "`a_second_process_on_one_journal_ends_at_once` of the same file tests the second process. "
      "`two_brokers_on_one_fleet_move_no_node_twice` of that file tests two brokers with a journal "
      "each. `an_older_epoch_writes_no_more` of tests/broker/test_journal.c tests only the store" },
    { "T49",
      "sluice does not discard a new machine that serves, even if its transfer goes no further; "
      "it chooses no node that another broker's annotation claims",
      NULL, 0, "tests/cli/test_hazards.c a_node_of_another_broker_is_not_chosen", NULL,
      "`a_machine_that_serves_is_not_discarded` of the same file tests the machine. A transfer "
      "discards only the machine that it made itself" },
    { "T50", "a list in pages has every pod", pages_hold_every_pod, ON_BOTH,
      "tests/clusters/test_watch.c an_expired_watch_lists_again_and_drops_what_vanished", NULL,
      NULL },
    { "T51",
      "if one of two API servers cannot be reached for long, moves there stand still, and other "
      "moves go on",
      NULL, 0, "tests/cli/test_outage.c an_unreachable_cluster_stands_still_and_no_other",
      "tests/real/two_clusters.c a_node_moves_once_after_a_long_outage",
      "`an_unseen_machine_is_not_late` of tests/cli/test_outage.c plays the outage in the cluster "
      "that the new machine joins. `a_long_outage_discards_no_machine` of tests/cli/test_hazards.c "
      "plays a broker that was down for long. On real servers the test stops the API server's "
      "process for minutes in the middle of a drain" },
    /* gangs and more than one cluster */
    { "T52", "sluice chooses the nodes whose departure loses the least work of gangs", NULL, 0,
      "tests/broker/test_victims.c the_least_work_is_lost", NULL, NULL },
    { "T53", "sluice suspends a gang as a whole before its first eviction", NULL, 0,
      "tests/cli/test_gangs.c a_gang_is_stopped_as_a_whole_and_goes_on_afterwards",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "On real servers sluice sets `spec.active` of the Workload, and Kueue stops the gang" },
    { "T54", "sluice resumes a gang when the gang's move is withdrawn", NULL, 0,
      "tests/cli/test_gangs.c a_gang_goes_on_when_the_last_of_its_nodes_is_kept",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes", NULL },
    { "T55", "sluice cordons all nodes of a move before the first eviction", NULL, 0,
      "tests/cli/test_doubts.c a_move_is_closed_before_its_first_eviction",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes", NULL },
    { "T56",
      "a quota shrinks before the drain, and grows when GPUs can be used; no node leaves a "
      "cluster while its quotas with `reserved: true` (which sluice never writes) and its "
      "`fixed_gpus` together exceed the GPUs of its usable static nodes",
      a_missing_kueue_is_told_apart, ON_BOTH,
      "tests/cli/test_setpoints.c a_quota_shrinks_before_the_drain_and_grows_with_what_is_ready",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "`what_is_reserved_has_to_fit_the_static_nodes` of tests/cli/test_setpoints.c tests reserved "
      "quotas. `a_promise_that_static_nodes_cannot_keep_holds_all_nodes` of tests/real/kueue.c "
      "tests them on real servers" },
    { "T57",
      "sluice drains 50 of 500 nodes with 30 pods each at once, with a limited number of requests, "
      "limited memory, and short turns of its event loop",
      NULL, 0, "tests/cli/test_crowd.c fifty_nodes_are_drained_at_once", NULL,
      "The server refuses none of 1,500 evictions; sluice sends 1.13 requests a pod. No rate can "
      "be configured, but at most 64 evictions of a cluster are under way. `tools/bench move` and "
      "`tests/real/scale` measure this on a real server" },
    { "T58", "a transfer is withdrawn at each step before the point of no return", NULL, 0,
      "tests/cli/test_withdrawals.c each_step_has_its_way_back_or_none",
      "tests/real/kueue.c a_gang_leaves_whole_and_quota_follows_the_nodes",
      "On real servers a move goes back in the middle of its drain" },
    { "T59", "an API server's clock differs from the service's clock", NULL, 0,
      "tests/cli/test_clocks.c grace_is_as_long_by_any_clock",
      "tests/real/clocks.c grace_is_as_long_by_any_clock",
      "sluice reads the server's clock from the Date of its answers. On real servers the test sets "
      "the service's clock 90 s ahead and 90 s behind. Two servers whose clocks differ from each "
      "other are not tested on real servers" },
    { "T60", "sluice shows the reason why a transfer waits or will wait", NULL, 0,
      "tests/broker/test_blockers.c each_blocker_is_said_in_its_words",
      "tests/real/blockers.c what_is_said_of_a_pod_comes_true",
      "tests/broker/test_blockers.c compares 13 blockers word for word, before a move. "
      "`what_is_said_of_a_pod_comes_true` of tests/cli/test_blocked.c compares the blockers that a "
      "running service reports with what the drain then does. `a_held_transfer_says_what_holds_it` "
      "of tests/cli/test_moves.c checks the reason that a transfer shows during a move. On real "
      "servers eight pods of one node show seven of the 13. The other six concern budgets without "
      "room at the moment, unhealthy pods, a silent node and volumes" },
    { "T61", "a dry run of an eviction tells the refusals apart, and evicts nothing",
      a_dry_run_tells_and_does_nothing, ON_BOTH,
      "tests/cli/test_trials.c two_budgets_are_asked_about_a_few_for_each_node", NULL, NULL },
    { "T62",
      "Dynamic Resource Allocation: a node has the GPUs (whole or parts) that its complete pools "
      "of slices show, and a pod holds the GPUs that its claim was allocated",
      devices_are_counted_as_they_are_allocated, ON_REAL,
      "tests/cli/test_devices.c a_node_serves_by_its_slices", NULL,
      "On the simulator a node joins by its slices, and jobs hold whole devices for hours" },
};

const size_t conformance_case_count = sizeof conformance_cases / sizeof conformance_cases[0];
