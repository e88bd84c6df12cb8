/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One function a kind of blocker; the table says in which order they are asked.
 */
#include "broker/transfer/blockers.h"

#include "base/json.h"
#include "base/text.h"
#include "clusters/budget.h"

#include <string.h>

/* What a pod is judged by. */
struct question {
    const struct snapshot *snapshot;
    const struct pod *pod;
    const struct node *node; /* NULL: not in the snapshot */
    int64_t deadline_ms;
    struct wall_time now;
    struct text *text; /* the sentence, when the answer is yes */
};

static const struct budget *only_budget(const struct question *it)
{
    const struct budget *budget = NULL;

    return snapshot_budgets_of(it->snapshot, it->pod, &budget, 1) == 1 ? budget : NULL;
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

static bool has_two_budgets(const struct question *it)
{
    const struct budget *budgets[2] = { NULL };
    size_t count = snapshot_budgets_of(it->snapshot, it->pod, budgets, 2);

    if (count < 2)
        return false;
    text_add(it->text, "%zu budgets select it (%s, %s): the server evicts no such pod", count,
             budgets[0]->name, budgets[1]->name);
    return true;
}

static bool has_budget_never(const struct question *it)
{
    if (!is_judged(it, BUDGET_NEVER))
        return false;
    name_budget(it);
    text_add(it->text, "can never let a pod go: it wants all of them");
    return true;
}

static bool has_budget_rescheduled(const struct question *it)
{
    if (!is_judged(it, BUDGET_RESCHEDULED))
        return false;
    name_budget(it);
    text_add(it->text, "waits for what was evicted to run elsewhere");
    return true;
}

static bool has_budget_later(const struct question *it)
{
    if (!is_judged(it, BUDGET_LATER))
        return false;
    name_budget(it);
    text_add(it->text, "waits for unhealthy pods to recover");
    return true;
}

static bool has_budget_unknown(const struct question *it)
{
    if (!is_judged(it, BUDGET_UNKNOWN))
        return false;
    text_add(it->text, "budget %s was changed and its controller has not counted yet",
             only_budget(it)->name);
    return true;
}

/* More pods of one budget on this node than may go at once: they go in turns. */
static bool has_turns(const struct question *it)
{
    const struct budget *budget = only_budget(it);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(it->snapshot, it->pod->node_name, &count);
    int64_t here = 0;

    if (!is_judged(it, BUDGET_ALLOWS))
        return false;
    for (size_t i = 0; i < count; i++)
        here += pod_must_leave(pods[i]) && budget_counts_for(pods[i]) &&
                budget_selects(budget, pods[i]);
    if (here <= budget->allowed)
        return false;
    text_add(it->text, "budget %s lets %lld go at a time, and %lld are here", budget->name,
             (long long)budget->allowed, (long long)here);
    return true;
}

static bool asks_for_peace(const struct question *it)
{
    if (!pod_is_protected(it->pod))
        return false;
    text_add(it->text, "it asks not to be disrupted");
    return true;
}

static bool is_on_silent_node(const struct question *it)
{
    if (!it->node || !it->node->is_silent)
        return false;
    text_add(it->text, "its node does not answer: it counts as gone when its grace is over");
    return true;
}

static bool is_past_its_end(const struct question *it)
{
    char end[WALL_TEXT_SIZE];

    if (it->pod->deletion.ms == 0 || it->pod->deletion.ms > it->now.ms)
        return false;
    text_add(it->text, "it was to end at %s%s%s", wall_format(it->pod->deletion, end),
             it->pod->finalizers[0] != '\0' ? " and is held by the finalizers " : "",
             it->pod->finalizers);
    return true;
}

/* A finalizer outlives the process; the Job controller's own is lifted by it. */
static bool has_finalizers(const struct question *it)
{
    if (it->pod->finalizers[0] == '\0' || text_equal(it->pod->finalizers, POD_JOB_FINALIZER))
        return false;
    text_add(it->text, "its object stays until its finalizers are lifted: %s", it->pod->finalizers);
    return true;
}

static bool has_cut_grace(const struct question *it)
{
    if (it->pod->grace_s * SECOND_MS <= it->deadline_ms)
        return false;
    text_add(it->text, "it asks for %lld s to stop and gets %lld s", (long long)it->pod->grace_s,
             (long long)(it->deadline_ms / SECOND_MS));
    return true;
}

static bool is_unmanaged(const struct question *it)
{
    if (pod_class_of(it->pod) != POD_CLASS_UNMANAGED)
        return false;
    text_add(it->text, "it has no controller: nobody makes it again");
    return true;
}

static bool has_local_data(const struct question *it)
{
    if (!it->pod->has_local_storage)
        return false;
    text_add(it->text, "what it keeps on the node's disk is lost");
    return true;
}

static bool has_volumes(const struct question *it)
{
    if (it->pod->claims == 0)
        return false;
    text_add(it->text, "its volumes must be detached before they can be used elsewhere");
    return true;
}

static const struct {
    const char *kind;
    const char *verdict;
    bool (*is_it)(const struct question *it);
} rows[] = {
    { "two budgets", "never", has_two_budgets },
    { "budget", "never", has_budget_never },
    { "protected", "never", asks_for_peace },
    { "stuck", "never", is_past_its_end },
    { "silent node", "slow", is_on_silent_node },
    { "rescheduling", "slow", has_budget_rescheduled },
    { "unhealthy", "slow", has_budget_later },
    { "uncounted", "slow", has_budget_unknown },
    { "turns", "slow", has_turns },
    { "finalizers", "slow", has_finalizers },
    { "grace cut", "note", has_cut_grace },
    { "unmanaged", "note", is_unmanaged },
    { "local data", "note", has_local_data },
    { "volumes", "note", has_volumes },
};

json_t *blockers_of_node(const struct snapshot *snapshot, const char *node_name,
                         int64_t deadline_ms, struct wall_time now)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node_name, &count);
    json_t *found = json_array();
    owned(text) struct text *text = text_new(480);

    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        for (size_t i = 0; i < count; i++) {
            struct question question = {
                .snapshot = snapshot,
                .pod = pods[i],
                .node = map_get(snapshot->nodes, node_name),
                .deadline_ms = deadline_ms,
                .now = now,
                .text = text,
            };
            owned(chars) char *name = text_format("%s/%s", pods[i]->namespace, pods[i]->name);

            text_reset(text);
            if (pod_must_leave(pods[i]) && rows[row].is_it(&question))
                json_array_append_new(found, json_make("{ss ss ss ss}", "pod", name, "kind",
                                                       rows[row].kind, "verdict", rows[row].verdict,
                                                       "text", text->chars));
        }
    }
    return found;
}
