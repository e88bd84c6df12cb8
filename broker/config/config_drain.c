/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks `drain.gangs` (suspend or evict) and stores it as a flag.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"

int config_check_drain(struct config *config, struct error *err)
{
    const struct yaml_node *drain = yaml_get(yaml_root(config->document), "drain");
    const char *name = config->drain.gangs_name;

    config->drain.suspends_gangs = text_equal(name, "suspend");
    if (config->drain.suspends_gangs || text_equal(name, "evict"))
        return 0;
    return yaml_error(err, drain ? yaml_get(drain, "gangs") : NULL,
                      "expected suspend or evict, found \"%s\"", name);
}
