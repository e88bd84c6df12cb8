/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * List, watch, and what to do when either breaks:
 *
 *   list fails, or 410 on a page   -> back off, list from the start
 *   watch ends by itself           -> watch again from the last resourceVersion
 *   watch fails or falls silent    -> back off, watch again from there
 *   410, or a frame we cannot read -> back off, list from the start
 */
#include "clusters/kube/kube_watch.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/url.h"
#include "clusters/kube/kube_frames.h"
#include "clusters/kube/kube_list.h"

#include <string.h>

enum {
    WATCH_TIMEOUT_MS = 330 * SECOND_MS, /* the server ends it after 290 s */
    SILENCE_MS = 120 * SECOND_MS,       /* bookmarks come about every minute */
    BACKOFF_LEAST_MS = SECOND_MS,
    BACKOFF_MOST_MS = 30 * SECOND_MS,
    SHORT_WATCH_MS = 5 * SECOND_MS,
    EXCESS_WAIT_MS = MINUTE_MS,
    UNREADABLE_PAUSE_MS = MINUTE_MS, /* between two lines of the log */
    DOUBTS_MAX = 2, /* lists in a row that may claim a sudden loss before it is believed */
};

struct kube_watch {
    struct kube_session *session;
    const struct kube_kind *kind;
    struct kube_store store;
    timer_fn changed;
    void *context;

    struct kube_exchange *exchange; /* the watch in flight */
    struct timer *next;             /* starts the next list or watch */
    struct timer *silence;
    struct kube_frames *frames;

    struct kube_list *list; /* under way; NULL while watching */
    struct map *listed;     /* the objects that it brought */
    struct index *listed_index;
    struct map *listed_unreadable;
    int64_t list_began_ms;
    int64_t listed_bytes;

    struct timer *unreadable_pause; /* set: nothing is logged of objects that cannot be read */
    int unreadable_count;           /* not logged yet */
    char unreadable_text[ERROR_TEXT_SIZE]; /* of the first of them */

    char *resource_version; /* where to watch from; NULL: list first */
    int64_t watch_began_ms;
    bool has_news; /* a frame came in this watch */
    bool is_known;
    int doubts;
    int failures;
    char trouble[ERROR_TEXT_SIZE + 64];
};

static struct loop *loop_of(const struct kube_watch *watch)
{
    return kube_world(watch->session)->loop;
}

static void set_text(char **text, const char *chars)
{
    char *copy = mem_copy_chars(chars);
    mem_free(*text);
    *text = copy;
}

/* The list under way does not count any more: `held` keeps its remaining bytes, and those freed
   since `before`. */
static void settle(struct kube_watch *watch, int64_t before)
{
    struct kube_share *share = watch->store.share;

    share->held += watch->listed_bytes + mem_held() - before;
    share->listed -= watch->listed_bytes;
    watch->listed_bytes = 0;
}

static void drop_list(struct kube_watch *watch)
{
    kube_list_free(steal(&watch->list));

    int64_t before = mem_held();

    index_free(steal(&watch->listed_index));
    map_free(steal(&watch->listed));
    map_free(steal(&watch->listed_unreadable));
    shared_pool_trim(watch->store.texts);
    settle(watch, before);
    mem_trim(); /* gives the memory of the pages back to the system */
}

static int too_much(const struct kube_watch *watch, struct error *err)
{
    error_set(err, ERROR_CORRUPT,
              "its objects take more than the %lld MB that clusters.%s.memory_mb allows",
              (long long)(watch->store.share->most >> 20), kube_name(watch->session));
    err->retry_after_ms = EXCESS_WAIT_MS;
    return -1;
}

static void all_is_well(struct kube_watch *watch)
{
    watch->failures = 0;
    watch->trouble[0] = '\0';
}

/* Waits 1 s to 30 s, doubling, with jitter, and at least as long as the server asked for. */
static void back_off(struct kube_watch *watch, const struct error *err)
{
    int64_t most_ms = watch->failures < 4 ? (int64_t)2 * BACKOFF_LEAST_MS << watch->failures
                                          : BACKOFF_MOST_MS;
    int64_t delay_ms = (int64_t)random_between(kube_world(watch->session)->random,
                                               (double)most_ms / 2, (double)most_ms);
    if (delay_ms < err->retry_after_ms)
        delay_ms = err->retry_after_ms;

    watch->failures++;
    owned(chars) char *trouble = text_format("%s, %d in a row: %s", watch->kind->name,
                                             watch->failures, err->text);
    text_copy(watch->trouble, sizeof watch->trouble, trouble);
    if (watch->failures == 1)
        log_warn("watch_failed", FIELD_TEXT("cluster", kube_name(watch->session)),
                 FIELD_TEXT("resource", watch->kind->name), FIELD_TEXT("text", err->text));
    timer_stop(watch->silence);
    timer_set(watch->next, delay_ms);
    watch->changed(watch->context);
}

