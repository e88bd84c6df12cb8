/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Seeded random numbers: xoshiro256++ (Blackman and Vigna, 2019), seeded by SplitMix64.  The same
 * seed gives the same sequence on every machine.  Nothing here touches the C library's rand().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);

/* Seeds from the kernel: for request ids and jitter of the real service. */
void random_seed_system(struct random *random);

static inline uint64_t random_next(struct random *random)
{
    uint64_t *state = random->state;
    uint64_t sum = state[0] + state[3];
    uint64_t result = (sum << 23 | sum >> 41) + state[0];
    uint64_t shifted = state[1] << 17;

    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = state[3] << 45 | state[3] >> 19;
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound); /* unbiased; bound > 0 */
double random_unit(struct random *random);                    /* in [0, 1) with 53 bits */
double random_between(struct random *random, double low, double high);
double random_exponential(struct random *random, double mean);
double random_normal(struct random *random); /* mean 0, deviation 1 */

/* A seed for (seed, text, a, b): independent streams for each queue, window and repetition, such
   that adding a queue never changes another queue's numbers.  FNV-1a mixed by SplitMix64. */
uint64_t random_mix(uint64_t seed, const char *text, uint64_t a, uint64_t b);

/* `size` - 1 lower-case hexadecimal digits and a terminator: ids. */
void random_hex(struct random *random, char *out, size_t size);
