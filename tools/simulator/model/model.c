/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all parts of the simulated world share: its time, its chance, its trace.
 */
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <stdarg.h>

int64_t sim_now(const struct simulator *sim)
{
    return loop_now(sim->loop);
}

int64_t sim_since_start(const struct simulator *sim)
{
    return loop_now(sim->loop) - sim->start_ms;
}

void sim_trace(struct simulator *sim, const char *format, ...)
{
    char line[256];
    int64_t at_ms = sim_since_start(sim);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (const char *at = line; *at; at++)
        sim->trace = (sim->trace ^ (unsigned char)*at) * UINT64_C(1099511628211);
    for (int i = 0; i < 8; i++)
        sim->trace = (sim->trace ^ (uint64_t)((at_ms >> (8 * i)) & 255)) * UINT64_C(1099511628211);
}

int64_t sim_draw(struct random *random, const struct range *range)
{
    if (range->high_ms <= range->low_ms)
        return range->low_ms;
    return range->low_ms +
           (int64_t)random_below(random, (uint64_t)(range->high_ms - range->low_ms + 1));
}

void sim_uuid(struct simulator *sim, char out[SIM_UID_SIZE])
{
    uint64_t high = random_next(&sim->names), low = random_next(&sim->names);

    snprintf(out, SIM_UID_SIZE,
             "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
             (high >> 16) & 0xffff, high & 0xfff, ((low >> 48) & 0x3fff) | 0x8000,
             low & UINT64_C(0xffffffffffff));
}

/* Whole seconds, as the API server writes times. */
const char *sim_time(const struct simulator *sim, int64_t loop_ms, char out[WALL_TEXT_SIZE])
{
    int64_t ms = loop_ms + sim->wall_offset_ms;

    return wall_format((struct wall_time){ ms - ms % SECOND_MS }, out);
}

bool sim_witness(struct simulator *sim, const char *verb, const char *object)
{
    return !sim->witness || sim->witness(sim->witness_context, verb, object);
}

void sim_account(struct simulator *sim)
{
    double elapsed_s = (double)(sim_now(sim) - sim->accounted_ms) / SECOND_MS;

    sim->offered_gpu_s += elapsed_s * sim->research_gpus;
    sim->used_gpu_s += elapsed_s * sim->research_gpus_used;
    sim->accounted_ms = sim_now(sim);
}

struct kube_cluster *sim_cluster(struct simulator *sim, const char *name)
{
    for (size_t i = 0; i < sim->cluster_count; i++)
        if (text_equal(sim->clusters[i].plan->name, name))
            return &sim->clusters[i];
    return NULL;
}
