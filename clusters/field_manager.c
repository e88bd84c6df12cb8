/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See field_manager.h.  Times are RFC 3339 in UTC to the second: their texts are in their order.
 */
#include "clusters/field_manager.h"

#include "base/input/json.h"
#include "base/text.h"

#include <string.h>

char *field_manager_of(const json_t *object, const char *field)
{
    const char *latest = "";
    const char *found = NULL;
    const json_t *entry;
    size_t i;

    json_array_foreach(json_at(object, "metadata/managedFields"), i, entry) {
        const char *manager = json_text_or(entry, "manager", "");
        const char *time = json_text_or(entry, "time", "");

        if (!text_equal(manager, FIELD_MANAGER) && strcmp(time, latest) >= 0 &&
            json_at(json_object_get(entry, "fieldsV1"), field)) {
            latest = time;
            found = manager;
        }
    }
    return mem_copy_chars(found);
}
