/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See engine_facts.h.
 */
#include "broker/sizing/engine_facts.h"

#include "base/text.h"
#include "base/timestamp.h"

#include <stdio.h>

/* Of the short form only slots and the rate are known. */
static json_t *known(const struct engine *engine, double value)
{
    return engine_has_tokens(engine) ? json_real(value) : json_null();
}

json_t *engine_facts_json(const struct engine *engine)
{
    if (!engine)
        return json_null();

    const struct engine_law *law = &engine->law;

    require(law->slots > 0 && (engine->is_short || engine->mean_out >= 1));
    return json_make(
        "{s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "slots",
        law->slots, "slots_asked", engine->slots_asked, "limit",
        engine->is_kv_limited ? "kv" : "slots", "router", engine_router_name(law->router),
        "iteration_s", known(engine, law->iteration_s), "iteration_per_request_s",
        known(engine, law->per_request_s), "prefill_per_token_s", known(engine, law->prefill_s),
        "tokens_in", known(engine, engine->mean_in), "tokens_out", known(engine, engine->mean_out),
        "tokens_cv", known(engine, engine->cv_out), "kv_tokens",
        law->kv_tokens > 0 ? json_real(law->kv_tokens) : json_null(), "capacity_per_s",
        engine_rate(engine, law->slots), "floor_s", known(engine, engine_floor_s(engine)),
        "longest_s", known(engine, engine_longest_s(engine)));
}

static double number(const json_t *facts, const char *key)
{
    return json_number_value(json_object_get(facts, key));
}

char *engine_facts_text(const json_t *facts)
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    char iteration[DURATION_TEXT_SIZE];
    char more[DURATION_TEXT_SIZE];
    char prefill[DURATION_TEXT_SIZE];
    bool is_kv = text_equal(json_text_or(facts, "limit", ""), "kv");

    text_add(out, "%d slots", (int)json_int_or(facts, "slots", 0));
    if (is_kv)
        text_add(out, " of %d: the cache of %.0f tokens holds no more (KV-limited)",
                 (int)json_int_or(facts, "slots_asked", 0), number(facts, "kv_tokens"));
    else
        text_add(out, " (slot-limited)");
    if (json_is_null(json_object_get(facts, "tokens_out"))) {
        text_add(out, ", with the time in a full batch");
    } else {
        text_add(out, ", an iteration of %s + %s a request",
                 seconds_format(number(facts, "iteration_s"), iteration),
                 seconds_format(number(facts, "iteration_per_request_s"), more));
        if (number(facts, "prefill_per_token_s") > 0)
            text_add(out, " + %s a token of a prompt",
                     seconds_format(number(facts, "prefill_per_token_s"), prefill));
        text_add(out, "; %.0f tokens in, %.0f out (cv %.3g)", number(facts, "tokens_in"),
                 number(facts, "tokens_out"), number(facts, "tokens_cv"));
    }
    text_add(out, "; a replica ends %.4g/s at most; router %s", number(facts, "capacity_per_s"),
             json_text_or(facts, "router", ""));
    return text_take(steal(&out));
}

void engine_facts_print(const json_t *facts)
{
    owned(chars) char *line = engine_facts_text(facts);

    printf("%s", line);
}
