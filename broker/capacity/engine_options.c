/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See engine_options.h.
 */
#include "broker/capacity/engine_options.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

/* The options that only an engine with iterations has. */
static const char *const token_options[] = { "iteration",         "iteration-per-request",
                                             "prefill-per-token", "tokens-in",
                                             "tokens-out",        "kv-tokens" };

static int read_seconds(const struct command_call *call, const char *option, double max_s,
                        double *ret_s, struct error *err)
{
    char most[DURATION_TEXT_SIZE];
    double seconds;

    if (!call_text(call, option))
        return 0;
    if (seconds_parse(call_text(call, option), &seconds, err) < 0)
        return error_context(err, "--%s", option);
    if (seconds > max_s)
        return error_set(err, ERROR_INVALID, "--%s: expected 0s to %s", option,
                         seconds_format(max_s, most));
    *ret_s = seconds;
    return 0;
}

static int read_law(const struct command_call *call, struct engine *engine, struct error *err)
{
    struct engine_law *law = &engine->law;
    const char *router = call_text_or(call, "router", engine_router_name(law->router));
    int64_t slots = 0;

    if (call_int(call, "slots", (struct int_range){ 1, ENGINE_SLOTS_MAX }, &slots, err) < 0 ||
        read_seconds(call, "iteration", 10, &law->iteration_s, err) < 0 ||
        read_seconds(call, "iteration-per-request", 1, &law->per_request_s, err) < 0 ||
        read_seconds(call, "prefill-per-token", 1, &law->prefill_s, err) < 0 ||
        call_double(call, "tokens-in", (struct double_range){ 0, 1e6 }, &engine->mean_in, err) <
            0 ||
        call_double(call, "tokens-out", (struct double_range){ 1, 1e6 }, &engine->mean_out, err) <
            0 ||
        call_double(call, "kv-tokens", (struct double_range){ 1, 1e9 }, &law->kv_tokens, err) < 0)
        return -1;
    law->slots = (int)slots;
    law->router = engine_router_parse(router);
    if (law->router == ENGINE_ROUTERS)
        return error_set(err, ERROR_INVALID,
                         "--router: expected least-outstanding, random, round-robin or central, "
                         "found \"%s\"",
                         router);
    return 0;
}

/* Checks which of the options go together. */
static int check_law(const struct command_call *call, const struct engine *engine, double service_s,
                     bool may_lack_lengths, struct error *err)
{
    const char *given = NULL;
    bool lacks = may_lack_lengths && !call_text(call, "tokens-in") &&
                 !call_text(call, "tokens-out");

    for (size_t i = 0; i < COUNT_OF(token_options) && !given; i++)
        given = call_text(call, token_options[i]) ? token_options[i] : NULL;
    if (engine->law.slots == 0)
        return error_set(err, ERROR_INVALID, "--%s needs --slots", given ? given : "router");
    if (!given)
        return service_s > 0
                   ? 0
                   : error_set(err, ERROR_INVALID,
                               "--slots needs --iteration and --tokens-out, or --service, "
                               "the time of a request in a full batch");
    if (service_s > 0)
        return error_set(err, ERROR_INVALID, "--%s and --service: give one of them", given);
    if (engine->mean_out < 1 && !lacks)
        return error_set(err, ERROR_INVALID, "--%s needs --tokens-out", given);
    if (!(engine->law.iteration_s > 0) && !(engine->law.per_request_s > 0))
        return error_set(err, ERROR_INVALID,
                         "--iteration or --iteration-per-request must be over 0s");
    if (!lacks && !(engine->mean_in > 0) &&
        (engine->law.prefill_s > 0 || engine->law.kv_tokens > 0))
        return error_set(err, ERROR_INVALID, "--%s needs --tokens-in",
                         engine->law.prefill_s > 0 ? "prefill-per-token" : "kv-tokens");
    return 0;
}

/* Completes the engine; with service_s it is the short form. */
static void finish(struct engine *engine, double service_s)
{
    engine->slots_asked = engine->law.slots;
    engine->is_short = service_s > 0;
    engine->cv_out = 1;
    if (engine->is_short) {
        engine->law.iteration_s = service_s;
        engine->mean_out = 1;
    }
    if (engine->mean_out < 1) /* no lengths, no limit by the cache */
        return;
    engine->law.slots = engine_slots(&engine->law, engine->mean_in, engine->mean_out);
    engine->is_kv_limited = engine->law.slots < engine->slots_asked;
}

struct engine *engine_options_read(const struct command_call *call, double service_s,
                                   bool may_lack_lengths, struct error *err)
{
    struct engine *engine;
    bool is_asked = call_text(call, "slots") || call_text(call, "router");

    for (size_t i = 0; i < COUNT_OF(token_options); i++)
        is_asked = is_asked || call_text(call, token_options[i]);
    if (!is_asked)
        return NULL;
    engine = mem_new(sizeof *engine);
    if (read_law(call, engine, err) < 0 ||
        check_law(call, engine, service_s, may_lack_lengths, err) < 0) {
        mem_free(engine);
        return NULL;
    }
    finish(engine, service_s);
    return engine;
}
