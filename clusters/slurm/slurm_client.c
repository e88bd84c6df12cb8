/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_client.h: what the cluster can do, and the way of each action.
 */
#include "clusters/slurm/slurm_client.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "clusters/slurm/slurm_call.h"
#include "clusters/slurm/slurm_read.h"

#include <string.h>

enum {
    FILE_LIMIT = 1024 * 1024,
    KNOWN_MS = 10 * MINUTE_MS,   /* so long a discovery is believed, */
    DOUBTED_MS = 30 * SECOND_MS, /* and so long one of two ways of which one was not heard */
    METHOD_TEXT = 16,
};

/* ---- what there is ---- */

int slurm_client_version(const struct slurm_client *client, enum slurm_action action)
{
    return client->versions[action];
}

const struct slurm_command *slurm_client_command(const struct slurm_client *client,
                                                 enum slurm_action action)
{
    return client->release > 0 ? slurm_command_for(action, client->release) : NULL;
}

int slurm_client_release(const struct slurm_client *client)
{
    return client->release;
}

const char *slurm_client_rest_trouble(const struct slurm_client *client)
{
    return client->rest_trouble.text;
}

const char *slurm_client_command_trouble(const struct slurm_client *client)
{
    return client->command_trouble.text;
}

/* Of a refusal a person must remove the cause, and each further try may count against the user. */
static bool may_pass(const struct error *trouble)
{
    return trouble->kind != ERROR_NONE && trouble->kind != ERROR_DENIED &&
           trouble->kind != ERROR_INVALID;
}

static bool is_doubted(const struct slurm_client *client)
{
    return may_pass(&client->rest_trouble) || may_pass(&client->command_trouble);
}

bool slurm_client_is_known(const struct slurm_client *client)
{
    int64_t age_ms = loop_now(client->world->loop) - client->known_ms;

    return client->known_ms != 0 && age_ms <= (is_doubted(client) ? DOUBTED_MS : KNOWN_MS);
}

void slurm_client_forget(struct slurm_client *client)
{
    client->known_ms = 0;
}

