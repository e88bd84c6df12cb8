/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sluice relies on in Slurm, and what it must not rely on.
 */
#include "tests/slurm/slurm_stage.h"

const struct slurm_case slurm_cases[] = {
    /* slurmrestd */
    { "S1", "commands and slurmrestd tell their release", the_release_is_told, ON_BOTH, 0, NULL },
    { "S2",
      "slurmrestd's description of itself has the methods that each version has: 22.05 changes no "
      "node, neither makes a reservation nor requeues",
      the_description_has_what_is_asked, ON_BOTH, 0, NULL },
    { "S3", "a request without a token is answered 401, in plain text", no_token_is_refused,
      ON_BOTH, 0, NULL },
    { "S4", "a bad token never gives an empty list", a_bad_token_is_no_empty_list, ON_BOTH, 0,
      "22.05 answers 500, as without slurmctld. 24.11 answers lists with 511, or 502 without "
      "slurmctld, and `ping` with 200 and `pinged: DOWN`" },
    { "S5", "an unknown path is 404; a method that 22.05 does not have is 405",
      an_unknown_path_is_refused, ON_BOTH, 0,
      "`GET reconfigure` of 24.11 makes slurmctld read its configuration again" },
    { "S6",
      "a node that is not there: 22.05 answers 500; 24.11 answers 200 with an error and without "
      "the member `nodes`",
      a_node_that_is_not_there_is_told_apart, ON_BOTH, 0,
      "`scontrol --json show node` of 24.11 answers an empty list and exit status 0" },
    { "S7", "a job that is not there: 500 (22.05) or 404 (24.11), with error number 2017",
      a_job_that_is_not_there_is_told_apart, ON_BOTH, 0, NULL },
    /* nodes */
    { "S8", "nodes are read alike in both shapes: states, eight GPUs, the start of slurmd",
      nodes_are_read, ON_BOTH, 0, NULL },
    { "S9", "a drain has its reason as it was given, its user and its time",
      a_drain_has_reason_and_user, ON_BOTH, 0, NULL },
    { "S10",
      "scontrol refuses a drain without a reason; by REST it is done, and the older reason stays",
      a_drain_needs_a_reason, ON_BOTH, 0, NULL },
    { "S11", "a job on a node that drains goes on", a_drained_node_keeps_its_job, ON_BOTH, 0,
      NULL },
    { "S12", "no job starts on a node that drains", a_drained_node_gets_no_job, ON_BOTH, 0, NULL },
    { "S13", "a second drain replaces the reason of the first, without a word",
      a_second_reason_replaces_the_first, ON_BOTH, 0,
      "So sluice never drains a node that a person drained" },
    { "S14",
      "after UNDRAIN jobs start again. 22.05 forgets the reason at once, 24.11 with the next job",
      an_undrain_lets_it_serve, ON_BOTH, 0,
      "Until slurmd has answered, the node is NOT_RESPONDING" },
    { "S15", "RESUME of a node that does not drain is refused", an_idle_node_is_not_resumed,
      ON_BOTH, 0, NULL },
    { "S16", "a change of a node that is not there is refused as such",
      an_unknown_node_is_not_drained, ON_BOTH, 0, NULL },
    { "S17",
      "FUTURE hides an idle node of slurm.conf only until slurmctld reads its configuration again: "
      "then the node serves",
      future_does_not_last, ON_BOTH, 0, "So sluice keeps such nodes drained" },
    { "S18", "FUTURE of a node with jobs is refused", a_busy_node_is_not_future, ON_BOTH, 0, NULL },
    { "S19", "POWER_DOWN and POWER_UP are refused while power saving is not configured",
      power_needs_power_saving, ON_BOTH, 0, NULL },
    { "S20", "DOWN ends the jobs of a node: they are requeued, or lost as NODE_FAIL",
      down_ends_the_jobs, ON_BOTH, 0, "sluice never sets it" },
    { "S21", "a dynamic node is deleted, and a second delete is refused as not found",
      a_dynamic_node_is_deleted, ON_BOTH, 0,
      "A node of a cloud that is powered down is in no list of 22.05" },
    { "S22", "24.11 refuses to delete a node of slurm.conf", a_node_of_the_configuration_stays,
      ON_BOTH, 2411, "22.05 deletes it, and slurmctld ends when it reads its configuration again" },
    { "S23",
      "a dynamic node that is made a second time: 22.05 says nothing and keeps it; 24.11 refuses, "
      "and the node is gone",
      a_node_made_twice, ON_BOTH, 0, NULL },
    { "S24", "Comment and Extra of a node are read as they were written", a_comment_is_read,
      ON_BOTH, 0, NULL },
    /* reservations */
    { "S25", "a maintenance reservation is read: its node and its start", a_reservation_is_read,
      ON_BOTH, 0, NULL },
    { "S26", "backfill starts a job that ends before the reservation, and not one that would not",
      a_reservation_keeps_long_jobs_away, ON_BOTH, 0, NULL },
    { "S27", "a node with jobs is reserved with IGNORE_JOBS only, and its jobs go on",
      a_reservation_ignores_jobs_if_told, ON_BOTH, 0, NULL },
    { "S28", "a reservation's start moves; one that is not there is refused as such",
      a_reservation_moves, ON_BOTH, 0, NULL },
    { "S29", "a reservation is deleted, and a second delete is refused as not found",
      a_reservation_ends, ON_BOTH, 0, NULL },
    { "S30", "a second reservation of the same name is a conflict", a_reservation_has_one_name,
      ON_BOTH, 0, NULL },
    { "S31", "a reservation in the past, of an unknown node, or without users is refused",
      a_reservation_has_no_past, ON_BOTH, 0, NULL },
    { "S32", "Duration=UNLIMITED ends more than 300 days later",
      an_endless_reservation_ends_far_away, ON_BOTH, 0, NULL },
    /* jobs */
    { "S33",
      "a requeued job keeps its number, counts one restart more, leaves its node, and runs again "
      "when the lifetime of its credential is over",
      a_requeued_job_keeps_its_number, ON_BOTH, 0,
      "121 s, if AuthInfo says nothing else; 6 s on the real servers here" },
    { "S34", "requeue of a job that waits is refused", a_waiting_job_is_not_requeued, ON_BOTH, 0,
      NULL },
    { "S35", "requeue of a job with --no-requeue is refused, and it runs on", no_requeue_is_obeyed,
      ON_BOTH, 0, NULL },
    { "S36", "ARRAY_TASK requeues that task alone", a_task_is_requeued_alone, ON_BOTH, 0, NULL },
    { "S37", "the number of an array's last task means the whole array", an_array_is_requeued_whole,
      ON_BOTH, 0, "So sluice names the task" },
    { "S38",
      "a heterogeneous job is requeued by its leader, as a whole; by another component not at all",
      a_heterogeneous_job_goes_as_one, ON_BOTH, 0, NULL },
    { "S39", "a requeued job of two nodes leaves both", an_exclusive_job_leaves_both_nodes, ON_BOTH,
      0, NULL },
    { "S40", "a signal reaches the batch script of that task, which runs on",
      a_signal_reaches_the_script, ON_BOTH, 0, NULL },
    { "S41",
      "an unknown signal: commands and 22.05 refuse it; 24.11 by REST says so, and cancels the job",
      an_unknown_signal_is_no_signal, ON_BOTH, 0, "So sluice sends signals by the command only" },
    { "S42",
      "a signal for a job that is not there is refused; by REST 24.11 answers 200, and the error "
      "is in `status`",
      a_signal_needs_its_job, ON_BOTH, 0, NULL },
    { "S43", "a cancelled job ends; scancel of a job that is not there says nothing",
      a_cancelled_job_is_gone, ON_BOTH, 0, NULL },
    { "S44", "a requeued job that ignores TERM is COMPLETING and on its node until it is killed",
      a_stubborn_job_is_still_there, ON_BOTH, 0, NULL },
    { "S45",
      "the list of jobs is right when a job has begun; the state of its node may be as old as "
      "seconds",
      jobs_are_newer_than_states, ON_BOTH, 0, "So a node is empty when the list of jobs says so" },
    { "S46",
      "a batch script is read, also of an array's task, with its #SBATCH lines; what stood on "
      "sbatch's command line is not in it. Of a job that is not there nothing is printed, and the "
      "exit status is 0",
      a_script_is_read, ON_BOTH, 0, NULL },
    /* slurmctld */
    { "S47", "a restart of slurmctld keeps drains with their reasons, reservations and jobs",
      a_restart_keeps_drains_and_jobs, ON_BOTH, 0, NULL },
    { "S48", "without slurmctld each list fails; none is empty", no_server_is_no_empty_list,
      ON_BOTH, 0,
      "`squeue --json` of 22.05 then prints an empty list, an error beside it, and has exit status "
      "0" },
    /* jobs */
    { "S49",
      "scontrol sets and clears a job's admin comment; a requeue keeps it; a job that is not there "
      "is refused",
      an_admin_comment_is_shown, ON_BOTH, 0, NULL },
    /* reservations */
    { "S50", "a reservation that began cannot be moved; the refusal is a conflict",
      a_reservation_that_began_stays, ON_BOTH, 0,
      "So sluice deletes it, and makes one for the later departure" },
    /* jobs */
    { "S51",
      "a signal for a job that was requeued reaches nothing; scancel alone would go on for a "
      "minute, and reach the job on another node",
      a_signal_does_not_follow_its_job, ON_BOTH, 0,
      "So it gets 4 s, and the node; and no job is requeued while its signal is under way" },
    { "S52",
      "through a socket slurmrestd takes tokens as by TCP: lists are read; 24.11 drains and "
      "resumes",
      a_socket_takes_tokens, ON_BOTH, 0, NULL },
    { "S53",
      "through a socket slurmrestd knows its caller without a token; its own user, who is no "
      "operator, reads the lists and changes no node",
      a_socket_knows_its_caller, ON_BOTH, 0,
      "A request with a token or a user's name is answered 401 there" },
    /* GPUs in slices */
    { "S54",
      "a node with slices (MIG) is read: one whole GPU, seven of 1g.5gb and one of 3g.20gb are "
      "three "
      "GPUs",
      slices_are_counted, ON_BOTH, 0,
      "The type may have the GPU's name before the profile or not" },
    { "S55",
      "a job with slices shows them; it counts in the choice of nodes, and is requeued alone",
      a_job_with_a_slice_is_weighed, ON_BOTH, 0, NULL },
    /* `sluice doctor` */
    { "S56",
      "by slurmrestd alone doctor names what this release cannot do: 22.05 twelve actions, 24.11 "
      "nine",
      the_doctor_names_what_is_missing, ON_BOTH, 0, NULL },
    { "S57", "with the commands doctor finds that each action can be done",
      the_doctor_is_content_with_commands, ON_BOTH, 0, NULL },
    { "S58", "doctor names lists that fail: by a bad token, and without slurmctld",
      the_doctor_names_lists_that_fail, ON_BOTH, 0,
      "slurmrestd describes itself to a bad token, too" },
    /* nodes that are DOWN */
    { "S59",
      "a node whose slurmd ended is DOWN and NOT_RESPONDING, with the reason \"Not responding\". "
      "24.11 puts this behind a reason that is there, and keeps it when slurmd is back; 22.05 does "
      "neither",
      a_dead_slurmd_has_a_reason, ON_BOTH, 0,
      "So such a reason does not say that a person set the node DOWN" },
    { "S60",
      "DOWN has the reason of the person who set it, and the user; a drain of such a node replaces "
      "the reason, and UNDRAIN leaves it DOWN with that",
      a_person_sets_it_down, ON_BOTH, 0, NULL },
    /* jobs */
    { "S61",
      "a signal of a heterogeneous job reaches its batch script by the leader's node; by another "
      "component's it reaches nothing, and the exit status is 0. Of a job on two nodes either will "
      "do",
      a_leader_is_signalled_on_its_node, ON_BOTH, 0,
      "So sluice names the node of the batch script" },
    { "S62",
      "the command's list has each job that holds a node: one that runs, is suspended, or still "
      "ends after a requeue. That of 24.11 has no job that waits",
      the_list_has_what_holds_nodes, ON_BOTH, 0,
      "22.05 pays no heed to `--states` beside `--json`. slurmrestd cannot filter" },
    /* nodes that leave */
    { "S63",
      "the record of a dynamic node outlives its slurmd and a restart of slurmctld: a slurmd that "
      "registers under its name finds the drain, the reason and the comment",
      a_drained_record_waits_for_its_slurmd, ON_BOTH, 0,
      "So sluice deletes no record that a person drained. It has the address of the first slurmd: "
      "one that registers from another is NOT_RESPONDING" },
    /* signals */
    { "S64",
      "without --batch a signal reaches what srun started, and not the batch script; it may be a "
      "number",
      a_signal_reaches_the_steps, ON_BOTH, 0,
      "As `--signal` without B: does. A script without a trap would end" },
    /* GPUs in slices */
    { "S65",
      "a job is refused, and is FAILED in the list, if no node has so many slices, or such a type",
      slices_are_asked_for, ON_BOTH, 0,
      "A type without a count is one; 22.05 refuses one that begins with a digit, as in "
      "`--gres=gpu:3g.20gb`" },
    { "S66", "a job that asks for GPUs of any type gets the first that are free, slices too",
      any_gpu_may_be_a_slice, ON_BOTH, 0,
      "Each type of the node is shown, some with none of it: `gpu:3g.20gb:0(IDX:)`" },
    /* slurmrestd */
    { "S67",
      "slurmrestd's own user, who is no operator, cancels no job of another; slurmctld 24.11.5 "
      "then "
      "hangs until it is started again",
      a_cancel_needs_rights, ON_BOTH, 0,
      "So the user that sluice is must be an operator. The answer comes after 10 s, and is the one "
      "that 24.11 gives without slurmctld: 500 \"Operation not permitted\"" },
};

const size_t slurm_case_count = COUNT_OF(slurm_cases);
