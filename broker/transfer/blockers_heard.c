/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a server says to a dry run, beside what was computed: THE table of the answers.
 */
#include "base/json.h"
#include "base/text.h"
#include "broker/transfer/blocker.h"
#include "broker/transfer/blockers.h"
#include "clusters/budget.h"

#include <string.h>

static const struct {
    const char *kind;
    const char *verdict;
    const char *advice;
} rows[] = {
    [TRIAL_BUDGET] = { "budget", "slow", "see what the budget waits for" },
    [TRIAL_TWO_BUDGETS] = { "two budgets", "never", "delete one of them, or narrow its selector" },
    [TRIAL_DENIED] = { "admission", "slow",
                       "ask whose rule it is: a webhook may be making room for the pod" },
    [TRIAL_UNREACHED] = { "webhook down", "slow",
                          "see that its service answers; its pod may be on a node that leaves" },
    [TRIAL_NOT_PERMITTED] = { "forbidden", "never", "let sluice create pods/eviction there" },
};

bool blockers_are_unsure(const struct snapshot *snapshot, const struct pod *pod)
{
    const struct budget *budget = NULL;
    size_t count = snapshot_budgets_of(snapshot, pod, &budget, 1);

    if (!budget_counts_for(pod))
        return false;
    if (!snapshot->budgets_are_known || count > 1)
        return true;
    return count == 1 && (!pod->is_ready || budget_judge(budget) == BUDGET_UNKNOWN);
}

static bool is_of_budget(const json_t *row)
{
    static const char *const kinds[] = { "two budgets", "budget", "rescheduling", "unhealthy",
                                         "uncounted" };

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal(json_text_or(row, "kind", ""), kinds[i]))
            return true;
    return false;
}

/* The server's own words, without our request in front of them. */
static const char *words_of(const struct error *err)
{
    static const char request[] = "/eviction: ";
    const char *found = strstr(err->text, request);

    return found ? found + strlen(request) : err->text;
}

/* Behind those that are as bad. */
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

/* Writes the words to the pod's rows about budgets, or takes these away; whether there were any. */
static bool correct(json_t *blockers, const char *pod, bool would_go, const char *words)
{
    bool is_found = false;

    for (size_t i = json_array_size(blockers); i-- > 0;) {
        json_t *row = json_array_get(blockers, i);

        if (!text_equal(json_text_or(row, "pod", ""), pod) || !is_of_budget(row))
            continue;
        is_found = true;
        if (would_go)
            json_array_remove(blockers, i);
        else
            json_object_set_new(row, "server", json_string(words));
    }
    return is_found;
}

void blockers_hear(json_t *blockers, const struct pod *pod, int64_t deadline_ms,
                   const struct error *err)
{
    enum trial trial = cluster_trial_of(err);
    owned(chars) char *name = text_format("%s/%s", pod->namespace, pod->name);
    const char *words = err ? words_of(err) : "";
    bool is_about_budgets = trial == TRIAL_BUDGET || trial == TRIAL_TWO_BUDGETS ||
                            trial == TRIAL_UNKNOWN;
    bool would_go = trial == TRIAL_LEAVES || trial == TRIAL_GONE;
    struct blocker blocker;
    json_t *row;

    if ((would_go || is_about_budgets) && correct(blockers, name, would_go, words))
        return;
    if (would_go || trial == TRIAL_UNKNOWN)
        return;
    blocker = (struct blocker){
        .kind = rows[trial].kind,
        .verdict = rows[trial].verdict,
        .text = words,
        .expected_ms = text_equal(rows[trial].verdict, "never") ? deadline_ms : -1,
        .advice = rows[trial].advice,
    };
    row = blocker_describe(pod, &blocker);
    json_object_set_new(row, "server", json_string(words));
    insert(blockers, row);
}