static void list_again(struct kube_watch *watch, const struct error *err)
{
    drop_list(watch);
    set_text(&watch->resource_version, NULL);
    back_off(watch, err);
}

static const char *key_of(const struct kube_watch *watch, const json_t *object)
{
    return json_text_or(object, watch->kind->key_path, "?");
}

static char *unreadable_key(const struct kube_watch *watch, const char *key)
{
    return text_format("%s/%s", watch->kind->name, key);
}

/* Puts the object, or its absence (NULL), where the former one was. */
static void put(const struct kube_watch *watch, struct map *objects, struct index *index,
                const char *key, void *object)
{
    const struct kube_kind *kind = watch->kind;
    const void *former = map_get(objects, key);

    if (watch->store.replaced && objects == *watch->store.objects && (former || object))
        watch->store.replaced(watch->store.context, former, object);
    index_change(index, former ? kind->index_key(former) : "", former,
                 object ? kind->index_key(object) : "", object);
    if (object)
        map_set(objects, key, object);
    else
        map_remove(objects, key);
}

static void tell_unreadable(void *context)
{
    struct kube_watch *watch = context;

    if (watch->unreadable_count == 0)
        return;
    log_warn("object_unreadable", FIELD_TEXT("cluster", kube_name(watch->session)),
             FIELD_TEXT("resource", watch->kind->name), FIELD_INT("count", watch->unreadable_count),
             FIELD_TEXT("text", watch->unreadable_text));
    watch->unreadable_count = 0;
    timer_set(watch->unreadable_pause, UNREADABLE_PAUSE_MS);
}

/* One line for all of a minute: a server may send any number of them. */
static void note_unreadable(struct kube_watch *watch, const struct error *err)
{
    if (watch->unreadable_count++ == 0)
        text_copy(watch->unreadable_text, sizeof watch->unreadable_text, err->text);
    if (!timer_is_set(watch->unreadable_pause))
        tell_unreadable(watch);
}

static void *stand_in_for(const struct kube_watch *watch, const struct map *objects,
                          const char *key, const json_t *object)
{
    const void *former = map_get(objects, key) ?: map_get(*watch->store.objects, key);

    return watch->kind->stand_in ? watch->kind->stand_in(object, former) : NULL;
}

/* Decodes into the map; an object that cannot be decoded counts as present, and is logged once. */
static void store_object(struct kube_watch *watch, struct map *objects, struct index *index,
                         struct map *unreadable, const json_t *object)
{
    struct error err = { 0 };
    const char *key = key_of(watch, object);
    owned(chars) char *mark = unreadable_key(watch, key);
    void *decoded = watch->kind->decode(object, &err);

    if (decoded) {
        map_remove(unreadable, mark);
    } else {
        if (!map_get(watch->store.unreadable, mark) && !map_get(unreadable, mark))
            note_unreadable(watch, &err);
        map_set(unreadable, mark, mem_copy_chars(err.text));
        decoded = stand_in_for(watch, objects, key, object);
    }
    if (decoded) {
        watch->kind->share(decoded, watch->store.texts);
        put(watch, objects, index, key, decoded);
    }
}

/* Objects of the new list that could not be decoded, and have no stand-in, stay as they were. */
static void keep_unreadable(struct kube_watch *watch, size_t start_length)
{
    const char *mark = NULL;
    for (size_t at = 0; map_next(watch->listed_unreadable, &at, &mark, NULL);) {
        const char *key = mark + start_length;
        void *known = map_get(watch->listed, key) ? NULL : map_take(*watch->store.objects, key);
        if (known)
            put(watch, watch->listed, watch->listed_index, key, known);
    }
}

