/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kube_plugin.h.
 */
#include "clusters/kube_plugin.h"

#include "base/array.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "clusters/kube_config.h"

#include <string.h>
#include <unistd.h>

/* Of our own environment: how a plugin finds its way out, and its own credentials; nothing else.
   One that ends in "=" is a whole name. */
static const char *const passed_on[] = {
    "HOME=",
    "USER=",
    "LANG=",
    "TMPDIR=",
    "HTTPS_PROXY=",
    "https_proxy=",
    "HTTP_PROXY=",
    "http_proxy=",
    "NO_PROXY=",
    "no_proxy=",
    "SSL_CERT_FILE=",
    "SSL_CERT_DIR=",
    "AWS_",
    "GOOGLE_",
    "CLOUDSDK_",
    "AZURE_",
    "AAD_",
    "OCI_",
    "KUBERNETES_SERVICE_",
};

static const char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct words {
    ARRAY(char *) list; /* ends with NULL once it is taken */
};

static char **words_take(struct words *words)
{
    *array_add(&words->list) = NULL;
    return words->list.items;
}

static void words_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++) {
        explicit_bzero(list[i], strlen(list[i]));
        mem_free(list[i]);
    }
    mem_free(list);
}

void kube_plugin_free(struct kube_plugin *plugin)
{
    if (!plugin)
        return;
    mem_free(plugin->api_version);
    words_free(plugin->arguments);
    words_free(plugin->environment);
    mem_free(plugin);
}

/* A member that is text and must be there. */
static int need_text(const struct yaml_node *mapping, const char *key, const char **ret,
                     struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    return node ? yaml_text(node, ret, err) : yaml_error(err, mapping, "has no %s", key);
}

static int check_version(const struct yaml_node *exec, const char **ret, struct error *err)
{
    if (need_text(exec, "apiVersion", ret, err) < 0)
        return -1;
    if (text_equal(*ret, "client.authentication.k8s.io/v1") ||
        text_equal(*ret, "client.authentication.k8s.io/v1beta1"))
        return 0;
    return yaml_error(err, yaml_get(exec, "apiVersion"),
                      "only client.authentication.k8s.io/v1 and v1beta1 are known");
}

/* A path must be the allowed one; a bare name must be its last part. */
static int check_command(const struct yaml_node *exec, const char *allowed, struct error *err)
{
    const struct yaml_node *mode = yaml_get(exec, "interactiveMode");
    const char *command;

    if (need_text(exec, "command", &command, err) < 0)
        return -1;
    if (mode && text_equal(mode->text, "Always"))
        return yaml_error(err, mode, "refused: nobody is there to answer the program");
    if (!allowed || allowed[0] == '\0')
        return yaml_error(err, yaml_get(exec, "command"),
                          "runs program \"%s\" for credentials, which is not allowed: set the "
                          "cluster's `plugin` to its absolute path, or use a token file",
                          command);
    if (!text_equal(command, allowed) &&
        (strchr(command, '/') || !text_equal(command, strrchr(allowed, '/') + 1)))
        return yaml_error(err, yaml_get(exec, "command"),
                          "runs program \"%s\" for credentials; only %s is allowed", command,
                          allowed);
    return 0;
}

static char **read_arguments(const struct yaml_node *exec, const char *allowed, struct error *err)
{
    const struct yaml_node *list = yaml_get(exec, "args");
    struct words words = { 0 };

    if (list && list->kind != YAML_SCALAR && yaml_expect(list, YAML_SEQUENCE, err) < 0)
        return NULL;
    *array_add(&words.list) = mem_copy_chars(allowed);
    for (size_t i = 0; list && i < list->count; i++) {
        const char *word;

        if (yaml_text(&list->children[i], &word, err) < 0) {
            words_free(words_take(&words));
            return NULL;
        }
        *array_add(&words.list) = mem_copy_chars(word);
    }
    return words_take(&words);
}

