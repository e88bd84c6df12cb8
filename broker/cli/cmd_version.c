/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice version.
 */
#include "base/input/json.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>

const struct command_option version_options[] = { { 0 } };

int cmd_version(struct command_call *call)
{
    owned(json) json_t *json = json_make("{ss}", "version", SLUICE_VERSION);

    if (client_wants_json(call))
        client_print_json(call, json);
    else
        printf("sluice %s\n", SLUICE_VERSION);
    return EXIT_DONE;
}
