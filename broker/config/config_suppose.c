/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What if a queue's engine were another: keys of its block are changed after the file was read, by
 * the same table, and everything that follows from them is made again.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/config/config_tables.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* "chat.slots=128" in its parts; a name may have dots, a key has none. */
struct supposition {
    char *queue;
    char *key;
    const char *value;
    double factor; /* of "x1.5"; 0: the value is one */
};

static void supposition_clear(struct supposition *given)
{
    mem_free(given->queue);
    mem_free(given->key);
}

static int supposition_read(const char *text, struct supposition *ret, struct error *err)
{
    const char *equals = strchr(text, '=');
    const char *dot = equals;

    while (dot && dot > text && *dot != '.')
        dot--;
    if (!dot || dot == text || dot + 1 == equals || !equals[1])
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is not a queue, a key of its engine and a value: write it like "
                         "chat.slots=128 or chat.tokens_out=x1.5",
                         text);
    *ret = (struct supposition){ text_format("%.*s", (int)(dot - text), text),
                                 text_format("%.*s", (int)(equals - dot - 1), dot + 1), equals + 1,
                                 0 };
    if (equals[1] == 'x' &&
        (!text_to_double(equals + 2, &ret->factor) || !(ret->factor > 0 && ret->factor <= 1000)))
        return error_set(err, ERROR_INVALID, "\"%s\": expected x and a number over 0, as x1.5",
                         text);
    return 0;
}

static const struct setting *find_setting(enum config_table_id id, const char *key)
{
    return settings_find(config_tables[id].settings, config_tables[id].count, key);
}

/* The value as if it stood in the file. */
static int set_value(const struct supposition *given, const struct setting *setting,
                     struct config_engine *engine, struct error *err)
{
    owned(chars) char *line = text_format("%s: %s", given->key, given->value);
    owned(yaml_document) struct yaml_document *yaml = yaml_parse(line, strlen(line), given->queue,
                                                                 err);

    return yaml ? settings_change(yaml_root(yaml), setting, 1, engine, err) : -1;
}

static int out_of_bounds(const struct supposition *given, const char *key, double value,
                         struct error *err)
{
    return error_set(err, ERROR_INVALID, "queue %s: %s of %g is not possible", given->queue, key,
                     value);
}

static double number_of(const struct setting *setting, const struct config_engine *engine)
{
    const void *field = (const char *)engine + setting->offset;

    require(setting->type == SETTING_INT || setting->type == SETTING_DOUBLE ||
            setting->type == SETTING_SECONDS);
    return setting->type == SETTING_INT ? (double)*(const int64_t *)field : *(const double *)field;
}

/* Within the bounds of its setting. */
static int scale_value(const struct supposition *given, const struct setting *setting,
                       struct config_engine *engine, struct error *err)
{
    void *field = (char *)engine + setting->offset;
    double micro = setting->type == SETTING_SECONDS ? SECOND_MS * 1000.0 : 1;
    double before = number_of(setting, engine);
    double value = given->factor * before;
    bool is_whole = setting->type == SETTING_INT;

    if (value * micro < (double)setting->min || value * micro > (double)setting->max)
        return out_of_bounds(given, setting->key, value, err);
    if (is_whole && given->factor != 1 && floor(value + 0.5) == before)
        return error_set(err, ERROR_INVALID,
                         "queue %s: %s is %.0f, a whole number, and %s leaves it so: give a "
                         "value, as %s=%.0f",
                         given->queue, setting->key, before, given->value, setting->key,
                         given->factor > 1 ? before + 1 : before - 1);
    if (is_whole)
        *(int64_t *)field = (int64_t)floor(value + 0.5);
    else
        *(double *)field = value;
    return 0;
}

static int scale_key(const struct supposition *given, const struct setting *setting,
                     struct config_engine *engine, struct error *err)
{
    if (setting->type == SETTING_TEXT)
        return error_set(err, ERROR_INVALID, "queue %s: %s is no number", given->queue, given->key);
    if (number_of(setting, engine) == 0)
        return error_set(err, ERROR_INVALID,
                         "queue %s: %s is 0, and no factor changes that: give a value, as %s=100",
                         given->queue, given->key, given->key);
    return scale_value(given, setting, engine, err);
}

/* Measured lengths have no mean and no law that could be set, but can all be scaled. */
static int change_lengths(const struct supposition *given, struct config_engine *engine,
                          struct error *err)
{
    const char *measured = engine->pairs ? "the demand's" : "tokens_file";
    bool is_in = text_equal(given->key, "tokens_in");

    if (!is_in && !text_equal(given->key, "tokens_out"))
        return error_set(err, ERROR_INVALID,
                         "queue %s: its lengths are measured (%s), and %s says nothing of them",
                         given->queue, measured, given->key);
    if (given->factor == 0)
        return error_set(err, ERROR_INVALID,
                         "queue %s: its lengths are measured (%s): give a factor, as %s=x1.5",
                         given->queue, measured, given->key);
    *(is_in ? &engine->scale_in : &engine->scale_out) *= given->factor;
    return 0;
}

