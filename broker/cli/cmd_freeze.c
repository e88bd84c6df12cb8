/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice freeze and sluice unfreeze: no voluntary change until a time.
 */
#include "base/input/json.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/output.h"

#include <stdio.h>

const struct command_option freeze_options[] = {
    { "cluster", 0, "CLUSTER", "only this cluster (default: all)", false },
    { "node", 0, "NODE", "only this node: no move takes it, reclaims included", false },
    { "until", 0, "TIME", "the freeze ends at this time (RFC 3339)", false },
    { "for", 0, "DURATION", "how long the freeze lasts, instead of --until", false },
    { "reason", 0, "TEXT", "why; shown in the status", false },
    CLIENT_OPTIONS,
    { 0 },
};
const struct command_option unfreeze_options[] = {
    { "cluster", 0, "CLUSTER",
      "end the freeze of this cluster (default: the freeze of all clusters)", false },
    { "node", 0, "NODE", "end the freeze of this node", false },
    CLIENT_OPTIONS,
    { 0 },
};

/* The freeze of another person, which holds longer. */
static void add_kept(struct text *out, const json_t *answer)
{
    const char *cluster = json_text_or(answer, "cluster", "");
    const char *node = json_text_or(answer, "node", "");

    text_add(out, ": frozen until %s by %s: %s\n", json_text_or(answer, "until", "-"),
             json_text_or(answer, "by", "-"), json_text_or(answer, "reason", "-"));
    text_add(out,
             "That is longer than you asked for, so nothing has changed. `sluice unfreeze%s%s%s%s` "
             "ends it.\n",
             cluster[0] != '\0' ? " --cluster " : "", cluster, node[0] != '\0' ? " --node " : "",
             node);
}

static void print_freeze(const struct command_call *call, const json_t *answer, bool is_frozen)
{
    const char *cluster = json_text_or(answer, "cluster", "");
    const char *node = json_text_or(answer, "node", "");
    owned(text) struct text *out = text_new(1 << 16);

    text_add(out, "%s", cluster[0] != '\0' ? cluster : "all clusters");
    if (node[0] != '\0')
        text_add(out, ", node %s", node);
    if (json_bool_or(answer, "is_kept", false))
        add_kept(out, answer);
    else if (is_frozen)
        text_add(out, ": frozen until %s\n", json_text_or(answer, "until", "-"));
    else
        text_add(out, ": the freeze is over\n");
    output_print(call, out->chars);
}

static int send(const struct command_call *call, const struct config *config, const char *path,
                const json_t *request)
{
    struct error err = { 0 };
    owned(json) json_t *answer = client_ask(config, HTTP_POST, path, request, &err);

    if (!answer)
        return client_fail(call, &err);
    if (client_wants_json(call))
        client_print_json(call, answer);
    else
        print_freeze(call, answer, text_equal(path, "/v1/freeze"));
    return EXIT_DONE;
}

/* A variable of a script that is not set must not freeze, or open, all. */
static bool has_empty_name(const struct command_call *call)
{
    return text_equal(call_text(call, "cluster"), "") || text_equal(call_text(call, "node"), "");
}

static void add_subject(const struct command_call *call, json_t *request)
{
    if (call_text(call, "cluster"))
        json_object_set_new(request, "cluster", json_text(call_text(call, "cluster")));
    if (call_text(call, "node"))
        json_object_set_new(request, "node", json_text(call_text(call, "node")));
}

int cmd_freeze(struct command_call *call)
{
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *request = NULL;

    if (!call_text(call, "reason"))
        return call_usage_error(call, "--reason is required");
    if (has_empty_name(call))
        return call_usage_error(call, "--cluster and --node need a name");
    config = client_service(call, &code);
    if (!config)
        return code;
    request = json_make("{ss}", "reason", call_text(call, "reason"));
    add_subject(call, request);
    if (client_add_until(call, 0, request, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    return send(call, config, "/v1/freeze", request);
}

int cmd_unfreeze(struct command_call *call)
{
    int code = EXIT_DONE;
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *request = json_object();

    if (has_empty_name(call))
        return call_usage_error(call, "--cluster and --node need a name");
    add_subject(call, request);
    return config ? send(call, config, "/v1/unfreeze", request) : code;
}
