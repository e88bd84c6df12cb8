/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Budget queues: evictions that wait for a disruption budget.  When a budget's resourceVersion
 * changes, its status includes the evictions that were counted here, and the count begins again.
 */
#include "broker/sides/kube/gate.h"

#include "base/map.h"
#include "base/text.h"
#include "clusters/budget.h"
#include "clusters/kube_verbs.h"

enum {
    EVICTIONS_AT_ONCE = 64, /* of one cluster; more only wait inside the server */
    BUDGET_BACKOFF_MS = 5 * SECOND_MS,
    PROBE_MS = 60 * SECOND_MS, /* interval of evictions for a budget whose status allows none */
    CALM_MS = SECOND_MS,       /* after an overload that names no time */
    BUDGETS_SHOWN = 2,
};

struct budget_queue {
    char version[32];   /* of the budget, when `spent` was last 0 */
    int64_t spent;      /* evictions accepted since */
    bool is_taken;      /* one is under way */
    int64_t blocked_ms; /* loop time until which a refusal holds; a new version of the budget ends
                           it earlier only if the budget then allows an eviction */
    int64_t asked_ms;   /* when one was last sent, or the queue began */
    char refused[256];  /* the words of that refusal */
};

struct cluster_gate {
    struct map *queues; /* "namespace/name" of a budget -> struct budget_queue */
    int in_flight;
    int64_t quiet_ms; /* loop time from which the server is asked again */
};

struct gate {
    struct world *world;
    const struct fleet *fleet;
    const struct config *config;
    struct cluster_gate *clusters; /* as config->clusters */
    char why[512];
};

struct gate *gate_new(struct world *world, const struct fleet *fleet, const struct config *config)
{
    struct gate *gate = mem_new(sizeof *gate);

    gate->world = world;
    gate->fleet = fleet;
    gate->config = config;
    gate->clusters = mem_new_array(config->cluster_count, sizeof *gate->clusters);
    for (size_t i = 0; i < config->cluster_count; i++)
        gate->clusters[i].queues = map_new(mem_free);
    return gate;
}

void gate_free(struct gate *gate)
{
    if (!gate)
        return;
    for (size_t i = 0; i < gate->config->cluster_count; i++)
        map_free(gate->clusters[i].queues);
    mem_free(gate->clusters);
    mem_free(gate);
}

static struct cluster_gate *gate_of(const struct gate *gate, const struct config_cluster *cluster)
{
    require(cluster >= gate->config->clusters);
    require(cluster < gate->config->clusters + gate->config->cluster_count);
    return &gate->clusters[cluster - gate->config->clusters];
}

/* The budget's queue; `spent` counts until the status has a new version. */
static struct budget_queue *queue_of(const struct gate *gate, struct cluster_gate *of,
                                     const struct budget *budget)
{
    owned(chars) char *key = text_format("%s/%s", budget->namespace, budget->name);
    struct budget_queue *queue = map_get(of->queues, key);

    if (!queue) {
        queue = mem_new(sizeof *queue);
        queue->asked_ms = loop_now(gate->world->loop);
        map_set(of->queues, key, queue);
    }
    if (!text_equal(queue->version, budget->resource_version)) {
        text_copy(queue->version, sizeof queue->version, budget->resource_version);
        queue->spent = 0;
        if (budget->allowed > 0)
            queue->blocked_ms = 0;
    }
    return queue;
}

static enum gate_answer say(struct gate *gate, enum gate_answer answer, const char **ret_why)
{
    *ret_why = gate->why;
    return answer;
}

static enum gate_answer ask_budget(struct gate *gate, struct cluster_gate *of,
                                   const struct budget *budget, const struct pod *pod,
                                   const char **ret_why)
{
    struct budget_queue *queue = queue_of(gate, of, budget);
    int64_t now = loop_now(gate->world->loop);
    bool is_free = !pod->is_ready && budget_frees_unready(budget);
    bool has_room = is_free || budget->allowed - queue->spent > 0 || !budget->is_current;

    text_print(gate->why, sizeof gate->why,
               "budget %.120s/%.120s lets %lld of its %lld pods go now (%lld healthy, %lld wanted)",
               budget->namespace, budget->name, (long long)(has_room ? budget->allowed : 0),
               (long long)budget->expected, (long long)budget->healthy, (long long)budget->wanted);
    if (now < queue->blocked_ms) {
        /* The refusal is newer than the status, or of another rule. */
        text_copy(gate->why, sizeof gate->why, queue->refused);
        return say(gate, GATE_WAIT, ret_why);
    }
    if (queue->is_taken || (!has_room && now - queue->asked_ms < PROBE_MS))
        return say(gate, GATE_WAIT, ret_why);
    return GATE_OPEN;
}