/* The list is complete: it becomes the map, and objects that it lacks have vanished. */
static void take_list(struct kube_watch *watch, const char *resource_version)
{
    const char *key = NULL;
    void *value = NULL;
    owned(chars) char *start = unreadable_key(watch, "");
    int64_t before = mem_held();

    for (size_t at = 0; map_next(watch->store.unreadable, &at, &key, NULL);) {
        if (text_starts_with(key, start))
            map_remove(watch->store.unreadable, key);
    }
    for (size_t at = 0; map_next(watch->listed_unreadable, &at, &key, &value);)
        map_set(watch->store.unreadable, key, mem_copy_chars(value));
    keep_unreadable(watch, strlen(start));

    index_free(*watch->store.index);
    *watch->store.index = steal(&watch->listed_index);
    map_free(*watch->store.objects);
    *watch->store.objects = steal(&watch->listed);
    if (watch->store.replaced)
        watch->store.replaced(watch->store.context, NULL, NULL);
    settle(watch, before);
    *watch->store.seen_ms = watch->list_began_ms;
    set_text(&watch->resource_version, resource_version);
    drop_list(watch);
    all_is_well(watch);
    watch->is_known = true;
    timer_set(watch->next, 0);
    watch->changed(watch->context);
}

/* Whether the list lacks more than half of the known objects.  A watch would report such a loss
 * object by object.  If only a list shows it, the list is usually wrong. */
static bool is_doubtful(const struct kube_watch *watch)
{
    size_t known = map_count(*watch->store.objects);
    size_t lost = 0;
    const char *key = NULL;
    for (size_t at = 0; map_next(*watch->store.objects, &at, &key, NULL);) {
        owned(chars) char *mark = unreadable_key(watch, key);

        lost += !map_get(watch->listed, key) && !map_get(watch->listed_unreadable, mark);
    }
    return lost * 2 > known;
}

/* Takes the whole list, or reads it again when it is doubtful. */
static void judge_list(struct kube_watch *watch, const char *resource_version)
{
    struct error doubt = { 0 };
    if (!is_doubtful(watch) || watch->doubts >= DOUBTS_MAX) {
        watch->doubts = 0;
        take_list(watch, resource_version);
        return;
    }
    watch->doubts++;
    error_set(&doubt, ERROR_CORRUPT, "the list holds %zu where there were %zu: reading it again",
              map_count(watch->listed), map_count(*watch->store.objects));
    list_again(watch, &doubt);
}

static int on_item(void *context, const json_t *item, struct error *err)
{
    struct kube_watch *watch = context;
    struct kube_share *share = watch->store.share;
    int64_t before = mem_held();

    store_object(watch, watch->listed, watch->listed_index, watch->listed_unreadable, item);
    int64_t taken = mem_held() - before;
    watch->listed_bytes += taken;
    share->listed += taken;
    return share->listed > share->most ? too_much(watch, err) : 0;
}

static void on_list_end(void *context, const char *resource_version, const struct error *err)
{
    struct kube_watch *watch = context;
    if (err) {
        list_again(watch, err);
        return;
    }
    owned(chars) char *version = mem_copy_chars(resource_version);
    judge_list(watch, version);
}

static void ask_list(struct kube_watch *watch)
{
    const struct kube_list_request request = {
        .path = watch->kind->path,
        .members = watch->kind->members,
        .on_item = on_item,
        .on_end = on_list_end,
        .context = watch,
    };
    int64_t before = mem_held();

    watch->listed = map_new(watch->kind->free);
    watch->listed_index = index_new();
    watch->listed_unreadable = map_new(mem_free);
    watch->listed_bytes = mem_held() - before;
    watch->store.share->listed += watch->listed_bytes;
    watch->list_began_ms = loop_now(loop_of(watch));
    watch->list = kube_list_new(watch->session, &request);
}

/* The stream cannot be used any more. */
static void break_off(struct kube_watch *watch, bool is_list_needed, const struct error *err)
{
    kube_cancel(steal(&watch->exchange));
    kube_frames_reset(watch->frames);
    if (is_list_needed)
        list_again(watch, err);
    else
        back_off(watch, err);
}

static void on_silence(void *context)
{
    struct kube_watch *watch = context;
    struct error err = { 0 };
    error_set(&err, ERROR_TRANSIENT, "no event and no bookmark for %d s", SILENCE_MS / SECOND_MS);
    break_off(watch, false, &err);
}

static int apply_event(void *context, enum kube_event_type type, const json_t *object,
                       struct error *err)
{
    struct kube_watch *watch = context;
    struct map *objects = *watch->store.objects;
    const char *version = NULL;
    if (json_need_text(object, "metadata/resourceVersion", &version, err) < 0)
        return -1;

