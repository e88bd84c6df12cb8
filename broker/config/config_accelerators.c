/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The accelerators that a configuration names: the share of a GPU that one unit of a resource, or
 * one device of a driver, stands for.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"

#include <math.h>
#include <string.h>

enum { GPUS_MOST = 1024 };

/* "example.com/npu", or a driver's "npu.example.com". */
static bool is_resource(const char *name)
{
    size_t length = strlen(name);

    return config_is_name(name, length) && strchr(name, '.') && name[0] != '/' &&
           name[length - 1] != '/';
}

int config_read_accelerators(struct config *config, const struct yaml_node *section,
                             struct error *err)
{
    if (!section)
        return 0;
    if (yaml_expect(section, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < section->count; i++) {
        const struct yaml_node *entry = &section->children[i];
        double gpus;

        if (!is_resource(entry->key))
            return yaml_error(err, entry,
                              "expected a resource as DOMAIN/NAME, or the name of a driver");
        if (yaml_double(entry, 0, GPUS_MOST, &gpus, err) < 0)
            return -1;
        if (gpus > 0 && gpus * GPU_PARTS < 1)
            return yaml_error(err, entry, "is less than 1/%d of a GPU", GPU_PARTS);
        *array_add(&config->accelerators.rows) = (struct accelerator){
            .resource = entry->key,
            .parts = (int64_t)llround(gpus * GPU_PARTS),
        };
    }
    return 0;
}
