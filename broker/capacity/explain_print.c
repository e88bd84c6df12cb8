/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See explain_print.h.
 */
#include "broker/capacity/explain_print.h"

#include "base/text.h"
#include "broker/sizing/engine_facts.h"
#include "broker/sizing/target_words.h"

#include <math.h>
#include <stdio.h>

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void print_numbers(const json_t *row)
{
    int64_t target = json_int_or(row, "replicas_for_target", 0);
    int64_t needed = json_int_or(row, "replicas_needed", 0);
    int64_t granted = json_int_or(row, "replicas_granted", 0);
    int64_t degraded = json_int_or(row, "replicas_degraded", 0);

    require(needed >= target && granted >= 0);
    if (degraded > 0)
        printf("  losses      %d of %d go with the worst node or zone; %d keep it within twice its "
               "target\n",
               (int)json_int_or(row, "replicas_lost", 0), (int)granted, (int)degraded);
    if (needed > target)
        printf("  needed      %d: %s asks for more than the target\n", (int)needed,
               degraded > 0 ? "the loss" : "replica_min");
    if (granted < needed)
        printf("  granted     %d: the nodes do not suffice\n", (int)granted);
    else if (granted > needed)
        printf("  granted     %d: %d more from what the reservations have left\n", (int)granted,
               (int)(granted - needed));
    if (json_is_integer(json_object_get(row, "replicas_in_file")) &&
        json_int_or(row, "replicas_in_file", 0) != granted) {
        double wait_s = json_is_null(json_object_get(row, "wait_in_file_s"))
                            ? HUGE_VAL
                            : number(row, "wait_in_file_s");

        printf("  in the file %d: waits of %.2f s, %s the target\n",
               (int)json_int_or(row, "replicas_in_file", 0), wait_s,
               json_bool_or(row, "is_met_in_file", false) ? "meets" : "misses");
    }
}

static void print_service(const json_t *service, const json_t *engine)
{
    const char *when = !json_is_object(engine)                               ? ""
                       : json_is_null(json_object_get(engine, "tokens_out")) ? " in a full batch"
                                                                             : " alone";

    printf("  service     %.4g s%s, %s (cv %.3g), by %s", number(service, "mean_s"), when,
           json_text_or(service, "law", ""), number(service, "cv"),
           json_text_or(service, "origin", ""));
    if (number(service, "requests") > 0)
        printf(", of %.0f requests", number(service, "requests"));
    printf("\n");
    if (!json_is_object(engine))
        return;
    printf("  engine      ");
    engine_facts_print(engine);
    printf("\n");
    if (json_is_number(json_object_get(engine, "longest_s")))
        printf("  drain       the longest request takes %.0f s in a full batch: a replica that is "
               "ended sooner cuts it off\n",
               number(engine, "longest_s"));
}

static void print_limit(const char *what, const json_t *limit, double found_s)
{
    if (json_is_object(limit))
        printf("              %s %.4g s at %g of 100, %s the target of %.4g s\n", what, found_s,
               number(limit, "percentile"),
               found_s <= number(limit, "target_s") + 1e-6 ? "meets" : "misses",
               number(limit, "target_s"));
}

/* The targets beside the wait, and how full the replicas are at the peak. */
static void print_tokens(const json_t *row, const json_t *item)
{
    print_limit("first token after", json_object_get(row, "ttft"), number(item, "ttft_s"));
    print_limit("each later token in", json_object_get(row, "itl"), number(item, "itl_s"));
    printf("              at the peak %.1f %% of what they can end arrives, %.1f %% of the slots "
           "run\n",
           100 * number(item, "peak_utilisation"), 100 * number(item, "peak_occupancy"));
}

/* The step that decides, and which target. */
static void print_binding(const json_t *row)
{
    struct target_words words = target_words_named(json_text_or(row, "binds", ""));

    printf("  binding     %s: there %s %.*f s with one replica less\n",
           json_text_or(row, "binding_local", ""), words.one, words.digits,
           number(row, "binding_wait_s"));
}

