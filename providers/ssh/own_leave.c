/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * remove(): a machine leaves its cluster, and is parked.  The machine is looked at first; its
 * script refuses if another order has it by then.
 *
 * A machine that does not answer is not gone.  Only where it has a fence, and has been silent for
 * `fence_after`, its power is switched off instead.  The caller has drained it.  A machine that
 * answers with another key is not silent: it may be another one, which serves elsewhere.
 */
#include "base/text.h"
#include "providers/ssh/own_verbs.h"

static void finish(struct own_call *call, enum error_kind kind, const char *text)
{
    struct error err = { 0 };

    error_set(&err, kind, "machine %s: %s", call->instance, text);
    own_finish(call, "", &err);
}

/* A token of a join that failed has no further use; it expires by itself, too. */
static void on_token(struct own_call *call, const struct error *err)
{
    (void)err;
    own_finish(call, call->machine->report.kind, NULL);
}

static void on_left(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    if (err) {
        own_finish(call, "", err);
        return;
    }
    text_copy(call->request_key, sizeof call->request_key, machine->report.key);
    own_drop_token(call, on_token);
}

static void on_power_off(struct own_call *call, struct own_machine *machine,
                         const struct error *err)
{
    (void)machine;
    own_finish(call, err ? "" : "its power is switched off", err);
}

/* Controllers refuse to switch off what is off: a machine that a repeat finds so is fenced. Another
   look may have been answered since this one. */
static void on_power(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    if (err)
        own_finish(call, "", err);
    else if (!own_may_fence(call->own, machine))
        finish(call, ERROR_TRANSIENT, "it answers again");
    else if (machine->is_power_going)
        finish(call, ERROR_TRANSIENT, "its power is being switched off");
    else if (machine->is_off)
        own_finish(call, "its power is off", NULL);
    else
        own_power_off(call, machine, on_power_off);
}

static void fence(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    if (own_may_fence(call->own, machine))
        own_ask_power(call, machine, on_power);
    else
        own_finish(call, "", err);
}

static void on_look(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    struct instance instance;

    if (err) {
        fence(call, machine, err);
        return;
    }
    if (!own_instance(call->own, &call->pool, machine, &instance) ||
        instance.state == INSTANCE_PARKED)
        finish(call, ERROR_NOT_FOUND, "it is not in this pool");
    else if (instance.state == INSTANCE_DELETING)
        own_finish(call, "", NULL);
    else if (machine->report.is_running)
        finish(call, ERROR_TRANSIENT, "its steps of joining run");
    else if (machine->report.state == OWN_NONE && !machine->group)
        finish(call, ERROR_DENIED, instance.trouble.text);
    else
        own_ask(call, machine, OWN_LEAVE, "", on_left);
}

static void none(struct own_call *call)
{
    finish(call, ERROR_NOT_FOUND, "the list of machines does not have it");
}

void own_remove(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context)
{
    struct own_call *call = own_call_new(provider, pool);

    call->done = done;
    call->context = context;
    text_copy(call->instance, sizeof call->instance, order->instance);
    call->machine = own_machines_find(&call->own->machines, order->instance);
    if (call->machine)
        own_ask(call, call->machine, OWN_LOOK, "", on_look);
    else
        own_call_later(call, 0, none);
}
