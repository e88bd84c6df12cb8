/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own, which answer over SSH what providers/ssh/machine.sh answers on a real
 * one.  They are strict: a machine that is not parked cannot be claimed, one that was not claimed
 * for this order does not join, and one that leaves for another order than its own refuses.
 *
 * A machine's name is its address in the list of machines.  What the marker says follows from the
 * model: a machine that boots has steps of joining that run, one that stops has steps of leaving.
 */
#include "base/input/yaml.h"
#include "base/world/ssh.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/model/lies.h"

#include <stdio.h>
#include <string.h>

/* What the model does not know of a machine. */
struct ssh_machine {
    char group[64];
    char key[32];
    bool is_claimed; /* and its steps of joining have not begun */
    bool is_known;   /* has a marker that says more than "none" */
};

/* A command taken apart. */
struct asked {
    struct simulator *sim;
    const struct ssh_request *request;
    struct ssh_machine *own;
    struct machine *machine; /* NULL: it is in no pool */
    const char *name;
    char verb[16]; /* "look" */
    struct text *out;
};

static struct ssh_machine *own_of(struct simulator *sim, const char *name)
{
    owned(chars) char *key = text_format("ssh/%s", name);
    struct ssh_machine *own = map_get(sim->operations, key);

    if (!own) {
        own = mem_new(sizeof *own);
        map_set(sim->operations, key, own);
    }
    return own;
}

static bool is_ssh(const struct pool *pool)
{
    return text_equal(pool->cloud->kind, "ssh");
}

static struct machine *find_machine(struct simulator *sim, const char *name)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (is_ssh(&sim->pools[i]) && sim_machine_find(&sim->pools[i], name))
            return sim_machine_find(&sim->pools[i], name);
    return NULL;
}

static struct pool *pool_of_group(struct simulator *sim, const char *group)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (is_ssh(&sim->pools[i]) && text_equal(sim_pool_text(&sim->pools[i], "group"), group))
            return &sim->pools[i];
    return NULL;
}

/* The value of a line NAME='VALUE' before the script. */
static void variable(const struct asked *asked, const char *name, char *out, size_t size)
{
    owned(chars) char *start = text_format("\n%s='", name);
    owned(chars) char *input = text_format("\n%.*s", (int)asked->request->input_length,
                                           asked->request->input ?: "");
    const char *at = strstr(input, start);

    at = at ? at + strlen(start) : "";
    text_print(out, size, "%.*s", (int)strcspn(at, "'"), at);
}

static const char *state_of(const struct asked *asked)
{
    if (!asked->machine)
        return asked->own->is_claimed ? "joining" : asked->own->is_known ? "parked" : "none";
    return asked->machine->state == MACHINE_STOPPING  ? "leaving"
           : asked->machine->state == MACHINE_RUNNING ? "in"
                                                      : "joining";
}

static void report(struct asked *asked, const char *word, const char *text)
{
    const char *state = state_of(asked);
    bool has_pool = asked->machine || asked->own->is_claimed;

    text_add(asked->out,
             "sluice=1\nanswer=%s\ntext=%s\nstate=%s\ngroup=%s\nkey=%s\nkind=script\nstep=\n"
             "failed=\nrunning=%d\nend=1\n",
             word, text, state,
             asked->machine ? sim_pool_text(asked->machine->pool, "group") : asked->own->group,
             has_pool ? asked->own->key : "",
             asked->machine && asked->machine->state != MACHINE_RUNNING);
}

static void claim(struct asked *asked)
{
    char key[32], group[64];

    variable(asked, "wanted_key", key, sizeof key);
    variable(asked, "wanted_group", group, sizeof group);
    require(key[0] != '\0' && group[0] != '\0');
    if (asked->machine || (asked->own->is_claimed && !text_equal(asked->own->key, key))) {
        report(asked, text_equal(asked->own->key, key) ? "ok" : "taken", "it is not parked");
        return;
    }
    text_copy(asked->own->key, sizeof asked->own->key, key);
    text_copy(asked->own->group, sizeof asked->own->group, group);
    asked->own->is_claimed = asked->own->is_known = true;
    report(asked, "ok", "");
}

