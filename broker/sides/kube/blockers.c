/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One function a kind of blocker; the table says in which order they are asked.
 */
#include "broker/sides/kube/blockers.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/sides/kube/blocker.h"
#include "clusters/budget.h"

#include <stdlib.h>
#include <string.h>

/* The budgets that select a pod: how many, and the first two. */
struct selection {
    size_t count;
    const struct budget *budgets[2];
};

/* The pods that leave and that one budget selects. */
struct share {
    int64_t pods;
    int64_t stop_ms; /* the longest grace period of them */
};

struct leaving {
    const struct snapshot *snapshot;
    int64_t deadline_ms;
    struct wall_time now;
    bool drains_slurm;
    struct map *shares;     /* "namespace/name" of a budget -> struct share */
    struct map *selections; /* namespace and labels, as shared texts -> struct selection: budgets
                               are compared once with each distinct set of labels, not for each
                               pod */
};

/* What a pod is judged by. */
struct question {
    const struct leaving *leaving;
    const struct pod *pod;
    const struct node *node; /* NULL: not in the snapshot */
    const struct selection *selection;
    struct text *text;   /* the sentence, when the answer is yes */
    int64_t expected_ms; /* until it is gone, at most; -1: unknown */
};

static const struct share *share_of(const struct leaving *leaving, const struct budget *budget);

static const struct budget *only_budget(const struct question *it)
{
    return it->selection->count == 1 ? it->selection->budgets[0] : NULL;
}

static bool is_judged(const struct question *it, enum budget_verdict verdict)
{
    const struct budget *budget = only_budget(it);

    return budget && budget_judge(budget) == verdict &&
           (it->pod->is_ready || !budget_frees_unready(budget));
}

static void name_budget(const struct question *it)
{
    const struct budget *budget = only_budget(it);

    text_add(it->text, "budget %s (%lld healthy of %lld, %lld wanted) ", budget->name,
             (long long)budget->healthy, (long long)budget->expected, (long long)budget->wanted);
}

static bool has_two_budgets(struct question *it)
{
    const struct selection *of = it->selection;

    if (of->count < 2)
        return false;
    text_add(it->text, "%zu budgets select it (%s, %s): the server evicts no such pod", of->count,
             of->budgets[0]->name, of->budgets[1]->name);
    return true;
}

static bool has_budget_never(struct question *it)
{
    if (!is_judged(it, BUDGET_NEVER))
        return false;
    name_budget(it);
    text_add(it->text, "can never let a pod go: it wants all of them");
    return true;
}

static bool has_budget_failed(struct question *it)
{
    if (!is_judged(it, BUDGET_FAILED))
        return false;
    text_add(it->text, "budget %s lets none go, for its controller cannot count: %s",
             only_budget(it)->name, only_budget(it)->failure);
    return true;
}

static bool has_budget_rescheduled(struct question *it)
{
    if (!is_judged(it, BUDGET_RESCHEDULED))
        return false;
    name_budget(it);
    text_add(it->text, "waits for what was evicted to run elsewhere");
    return true;
}

static bool has_budget_later(struct question *it)
{
    if (!is_judged(it, BUDGET_LATER))
        return false;
    name_budget(it);
    text_add(it->text, "waits for unhealthy pods to recover");
    return true;
}

static bool has_budget_unknown(struct question *it)
{
    if (!is_judged(it, BUDGET_UNKNOWN))
        return false;
    text_add(it->text, "budget %s was changed and its controller has not counted yet",
             only_budget(it)->name);
    return true;
}

/* More pods of one budget leave than may go at once: they go in rounds.  The least time of these is
   known, but not how long the budget's new pods need to become ready between them. */
