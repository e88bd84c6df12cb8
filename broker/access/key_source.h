/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The key set of a token's issuer, fetched from a URL (its jwks_uri, OpenID Connect Discovery 1.0,
 * section 3).  It is fetched at the start, every hour, and when a token names a key that the set
 * lacks, but for such tokens at most once in KEY_SOURCE_MISS_MS.  While the URL is out of reach or
 * its answer is no key set, the keys of before are in use, and it is asked again: after 5 s, then
 * after twice the time, up to 5 minutes.
 */
#pragma once

#include "base/world/world.h"
#include "broker/access/web_keys.h"

enum { KEY_SOURCE_AGE_MS = HOUR_MS, KEY_SOURCE_MISS_MS = 30 * SECOND_MS };

struct key_source;

/* Asks soon.  Borrows the world. */
struct key_source *key_source_new(const struct world *world, const char *url)
    __attribute__((returns_nonnull, warn_unused_result));
void key_source_free(struct key_source *source);

/* Valid until the next turn of the loop; NULL: none have come yet. */
const struct web_keys *key_source_keys(const struct key_source *source);

/* `changed` is called when the key set has become another one; NULL: nothing is. */
void key_source_watch(struct key_source *source, void (*changed)(void *context), void *context);

/* A token names a key that the set lacks. */
void key_source_miss(struct key_source *source);

/* -1 and the reason if the last answer gave no keys, or the first has not come yet.  *ret_since:
   when those in use came; 0: never. */
int key_source_check(const struct key_source *source, struct wall_time *ret_since,
                     struct error *err) __attribute__((warn_unused_result));

static inline void owned_key_source(struct key_source **source)
{
    key_source_free(*source);
}
