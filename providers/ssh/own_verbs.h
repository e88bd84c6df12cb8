/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the kind `ssh`, and what they share.
 */
#pragma once

#include "providers/ssh/own_call.h"

void own_list(struct provider *provider, const struct pool_address *pool, const char *page,
              provider_list_fn done, void *context);
void own_look(struct provider *provider, const struct pool_address *pool, const char *instance,
              provider_look_fn done, void *context);
void own_create(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context);
void own_remove(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context);
void own_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                 provider_done_fn done, void *context);

/* Looks at all machines that were not looked at just now; then `then`.  It does not wait until
   those that were silent last time are silent again. */
void own_sweep(struct own_call *call, void (*then)(struct own_call *call));

/* The machine as the pool's list shows it; false: the list has it not. */
bool own_instance(const struct own *own, const struct own_pool *pool,
                  const struct own_machine *machine, struct instance *ret_instance);

/* Whether it has been silent for so long that its fence may switch it off.  A machine that answers
   with another key, or refuses ours, is not silent. */
bool own_may_fence(const struct own *own, const struct own_machine *machine);

/* Whether it can be claimed. */
bool own_is_free(const struct own_machine *machine);

/* Whether its fence has said within the last minute, and after the machine fell silent, that the
   power is off. */
bool own_is_off(const struct own *own, const struct own_machine *machine);

/* Asks the fence whether the power of the machine is off (own_fence.c), and notes the answer in the
   machine; an error changes nothing there.  `then` in a turn of its own.  A call may ask many
   fences at the same time. */
typedef void (*own_fence_fn)(struct own_call *call, struct own_machine *machine,
                             const struct error *err);
void own_ask_power(struct own_call *call, struct own_machine *machine, own_fence_fn then);
void own_power_off(struct own_call *call, struct own_machine *machine, own_fence_fn then);

/* Ends the call's exchanges with fences: nothing more is told. */
void own_fences_clear(struct own_call *call);

/* Bootstrap tokens (own_token.c).  Without a kubeconfig there is none, and both are done. */
typedef void (*own_token_fn)(struct own_call *call, const struct error *err);
void own_make_token(struct own_call *call, own_token_fn then); /* sets call->secret and pins */
void own_drop_token(struct own_call *call, own_token_fn then); /* that of the order's key */

/* Whether the machine joined so lately that its token may still be good. */
bool own_may_have_token(const struct own_machine *machine);
