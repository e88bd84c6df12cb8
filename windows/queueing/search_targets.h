/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a number of servers does for each target of a queue: the wait, and of engines with
 * iterations (engine.h) the time until the first token and that of each later one.
 */
#pragma once

#include "windows/queueing/search.h"

/* For engines that have targets other than the wait. */
struct search_late_day {
    struct wall_time begin; /* 0: not known */
    enum replay_figure which;
    double used;    /* requests late over those allowed on that day and one, of the worse class: 1
                       or more misses that target by itself */
    double found_s; /* of that target, at its percentile */
};

struct search_targets {
    double found_s[REPLAY_FIGURES]; /* at the target's percentile, of the worse class; where each
                                       day counts, of the worst day */
    bool is_met;
    enum replay_figure binds;   /* the one missed by most, or met most narrowly */
    struct search_late_day day; /* the worst, by the target that is worst on it */
};

/* Seconds; 0: none. */
double search_target_s(const struct replay_target *target, enum replay_figure which);

/* The percentile for the requests of a class; in (0, 100) if there is a target. */
double search_target_percentile(const struct replay_target *target, enum replay_figure which);

/* The requests of a replay that are later than that target. */
int64_t search_target_late(const struct replay_class *found, enum replay_figure which);

/* "wait", "ttft", "itl". */
const char *search_target_name(enum replay_figure which);

/* Whether tokens have times: the queue's replicas are engines that know their iterations. */
bool search_has_tokens(const struct service_time *service);

/* Raises the times of tokens, and the day on which most are late, to those under one seed; leaves
   them where there are none. */
int search_tokens_under(const struct search_setup *setup, int seed, int servers,
                        struct search_targets *targets, struct error *err)
    __attribute__((warn_unused_result));

/* Sets the members that follow from found_s, except the day. */
void search_targets_judge(struct search_targets *targets, const struct replay_target *target);
