/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `scontrol -o show` prints: one object a line, KEY=VALUE.
 */
#include "tools/simulator/slurm/ctld.h"

void ctld_print_node(struct text *out, const struct ctld *slurm, const struct ctld_node *node)
{
    const char *flags[8];
    size_t count = ctld_flag_words(slurm, node, flags);
    owned(chars) char *when = ctld_time_text(slurm, node->reason_ms);
    owned(chars) char *gres = ctld_gres_of_node(node, false);

    text_add(out, "NodeName=%s Arch=x86_64 CoresPerSocket=48 CPUAlloc=%d CPUTot=%d ", node->name,
             node->cpus_shown, CTLD_CPUS);
    text_add(out, "AvailableFeatures=%s Gres=%s NodeAddr=%s NodeHostName=%s ",
             node->is_movable   ? slurm->sim->scenario->label_key
             : node->kind_count ? node->kinds[0].type
                                : "h100",
             gres, node->name, node->name);
    text_add(out, "RealMemory=%d State=%s", CTLD_MEMORY_MB, ctld_base_word(node));
    for (size_t i = 0; i < count; i++)
        text_add(out, "+%s", flags[i]);
    text_add(out, " Partitions=%s", node->kind_count ? "slices" : "train,urgent");
    if (node->reason[0])
        text_add(out, " Reason=%s [%s@%s]", node->reason, node->reason_user, when);
    if (node->comment[0])
        text_add(out, " Comment=%s", node->comment);
    if (node->extra[0])
        text_add(out, " Extra=%s", node->extra);
    text_add(out, "\n");
}

void ctld_print_job(struct text *out, const struct ctld *slurm, const struct ctld_job *job)
{
    owned(chars) char *nodes = ctld_names_of_job(job);
    owned(chars) char *start = ctld_time_text(slurm, job->start_ms);
    owned(chars) char *end = ctld_time_text(slurm, job->end_ms);

    text_add(out, "JobId=%d ", job->id);
    if (job->array_id)
        text_add(out, "ArrayJobId=%d ArrayTaskId=%d ", job->array_id, job->array_task);
    text_add(out, "JobName=%s UserId=%s JobState=%s Reason=%s ", job->name, job->user,
             job->is_completing ? "COMPLETING" : ctld_job_state_name(job->state), job->why);
    text_add(out, "Requeue=%d Restarts=%d BatchFlag=1 TimeLimit=%d StartTime=%s EndTime=%s ",
             job->may_requeue, job->restarts, job->limit_min, start, end);
    text_add(out, "Partition=%s NodeList=%s NumNodes=%d", job->partition,
             nodes[0] ? nodes : "(null)", job->node_count);
    if (job->admin_comment[0])
        text_add(out, " AdminComment=%s", job->admin_comment);
    if (job->comment[0])
        text_add(out, " Comment=%s", job->comment);
    text_add(out, "\n");
}

/* Only under preempt/partition_prio has a partition a mode of its own. */
static const char *mode_of(const struct ctld *slurm, const char *own)
{
    return text_equal(slurm->preempts, "preempt/none")             ? "OFF"
           : text_equal(slurm->preempts, "preempt/partition_prio") ? own
                                                                   : "REQUEUE";
}

/* Those with slices are in a partition of their own. */
static void print_nodes(struct text *out, const struct ctld *slurm, bool with_slices)
{
    owned(map) struct map *names = map_new(NULL);
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        struct ctld_node *node = value;

        if ((node->kind_count > 0) == with_slices)
            map_set(names, node->name, node);
    }
    ctld_names_print(out, names);
}

