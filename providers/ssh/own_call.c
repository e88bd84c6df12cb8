/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See own_call.h.  A question is one SSH command: `sh -s sluice VERB`.  All else, the token too, is
 * in its input, which no process table shows.
 */
#include "providers/ssh/own_call.h"

#include "base/secret.h"
#include "base/text.h"
#include "providers/ssh/own_errors.h"
#include "providers/ssh/own_nodes.h"
#include "providers/ssh/own_script.h"
#include "providers/ssh/own_verbs.h"

#include <string.h>

enum {
    LOOK_MS = 20 * SECOND_MS,
    BEGIN_MS = 40 * SECOND_MS, /* a login may be slow, and the steps are awaited for 3 s */
    FRESH_MS = 2 * SECOND_MS,
    REST_MS = 30 * SECOND_MS, /* between two looks at a silent machine */
    ANSWER_LIMIT = 64 * 1024,
};

#define RUN "main \"$@\"\n"

/* No permissions of a cloud: what the user that logs in must be able to do, and Kubernetes. */
const struct provider_action own_actions[OWN_ACTION_COUNT] = {
    [OWN_LOOK] = { "look", "", false, "reads the marker" },
    [OWN_CLAIM] = { "claim", "", true, "reserves a parked machine" },
    [OWN_JOIN] = { "join", "", true, "begins the steps of joining" },
    [OWN_LEAVE] = { "leave", "", true, "begins the steps of leaving" },
    [OWN_POWER] = { "GET redfish system", "", false, "whether the power is off" },
    [OWN_POWER_OFF] = { "POST redfish reset", "", true, "fences a machine that does not answer" },
    [OWN_MAKE_TOKEN] = { "create secret", "", true, "a bootstrap token for one machine" },
    [OWN_DROP_TOKEN] = { "delete secret", "", true, "removes the token again" },
    [OWN_EXAMINE] = { "examine", "", false, "what doctor reports" },
};

/* Who waits for an answer. */
struct waiter {
    struct own_call *call;
    own_ask_fn done;
};

/* One command on its way.  Pools are listed at the same time, so that a look that was just sent
   serves all that wait. */
struct own_ask {
    struct own *own;
    struct own_ask *previous, *next;
    struct own_machine *machine;
    enum own_action action;
    struct ssh_exec *exec; /* NULL: answered, and the waiters are told */
    int64_t asked_ms;      /* what the machine answers is not older than this */
    ARRAY(struct waiter) waiters;
    own_examine_fn examined; /* of the only waiter */
    bool is_glance;          /* it goes on though no call waits for it */
    bool is_telling;         /* its waiters are told: it is kept until they all are */
    bool is_gone;            /* it was freed meanwhile */
};

/* ---- calls ---- */

static void copy_pool(const struct own_pool *from, struct own_pool *to)
{
    const char *const *source = (const char *const *)(const void *)from;
    const char **target = (const char **)(void *)to;

    /* All members are texts. */
    for (size_t i = 0; i < sizeof *from / sizeof *source; i++)
        target[i] = mem_copy_chars(source[i]);
}

static void clear_pool(struct own_pool *pool)
{
    char **texts = (char **)(void *)pool;

    for (size_t i = 0; i < sizeof *pool / sizeof *texts; i++)
        mem_free(texts[i]);
}

struct own_call *own_call_new(struct provider *provider, const struct pool_address *pool)
{
    struct own *own = (struct own *)provider;
    struct own_call *call = mem_new(sizeof *call);

    call->own = own;
    copy_pool(own_pool_of(pool), &call->pool);
    call->next = own->first;
    if (own->first)
        own->first->previous = call;
    own->first = call;
    return call;
}

static void ask_free(struct own_ask *ask)
{
    if (ask->previous)
        ask->previous->next = ask->next;
    else
        ask->own->asks = ask->next;
    if (ask->next)
        ask->next->previous = ask->previous;
    ssh_cancel(ask->exec);
    array_clear(&ask->waiters);
    if (ask->is_telling)
        ask->is_gone = true;
    else
        mem_free(ask);
}

