/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists that say something else than the truth for a while: of machines, of nodes, of pods.  Only
 * whole lists and their watches lie; a direct read, by name or of one node's pods, does not.  The
 * world and the referee know the truth all the while.
 */
#include "tools/simulator/model/lies.h"

#include "tools/simulator/model/cloud.h"

#include <stdlib.h>

static const char *const list_names[LIE_LIST_COUNT] = { "machines", "nodes", "pods" };
static const char *const kind_names[LIE_KIND_COUNT] = { "empty", "half", "some", "new", "old" };

struct lie {
    struct actor actor;
    enum lie_list list;
    enum lie_kind kind;
    size_t of; /* index of its pool or cluster */
    int64_t age_ms;
    int64_t to_ms; /* loop time */
    bool is_on;
    struct map *names; /* LIE_NEW: all that were there when it began; HALF and SOME: the hidden */
};

/* What one machine was at a time. */
struct past {
    int64_t at_ms;
    char name[SIM_NAME_SIZE];
    char *text; /* as the cloud lists it; NULL: gone */
};

struct lies {
    ARRAY(struct lie *) items;
    ARRAY(struct past) *past; /* by pool */
};

static size_t index_of(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && !text_equal(names[i], name))
        i++;
    return i;
}

/* The index of a pool or of a cluster; SIZE_MAX: there is none of that name. */
static size_t find_place(const struct simulator *sim, enum lie_list list, const char *name)
{
    for (size_t i = 0; list == LIE_MACHINES && i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->name, name))
            return i;
    for (size_t i = 0; list != LIE_MACHINES && i < sim->cluster_count; i++)
        if (text_equal(sim->clusters[i].plan->name, name))
            return i;
    return SIZE_MAX;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_keys(const struct map *map, bool after_slash, struct lie_names *names)
{
    const char *key;

    for (size_t i = 0; map_next(map, &i, &key, NULL);) {
        const char *slash = after_slash ? strchr(key, '/') : NULL;

        *array_add(names) = slash ? slash + 1 : key;
    }
}

/* Notes which names it is about. */
static void choose_names(struct simulator *sim, struct lie *lie)
{
    static const size_t of_how_many[LIE_KIND_COUNT] = { [LIE_HALF] = 2, [LIE_SOME] = 4 };
    struct lie_names names = { 0 };

    if (lie->list == LIE_MACHINES)
        for (size_t i = 0; i < sim->pools[lie->of].machines.count; i++)
            *array_add(&names) = sim->pools[lie->of].machines.items[i]->name;
    else
        add_keys(lie->list == LIE_NODES ? sim->clusters[lie->of].nodes
                                        : sim->clusters[lie->of].pods,
                 lie->list == LIE_PODS, &names);
    if (names.count > 1)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    for (size_t i = 0; i < names.count; i++)
        if (of_how_many[lie->kind] == 0 || i % of_how_many[lie->kind] == 1)
            map_set(lie->names, names.items[i], lie);
    array_clear(&names);
}

/* Watchers have to list again, as after a restore of the server, or behind another address. */
static void break_watches(const struct simulator *sim, const struct lie *lie)
{
    if (lie->list != LIE_MACHINES)
        sim_watches_expire(&sim->clusters[lie->of],
                           lie->list == LIE_NODES ? OBJECT_NODE : OBJECT_POD);
}

static void end(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct lie *lie = (struct lie *)actor;

    (void)stamp;
    lie->is_on = false;
    sim_trace(sim, "lie of %s ends", list_names[lie->list]);
    break_watches(sim, lie);
}

static void begin(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct lie *lie = (struct lie *)actor;

    lie->is_on = true;
    choose_names(sim, lie);
    sim_trace(sim, "lie of %s begins, %s", list_names[lie->list], kind_names[lie->kind]);
    break_watches(sim, lie);
    sim_after(sim, lie->to_ms - sim_now(sim), end, actor, stamp);
}

