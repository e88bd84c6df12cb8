/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kube_plugin.h.
 */
#include "clusters/kube/kube_plugin.h"

#include "base/array.h"
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "clusters/kube/kube_config.h"

#include <string.h>
#include <unistd.h>

/* The variables of our own environment, which the operator sets, that a plugin gets: proxies,
   authorities, identity.  Whole names only; no variable is passed on by a prefix. */
static const char *const passed_on[] = {
    "HOME",
    "USER",
    "LANG",
    "TMPDIR",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    /* aws eks get-token, aws-iam-authenticator */
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_SDK_LOAD_CONFIG",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_STS_REGIONAL_ENDPOINTS",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_STS",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_CA_BUNDLE",
    /* gke-gcloud-auth-plugin, gcloud */
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "CLOUDSDK_CONFIG",
    "CLOUDSDK_ACTIVE_CONFIG_NAME",
    "CLOUDSDK_CORE_ACCOUNT",
    "CLOUDSDK_CORE_PROJECT",
    "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE",
    "CLOUDSDK_PYTHON",
    /* kubelogin */
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_CLIENT_CERTIFICATE_PASSWORD",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_AUTHORITY_HOST",
    "AZURE_CONFIG_DIR",
    "AAD_LOGIN_METHOD",
    "AAD_SERVICE_PRINCIPAL_CLIENT_ID",
    "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET",
    "AAD_SERVICE_PRINCIPAL_CLIENT_CERTIFICATE",
    "AAD_SERVICE_PRINCIPAL_CLIENT_CERTIFICATE_PASSWORD",
    "AAD_USER_PRINCIPAL_NAME",
    "AAD_USER_PRINCIPAL_PASSWORD",
    /* oci */
    "OCI_CLI_PROFILE",
    "OCI_CLI_CONFIG_FILE",
    "OCI_CLI_AUTH",
    "OCI_CLI_REGION",
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* The variables that a kubeconfig may set: which of our identities, and which region.  None may
   name a file, a program, a server or an authority; HOME and AWS_CONFIG_FILE lead to files that
   make the plugin run programs.  A region becomes a part of a host's name. */
static const struct {
    const char *name;
    const char *characters; /* of its value */
} given[] = {
    { "AWS_PROFILE", LETTERS " -_.:/@+=," },
    { "AWS_DEFAULT_PROFILE", LETTERS " -_.:/@+=," },
    { "AWS_REGION", LETTERS "-" },
    { "AWS_DEFAULT_REGION", LETTERS "-" },
    { "AWS_STS_REGIONAL_ENDPOINTS", LETTERS },
    { "CLOUDSDK_ACTIVE_CONFIG_NAME", LETTERS "-_" },
    { "CLOUDSDK_CORE_ACCOUNT", LETTERS "-_.@+" },
    { "CLOUDSDK_CORE_PROJECT", LETTERS "-_.:" },
    { "AAD_LOGIN_METHOD", LETTERS },
    { "AAD_SERVICE_PRINCIPAL_CLIENT_ID", LETTERS "-" },
    { "AZURE_CLIENT_ID", LETTERS "-" },
    { "AZURE_TENANT_ID", LETTERS "-" },
    { "OCI_CLI_PROFILE", LETTERS "-_." },
    { "OCI_CLI_REGION", LETTERS "-" },
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
    for (size_t i = 0; list && list[i]; i++)
        secret_free(list[i]);
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

/* A missing program is no error yet, because an upgrade may be replacing it.  The error comes when
   sluice runs it. */
static int check_program(const struct yaml_node *exec, const char *allowed, struct error *err)
{
    struct error why = { 0 };

    if (trust_program(allowed, &why) < 0 && why.kind == ERROR_DENIED)
        return yaml_error(err, yaml_get(exec, "command"), "%s", why.text);
    return 0;
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
    return check_program(exec, allowed, err);
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

/* The content of KUBERNETES_EXEC_INFO: always the version; the cluster if the kubeconfig asks for
   it. */
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
            json_object_set_new(cluster, "tls-server-name", json_text(tls->server_name));
        if (tls->ca_pem) {
            owned(text) struct text *ca = text_new(TEXT_UNBOUNDED);

            crypto_add_base64(ca, tls->ca_pem, strlen(tls->ca_pem));
            json_object_set_new(cluster, "certificate-authority-data", json_text(ca->chars));
        }
        json_object_set_new(spec, "cluster", cluster);
    }
    text = json_print(info);
    return text_format("KUBERNETES_EXEC_INFO=%s", text);
}

static bool is_passed_on(const char *entry)
{
    for (size_t i = 0; i < COUNT_OF(passed_on); i++) {
        size_t length = strlen(passed_on[i]);

        if (strncmp(entry, passed_on[i], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

static int check_given(const struct yaml_node *entry, const char *name, const char *value,
                       struct error *err)
{
    owned(text) struct text *names = text_new(TEXT_UNBOUNDED);

    for (size_t i = 0; i < COUNT_OF(given); i++) {
        text_add(names, "%s%s", i > 0 ? ", " : "", given[i].name);
        if (!text_equal(given[i].name, name))
            continue;
        if (value[strspn(value, given[i].characters)] == '\0')
            return 0;
        return yaml_error(err, yaml_get(entry, "value"),
                          "refused: %s has characters that no such name has", name);
    }
    return yaml_error(err, yaml_get(entry, "name"),
                      "refused: a kubeconfig may not set it; the plugin may be given: %s",
                      names->chars);
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
        const struct yaml_node *entry = &list->children[i];
        const char *name;
        const char *value;

        if (need_text(entry, "name", &name, err) < 0 ||
            need_text(entry, "value", &value, err) < 0 ||
            check_given(entry, name, value, err) < 0) {
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
