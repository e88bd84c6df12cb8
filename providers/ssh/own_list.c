/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a pool has: each machine is looked at by itself.
 */
#include "base/text.h"
#include "providers/ssh/own_verbs.h"

/* ---- from a machine to an instance ---- */

static void print_id(const struct own_machine *machine, struct instance *instance)
{
    text_print(instance->provider_id, sizeof instance->provider_id, "%s://%s",
               text_equal(machine->report.kind, "k3s") ? "k3s" : "ssh", machine->name);
}

static bool is_of(const struct own_pool *pool, const char *group)
{
    return group && text_equal(pool->group, group);
}

bool own_may_fence(const struct own *own, const struct own_machine *machine)
{
    return machine->mute_ms > 0 && machine->redfish &&
           loop_now(own->world->loop) - machine->mute_ms >= own->account->fence_after_ms;
}

bool own_is_free(const struct own_machine *machine)
{
    const struct own_report *report = &machine->report;

    return machine->is_seen && machine->silent_ms == 0 &&
           (report->state == OWN_PARKED ||
            (report->state == OWN_NONE && !machine->group && !own_report_is_foreign(report)));
}

/* Which it is by its marker; without one, by the file. */
static bool read_state(const struct own_pool *pool, const struct own_machine *machine,
                       struct instance *instance)
{
    const struct own_report *report = &machine->report;

    switch (report->state) {
    case OWN_NONE:
        if (machine->group) {
            instance->state = INSTANCE_RUNNING;
            return is_of(pool, machine->group);
        }
        instance->is_unplaced = own_report_is_foreign(report);
        instance->state = instance->is_unplaced ? INSTANCE_OTHER : INSTANCE_PARKED;
        if (instance->is_unplaced)
            error_set(&instance->trouble, ERROR_INVALID,
                      "the %s of machine %s runs, is enabled or has options, and neither its "
                      "marker nor the list of machines says for which group",
                      own_report_daemon(report), machine->name);
        return true;
    case OWN_PARKED:
        instance->state = INSTANCE_PARKED;
        return true;
    case OWN_JOINING:
        instance->state = INSTANCE_CREATING;
        instance->is_unfinished = true;
        break;
    case OWN_IN:
        instance->state = INSTANCE_RUNNING;
        break;
    case OWN_LEAVING:
        instance->state = report->is_running ? INSTANCE_DELETING : INSTANCE_OTHER;
        break;
    case OWN_STATE_COUNT:
        break;
    }
    if (report->failed[0] != '\0')
        error_set(&instance->trouble, ERROR_INVALID, "machine %s: %s", machine->name,
                  report->failed);
    return is_of(pool, report->group);
}

bool own_instance(const struct own *own, const struct own_pool *pool,
                  const struct own_machine *machine, struct instance *ret_instance)
{
    struct instance *instance = ret_instance;

    *instance = (struct instance){ .seen_ms = machine->seen_ms };
    text_copy(instance->name, sizeof instance->name, machine->name);
    text_copy(instance->host, sizeof instance->host, machine->name);
    text_copy(instance->zone, sizeof instance->zone, pool->zone ?: "");
    if (own_is_off(own, machine)) {
        instance->state = INSTANCE_PARKED; /* without power it runs nothing */
        instance->seen_ms = machine->power_ms;
        return true;
    }
    if (!machine->is_seen) { /* it may be in any pool */
        instance->state = INSTANCE_OTHER;
        instance->is_unplaced = true;
        instance->trouble = machine->trouble;
        return true;
    }
    print_id(machine, instance);
    text_copy(instance->request_key, sizeof instance->request_key, machine->report.key);
    if (!read_state(pool, machine, instance))
        return false;
    if (machine->silent_ms > 0)
        instance->trouble = machine->trouble;
    /* Its fence answers for it: it can be removed, though nothing is known of it. */
    if (instance->state != INSTANCE_PARKED && own_may_fence(own, machine)) {
        instance->state = INSTANCE_OTHER;
        instance->seen_ms = loop_now(own->world->loop);
    }
    return true;
}

/* ---- a sweep over all machines ---- */

enum { BESIDE_MS = 3 * SECOND_MS };

static void end_sweep(struct own_call *call)
{
    own_stop_waiting(call);
    call->awaited = call->beside = 0;
    call->swept(call);
}

/* What a silent machine was seen as last is known already, and it is likely to stay silent: once
   all others have answered, it gets the time that an answer takes, and its look goes on. */
static void wait_on(struct own_call *call)
{
    if (call->awaited == 0)
        own_call_later(call, call->beside > 0 ? BESIDE_MS : 0, end_sweep);
}

static void on_look(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    (void)machine;
    (void)err; /* noted in the machine */
    require(call->awaited > 0);
    call->awaited--;
    wait_on(call);
}

static void on_look_beside(struct own_call *call, struct own_machine *machine,
                           const struct error *err)
{
    (void)machine;
    (void)err;
    require(call->beside > 0);
    if (--call->beside == 0)
        wait_on(call);
}

void own_sweep(struct own_call *call, void (*then)(struct own_call *call))
{
    const struct own *own = call->own;

    call->awaited = call->beside = 0;
    call->swept = then;
    for (size_t i = 0; i < own->machines.all.count; i++) {
        struct own_machine *machine = own->machines.all.items[i];
        bool is_beside = machine->silent_ms > 0;

        if (own_is_fresh(own, machine) || own_is_resting(own, machine))
            continue;
        *(is_beside ? &call->beside : &call->awaited) += 1;
        own_glance(call, machine, is_beside ? on_look_beside : on_look);
    }
    wait_on(call);
}

