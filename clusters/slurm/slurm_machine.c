/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_machine.h.
 */
#include "clusters/slurm/slurm_machine.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static const char *blank_of(const struct slurm_node *node, const char *name, size_t length)
{
    const struct {
        const char *name;
        const char *value;
    } rows[] = { { "name", node->name },         { "address", node->address },
                 { "hostname", node->hostname }, { "instance_id", node->instance_id },
                 { "extra", node->extra },       { "comment", node->comment } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return rows[i].value ?: "";
    return NULL;
}

int slurm_machine_check(const char *machine, struct error *err)
{
    const struct slurm_node none = { 0 };
    int count = 0;

    for (const char *at = machine; (at = strchr(at, '{')); at++) {
        const char *end = strchr(at, '}');

        if (!end || !blank_of(&none, at + 1, (size_t)(end - at - 1)))
            return error_set(err, ERROR_INVALID,
                             "expected {name}, {address}, {hostname}, {instance_id}, {extra} or "
                             "{comment}, found \"%.40s\"",
                             at);
        count++;
    }
    return count > 0 ? 0
                     : error_set(err, ERROR_INVALID,
                                 "\"%.80s\" has no blank such as {name}: all nodes would have one "
                                 "machine",
                                 machine);
}

char *slurm_machine_of(const struct slurm_node *node, const char *machine)
{
    owned(text) struct text *out = text_new(512);

    for (const char *at = machine; *at; at++) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        const char *value = end ? blank_of(node, at + 1, (size_t)(end - at - 1)) : NULL;

        if (!value) {
            text_add(out, "%c", *at);
            continue;
        }
        if (value[0] == '\0')
            return mem_copy_chars("");
        text_add(out, "%s", value);
        at = end;
    }
    return text_take(steal(&out));
}
