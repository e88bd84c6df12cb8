/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Freezes: no voluntary work on a cluster, or on all, until a time; or no move of one node.
 * Journaled; they end by themselves.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/access/persons.h"
#include "broker/service/service_parts.h"

#include <string.h>

enum { REASON_MAX = 200, LONGEST_S = 366 * 24 * 3600 };

static json_t *freeze_encode(const struct freeze *freeze)
{
    json_t *value = json_make("{ss ss ss so}", "cluster", freeze->cluster, "reason", freeze->reason,
                              "by", freeze->by, "until", json_wall(freeze->until));

    if (freeze->node[0] != '\0')
        json_object_set_new(value, "node", json_text(freeze->node));
    if (freeze->move[0] != '\0') {
        json_object_set_new(value, "transfer", json_text(freeze->transfer));
        json_object_set_new(value, "move", json_text(freeze->move));
    }
    return value;
}

json_t *freezes_describe(const struct service *service, bool of_nodes)
{
    struct wall_time now = loop_wall(service->world->loop);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];

        if (freeze->until.ms > now.ms && (freeze->node[0] != '\0') == of_nodes)
            json_array_append_new(rows, freeze_encode(freeze));
    }
    return rows;
}

/* Their kind and key in the journal: one for each cluster, or for each node.  A sluice that knows
   no freezes of nodes must not take one for the freeze of a cluster. */
static const char *freeze_kind(const struct freeze *freeze)
{
    return freeze->node[0] != '\0' ? "node_freeze" : "freeze";
}

static char *freeze_id(const struct freeze *freeze)
{
    if (freeze->node[0] != '\0')
        return text_format("%s/%s", freeze->cluster, freeze->node);
    return mem_copy_chars(freeze->cluster[0] != '\0' ? freeze->cluster : "*");
}

static void put_freeze(struct journal_batch *batch, const struct freeze *freeze, json_t *value)
{
    owned(chars) char *id = freeze_id(freeze);

    journal_put(batch, freeze_kind(freeze), id, freeze->rev, value);
}

static struct freeze *find_freeze(struct service *service, const char *cluster, const char *node)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        struct freeze *freeze = &service->guard.freezes.items[i];

        if (text_equal(freeze->cluster, cluster) && text_equal(freeze->node, node))
            return freeze;
    }
    return NULL;
}

/* The content of an unreadable freeze is unknown: it holds until a person ends it. */
static void add_stand_in(struct service *service, const char *id)
{
    struct freeze *freeze = array_add(&service->guard.freezes);
    const char *slash = strchr(id, '/');
    struct error err;

    freeze->cluster = slash ? text_format("%.*s", (int)(slash - id), id)
                            : mem_copy_chars(text_equal(id, "*") ? "" : id);
    freeze->node = mem_copy_chars(slash ? slash + 1 : "");
    freeze->transfer = mem_copy_chars("");
    freeze->move = mem_copy_chars("");
    freeze->reason = mem_copy_chars("its record in the journal cannot be read");
    freeze->by = mem_copy_chars("sluice");
    require(wall_parse("9999-12-31T00:00:00Z", false, &freeze->until, &err) == 0);
}

void freezes_put_stand_ins(struct service *service, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        struct freeze *freeze = &service->guard.freezes.items[i];
        owned(json) json_t *value = freeze_encode(freeze);

        if (freeze->rev > 0)
            continue;
        put_freeze(batch, freeze, value);
        freeze->rev = 1;
    }
}

/* A record that is not what its kind and its key say would be written under another key. */
static int check_key(const struct freeze *freeze, const char *kind, const char *id,
                     struct error *err)
{
    owned(chars) char *own = freeze_id(freeze);

    if (text_equal(own, id) && text_equal(freeze_kind(freeze), kind))
        return 0;
    return error_set(err, ERROR_CORRUPT, "it is the %s of %s", freeze_kind(freeze), own);
}

struct loading {
    struct service *service;
    const char *kind;
};

static int load_freeze(void *context, const char *id, uint64_t rev, const json_t *value,
                       struct error *err)
{
    const struct loading *loading = context;
    struct freeze freeze = {
        .cluster = mem_copy_chars(json_text_or(value, "cluster", "?")),
        .node = mem_copy_chars(json_text_or(value, "node", "")),
        .transfer = mem_copy_chars(json_text_or(value, "transfer", "")),
        .move = mem_copy_chars(json_text_or(value, "move", "")),
        .rev = rev,
    };
    const char *texts[4];