static void join(struct asked *asked)
{
    struct pool *pool = pool_of_group(asked->sim, asked->own->group);
    char key[32];

    variable(asked, "wanted_key", key, sizeof key);
    if (!text_equal(asked->own->key, key)) {
        report(asked, "taken", "it was claimed for another order");
    } else if (asked->machine) {
        report(asked, asked->machine->state == MACHINE_RUNNING ? "ok" : "busy", "");
    } else if (!asked->own->is_claimed || !pool) {
        report(asked, "taken", "it was not claimed");
    } else {
        referee_create_instance(asked->sim, pool, key, key);
        asked->own->is_claimed = false;
        asked->machine = sim_machine_new(asked->sim, pool, asked->name);
        sim_machine_start(asked->sim, asked->machine);
        report(asked, "ok", "");
    }
}

static void leave(struct asked *asked)
{
    char key[32];

    variable(asked, "wanted_key", key, sizeof key);
    if (!text_equal(asked->machine || asked->own->is_claimed ? asked->own->key : "", key)) {
        report(asked, "taken", "it is there for another order");
    } else if (!asked->machine) {
        asked->own->is_claimed = false;
        report(asked, "ok", "");
    } else if (asked->machine->state == MACHINE_STOPPING) {
        report(asked, "busy", "a step runs");
    } else {
        referee_delete_instance(asked->sim, asked->machine, "");
        sim_machine_remove(asked->sim, asked->machine);
        asked->own->is_known = true;
        report(asked, "ok", "");
    }
}

static const struct {
    const char *name;
    void (*run)(struct asked *asked);
} verbs[] = { { "look", NULL }, { "claim", claim }, { "join", join }, { "leave", leave } };

/* A list that lies: the machine has lost its marker's words, and says that it is parked. */
static void lie(struct asked *asked)
{
    const struct pool *pool = asked->machine ? asked->machine->pool : NULL;
    const struct lie *lie =
        pool ? sim_lie_about(asked->sim, LIE_MACHINES, (size_t)(pool - asked->sim->pools)) : NULL;

    if (lie && sim_lie_hides(lie, asked->name))
        asked->machine = NULL;
}

static void run(struct asked *asked)
{
    if (text_equal(asked->verb, "look"))
        lie(asked);
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (text_equal(verbs[i].name, asked->verb) && verbs[i].run) {
            verbs[i].run(asked);
            return;
        }
    report(asked, "ok", "");
}

/* The faults of a connection, in the names of world.yaml.  True: nothing reached the machine. */
static bool fail_before(struct asked *asked, const char *verb, struct ssh_play *play)
{
    struct simulator *sim = asked->sim;

    if (sim_fault_now(sim, FAULT_REFUSED, verb) || sim_fault_now(sim, FAULT_HTTP_429, verb) ||
        scenario_is_out(sim->scenario, "ssh", sim_since_start(sim)))
        error_set(&play->failure, ERROR_TRANSIENT, "%s: cannot connect", asked->name);
    else if (sim_fault_now(sim, FAULT_HTTP_403, verb))
        error_set(&play->failure, ERROR_DENIED, "%s: its host key is SHA256:another", asked->name);
    else if (sim_fault_now(sim, FAULT_DENIED, verb))
        error_set(&play->failure, ERROR_DENIED, "%s: the machine refuses the key", asked->name);
    else if (sim_fault_now(sim, FAULT_HTTP_500, verb))
        error_set(&play->failure, ERROR_UNKNOWN_OUTCOME, "%s: the connection ended", asked->name);
    return play->failure.kind != ERROR_NONE;
}

