/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See azure_memory.h.
 */
#include "providers/azure/azure_memory.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "providers/azure/azure_errors.h"

enum { FORGET_MS = HOUR_MS }; /* a removal that is longer ago has ended, whatever came of it */

struct azure_memory *azure_memory_new(void)
{
    struct azure_memory *memory = mem_new(sizeof *memory);

    memory->known = map_new(NULL);
    memory->next = map_new(NULL);
    memory->leaving = map_new(mem_free);
    return memory;
}

void azure_memory_free(void *context)
{
    struct azure_memory *memory = context;

    map_free(memory->known);
    map_free(memory->next);
    map_free(memory->leaving);
    mem_free(memory);
}

int64_t azure_memory_of_scaling(struct azure_memory *memory, const struct azure_pool *pool,
                                int64_t now_ms)
{
    if (!pool->is_scaling) {
        memory->scaling_ms = 0;
        return 0;
    }
    if (memory->scaling_ms == 0 || memory->scaling_wanted != pool->wanted) {
        memory->scaling_ms = now_ms;
        memory->scaling_wanted = pool->wanted;
    }
    return now_ms - memory->scaling_ms;
}

void azure_memory_begin(struct azure_memory *memory, const json_t *body,
                        const struct azure_pool *pool, int64_t asked_ms)
{
    map_clear(memory->next);
    azure_memory_of_scaling(memory, pool, asked_ms);
    memory->asked_ms = asked_ms;
    memory->wanted = pool->wanted;
    memory->is_busy = pool->is_busy;
    memory->trouble = (struct error){ 0 };
    if (pool->is_failed)
        azure_error_of_operation(json_at(body, "properties/status/provisioningError"),
                                 &memory->trouble);
}

/* No operation runs, and the machine is still there: its removal failed. */
static bool has_stayed(const struct azure_memory *memory, int64_t accepted_ms)
{
    return !memory->is_busy && memory->asked_ms > accepted_ms;
}

void azure_memory_judge(struct azure_memory *memory, struct instance *machine)
{
    const int64_t *accepted_ms = map_get(memory->leaving, machine->name);
    bool is_known = !memory->has_listed || !memory->is_busy ||
                    map_get(memory->known, machine->name);

    if (accepted_ms && has_stayed(memory, *accepted_ms)) {
        map_remove(memory->leaving, machine->name);
        accepted_ms = NULL;
    }
    if (is_known)
        map_set(memory->next, machine->name, memory);
    if (machine->state != INSTANCE_RUNNING)
        return;
    if (accepted_ms)
        machine->state = INSTANCE_DELETING;
    else if (!is_known)
        machine->state = INSTANCE_CREATING;
}

void azure_memory_end(struct azure_memory *memory, int64_t now_ms)
{
    struct map *before = memory->known;
    const char *name;
    void *value;

    memory->known = memory->next;
    memory->next = before;
    memory->has_listed = true;
    for (size_t i = 0; map_next(memory->leaving, &i, &name, &value);)
        if (now_ms - *(const int64_t *)value > FORGET_MS)
            map_remove(memory->leaving, name);
}

void azure_memory_leaves(struct azure_memory *memory, const char *name, int64_t now_ms)
{
    int64_t *accepted_ms = mem_new(sizeof *accepted_ms);

    *accepted_ms = now_ms;
    map_set(memory->leaving, name, accepted_ms);
}

bool azure_memory_is_leaving(const struct azure_memory *memory, const char *name)
{
    return map_get(memory->leaving, name) != NULL;
}
