/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_inspect.h.
 */
#include "clusters/slurm_inspect.h"

#include "base/memory.h"
#include "base/text.h"
#include "clusters/slurm/slurm_read.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_JOBS = 1500 }; /* that run, on nodes with many CPUs, are half of the longest list */

struct slurm_inspection {
    struct slurm_client *client;
    struct cluster_inspector inspector;
    bool has_protected_classes;
};

/* What is lost without an action. */
static const struct {
    enum slurm_action action;
    enum finding_verdict verdict;
    const char *lost;
} uses[] = {
    { SLURM_LIST_NODES, FINDING_WRONG, "sluice cannot read the nodes" },
    { SLURM_LIST_JOBS, FINDING_WRONG, "sluice cannot read the jobs" },
    { SLURM_LIST_RESERVATIONS, FINDING_WRONG, "sluice cannot see its own announcements" },
    { SLURM_LIST_PARTITIONS, FINDING_DOUBTFUL, "sluice does not know which jobs may be preempted" },
    { SLURM_READ_CONFIG, FINDING_DOUBTFUL, "doctor cannot check Slurm's settings" },
    { SLURM_CHANGE_NODE, FINDING_WRONG, "sluice can neither drain nodes nor let them serve" },
    { SLURM_CREATE_RESERVATION, FINDING_WRONG, "sluice cannot announce departures" },
    { SLURM_MOVE_RESERVATION, FINDING_WRONG, "sluice cannot announce a later departure" },
    { SLURM_DELETE_RESERVATION, FINDING_WRONG, "sluice cannot take an announcement back" },
    { SLURM_DELETE_NODE, FINDING_DOUBTFUL, "a dynamic node that left stays in Slurm's lists" },
    { SLURM_SIGNAL_JOB, FINDING_DOUBTFUL, "jobs are not asked for a checkpoint" },
    { SLURM_REQUEUE_JOB, FINDING_WRONG, "jobs cannot be requeued" },
    { SLURM_CANCEL_JOB, FINDING_DOUBTFUL, "a job that cannot be requeued keeps its node" },
    { SLURM_READ_SCRIPT, FINDING_DOUBTFUL, "sluice does not know what jobs ask for with --signal" },
    { SLURM_COMMENT_JOB, FINDING_DOUBTFUL, "jobs are not told that their node leaves" },
};

static void say(const struct slurm_inspection *inspection, enum finding_verdict verdict,
                const char *subject, const char *text)
{
    const struct finding finding = {
        verdict, subject, text,
        verdict == FINDING_RIGHT ? ""
                                 : "set `ssh_address` to a machine with Slurm's commands, or use "
                                   "a newer slurmrestd"
    };

    inspection->inspector.found(inspection->inspector.context, &finding);
}

static void say_remedy(const struct slurm_inspection *inspection, enum finding_verdict verdict,
                       const char *subject, const char *text, const char *remedy)
{
    const struct finding finding = { verdict, subject, text, remedy };

    inspection->inspector.found(inspection->inspector.context, &finding);
}

static void say_ways(const struct slurm_inspection *inspection)
{
    const struct slurm_client *client = inspection->client;
    int version = slurm_client_version(client, SLURM_LIST_NODES);
    int release = slurm_client_release(client);
    owned(chars) char *rest = text_format("slurmrestd answers with v0.0.%d", version);
    owned(chars) char *commands = text_format("the commands are of release %02d.%02d",
                                              release / 100, release % 100);

    if (slurm_client_rest_trouble(client)[0] != '\0')
        say_remedy(inspection, FINDING_DOUBTFUL, "rest", slurm_client_rest_trouble(client),
                   "correct `rest`, `rest_user` and `token`, or remove them");
    else if (version > 0)
        say(inspection, FINDING_RIGHT, "rest", rest);
    if (slurm_client_command_trouble(client)[0] != '\0')
        say_remedy(inspection, FINDING_DOUBTFUL, "ssh_address",
                   slurm_client_command_trouble(client), "correct the keys `ssh_...` and `path`");
    else if (release > 0)
        say(inspection, FINDING_RIGHT, "ssh_address", commands);
}

static void say_actions(const struct slurm_inspection *inspection)
{
    int missing = 0;

    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        if (slurm_client_version(inspection->client, uses[i].action) > 0 ||
            slurm_client_command(inspection->client, uses[i].action))
            continue;
        owned(chars) char *text = text_format("neither slurmrestd nor a command can %s: %s",
                                              slurm_actions[uses[i].action].name, uses[i].lost);

        missing++;
        say(inspection, uses[i].verdict, slurm_actions[uses[i].action].name, text);
    }
    if (missing == 0)
        say(inspection, FINDING_RIGHT, "actions", "each action that sluice needs can be done");
}

static void end(struct slurm_inspection *inspection)
{
    const struct cluster_inspector inspector = inspection->inspector;

    inspector.done(inspector.context);
}

/* "(null)", as Slurm prints it, is none. */
static bool is_set(const char *value)
{
    return value && value[0] != '\0' && !text_equal(value, "(null)");
}

static void say_power(const struct slurm_inspection *inspection, const char *text)
{
    owned(chars) char *program = slurm_read_setting(text, "SuspendProgram");
    owned(chars) char *after = slurm_read_setting(text, "SuspendTime");
    owned(chars) char *nodes = slurm_read_setting(text, "SuspendExcNodes");
    owned(chars) char *partitions = slurm_read_setting(text, "SuspendExcParts");

    if (!is_set(program) || !is_set(after) || text_equal(after, "INFINITE") ||
        text_equal(after, "NONE") || is_set(nodes) || is_set(partitions))
        return;
    say_remedy(inspection, FINDING_DOUBTFUL, "SuspendTime",
               "Slurm switches idle nodes off (power saving): a move of such a node is taken back, "
               "and waits for the node if sluice has drained it",
               "name sluice's nodes in SuspendExcNodes, or set SuspendTime=INFINITE");
}