void own_asks_clear(struct own *own)
{
    while (own->asks)
        ask_free(own->asks);
}

/* The call waits no more; a command that no call waits for is ended, unless it was answered. */
static void forget_call(struct own_ask *ask, const struct own_call *call)
{
    for (size_t i = ask->waiters.count; i-- > 0;)
        if (ask->waiters.items[i].call == call)
            array_remove(&ask->waiters, i);
    if (ask->waiters.count == 0 && ask->exec && !ask->is_glance)
        ask_free(ask);
}

void own_stop_waiting(struct own_call *call)
{
    struct own_ask *next;

    for (struct own_ask *ask = call->own->asks; ask; ask = next) {
        next = ask->next;
        forget_call(ask, call);
    }
}

void own_call_free(struct own_call *call)
{
    own_stop_waiting(call);
    if (call->previous)
        call->previous->next = call->next;
    else
        call->own->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    own_fences_clear(call);
    kube_cancel(call->token);
    timer_free(call->timer);
    secret_free(call->secret);
    mem_free(call->pins);
    clear_pool(&call->pool);
    mem_free(call);
}

static void on_timer(void *context)
{
    struct own_call *call = context;

    call->then(call);
}

void own_call_later(struct own_call *call, int64_t delay_ms, void (*then)(struct own_call *call))
{
    if (!call->timer)
        call->timer = timer_new(call->own->world->loop, on_timer, call);
    call->then = then;
    timer_set(call->timer, delay_ms);
}

void own_finish(struct own_call *call, const char *operation, const struct error *err)
{
    owned(chars) char *copy = mem_copy_chars(operation);
    struct error failure = err ? *err : (struct error){ 0 };
    provider_list_fn listed = call->listed;
    provider_look_fn looked = call->looked;
    provider_done_fn done = call->done;
    void *context = call->context;

    own_call_free(call);
    if (listed)
        listed(context, NULL, &failure);
    else if (looked)
        looked(context, NULL, err ? &failure : NULL);
    else
        done(context, copy, err ? &failure : NULL);
}

void own_go_on(struct own_call *call, const char *progress)
{
    struct error err = { 0 };

    error_set(&err, ERROR_TRANSIENT, "the order goes on");
    error_because(&err, &provider_goes_on);
    own_finish(call, progress, &err);
}

/* ---- questions ---- */

bool own_is_fresh(const struct own *own, const struct own_machine *machine)
{
    return machine->is_seen && machine->silent_ms == 0 &&
           loop_now(own->world->loop) - machine->seen_ms < FRESH_MS;
}

bool own_is_resting(const struct own *own, const struct own_machine *machine)
{
    int64_t now_ms = loop_now(own->world->loop);

    return machine->silent_ms > 0 && machine->looked_ms > machine->silent_ms &&
           now_ms - machine->looked_ms < REST_MS;
}

static void add_variable(struct text *input, const char *name, const char *value)
{
    text_add(input, "%s='", name);
    for (const char *at = value ?: ""; *at != '\0'; at++)
        if (*at == '\'')
            text_add(input, "'\\''");
        else
            text_add_bytes(input, at, 1);
    text_add(input, "'\n");
}

static void add_order(const struct own_call *call, const struct own_machine *machine,
                      struct text *input)
{
    const struct own_pool *pool = &call->pool;
    const char *key = call->request_key[0] != '\0' ? call->request_key : machine->report.key;

    add_variable(input, "wanted_key", key);
    add_variable(input, "wanted_group", pool->group);
    add_variable(input, "wanted_kind", pool->join);
}

static void add_nodes(const struct own_pool *pool, struct text *input)
{
    owned(text) struct text *taints = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *k3s_config = text_new(TEXT_UNBOUNDED);

    own_taints_print(pool->taints, taints);
    own_k3s_config_print(pool->labels, pool->taints, k3s_config);
    add_variable(input, "taints", taints->chars);
    add_variable(input, "k3s_config", k3s_config->chars);
}