static bool has_turns(struct question *it)
{
    const struct budget *budget = only_budget(it);
    const struct share *share;
    char stop[DURATION_TEXT_SIZE];
    char whole[DURATION_TEXT_SIZE];
    int64_t rounds;
    int64_t least_ms;

    if (!is_judged(it, BUDGET_ALLOWS))
        return false;
    share = share_of(it->leaving, budget);
    if (!share || share->pods <= budget->allowed)
        return false;
    rounds = (share->pods + budget->allowed - 1) / budget->allowed;
    least_ms = rounds * share->stop_ms;
    text_add(it->text,
             "budget %s lets %lld go at a time, and %lld leave: %lld rounds of up to %s, and "
             "others must be ready between them: at least %s if they stop so slowly",
             budget->name, (long long)budget->allowed, (long long)share->pods, (long long)rounds,
             duration_format(share->stop_ms, stop), duration_format(least_ms, whole));
    if (least_ms > it->leaving->deadline_ms)
        text_add(it->text, "; the drain has %s, and deletes the rest at their own deadlines",
                 duration_format(it->leaving->deadline_ms, whole));
    return true;
}

static bool is_slurm_node(struct question *it)
{
    const char *tool = pod_slurm_tool(it->pod);

    if (!tool || it->leaving->drains_slurm)
        return false;
    it->expected_ms = -1;
    text_add(it->text,
             "it is a node of a Slurm cluster (slurmd, run by %s): sluice never evicts it", tool);
    return true;
}

static bool asks_for_peace(struct question *it)
{
    if (!pod_is_protected(it->pod))
        return false;
    text_add(it->text, "it asks not to be disrupted");
    return true;
}

static bool is_on_silent_node(struct question *it)
{
    if (!it->node || !it->node->is_silent)
        return false;
    it->expected_ms = it->pod->grace_s * SECOND_MS;
    text_add(it->text, "its node does not answer: it counts as gone when its grace is over");
    return true;
}

static bool is_past_its_end(struct question *it)
{
    char end[WALL_TEXT_SIZE];
    struct wall_time deletion = snapshot_wall(it->leaving->snapshot, it->pod->deletion);

    if (it->pod->deletion.ms == 0 || deletion.ms > it->leaving->now.ms)
        return false;
    text_add(it->text, "it was to end at %s%s%s", wall_format(deletion, end),
             it->pod->finalizers[0] != '\0' ? " and is held by the finalizers " : "",
             it->pod->finalizers);
    it->expected_ms = -1; /* it was deleted already */
    return true;
}

/* A finalizer may stay after the process has ended; the Job controller removes its own. */
static bool has_finalizers(struct question *it)
{
    if (it->pod->finalizers[0] == '\0' || text_equal(it->pod->finalizers, POD_JOB_FINALIZER))
        return false;
    text_add(it->text, "its object stays until its finalizers are lifted: %s", it->pod->finalizers);
    return true;
}

static bool has_cut_grace(struct question *it)
{
    if (it->pod->grace_s * SECOND_MS <= it->leaving->deadline_ms)
        return false;
    text_add(it->text, "it asks for %lld s to stop and gets %lld s", (long long)it->pod->grace_s,
             (long long)(it->leaving->deadline_ms / SECOND_MS));
    return true;
}

static bool is_unmanaged(struct question *it)
{
    if (pod_class_of(it->pod) != POD_CLASS_UNMANAGED)
        return false;
    text_add(it->text, "it has no controller that would make it again");
    return true;
}

static bool is_unread(struct question *it)
{
    if (!it->pod->is_unread)
        return false;
    text_add(it->text, "sluice cannot read all of it: it counts as the whole node, and goes last");
    return true;
}

static bool has_local_data(struct question *it)
{
    if (!it->pod->has_local_storage)
        return false;
    text_add(it->text, "what it keeps on the node's disk is lost");
    return true;
}

static bool has_volumes(struct question *it)
{
    if (it->pod->claims == 0)
        return false;
    text_add(it->text, "its volumes must be detached before they can be used elsewhere");
    return true;
}

