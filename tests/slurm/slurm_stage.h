/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The conformance suite for Slurm: one table of cases, and a stage on which a case plays.  The
 * stage is the simulator's slurmctld in virtual time, or a real one (tests/slurm/server); a case
 * does not know which.  It asks with the product's own client (clusters/slurm), and changes the
 * world with commands, as people do.
 *
 * There are four nodes of eight GPUs, n1 to n4, and s1, whose GPUs are cut into slices; it is in a
 * partition of its own.  Each case begins and ends with idle nodes, no jobs
 * and no reservations.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "clusters/slurm/slurm_client.h"
#include "clusters/slurm/slurm_read.h"
#include "tests/support/unit.h"

struct stage_choice {
    const char *folder;  /* of a real server; NULL: the simulator */
    const char *release; /* "22.05", "24.11" */
};

struct stage {
    struct stage_choice choice;
    int release; /* 2205, 2411 */
    char *folder;
    struct loop *loop;
    struct simulator *simulator; /* NULL: real */
    struct random random;
    struct world world;
    struct slurm_access access;
    struct slurm_client *client;
    /* Of the last question. */
    struct error err;
    json_t *list;
    struct text *out; /* of a command, with its errors */
    int status;       /* of a raw request, or a command's exit status */
    json_t *body;
};

struct stage *stage_open(const struct stage_choice *choice)
    __attribute__((returns_nonnull, warn_unused_result));
void stage_close(struct stage *stage);

/* From here on the product and raw requests go to slurmrestd by a socket, and there is no other
   way: "rest/tokens" takes tokens as TCP does, "rest/local" takes none. */
void stage_use_socket(struct stage *stage, const char *socket);

