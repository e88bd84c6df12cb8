/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One function a kind of blocker; the table says in which order they are asked.
 */
#include "broker/transfer/blockers.h"

#include "base/json.h"
#include "base/text.h"
#include "broker/transfer/blocker.h"
#include "clusters/budget.h"

#include <string.h>

/* The pods that leave and that one budget selects. */
struct share {
    int64_t pods;
    int64_t stop_ms; /* the longest grace period of them */
};

struct leaving {
    const struct snapshot *snapshot;
    int64_t deadline_ms;
    struct wall_time now;
    struct map *shares; /* "namespace/name" of a budget -> struct share */
};

/* What a pod is judged by. */
struct question {
    const struct leaving *leaving;
    const struct snapshot *snapshot;
    const struct pod *pod;
    const struct node *node; /* NULL: not in the snapshot */
    struct text *text;       /* the sentence, when the answer is yes */
    int64_t expected_ms;     /* until it is gone; -1: nobody knows */
};

static const struct share *share_of(const struct leaving *leaving, const struct budget *budget);

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

static bool has_two_budgets(struct question *it)
{
    const struct budget *budgets[2] = { NULL };
    size_t count = snapshot_budgets_of(it->snapshot, it->pod, budgets, 2);

    if (count < 2)
        return false;
    text_add(it->text, "%zu budgets select it (%s, %s): the server evicts no such pod", count,
             budgets[0]->name, budgets[1]->name);
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

/* More pods of one budget leave than may go at once: they go in rounds. */
static bool has_turns(struct question *it)
{
    const struct budget *budget = only_budget(it);
    const struct share *share;
    char stop[DURATION_TEXT_SIZE];
    char whole[DURATION_TEXT_SIZE];
    int64_t rounds;

    if (!is_judged(it, BUDGET_ALLOWS))
        return false;
    share = share_of(it->leaving, budget);
    if (!share || share->pods <= budget->allowed)
        return false;
    rounds = (share->pods + budget->allowed - 1) / budget->allowed;
    it->expected_ms = rounds * share->stop_ms;
    text_add(it->text,
             "budget %s lets %lld go at a time, and %lld leave: %lld rounds of up to %s, %s in all",
             budget->name, (long long)budget->allowed, (long long)share->pods, (long long)rounds,
             duration_format(share->stop_ms, stop), duration_format(it->expected_ms, whole));
    if (it->expected_ms > it->leaving->deadline_ms)
        text_add(it->text, "; the drain has %s, and deletes the rest at their own deadlines",
                 duration_format(it->leaving->deadline_ms, whole));
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
    struct wall_time deletion = snapshot_wall(it->snapshot, it->pod->deletion);

    if (it->pod->deletion.ms == 0 || deletion.ms > it->leaving->now.ms)
        return false;
    text_add(it->text, "it was to end at %s%s%s", wall_format(deletion, end),
             it->pod->finalizers[0] != '\0' ? " and is held by the finalizers " : "",
             it->pod->finalizers);
    return true;
}

/* A finalizer outlives the process; the Job controller's own is lifted by it. */
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
    text_add(it->text, "it has no controller: nobody makes it again");
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
    const char *kind;
    const char *verdict;
    bool (*is_it)(struct question *it);
    const char *advice;
} rows[] = {
    { "two budgets", "never", has_two_budgets, "delete one of them, or narrow its selector" },
    { "budget", "never", has_budget_never, "let it spare one pod, or add a replica" },
    { "protected", "never", asks_for_peace, "ask its owner to stop it, or to lift the annotation" },
    { "stuck", "never", is_past_its_end, "see its node's kubelet, and who lifts its finalizers" },
    { "silent node", "slow", is_on_silent_node, "nothing: the end of the machine ends it" },
    { "rescheduling", "slow", has_budget_rescheduled,
      "see that what was evicted finds a node and becomes ready" },
    { "unhealthy", "slow", has_budget_later,
      "mend the pods that are not ready, or let them go (unhealthyPodEvictionPolicy)" },
    { "uncounted", "slow", has_budget_unknown, "see that the disruption controller runs" },
    { "turns", "slow", has_turns, "let the budget spare more pods, or add replicas" },
    { "finalizers", "slow", has_finalizers, "see that the controller that lifts them runs" },
    { "grace cut", "note", has_cut_grace, "raise drain.deadline, or lower its grace period" },
    { "unmanaged", "note", is_unmanaged, "start it again elsewhere" },
    { "local data", "note", has_local_data, "copy what must stay" },
    { "volumes", "note", has_volumes, "nothing: they are waited for" },
};

struct leaving *leaving_new(const struct snapshot *snapshot, int64_t deadline_ms,
                            struct wall_time now)
{
    struct leaving *leaving = mem_new(sizeof *leaving);

    *leaving = (struct leaving){ snapshot, deadline_ms, now, map_new(mem_free) };
    return leaving;
}

void leaving_free(struct leaving *leaving)
{
    if (!leaving)
        return;
    map_free(leaving->shares);
    mem_free(leaving);
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
        const struct budget *budget = NULL;

        if (pod_must_leave(pods[i]) &&
            snapshot_budgets_of(leaving->snapshot, pods[i], &budget, 1) == 1 &&
            (pods[i]->is_ready || !budget_frees_unready(budget)))
            add_to_share(leaving, budget, pods[i]->grace_s * SECOND_MS);
    }
}

json_t *blocker_describe(const struct pod *pod, const struct blocker *blocker)
{
    owned(chars) char *name = text_format("%s/%s", pod->namespace, pod->name);
    bool is_gang = pod->gang.kind != GANG_POD;
    const char *class = is_gang                      ? gang_kind_name(pod->gang.kind)
                        : pod->owner_kind[0] != '\0' ? pod->owner_kind
                                                     : "unmanaged";

    return json_make("{ss ss ss ss ss ss so ss sn}", "pod", name, "class", class, "owner",
                     is_gang ? pod->gang.key : pod->owner_name, "kind", blocker->kind, "verdict",
                     blocker->verdict, "text", blocker->text, "expected_s",
                     blocker->expected_ms < 0
                         ? json_null()
                         : json_integer((json_int_t)(blocker->expected_ms / SECOND_MS)),
                     "advice", blocker->advice, "server");
}

json_t *blockers_of_node(const struct leaving *leaving, const char *node_name)
{
    const struct snapshot *snapshot = leaving->snapshot;
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node_name, &count);
    json_t *found = json_array();
    owned(text) struct text *text = text_new(480);

    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        bool is_forced = text_equal(rows[row].verdict, "never");

        for (size_t i = 0; i < count; i++) {
            struct question question = {
                .leaving = leaving,
                .snapshot = snapshot,
                .pod = pods[i],
                .node = map_get(snapshot->nodes, node_name),
                .text = text,
                .expected_ms = is_forced ? leaving->deadline_ms : -1,
            };

            text_reset(text);
            if (pod_must_leave(pods[i]) && rows[row].is_it(&question))
                json_array_append_new(
                    found,
                    blocker_describe(pods[i], &(struct blocker){ rows[row].kind, rows[row].verdict,
                                                                 text->chars, question.expected_ms,
                                                                 rows[row].advice }));
        }
    }
    return found;
}

json_t *blockers_of_lone_node(const struct snapshot *snapshot, const char *node_name,
                              int64_t deadline_ms, struct wall_time now)
{
    owned(leaving) struct leaving *leaving = leaving_new(snapshot, deadline_ms, now);

    leaving_add(leaving, node_name);
    return blockers_of_node(leaving, node_name);
}