/* Faults that only a test sends, for one command.  True: it meets one. */
static bool is_odd(struct asked *asked, const char *verb, struct ssh_play *play)
{
    if (sim_fault_scripted(asked->sim, FAULT_SLOW_BOOT, verb))
        play->delay_ms = INT64_MAX; /* it hangs */
    else if (sim_fault_scripted(asked->sim, FAULT_QUOTA, verb))
        report(asked, "folder", "cannot write the marker: No space left on device");
    else if (sim_fault_scripted(asked->sim, FAULT_EMPTY_LIST, verb))
        text_add(asked->out, "all is well, I think\n");
    else if (sim_fault_now(asked->sim, FAULT_BUSY, verb))
        report(asked, "busy", "a step runs");
    else
        return false;
    return true;
}

static bool is_lost_after(struct simulator *sim, const char *verb)
{
    return sim_fault_now(sim, FAULT_LOST_ANSWER, verb) ||
           sim_fault_now(sim, FAULT_HTTP_500_AFTER, verb);
}

void sim_own_play(struct simulator *sim, const struct ssh_host *host,
                  const struct ssh_request *request, struct ssh_play *play)
{
    static const char start[] = "exec /bin/sh -s sluice ";
    struct asked asked = { .sim = sim, .request = request, .name = host->address };
    char verb[24];

    play->delay_ms = sim_draw(&asked.sim->latency, &asked.sim->scenario->latency.api);
    require(host->host_key[0] != '\0');
    if (!text_starts_with(request->command, start)) { /* what doctor asks */
        text_add(play->output, "arch=x86_64\nswap=0\nclock=yes\ndisk=90000000\ngpus=8\nend=1\n");
        return;
    }
    text_copy(asked.verb, sizeof asked.verb, request->command + strlen(start));
    text_print(verb, sizeof verb, "ssh_%s", asked.verb);
    asked.own = own_of(asked.sim, asked.name);
    asked.machine = find_machine(asked.sim, asked.name);
    asked.out = play->output;
    sim_count_verb(asked.sim, verb);
    sim_trace(asked.sim, "%s %s", verb, asked.name);
    if (fail_before(&asked, verb, play))
        return;
    if (is_odd(&asked, verb, play))
        return;
    run(&asked);
    if (is_lost_after(asked.sim, verb)) {
        text_reset(play->output);
        error_set(&play->failure, ERROR_UNKNOWN_OUTCOME, "%s: the connection ended", asked.name);
    }
}

/* ---- the cloud ---- */

static bool answer(struct sim_call *call)
{
    (void)call; /* it is not asked by HTTP */
    return false;
}

/* The next name of the list that no pool has; a list that is too short has no more. */
static void name_machine(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE])
{
    owned(text) struct text *file = sim_provider_file(sim, pool, "machines");
    owned(yaml_document) struct yaml_document *list = NULL;

    snprintf(out, SIM_NAME_SIZE, "%s-unlisted-%d", pool->plan->name, number);
    list = file ? yaml_parse(file->chars, file->length, "machines", NULL) : NULL;
    for (size_t i = 0; list && i < yaml_root(list)->count; i++)
        if (!find_machine(sim, yaml_root(list)->children[i].key)) {
            text_copy(out, SIM_NAME_SIZE, yaml_root(list)->children[i].key);
            break;
        }
    own_of(sim, out)->is_known = true;
}

static char *provider_id(const struct machine *machine)
{
    return text_format("ssh://%s", machine->name);
}

static void print_machine(const struct machine *machine, struct text *out)
{
    text_add(out, "%s", machine->name);
}

static void fail(struct sim_call *call, int code, const char *why)
{
    (void)why;
    call->answer->status = code;
}

const struct sim_cloud sim_ssh = {
    .kind = "ssh",
    .answer = answer,
    .fail = fail,
    .name_machine = name_machine,
    .provider_id = provider_id,
    .print_machine = print_machine,
};