/* What KUBERNETES_EXEC_INFO holds: always the version, the cluster where it asks for it. */
static char *exec_info(const struct yaml_node *exec, const char *api_version, const char *server,
                       const struct http_tls *tls, struct error *err)
{
    const struct yaml_node *wants = yaml_get(exec, "provideClusterInfo");
    bool is_wanted = false;
    json_t *spec = json_make("{sb}", "interactive", 0);
    owned(json) json_t *info = json_make("{ss ss so}", "apiVersion", api_version, "kind",
                                         "ExecCredential", "spec", spec);
    owned(chars) char *text = NULL;

    if (wants && yaml_bool(wants, &is_wanted, err) < 0)
        return NULL;
    if (is_wanted) {
        json_t *cluster = json_make("{ss}", "server", server);

        if (tls->server_name)
            json_object_set_new(cluster, "tls-server-name", json_string(tls->server_name));
        if (tls->ca_pem) {
            owned(text) struct text *ca = text_new(TEXT_UNBOUNDED);

            crypto_add_base64(ca, tls->ca_pem, strlen(tls->ca_pem));
            json_object_set_new(cluster, "certificate-authority-data", json_string(ca->chars));
        }
        json_object_set_new(spec, "cluster", cluster);
    }
    text = json_print(info);
    return text_format("KUBERNETES_EXEC_INFO=%s", text);
}

static bool is_passed_on(const char *entry)
{
    for (size_t i = 0; i < COUNT_OF(passed_on); i++)
        if (text_starts_with(entry, passed_on[i]))
            return true;
    return false;
}

static char **read_environment(const struct yaml_node *exec, struct error *err)
{
    const struct yaml_node *list = yaml_get(exec, "env");
    struct words words = { 0 };

    *array_add(&words.list) = mem_copy_chars(path);
    for (char **entry = environ; entry && *entry; entry++)
        if (is_passed_on(*entry))
            *array_add(&words.list) = mem_copy_chars(*entry);
    for (size_t i = 0; list && i < list->count; i++) {
        const char *name;
        const char *value;

        if (need_text(&list->children[i], "name", &name, err) < 0 ||
            need_text(&list->children[i], "value", &value, err) < 0) {
            words_free(words_take(&words));
            return NULL;
        }
        *array_add(&words.list) = text_format("%s=%s", name, value);
    }
    return words_take(&words);
}

/* The file's own entries come last; of two with one name a program may take either. */
static char **with_info(char **environment, char *info)
{
    struct words words = { 0 };

    for (size_t i = 0; environment[i]; i++) {
        const char *end = strchr(environment[i], '=');
        size_t length = (size_t)(end - environment[i]) + 1;
        bool is_overruled = false;

        for (size_t k = i + 1; environment[k]; k++)
            is_overruled |= strncmp(environment[i], environment[k], length) == 0;
        if (is_overruled)
            mem_free(environment[i]);
        else
            *array_add(&words.list) = environment[i];
    }
    mem_free(environment);
    *array_add(&words.list) = info;
    return words_take(&words);
}

static void owned_plugin(struct kube_plugin **plugin)
{
    kube_plugin_free(*plugin);
}

struct kube_plugin *kube_plugin_read(const struct yaml_node *exec, const char *allowed,
                                     const char *server, const struct http_tls *tls,
                                     struct error *err)
{
    owned(plugin) struct kube_plugin *plugin = mem_new(sizeof *plugin);
    const char *api_version;
    char *info;

    if (yaml_expect(exec, YAML_MAPPING, err) < 0 || check_version(exec, &api_version, err) < 0 ||
        check_command(exec, allowed, err) < 0)
        return NULL;
    plugin->api_version = mem_copy_chars(api_version);
    plugin->arguments = read_arguments(exec, allowed, err);
    plugin->environment = plugin->arguments ? read_environment(exec, err) : NULL;
    info = plugin->environment ? exec_info(exec, api_version, server, tls, err) : NULL;
    if (!info)
        return NULL;
    plugin->environment = with_info(plugin->environment, info);
    return steal(&plugin);
}
