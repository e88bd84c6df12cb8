/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a server says to a dry run, beside what was computed: THE table of the answers.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/sides/kube/blocker.h"
#include "broker/sides/kube/blockers.h"
#include "clusters/budget.h"
#include "clusters/kube_verbs.h"

static const struct blocker_kind rows[] = {
    [DRY_RUN_BUDGET] = { "budget", "slow", "see what the budget waits for", true },
    [DRY_RUN_TWO_BUDGETS] = BLOCKER_TWO_BUDGETS,
    [DRY_RUN_DENIED] = { "admission", "slow",
                         "ask whose rule it is: a webhook may be making room for the pod", false },
    [DRY_RUN_UNREACHED] = { "webhook down", "slow",
                            "see that its service answers; its pod may be on a node that leaves",
                            false },
    [DRY_RUN_NOT_PERMITTED] = { "forbidden", "never", "let sluice create pods/eviction there",
                                false },
};

/* Inserts the row behind those that are as bad. */
static void insert(json_t *blockers, json_t *row)
{
    static const char *const order[] = { "never", "slow", "note" };
    size_t at = 0;

    for (size_t i = 0; i < COUNT_OF(order); i++) {
        while (at < json_array_size(blockers) &&
               text_equal(json_text_or(json_array_get(blockers, at), "verdict", ""), order[i]))
            at++;
        if (text_equal(json_text_or(row, "verdict", ""), order[i]))
            break;
    }
    json_array_insert_new(blockers, at, row);
}

/* Adds the server's message to the pod's rows about budgets, or removes rows that the server
   contradicts; whether any is left. */
static bool correct(json_t *blockers, const char *pod, enum dry_run trial, const char *words)
{
    bool is_left = false;

    for (size_t i = json_array_size(blockers); i-- > 0;) {
        json_t *row = json_array_get(blockers, i);
        const char *kind = json_text_or(row, "kind", "");

        if (!text_equal(json_text_or(row, "pod", ""), pod) || !blocker_is_of_budget(kind))
            continue;
        if (trial == DRY_RUN_BUDGET ||
            (trial == DRY_RUN_TWO_BUDGETS && text_equal(kind, rows[trial].name))) {
            is_left = true;
            json_object_set_new(row, "server", json_text(words));
        } else {
            json_array_remove(blockers, i);
        }
    }
    return is_left;
}

void blockers_hear(json_t *blockers, const struct pod *pod, int64_t deadline_ms,
                   const struct error *err)
{
    enum dry_run trial = cluster_dry_run_of(err);
    owned(chars) char *name = text_format("%s/%s", pod->namespace, pod->name);
    const char *words = err ? error_leaf(err) : "";
    bool would_go = trial == DRY_RUN_LEAVES || trial == DRY_RUN_GONE;
    json_t *row;

    if (trial == DRY_RUN_UNKNOWN)
        return;
    if ((would_go || rows[trial].is_of_budget) && correct(blockers, name, trial, words))
        return;
    if (would_go)
        return;
    row = blocker_describe(pod, &rows[trial], words,
                           text_equal(rows[trial].verdict, "never") ? deadline_ms : -1);
    json_object_set_new(row, "server", json_text(words));
    insert(blockers, row);
}
