/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of the origin: told of their departure, closed, kept closed, and given back.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/sides/kube/look.h"
#include "broker/sides/kube/slurmd.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"

#include <string.h>

enum {
    AGAIN_SIZE = 80,
};

/* Marks for other controllers while the transfer holds the node: autoscalers and repair controllers
   must not touch it, and load balancers must send it no new requests. */
static const struct {
    const char *key;
    const char *value;
    bool is_label;
} signs[] = {
    { "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true", false },
    { "karpenter.sh/do-not-disrupt", "true", false },
    { "node.kubernetes.io/exclude-from-external-load-balancers", "true", true },
};

static bool is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; at && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Adds the marks that are missing, and the annotation that lists those that the undo removes. */
static void add_signs(const struct node *node, json_t *annotations, json_t *labels)
{
    const char *ours = node_annotation(node, SLUICE_NOTE_ADDED);
    owned(text) struct text *added = text_new(256);

    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        json_t *into = signs[i].is_label ? labels : annotations;
        bool is_there = signs[i].is_label ? node_label(node, signs[i].key) != NULL
                                          : node_annotation(node, signs[i].key) != NULL;

        if (into && !is_there)
            json_put(into, signs[i].key, json_text(signs[i].value));
        if ((into && !is_there) || (is_there && is_word_of(ours, signs[i].key)))
            text_add(added, "%s%s", added->length > 0 ? " " : "", signs[i].key);
    }
    json_object_set_new(annotations, SLUICE_NOTE_ADDED, json_text(added->chars));
}

static void take_back_signs(const struct node *node, json_t *annotations, json_t *labels)
{
    const char *ours = node_annotation(node, SLUICE_NOTE_ADDED);

    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (is_word_of(ours, signs[i].key))
            json_put(signs[i].is_label ? labels : annotations, signs[i].key, json_null());
    json_object_set_new(annotations, SLUICE_NOTE_ADDED, json_null());
}

/* When the node was last known to be as the snapshot has it, in loop time. */
static int64_t node_seen_ms(const struct runner *runner, const struct transfer *transfer)
{
    return side_origin_snapshot(runner, transfer)->nodes_seen_ms;
}

/* The source node in the snapshot, if it is still the one that was bound at the start. */
static enum presence find_node(const struct runner *runner, const struct transfer *transfer,
                               const struct node **ret_node)
{
    const struct node *node = side_leaving_node(runner, transfer);

    if (!side_origin_snapshot(runner, transfer)->is_known)
        return PRESENCE_UNKNOWN;
    if (!node)
        return PRESENCE_NO;
    *ret_node = node;
    return PRESENCE_YES;
}

/* The annotations: whose node it is, when it leaves and why. */
static json_t *notes_of(const struct transfer *transfer)
{
    char departure[WALL_TEXT_SIZE];
    owned(chars) char *reason = text_format("%s (to pool %s)", transfer->reason,
                                            transfer->target->name);

    return json_make("{ssssss}", SLUICE_NOTE_TRANSFER, transfer->id, SLUICE_NOTE_DEPARTURE,
                     wall_format(transfer->departure, departure), SLUICE_NOTE_REASON, reason);
}

/* The transfer of another broker that has marked the node.  Without this check two brokers with a
   journal each could both remove its machine, and both order one in its place.  The patch that
   marks is bound to the version read, so one of the two is first. */
static const char *mark_of_another(const struct node *node, const struct transfer *transfer)
{
    const char *mark = node_annotation(node, SLUICE_NOTE_TRANSFER);

    return mark && !text_equal(mark, transfer->id) ? mark : NULL;
}

/* The snapshot does not show the node: a direct read must confirm this. */
static bool is_gone(struct runner *runner, struct transfer *transfer)
{
    return look_at_node(runner, transfer, transfer->step_began_ms) == NODE_LOOK_GONE;
}

/* Whether the node may still be moved; tells why not. */
static enum verdict judge_node(struct runner *runner, struct transfer *transfer,
                               const struct node *node)
{
    const char *rival = node_rival(node);
    const char *other = mark_of_another(node, transfer);

    if (!fleet_is_ephemeral(runner->config, node))
        transfer_wait_for(transfer, "node %s lost its label %s", transfer->node,
                          runner->config->ephemeral_label);
    else if (rival)
        transfer_wait_for(transfer, "node %s is another controller's: taint %s", transfer->node,
                          rival);
    else if (other)
        transfer_wait_for(transfer, "node %s is another broker's: it is marked by transfer %.100s",
                          transfer->node, other);
    else
        return slurmd_is_known(runner, transfer);
    return STEP_UNDO;
}

