/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster of any kind: its name, its snapshot, and who is told that it changed.
 */
#include "base/memory.h"
#include "clusters/cluster_base.h"

const struct cluster_kind *const cluster_kinds[] = { &cluster_kubernetes, NULL };

static void on_news(void *context)
{
    struct cluster *cluster = context;

    cluster->news(cluster->news_context);
}

void cluster_init(struct cluster *cluster, const struct cluster_kind *kind, struct world *world,
                  const struct cluster_settings *settings)
{
    cluster->kind = kind;
    cluster->world = world;
    cluster->name = mem_copy_chars(settings->name);
    snapshot_init(&cluster->snapshot);
    cluster->snapshot.accelerators = settings->accelerators;
    cluster->news_timer = timer_new(world->loop, on_news, cluster);
}

void cluster_clear(struct cluster *cluster)
{
    timer_free(cluster->news_timer);
    snapshot_clear(&cluster->snapshot);
    mem_free(cluster->name);
}

void cluster_tell_news(struct cluster *cluster)
{
    timer_set_sooner(cluster->news_timer, 0);
}

struct cluster *cluster_open(struct world *world, const struct cluster_settings *settings,
                             struct error *err)
{
    const struct cluster_kind *kind = settings->kind ?: &cluster_kubernetes;

    return kind->open(world, settings, err);
}

void cluster_close(struct cluster *cluster)
{
    if (cluster)
        cluster->kind->close(cluster);
}

void cluster_watch(struct cluster *cluster, cluster_news_fn news, void *context)
{
    require(!cluster->news);
    cluster->news = news;
    cluster->news_context = context;
    cluster->kind->watch(cluster);
}

void cluster_watch_budgets(struct cluster *cluster)
{
    cluster->kind->watch_budgets(cluster);
}

void cluster_watch_devices(struct cluster *cluster)
{
    cluster->kind->watch_devices(cluster);
}

const char *cluster_name(const struct cluster *cluster)
{
    return cluster->name;
}

const struct snapshot *cluster_snapshot(const struct cluster *cluster)
{
    return &cluster->snapshot;
}

int64_t cluster_held(const struct cluster *cluster)
{
    return cluster->kind->held(cluster);
}

const char *cluster_trouble(const struct cluster *cluster)
{
    return cluster->kind->trouble(cluster);
}

void cluster_ask_clock(struct cluster *cluster)
{
    cluster->kind->ask_clock(cluster);
}

bool cluster_clock(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms)
{
    return cluster->kind->clock(cluster, since_ms, ret_ahead_ms);
}

void cluster_wall_moved(struct cluster *cluster)
{
    (void)cluster_clock(cluster, 0, &cluster->snapshot.ahead_ms);
}

bool cluster_is_heard(const struct cluster *cluster)
{
    return cluster->kind->is_heard(cluster);
}
