/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From an intent to its one HTTP exchange.  Private to this folder.
 */
#pragma once

#include "broker/transfer/effect.h"

/* Whether a freeze of the source cluster keeps it from being sent. */
bool effect_stops_at_freeze(enum effect_kind kind);

/* Whether it may happen in this step at all: forced deletes never before their step, nothing that
   cannot be taken back before the point of no return. */
bool effect_fits_step(enum effect_kind kind, int step);

/* Makes the intent of what the effect will be done to, as it is seen now. */
void effect_prepare(struct effect *effect, const struct effect_target *target,
                    struct intent *intent);

/* Sends the exchange of a journaled intent; effect_answered() is called once, later. */
void effect_send(const struct intent *intent);

/* Takes the answer: err NULL when it was accepted. */
void effect_answered(struct effect *effect, const struct error *err);