/* Looks for the node.  Returns STEP_DONE when the step may continue, or the verdict that ends
   it. */
static enum verdict look_for_node(struct runner *runner, struct transfer *transfer,
                                  const struct node **ret_node)
{
    switch (find_node(runner, transfer, ret_node)) {
    case PRESENCE_UNKNOWN:
        transfer_wait_for(transfer, "cluster %s to be seen", transfer->source->cluster->name);
        return STEP_WAIT;
    case PRESENCE_NO:
        transfer_wait_for(transfer, "node %s is not there any more", transfer->node);
        return is_gone(runner, transfer) ? STEP_UNDO : STEP_WAIT;
    case PRESENCE_YES:
        break;
    }
    return judge_node(runner, transfer, *ret_node);
}

/* Cordons the node, with the marks for other controllers; `was` records the state that the undo
   restores. */
static void close_node(struct runner *runner, struct transfer *transfer, const struct node *node,
                       const char *key, const char *was)
{
    require(text_equal(node->uid, transfer->node_uid)); /* never by name alone */

    owned(json) json_t *notes = notes_of(transfer);
    owned(json) json_t *labels = json_object();
    struct effect_target target = { .object = key, .node = node };

    json_object_set_new(notes, SLUICE_NOTE_WAS_CORDONED, json_text(was));
    add_signs(node, notes, labels);
    target.annotations = notes;
    target.labels = labels;
    effect_ask(runner, transfer, &kube_effect_cordon, &target, node_seen_ms(runner, transfer));
}

/* The repeated cordon is a second effect with its own record. */
static const char *again_key(const struct transfer *transfer, char out[AGAIN_SIZE])
{
    text_print(out, AGAIN_SIZE, "%s/again", transfer->node_uid);
    return out;
}

/* Whether a direct read shows that our cordon was removed again after sluice had restored it. */
static bool is_taken_twice(struct transfer *transfer, const struct effect *again)
{
    const char *opener;

    if (look_is_closed(transfer, &opener) || !again || again->answered_ms == 0 ||
        again->is_in_flight || again->outcome != ERROR_NONE)
        return false;
    transfer_wait_for(transfer, "the cordon of node %s was taken away twice, the last time by %s",
                      transfer->node, opener[0] != '\0' ? opener : "an unknown author");
    log_warn("cordon_taken", FIELD_TEXT("transfer", transfer->id),
             FIELD_TEXT("text", transfer->waiting));
    return true;
}

/* A node in the drain stays cordoned, because a new pod on it would be deleted at once.  The first
   removal of the cordon may be a mistake, and is undone.  The second one is intended, and the node
   stays. */
static enum verdict keep_closed(struct runner *runner, struct transfer *transfer,
                                const struct node *node)
{
    int64_t now = loop_now(runner->world->loop);
    char key[AGAIN_SIZE];
    const struct effect *again = effect_find(transfer, &kube_effect_cordon,
                                             again_key(transfer, key));
    const char *was = node->is_unschedulable ? node_annotation(node, SLUICE_NOTE_WAS_CORDONED)
                                             : NULL;
    const char *opener;

    if (node->is_unschedulable && node_has_taint(node, SLUICE_TAINT_LEAVING)) {
        transfer->opened_ms = 0;
        transfer_wait_for(transfer, "the scheduler to see that node %s is closed again",
                          transfer->node);
        return again && now - again->answered_ms < runner->config->drain.settle_ms ? STEP_WAIT
                                                                                   : STEP_DONE;
    }
    if (transfer->opened_ms == 0)
        transfer->opened_ms = now;
    transfer_wait_for(transfer, "the cordon of node %s, which was taken away, to be put back",
                      transfer->node);
    if (now - transfer->opened_ms >= STEP_CLOSE_MS)
        return STEP_UNDO;
    /* A watch may lag behind our own patch. */
    if (look_at_node(runner, transfer, again ? again->answered_ms + 1 : transfer->opened_ms) !=
            NODE_LOOK_OURS ||
        look_is_closed(transfer, &opener))
        return STEP_WAIT;
    if (is_taken_twice(transfer, again))
        return STEP_UNDO;
    close_node(runner, transfer, node, key, was ? was : "false");
    return STEP_WAIT;
}

enum verdict kube_keep_closed(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    const struct node *node;
    enum verdict verdict;

    /* A node that vanishes during its drain has lost its machine, and the pods with it. */
    if (snapshot->is_known && !map_get(snapshot->nodes, transfer->node))
        return STEP_DONE;
    verdict = look_for_node(runner, transfer, &node);
    return verdict == STEP_DONE ? keep_closed(runner, transfer, node) : verdict;
}

