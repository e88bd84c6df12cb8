/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the real servers of a pair hold, as they and not the service say it: what a move must leave
 * alone, but for its own nodes.
 */
#pragma once

#include "tests/real/pair.h"

struct picture {
    json_t *nodes[CLUSTERS]; /* name -> what is ours or a person's to say of it */
    json_t *pods[CLUSTERS];  /* UID -> node, of those that are bound and stay */
};

void picture_take(struct pair *pair, struct picture *ret_picture);
void picture_clear(struct picture *picture);

/* Fails the test unless the last order, and nothing else, has been carried out since then. */
void picture_check_move(struct pair *pair, const struct picture *before);
