/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a simulated slurmctld: nodes, jobs, reservations, and the operations on them.  Each
 * operation returns an error of Slurm (ctld_errno.c), as the real one answers an RPC; REST and
 * commands say it in their own ways.
 *
 * Times are milliseconds of the loop's clock; what clients see are Unix seconds.
 */
#pragma once

#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

enum {
    CTLD_CPUS = 96, /* of a node */
    CTLD_MEMORY_MB = 1000000,
    CTLD_CREDENTIAL_MS = 121 * SECOND_MS, /* a requeued job waits so long */
    CTLD_JOB_NODES = 8,                   /* the most of one job */
    CTLD_TEXT = 256,
    CTLD_KINDS = 8, /* the most types of GPUs on one node */
    CTLD_GPUS = 64, /* the most of them, slices included */
};

/* GPUs, or slices of GPUs, of one type; "": of any. */
struct ctld_gres {
    char type[32];
    int count;
};

/* As slurm_errno.h has them. */
enum ctld_errno {
    CTLD_OK = 0,
    CTLD_ERROR_DENIED = 2002,
    CTLD_ERROR_USER = 2010,
    CTLD_ERROR_INVALID_JOB = 2017,
    CTLD_ERROR_INVALID_NODE = 2018,
    CTLD_ERROR_TRANSITION = 2020,
    CTLD_ERROR_DONE = 2021,
    CTLD_ERROR_DISABLED = 2033,
    CTLD_ERROR_NODE_STATE = 2028,
    CTLD_ERROR_NODES_BUSY = 2016,
    CTLD_ERROR_RESERVATION = 2053,
    CTLD_ERROR_TIME = 2056,
    CTLD_ERROR_DUPLICATE_RESERVATION = 2070,
    CTLD_ERROR_RESERVATION_STARTED = 2165,
    CTLD_ERROR_PENDING = 2024,
    CTLD_ERROR_NOT_HET_LEADER = 2168,
    CTLD_ERROR_NODE_EXISTS = 2180,
    CTLD_ERROR_WORD = 9207, /* a word that no version has */
    CTLD_ERROR_CONNECT = -1,
};
const char *ctld_errno_text(enum ctld_errno error);

enum ctld_base { CTLD_UNKNOWN, CTLD_DOWN, CTLD_IDLE, CTLD_FUTURE };

enum ctld_flag {
    CTLD_DRAIN = 1 << 0,
    CTLD_CLOUD = 1 << 1,
    CTLD_POWERED_DOWN = 1 << 2,
    CTLD_DYNAMIC = 1 << 3,
    CTLD_NOT_RESPONDING = 1 << 4,
};

struct ctld_node {
    struct actor actor;
    struct ctld *slurm;
    char name[SIM_NAME_SIZE];
    struct machine *machine; /* whose slurmd has this name; NULL: none */
    struct kube_pod *pod;    /* whose slurmd has this name; NULL: none */
    bool is_lodged;          /* it is, or was, a pod */
    enum ctld_base base;
    unsigned flags;
    bool is_alive; /* its slurmd answers */
    bool is_movable;
    int gpus, gpus_used, cpus_used, cpus_shown; /* the last is as old as the last refresh */
    bool has_gpus;                              /* slurmd found them */
    uint64_t gpu_bits;                          /* those of its GPUs that have a job */
    struct ctld_gres kinds[CTLD_KINDS];         /* of a node with slices, as in slurm.conf */
    size_t kind_count;                          /* 0: its GPUs are whole, of one type */
    int jobs;                                   /* that have not left it */
    int completing;                             /* of them */
    char reason[CTLD_TEXT], reason_user[32], comment[CTLD_TEXT], extra[CTLD_TEXT];
    int64_t reason_ms; /* 0: none */
    int64_t boot_ms, slurmd_ms, busy_ms;
    int64_t seen_ms;       /* when slurmd last registered; 0: never */
    uint64_t stamp, joins; /* the latter: of machines that came or went */
    /* What the referee remembers. */
    char kept[CTLD_TEXT];  /* the reason of a person; "": none */
    bool is_kept_for_good; /* the node served when that was given: its record must stay */
    bool is_ours;          /* sluice drains it */
};

enum ctld_job_state {
    CTLD_PENDING,
    CTLD_RUNNING,
    CTLD_COMPLETED,
    CTLD_CANCELLED,
    CTLD_FAILED,
    CTLD_TIMEOUT,
    CTLD_NODE_FAIL,
};

