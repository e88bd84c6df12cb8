/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compares the choice of victims with other rules, on generated fleets.  Jobs come from standard
 * input as CSV with the columns duration_s and gpus.  A job is drawn with a probability in
 * proportion to its duration, as at a random moment.  Run by tools/bench victims.
 *
 *     bench-victims fleets COUNT <jobs.csv      lost work per rule, and the optimum on 16 nodes
 *     bench-victims time NODES <jobs.csv        milliseconds for one choice
 */
#include "base/text.h"
#include "broker/planning/victims.h"
#include "tools/job_fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SMALL_NODES = 16, LINE_SIZE = 512 };

struct trace {
    ARRAY(struct fleet_job) jobs;
    ARRAY(int64_t) until; /* sum of the durations up to each job */
};

static double cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec * 1e3 + (double)usage.ru_utime.tv_usec / 1e3;
}

/* Which column of the header has this name; -1: none. */
static int column_of(const char *header, const char *name)
{
    int at = 0;

    for (const char *column = header; *column != '\0'; at++) {
        size_t length = strcspn(column, ",\r\n");

        if (length == strlen(name) && strncmp(column, name, length) == 0)
            return at;
        column += length;
        if (*column != ',')
            break;
        column++;
    }
    return -1;
}

static int64_t number_in(const char *line, int column)
{
    for (; column > 0; column--) {
        line = strchr(line, ',');
        if (!line)
            return 0;
        line++;
    }
    return strtoll(line, NULL, 10);
}

static bool read_trace(struct trace *trace)
{
    char line[LINE_SIZE];
    int duration = -1;
    int gpus = -1;
    int64_t sum = 0;

    if (fgets(line, sizeof line, stdin)) {
        duration = column_of(line, "duration_s");
        gpus = column_of(line, "gpus");
    }
    if (duration < 0 || gpus < 0)
        return false;
    while (fgets(line, sizeof line, stdin)) {
        struct fleet_job job = { number_in(line, gpus), number_in(line, duration) };

        if (job.gpus < 1 || job.duration_s < 1)
            continue;
        *array_add(&trace->jobs) = job;
        *array_add(&trace->until) = sum += job.duration_s;
    }
    return trace->jobs.count > 0;
}

static struct fleet_job draw(void *context, struct random *random)
{
    const struct trace *trace = context;
    int64_t total = trace->until.items[trace->until.count - 1];
    int64_t at = (int64_t)random_below(random, (uint64_t)total);
    size_t low = 0;

