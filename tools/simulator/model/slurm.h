/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the simulated world asks of a cluster that Slurm schedules (tools/simulator/slurm): its
 * machines join and die, and its clients ask it by REST or by commands.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_cluster;
struct kube_node;
struct kube_pod;
struct machine;
struct pool;
struct sim_call;
struct simulator;
struct ctld;

struct ctld *sim_slurm_new(struct simulator *sim, struct kube_cluster *cluster)
    __attribute__((returns_nonnull, warn_unused_result));
void sim_slurm_free(struct ctld *slurm); /* NULL is let through */

/* The jobs of the start, as if they had been at work for a while. */
void sim_slurm_start(struct simulator *sim, struct ctld *slurm);

/* The slurmd of a machine: starts, dies with its machine; and the machine is no more. */
void sim_slurm_join(struct simulator *sim, struct machine *machine, bool is_new);
void sim_slurm_machine_dies(struct simulator *sim, struct machine *machine);
void sim_slurm_machine_gone(struct machine *machine);
bool sim_slurm_machine_serves(const struct machine *machine);

/* The slurmd of a pod: starts under this name; is gone with its pod, or dies with the machine of
   the pods' node.  And for the referee: before a request about the pod, or the end of its machine.
 */
void sim_slurm_lodge(struct simulator *sim, struct ctld *slurm, struct kube_pod *pod,
                     const char *name);
void sim_slurm_pod_gone(struct kube_pod *pod);
void sim_slurm_pods_die(const struct kube_node *node);
void sim_slurm_judge_pod(struct simulator *sim, const char *verb, const struct kube_pod *pod);

/* slurmrestd: the path from its item `at` on. */
void sim_slurm_answer(struct sim_call *call, size_t at);
/* Through one of its unix sockets; one that no cluster has refuses the connection. */
void sim_slurm_answer_socket(struct sim_call *call);
/* A fault of transport in its form. */
void sim_slurm_fail(struct sim_call *call, int code);

/* A command on the login node: one line for a shell. */
struct ctld_output {
    struct text *out, *errors; /* the caller's */
    int status;
};
void sim_slurm_run(struct simulator *sim, struct ctld *slurm, const char *line,
                   struct ctld_output *output);

/* The door for SSH: false: the machine is no login node. */
struct ssh_host;
struct ssh_play;
struct ssh_request;
bool sim_slurm_play(struct simulator *sim, const struct ssh_host *host,
                    const struct ssh_request *request, struct ssh_play *play);

/* The same by another client than sluice: a person at the login node. */
void sim_slurm_run_person(struct simulator *sim, struct ctld *slurm, const char *line,
                          struct ctld_output *output);

/* {nodes, drained, reservations, pending, running, done, requeued, cancelled} */
json_t *sim_slurm_report(const struct ctld *slurm)
    __attribute__((returns_nonnull, warn_unused_result));

/* For the referee: before a machine goes, and when no transfer is live. */
void sim_slurm_judge_removal(struct simulator *sim, const struct machine *machine);
void sim_slurm_judge_end(struct simulator *sim, const struct ctld *slurm);