/* Some versions describe their lists with a slash at the end. */
static bool describes(const json_t *paths, enum slurm_action action, int version)
{
    const struct slurm_action_row *row = &slurm_actions[action];
    char method[METHOD_TEXT];
    owned(chars) char *path = text_format("/slurm/v0.0.%d/%s", version, row->path);
    owned(chars) char *slashed = text_format("%s/", path);
    const json_t *there = json_object_get(paths, path) ?: json_object_get(paths, slashed);

    text_copy(method, sizeof method, http_method_name(row->method));
    for (char *at = method; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    return json_object_get(there, method) != NULL;
}

static void read_description(struct slurm_client *client, const json_t *body)
{
    const json_t *paths = json_object_get(body, "paths");

    for (int i = 0; i < SLURM_ACTION_COUNT; i++) {
        const struct slurm_action_row *row = &slurm_actions[i];

        client->versions[i] = 0;
        for (int version = row->last; row->first > 0 && version >= row->first; version--)
            if (describes(paths, (enum slurm_action)i, version)) {
                client->versions[i] = version;
                break;
            }
    }
}

/* A discovery: two questions, and whom it is for. */
struct discovery {
    struct slurm_client *client;
    slurm_done_fn done;
    void *context;
    struct error rest_before, command_before; /* what the last one found */
};

/* The other of the two ways may do without it, or not. */
static void log_trouble(const struct slurm_client *client, const char *way,
                        const struct error *trouble, const struct error *before)
{
    if (trouble->kind != ERROR_NONE && !text_equal(trouble->text, before->text))
        log_warn("slurm_unheard", FIELD_TEXT("cluster", client->name), FIELD_TEXT("way", way),
                 FIELD_TEXT("text", trouble->text));
}

static void end_discovery(struct discovery *discovery)
{
    struct slurm_client *client = discovery->client;
    struct discovery was = *discovery;
    struct slurm_answer answer = { .format = SLURM_NOTHING };
    bool has_rest = client->versions[SLURM_LIST_NODES] > 0;
    bool is_heard = has_rest || client->release > 0;
    const struct error *why = client->access->place.address ? &client->command_trouble
                                                            : &client->rest_trouble;

    mem_free(discovery);
    log_trouble(client, client->access->rest, &client->rest_trouble, &was.rest_before);
    log_trouble(client, client->access->place.address, &client->command_trouble,
                &was.command_before);
    client->known_ms = is_heard ? loop_now(client->world->loop) + 1 : 0;
    was.done(was.context, is_heard ? &answer : NULL, is_heard ? NULL : why);
}

static void on_release(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct discovery *discovery = context;
    struct slurm_client *client = discovery->client;

    client->release = answer ? slurm_read_release(answer->text) : 0;
    client->command_trouble = (struct error){ 0 };
    if (err)
        client->command_trouble = *err;
    else if (client->release == 0)
        (void)error_set(&client->command_trouble, ERROR_CORRUPT,
                        "cluster %s: \"scontrol --version\" printed \"%.60s\"", client->name,
                        answer->text);
    end_discovery(discovery);
}

static void ask_release(struct discovery *discovery)
{
    struct slurm_client *client = discovery->client;
    struct slurm_call *call;

    if (!client->access->place.address) {
        end_discovery(discovery);
        return;
    }
    call = slurm_call_new(client, SLURM_ASK_RELEASE, on_release, discovery);
    call->format = SLURM_TEXT;
    slurm_call_run(call, "scontrol --version");
}

static void on_description(void *context, const struct slurm_answer *answer,
                           const struct error *err)
{
    struct discovery *discovery = context;
    struct slurm_client *client = discovery->client;

    memset(client->versions, 0, sizeof client->versions);
    client->rest_trouble = (struct error){ 0 };
    if (answer)
        read_description(client, answer->body);
    if (err)
        client->rest_trouble = *err;
    else if (client->versions[SLURM_LIST_NODES] == 0)
        (void)error_set(&client->rest_trouble, ERROR_INVALID,
                        "cluster %s: slurmrestd has no list of nodes in v0.0.%d to v0.0.%d",
                        client->name, SLURM_REST_FIRST, SLURM_REST_LAST);
    ask_release(discovery);
}

void slurm_client_discover(struct slurm_client *client, slurm_done_fn done, void *context)
{
    struct discovery *discovery = mem_new(sizeof *discovery);
    struct slurm_call *call;
    struct error err;

    *discovery = (struct discovery){ client, done, context, client->rest_trouble,
                                     client->command_trouble };
    if (!client->access->rest) {
        ask_release(discovery);
        return;
    }
    call = slurm_call_new(client, SLURM_ASK_DESCRIPTION, on_description, discovery);
    call->format = SLURM_JSON;
    if (slurm_call_send(call, HTTP_GET, "/openapi/v3", NULL, &err) < 0)
        slurm_call_fail(call, &err);
}

/* ---- actions ---- */

/* A way that does not answer now may be there later: then the next round looks for it. */
static int no_way(struct slurm_client *client, struct error *err)
{
    const struct error *trouble = client->command_trouble.kind != ERROR_NONE
                                      ? &client->command_trouble
                                      : &client->rest_trouble;

    if (is_doubted(client))
        slurm_client_forget(client);
    if (trouble->kind != ERROR_NONE)
        return error_set(err, ERROR_TRANSIENT, "%.300s", trouble->text);
    if (client->known_ms == 0)
        return error_set(err, ERROR_TRANSIENT, "it is not known yet what the cluster can do");
    return error_set(err, ERROR_INVALID,
                     "neither slurmrestd nor a command of this release can do it: see `sluice "
                     "doctor`");
}

/* The way of this action: 0, or -1 if there is none. */
static int send_action(struct slurm_call *call, const struct slurm_blanks *blanks,
                       struct error *err)
{
    struct slurm_client *client = call->client;
    int version = client->versions[call->action];
    const struct slurm_command *command = slurm_client_command(client, call->action);
    owned(chars) char *target = NULL;
    owned(json) json_t *body = NULL;

    if (version == 0 && !command)
        return no_way(client, err);
    if (command) {
        call->line = slurm_command_line(command, blanks, err);
        call->line_format = command->format;
        if (!call->line)
            return -1;
    }
    if (version == 0) {
        call->format = command->format;
        slurm_call_run(call, call->line);
        return 0;
    }
    target = slurm_rest_target(call->action, version, blanks, err);
    if (!target)
        return -1;
    body = slurm_rest_body(call->action, blanks);
    call->format = SLURM_JSON;
    return slurm_call_send(call, slurm_actions[call->action].method, target, body, err);
}

void slurm_ask(struct slurm_client *client, enum slurm_action action,
               const struct slurm_blanks *blanks, slurm_done_fn done, void *context)
{
    struct slurm_call *call = slurm_call_new(client, SLURM_ASK_ACTION, done, context);
    struct error err;

    call->action = action;
    if (send_action(call, blanks, &err) < 0) {
        error_context(&err, "cluster %s: %s", client->name, slurm_actions[action].name);
        slurm_call_fail(call, &err);
    }
}

/* ---- the client ---- */

struct slurm_client *slurm_client_new(struct world *world, const char *name,
                                      const struct slurm_access *access, struct error *err)
{
    struct slurm_client *client = mem_new(sizeof *client);
    const char *key;

    *client = (struct slurm_client){ .world = world, .name = name, .access = access };
    if (access->ca) {
        client->ca = file_read(access->ca, FILE_LIMIT, err);
        if (!client->ca) {
            slurm_client_free(client);
            return NULL;
        }
    }
    if (access->place.address &&
        ssh_target_make(&access->place, &access->ssh, &client->target, &key, err) < 0) {
        slurm_client_free(client);
        return NULL;
    }
    return client;
}

void slurm_client_free(struct slurm_client *client)
{
    while (client->first) {
        struct slurm_call *call = client->first;

        http_cancel(client->world->http, call->http);
        ssh_cancel(call->exec);
        if (call->subject != SLURM_ASK_ACTION)
            mem_free(call->context); /* the discovery */
        slurm_call_free(call);
    }
    text_free(client->ca);
    ssh_target_clear(&client->target);
    mem_free(client);
}
