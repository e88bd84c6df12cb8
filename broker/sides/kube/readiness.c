/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See readiness.h.
 */
#include "broker/sides/kube/readiness.h"

#include "base/text.h"
#include "base/text_items.h"
#include "clusters/gpus.h"

#include <inttypes.h>
#include <string.h>

enum { ITEM_SIZE = 320, SKEW_MS = 90 * SECOND_MS };

static void add(struct text *missing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct text *missing, const char *format, ...)
{
    char sentence[ITEM_SIZE];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    text_add(missing, "%s%s", missing->length > 0 ? "; " : "", sentence);
}

/* The next item of a list with commas; false at the end. */
static bool next_item(const char **list, char item[ITEM_SIZE])
{
    const char *found;
    size_t length;

    if (!text_items_next(list, &found, &length))
        return false;
    text_print(item, ITEM_SIZE, "%.*s", (int)length, found);
    return true;
}

/* A Node of the machine's name that is not its own: left from another machine. */
static void describe_absence(const struct readiness *readiness, struct text *missing)
{
    const struct node *other = map_get(readiness->snapshot->nodes, readiness->machine);

    if (other)
        add(missing, "the Node of machine %s to register (a Node of that name has provider ID %s)",
            readiness->machine, other->provider_id[0] != '\0' ? other->provider_id : "none");
    else
        add(missing, "the Node of machine %s to register", readiness->machine);
}

/* A Node under the machine's own provider ID may still be an older one's object. */
static bool is_old(const struct readiness *readiness)
{
    const struct node *node = readiness->node;

    return text_equal(node->uid, readiness->old_uid) || node->is_leaving ||
           (node->created.ms > 0 && snapshot_wall(readiness->snapshot, node->created).ms + SKEW_MS <
                                        readiness->not_before.ms);
}

static void describe_taints(const struct readiness *readiness, struct text *missing)
{
    static const char *const own[] = {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    };
    const char *list = readiness->wanted->startup_taints;
    char key[ITEM_SIZE];

    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (node_has_taint(readiness->node, own[i]))
            add(missing, "taint %s to be lifted", own[i]);
    while (next_item(&list, key))
        if (node_has_taint(readiness->node, key))
            add(missing, "taint %s to be lifted", key);
}

static void describe_labels(const struct readiness *readiness, struct text *missing)
{
    const char *list = readiness->wanted->labels;
    char key[ITEM_SIZE];

    while (next_item(&list, key))
        if (!node_label(readiness->node, key))
            add(missing, "label %s", key);
}

static void describe_daemon(const struct readiness *readiness, const char *daemon,
                            struct text *missing)
{
    require(strchr(daemon, '/')); /* the configuration was checked */

    const char *name = strchr(daemon, '/') + 1;
    size_t length = (size_t)(name - 1 - daemon);
    const struct pod *found = NULL;
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(readiness->snapshot, readiness->node->name,
                                                     &count);

    for (size_t i = 0; i < count; i++) {
        const struct pod *pod = pods[i];

        if (!text_equal(pod->owner_kind, "DaemonSet") || !text_equal(pod->owner_name, name) ||
            strlen(pod->namespace) != length || strncmp(pod->namespace, daemon, length) != 0)
            continue;
        if (pod->is_ready && pod->deletion.ms == 0)
            return;
        found = pod;
    }
    if (found)
        add(missing, "pod %s of DaemonSet %s to be Ready", found->name, daemon);
    else
        add(missing, "a pod of DaemonSet %s", daemon);
}

/* Why the number of GPUs is uncertain: accelerators that are not counted, devices that may not be
   read, or slices, from which whole GPUs are only concluded.  This is no failure of the machine:
   its owner may have configured it so. */
static void describe_doubt(const struct snapshot *snapshot, const struct node *node,
                           struct text *doubt)
{
    owned(text) struct text *others = text_new(ITEM_SIZE / 2);
    owned(text) struct text *slices = text_new(ITEM_SIZE / 2);

    gpus_uncounted(snapshot, node, others);
    gpus_slices(snapshot, node, slices);
    if (others->length > 0)
        text_add(doubt, ", but %s, which sluice does not count: an operator must decide",
                 others->chars);
    else if (!snapshot->devices_are_known)
        text_add(doubt, ", but its devices of Dynamic Resource Allocation cannot be read: an "
                        "operator must decide");
    else if (slices->length > 0)
        text_add(doubt, ", but cut into %s: an operator must decide", slices->chars);
}

static void describe_gpus(const struct readiness *readiness, struct text *missing)
{
    int64_t gpus = gpus_of_node(readiness->snapshot, readiness->node);
    owned(text) struct text *doubt = text_new(ITEM_SIZE);

    if (gpus == readiness->gpus)
        return;
    describe_doubt(readiness->snapshot, readiness->node, doubt);
    add(missing, "%" PRId64 " of %" PRId64 " GPUs allocatable%s", gpus, readiness->gpus,
        doubt->chars);
}

bool readiness_is_other(const struct snapshot *snapshot, const struct node *node, int64_t gpus)
{
    owned(text) struct text *doubt = text_new(ITEM_SIZE);

    describe_doubt(snapshot, node, doubt);
    return gpus_of_node(snapshot, node) != gpus && doubt->length > 0;
}

void readiness_describe(const struct readiness *readiness, struct text *missing)
{
    const struct node *node = readiness->node;
    const char *daemons = readiness->wanted->daemons;
    char daemon[ITEM_SIZE];

    if (!node) {
        describe_absence(readiness, missing);
        return;
    }
    if (is_old(readiness)) {
        add(missing, "the old Node object %s (UID %s) to go", node->name, node->uid);
        return;
    }
    if (!node->is_ready)
        add(missing, "Node %s to be Ready", node->name);
    describe_gpus(readiness, missing);
    describe_taints(readiness, missing);
    describe_labels(readiness, missing);
    while (next_item(&daemons, daemon))
        describe_daemon(readiness, daemon, missing);
}