bool gate_is_free(struct gate *gate, const struct config_cluster *cluster, const char **ret_why)
{
    const struct cluster_gate *of = gate_of(gate, cluster);

    *ret_why = gate->why;
    if (loop_now(gate->world->loop) < of->quiet_ms) {
        text_print(gate->why, sizeof gate->why, "the API server of %.100s is busy", cluster->name);
        return false;
    }
    if (of->in_flight >= EVICTIONS_AT_ONCE) {
        text_print(gate->why, sizeof gate->why, "%d evictions to be answered", of->in_flight);
        return false;
    }
    return true;
}

enum gate_answer gate_ask(struct gate *gate, const struct config_cluster *cluster,
                          const struct pod *pod, const char **ret_why)
{
    struct cluster_gate *of = gate_of(gate, cluster);
    const struct budget *budgets[BUDGETS_SHOWN] = { NULL };
    size_t count = budgets_of_pod(fleet_snapshot(gate->fleet, cluster), pod, budgets,
                                  BUDGETS_SHOWN);

    *ret_why = "";
    if (count > 1) {
        text_print(gate->why, sizeof gate->why,
                   "pod %.100s/%.100s is selected by %zu budgets (%.60s, %.60s), which no eviction "
                   "can pass: it is deleted at its own deadline",
                   pod->namespace, pod->name, count, budgets[0]->name, budgets[1]->name);
        return say(gate, GATE_NEVER, ret_why);
    }
    if (!gate_is_free(gate, cluster, ret_why))
        return GATE_WAIT;
    return count == 1 ? ask_budget(gate, of, budgets[0], pod, ret_why) : GATE_OPEN;
}

struct budget_queue *gate_enter(struct gate *gate, const struct config_cluster *cluster,
                                const struct pod *pod)
{
    struct cluster_gate *of = gate_of(gate, cluster);
    const struct budget *budget = NULL;
    struct budget_queue *queue;

    require(of->in_flight >= 0);
    of->in_flight++;
    if (budgets_of_pod(fleet_snapshot(gate->fleet, cluster), pod, &budget, 1) == 0)
        return NULL;
    queue = queue_of(gate, of, budget);
    queue->is_taken = true;
    queue->asked_ms = loop_now(gate->world->loop);
    return queue;
}

void gate_slow(struct gate *gate, const struct config_cluster *cluster, const struct error *err)
{
    struct cluster_gate *of = gate_of(gate, cluster);
    int64_t wait_ms = err->retry_after_ms > CALM_MS ? err->retry_after_ms : CALM_MS;
    int64_t until_ms = loop_now(gate->world->loop) + wait_ms;

    if (err->kind == ERROR_THROTTLED && !cluster_is_budget(err) && until_ms > of->quiet_ms)
        of->quiet_ms = until_ms;
}

void gate_leave(struct gate *gate, const struct config_cluster *cluster, struct budget_queue *queue,
                const struct error *err)
{
    int64_t wait_ms = BUDGET_BACKOFF_MS;

    require(gate_of(gate, cluster)->in_flight > 0); /* each answer belongs to an eviction that was
                                                       sent */
    gate_of(gate, cluster)->in_flight--;
    if (err)
        gate_slow(gate, cluster, err);
    if (!queue)
        return;
    require(queue->spent >= 0);
    queue->is_taken = false;
    if (!err) {
        queue->spent++;
    } else if (cluster_is_budget(err)) {
        wait_ms += (int64_t)random_below(gate->world->random, BUDGET_BACKOFF_MS);
        queue->blocked_ms = loop_now(gate->world->loop) +
                            (err->retry_after_ms > wait_ms ? err->retry_after_ms : wait_ms);
        text_copy(queue->refused, sizeof queue->refused, err->text);
    }
}