static int change_key(const struct supposition *given, struct config_queue *queue,
                      struct error *err)
{
    const struct setting *setting = find_setting(CONFIG_ENGINES, given->key);
    struct config_engine *engine = &queue->engine;

    if (!setting || text_equal(given->key, "tokens_file"))
        return error_set(err, ERROR_INVALID,
                         "queue %s: \"%s\" is not a number of an engine: expected times (all of "
                         "them), slots, iteration, iteration_per_request, prefill_per_token, "
                         "tokens_in, tokens_out, tokens_cv, kv_tokens or router",
                         given->queue, given->key);
    if (!config_engine_is_whole(queue))
        return error_set(err, ERROR_INVALID,
                         queue->engine_node
                             ? "queue %s: of its engine only the time in a full batch of its slots "
                               "is known, which says nothing of another %s: give iteration and "
                               "tokens_out"
                             : "queue %s has no engine whose %s could change",
                         given->queue, given->key);
    if ((engine->tokens_file || engine->pairs) && config_engine_is_length(given->key))
        return change_lengths(given, engine, err);
    engine->has_cv = engine->has_cv || text_equal(given->key, "tokens_cv");
    return given->factor > 0 ? scale_key(given, setting, engine, err)
                             : set_value(given, setting, engine, err);
}

/* The times of a whole engine; what is 0 stays so. */
static int scale_law(const struct supposition *given, struct config_engine *engine,
                     struct error *err)
{
    static const char *const keys[] = { "iteration", "iteration_per_request", "prefill_per_token" };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (scale_value(given, find_setting(CONFIG_ENGINES, keys[i]), engine, err) < 0)
            return -1;
    return 0;
}

static int scale_service(const struct supposition *given, struct config_queue *queue,
                         struct error *err)
{
    const struct setting *setting = find_setting(CONFIG_QUEUES, "service");
    double mean_s = queue->service->mean_s * given->factor;

    if (mean_s * SECOND_MS < 1 || mean_s * SECOND_MS > (double)setting->max)
        return out_of_bounds(given, setting->key, mean_s, err);
    service_shape_scale(queue->service, given->factor);
    queue->service_ms = (int64_t)ceil(mean_s * SECOND_MS);
    return 0;
}

/* Another GPU: a request takes so much longer in all its parts. */
static int change_times(const struct supposition *given, struct config_queue *queue,
                        struct error *err)
{
    if (given->factor == 0)
        return error_set(err, ERROR_INVALID,
                         "queue %s: times are multiplied: write it like %s=x0.6", given->queue,
                         given->key);
    return config_engine_is_whole(queue) ? scale_law(given, &queue->engine, err)
                                         : scale_service(given, queue, err);
}

static int suppose(struct config *config, const char *text, struct error *err)
{
    struct supposition given = { 0 };
    int result = supposition_read(text, &given, err);
    struct config_queue *queue = NULL;

    for (size_t i = 0; i < config->queue_count; i++)
        if (text_equal(config->queues[i].name, given.queue))
            queue = &config->queues[i];
    if (result == 0 && !queue)
        result = error_set(err, ERROR_INVALID, "there is no queue \"%s\"", given.queue);
    if (result == 0)
        result = text_equal(given.key, "times") ? change_times(&given, queue, err)
                                                : change_key(&given, queue, err);
    if (result == 0)
        queue->is_supposed = true;
    supposition_clear(&given);
    return result;
}

/* Makes again what follows from the keys of its engine. */
static int make_again(struct config *config, size_t at, struct error *err)
{
    struct config_queue *queue = &config->queues[at];

    if (!config_engine_is_whole(queue))
        return 0;
    if (config_engine_lacks_lengths(queue))
        return error_set(err, ERROR_INVALID,
                         "queue %s: its engine waits for lengths, and the demand has no rows for "
                         "it",
                         queue->name);
    if (config_check_engine(config, at, queue, err) < 0)
        return -1;

    struct service_shape *shape = config_engine_shape(queue, err);

    if (!shape)
        return error_context(err, "queue %s", queue->name);
    config_set_service(queue, shape);
    return config_check_floor(config, at, err);
}

/* Marks the queue: its numbers are neither those of the file nor measured any more. */
static int finish(struct config *config, size_t at, struct error *err)
{
    struct config_queue *queue = &config->queues[at];
    /* lengths that are supposed too end its waiting for those of a demand */
    owned(chars) char *origin = text_format("an assumption (--engine) over %s",
                                            queue->service ? queue->service->origin
                                                           : "configuration");

    if (make_again(config, at, err) < 0)
        return -1;
    mem_free(queue->service->origin);
    queue->service->origin = steal(&origin);
    return 0;
}

int config_suppose(struct config *config, const char *const *texts, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (suppose(config, texts[i], err) < 0)
            return -1;
    for (size_t i = 0; i < config->queue_count; i++)
        if (config->queues[i].is_supposed && finish(config, i, err) < 0)
            return -1;
    return 0;
}
