/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine of a queue, and the targets that only an engine can be held to.  With iterations it is
 * whole: times follow from tokens.  With slots alone the queue's service time is that of a request
 * in a full batch, which is on the safe side.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/config/config_tables.h"
#include "broker/sources/source.h"
#include "windows/servers/engine_lengths.h"

bool config_engine_is_whole(const struct config_queue *queue)
{
    return queue->engine.iteration_s > 0 || queue->engine.per_request_s > 0;
}

bool config_engine_lacks_lengths(const struct config_queue *queue)
{
    const struct config_engine *engine = &queue->engine;

    return config_engine_is_whole(queue) && !engine->tokens_file && !engine->pairs &&
           engine->tokens_out < 1;
}

/* The place of a key of the queue's engine, or of the block itself. */
static const struct yaml_node *engine_place(const struct config_queue *queue, const char *key)
{
    require(queue->engine_node);

    const struct yaml_node *node = yaml_get(queue->engine_node, key);

    return node ? node : queue->engine_node;
}

/* Without iterations only these keys have an effect; metrics may bring iterations. */
static int check_short(const struct config_queue *queue, struct error *err)
{
    const struct yaml_node *block = queue->engine_node;

    for (size_t i = 0; i < block->count; i++)
        if (!text_equal(block->children[i].key, "slots") &&
            !text_equal(block->children[i].key, "router") &&
            !text_equal(block->children[i].key, "metrics"))
            return yaml_error(err, &block->children[i],
                              "needs iteration or iteration_per_request, over 0s, beside it");
    return 0;
}

static const char *const length_keys[] = { "tokens_in", "tokens_out", "tokens_cv", "tokens_law" };

bool config_engine_is_length(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(length_keys); i++)
        if (text_equal(length_keys[i], key))
            return true;
    return false;
}

static bool has_length_key(const struct config_queue *queue)
{
    for (size_t i = 0; i < COUNT_OF(length_keys); i++)
        if (yaml_get(queue->engine_node, length_keys[i]))
            return true;
    return false;
}

/* Lengths come from one place; without a key from the demand. */
static int check_tokens(const struct config_queue *queue, struct error *err)
{
    const struct config_engine *engine = &queue->engine;
    enum service_law law = engine->tokens_law ? service_law_parse(engine->tokens_law)
                                              : SERVICE_BY_CV;

    for (size_t i = 0; i < COUNT_OF(length_keys) && engine->tokens_file; i++)
        if (yaml_get(queue->engine_node, length_keys[i]))
            return yaml_error(err, engine_place(queue, length_keys[i]),
                              "and tokens_file say the same");
    if (engine->pairs || (config_engine_lacks_lengths(queue) && !has_length_key(queue)))
        return 0;
    if (config_engine_lacks_lengths(queue))
        return yaml_error(err, engine_place(queue, "tokens_out"),
                          "needs tokens_out, the mean length of an answer (1 at least), or "
                          "tokens_file");
    if (law == SERVICE_LAWS)
        return yaml_error(err, engine_place(queue, "tokens_law"),
                          "expected constant, exponential or lognormal, found \"%s\"",
                          engine->tokens_law);
    if ((law == SERVICE_CONSTANT && engine->has_cv && engine->tokens_cv != 0) ||
        (law == SERVICE_EXPONENTIAL && engine->tokens_cv != 1))
        return yaml_error(err, engine_place(queue, "tokens_cv"), "%s%g is not that of %s lengths",
                          yaml_get(queue->engine_node, "tokens_cv") ? "" : "tokens_cv of ",
                          engine->tokens_cv, engine->tokens_law);
    if (engine->tokens_in == 0 && !engine->tokens_file &&
        (engine->prefill_s > 0 || engine->kv_tokens > 0))
        return yaml_error(
            err, engine_place(queue, engine->prefill_s > 0 ? "prefill_per_token" : "kv_tokens"),
            "needs tokens_in, the mean length of a prompt");
    return 0;
}