static void free_lie(struct actor *actor)
{
    struct lie *lie = (struct lie *)actor;

    map_free(lie->names);
    mem_free(lie);
}

static void add_lie(struct simulator *sim, const struct lie *wanted, int64_t in_ms, int64_t for_ms)
{
    struct lie *lie = mem_new(sizeof *lie);

    *lie = *wanted;
    lie->actor.free = free_lie;
    lie->to_ms = sim_now(sim) + in_ms + for_ms;
    lie->names = map_new(NULL);
    *array_add(&sim->lies->items) = lie;
    sim_after(sim, in_ms, begin, &lie->actor, 0);
}

static int need_text(const struct yaml_node *of, const char *key, const char **ret,
                     struct error *err)
{
    const struct yaml_node *node = yaml_get(of, key);

    return node ? yaml_text(node, ret, err) : yaml_error(err, of, "%s is missing", key);
}

static int need_time(const struct yaml_node *of, const char *key, int64_t *ret_ms,
                     struct error *err)
{
    const struct yaml_node *node = yaml_get(of, key);

    return node ? yaml_duration(node, 0, 52 * WEEK_MS, ret_ms, err)
                : yaml_error(err, of, "%s is missing", key);
}

static int read_lie(struct simulator *sim, const struct yaml_node *node, struct error *err)
{
    struct lie lie = { 0 };
    const char *list, *of, *kind;
    int64_t from_ms, to_ms;

    if (need_text(node, "list", &list, err) < 0 || need_text(node, "of", &of, err) < 0 ||
        need_text(node, "kind", &kind, err) < 0 || need_time(node, "from", &from_ms, err) < 0 ||
        need_time(node, "to", &to_ms, err) < 0)
        return -1;
    lie.list = (enum lie_list)index_of(list_names, LIE_LIST_COUNT, list);
    lie.kind = (enum lie_kind)index_of(kind_names, LIE_KIND_COUNT, kind);
    if (lie.list == LIE_LIST_COUNT)
        return yaml_error(err, node, "list is one of machines, nodes, pods");
    if (lie.kind == LIE_KIND_COUNT)
        return yaml_error(err, node, "kind is one of empty, half, some, new, old");
    if (lie.kind == LIE_OLD && need_time(node, "age", &lie.age_ms, err) < 0)
        return -1;
    lie.of = find_place(sim, lie.list, of);
    if (lie.of == SIZE_MAX)
        return yaml_error(err, node, "there is no %s %s",
                          lie.list == LIE_MACHINES ? "pool" : "cluster", of);
    if (to_ms <= from_ms)
        return yaml_error(err, node, "it ends before it begins");
    add_lie(sim, &lie, from_ms, to_ms - from_ms);
    return 0;
}

struct lies *sim_lies_new(const struct simulator *sim)
{
    struct lies *lies = mem_new(sizeof *lies);

    lies->past = mem_new_array(sim->pool_count, sizeof *lies->past);
    return lies;
}

int sim_lies_read(struct simulator *sim, struct error *err)
{
    const struct yaml_node *rows = yaml_get(yaml_root(sim->scenario->world), "lies");

    if (rows && yaml_expect(rows, YAML_SEQUENCE, err) < 0)
        return -1;
    for (size_t i = 0; rows && i < rows->count; i++)
        if (read_lie(sim, &rows->children[i], err) < 0)
            return -1;
    return 0;
}

void sim_lies_free(struct lies *lies, size_t pool_count)
{
    if (!lies)
        return;
    for (size_t i = 0; i < lies->items.count; i++)
        sim_actor_end(&lies->items.items[i]->actor);
    array_clear(&lies->items);
    for (size_t i = 0; i < pool_count; i++) {
        for (size_t k = 0; k < lies->past[i].count; k++)
            mem_free(lies->past[i].items[k].text);
        array_clear(&lies->past[i]);
    }
    mem_free(lies->past);
    mem_free(lies);
}