/* A person's command; the exit status. */
int stage_run(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
void stage_must(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool stage_said(const struct stage *stage, const char *words); /* the last command */

/* A raw request; "/nodes" becomes "/slurm/v0.0.NN/nodes" of the release's own version. */
int stage_rest(struct stage *stage, enum http_method method, const char *path, const char *body);
int stage_rest_as(struct stage *stage, const char *token, const char *path); /* NULL: none */

/* The product's action; false: stage->err says why. */
bool stage_ask(struct stage *stage, enum slurm_action action, const struct slurm_blanks *blanks);
/* By the command, whatever the REST interface can do. */
bool stage_ask_command(struct stage *stage, enum slurm_action action,
                       const struct slurm_blanks *blanks);

/* As the product reads it; it must be there.  Borrowed until the next question. */
struct slurm_node stage_node(struct stage *stage, const char *name);
bool stage_has_node(struct stage *stage, const char *name);
struct slurm_job stage_job(struct stage *stage, const char *id);
bool stage_has_reservation(struct stage *stage, const char *name, struct slurm_reservation *ret);
const char *stage_member(struct stage *stage, const char *id, const char *key); /* of a job */

enum script { SCRIPT_PLAIN, SCRIPT_STUBBORN };
/* Submits a job of so many seconds; the caller frees its number. */
char *stage_submit(struct stage *stage, enum script script, int seconds, const char *options)
    __attribute__((returns_nonnull, warn_unused_result));
char *stage_submit_pair(struct stage *stage); /* a heterogeneous job on n1 and n2 */
/* On n1; its script has `#SBATCH --signal=LINE`, and what srun starts in it traps USR1. */
char *stage_submit_line(struct stage *stage, const char *line)
    __attribute__((returns_nonnull, warn_unused_result));
/* How many USR1 its script got, and what srun started in it. */
int stage_signals(struct stage *stage, const char *id);
int stage_step_signals(struct stage *stage, const char *id);

/* Lets time pass; waits until it is so, and fails after two minutes (in virtual time four). */
void stage_pass(struct stage *stage, int64_t ms);
void stage_await_job(struct stage *stage, const char *id, enum slurm_job_state state);
void stage_await_node(struct stage *stage, const char *name, unsigned set, unsigned unset);

/* The slurmd of a node stops, and starts again.  d1 to d9 are dynamic, and register themselves. */
void stage_stop_slurmd(struct stage *stage, const char *node);
void stage_start_slurmd(struct stage *stage, const char *node);

/* slurmctld stops, and starts again. */
void stage_stop_ctld(struct stage *stage);
void stage_start_ctld(struct stage *stage);

enum { ON_SIMULATOR = 1, ON_REAL = 2, ON_BOTH = 3 };

extern const struct slurm_case {
    const char *id;
    const char *what; /* of Slurm, in plain words */
    void (*play)(struct stage *stage);
    int where;
    int release; /* 0: each */
    const char *note;
} slurm_cases[];
extern const size_t slurm_case_count;

/* The functions of the table. */
#define CASE(name) void name(struct stage *stage)
CASE(the_release_is_told);
CASE(the_description_has_what_is_asked);
CASE(no_token_is_refused);
CASE(a_bad_token_is_no_empty_list);
CASE(an_unknown_path_is_refused);
CASE(a_node_that_is_not_there_is_told_apart);
CASE(a_job_that_is_not_there_is_told_apart);
CASE(a_socket_takes_tokens);
CASE(a_socket_knows_its_caller);
CASE(a_cancel_needs_rights);
CASE(nodes_are_read);
CASE(the_doctor_names_what_is_missing);
CASE(the_doctor_is_content_with_commands);
CASE(the_doctor_names_lists_that_fail);
CASE(slices_are_counted);
CASE(a_job_with_a_slice_is_weighed);
CASE(slices_are_asked_for);
CASE(any_gpu_may_be_a_slice);
CASE(a_drain_has_reason_and_user);
CASE(a_drain_needs_a_reason);
CASE(a_drained_node_keeps_its_job);
CASE(a_drained_node_gets_no_job);
CASE(a_second_reason_replaces_the_first);
CASE(an_undrain_lets_it_serve);
CASE(an_idle_node_is_not_resumed);
CASE(an_unknown_node_is_not_drained);
CASE(future_does_not_last);
CASE(a_busy_node_is_not_future);
CASE(power_needs_power_saving);
CASE(down_ends_the_jobs);
CASE(a_dead_slurmd_has_a_reason);
CASE(a_person_sets_it_down);
CASE(a_drained_record_waits_for_its_slurmd);
CASE(a_dynamic_node_is_deleted);
CASE(a_node_of_the_configuration_stays);
CASE(a_node_made_twice);
CASE(a_comment_is_read);
CASE(a_reservation_is_read);
CASE(a_reservation_keeps_long_jobs_away);
CASE(a_reservation_ignores_jobs_if_told);
CASE(a_reservation_moves);
CASE(a_reservation_that_began_stays);
CASE(a_reservation_ends);
CASE(a_reservation_has_one_name);
CASE(a_reservation_has_no_past);
CASE(an_endless_reservation_ends_far_away);
CASE(a_requeued_job_keeps_its_number);
CASE(a_waiting_job_is_not_requeued);
CASE(no_requeue_is_obeyed);
CASE(a_task_is_requeued_alone);
CASE(an_array_is_requeued_whole);
CASE(a_heterogeneous_job_goes_as_one);
CASE(an_exclusive_job_leaves_both_nodes);
CASE(a_signal_reaches_the_script);
CASE(a_leader_is_signalled_on_its_node);
CASE(an_unknown_signal_is_no_signal);
CASE(a_signal_needs_its_job);
CASE(a_signal_does_not_follow_its_job);
CASE(a_cancelled_job_is_gone);
CASE(a_stubborn_job_is_still_there);
CASE(jobs_are_newer_than_states);
CASE(a_script_is_read);
CASE(a_signal_reaches_the_steps);
CASE(the_list_has_what_holds_nodes);
CASE(an_admin_comment_is_shown);
CASE(a_restart_keeps_drains_and_jobs);
CASE(no_server_is_no_empty_list);
#undef CASE