    for (size_t high = trace->until.count - 1; low < high;) {
        size_t middle = (low + high) / 2;

        if (trace->until.items[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return trace->jobs.items[low];
}

static int64_t lost_by(const struct victim_case *scene, size_t *nodes, size_t count)
{
    struct victim_bill bill;
    int64_t lost;

    victims_bill(scene, nodes, count, &bill);
    lost = bill.lost_gpu_s;
    victim_bill_clear(&bill);
    mem_free(nodes);
    return lost;
}

/* Every subset of the size: an optimum that owes the choice nothing. */
static int64_t optimum(const struct victim_case *scene, size_t wanted)
{
    int *hits = mem_new_array(scene->gang_count, sizeof *hits);
    int64_t best = INT64_MAX;
    int64_t lost = 0;
    uint32_t set = 0;

    /* Gray code: one node comes or goes at a time. */
    for (uint32_t i = 1; i < (uint32_t)1 << scene->node_count; i++) {
        size_t node = (size_t)__builtin_ctz(i);
        bool comes = (set >> node & 1) == 0;

        set ^= (uint32_t)1 << node;
        for (size_t k = 0; k < scene->nodes[node].gang_count; k++) {
            size_t gang = scene->nodes[node].gangs[k];

            if (comes)
                lost += hits[gang]++ == 0 ? scene->gangs[gang].lost_gpu_s : 0;
            else
                lost -= --hits[gang] == 0 ? scene->gangs[gang].lost_gpu_s : 0;
        }
        if ((size_t)__builtin_popcount(set) == wanted && lost < best)
            best = lost;
    }
    mem_free(hits);
    return best;
}

/* One row of the table: the fleets of one size. */
struct row {
    size_t nodes;
    int64_t fleets;
    double chosen;
    double rivals[RIVAL_COUNT];
    int64_t worse[RIVAL_COUNT]; /* fleets on which a rival lost less */
    double optimum;
    double worst_ratio;
};

static void add_fleet(struct row *row, const struct victim_case *scene, size_t wanted,
                      uint64_t seed)
{
    int64_t chosen = lost_by(scene, victims_choose(scene, wanted, NULL), wanted);

    row->fleets++;
    row->chosen += (double)chosen;
    for (int i = 0; i < RIVAL_COUNT; i++) {
        enum victim_rival rival = (enum victim_rival)i;
        int64_t theirs = lost_by(scene, victims_rival(scene, wanted, rival, seed), wanted);

        row->rivals[i] += (double)theirs;
        row->worse[i] += theirs < chosen;
    }
    if (scene->node_count <= SMALL_NODES) {
        int64_t best = optimum(scene, wanted);
        double ratio = best > 0 ? (double)chosen / (double)best : chosen > 0 ? 1e9 : 1;

        row->optimum += (double)best;
        row->worst_ratio = ratio > row->worst_ratio ? ratio : row->worst_ratio;
    }
}

static void print_row(const struct row *row)
{
    printf("%5zu %6" PRId64 " %11.0f %11.0f %11.0f %11.0f", row->nodes, row->fleets,
           row->chosen / 3600, row->rivals[RIVAL_RANDOM] / 3600, row->rivals[RIVAL_OLDEST] / 3600,
           row->rivals[RIVAL_NODE_GREEDY] / 3600);
    if (row->nodes <= SMALL_NODES)
        printf(" %11.0f %7.3f", row->optimum / 3600, row->worst_ratio);
    else
        printf(" %11s %7s", "-", "-");
    printf(" %6" PRId64 "\n",
           row->worse[RIVAL_RANDOM] + row->worse[RIVAL_OLDEST] + row->worse[RIVAL_NODE_GREEDY]);
}

/* Half of the fleets have 16 nodes, the others more. */
static int fleets(struct trace *trace, int64_t count)
{
    struct row rows[] = { { .nodes = 16 }, { .nodes = 48 }, { .nodes = 128 }, { .nodes = 512 } };
    struct random random;
    int64_t worse = 0;

    random_seed(&random, 2017);
    for (int64_t i = 0; i < count; i++) {
        struct row *row = i % 2 == 0 ? &rows[0] : &rows[1 + i / 2 % 3];
        struct job_fleet fleet;

        job_fleet_init(&fleet, row->nodes, draw, trace, &random);
        add_fleet(row, &fleet.scene, 1 + random_below(&random, row->nodes - 1), (uint64_t)i);
        job_fleet_free(&fleet);
    }
    printf("%5s %6s %11s %11s %11s %11s %11s %7s %6s\n", "nodes", "fleets", "chosen", "random",
           "oldest", "greedy", "optimum", "ratio", "worse");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_row(&rows[i]);
        for (int k = 0; k < RIVAL_COUNT; k++)
            worse += rows[i].worse[k];
    }
    return worse == 0 && rows[0].worst_ratio <= 1.1 ? 0 : 1;
}

static void time_one(const char *name, const struct victim_case *scene, size_t wanted)
{
    double began = cpu_ms();
    int64_t lost = lost_by(scene, victims_choose(scene, wanted, NULL), wanted);
    double took = cpu_ms() - began;
    int64_t greedy = lost_by(scene, victims_rival(scene, wanted, RIVAL_NODE_GREEDY, 0), wanted);

    printf("%-9s %6zu of %6zu nodes, %6zu gangs: %6.1f ms, loses %.0f GPU-h (greedy %.0f)\n", name,
           wanted, scene->node_count, scene->gang_count, took, (double)lost / 3600,
           (double)greedy / 3600);
}

/* Large gangs all over the fleet: hardly any part is independent of the others. */
static struct fleet_job draw_tangled(void *context, struct random *random)
{
    struct fleet_job job = draw(context, random);

    job.gpus = 3 + (int64_t)random_below(random, 61);
    return job;
}

static int times(struct trace *trace, size_t nodes)
{
    static const size_t shares[] = { 100, 10, 2 };
    struct random random;

    for (int tangled = 0; tangled < 2; tangled++) {
        struct job_fleet fleet;

        random_seed(&random, 1);
        job_fleet_init(&fleet, nodes, tangled ? draw_tangled : draw, trace, &random);
        for (size_t i = 0; i < COUNT_OF(shares); i++)
            time_one(tangled ? "tangled" : "trace", &fleet.scene, nodes / shares[i]);
        job_fleet_free(&fleet);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    int64_t number = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;
    struct trace trace = { 0 };
    int code = 64;

    mem_setup();
    if (number < 1 || number > 99999 || (strcmp(mode, "fleets") != 0 && strcmp(mode, "time") != 0))
        fputs("usage: bench-victims fleets COUNT | time NODES, jobs as CSV on standard input\n",
              stderr);
    else if (!read_trace(&trace))
        fputs("bench-victims: standard input: expected CSV with duration_s and gpus\n", stderr);
    else
        code = strcmp(mode, "fleets") == 0 ? fleets(&trace, number) : times(&trace, (size_t)number);
    array_clear(&trace.jobs);
    array_clear(&trace.until);
    return code;
}
