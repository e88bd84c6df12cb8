/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keeps one map of objects equal to one collection of the API: a list in pages, then a watch from
 * where the list stood, for ever.  A new list replaces the map, and only a complete list makes an
 * object vanish.  An object that cannot be decoded is not absent: it is put into `unreadable`, and
 * what was known of it before stays, or its kind's stand-in takes its place.
 *
 * What does not fit into the cluster's share of memory ends the list or the watch: what it had
 * gathered is freed, the former objects stay and grow old, and it is tried again a minute later.
 */
#pragma once

#include "base/index.h"
#include "base/map.h"
#include "base/shared_text.h"
#include "base/world/loop.h"
#include "clusters/kube/kube_extract.h"
#include "clusters/kube/kube_session.h"

#include <stdbool.h>
#include <stdint.h>

/* What a collection is made of. */
struct kube_kind {
    const char *name;                  /* "nodes" */
    const char *path;                  /* "/api/v1/nodes" */
    const char *key_path;              /* path of the map's key in an object: "metadata/name" */
    const struct kube_member *members; /* that are read, by decode() and the watch; NULL: all */
    void *(*decode)(const json_t *object, struct error *err);
    /* Makes a replacement for an object that decode() refuses; it may return NULL: `former` (NULL:
       nothing was known) stays as it is.  NULL: it always stays. */
    void *(*stand_in)(const json_t *object, const void *former);
    map_free_fn free;
    void (*share)(void *object, struct shared_pool *texts);
    const char *(*index_key)(const void *object); /* of the store's index */
};

/* The memory that one cluster may take, so that a hostile one takes none from the others: its known
   objects, and those of the lists under way, each at most `most` bytes.  Counted when they are made
   and freed. */
struct kube_share {
    int64_t most;
    int64_t held;   /* bytes of known objects */
    int64_t listed; /* bytes of lists under way */
};

/* Where the watch stores its objects; all owned by the cluster. */
struct kube_store {
    struct map **objects; /* replaced as a whole by each list */
    struct map *unreadable;
    int64_t *seen_ms;
    struct index **index;
    struct shared_pool *texts;
    struct kube_share *share;
    /* Told of each change: an object (NULL: none) took the place of the former (NULL: none), which
       is freed next; both NULL: a list replaced them all.  NULL: nobody asks. */
    void (*replaced)(void *context, const void *former, const void *object);
    void *context;
};

struct kube_watch;

/* `changed` is called within the turn in which an object changed or a failure occurred. */
struct kube_watch *kube_watch_new(struct kube_session *session, const struct kube_kind *kind,
                                  const struct kube_store *store, timer_fn changed, void *context)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_watch_free(struct kube_watch *watch);

void kube_watch_start(struct kube_watch *watch);

bool kube_watch_is_known(const struct kube_watch *watch); /* a complete list was read */

/* The last failure and how many there were in a row; "" when all is well. */
const char *kube_watch_trouble(const struct kube_watch *watch);
