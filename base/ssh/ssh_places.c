/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See ssh_places.h.
 */
#include "base/ssh/ssh_places.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/ssh/ssh_hop.h"
#include "base/text.h"

struct ssh_places {
    size_t taken;
    struct map *hosts; /* "ADDRESS:PORT" of a machine or a jump host -> struct host_count */
};

struct host_count {
    size_t count;
};

/* One begins only while fewer than so many run.  The other places are for commands of a higher
   priority, which must not wait until a silent machine's time is over. */
static const struct {
    size_t in_all, per_host;
} most[SSH_PRIORITY_COUNT] = {
    [SSH_COMMAND] = { SSH_SESSIONS, SSH_SESSIONS_PER_HOST },
    [SSH_SWEEP] = { SSH_SESSIONS * 3 / 4, SSH_SESSIONS_PER_HOST * 3 / 4 },
    [SSH_SILENT] = { SSH_SESSIONS / 2, SSH_SESSIONS_PER_HOST / 2 },
};

struct ssh_places *ssh_places_new(void)
{
    struct ssh_places *places = mem_new(sizeof *places);

    places->hosts = map_new(mem_free);
    return places;
}

void ssh_places_free(struct ssh_places *places)
{
    if (!places)
        return;
    map_free(places->hosts);
    mem_free(places);
}

static char *key_of(const struct ssh_host *host)
{
    return text_format("%s:%d", host->address, ssh_host_port(host));
}

static size_t count_of(const struct ssh_places *places, const struct ssh_host *host)
{
    owned(chars) char *key = key_of(host);
    const struct host_count *entry = map_get(places->hosts, key);

    return entry ? entry->count : 0;
}

static void count(struct ssh_places *places, const struct ssh_host *host, int by)
{
    owned(chars) char *key = key_of(host);
    struct host_count *entry = map_get(places->hosts, key);

    if (!entry) {
        entry = mem_new(sizeof *entry);
        map_set(places->hosts, key, entry);
    }
    entry->count += (size_t)by;
    if (entry->count == 0)
        map_remove(places->hosts, key);
}

static void take(struct ssh_places *places, const struct ssh_host *host, int by)
{
    places->taken += (size_t)by;
    count(places, host, by);
    if (host->jump)
        count(places, host->jump, by);
}

bool ssh_places_take(struct ssh_places *places, const struct ssh_host *host,
                     enum ssh_priority priority)
{
    size_t per_host = most[priority].per_host;

    if (places->taken >= most[priority].in_all || count_of(places, host) >= per_host ||
        (host->jump && count_of(places, host->jump) >= per_host))
        return false;
    take(places, host, 1);
    return true;
}

void ssh_places_leave(struct ssh_places *places, const struct ssh_host *host)
{
    require(places->taken > 0);
    take(places, host, -1);
}