struct ctld_job {
    struct actor actor;
    struct ctld *slurm;
    int id, array_id, array_task; /* 0, -1: none */
    int het_id, het_offset, het_count;
    char name[64], user[32], account[32], partition[32], comment[CTLD_TEXT],
        admin_comment[CTLD_TEXT], extra[CTLD_TEXT], wanted[SIM_NAME_SIZE];
    char last_signal[16];       /* that it got */
    char signal[32];            /* of --signal: its program traps this one */
    bool is_signal_hidden;      /* on sbatch's command line, and not in the script */
    bool has_lost_script;       /* slurmctld cannot show it */
    int node_count, gpus, cpus; /* the last two on each node */
    int limit_min;              /* 0: unlimited */
    bool is_exclusive, may_requeue, is_held, is_stubborn, is_completing, will_requeue;
    enum ctld_job_state state;
    const char *why;          /* of waiting */
    int64_t work_ms, done_ms; /* all of it; what is saved */
    int64_t saved_ms;         /* when, since the start */
    int64_t submit_ms, eligible_ms, start_ms, end_ms;
    int restarts, signals, step_signals; /* the latter for what srun started */
    struct ctld_gres wants[CTLD_KINDS];  /* of --gres, on each node; `gpus` is their sum */
    size_t want_count;                   /* 0: `gpus` of any type */
    uint64_t gpu_bits[CTLD_JOB_NODES];   /* those that it has of each node */
    struct ctld_node *nodes[CTLD_JOB_NODES];
    char node_names[CTLD_JOB_NODES][SIM_NAME_SIZE];
    uint64_t stamp;
};

struct ctld_reservation {
    char name[SIM_NAME_SIZE];
    char nodes[CTLD_TEXT]; /* as a list of names with commas, sorted */
    char users[64];
    unsigned flags;
    int64_t start_ms, end_ms;
};

enum { CTLD_MAINT = 1, CTLD_IGNORE_JOBS = 2 };

struct ctld {
    struct actor actor;
    struct simulator *sim;
    struct kube_cluster *cluster;
    int release; /* 2205, 2411 */
    bool is_down;
    const char *preempts; /* PreemptType */
    int timeouts;         /* so many times more the partitions are asked for in vain */
    bool is_spoilt;       /* a node of slurm.conf was deleted: the next reading ends slurmctld */
    bool is_scheduling;
    int64_t
        crowded_ms; /* until then a list of all jobs takes longer than `timeout` leaves scancel */
    struct map *nodes; /* name -> struct ctld_node */
    ARRAY(struct ctld_job *) jobs;
    ARRAY(struct ctld_reservation) reservations;
    int next_job;
    size_t sliced;    /* nodes with slices: no machine of a pool is behind them */
    int gpus_counted; /* offered to research, as accounted */
    int64_t wakes_ms; /* a pass at that time is on the agenda */
    uint64_t stamp;
    int done, requeued, cancelled; /* since the start */
};

/* ctld_names.c: "n[1-3,7]" for many, and back; times for people. */
bool ctld_names_have(const char *list, const char *name);
int ctld_names_split(const char *list, struct map *ret_names); /* key: name; -1: no list */
void ctld_names_print(struct text *out, const struct map *names);
char *ctld_names_of_job(const struct ctld_job *job); /* the caller frees it */
int64_t ctld_leading(const char *text);              /* at its beginning; 0: none */
int64_t ctld_seconds(const struct ctld *slurm, int64_t loop_ms);
char *ctld_time_text(const struct ctld *slurm, int64_t loop_ms); /* the caller frees it */

/* slurm.c: nodes */
struct ctld_node *ctld_node_new(struct ctld *slurm, const char *name, unsigned flags);
void ctld_node_remove(struct ctld_node *node);
bool ctld_node_serves(const struct ctld_node *node);
void ctld_node_refresh_later(struct ctld_node *node);
void sim_slurm_silence(struct ctld_node *node);        /* its slurmd does not answer */
void sim_slurm_registers_soon(struct ctld_node *node); /* it does */
void ctld_reread(struct ctld *slurm, bool is_restart); /* its configuration */

/* ctld_jobs.c */
struct ctld_job *ctld_job_new(struct ctld *slurm);
struct ctld_job *ctld_job_find(struct ctld *slurm, int id);
void ctld_job_start(struct ctld_job *job, struct ctld_node *const *nodes);
void ctld_job_end(struct ctld_job *job, enum ctld_job_state state, bool requeues);
void ctld_job_signal(struct ctld_job *job, const char *signal, bool is_batch);
void ctld_jobs_fail(struct ctld_node *node);
bool ctld_job_is_on(const struct ctld_job *job, const struct ctld_node *node);
bool ctld_job_is_over(const struct ctld_job *job);
int64_t ctld_job_done_ms(const struct ctld_job *job); /* work saved and since */
void ctld_backlog(struct ctld *slurm);                /* new jobs, while world.yaml wants them */

/* ctld_gres.c: GPUs and their slices, by type */
void ctld_slice(struct ctld *slurm); /* makes the nodes that world.yaml has under `sliced` */
bool ctld_gres_read(const char *text, int release, struct ctld_job *job, const char **ret_why);
bool ctld_gres_could(const struct ctld_job *job, const struct ctld_node *node);
bool ctld_gres_take(const struct ctld_job *job, const struct ctld_node *node, uint64_t *ret_bits);
char *ctld_gres_of_node(const struct ctld_node *node, bool is_used); /* the caller frees these */
char *ctld_gres_of_job(const struct ctld_job *job, int at);          /* at: which of its nodes */