    if (json_need_text(value, "cluster", &texts[0], err) < 0 ||
        json_need_text(value, "reason", &texts[1], err) < 0 ||
        json_need_text(value, "by", &texts[2], err) < 0 ||
        json_need_text(value, "until", &texts[3], err) < 0 ||
        wall_parse(texts[3], false, &freeze.until, err) < 0 ||
        check_key(&freeze, loading->kind, id, err) < 0) {
        err->kind = ERROR_CORRUPT;
        freeze_clear(&freeze);
        add_stand_in(loading->service, id);
        return -1;
    }
    freeze.reason = mem_copy_chars(texts[1]);
    freeze.by = mem_copy_chars(texts[2]);
    *array_add(&loading->service->guard.freezes) = freeze;
    return 0;
}

int freezes_load(struct service *service, struct error *err)
{
    static const char *const kinds[] = { "freeze", "node_freeze" };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct loading loading = { service, kinds[i] };

        if (journal_load(service->world->journal, kinds[i], load_freeze, &loading, err) < 0)
            return -1;
    }
    return 0;
}

void freezes_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        struct freeze *freeze = &service->guard.freezes.items[i];
        owned(json) json_t *value = NULL;

        require(freeze->rev > 0);
        freeze->until.ms += by_ms;
        value = freeze_encode(freeze);
        put_freeze(batch, freeze, value);
        freeze->rev++;
    }
}

static int check_cluster(const struct service *service, const char *cluster, struct error *err)
{
    if (cluster[0] != '\0' && !config_cluster(service->config, cluster))
        return config_refuse_cluster(service->config, cluster, err);
    return 0;
}

/* Nodes come and go: their freezes are forgotten once they are over. */
static int forget_over(struct service *service, struct wall_time now, struct error *err)
{
    struct journal_batch *batch = NULL;

    for (size_t i = service->guard.freezes.count; i-- > 0;) {
        struct freeze *freeze = &service->guard.freezes.items[i];
        owned(chars) char *id = freeze_id(freeze);

        if (freeze->node[0] == '\0' || freeze->until.ms > now.ms)
            continue;
        if (!batch)
            batch = journal_batch_new(service->epoch);
        journal_remove(batch, freeze_kind(freeze), id, freeze->rev);
        freeze_clear(freeze);
        array_remove(&service->guard.freezes, i);
    }
    return batch ? journal_commit(service->world->journal, &batch, err) : 0;
}

/* In the place of the freeze of the same node, cluster, or of all.  Takes what `next` owns. */
static void replace_freeze(struct service *service, struct freeze next)
{
    struct freeze *freeze = find_freeze(service, next.cluster, next.node);

    if (freeze)
        freeze_clear(freeze);
    else
        freeze = array_add(&service->guard.freezes);
    *freeze = next;
}

/* Into one batch; each counts as stored. */
static void put_all(struct service *service, struct freeze *freezes, size_t count,
                    struct journal_batch *batch)
{
    struct wall_time now = loop_wall(service->world->loop);

    for (size_t i = 0; i < count; i++) {
        struct freeze *freeze = &freezes[i];
        const struct freeze *known = find_freeze(service, freeze->cluster, freeze->node);
        owned(json) json_t *value = freeze_encode(freeze);
        owned(json) json_t *story = json_make("{ss ss sO}", "event",
                                              freeze->until.ms > now.ms ? "freeze" : "unfreeze",
                                              "by", freeze->by, "freeze", value);

        /* The freeze of a cluster that left the configuration can only end. */
        require(freeze->until.ms <= now.ms || freeze->cluster[0] == '\0' ||
                config_cluster(service->config, freeze->cluster));
        require(freeze->node[0] == '\0' || freeze->cluster[0] != '\0');
        if (freeze->node[0] != '\0') { /* `events --node` and --move find it */
            json_object_set_new(story, "node", json_text(freeze->node));
            json_object_set_new(story, "transfer", json_text(freeze->transfer));
            json_object_set_new(story, "move", json_text(freeze->move));
        }
        freeze->rev = known ? known->rev : 0;
        put_freeze(batch, freeze, value);
        journal_event(batch, now, story);
        freeze->rev++;
    }
}

