/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Service times of queues: one place that they come from (a mean and a law, a file of times, or an
 * engine that knows its iterations), and what is made of it.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/config/config_tables.h"
#include "broker/sources/source.h"
#include "windows/servers/service_file.h"

/* An engine that knows its iterations makes the times. */
static int refuse_beside_engine(const struct yaml_node *entry, struct error *err)
{
    static const char *const others[] = { "service",      "service_cv",        "service_law",
                                          "service_file", "service_histogram", "service_max" };

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (yaml_get(entry, others[i]))
            return yaml_error(err, yaml_get(entry, others[i]), "and engine say the same");
    return 0;
}

int config_check_service(const struct config *config, size_t at, struct config_queue *queue,
                         struct error *err)
{
    static const char *const others[] = { "service", "service_cv", "service_law",
                                          "service_histogram" };
    const struct yaml_node *entry = config_place(config, "queues", at, "");
    enum service_law law = queue->service_law ? service_law_parse(queue->service_law)
                                              : SERVICE_BY_CV;
    bool has_cv = yaml_get(entry, "service_cv");

    if (config_engine_is_whole(queue))
        return refuse_beside_engine(entry, err);
    if (queue->service_ms == 0 && !queue->service_file)
        return yaml_error(err, yaml_get(entry, "service") ?: entry,
                          "needs service, the mean time of a request%s, or service_file%s",
                          queue->engine_node ? " in a full batch" : "",
                          queue->engine_node ? "; or iterations in its engine" : ", or engine");
    for (size_t i = 0; i < COUNT_OF(others) && queue->service_file; i++)
        if (yaml_get(entry, others[i]))
            return yaml_error(err, yaml_get(entry, others[i]), "and service_file say the same");
    if (law == SERVICE_LAWS)
        return yaml_error(err, config_place(config, "queues", at, "service_law"),
                          "expected constant, exponential or lognormal, found \"%s\"",
                          queue->service_law);
    if ((law == SERVICE_CONSTANT && has_cv && queue->service_cv != 0) ||
        (law == SERVICE_EXPONENTIAL && queue->service_cv != 1))
        return yaml_error(err, config_place(config, "queues", at, "service_cv"),
                          "%g is not that of %s times", queue->service_cv, queue->service_law);
    if (law == SERVICE_CONSTANT)
        queue->service_cv = 0;
    if (queue->service_histogram &&
        (!queue->source || !source_has_histograms(queue->source->own.kind)))
        return yaml_error(err, config_place(config, "queues", at, "service_histogram"),
                          "needs a source of the kind prometheus");
    if (queue->service_max_ms > 0 && !queue->service_histogram)
        return yaml_error(err, config_place(config, "queues", at, "service_max"),
                          "requires service_histogram");
    return 0;
}

void config_set_service(struct config_queue *queue, struct service_shape *shape)
{
    int64_t mean_ms = (int64_t)(shape->mean_s * SECOND_MS + 0.5);

    require(shape->mean_s > 0);
    if (queue->engine_node && !shape->engine)
        service_shape_set_slots(shape, (int)queue->engine.slots,
                                engine_router_parse(queue->engine.router_name));
    service_shape_free(queue->service);
    queue->service = shape;
    queue->service_ms = mean_ms > 0 ? mean_ms : 1;
    queue->service_cv = shape->cv;
}

static struct service_shape *shape_of(const struct config_queue *queue, struct error *err)
{
    if (config_engine_is_whole(queue))
        return config_engine_shape(queue, err);
    if (queue->service_file)
        return service_file_read(queue->service_file, err);
    return service_shape_new(
        queue->service_law ? service_law_parse(queue->service_law) : SERVICE_BY_CV,
        (double)queue->service_ms / SECOND_MS, queue->service_cv, "configuration");
}

int config_read_services(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        struct config_queue *queue = &config->queues[i];
        struct service_shape *shape;

        if (!config_engine_lacks_lengths(queue)) {
            shape = shape_of(queue, err);
            if (!shape)
                return error_context(err, "queue %s", queue->name);
            config_set_service(queue, shape);
        }
        if (config_check_floor(config, i, err) < 0)
            return -1;
    }
    return 0;
}