/* ctld_schedule.c */
void ctld_schedule_soon(struct ctld *slurm);
void ctld_pass(struct simulator *sim, struct actor *actor, uint64_t stamp); /* an event */
bool ctld_node_is_reserved(const struct ctld *slurm, const struct ctld_node *node, int64_t from_ms,
                           int64_t to_ms);
bool ctld_is_meant(const struct ctld_job *job, const struct ctld_node *node); /* by its name, too */
const struct ctld_reservation *ctld_node_reservation(const struct ctld *slurm,
                                                     const struct ctld_node *node);

/* ctld_change.c: what clients may change; ctld_order.c: what they order of jobs */
struct ctld_node_change {
    const char *state, *reason, *comment, *extra, *user; /* NULL: as it is */
};
enum ctld_errno ctld_update_node(struct ctld *slurm, const char *name,
                                 const struct ctld_node_change *change);
bool ctld_state_is_known(const char *state); /* NULL: none is asked for */
enum ctld_errno ctld_create_node(struct ctld *slurm, const char *name, const char *state);
enum ctld_errno ctld_delete_node(struct ctld *slurm, const char *name);
enum ctld_errno ctld_create_reservation(struct ctld *slurm, const struct ctld_reservation *wanted);
enum ctld_errno ctld_update_reservation(struct ctld *slurm, const struct ctld_reservation *wanted);
enum ctld_errno ctld_delete_reservation(struct ctld *slurm, const char *name);
struct ctld_reservation *ctld_reservation_find(struct ctld *slurm, const char *name);

/* Of the jobs that "12", "12_3" or "12+1" names; a plain number of an array means all its tasks. */
enum ctld_errno ctld_requeue(struct ctld *slurm, const char *which, bool holds);
enum ctld_errno ctld_hold(struct ctld *slurm, const char *which, bool holds);
enum ctld_errno ctld_kill(struct ctld *slurm, const char *which, const char *signal, bool is_batch);
bool ctld_signal_is_known(const char *signal);
typedef ARRAY(struct ctld_job *) ctld_job_list;
bool ctld_jobs_named(struct ctld *slurm, const char *which, ctld_job_list *ret);

/* ctld_show.c: objects as JSON, in the shape of the release */
json_t *ctld_show_node(const struct ctld *slurm, const struct ctld_node *node);
json_t *ctld_show_job(const struct ctld *slurm, const struct ctld_job *job);
json_t *ctld_show_partitions(const struct ctld *slurm, bool is_rest);
json_t *ctld_show_reservation(const struct ctld *slurm, const struct ctld_reservation *reservation);
const char *ctld_job_state_name(enum ctld_job_state state);
json_t *ctld_number(const struct ctld *slurm, bool is_set, int64_t value);

/* FUTURE nodes are in no list, and those of a cloud that are powered down in none of 22.05. */
bool ctld_is_listed(const struct ctld_node *node);
/* node states, for JSON and for lines */
const char *ctld_base_word(const struct ctld_node *node); /* "IDLE" */
size_t ctld_flag_words(const struct ctld *slurm, const struct ctld_node *node, const char *ret[8]);

/* ctld_lines.c: as scontrol prints them */
void ctld_print_node(struct text *out, const struct ctld *slurm, const struct ctld_node *node);
void ctld_print_job(struct text *out, const struct ctld *slurm, const struct ctld_job *job);
void ctld_print_partitions(struct text *out, const struct ctld *slurm);
void ctld_print_reservation(struct text *out, const struct ctld *slurm,
                            const struct ctld_reservation *reservation, bool as_seconds);
void ctld_print_config(struct text *out, const struct ctld *slurm);

/* ctld_envelope.c: {..., "meta": ..., "errors": [...]} */
struct ctld_refusal {
    const char *description, *source;
    int number;
    const char *error;
    bool is_short; /* 22.05 has two forms: {error, errno} */
};
json_t *ctld_envelope(const struct ctld *slurm, const char *list, json_t *items, bool is_rest);
void ctld_envelope_refuse(const struct ctld *slurm, json_t *envelope,
                          const struct ctld_refusal *refusal);

/* ctld_trouble.c: slurmctld refuses the token, or is down; name: the last item of the path */
void ctld_answer_trouble(struct sim_call *call, const struct ctld *slurm, const char *name,
                         bool is_bad_token);

/* ctld_referee.c: each before a change, of a request that is sluice's or a person's */
void ctld_judge_state(struct ctld_node *node, const struct ctld_node_change *change);
void ctld_note_change(struct ctld_node *node, const struct ctld_node_change *change); /* after */
void ctld_judge_job(const struct ctld_job *job, const char *verb);
void ctld_judge_delete(const struct ctld_node *node);
void ctld_judge_reservation(const struct ctld *slurm, const struct ctld_reservation *reservation,
                            const char *verb);