static const struct {
    struct blocker_kind kind;
    bool (*is_it)(struct question *it);
} rows[] = {
    { { "slurm", "never",
        "drain the Slurm node, wait until it is drained and runs no job, then let its tool remove "
        "the pod",
        false },
      is_slurm_node },
    { BLOCKER_TWO_BUDGETS, has_two_budgets },
    { { "budget", "never", "let it spare one pod, or add a replica", true }, has_budget_never },
    { { "uncountable", "never",
        "mend what the message names; pods whose owner has no scale need minAvailable as a number",
        true },
      has_budget_failed },
    { { "protected", "never", "ask its owner to stop it, or to lift the annotation", false },
      asks_for_peace },
    { { "stuck", "never", "see its node's kubelet, and who lifts its finalizers", false },
      is_past_its_end },
    { { "silent node", "slow", "nothing: the end of the machine ends it", false },
      is_on_silent_node },
    { { "rescheduling", "slow", "see that what was evicted finds a node and becomes ready", true },
      has_budget_rescheduled },
    { { "unhealthy", "slow",
        "mend the pods that are not ready, or let them go (unhealthyPodEvictionPolicy)", true },
      has_budget_later },
    { { "uncounted", "slow", "see that the disruption controller runs", true },
      has_budget_unknown },
    { { "turns", "slow", "let the budget spare more pods, or add replicas", false }, has_turns },
    { { "finalizers", "slow", "see that the controller that lifts them runs", false },
      has_finalizers },
    { { "grace cut", "note", "raise drain.deadline, or lower its grace period", false },
      has_cut_grace },
    { { "unread", "note", "upgrade sluice; the status says what it cannot read", false },
      is_unread },
    { { "unmanaged", "note", "start it again elsewhere", false }, is_unmanaged },
    { { "local data", "note", "copy what must stay", false }, has_local_data },
    { { "volumes", "note", "nothing: they are waited for", false }, has_volumes },
};

bool blocker_is_of_budget(const char *kind)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_equal(rows[i].kind.name, kind))
            return rows[i].kind.is_of_budget;
    return false;
}

struct leaving *leaving_new(const struct snapshot *snapshot, int64_t deadline_ms,
                            struct wall_time now)
{
    struct leaving *leaving = mem_new(sizeof *leaving);

    *leaving = (struct leaving){
        .snapshot = snapshot,
        .deadline_ms = deadline_ms,
        .now = now,
        .shares = map_new(mem_free),
        .selections = map_new(mem_free),
    };
    return leaving;
}

void leaving_drains_slurm(struct leaving *leaving)
{
    leaving->drains_slurm = true;
}

void leaving_free(struct leaving *leaving)
{
    if (!leaving)
        return;
    map_free(leaving->shares);
    map_free(leaving->selections);
    mem_free(leaving);
}

static const struct selection *budgets_of(const struct leaving *leaving, const struct pod *pod)
{
    static const struct selection none;
    owned(chars) char *key = NULL;
    struct selection *selection;

    if (!budget_counts_for(pod))
        return &none;
    key = text_format("%p %p", (const void *)pod->namespace, (const void *)pod->labels);
    selection = map_get(leaving->selections, key);
    if (!selection) {
        selection = mem_new(sizeof *selection);
        selection->count = budgets_of_pod(leaving->snapshot, pod, selection->budgets,
                                          COUNT_OF(selection->budgets));
        map_set(leaving->selections, key, selection);
    }
    return selection;
}

static const struct share *share_of(const struct leaving *leaving, const struct budget *budget)
{
    owned(chars) char *key = text_format("%s/%s", budget->namespace, budget->name);

    return map_get(leaving->shares, key);
}

static void add_to_share(struct leaving *leaving, const struct budget *budget, int64_t stop_ms)
{
    owned(chars) char *key = text_format("%s/%s", budget->namespace, budget->name);
    struct share *share = map_get(leaving->shares, key);

    if (!share) {
        share = mem_new(sizeof *share);
        map_set(leaving->shares, key, share);
    }
    share->pods++;
    if (stop_ms > share->stop_ms)
        share->stop_ms = stop_ms;
}

