/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice config: what may stand in sluice.yaml.
 */
#include "base/input/json.h"
#include "broker/config/config.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

const struct command_option config_options[] = { { 0 } };

int cmd_config(struct command_call *call)
{
    owned(json) json_t *schema = NULL;

    if (!text_equal(call_argument(call, 0), "schema"))
        return call_usage_error(call, "expected schema");
    schema = config_schema();
    client_print_json(call, schema);
    return EXIT_DONE;
}