static void add_parameters(const struct own_call *call, const struct own_machine *machine,
                           struct text *input)
{
    const struct own_pool *pool = &call->pool;
    owned(chars) char *step_limit = text_format(
        "%lld", (long long)(call->own->account->step_limit_ms / SECOND_MS));

    add_variable(input, "step_limit", step_limit);
    add_variable(input, "node_name", machine->name);
    add_variable(input, "server", pool->server);
    add_variable(input, "labels", pool->labels);
    add_nodes(pool, input);
    add_variable(input, "ca_hash", call->pins);
    add_variable(input, "kubeadm_api", pool->kubeadm_api);
    add_variable(input, "cri_socket", pool->cri_socket);
    add_variable(input, "slurm_options", pool->slurm_options);
    add_variable(input, "script", pool->script);
    /* The steps run from a file, which has no secret. */
    text_add(input, "tool=$(cat <<'SLUICE_TOOL_ENDS'\n%s" RUN "SLUICE_TOOL_ENDS\n)\n", own_script);
}

static void note_seen(struct own_machine *machine, const struct own_report *report,
                      int64_t asked_ms)
{
    machine->report = *report;
    machine->is_seen = true;
    machine->silent_ms = machine->mute_ms = 0;
    machine->seen_ms = asked_ms;
    machine->trouble = (struct error){ 0 };
}

/* Another key, a refused log-in, and a script that fails are heard: the machine is on. */
static void note_silent(struct own_machine *machine, const struct own *own, const struct error *err,
                        bool is_heard)
{
    int64_t now_ms = loop_now(own->world->loop);

    machine->looked_ms = now_ms;
    if (machine->silent_ms == 0)
        machine->silent_ms = now_ms;
    if (is_heard || err->cause == &ssh_way || err->cause == &ssh_heard ||
        (err->kind != ERROR_TRANSIENT && err->kind != ERROR_UNKNOWN_OUTCOME))
        machine->mute_ms = 0;
    else if (machine->mute_ms == 0)
        machine->mute_ms = now_ms;
    machine->trouble = *err;
}

/* The machine's answer, read; -1: err says what it means. */
static int read_answer(struct own_machine *machine, const struct ssh_answer *answer,
                       int64_t asked_ms, struct error *err)
{
    struct own_report report;

    if (answer->exit_status != 0) {
        error_set(err, ERROR_UNKNOWN_OUTCOME, "sluice's script ended with status %d: %.200s",
                  answer->exit_status, answer->errors);
        return -1;
    }
    if (own_report_read(answer->output, answer->output_length, &report, err) < 0)
        return -1;
    note_seen(machine, &report, asked_ms);
    return own_errors_read(&report, err);
}

/* Tells all who wait; a waiter may end other calls, or close the provider. */
static void tell(struct own_ask *ask, const struct error *err)
{
    ask->is_telling = true;
    while (ask->waiters.count > 0) {
        struct waiter waiter = ask->waiters.items[0];

        array_remove(&ask->waiters, 0);
        waiter.done(waiter.call, ask->machine, err);
    }
    ask->is_telling = false;
    if (ask->is_gone)
        mem_free(ask);
    else
        ask_free(ask);
}

static void on_answer(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct own_ask *ask = context;
    struct own_machine *machine = ask->machine;
    struct error why = { 0 };

    ask->exec = NULL;
    if (ask->is_glance && ask->asked_ms < machine->seen_ms) { /* more is known by now */
        tell(ask, NULL);
        return;
    }
    if (err)
        why = *err;
    else if (read_answer(machine, answer, ask->asked_ms, &why) == 0) {
        tell(ask, NULL);
        return;
    }
    if (err || why.kind == ERROR_CORRUPT || why.kind == ERROR_UNKNOWN_OUTCOME)
        note_silent(machine, ask->own, &why, !err); /* it tells nothing about itself */
    error_context(&why, "machine %s", machine->name);
    tell(ask, &why);
}

static void on_examined(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct own_ask *ask = context;
    struct own_machine *machine = ask->machine;
    struct own_call *call = ask->waiters.items[0].call;
    own_examine_fn examined = ask->examined;

    ask->exec = NULL;
    ask_free(ask);
    examined(call, machine, answer, err);
}

