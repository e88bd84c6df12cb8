/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See real_nodes.h.
 */
#include "tests/slurm/real_nodes.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/cloud.h"

struct real_nodes {
    const struct real_server *server;
    struct map *names; /* a machine's name -> its node's */
    int fixed;
    int count; /* machines so far */
};

struct real_nodes *real_nodes_new(const struct real_server *server, int fixed)
{
    struct real_nodes *nodes = mem_new(sizeof *nodes);

    *nodes = (struct real_nodes){ .server = server, .names = map_new(mem_free), .fixed = fixed };
    return nodes;
}

void real_nodes_free(struct real_nodes *nodes)
{
    if (!nodes)
        return;
    map_free(nodes->names);
    mem_free(nodes);
}

static bool has_machine(const struct real_nodes *nodes, const char *name)
{
    void *value;

    for (size_t at = 0; map_next(nodes->names, &at, NULL, &value);)
        if (text_equal(value, name))
            return true;
    return false;
}

char *real_nodes_vacant(const struct real_nodes *nodes)
{
    char *name = NULL;

    for (int i = 1; i <= nodes->fixed; i++) {
        mem_free(name);
        name = text_format("n%d", i);
        if (!has_machine(nodes, name))
            return name;
    }
    fail_msg("each of %d nodes has a machine: %s", nodes->fixed, nodes->server->folder);
    return mem_copy_chars("");
}

const char *real_nodes_of(const struct real_nodes *nodes, const struct machine *machine)
{
    return map_get(nodes->names, machine->name);
}

static void start(struct real_nodes *nodes, const struct machine *machine)
{
    char *name = nodes->fixed > 0 ? real_nodes_vacant(nodes) : mem_copy_chars(machine->node_name);
    owned(chars) char *id = machine->pool->cloud->provider_id(machine);
    owned(chars) char *note = text_format("scontrol update NodeName=%s Extra='%s'", name, id);
    owned(chars) char *rest = NULL;
    int number = nodes->count++;

    map_set(nodes->names, machine->name, name);
    if (nodes->fixed == 0) {
        rest = text_format("'%s' %d", name, 101 + number);
        real_server_do(nodes->server, "join", rest);
        return;
    }
    owned(chars) char *said = real_server_run(nodes->server, note);

    if (said[0] != '\0')
        fail_msg("%s: %s", note, said);
    if (number >= nodes->fixed)
        real_server_do(nodes->server, "again", name);
}

void real_nodes_follow(struct real_nodes *nodes, const struct pool *pool)
{
    for (size_t i = 0; i < pool->machines.count; i++) {
        const struct machine *machine = pool->machines.items[i];
        const char *name = real_nodes_of(nodes, machine);

        if (machine->state == MACHINE_RUNNING && machine->slurm_node && !name) {
            start(nodes, machine);
        } else if (machine->state == MACHINE_STOPPING && name) {
            real_server_do(nodes->server, "leave", name);
            (void)map_remove(nodes->names, machine->name);
        }
    }
}
