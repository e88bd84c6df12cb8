/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice init: a first sluice.yaml from what clusters and clouds show.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "broker/cli/init_write.h"
#include "broker/doctor/init_clouds.h"
#include "broker/doctor/init_survey.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_MS = 30 * SECOND_MS };

const struct command_option init_options[] = {
    { "file", 0, "FILE", "the file to write (default ./sluice.yaml)", false },
    { "kubeconfig", 0, "FILE", "where the contexts are (default: $KUBECONFIG, ~/.kube/config)",
      false },
    { "production", 0, "CONTEXT", "the context of a production cluster", true },
    { "research", 0, "CONTEXT", "the context of a research cluster", true },
    { "plugin", 0, "FILE", "the one program that the kubeconfig may run for credentials", false },
    { "time-zone", 0, "ZONE",
      "the zone of the windows: America/New_York (default: $TZ, or this system's zone)", false },
    { "account", 0, "CLOUD.KEY=VALUE",
      "a key of `providers` for that cloud: aws.profile=prod (default: the usual places)", true },
    { "offline", 0, NULL, "ask no cloud", false },
    { "timeout", 0, "DURATION", "how long a cluster or a cloud may take to answer (default 30s)",
      false },
    { 0 },
};

static char *kubeconfig_of(const struct command_call *call)
{
    const char *given = call_text_or(call, "kubeconfig", getenv("KUBECONFIG"));
    char cwd[4096];

    if (!given || given[0] == '\0')
        return text_format("%s/.kube/config", getenv("HOME") ?: "");
    if (given[0] == '/' || !getcwd(cwd, sizeof cwd))
        return mem_copy_chars(given);
    return text_format("%s/%s", cwd, given);
}

/* The names of all contexts; NULL: the file cannot be read. */
static json_t *contexts_of(const char *path, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(path, err);
    const struct yaml_node *list = document ? yaml_get(yaml_root(document), "contexts") : NULL;
    json_t *names = json_array();

    for (size_t i = 0; list && i < list->count; i++) {
        const struct yaml_node *name = yaml_get(&list->children[i], "name");

        if (name && name->text)
            json_array_append_new(names, json_text(name->text));
    }
    if (json_array_size(names) > 0)
        return names;
    json_decref(names);
    if (document)
        error_set(err, ERROR_NOT_FOUND, "%s has no context", path);
    return NULL;
}

static bool has_context(const json_t *contexts, const char *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(contexts, i, one)
        if (text_equal(json_string_value(one), name))
            return true;
    return false;
}

/* The names of clusters are keys: letters, digits and dashes of the context. */
static void add_cluster(const struct command_call *call, json_t *clusters, const char *context,
                        const char *role, const char *kubeconfig)
{
    owned(chars) char *name = mem_copy_chars(context);

    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *at))
            *at = '-';
    json_array_append_new(clusters, json_make("{ss ss ss ss ss*}", "cluster", name, "role", role,
                                              "kubeconfig", kubeconfig, "context", context,
                                              "plugin", call_text(call, "plugin")));
}

static int add_given(const struct command_call *call, const json_t *contexts,
                     const char *kubeconfig, json_t *clusters, struct error *err)
{
    static const char *const roles[] = { "production", "research" };

    for (size_t r = 0; r < COUNT_OF(roles); r++)
        for (size_t i = 0; i < call_repeat(call, roles[r]); i++) {
            const char *context = call_text_at(call, roles[r], i);

            if (!has_context(contexts, context))
                return error_set(err, ERROR_NOT_FOUND, "%s has no context %s", kubeconfig, context);
            add_cluster(call, clusters, context, roles[r], kubeconfig);
        }
    return 0;
}

/* One question for each context. */
static void ask_roles(const struct command_call *call, const json_t *contexts,
                      const char *kubeconfig, json_t *clusters)
{
    const json_t *one;
    size_t i;

    json_array_foreach(contexts, i, one) {
        char line[64] = "";

        fprintf(stderr, "%s: p(roduction), r(esearch), or Enter to leave it out? ",
                json_string_value(one));
        if (!fgets(line, sizeof line, stdin))
            return;
        if (line[0] == 'p' || line[0] == 'r')
            add_cluster(call, clusters, json_string_value(one),
                        line[0] == 'p' ? "production" : "research", kubeconfig);
    }
}

static int check_clusters(const json_t *clusters, const json_t *contexts, struct error *err)
{
    owned(text) struct text *names = text_new(2048);
    const json_t *row;
    int production = 0;
    size_t i;

    json_array_foreach(clusters, i, row)
        production += text_equal(json_text_or(row, "role", ""), "production");
    json_array_foreach(contexts, i, row)
        text_add(names, "%s%s", i > 0 ? ", " : "", json_string_value(row));
    if (production > 0)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "name a production cluster with --production CONTEXT; there "
                     "are: %.400s",
                     names->chars);
}

/* Where this system keeps its zone: a link to .../zoneinfo/America/New_York.  NULL: it has none, or
   one without a name. */
static char *zone_of_system(void)
{
    static const char mark[] = "/zoneinfo/";
    char path[PATH_MAX];
    const char *name = realpath("/etc/localtime", path) ? strstr(path, mark) : NULL;

    return name ? mem_copy_chars(name + strlen(mark)) : NULL;
}

