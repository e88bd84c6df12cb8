/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a transfer, in order.  Rows above the point of no return can be undone; below it the
 * only way is forward, if need be to a new machine in the pool where the old one was.
 */
#include "broker/transfer/steps.h"

#include "base/timestamp.h"

/* clang-format off */
const struct step transfer_steps[STEP_COUNT] = {
    /* name          look and act     deadline          if late         undo       what it does */
    [STEP_ANNOUNCE]  = { "announce",  step_announce,  10 * MINUTE_MS, LATE_UNDO,     undo_node,
                         "writes the departure time on the node" },
    [STEP_NOTICE]    = { "notice",    step_notice,    0,              LATE_OWN,      NULL,
                         "waits until the notice has passed" },
    [STEP_CORDON]    = { "cordon",    step_cordon,    0,              LATE_OWN,      undo_node,
                         "closes the node, and waits for the whole move to be closed" },
    [STEP_DRAIN]     = { "drain",     step_drain,     0,              LATE_OWN,      NULL,
                         "evicts, until each pod's own deadline" },
    [STEP_FORCE]     = { "force",     step_force,     15 * MINUTE_MS, LATE_OPERATOR, NULL,
                         "deletes what would not leave" },
    /* ---- point of no return: the removal that the cloud accepted ---- */
    [STEP_RELEASE]   = { "release",   step_release,   30 * MINUTE_MS, LATE_OPERATOR, NULL,
                         "the cloud deletes the machine; waits until it is provably gone" },
    [STEP_CLEAR]     = { "clear",     step_clear,     10 * MINUTE_MS, LATE_NEXT,     NULL,
                         "removes the pods and the Node object that are left" },
    [STEP_ACQUIRE]   = { "acquire",   step_acquire,   45 * MINUTE_MS, LATE_BACK,     NULL,
                         "the cloud makes a machine in the target pool" },
    [STEP_JOIN]      = { "join",      step_join,      0,              LATE_BACK,     NULL,
                         "waits for the Node, Ready, with all its GPUs; lifts the start-up taint" },
    [STEP_HAND_OVER] = { "hand over", step_hand_over, 10 * MINUTE_MS, LATE_NEXT,     NULL,
                         "sees once more that the node serves; stores the lead time" },
};
/* clang-format on */

bool step_can_undo(int step)
{
    return step < STEP_RELEASE;
}

const char *step_way_back(int step)
{
    return step_can_undo(step)    ? "yes"
           : step == STEP_RELEASE ? "until the cloud accepts the removal"
                                  : "no";
}

void steps_diagram(struct text *out)
{
    text_add(out, "stateDiagram-v2\n    [*] --> announce\n");
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &transfer_steps[i];
        const char *name = i == STEP_HAND_OVER ? "hand_over" : step->name;
        const char *next = i + 1 == STEP_HAND_OVER ? "hand_over"
                           : i + 1 < STEP_COUNT    ? transfer_steps[i + 1].name
                                                   : "[*]";

        text_add(out, "    %s: %s - %s\n    %s --> %s\n", name, step->name, step->does, name, next);
        if (step_can_undo(i))
            text_add(out, "    %s --> undone: withdrawn%s\n", name,
                     step->late == LATE_UNDO ? ", late" : "");
        if (i == STEP_RELEASE)
            text_add(out,
                     "    %s --> drain: opened, or not empty\n"
                     "    %s --> undone: withdrawn before the removal is accepted\n",
                     name, name);
        if (step->late == LATE_BACK)
            text_add(out, "    %s --> acquire: next attempt\n", name);
    }
    text_add(out, "    undone --> [*]\n");
}