/* The worst day, by the target that is worst on it. */
static void print_worst_day(const json_t *row)
{
    const char *target = json_text_or(row, "binding_day_target", "");
    const json_t *limit = json_object_get(row, target);
    struct target_words words = target_words_named(target);
    bool is_wait = text_equal(target, "wait");

    printf("  worst day   %s: there %g of 100 %s up to %.*f s with one replica less; the target "
           "holds for %s\n",
           json_text_or(row, "binding_day_local", ""), number(is_wait ? row : limit, "percentile"),
           is_wait ? "wait" : words.many, words.digits, number(row, "binding_day_wait_s"),
           text_equal(json_text_or(row, "slo", ""), "each-day") ? "each day" : "all days in one");
}

static void print_queue(const char *window, const json_t *row)
{
    size_t i;
    const json_t *item;

    printf("%s, queue %s: %d replicas\n", window, json_text_or(row, "queue", ""),
           (int)json_int_or(row, "replicas_granted", 0));
    json_array_foreach(json_at(row, "workloads"), i, item)
        printf("  %-11s %s: %d in %s, %d GPUs each\n", i == 0 ? "runs" : "",
               json_text_or(item, "workload", ""), (int)json_int_or(item, "replicas", 0),
               json_text_or(item, "cluster", ""), (int)json_int_or(item, "gpus", 0));
    print_service(json_object_get(row, "service"), json_object_get(row, "engine"));
    if (!json_object_get(row, "waits")) {
        printf("  demand      nothing arrives\n");
        print_numbers(row);
        return;
    }
    printf("  demand      %.3g/s, at most %.3g/s in the step of %s\n", number(row, "rate_per_s"),
           number(row, "peak_per_s"), json_text_or(row, "peak_at", ""));
    json_array_foreach(json_at(row, "waits"), i, item) {
        printf("  %-11s %d: %g of 100 wait up to %.2f s, %s the target of %.2f s (seed %d)\n",
               i == 0 ? "replayed" : "", (int)json_int_or(item, "replicas", 0),
               number(row, "percentile"), number(item, "wait_s"),
               number(item, "wait_s") <= number(row, "wait_target_s") ? "meets" : "misses",
               number(row, "wait_target_s"), (int)json_int_or(item, "seed", 0));
        if (json_is_object(json_object_get(row, "engine")))
            print_tokens(row, item);
    }
    print_worst_day(row);
    if (json_object_get(row, "binding_local") &&
        !json_is_null(json_object_get(row, "binding_local")))
        print_binding(row);
    printf("  estimate    %d in closed form\n", (int)json_int_or(row, "replicas_estimated", 0));
    print_numbers(row);
}

static void print_cluster(const char *window, const json_t *row)
{
    int rest = (int)json_int_or(row, "nodes_rest", 0);

    printf("%s, cluster %s: %d nodes: %d GPUs of all workloads on %d nodes of %d, %d to repack, ",
           window, json_text_or(row, "cluster", ""), (int)json_int_or(row, "nodes", 0),
           (int)json_int_or(row, "gpus", 0), (int)json_int_or(row, "nodes_packed", 0),
           (int)json_int_or(row, "gpus_per_node", 0), (int)json_int_or(row, "nodes_repack", 0));
    if (rest > 0)
        printf("%d to fill a group of %d, ", rest, (int)json_int_or(row, "group_nodes", 0));
    printf("at least %d static\n", (int)json_int_or(row, "nodes_static", 0));
}

void explain_print(const json_t *root)
{
    size_t i;
    size_t at;
    const json_t *window;
    const json_t *row;

    json_array_foreach(json_at(root, "windows"), i, window) {
        const char *name = json_text_or(window, "window", "");

        json_array_foreach(json_at(window, "queues"), at, row)
            print_queue(name, row);
        json_array_foreach(json_at(window, "clusters"), at, row)
            print_cluster(name, row);
        if (json_int_or(window, "missing_nodes", 0) > 0)
            printf("%s: %d nodes are missing\n", name,
                   (int)json_int_or(window, "missing_nodes", 0));
    }
}
