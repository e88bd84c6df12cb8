/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A failed measurement does not keep the arrivals from their file: plans made from it use the
 * configured time of that queue, and say so.
 */
#include "broker/capacity/snapshot_service.h"

#include "base/file.h"
#include "base/input/json.h"
#include "windows/servers/service_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int snapshot_service_write(const struct snapshot_service *services, size_t count,
                           const char *demand_path, char **ret_path, struct error *err)
{
    owned(chars) char *path = service_table_path(demand_path);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    bool is_empty = true;

    service_table_begin(out);
    for (size_t i = 0; i < count; i++) {
        if (!services[i].shape)
            continue;
        service_table_add(out, services[i].queue->name, services[i].shape);
        is_empty = false;
    }
    if (is_empty)
        return unlink(path) == 0 || errno == ENOENT ? 0
                                                    : error_errno(err, ERROR_INVALID, "%s", path);
    if (file_write(path, out->chars, out->length, 0666, err) < 0)
        return -1;
    *ret_path = steal(&path);
    return 0;
}

json_t *snapshot_service_json(const struct snapshot_service *services, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct service_shape *shape = services[i].shape;

        json_array_append_new(
            list, json_make("{s:s, s:o, s:o, s:o, s:o}", "queue", services[i].queue->name, "mean_s",
                            shape ? json_real(shape->mean_s) : json_null(), "cv",
                            shape ? json_real(shape->cv) : json_null(), "requests",
                            shape ? json_real(shape->requests) : json_null(), "error",
                            shape ? json_null() : json_text(services[i].why.text)));
    }
    return list;
}

size_t snapshot_service_missing(const struct snapshot_service *services, size_t count)
{
    size_t missing = 0;

    for (size_t i = 0; i < count; i++) {
        if (services[i].shape)
            continue;
        fprintf(stderr, "missing: service times of %s: %s\n", services[i].queue->name,
                services[i].why.text);
        missing++;
    }
    return missing;
}
