/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * create(): a parked machine joins the pool's cluster.
 *
 * The first exchange only chooses a machine.  Its name is the progress, which the caller stores
 * before anything is sent: so no other machine can carry the order's key, whatever gets lost.  Each
 * further exchange looks at that machine, and does what is missing: claim it, make a token and
 * begin the steps, wait for their end, remove the token.
 *
 * Once it is claimed, the progress says so, and is kept until the machine itself says that it is
 * not ours: otherwise the order could claim another one while this one does not answer.
 */
#include "base/secret.h"
#include "base/text.h"
#include "providers/ssh/own_verbs.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_AGAIN_MS = 2 * SECOND_MS,
    LOOKS_MOST = 10, /* of one exchange */
};

#define CLAIMED "+" /* after the machine's name in the progress */

static void look(struct own_call *call);

static void finish(struct own_call *call, enum error_kind kind, const char *text)
{
    struct error err = { 0 };

    error_set(&err, kind, "%s%s%s", call->machine ? "machine " : "",
              call->machine ? call->machine->name : "", call->machine ? ": " : "");
    error_set(&err, kind, "%s%s", err.text, text);
    own_finish(call, "", &err);
}

static void go_on_claimed(struct own_call *call)
{
    owned(chars) char *progress = text_format("%s" CLAIMED, call->machine->name);

    own_go_on(call, progress);
}

static bool is_ours(const struct own_call *call, const struct own_machine *machine)
{
    return machine->is_seen && text_equal(machine->report.key, call->request_key) &&
           text_equal(machine->report.group, call->pool.group);
}

/* A claimed machine that cannot be asked, or an exchange that was in vain: the order stays with it.
 */
static void finish_failed(struct own_call *call, const struct error *err, bool is_asked)
{
    struct error why = *err;
    bool is_in_vain = err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED;

    if (call->is_claimed && (!is_asked || (is_in_vain && is_ours(call, call->machine))))
        why.kind = ERROR_UNKNOWN_OUTCOME;
    own_finish(call, "", &why);
}

/* ---- the choice ---- */

static struct own_machine *machine_of_key(const struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;

    for (size_t i = 0; i < machines->all.count; i++) {
        struct own_machine *machine = machines->all.items[i];

        if (is_ours(call, machine))
            return machine;
    }
    return NULL;
}

/* Another order begins elsewhere in the list, so that a later attempt tries another machine. */
static struct own_machine *choose(const struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;
    size_t count = machines->all.count;
    size_t from = strtoul(call->request_key, NULL, 16) % count;

    for (size_t i = 0; i < count; i++) {
        struct own_machine *machine = machines->all.items[(from + i) % count];

        if (own_is_free(machine))
            return machine;
    }
    return NULL;
}

/* Why there is no machine: also says if some do not answer. */
static void finish_without(struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;
    size_t silent = 0;
    const struct own_machine *one = NULL;
    char text[320];

    for (size_t i = 0; i < machines->all.count; i++)
        if (machines->all.items[i]->silent_ms > 0) {
            one = machines->all.items[i];
            silent++;
        }
    text_print(text, sizeof text, "no machine is parked%s", silent > 0 ? "; " : "");
    if (silent > 0)
        text_print(text, sizeof text, "no machine is parked; %zu do not answer: %.200s", silent,
                   one->trouble.text);
    finish(call, ERROR_NO_CAPACITY, text);
}

static void on_swept(struct own_call *call)
{
    call->machine = machine_of_key(call);
    if (call->machine) {
        go_on_claimed(call);
        return;
    }
    call->machine = choose(call);
    if (call->machine)
        own_go_on(call, call->machine->name);
    else
        finish_without(call);
}

/* ---- the machine that was chosen ---- */

static void on_dropped(struct own_call *call, const struct error *err)
{
    if (err)
        finish_failed(call, err, true);
    else
        own_finish(call, call->machine->name, NULL);
}

static void on_begun(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    (void)machine;
    secret_free(steal(&call->secret));
    if (err)
        finish_failed(call, err, true);
    else
        go_on_claimed(call);
}

static void on_token(struct own_call *call, const struct error *err)
{
    if (err)
        finish_failed(call, err, true);
    else
        own_ask(call, call->machine, OWN_JOIN, call->secret ?: "", on_begun);
}

static void on_claimed(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    (void)machine;
    if (err)
        own_finish(call, "", err);
    else
        go_on_claimed(call);
}

/* The steps run: looks now and then, and hands the wait back to the caller after a time. */
static void wait_for_steps(struct own_call *call)
{
    if (++call->looks < LOOKS_MOST)
        own_call_later(call, LOOK_AGAIN_MS, look);
    else
        go_on_claimed(call);
}

static void go_on_joining(struct own_call *call, struct own_machine *machine)
{
    const struct own_report *report = &machine->report;

    if (report->is_running)
        wait_for_steps(call);
    else if (report->failed[0] != '\0')
        finish(call, ERROR_INVALID, report->failed);
    else
        own_make_token(call, on_token);
}

static void on_look(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    const struct own_report *report = &machine->report;

    if (err) {
        finish_failed(call, err, false);
        return;
    }
    call->is_claimed = is_ours(call, machine);
    if (call->is_claimed && report->state == OWN_IN)
        own_drop_token(call, on_dropped);
    else if (call->is_claimed && report->state == OWN_JOINING)
        go_on_joining(call, machine);
    else if (own_is_free(machine))
        own_ask(call, machine, OWN_CLAIM, "", on_claimed);
    else
        finish(call, ERROR_TRANSIENT, "it is not parked any more: another one will be chosen");
}

static void look(struct own_call *call)
{
    own_ask(call, call->machine, OWN_LOOK, "", on_look);
}

static void none(struct own_call *call)
{
    finish(call, ERROR_TRANSIENT, "the machine that was chosen is in the list of machines no more");
}

void own_create(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context)
{
    struct own_call *call = own_call_new(provider, pool);
    size_t length = strcspn(order->progress, CLAIMED);

    call->done = done;
    call->context = context;
    text_copy(call->request_key, sizeof call->request_key, order->request_key);
    if (length == 0) {
        own_sweep(call, on_swept);
        return;
    }
    call->is_claimed = order->progress[length] != '\0';
    text_print(call->instance, sizeof call->instance, "%.*s", (int)length, order->progress);
    call->machine = own_machines_find(&call->own->machines, call->instance);
    own_call_later(call, 0, call->machine ? look : none);
}