void simulator_lie(struct simulator *simulator, const struct list_lie *wanted)
{
    struct lie lie = { .age_ms = wanted->age_ms };

    lie.list = (enum lie_list)index_of(list_names, LIE_LIST_COUNT, wanted->list);
    lie.kind = (enum lie_kind)index_of(kind_names, LIE_KIND_COUNT, wanted->kind);
    require(lie.list < LIE_LIST_COUNT && lie.kind < LIE_KIND_COUNT);
    lie.of = find_place(simulator, lie.list, wanted->of);
    require(lie.of != SIZE_MAX);
    add_lie(simulator, &lie, 0, wanted->for_ms);
}

const struct lie *sim_lie_about(const struct simulator *sim, enum lie_list list, size_t of)
{
    for (size_t i = sim->lies->items.count; i-- > 0;) {
        const struct lie *lie = sim->lies->items.items[i];

        if (lie->is_on && lie->list == list && lie->of == of)
            return lie;
    }
    return NULL;
}

bool sim_lie_hides(const struct lie *lie, const char *name)
{
    switch (lie->kind) {
    case LIE_EMPTY:
        return true;
    case LIE_HALF:
    case LIE_SOME:
        return map_get(lie->names, name) != NULL;
    case LIE_NEW:
        return !map_get(lie->names, name);
    case LIE_OLD:
    case LIE_KIND_COUNT:
        return false;
    }
    return false;
}

bool sim_lie_frees(const struct lie *lie)
{
    switch (lie->list) {
    case LIE_MACHINES:
        return lie->kind == LIE_EMPTY || lie->kind == LIE_HALF || lie->kind == LIE_SOME;
    case LIE_NODES:
        return lie->kind == LIE_EMPTY || lie->kind == LIE_HALF;
    case LIE_PODS:
    case LIE_LIST_COUNT:
        return false;
    }
    return false;
}

int64_t sim_lie_time(const struct simulator *sim, const struct lie *lie)
{
    int64_t at_ms = sim_now(sim) - (lie && lie->kind == LIE_OLD ? lie->age_ms : 0);

    return at_ms > sim->start_ms ? at_ms : sim->start_ms;
}

void sim_machine_changed(struct simulator *sim, const struct machine *machine, bool is_gone)
{
    struct past *past = array_add(&sim->lies->past[machine->pool - sim->pools]);
    owned(text) struct text *text = text_new(4096);

    machine->pool->version++;
    past->at_ms = sim_now(sim);
    text_copy(past->name, sizeof past->name, machine->name);
    machine->pool->cloud->print_machine(machine, text);
    past->text = is_gone ? NULL : mem_copy_chars(text->chars);
}

static int by_shown_name(const void *left, const void *right)
{
    return strcmp(((const struct shown *)left)->name, ((const struct shown *)right)->name);
}

/* The last of each name up to a time. */
static void add_past(const struct simulator *sim, const struct pool *pool, int64_t at_ms,
                     struct shown_list *list)
{
    owned(map) struct map *seen = map_new(NULL);
    size_t of = (size_t)(pool - sim->pools);

    for (size_t i = sim->lies->past[of].count; i-- > 0;) {
        struct past *past = &sim->lies->past[of].items[i];

        if (past->at_ms > at_ms || map_get(seen, past->name))
            continue;
        map_set(seen, past->name, past);
        if (past->text)
            *array_add(list) = (struct shown){ past->name, NULL, past->text };
    }
}

void sim_machines_shown(const struct simulator *sim, const struct pool *pool,
                        struct shown_list *list)
{
    const struct lie *lie = sim_lie_about(sim, LIE_MACHINES, (size_t)(pool - sim->pools));

    if (lie && lie->kind == LIE_OLD)
        add_past(sim, pool, sim_lie_time(sim, lie), list);
    for (size_t i = 0; (!lie || lie->kind != LIE_OLD) && i < pool->machines.count; i++)
        if (!lie || !sim_lie_hides(lie, pool->machines.items[i]->name))
            *array_add(list) = (struct shown){ pool->machines.items[i]->name,
                                               pool->machines.items[i], NULL };
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, by_shown_name);
}