/* Targets of tokens, and their percentiles. */
static int check_token_targets(const struct config *config, size_t at, struct error *err)
{
    const struct config_queue *queue = &config->queues[at];
    const struct {
        const char *key;
        const char *percentile_key;
        double target_s;
        double percentile;
    } rows[] = {
        { "ttft_target", "ttft_percentile", queue->ttft_target_s, queue->ttft_percentile },
        { "itl_target", "itl_percentile", queue->itl_target_s, queue->itl_percentile },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].target_s > 0 && !config_engine_is_whole(queue))
            return yaml_error(err, config_place(config, "queues", at, rows[i].key),
                              "needs an engine with iterations");
        if (rows[i].percentile > 0 && !(rows[i].target_s > 0))
            return yaml_error(err, config_place(config, "queues", at, rows[i].percentile_key),
                              "needs %s", rows[i].key);
        if (rows[i].percentile >= 100)
            return yaml_error(err, config_place(config, "queues", at, rows[i].percentile_key),
                              "must be less than 100: no capacity makes every request wait less");
    }
    return 0;
}

int config_check_engine(const struct config *config, size_t at, struct config_queue *queue,
                        struct error *err)
{
    if (check_token_targets(config, at, err) < 0)
        return -1;
    if (!queue->engine_node)
        return 0;
    if (engine_router_parse(queue->engine.router_name) == ENGINE_ROUTERS)
        return yaml_error(err, engine_place(queue, "router"),
                          "expected least-outstanding, random, round-robin or central, found "
                          "\"%s\"",
                          queue->engine.router_name);
    if (queue->engine.metrics &&
        (!queue->source || !source_has_histograms(queue->source->own.kind)))
        return yaml_error(err, engine_place(queue, "metrics"),
                          "needs a source of the kind prometheus");
    return config_engine_is_whole(queue) ? check_tokens(queue, err) : check_short(queue, err);
}

/* "FILE, without 2 rows that have no answer". */
static char *origin_of(const char *source, const struct token_pairs *pairs)
{
    bool is_one = pairs->unanswered == 1;

    if (pairs->unanswered == 0)
        return mem_copy_chars(source);
    return text_format("%s, without %zu row%s that %s no answer", source, pairs->unanswered,
                       is_one ? "" : "s", is_one ? "has" : "have");
}

/* The lengths as they were measured, or scaled as config_suppose() says. */
static struct service_shape *shape_of_pairs(const struct config_engine *block,
                                            const struct engine_law *law, struct token_pairs *pairs,
                                            const char *source, struct error *err)
{
    owned(chars) char *origin = origin_of(source, pairs);
    struct service_shape *shape;

    require(pairs->list.count > 0 && block->scale_in > 0 && block->scale_out > 0);
    if (token_pairs_scale(pairs, block->scale_in, block->scale_out, err) < 0)
        return NULL;
    shape = service_shape_of_engine(engine_new_by_pairs(law, pairs), origin, err);
    if (shape)
        shape->requests = pairs->requests;
    return shape;
}

static struct service_shape *shape_of_demand(const struct config_engine *block,
                                             const struct engine_law *law, struct error *err)
{
    owned(token_pairs) struct token_pairs pairs = token_pairs_copy(block->pairs);

    return shape_of_pairs(block, law, &pairs, "the demand's rows", err);
}

struct service_shape *config_engine_shape(const struct config_queue *queue, struct error *err)
{
    const struct config_engine *block = &queue->engine;
    const struct engine_law law = {
        .slots = (int)block->slots,
        .iteration_s = block->iteration_s,
        .per_request_s = block->per_request_s,
        .prefill_s = block->prefill_s,
        .kv_tokens = (double)block->kv_tokens,
        .router = engine_router_parse(block->router_name),
    };
    const struct engine_tokens tokens = {
        .mean_in = block->tokens_in,
        .mean_out = block->tokens_out,
        .cv = text_equal(block->tokens_law, "constant") ? 0 : block->tokens_cv,
        .law = block->tokens_law ? service_law_parse(block->tokens_law) : SERVICE_BY_CV,
    };
    owned(token_pairs) struct token_pairs pairs = { 0 };

    if (block->pairs)
        return shape_of_demand(block, &law, err);
    if (!block->tokens_file)
        return service_shape_of_engine(engine_new_by_law(&law, &tokens), "configuration", err);
    require(!block->pairs);
    if (token_pairs_read(&pairs, block->tokens_file, queue->name, err) < 0)
        return NULL;
    return shape_of_pairs(block, &law, &pairs, block->tokens_file, err);
}

/* No other place can give the lengths. */
static int no_lengths(const struct config_queue *queue, struct error *err)
{
    return yaml_error(
        err, queue->engine_node,
        "needs tokens_out, the mean length of an answer (1 at least), or tokens_file, "
        "or a demand with columns input_tokens and output_tokens, which this one has "
        "not");
}

