/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One machine read by its name, where a list does not show it: a list may be old or cut, and what
 * follows from the absence of a machine cannot be undone.
 */
#include "base/text.h"
#include "broker/fleet/fleet_parts.h"

#include <string.h>

enum { VALID_MS = 10 * SECOND_MS, RETRY_MS = 5 * SECOND_MS, FORGET_MS = 10 * MINUTE_MS };

struct sighting {
    struct listing *listing;
    char name[INSTANCE_NAME_SIZE];
    bool is_under_way;
    bool is_good; /* the last read was answered */
    bool exists;
    int64_t asked_ms;
    struct instance instance;
};

void sightings_init(struct listing *listing)
{
    listing->sightings = map_new(mem_free);
}

void sightings_clear(struct listing *listing)
{
    map_free(listing->sightings);
}

static void answered(void *context, const struct instance *instance, const struct error *err)
{
    struct sighting *sighting = context;

    require(sighting->is_under_way);
    require(!instance || !err);
    sighting->is_under_way = false;
    sighting->is_good = !err;
    sighting->exists = instance && instance->state != INSTANCE_PARKED;
    if (instance) {
        sighting->instance = *instance;
        sighting->instance.seen_ms = sighting->asked_ms;
    }
    sighting->listing->fleet->news(sighting->listing->fleet->news_context);
}

/* Forgets reads of machines that were not asked for lately. */
static void forget_old(struct listing *listing, int64_t now)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(listing->sightings, &i, &name, &value);) {
        const struct sighting *sighting = value;

        if (!sighting->is_under_way && now - sighting->asked_ms > FORGET_MS)
            map_remove(listing->sightings, name);
    }
}

static struct sighting *find_or_add(struct listing *listing, const char *name, int64_t now)
{
    struct sighting *sighting = map_get(listing->sightings, name);

    /* A name that is cut would be another machine's. */
    require(name[0] != '\0' && strlen(name) < INSTANCE_NAME_SIZE);
    if (sighting)
        return sighting;
    forget_old(listing, now);
    sighting = mem_new(sizeof *sighting);
    sighting->listing = listing;
    text_copy(sighting->name, sizeof sighting->name, name);
    map_set(listing->sightings, name, sighting);
    return sighting;
}

enum presence sighting_of(struct listing *listing, const char *name, int64_t since_ms,
                          const struct instance **ret_instance)
{
    int64_t now = loop_now(listing->fleet->world->loop);
    struct sighting *sighting = find_or_add(listing, name, now);
    bool is_new = sighting->asked_ms > since_ms && now - sighting->asked_ms <= VALID_MS;

    if (sighting->is_under_way)
        return PRESENCE_UNKNOWN;
    if (sighting->is_good && is_new) {
        *ret_instance = sighting->exists ? &sighting->instance : NULL;
        return sighting->exists ? PRESENCE_YES : PRESENCE_NO;
    }
    if (!sighting->is_good && sighting->asked_ms > 0 && now - sighting->asked_ms < RETRY_MS)
        return PRESENCE_UNKNOWN;
    sighting->is_under_way = true;
    sighting->is_good = false;
    sighting->asked_ms = now;
    provider_look(listing->provider, listing->pool.config->own.settings, sighting->name, answered,
                  sighting);
    return PRESENCE_UNKNOWN;
}