void leaving_add(struct leaving *leaving, const char *node_name)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(leaving->snapshot, node_name, &count);

    for (size_t i = 0; i < count; i++) {
        const struct selection *of;

        if (!pod_must_leave(pods[i]))
            continue;
        of = budgets_of(leaving, pods[i]);
        if (of->count == 1 && (pods[i]->is_ready || !budget_frees_unready(of->budgets[0])))
            add_to_share(leaving, of->budgets[0], pods[i]->grace_s * SECOND_MS);
    }
}

json_t *blocker_describe(const struct pod *pod, const struct blocker_kind *kind, const char *text,
                         int64_t expected_ms)
{
    owned(chars) char *name = text_format("%s/%s", pod->namespace, pod->name);
    bool is_gang = pod->gang.kind != GANG_POD;
    const char *class = is_gang                      ? gang_kind_name(pod->gang.kind)
                        : pod->owner_kind[0] != '\0' ? pod->owner_kind
                                                     : "unmanaged";

    return json_make("{ss ss ss ss ss ss so ss sn}", "pod", name, "class", class, "owner",
                     is_gang ? pod->gang.key : pod->owner_name, "kind", kind->name, "verdict",
                     kind->verdict, "text", text, "expected_s",
                     expected_ms < 0 ? json_null()
                                     : json_integer((json_int_t)(expected_ms / SECOND_MS)),
                     "advice", kind->advice, "server");
}

struct held {
    const struct pod *pod;
    const struct selection *selection;
};

static int by_name(const void *left, const void *right)
{
    const struct pod *a = ((const struct held *)left)->pod, *b = ((const struct held *)right)->pod;
    int order = strcmp(a->namespace, b->namespace);

    return order != 0 ? order : strcmp(a->name, b->name);
}

json_t *blockers_of_node(const struct leaving *leaving, const char *node_name)
{
    const struct snapshot *snapshot = leaving->snapshot;
    const struct node *node = map_get(snapshot->nodes, node_name);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node_name, &count);
    struct held *held = mem_new_array(count, sizeof *held);
    json_t *found = json_array();
    owned(text) struct text *text = text_new(480);

    for (size_t i = 0; i < count; i++)
        held[i] = (struct held){ pods[i], budgets_of(leaving, pods[i]) };
    if (count > 1)
        qsort(held, count, sizeof *held, by_name);
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        const struct blocker_kind *kind = &rows[row].kind;
        bool is_forced = text_equal(kind->verdict, "never");

        for (size_t i = 0; i < count; i++) {
            struct question question = {
                .leaving = leaving,
                .pod = held[i].pod,
                .node = node,
                .selection = held[i].selection,
                .text = text,
                .expected_ms = is_forced ? leaving->deadline_ms : -1,
            };

            text_reset(text);
            if (pod_must_leave(held[i].pod) && rows[row].is_it(&question))
                json_array_append_new(
                    found, blocker_describe(held[i].pod, kind, text->chars, question.expected_ms));
        }
    }
    mem_free(held);
    return found;
}

bool blockers_are_unsure(const struct leaving *leaving, const struct pod *pod)
{
    const struct selection *of = budgets_of(leaving, pod);

    if (!budget_counts_for(pod))
        return false;
    if (!leaving->snapshot->budgets_are_known || of->count > 1)
        return true;
    return of->count == 1 && (!pod->is_ready || budget_judge(of->budgets[0]) == BUDGET_UNKNOWN);
}

json_t *blockers_of_lone_node(const struct snapshot *snapshot, const char *node_name,
                              int64_t deadline_ms, struct wall_time now)
{
    owned(leaving) struct leaving *leaving = leaving_new(snapshot, deadline_ms, now);

    leaving_add(leaving, node_name);
    return blockers_of_node(leaving, node_name);
}