static int check_zone(const char *name, struct error *err)
{
    owned(time_zone) struct time_zone *zone = NULL;

    if (!name || name[0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "say in which zone the windows begin: --time-zone America/New_York");
    zone = time_zone_open(name, err);
    return zone ? 0 : -1;
}

/* {CLOUD: {KEY: VALUE}} of all --account. */
static json_t *given_accounts(const struct command_call *call, struct error *err)
{
    owned(json) json_t *given = json_object();

    for (size_t i = 0; i < call_repeat(call, "account"); i++) {
        const char *text = call_text_at(call, "account", i);
        const char *dot = strchr(text, '.');
        const char *equal = dot ? strchr(dot, '=') : NULL;
        owned(chars) char *cloud = NULL;
        owned(chars) char *key = NULL;

        if (!equal || dot == text || equal == dot + 1) {
            error_set(err, ERROR_INVALID, "--account: expected CLOUD.KEY=VALUE, found \"%.100s\"",
                      text);
            return NULL;
        }
        cloud = text_format("%.*s", (int)(dot - text), text);
        key = text_format("%.*s", (int)(equal - dot - 1), dot + 1);
        if (!json_object_get(given, cloud))
            json_object_set_new(given, cloud, json_object());
        json_object_set_new(json_object_get(given, cloud), key, json_text(equal + 1));
    }
    return steal(&given);
}

static int write_file(const struct command_call *call, const struct init_facts *facts,
                      struct error *err)
{
    const char *path = call_text_or(call, "file", "sluice.yaml");
    owned(text) struct text *text = text_new(TEXT_UNBOUNDED);

    init_write(facts, text);
    return file_write_new(path, text->chars, text->length, 0644, err);
}

static void show(const struct command_call *call, const json_t *clusters, const json_t *groups)
{
    const char *path = call_text_or(call, "file", "sluice.yaml");
    owned(json) json_t *answer = json_make("{ss ss sO sO}", "kind", "init", "file", path,
                                           "clusters", clusters, "groups", groups);
    const json_t *row;
    size_t told = 0;
    size_t i;

    json_array_foreach(groups, i, row) {
        told += json_text_or(row, "group", NULL) != NULL;
        if (json_text_or(row, "group_unknown", NULL) && !call_flag(call, "offline"))
            fprintf(stderr, "note: the group of node %s is not known: %s\n",
                    json_text_or(row, "node", "-"), json_text_or(row, "group_unknown", ""));
    }
    if (client_wants_json(call))
        client_print_json(call, answer);
    else
        printf("%s: %zu clusters, %zu node groups; the names of %zu are known.\nReplace the words "
               "REPLACE-... in it, then: sluice validate; sluice doctor\n",
               path, json_array_size(clusters), json_array_size(groups), told);
}

/* From the nodes that clusters show to the written file. */
static int make(const struct command_call *call, const json_t *clusters, const char *zone,
                int64_t timeout_ms, struct error *err)
{
    owned(json) json_t *given = given_accounts(call, err);
    owned(json) json_t *groups = given ? init_survey(clusters, timeout_ms, err) : NULL;
    owned(json) json_t *accounts = NULL;

    if (!groups)
        return -1;
    if (json_array_size(groups) == 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "the clusters have no node with GPUs: a pool needs "
                         "one node at least");
    accounts = init_accounts(groups, given, err);
    if (!accounts)
        return -1;
    if (call_flag(call, "offline"))
        init_ask_nothing(groups);
    else
        init_ask_clouds(accounts, timeout_ms, groups);
    if (write_file(call, &(struct init_facts){ zone, clusters, accounts, groups }, err) < 0)
        return -1;
    show(call, clusters, groups);
    return 0;
}

int cmd_init(struct command_call *call)
{
    struct error err = { 0 };
    const char *path = call_text_or(call, "file", "sluice.yaml");
    owned(chars) char *system = zone_of_system();
    const char *given = call_text_or(call, "time-zone", getenv("TZ"));
    const char *zone = given ?: system;
    int64_t timeout_ms = DEFAULT_TIMEOUT_MS;
    owned(chars) char *kubeconfig = kubeconfig_of(call);
    owned(json) json_t *clusters = json_array();
    owned(json) json_t *contexts = NULL;

    if (call_duration(call, "timeout", &timeout_ms, &err) < 0 || check_zone(zone, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (file_exists(path)) { /* before anything is asked */
        error_set(&err, ERROR_CONFLICT, "%s is there already, and is never overwritten", path);
        return client_fail(call, &err);
    }
    contexts = contexts_of(kubeconfig, &err);
    if (!contexts || add_given(call, contexts, kubeconfig, clusters, &err) < 0)
        return client_fail(call, &err);
    if (json_array_size(clusters) == 0 && isatty(STDIN_FILENO))
        ask_roles(call, contexts, kubeconfig, clusters);
    if (check_clusters(clusters, contexts, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (make(call, clusters, zone, timeout_ms, &err) < 0)
        return client_fail(call, &err);
    if (!given) /* servers are often in UTC, and their users are not */
        fprintf(stderr,
                "note: the windows are in %s, the zone of this system; --time-zone gives "
                "another\n",
                zone);
    return EXIT_DONE;
}