int freezes_set(struct service *service, struct freeze *freezes, size_t count, struct error *err)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    int result = forget_over(service, loop_wall(service->world->loop), err);

    put_all(service, freezes, count, batch);
    if (result == 0)
        result = journal_commit(service->world->journal, &batch, err);
    journal_batch_free(batch);
    if (result < 0)
        runner_break(service->runner, err);
    for (size_t i = 0; i < count; i++) {
        if (result == 0)
            replace_freeze(service, freezes[i]);
        else
            freeze_clear(&freezes[i]);
    }
    if (result == 0)
        stays_withdraw(service);
    timer_set_sooner(service->timer, 0); /* the plan is made again at once */
    return result;
}

static json_t *set_freeze(struct service *service, struct freeze next, struct error *err)
{
    owned(json) json_t *value = freeze_encode(&next);

    return freezes_set(service, &next, 1, err) < 0 ? NULL : json_incref(value);
}

int reason_read(const json_t *request, const char **ret_reason, struct error *err)
{
    if (json_need_text(request, "reason", ret_reason, err) < 0)
        return -1;
    if ((*ret_reason)[0] == '\0' || strlen(*ret_reason) > REASON_MAX)
        return error_set(err, ERROR_INVALID, "reason: from 1 to %d bytes", REASON_MAX);
    if (!text_is_one_line(*ret_reason))
        return error_set(err, ERROR_INVALID, "reason: one line without control characters");
    return 0;
}

/* `until`, or `for_s` from now: a caller that gives it needs no clock. */
int freeze_read_until(const struct service *service, const json_t *request,
                      struct wall_time *ret_until, struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);
    const char *text;
    int64_t for_s;

    if (json_object_get(request, "for_s")) {
        if (json_need_int(request, "for_s", &for_s, err) < 0)
            return -1;
        if (for_s < 1 || for_s > LONGEST_S)
            return error_set(err, ERROR_INVALID, "for_s: from 1 to %d", LONGEST_S);
        *ret_until = wall_whole_second(now.ms + for_s * SECOND_MS);
        return 0;
    }
    if (json_need_text(request, "until", &text, err) < 0 ||
        wall_parse(text, false, ret_until, err) < 0)
        return -1;
    return ret_until->ms > now.ms ? 0 : error_set(err, ERROR_INVALID, "until: %s has passed", text);
}

/* The cluster of a node: the one that is given, or the only one that has it. */
static const char *cluster_of_node(const struct service *service, const char *cluster,
                                   const char *node, struct error *err)
{
    const struct config *config = service->config;
    const char *found = NULL;

    for (size_t i = 0; i < config->cluster_count; i++) {
        const struct config_cluster *one = &config->clusters[i];

        if ((cluster[0] != '\0' && !text_equal(one->name, cluster)) ||
            !map_get(fleet_snapshot(service->fleet, one)->nodes, node))
            continue;
        if (found) {
            error_set(err, ERROR_INVALID,
                      "both %s and %s have a node %.100s: name the cluster (--cluster)", found,
                      one->name, node);
            return NULL;
        }
        found = one->name;
    }
    if (!found && service_find_node(service, node, err) == 0)
        error_set(err, ERROR_NOT_FOUND, "cluster %s has no node %.100s", cluster, node);
    return found;
}

/* {cluster ("", or none: all), node}; a node that is given has a name: empty is never all. */
static int read_subject(const json_t *request, const char **ret_cluster, const char **ret_node,
                        struct error *err)
{
    *ret_cluster = *ret_node = NULL;
    if (json_find_text(request, "cluster", ret_cluster, err) < 0 ||
        json_find_text(request, "node", ret_node, err) < 0) {
        err->kind = ERROR_INVALID;
        return -1;
    }
    if (*ret_node && (*ret_node)[0] == '\0')
        return error_set(err, ERROR_INVALID, "node: a name is missing");
    *ret_cluster = *ret_cluster ? *ret_cluster : "";
    *ret_node = *ret_node ? *ret_node : "";
    return 0;
}

static struct freeze freeze_of(const char *cluster, const char *node, const char *reason,
                               const char *by, struct wall_time until)
{
    return (struct freeze){
        .cluster = mem_copy_chars(cluster),
        .node = mem_copy_chars(node),
        .transfer = mem_copy_chars(""),
        .move = mem_copy_chars(""),
        .reason = mem_copy_chars(reason),
        .by = mem_copy_chars(by),
        .until = until,
    };
}

