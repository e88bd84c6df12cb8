/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold in `access`.  Whether a unix group exists is only known on the machine of the
 * service, which looks when it starts.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"

int config_check_access(const struct config *config, struct error *err)
{
    if (config->listen.address &&
        config_refuse_empty(yaml_get(yaml_root(config->document), "listen"), err) < 0)
        return -1;
    for (size_t i = 0; i < config->access_count; i++)
        if (access_role_find(config->access[i].name) == ACCESS_NONE)
            return yaml_error(err, config_place(config, "access", i, ""),
                              "unknown role \"%s\"; known roles: viewer, operator, dispatcher, "
                              "admin",
                              config->access[i].name);
    return 0;
}
