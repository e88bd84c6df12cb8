/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Cluster API's controllers do: a pool gets as many Machines as it wants, and deletes those
 * that are too many in upstream's order.  Machines that are being deleted count until they are
 * gone.  A health check deletes Machines that never get a Node.
 */
#include "tools/simulator/cloud/capi_cloud.h"
#include "tools/simulator/model/cloud.h"

enum { WAKE_MS = 2 * SECOND_MS, STARTUP_MS = 10 * MINUTE_MS };

/* The order of deletion: a higher one goes first. */
enum { MUST_GO = 100, CHOSEN = 80, UNHEALTHY = 50, COULD_GO = 20 };

static void *keep(struct simulator *sim, const char *key, size_t size)
{
    void *kept = map_get(sim->operations, key);

    if (!kept) {
        kept = mem_new(size);
        map_set(sim->operations, key, kept);
    }
    return kept;
}

struct capi_pool_state *sim_capi_pool(struct simulator *sim, struct pool *pool)
{
    owned(chars) char *key = text_format("capi/%s", pool->plan->name);
    struct capi_pool_state *state = keep(sim, key, sizeof *state);

    if (!state->pool) {
        state->pool = pool;
        state->wanted = pool->target;
        state->generation = state->observed = 1;
    }
    return state;
}

struct capi_machine_state *sim_capi_machine(struct simulator *sim, const struct machine *machine)
{
    owned(chars) char *key = text_format("capi/%s/%s", machine->pool->plan->name, machine->name);

    return keep(sim, key, sizeof(struct capi_machine_state));
}

struct capi_check_state *sim_capi_check(struct simulator *sim, const char *namespace)
{
    owned(chars) char *key = text_format("capi check/%s", namespace);

    return map_get(sim->operations, key);
}

void sim_capi_put_check(struct simulator *sim, const char *namespace, const json_t *check)
{
    owned(chars) char *key = text_format("capi check/%s", namespace);
    struct capi_check_state *state = keep(sim, key, sizeof *state);
    owned(chars) char *text = json_print(check);

    require(text_copy(state->json, sizeof state->json, text));
    state->startup_ms = json_int_or(check, "spec/checks/nodeStartupTimeoutSeconds",
                                    STARTUP_MS / SECOND_MS) *
                        SECOND_MS;
    for (size_t i = 0; i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->kind, "capi") &&
            text_equal(sim_capi_namespace(&sim->pools[i]), namespace))
            sim_capi_wake(sim, sim_capi_pool(sim, &sim->pools[i]));
}

static int priority_of(struct simulator *sim, const struct machine *machine)
{
    if (machine->state == MACHINE_STOPPING)
        return MUST_GO;
    if (sim_capi_machine(sim, machine)->mark[0] != '\0')
        return CHOSEN;
    return machine->node && machine->node->readiness == NODE_READY ? COULD_GO : UNHEALTHY;
}

/* Whether left is deleted before right. */
static bool goes_before(struct simulator *sim, const struct machine *left,
                        const struct machine *right)
{
    int own = priority_of(sim, left), other = priority_of(sim, right);

    return own != other ? own > other : strcmp(left->name, right->name) < 0;
}

/* How many would be deleted before this one. */
static size_t rank_of(struct simulator *sim, const struct machine *machine)
{
    const struct pool *pool = machine->pool;
    size_t rank = 0;

    for (size_t i = 0; i < pool->machines.count; i++)
        rank += goes_before(sim, pool->machines.items[i], machine);
    return rank;
}

static void delete_excess(struct simulator *sim, struct pool *pool, size_t excess)
{
    ARRAY(struct machine *) doomed = { 0 };

    for (size_t i = 0; i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->state != MACHINE_STOPPING && rank_of(sim, machine) < excess)
            *array_add(&doomed) = machine;
    }
    for (size_t i = 0; i < doomed.count; i++) {
        referee_delete_instance(sim, doomed.items[i], sim_capi_machine(sim, doomed.items[i])->mark);
        sim_machine_remove(sim, doomed.items[i]);
    }
    array_clear(&doomed);
}

/* Whether a machine is still expected to get its Node. */
static bool remediate(struct simulator *sim, struct pool *pool)
{
    const struct capi_check_state *check = sim_capi_check(sim, sim_capi_namespace(pool));
    bool is_waiting = false;

    for (size_t i = 0; check && i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->node || machine->state == MACHINE_STOPPING)
            continue;
        if (sim_now(sim) - machine->created_ms >= check->startup_ms)
            sim_machine_remove(sim, machine);
        is_waiting = true;
    }
    return is_waiting;
}

static void reconcile(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct capi_pool_state *state = (struct capi_pool_state *)actor;
    struct pool *pool = state->pool;
    size_t wanted = (size_t)state->wanted;
    bool is_waiting;

    (void)stamp;
    state->is_awake = false;
    if (state->is_paused)
        return;
    if (state->observed != state->generation)
        state->edits++;
    state->observed = state->generation;
    is_waiting = remediate(sim, pool);
    for (size_t i = pool->machines.count; i < wanted; i++)
        sim_pool_grow(sim, pool);
    if (pool->machines.count > wanted)
        delete_excess(sim, pool, pool->machines.count - wanted);
    for (size_t i = 0; i < pool->machines.count; i++)
        is_waiting |= pool->machines.items[i]->state == MACHINE_STOPPING;
    if (is_waiting || pool->machines.count != wanted)
        sim_capi_wake(sim, state);
}

void sim_capi_wake(struct simulator *sim, struct capi_pool_state *state)
{
    if (state->is_awake)
        return;
    state->is_awake = true;
    sim_after(sim, WAKE_MS + (int64_t)random_below(&sim->latency, WAKE_MS), reconcile,
              &state->actor, 0);
}
