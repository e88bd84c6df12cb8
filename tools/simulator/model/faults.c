/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults: by chance, from the scenario's probabilities, or scripted for the next that matches.
 */
#include "tools/simulator/model/faults.h"

/* {"NAME": chance, ...}; a fault that is not named never happens. */
static int read_chances(json_t *body, double ret_chances[FAULT_COUNT], struct error *err)
{
    const char *name;
    json_t *chance;

    json_object_foreach(body, name, chance) {
        enum fault fault = sim_fault_of_name(name);

        if (fault == FAULT_COUNT)
            return error_set(err, ERROR_INVALID, "there is no such fault: %s", name);
        if (!json_is_number(chance) || !(json_number_value(chance) >= 0) ||
            json_number_value(chance) > 1)
            return error_set(err, ERROR_INVALID, "%s: the chance is no number from 0 to 1", name);
        ret_chances[fault] = json_number_value(chance);
    }
    return 0;
}

void sim_fault_answer(struct sim_call *call)
{
    owned(json) json_t *body = json_loadb(call->request->body, call->request->body_size, 0, NULL);
    double chances[FAULT_COUNT] = { 0 };
    struct error err = { 0 };

    if (call->request->method != HTTP_PUT || !json_is_object(body)) {
        sim_answer_json(call->answer, 400,
                        json_make("{ss}", "error", "PUT an object: {\"stuck_pod\": 1}"));
        return;
    }
    if (read_chances(body, chances, &err) < 0) {
        sim_answer_json(call->answer, 400, json_make("{ss}", "error", err.text));
        return;
    }
    memcpy(call->sim->scenario->faults, chances, sizeof chances);
    sim_answer_json(call->answer, 200, steal(&body));
}

bool sim_fault_scripted(struct simulator *sim, enum fault fault, const char *verb)
{
    for (size_t i = 0; i < sim->scripted.count; i++) {
        const struct scripted_fault *scripted = &sim->scripted.items[i];

        if (scripted->fault != fault || (scripted->verb[0] && !text_equal(scripted->verb, verb)))
            continue;
        array_remove(&sim->scripted, i);
        return true;
    }
    return false;
}

bool sim_fault_now(struct simulator *sim, enum fault fault, const char *verb)
{
    double chance = sim->scenario->faults[fault];

    if (sim_fault_scripted(sim, fault, verb))
        return true;
    return chance > 0 && random_unit(&sim->faults) < chance;
}

void simulator_fault_next(struct simulator *simulator, const char *fault, const char *verb)
{
    struct scripted_fault *scripted = array_add(&simulator->scripted);

    scripted->fault = sim_fault_of_name(fault);
    require(scripted->fault < FAULT_COUNT);
    text_copy(scripted->verb, sizeof scripted->verb, verb ? verb : "");
}