/* ---- verbs ---- */

static void finish_list(struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;
    ARRAY(struct instance) instances = { 0 };
    provider_list_fn listed = call->listed;
    void *context = call->context;

    for (size_t i = 0; i < machines->all.count; i++) {
        struct instance instance;

        if (own_instance(call->own, &call->pool, machines->all.items[i], &instance))
            *array_add(&instances) = instance;
    }
    own_call_free(call);
    listed(context, &(struct instance_page){ .items = instances.items, .count = instances.count },
           NULL);
    array_clear(&instances);
}

enum { CLEAR_AGAIN_MS = 5 * MINUTE_MS }; /* a list waits for the cluster that has the token */

static void on_cleared(struct own_call *call, const struct error *err)
{
    if (err)
        call->own->clear_after_ms = loop_now(call->own->world->loop) + CLEAR_AGAIN_MS;
    else
        text_copy(call->machine->cleared, sizeof call->machine->cleared, call->request_key);
    finish_list(call);
}

/* The machine of the pool whose token may be there and was tried the longest ago; NULL: none. */
static struct own_machine *next_to_clear(const struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;
    struct own_machine *next = NULL;

    for (size_t i = 0; i < machines->all.count; i++) {
        struct own_machine *machine = machines->all.items[i];

        if (own_may_have_token(machine) && is_of(&call->pool, machine->report.group) &&
            (!next || machine->clearing_ms < next->clearing_ms))
            next = machine;
    }
    return next;
}

/* The order of a machine may have ended before its last exchange: its Node served by then, or this
   process was not there.  One token for each list. */
static void clear_tokens(struct own_call *call)
{
    int64_t now_ms = loop_now(call->own->world->loop);

    call->machine = call->pool.kubeconfig && now_ms >= call->own->clear_after_ms
                        ? next_to_clear(call)
                        : NULL;
    if (!call->machine) {
        finish_list(call);
        return;
    }
    call->machine->clearing_ms = now_ms;
    text_copy(call->request_key, sizeof call->request_key, call->machine->report.key);
    own_drop_token(call, on_cleared);
}

/* ---- the fences of machines that do not answer ---- */

enum {
    FENCES_MS = 15 * SECOND_MS,   /* so long a list waits for them */
    ASK_AGAIN_MS = 30 * SECOND_MS /* half as long as an answer counts */
};

/* Whether the list would be another one if its power is off. */
static bool is_due(const struct own_call *call, const struct own_machine *machine)
{
    const struct own_report *report = &machine->report;
    const char *group = report->state == OWN_NONE ? machine->group : report->group;
    int64_t now_ms = loop_now(call->own->world->loop);

    if (machine->silent_ms == 0 || !machine->redfish ||
        (machine->power_asked_ms > 0 && now_ms - machine->power_asked_ms < ASK_AGAIN_MS))
        return false;
    return !machine->is_seen || is_of(&call->pool, group) || own_report_is_foreign(report);
}

/* A fence that has not answered yet changes nothing. */
static void end_fences(struct own_call *call)
{
    own_fences_clear(call);
    clear_tokens(call);
}

static void on_power(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    (void)machine;
    (void)err;
    require(call->awaited > 0);
    if (--call->awaited == 0)
        own_call_later(call, 0, end_fences);
}

/* All at the same time: a whole rack may be without power, with its controllers. */
static void ask_fences(struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;

    for (size_t i = 0; i < machines->all.count; i++)
        if (is_due(call, machines->all.items[i])) {
            call->awaited++;
            own_ask_power(call, machines->all.items[i], on_power);
        }
    if (call->awaited > 0)
        own_call_later(call, FENCES_MS, end_fences);
    else
        clear_tokens(call);
}

void own_list(struct provider *provider, const struct pool_address *pool, const char *page,
              provider_list_fn done, void *context)
{
    struct own_call *call = own_call_new(provider, pool);

    (void)page; /* there is only one */
    call->listed = done;
    call->context = context;
    own_sweep(call, ask_fences);
}

static void tell_look(struct own_call *call, struct own_machine *machine)
{
    struct instance instance;
    bool is_there = own_instance(call->own, &call->pool, machine, &instance);
    provider_look_fn looked = call->looked;
    void *own = call->context;

    own_call_free(call);
    looked(own, is_there ? &instance : NULL, NULL);
}

/* A machine without power does not answer; its fence does. */
static void on_look_power(struct own_call *call, struct own_machine *machine,
                          const struct error *err)
{
    /* Why the machine itself does not answer says more than err. */
    if (machine->silent_ms == 0 || (!err && machine->is_off))
        tell_look(call, machine);
    else
        own_finish(call, "", &machine->trouble);
}

static void finish_look(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    if (!err)
        tell_look(call, machine);
    else if (machine->silent_ms > 0 && machine->redfish)
        own_ask_power(call, machine, on_look_power);
    else
        own_finish(call, "", err);
}

static void look_at_none(struct own_call *call)
{
    own_finish(call, "", NULL);
}

void own_look(struct provider *provider, const struct pool_address *pool, const char *instance,
              provider_look_fn done, void *context)
{
    struct own_call *call = own_call_new(provider, pool);
    struct own_machine *machine = own_machines_find(&call->own->machines, instance);

    call->looked = done;
    call->context = context;
    if (machine)
        own_ask(call, machine, OWN_LOOK, "", finish_look);
    else
        own_call_later(call, 0, look_at_none);
}