    struct kube_share *share = watch->store.share;
    int64_t before = mem_held();

    if (type == KUBE_EVENT_DELETED) {
        const char *key = key_of(watch, object);
        owned(chars) char *mark = unreadable_key(watch, key);
        put(watch, objects, *watch->store.index, key, NULL);
        map_remove(watch->store.unreadable, mark);
    } else if (type == KUBE_EVENT_SET) {
        store_object(watch, objects, *watch->store.index, watch->store.unreadable, object);
    }
    int64_t taken = mem_held() - before;
    share->held += taken;
    if (taken > 0 && share->held > share->most)
        return too_much(watch, err);
    set_text(&watch->resource_version, version);
    *watch->store.seen_ms = loop_now(loop_of(watch));
    watch->has_news = true;
    all_is_well(watch);
    return 0;
}

static void on_piece(void *context, const char *bytes, size_t size)
{
    struct kube_watch *watch = context;
    struct error err = { 0 };
    timer_set(watch->silence, SILENCE_MS);
    int count = kube_frames_add(watch->frames, bytes, size, &err);
    if (count < 0) {
        error_context(&err, "watch of %s", watch->kind->name);
        break_off(watch, true, &err);
    } else if (count > 0) {
        watch->changed(watch->context);
    }
}

static void on_watch_end(void *context, const json_t *body, const struct error *err)
{
    struct kube_watch *watch = context;
    struct error why = { 0 };
    (void)body;
    watch->exchange = NULL;
    kube_frames_reset(watch->frames);
    timer_stop(watch->silence);
    if (err && err->kind == ERROR_CONFLICT) { /* a version that the server does not have */
        list_again(watch, err);
    } else if (err) {
        back_off(watch, err);
    } else if (!watch->has_news &&
               loop_now(loop_of(watch)) - watch->watch_began_ms < SHORT_WATCH_MS) {
        error_set(&why, ERROR_TRANSIENT, "the server ended the watch at once");
        back_off(watch, &why);
    } else {
        timer_set(watch->next, 0);
    }
}

static void ask_watch(struct kube_watch *watch)
{
    owned(chars) char *version = url_format("%s", watch->resource_version);
    owned(chars) char *target = text_format(
        "%s?watch=1&resourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=290",
        watch->kind->path, version);
    struct kube_call call = {
        .verb = KUBE_STREAM,
        .priority = HTTP_INVENTORY,
        .target = target,
        .timeout_ms = WATCH_TIMEOUT_MS,
        .on_chunk = on_piece,
    };
    watch->watch_began_ms = loop_now(loop_of(watch));
    watch->has_news = false;
    timer_set(watch->silence, SILENCE_MS);
    watch->exchange = kube_send(watch->session, &call, on_watch_end, watch);
}

static void on_next(void *context)
{
    struct kube_watch *watch = context;
    if (watch->resource_version)
        ask_watch(watch);
    else
        ask_list(watch);
}

struct kube_watch *kube_watch_new(struct kube_session *session, const struct kube_kind *kind,
                                  const struct kube_store *store, timer_fn changed, void *context)
{
    struct kube_watch *watch = mem_new(sizeof *watch);
    watch->session = session;
    watch->kind = kind;
    watch->store = *store;
    watch->changed = changed;
    watch->context = context;
    watch->frames = kube_frames_new(kind->members, apply_event, watch);
    watch->next = timer_new(loop_of(watch), on_next, watch);
    watch->silence = timer_new(loop_of(watch), on_silence, watch);
    watch->unreadable_pause = timer_new(loop_of(watch), tell_unreadable, watch);
    return watch;
}

void kube_watch_free(struct kube_watch *watch)
{
    if (!watch)
        return;
    kube_cancel(watch->exchange);
    drop_list(watch);
    timer_free(watch->next);
    timer_free(watch->silence);
    timer_free(watch->unreadable_pause);
    kube_frames_free(watch->frames);
    mem_free(watch->resource_version);
    mem_free(watch);
}

void kube_watch_start(struct kube_watch *watch)
{
    timer_set(watch->next, 0);
}

bool kube_watch_is_known(const struct kube_watch *watch)
{
    return watch->is_known;
}

const char *kube_watch_trouble(const struct kube_watch *watch)
{
    return watch->trouble;
}
