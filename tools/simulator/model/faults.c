/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults: by chance, from the scenario's probabilities, or scripted for the next that matches.
 */
#include "tools/simulator/model/model.h"

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
