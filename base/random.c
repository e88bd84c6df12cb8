/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * xoshiro256++ 1.0 and SplitMix64, from their published descriptions, and the distributions that
 * the planner and the simulator draw from.
 */
#include "base/random.h"

#include "base/memory.h"

#include <math.h>
#include <sys/random.h>

/* The finisher of SplitMix64: a bijection in which every input bit reaches every output bit. */
static uint64_t scramble(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static uint64_t split_mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return scramble(*state);
}

void random_seed(struct random *random, uint64_t seed)
{
    for (size_t i = 0; i < COUNT_OF(random->state); i++)
        random->state[i] = split_mix(&seed);
}

void random_seed_system(struct random *random)
{
    uint64_t seed;

    /* up to 256 bytes come whole and uninterrupted once the kernel's generator is up */
    require(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    random_seed(random, seed);
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    uint64_t surplus;
    uint64_t value;

    require(bound > 0);
    surplus = -bound % bound; /* 2^64 mod bound: so many values would be drawn once too often */
    do
        value = random_next(random);
    while (value < surplus);
    return value % bound;
}

double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

double random_between(struct random *random, double low, double high)
{
    return low + (high - low) * random_unit(random);
}

double random_exponential(struct random *random, double mean)
{
    return -mean * log1p(-random_unit(random)); /* 1 - unit is never 0 */
}

/* Box and Muller; the second number is thrown away so that the generator has no hidden state. */
double random_normal(struct random *random)
{
    double radius = sqrt(random_exponential(random, 2.0));

    return radius * cos(2.0 * M_PI * random_unit(random));
}

uint64_t random_mix(uint64_t seed, const char *text, uint64_t a, uint64_t b)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash = split_mix(&(uint64_t){ hash ^ scramble(seed) });
    hash = split_mix(&(uint64_t){ hash ^ a });
    return split_mix(&(uint64_t){ hash ^ b });
}

void random_hex(struct random *random, char *out, size_t size)
{
    uint64_t bits = 0;

    require(size > 0);
    for (size_t i = 0; i + 1 < size; i++, bits >>= 4) {
        if (i % 16 == 0)
            bits = random_next(random);
        out[i] = "0123456789abcdef"[bits & 15];
    }
    out[size - 1] = '\0';
}
