/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The members that each kind of cluster has.  An implementation has this struct as its first
 * member.
 */
#pragma once

#include "clusters/cluster.h"

struct cluster {
    const struct cluster_kind *kind;
    struct world *world;
    char *name;
    struct snapshot snapshot;
    int64_t silent_ms;        /* cluster_silent_ms() */
    struct timer *news_timer; /* many changes of one turn are one piece of news */
    cluster_news_fn news;
    void *news_context;
};

void cluster_init(struct cluster *cluster, const struct cluster_kind *kind, struct world *world,
                  const struct cluster_settings *settings);
void cluster_clear(struct cluster *cluster);

/* The snapshot changed: `news` is called in a turn of its own. */
void cluster_tell_news(struct cluster *cluster);
