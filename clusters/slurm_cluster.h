/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A Slurm cluster.  It is asked in rounds: nodes, then jobs, then reservations.  Each round is a
 * direct read of slurmctld; the snapshot is as old as the begin of the last complete round.
 */
#pragma once

#include "clusters/cluster.h"
#include "clusters/slurm/slurm_client.h"

extern const struct cluster_kind cluster_slurm;

/* The client, for changes.  cluster must be a Slurm cluster. */
struct slurm_client *slurm_cluster_client(struct cluster *cluster) __attribute__((returns_nonnull));

/* A round that begins now or later is needed soon: starts one if none is under way that began at or
   after since_ms (loop time). */
void slurm_cluster_hurry(struct cluster *cluster, int64_t since_ms);

/* Whether the last list of reservations that was read has one of this name, on whatever nodes. */
bool slurm_cluster_has_reservation(const struct cluster *cluster, const char *name);

/* Reads the job's batch script, unless it is known; a later round shows its signal
   (SLURM_NOTE_SCRIPT).  key: SLURM_NOTE_RESTARTS. */
void slurm_cluster_read_script(struct cluster *cluster, const char *job, const char *key);

/* How long before a job must go its checkpoint signal is sent, in ms. */
int64_t slurm_cluster_checkpoint_ms(const struct cluster *cluster);