void kube_announce(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    require(text_equal(node->uid, transfer->node_uid));

    owned(json) json_t *notes = notes_of(transfer);
    struct effect_target target = {
        .object = transfer->node_uid,
        .node = node,
        .annotations = notes,
    };

    if (!slurmd_is_told(runner, transfer))
        return;
    add_signs(node, notes, NULL);
    effect_ask(runner, transfer, &kube_effect_announce, &target, node_seen_ms(runner, transfer));
}

enum verdict kube_check(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = NULL;
    enum verdict verdict = look_for_node(runner, transfer, &node);

    return verdict == STEP_DONE ? slurmd_check(runner, transfer) : verdict;
}

static enum verdict close_own(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = NULL;
    enum verdict verdict = look_for_node(runner, transfer, &node);

    if (verdict != STEP_DONE)
        return verdict;
    if (node_annotation(node, SLUICE_NOTE_WAS_CORDONED) && side_is_marked(node, transfer) &&
        node->is_unschedulable)
        return STEP_DONE;

    /* If one node cannot be cordoned, only its transfer gives up; the other nodes of its move wait
     * for this decision. */
    if (loop_now(runner->world->loop) - transfer->step_began_ms >= STEP_CLOSE_MS)
        return STEP_UNDO;
    transfer_wait_for(transfer, "the cordon to show on the node");
    close_node(runner, transfer, node, transfer->node_uid,
               node->is_unschedulable ? "true" : "false");
    return STEP_WAIT;
}

/* Both at once. */
enum verdict kube_close(struct runner *runner, struct transfer *transfer)
{
    enum verdict tenant = slurmd_close(runner, transfer);
    enum verdict own = tenant == STEP_UNDO ? STEP_UNDO : close_own(runner, transfer);

    return own == STEP_DONE ? tenant : own;
}

static enum verdict undo_own(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = NULL;
    int64_t seen_ms = node_seen_ms(runner, transfer);
    owned(json) json_t *notes = NULL;
    owned(json) json_t *labels = NULL;
    struct effect_target target = { .object = transfer->node_uid };
    char key[AGAIN_SIZE];

    switch (find_node(runner, transfer, &node)) {
    case PRESENCE_UNKNOWN:
        transfer_wait_for(transfer, "cluster %s to be seen", transfer->source->cluster->name);
        return STEP_WAIT;
    case PRESENCE_NO:
        transfer_wait_for(transfer, "a direct read of the node");
        return is_gone(runner, transfer) ? STEP_DONE : STEP_WAIT;
    case PRESENCE_YES:
        break;
    }
    /* A patch that is still under way, or whose outcome is unknown, could take effect later. */
    if (effect_is_open(transfer, &kube_effect_announce, transfer->node_uid, seen_ms) ||
        effect_is_open(transfer, &kube_effect_cordon, transfer->node_uid, seen_ms) ||
        effect_is_open(transfer, &kube_effect_cordon, again_key(transfer, key), seen_ms)) {
        transfer_wait_for(transfer, "the outcome of an earlier patch of the node");
        return STEP_WAIT;
    }
    if (!side_is_marked(node, transfer)) {
        enum node_look look = look_at_node(runner, transfer, transfer->step_began_ms);

        transfer_wait_for(transfer, "a direct read of the node");
        return look == NODE_LOOK_STATIC || look == NODE_LOOK_GONE ? STEP_DONE : STEP_WAIT;
    }

    notes = json_make("{snsnsnsn}", SLUICE_NOTE_TRANSFER, SLUICE_NOTE_DEPARTURE, SLUICE_NOTE_REASON,
                      SLUICE_NOTE_WAS_CORDONED);
    labels = json_object();
    take_back_signs(node, notes, labels);
    target.node = node;
    target.annotations = notes;
    target.labels = labels;
    transfer_wait_for(transfer, "the node to be as it was");
    effect_ask(runner, transfer, &kube_effect_restore, &target, seen_ms);
    return STEP_WAIT;
}

/* Neither waits for the other. */
enum verdict kube_undo(struct runner *runner, struct transfer *transfer)
{
    enum verdict own = undo_own(runner, transfer);
    owned(chars) char *waiting = mem_copy_chars(transfer->waiting);
    enum verdict tenant = slurmd_undo(runner, transfer);

    if (tenant == STEP_DONE)
        transfer_wait_for(transfer, "%s", waiting);
    return own == STEP_DONE ? tenant : own;
}
