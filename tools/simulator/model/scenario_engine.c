/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine of a queue of sluice.yaml.  The broker checks the block; here it is only read, and
 * refused where lengths are not laws, of which alone the world knows.
 */
#include "base/text.h"
#include "tools/simulator/model/scenario.h"

#include <math.h>

/* Iterations per request, for an engine of which only the time in a full batch is known. */
enum { SHORT_TOKENS = 256 };

static const struct {
    const char *name;
    enum engine_choice choice;
} choices[] = {
    { "least-outstanding", CHOICE_LEAST },
    { "random", CHOICE_RANDOM },
    { "round-robin", CHOICE_IN_TURN },
    { "central", CHOICE_CENTRAL },
};

static int read_choice(const struct yaml_node *node, enum engine_choice *ret, struct error *err)
{
    const char *name;

    if (!node)
        return 0;
    if (yaml_text(node, &name, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (text_equal(choices[i].name, name)) {
            *ret = choices[i].choice;
            return 0;
        }
    return yaml_error(err, node, "there is no such router");
}

/* "constant", "exponential" or "lognormal", in place of the law that the variation implies. */
static int read_law(const struct yaml_node *node, struct engine_plan *plan, struct error *err)
{
    const char *law;

    if (!node)
        return 0;
    if (yaml_text(node, &law, err) < 0)
        return -1;
    if (text_equal(law, "constant"))
        plan->tokens_cv = 0;
    plan->is_lognormal = text_equal(law, "lognormal");
    return 0;
}

static int read_numbers(const struct yaml_node *block, struct engine_plan *plan, double *tokens_in,
                        double *kv_tokens, struct error *err)
{
    const struct {
        const char *key;
        double *ret;
        bool is_time;
    } rows[] = {
        { "iteration", &plan->iteration_s, true },
        { "iteration_per_request", &plan->per_request_s, true },
        { "prefill_per_token", &plan->prefill_s, true },
        { "tokens_in", tokens_in, false },
        { "tokens_out", &plan->tokens_out, false },
        { "tokens_cv", &plan->tokens_cv, false },
        { "kv_tokens", kv_tokens, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct yaml_node *node = yaml_get(block, rows[i].key);

        if (node && (rows[i].is_time ? yaml_seconds(node, 0, 10, rows[i].ret, err)
                                     : yaml_double(node, 0, 1e9, rows[i].ret, err)) < 0)
            return -1;
    }
    return 0;
}

/* The cache holds a prompt and, in the mean, half of its answer. */
static int slots_of(int64_t slots, const struct engine_plan *plan, double kv_tokens)
{
    double fit = kv_tokens > 0 ? floor(kv_tokens / (plan->tokens_in + plan->tokens_out / 2))
                               : (double)slots;

    return (int)fmax(1, fmin((double)slots, fit));
}

int scenario_read_engine(struct scenario_queue *queue, const struct yaml_node *block,
                         struct error *err)
{
    struct engine_plan *plan = &queue->engine;
    const struct yaml_node *slots_node = yaml_get(block, "slots");
    double tokens_in = 0;
    double kv_tokens = 0;
    int64_t slots = 0;

    plan->tokens_cv = 1;
    if (!slots_node)
        return yaml_error(err, block, "slots is missing");
    if (yaml_int(slots_node, 1, 4096, &slots, err) < 0 ||
        read_choice(yaml_get(block, "router"), &plan->choice, err) < 0 ||
        read_numbers(block, plan, &tokens_in, &kv_tokens, err) < 0 ||
        read_law(yaml_get(block, "tokens_law"), plan, err) < 0)
        return -1;
    if (!(plan->iteration_s > 0) && !(plan->per_request_s > 0)) {
        plan->iteration_s = (double)queue->service_ms / 1000 / SHORT_TOKENS;
        plan->tokens_out = SHORT_TOKENS;
        plan->tokens_cv = queue->service_cv;
    }
    if (!(plan->tokens_out >= 1))
        return yaml_error(err, block,
                          "the simulator needs tokens_out: it reads no lengths from files");
    plan->tokens_in = (int)fmin(round(tokens_in), 10000000);
    plan->slots = slots_of(slots, plan, kv_tokens);
    return 0;
}