static void wait_for(struct own_ask *ask, struct own_call *call, own_ask_fn done)
{
    struct waiter *waiter = array_add(&ask->waiters);

    waiter->call = call;
    waiter->done = done;
}

static struct own_ask *ask_new(struct own_call *call, struct own_machine *machine,
                               enum own_action action)
{
    struct own_ask *ask = mem_new(sizeof *ask);

    ask->own = call->own;
    ask->machine = machine;
    ask->action = action;
    ask->asked_ms = loop_now(call->own->world->loop);
    ask->next = ask->own->asks;
    if (ask->next)
        ask->next->previous = ask;
    ask->own->asks = ask;
    return ask;
}

/* A look that was sent within the last two seconds, or at a silent machine, and is not answered;
   NULL: none. */
static struct own_ask *look_under_way(const struct own *own, const struct own_machine *machine)
{
    int64_t since_ms = loop_now(own->world->loop) - FRESH_MS;

    for (struct own_ask *ask = own->asks; ask; ask = ask->next)
        if (ask->machine == machine && ask->is_glance && ask->exec &&
            (ask->asked_ms > since_ms || machine->silent_ms > 0))
            return ask;
    return NULL;
}

static char *shell_command(const struct own_machine *machine, const char *rest)
{
    return text_format("exec %s/bin/sh %s",
                       text_equal(machine->target.host.user, "root") ? "" : "sudo -n ", rest);
}

static void send(struct own_ask *ask, const struct own_call *call, const char *secret)
{
    owned(text) struct text *input = text_new(SSH_INPUT_LIMIT);
    owned(chars) char *rest = text_format("-s sluice %s", own_actions[ask->action].name);
    owned(chars) char *command = shell_command(ask->machine, rest);

    add_variable(input, "dir", call->own->account->folder);
    if (ask->action != OWN_LOOK)
        add_order(call, ask->machine, input);
    if (ask->action == OWN_JOIN || ask->action == OWN_LEAVE)
        add_parameters(call, ask->machine, input);
    text_add(input, "%s", own_script);
    add_variable(input, "secret", secret); /* last, so that no older block has it */
    text_add(input, RUN);
    ask->exec = ssh_run(call->own->world->ssh, &ask->machine->target.host,
                        &(struct ssh_request){
                            .command = command,
                            .input = input->chars,
                            .input_length = input->length,
                            .priority = !ask->is_glance               ? SSH_COMMAND
                                        : ask->machine->silent_ms > 0 ? SSH_SILENT
                                                                      : SSH_SWEEP,
                            .timeout_ms = ask->action == OWN_LOOK ? LOOK_MS : BEGIN_MS,
                            .output_limit = ANSWER_LIMIT,
                        },
                        on_answer, ask);
    explicit_bzero(input->chars, input->length);
}

void own_ask(struct own_call *call, struct own_machine *machine, enum own_action action,
             const char *secret, own_ask_fn done)
{
    struct own_ask *ask = ask_new(call, machine, action);

    require(action <= OWN_LEAVE);
    send(ask, call, secret);
    wait_for(ask, call, done);
}

void own_glance(struct own_call *call, struct own_machine *machine, own_ask_fn done)
{
    struct own_ask *ask = look_under_way(call->own, machine);

    if (!ask) {
        ask = ask_new(call, machine, OWN_LOOK);
        ask->is_glance = true;
        send(ask, call, "");
    }
    wait_for(ask, call, done);
}

void own_examine(struct own_call *call, struct own_machine *machine, const char *command,
                 own_examine_fn done)
{
    struct own_ask *ask = ask_new(call, machine, OWN_EXAMINE);

    wait_for(ask, call, NULL);
    ask->examined = done;
    ask->exec = ssh_run(call->own->world->ssh, &machine->target.host,
                        &(struct ssh_request){ .command = command,
                                               .timeout_ms = LOOK_MS,
                                               .output_limit = ANSWER_LIMIT },
                        on_examined, ask);
}