void ctld_print_partitions(struct text *out, const struct ctld *slurm)
{
    owned(text) struct text *nodes = text_new(16 << 10);
    owned(text) struct text *sliced = text_new(16 << 10);

    print_nodes(nodes, slurm, false);
    print_nodes(sliced, slurm, true);
    if (slurm->sliced)
        text_add(out,
                 "PartitionName=slices AllowAccounts=ALL Default=NO GraceTime=0 MaxTime=UNLIMITED "
                 "Nodes=%s PriorityTier=1 PreemptMode=%s State=UP\n",
                 sliced->chars, mode_of(slurm, "REQUEUE"));
    text_add(out,
             "PartitionName=train AllowAccounts=ALL Default=YES GraceTime=0 MaxTime=UNLIMITED "
             "Nodes=%s PriorityTier=1 PreemptMode=%s State=UP\n",
             nodes->chars, mode_of(slurm, "REQUEUE"));
    text_add(out,
             "PartitionName=urgent AllowAccounts=ALL Default=NO GraceTime=0 MaxTime=UNLIMITED "
             "Nodes=%s PriorityTier=10 PreemptMode=%s State=UP\n",
             nodes->chars, mode_of(slurm, "OFF"));
}

void ctld_print_reservation(struct text *out, const struct ctld *slurm,
                            const struct ctld_reservation *reservation, bool as_seconds)
{
    owned(map) struct map *names = map_new(NULL);
    owned(text) struct text *list = text_new(4096);
    owned(chars) char *start = ctld_time_text(slurm, reservation->start_ms);
    owned(chars) char *end = ctld_time_text(slurm, reservation->end_ms);
    int64_t now_ms = sim_now(slurm->sim);

    (void)ctld_names_split(reservation->nodes, names);
    ctld_names_print(list, names);
    text_add(out, "ReservationName=%s ", reservation->name);
    if (as_seconds)
        text_add(out, "StartTime=%lld EndTime=%lld ",
                 (long long)ctld_seconds(slurm, reservation->start_ms),
                 (long long)ctld_seconds(slurm, reservation->end_ms));
    else
        text_add(out, "StartTime=%s EndTime=%s ", start, end);
    text_add(out, "Nodes=%s NodeCnt=%d Features=(null) PartitionName=(null) Flags=%s%sSPEC_NODES ",
             list->chars, (int)map_count(names), reservation->flags & CTLD_MAINT ? "MAINT," : "",
             reservation->flags & CTLD_IGNORE_JOBS ? "IGNORE_JOBS," : "");
    text_add(out, "Users=%s Groups=(null) Accounts=(null) Licenses=(null) State=%s\n",
             reservation->users,
             now_ms >= reservation->start_ms && now_ms < reservation->end_ms ? "ACTIVE"
                                                                             : "INACTIVE");
}

void ctld_print_config(struct text *out, const struct ctld *slurm)
{
    static const char *const rows[][2] = {
        { "AuthAltTypes", "auth/jwt" }, { "AuthInfo", "(null)" },
        { "JobRequeue", "1" },          { "KillWait", "30 sec" },
        { "MinJobAge", "300 sec" },     { "SchedulerType", "sched/backfill" },
        { "SlurmdTimeout", "60 sec" },
    };
    bool is_none = text_equal(slurm->preempts, "preempt/none");
    bool is_fixed = slurm->cluster->plan->has_fixed_nodes;
    bool saves_power = slurm->cluster->plan->saves_power;

    text_add(out, "Configuration data as of now\n%-23s = %s\n", "ClusterName",
             slurm->cluster->plan->name);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        text_add(out, "%-23s = %s\n", rows[i][0], rows[i][1]);
    text_add(out, "%-23s = %s\n", "PreemptMode", is_none ? "OFF" : "REQUEUE");
    text_add(out, "%-23s = %s\n", "PreemptType",
             is_none && slurm->release >= 2411 ? "(null)" : slurm->preempts);
    text_add(out, "%-23s = %s\n", "SuspendExcNodes", "(null)");
    text_add(out, "%-23s = %s\n", "SuspendProgram", saves_power ? "/usr/sbin/suspend" : "(null)");
    text_add(out, "%-23s = %s\n", "SuspendTime", saves_power ? "600 sec" : "INFINITE");
    text_add(out, "%-23s = %d\n", "ReturnToService", slurm->cluster->plan->return_to_service);
    text_add(out, "%-23s = %s\n", "MaxNodeCount", is_fixed ? "0" : "512");
    text_add(out, "%-23s = %s\n\nSlurmctld(primary) at login is UP\n", "SLURM_VERSION",
             slurm->release >= 2411 ? "24.11.5" : "22.05.8");
}