/* Slurm shows neither sluice nor other clients which QOS may preempt which. */
static void say_preemption(const struct slurm_inspection *inspection, const char *text)
{
    owned(chars) char *type = slurm_read_setting(text, "PreemptType");

    if (text_equal(type, "preempt/qos") && !inspection->has_protected_classes)
        say_remedy(inspection, FINDING_DOUBTFUL, "PreemptType",
                   "Slurm preempts by QOS, and sluice does not know of which QOS no job may be "
                   "preempted",
                   "name these QOS in victims.protected_classes");
}

static void say_config(const struct slurm_inspection *inspection, const char *text)
{
    owned(chars) char *private = slurm_read_setting(text, "PrivateData");
    owned(chars) char *requeue = slurm_read_setting(text, "JobRequeue");
    owned(chars) char *info = slurm_read_setting(text, "AuthInfo");
    owned(chars) char *returns = slurm_read_setting(text, "ReturnToService");

    if (private && (strstr(private, "jobs") || strstr(private, "nodes")))
        say_remedy(inspection, FINDING_DOUBTFUL, "PrivateData",
                   "Slurm shows jobs or nodes of others to operators only (PrivateData)",
                   "make sluice's user an operator of Slurm, or SlurmUser");
    if (text_equal(requeue, "0"))
        say_remedy(inspection, FINDING_DOUBTFUL, "JobRequeue",
                   "jobs are not requeued unless they ask for it (JobRequeue=0): a move cancels "
                   "them",
                   "set JobRequeue=1, or submit with --requeue");
    if (returns && !text_equal(returns, "2"))
        say_remedy(inspection, FINDING_DOUBTFUL, "ReturnToService",
                   "a node that was DOWN does not serve again when its machine is back "
                   "(ReturnToService is not 2): sluice resumes only the nodes that it parked",
                   "set ReturnToService=2 in slurm.conf, or resume other nodes yourself");
    say_power(inspection, text);
    say_preemption(inspection, text);
    if (!info || !strstr(info, "cred_expire="))
        say_remedy(inspection, FINDING_DOUBTFUL, "AuthInfo",
                   "a requeued job waits two minutes before it can start (the lifetime of its "
                   "credential)",
                   "for shorter waits set AuthInfo=cred_expire=30 in slurm.conf");
}

static void on_config(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_inspection *inspection = context;

    if (err)
        say_remedy(inspection, FINDING_DOUBTFUL, "slurm.conf", err->text,
                   "check that sluice's user may run scontrol");
    else
        say_config(inspection, answer->text);
    end(inspection);
}

static void ask_config(struct slurm_inspection *inspection)
{
    const struct slurm_blanks none = { 0 };

    if (slurm_client_command(inspection->client, SLURM_READ_CONFIG))
        slurm_ask(inspection->client, SLURM_READ_CONFIG, &none, on_config, inspection);
    else
        end(inspection);
}

static void on_jobs(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_inspection *inspection = context;
    size_t count = answer ? json_array_size(json_object_get(answer->body, "jobs")) : 0;
    owned(chars) char *many = text_format(
        "Slurm's list has %zu jobs: if it gets longer than 64 MiB, sluice does not read it, and no "
        "node moves",
        count);

    if (err)
        say_remedy(inspection, FINDING_WRONG, slurm_actions[SLURM_LIST_JOBS].name, err->text,
                   "see \"Many jobs\" in docs/slurm.md");
    else if (count > MANY_JOBS)
        say_remedy(inspection, FINDING_DOUBTFUL, slurm_actions[SLURM_LIST_JOBS].name, many,
                   "see \"Many jobs\" in docs/slurm.md");
    ask_config(inspection);
}

/* slurmrestd describes itself whether or not the token is right and slurmctld runs. */
static void on_nodes(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_inspection *inspection = context;
    const struct slurm_blanks none = { 0 };

    (void)answer;
    if (!err) {
        slurm_ask(inspection->client, SLURM_LIST_JOBS, &none, on_jobs, inspection);
        return;
    }
    say_remedy(inspection, FINDING_WRONG, slurm_actions[SLURM_LIST_NODES].name, err->text,
               "see that slurmctld runs; correct `token` and `rest_user`, or the user of "
               "`ssh_user`");
    ask_config(inspection);
}

static void on_discovered(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_inspection *inspection = context;
    const struct slurm_blanks none = { 0 };

    (void)answer;
    if (err) {
        say_remedy(inspection, FINDING_WRONG, "answer", err->text,
                   "see that slurmctld runs, and that `rest` or `ssh_address` reaches it");
        end(inspection);
        return;
    }
    say_ways(inspection);
    say_actions(inspection);
    slurm_ask(inspection->client, SLURM_LIST_NODES, &none, on_nodes, inspection);
}

struct slurm_inspection *slurm_inspection_new(struct slurm_client *client,
                                              const struct cluster_needs *needs,
                                              const struct cluster_inspector *inspector)
{
    struct slurm_inspection *inspection = mem_new(sizeof *inspection);

    inspection->client = client;
    inspection->inspector = *inspector; /* no rights by role: Slurm knows operators, and others */
    inspection->has_protected_classes = needs->has_protected_classes;
    slurm_client_forget(client);
    slurm_client_discover(client, on_discovered, inspection);
    return inspection;
}

void slurm_inspection_free(struct slurm_inspection *inspection)
{
    mem_free(inspection);
}
