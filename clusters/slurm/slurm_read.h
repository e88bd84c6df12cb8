/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Slurm's lists, in one form whatever the version: 22.05 has plain numbers and one state, 24.11 has
 * {set, infinite, number} and an array of states.  A member on which a decision depends, and that
 * is missing or of the wrong type, is ERROR_CORRUPT: a list is never half read.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a node; several at once. */
enum {
    SLURM_NODE_IDLE = 1 << 0,
    SLURM_NODE_BUSY = 1 << 1, /* ALLOCATED or MIXED */
    SLURM_NODE_DOWN = 1 << 2, /* or ERROR, UNKNOWN: it runs nothing */
    SLURM_NODE_FUTURE = 1 << 3,
    SLURM_NODE_DRAIN = 1 << 4, /* or FAIL: nothing new starts there */
    SLURM_NODE_COMPLETING = 1 << 5,
    SLURM_NODE_SILENT = 1 << 6,   /* its slurmd does not respond */
    SLURM_NODE_OFF = 1 << 7,      /* powered down */
    SLURM_NODE_CHANGING = 1 << 8, /* powers up or down, or reboots */
    SLURM_NODE_MAINT = 1 << 9,    /* in a maintenance reservation */
    SLURM_NODE_DYNAMIC = 1 << 10, /* it registered itself: its record may be deleted */
    SLURM_NODE_INVALID = 1 << 11, /* it registered with less than its configuration */
    SLURM_NODE_CLOUD = 1 << 12,
    SLURM_NODE_UNKNOWN = 1 << 13, /* also DOWN: slurmctld has just started */
};

/* Texts are borrowed from the JSON. */
struct slurm_node {
    const char *name;
    unsigned states;
    char state_words[128]; /* "MIXED+DRAIN", for people */
    const char *gres;      /* "gpu:h100:8" */
    const char *address;
    const char *hostname;
    const char *instance_id; /* "" before 23.11 */
    const char *comment;
    const char *extra;
    const char *reason;
    const char *reason_by; /* the user who gave it; "": none, or unknown */
    int64_t slurmd_start_s;
    json_t *features; /* array of texts */
};

enum slurm_job_state {
    SLURM_JOB_PENDING,
    SLURM_JOB_RUNNING, /* or suspended: it holds its nodes */
    SLURM_JOB_COMPLETING,
    SLURM_JOB_ENDED,
};

struct slurm_job {
    int64_t id;
    int64_t array_id; /* 0: of no array */
    int64_t task_id;
    int64_t het_id; /* the leader's; 0: it is not heterogeneous */
    enum slurm_job_state state;
    const char *nodes;  /* a list of hosts; "": none */
    const char *host;   /* where its batch script runs; "": nowhere, or not shown */
    const json_t *gres; /* one text for each node; empty: none, or not shown */
    int64_t restarts;
    bool can_requeue;
    bool is_batch;
    int64_t priority;
    const char *account;
    const char *qos;
    const char *partition;
    const char *name;
    const char *user;
    const char *comment;
    const char *admin_comment;
    const char *extra;
    int64_t submit_s;
    int64_t start_s;
    int64_t end_s; /* its time limit; 0: none */
};

struct slurm_reservation {
    const char *name;
    const char *nodes;
    int64_t start_s;
    int64_t end_s;
    bool is_maintenance;
};

int slurm_read_node(const json_t *item, struct slurm_node *ret, struct error *err)
    __attribute__((warn_unused_result));
void slurm_node_clear(struct slurm_node *node);
int slurm_read_job(const json_t *item, struct slurm_job *ret, struct error *err)
    __attribute__((warn_unused_result));
int slurm_read_reservation(const json_t *item, struct slurm_reservation *ret, struct error *err)
    __attribute__((warn_unused_result));

/* What scontrol -o prints, one object a line, as an array of objects of texts: [{"PartitionName":
   "train", ...}].  Only members with a name of `first` at the beginning of a line count as objects;
   its "No reservations in the system" is an empty array.  ERROR_CORRUPT: it is something else. */
json_t *slurm_read_lines(const char *text, const char *first, const char *none, struct error *err)
    __attribute__((warn_unused_result));

/* The value of "Key   = value" in what `scontrol show config` prints, which the caller frees; NULL:
   the key is not there. */
char *slurm_read_setting(const char *text, const char *key) __attribute__((warn_unused_result));

/* "slurm 24.11.5" or "slurm-wlm 22.05.8" -> 2411, 2205.  0: neither. */
int slurm_read_release(const char *text);

/* GPUs of "gpu:h100:4(IDX:0-3),gpu:1g.10gb:2": resource -> count as texts, with the names that
   accelerators.h knows.  A part that cannot be read gives a resource that counts as whole node. */
json_t *slurm_read_gpus(const char *gres) __attribute__((returns_nonnull, warn_unused_result));

/* The KEY=VALUE words and the members of JSON objects in a comment, added to `notes`. */
void slurm_read_notes(const char *comment, json_t *notes);

/* "12", "12_3" of an array, the leader's number of a heterogeneous job. */
void slurm_job_print(const struct slurm_job *job, char *out, size_t size);