static int take_lengths(struct config *config, size_t at, const struct demand_series *series,
                        struct error *err)
{
    struct config_queue *queue = &config->queues[at];
    struct service_shape *shape;

    require(at < config->queue_count && !queue->engine.pairs); /* once */
    if (!series->tokens)
        return no_lengths(queue, err);
    if (token_pairs_check(series->tokens, "the demand", queue->name, err) < 0)
        return error_context(err, "queue %s has lengths from nowhere else", queue->name);
    queue->engine.pairs = mem_new(sizeof *queue->engine.pairs);
    *queue->engine.pairs = token_pairs_copy(series->tokens);
    shape = config_engine_shape(queue, err);
    if (!shape)
        return error_context(err, "queue %s", queue->name);
    config_set_service(queue, shape);
    return config_check_floor(config, at, err);
}

int config_take_lengths(struct config *config, const struct demand *demand, struct error *err)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct demand_series *series = demand_find(demand, config->queues[i].name);

        if (series && config_engine_lacks_lengths(&config->queues[i]) &&
            take_lengths(config, i, series, err) < 0)
            return -1;
    }
    return 0;
}

int config_set_engine(struct config *config, size_t at, const struct engine_measure *measure,
                      const char *origin, struct error *err)
{
    struct config_queue *queue = &config->queues[at];
    struct config_engine *engine = &queue->engine;
    struct service_shape *shape;

    require(at < config->queue_count);
    engine->iteration_s = measure->iteration_s;
    engine->per_request_s = measure->per_request_s;
    engine->prefill_s = measure->prefill_s;
    if (measure->tokens_in > 0)
        engine->tokens_in = measure->tokens_in;
    engine->tokens_out = measure->tokens_out;
    if (!engine->tokens_law || text_equal(engine->tokens_law, "lognormal"))
        engine->tokens_cv = measure->tokens_cv;
    shape = config_engine_shape(queue, err);
    if (!shape)
        return error_context(err, "queue %s", queue->name);
    mem_free(shape->origin);
    shape->origin = mem_copy_chars(origin);
    config_set_service(queue, shape);
    return config_check_floor(config, at, err);
}

double config_engine_alone_s(const struct config_queue *queue)
{
    require(config_engine_is_whole(queue));
    return queue->engine.iteration_s + queue->engine.per_request_s;
}

/* Whether the target is below the least by more than rounding errors. */
static bool is_below(double target_s, double least_s)
{
    return target_s < least_s * (1 - 1e-9);
}

int config_check_floor(const struct config *config, size_t at, struct error *err)
{
    const struct config_queue *queue = &config->queues[at];
    char least[DURATION_TEXT_SIZE];

    require(at < config->queue_count);
    if (!config_engine_is_whole(queue))
        return 0;

    /* without lengths the size of a batch and the time of prompts are unknown */
    bool is_waiting = config_engine_lacks_lengths(queue);
    double alone_s = config_engine_alone_s(queue);
    double floor_s = is_waiting ? alone_s : engine_floor_s(queue->service->engine);
    bool is_wait = is_below((double)queue->wait_target_ms / SECOND_MS, floor_s);

    if (is_wait || (queue->ttft_target_s > 0 && is_below(queue->ttft_target_s, floor_s)))
        return yaml_error(
            err, config_place(config, "queues", at, is_wait ? "wait_target" : "ttft_target"),
            "must be at least %s, which one iteration of a %s: more replicas do not change that",
            seconds_format(floor_s, least),
            is_waiting ? "request that is alone takes" : "full batch takes");
    if (queue->itl_target_s > 0 && is_below(queue->itl_target_s, alone_s))
        return yaml_error(err, config_place(config, "queues", at, "itl_target"),
                          "must be at least %s, which one iteration takes for a request that is "
                          "alone: more replicas do not change that",
                          seconds_format(alone_s, least));
    return 0;
}

struct replay_target config_target(const struct config_queue *queue, double percentile)
{
    double own = percentile > 0 ? percentile : queue->percentile;

    require(own > 0 && own <= 100);
    return (struct replay_target){
        .wait_ms = queue->wait_target_ms,
        .percentile = own,
        .ttft = { queue->ttft_target_s, queue->ttft_percentile > 0 ? queue->ttft_percentile : own },
        .itl = { queue->itl_target_s, queue->itl_percentile > 0 ? queue->itl_percentile : own },
    };
}