/* A freeze of another person that holds as long: it protects work that the next one does not know.
   NULL: there is none. */
static const struct freeze *find_longer(struct service *service, const struct freeze *next)
{
    const struct freeze *known = find_freeze(service, next->cluster, next->node);

    return known && known->until.ms >= next->until.ms && !persons_agree(known->by, next->by) ? known
                                                                                             : NULL;
}

/* Takes what `next` owns. */
static json_t *keep_or_set(struct service *service, struct freeze next, struct error *err)
{
    const struct freeze *longer = find_longer(service, &next);
    json_t *answer;

    if (!longer)
        return set_freeze(service, next, err);
    freeze_clear(&next);
    answer = freeze_encode(longer);
    json_object_set_new(answer, "is_kept", json_true());
    return answer;
}

json_t *service_freeze(struct service *service, const json_t *request, const char *by,
                       struct error *err)
{
    const char *cluster, *node, *reason;
    struct wall_time until;

    if (read_subject(request, &cluster, &node, err) < 0 || reason_read(request, &reason, err) < 0 ||
        check_cluster(service, cluster, err) < 0 ||
        freeze_read_until(service, request, &until, err) < 0)
        return NULL;
    if (node[0] != '\0') {
        cluster = cluster_of_node(service, cluster, node, err);
        if (!cluster)
            return NULL;
    }
    return keep_or_set(service, freeze_of(cluster, node, reason, by, until), err);
}

/* A frozen node; without its cluster the first one of this name. */
static const struct freeze *find_by_node(struct service *service, const char *cluster,
                                         const char *node)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];

        if (text_equal(freeze->node, node) &&
            (cluster[0] == '\0' || text_equal(freeze->cluster, cluster)))
            return freeze;
    }
    return NULL;
}

/* In force, and maybe of a cluster that has left the configuration. */
static const struct freeze *find_to_end(struct service *service, const json_t *request,
                                        struct error *err)
{
    const char *cluster, *node;
    const struct freeze *freeze;

    if (read_subject(request, &cluster, &node, err) < 0)
        return NULL;
    freeze = node[0] != '\0' ? find_by_node(service, cluster, node)
                             : find_freeze(service, cluster, "");
    if (freeze && freeze->until.ms > loop_wall(service->world->loop).ms)
        return freeze;
    if (check_cluster(service, cluster, err) < 0)
        return NULL;
    if (node[0] != '\0')
        error_set(err, ERROR_NOT_FOUND, "node %.100s has no freeze of its own", node);
    else if (cluster[0] != '\0')
        error_set(err, ERROR_NOT_FOUND, "cluster %s has no freeze of its own", cluster);
    else
        error_set(err, ERROR_NOT_FOUND, "there is no freeze of all");
    return NULL;
}

json_t *service_unfreeze(struct service *service, const json_t *request, const char *by,
                         struct error *err)
{
    const struct freeze *freeze = find_to_end(service, request, err);
    struct wall_time now = loop_wall(service->world->loop);

    return freeze ? set_freeze(service,
                               freeze_of(freeze->cluster, freeze->node, "unfreeze", by, now), err)
                  : NULL;
}

/* ---- hosts in quarantine: a machine that came to one never served.  It ends by itself, or when a
   person says that the host is mended. ---- */

json_t *service_hosts(const struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);

    return json_make("{ss so so}", "kind", "hosts", "at", json_wall(now), "hosts",
                     attempts_hosts(service->runner->attempts, now));
}

json_t *service_release_host(struct service *service, const json_t *request, const char *by,
                             struct error *err)
{
    struct attempts *attempts = service->runner->attempts;
    struct wall_time now = loop_wall(service->world->loop);
    struct journal_batch *batch;
    const char *name;
    const char *key;
    json_t *row;

    if (json_need_text(request, "host", &name, err) < 0)
        return NULL;
    key = attempts_find_host(attempts, name, now, err);
    if (!key)
        return NULL;
    batch = journal_batch_new(service->epoch);
    row = attempts_release(attempts, key, by, now, batch);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        json_decref(row);
        return NULL;
    }
    runner_wake(service->runner);
    json_object_set_new(row, "by", json_text(by));
    return row;
}
