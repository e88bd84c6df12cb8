/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster of any kind: its name, its snapshot, and the function that is called when it changed.
 */
#include "base/memory.h"
#include "base/text.h"
#include "clusters/cluster_base.h"

const struct cluster_kind *cluster_kind_find(const char *name)
{
    for (size_t i = 0; cluster_kinds[i]; i++)
        if (text_equal(cluster_kinds[i]->settings.name, name))
            return cluster_kinds[i];
    return NULL;
}

const struct settings_kind *cluster_kind_settings(size_t at)
{
    size_t count = 0;

    while (cluster_kinds[count])
        count++;
    return at < count ? &cluster_kinds[at]->settings : NULL;
}

static void on_news(void *context)
{
    struct cluster *cluster = context;

    cluster->news(cluster->news_context);
}

enum { SILENT_MS = 90 * SECOND_MS };

void cluster_init(struct cluster *cluster, const struct cluster_kind *kind, struct world *world,
                  const struct cluster_settings *settings)
{
    cluster->kind = kind;
    cluster->world = world;
    cluster->name = mem_copy_chars(settings->name);
    cluster->silent_ms = SILENT_MS;
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
    require(settings->kind && settings->own); /* the kind's table filled them */
    return settings->kind->open(world, settings, err);
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

void cluster_watch_more(struct cluster *cluster)
{
    require(cluster->news); /* cluster_watch() comes first */
    cluster->kind->watch_more(cluster);
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

bool cluster_inspect(struct cluster *cluster, const struct cluster_needs *needs,
                     const struct cluster_inspector *inspector)
{
    if (!cluster->kind->inspect)
        return false;
    cluster->kind->inspect(cluster, needs, inspector);
    return true;
}

int64_t cluster_silent_ms(const struct cluster *cluster)
{
    return cluster->silent_ms;
}
