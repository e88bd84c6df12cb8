/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See own_machines.h.
 */
#include "providers/ssh/own_machines.h"

#include "base/file.h"
#include "base/text.h"

#include <string.h>

enum { MACHINES_MOST = 2000 };

static const struct setting settings[] = {
    SSH_PLACE_SETTINGS("", struct own_machine, place),
    { "group", SETTING_TEXT, offsetof(struct own_machine, group), "", 0, 0,
      "the group that has it before sluice has moved it; absent: it is parked" },
    { "redfish", SETTING_URL, offsetof(struct own_machine, redfish), "", 0, 0,
      "URL of its system at its management controller: https://BMC/redfish/v1/Systems/1" },
    { "redfish_ca", SETTING_PATH, offsetof(struct own_machine, redfish_ca), "", 0, 0,
      "file with the authority of the controller's certificate" },
    { "redfish_login", SETTING_PATH, offsetof(struct own_machine, redfish_key), "", 0, 0,
      "file with USER:PASSWORD for the controller" },
};

static void machine_free(struct own_machine *machine)
{
    ssh_target_clear(&machine->target);
    settings_clear(settings, COUNT_OF(settings), machine);
    mem_free(machine);
}

/* A name goes into shell text and Node names. */
static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.");

    /* An order's progress has it with one letter more. */
    return length > 0 && length < INSTANCE_NAME_SIZE - 1 && name[length] == '\0' &&
           name[0] != '-' && name[0] != '.';
}

static void make_absolute(const char *beside, char **path)
{
    if (*path) {
        char *absolute = file_beside(beside, *path);

        mem_free(*path);
        *path = absolute;
    }
}

static int read_machine(const struct own_account *account, const struct yaml_node *node,
                        struct own_machine *machine, struct error *err)
{
    const char *key = "";
    struct error why = { 0 };

    if (!is_name(node->key))
        return yaml_error(err, node, "a machine's name has lower-case letters, digits, - and .");
    if (settings_read(node, settings, COUNT_OF(settings), machine, err) < 0)
        return -1;
    text_copy(machine->name, sizeof machine->name, node->key);
    make_absolute(account->machines, &machine->redfish_ca);
    make_absolute(account->machines, &machine->redfish_key);
    if (machine->redfish && !machine->redfish_key)
        return yaml_error(err, node, "redfish needs redfish_login");
    if (ssh_target_make(&machine->place, &account->access, &machine->target, &key, &why) == 0)
        return 0;
    return yaml_error(err, yaml_get(node, key) ?: node, "%s: %s", key, why.text);
}

int own_machines_read(const struct own_account *account, struct own_machines *machines,
                      struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(account->machines, err);
    const struct yaml_node *root = document ? yaml_root(document) : NULL;

    if (!root || yaml_expect(root, YAML_MAPPING, err) < 0)
        return -1;
    if (root->count == 0 || root->count > MACHINES_MOST)
        return yaml_error(err, root, "expected 1 to %d machines", MACHINES_MOST);
    for (size_t i = 0; i < root->count; i++) {
        struct own_machine *machine = mem_new(sizeof *machine);

        *array_add(&machines->all) = machine;
        if (yaml_expect(&root->children[i], YAML_MAPPING, err) < 0 ||
            read_machine(account, &root->children[i], machine, err) < 0) {
            own_machines_clear(machines);
            return -1;
        }
    }
    return 0;
}

void own_machines_clear(struct own_machines *machines)
{
    for (size_t i = 0; i < machines->all.count; i++)
        machine_free(machines->all.items[i]);
    array_clear(&machines->all);
}

struct own_machine *own_machines_find(const struct own_machines *machines, const char *name)
{
    for (size_t i = 0; i < machines->all.count; i++)
        if (text_equal(machines->all.items[i]->name, name))
            return machines->all.items[i];
    return NULL;
}
