/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * kubeconfig files: what is read, and every refusal with its sentence.
 */
#include "clusters/kube/kube_config.h"
#include "tests/clusters/cluster_bench.h"

#include <stdlib.h>
#include <sys/stat.h>

static char folder[] = "/tmp/sluice-config-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    bench_remove_folder(folder);
    return 0;
}

static struct kube_config *read_config(const char *chars, const char *context, struct error *err)
{
    owned(chars) char *path = text_format("%s/config", folder);
    bench_write(folder, "config", chars);
    return kube_config_read(path, context, "/usr/bin/aws", err);
}

#define PEM "-----BEGIN X-----\n-----END X-----\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBYLS0tLS0KLS0tLS1FTkQgWC0tLS0tCg=="

static void a_whole_file_is_read(void **state)
{
    (void)state;
    struct error err = { 0 };
    bench_write(folder, "key.pem", PEM "key");
    bench_write(folder, "cert.pem", PEM "cert");
    owned(kube_config) struct kube_config *config = read_config(
        "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: other\n"
        "contexts:\n- name: other\n  context: {cluster: nowhere, user: nobody}\n"
        "- name: mine\n  context:\n    cluster: east\n    user: admin\n    namespace: x\n"
        "clusters:\n- name: west\n  cluster: {server: 'https://west'}\n"
        "- name: east\n  cluster:\n    server: https://east:6443/k8s/c-1//\n"
        "    certificate-authority-data: " PEM_BASE64 "\n    tls-server-name: kubernetes\n"
        "    insecure-skip-tls-verify: false\n"
        "users:\n- name: admin\n  user:\n    client-certificate: cert.pem\n"
        "    client-key: key.pem\n    token: secret\n",
        "mine", &err);
    if (!config)
        fail_msg("%s", err.text);
    assert_string_equal(config->server, "https://east:6443/k8s/c-1");
    assert_string_equal(config->tls.ca_pem, PEM);
    assert_string_equal(config->tls.server_name, "kubernetes");
    assert_string_equal(config->tls.certificate_pem, PEM "cert");
    assert_string_equal(config->tls.key_pem, PEM "key");
    assert_string_equal(config->token, "secret");
    assert_null(config->token_file);
}

static void the_current_context_counts_and_a_token_file_wins(void **state)
{
    (void)state;
    struct error err = { 0 };
    owned(chars) char *want = text_format("%s/token", folder);
    owned(kube_config) struct kube_config *config = read_config(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:8001'}}]\n"
        "users: [{name: u, user: {token: old, tokenFile: token}}]\n",
        NULL, &err);
    if (!config)
        fail_msg("%s", err.text);
    assert_string_equal(config->server, "http://127.0.0.1:8001");
    assert_string_equal(config->token_file, want);
    assert_null(config->token);
    assert_null(config->tls.ca_pem);
}

#define HEAD "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
#define CLUSTER(members) HEAD "clusters: [{name: c, cluster: {" members "}}]\n"
#define USER(members) CLUSTER("server: 'https://c'") "users: [{name: u, user: {" members "}}]\n"

#define V1 "exec: {apiVersion: client.authentication.k8s.io/v1"

static const char *variable(const struct kube_plugin *plugin, const char *start)
{
    const char *found = NULL;

    for (size_t i = 0; plugin->environment[i]; i++) {
        if (!text_starts_with(plugin->environment[i], start))
            continue;
        if (found)
            fail_msg("%s is set twice", start);
        found = plugin->environment[i] + strlen(start);
    }
    return found;
}

/* The plugin gets its own words and little else. */
static void the_allowed_program_is_made_ready(void **state)
{
    (void)state;
    struct error err = { 0 };
    setenv("AWS_PROFILE", "ours", 1);
    setenv("SECRET_OF_SLUICE", "x", 1);
    setenv("HOME", "/home/ours", 1);
    owned(kube_config) struct kube_config *config = read_config(
        HEAD "clusters: [{name: c, cluster: {server: 'https://c', "
             "certificate-authority-data: " PEM_BASE64 "}}]\n"
             "users: [{name: u, user: {" V1 ", command: aws, args: [eks, get-token, '2'],\n"
             "  env: [{name: AWS_PROFILE, value: theirs}], provideClusterInfo: true}}}]\n",
        NULL, &err);
    if (!config)
        fail_msg("%s", err.text);
    const struct kube_plugin *plugin = config->plugin;
    assert_string_equal(plugin->arguments[0], "/usr/bin/aws");
    assert_string_equal(plugin->arguments[1], "eks");
    assert_string_equal(plugin->arguments[3], "2");
    assert_null(plugin->arguments[4]);
    assert_string_equal(variable(plugin, "AWS_PROFILE="), "theirs");
    assert_string_equal(variable(plugin, "HOME="), "/home/ours");
    assert_null(variable(plugin, "SECRET_OF_SLUICE="));
    assert_non_null(strstr(variable(plugin, "KUBERNETES_EXEC_INFO="),
                           "\"certificate-authority-data\":\"" PEM_BASE64 "\""));
    assert_non_null(variable(plugin, "PATH="));
    unsetenv("AWS_PROFILE");
    unsetenv("SECRET_OF_SLUICE");
}

/* What a plugin needs to find its way out, and its own identity; names whole, where they are names.
 */
static void a_plugin_is_told_the_way_and_who_it_is(void **state)
{
    static const char *const told[] = {
        "HTTPS_PROXY",     "https_proxy",
        "HTTP_PROXY",      "http_proxy",
        "NO_PROXY",        "no_proxy",
        "SSL_CERT_FILE",   "SSL_CERT_DIR",
        "TMPDIR",          "AAD_SERVICE_PRINCIPAL_CLIENT_ID",
        "AZURE_TENANT_ID", "AWS_ROLE_ARN",
        "OCI_CLI_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS",
    };
    static const char *const not_told[] = { "HTTPS_PROXY_OF_SLUICE", "TMPDIRS", "XAWS_KEY" };
    struct error err = { 0 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(told); i++)
        setenv(told[i], "ours", 1);
    for (size_t i = 0; i < COUNT_OF(not_told); i++)
        setenv(not_told[i], "ours", 1);
    owned(kube_config) struct kube_config *config = read_config(USER(V1 ", command: aws}"), NULL,
                                                                &err);
    if (!config)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        owned(chars) char *start = text_format("%s=", told[i]);
        if (!text_equal(variable(config->plugin, start), "ours"))
            fail_msg("%s is not passed on", told[i]);
        unsetenv(told[i]);
    }
    for (size_t i = 0; i < COUNT_OF(not_told); i++) {
        assert_null(variable(config->plugin, not_told[i]));
        unsetenv(not_told[i]);
    }
}

/* Each of these had the allowed program run something else, or talk to another server. */
static void a_kubeconfig_names_an_identity_and_no_more(void **state)
{
    static const char *const refused[] = {
        "LD_PRELOAD",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "PATH",
        "HOME",
        "PYTHONPATH",
        "BASH_ENV",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CA_BUNDLE",
        "AWS_ENDPOINT_URL_STS",
        "AWS_ACCESS_KEY_ID",
        "CLOUDSDK_CONFIG",
        "CLOUDSDK_PYTHON",
        "AZURE_AUTHORITY_HOST",
        "HTTPS_PROXY",
        "GCONV_PATH",
        "AWS_PROFILE=x\nLD_PRELOAD",
        "AWS_PROFILE=",
        "LD_PRELOAD=/tmp/x.so;A",
        "aws_profile",
        "KUBERNETES_EXEC_INFO",
        "",
    };
    static const char *const values[] = { "evil.example/#", "a\nb", "evil.example" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused) + COUNT_OF(values); i++) {
        struct error err = { 0 };
        size_t k = i - COUNT_OF(refused);
        bool is_name = i < COUNT_OF(refused);
        owned(json)
            json_t *entry = json_make("{ss ss}", "name", is_name ? refused[i] : "AWS_REGION",
                                      "value", is_name ? "a" : values[k]);
        owned(chars) char *item = json_print(entry);
        owned(chars) char *chars = text_format(USER(V1 ", command: aws, env: [%s]}"), item);
        owned(kube_config) struct kube_config *config = read_config(chars, NULL, &err);
        if (config || err.kind != ERROR_INVALID || !strstr(err.text, "/config:4: users") ||
            !strstr(err.text, is_name ? "the plugin may be given" : "characters"))
            fail_msg("%s: %s", item, config ? "passed" : err.text);
    }
}

/* By the file of a plugin, and by the kubeconfig itself, others could run what they like. */
static void what_others_may_write_is_not_read(void **state)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/config", folder);
    owned(chars) char *plugin = text_format("%s/aws", folder);
    (void)state;
    bench_write(folder, "config", USER(V1 ", command: aws}"));
    bench_write(folder, "aws", "#!/bin/sh\n");
    assert_int_equal(chmod(plugin, 0777), 0);
    assert_null(kube_config_read(path, NULL, plugin, &err));
    assert_non_null(strstr(err.text, "may be changed by everybody"));
    assert_int_equal(chmod(plugin, 0755), 0);
    owned(kube_config) struct kube_config *config = kube_config_read(path, NULL, plugin, &err);
    assert_non_null(config);
    assert_int_equal(chmod(path, 0666), 0);
    assert_null(kube_config_read(path, NULL, plugin, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "may be changed by everybody"));
    assert_int_equal(chmod(path, 0644), 0);
}

static void without_leave_no_program_is_run(void **state)
{
    (void)state;
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/config", folder);
    bench_write(folder, "config", USER(V1 ", command: aws}"));
    assert_null(kube_config_read(path, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "set the cluster's `plugin` to its absolute path"));
}

static void a_pod_finds_its_own_server(void **state)
{
    (void)state;
    struct error err = { 0 };
    bench_write(folder, "ca.crt", PEM);
    owned(kube_config) struct kube_config *config = kube_config_of_pod(folder, "10.0.0.1", "443",
                                                                       &err);
    owned(kube_config) struct kube_config *six = kube_config_of_pod(folder, "fd00::1", "6443",
                                                                    &err);
    if (!config || !six)
        fail_msg("%s", err.text);
    assert_string_equal(config->server, "https://10.0.0.1:443");
    assert_string_equal(six->server, "https://[fd00::1]:6443");
    assert_string_equal(config->tls.ca_pem, PEM);
    assert_non_null(strstr(config->token_file, "/token"));
    assert_null(kube_config_of_pod(folder, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "this is no pod"));
    assert_null(kube_config_of_pod("/nonexistent", "10.0.0.1", "443", &err));
    assert_non_null(strstr(err.text, "ca.crt"));
}

static struct kube_config *again(const struct kube_config *config, const char *chars,
                                 struct error *err)
{
    bench_write(folder, "config", chars);
    return kube_config_again(config, err);
}

/* The same words make the same; each that counts makes another; what cannot be read, or leads
   elsewhere, makes none. */
static void a_file_is_read_again(void **state)
{
    static const char before[] = USER("token: one, client-certificate: cert.pem, client-key: "
                                      "key.pem");
    struct error err = { 0 };
    (void)state;
    bench_write(folder, "key.pem", PEM);
    bench_write(folder, "cert.pem", PEM);
    owned(kube_config) struct kube_config *config = read_config(before, NULL, &err);
    owned(kube_config) struct kube_config *same = again(config, before, &err);
    owned(kube_config) struct kube_config *other = again(config, USER("token: two"), &err);
    if (!config || !same || !other)
        fail_msg("%s", err.text);
    assert_true(kube_config_equals(config, same));
    assert_false(kube_config_equals(config, other));
    bench_write(folder, "cert.pem", PEM "more");
    owned(kube_config) struct kube_config *renewed = again(config, before, &err);
    assert_false(kube_config_equals(config, renewed));

    bench_write(folder, "cert.pem", "-----BEGIN X-----\n");
    assert_null(again(config, before, &err));
    assert_non_null(strstr(err.text, "holds no whole PEM text"));
    assert_null(
        again(config, CLUSTER("server: 'https://d'") "users: [{name: u, user: {}}]\n", &err));
    assert_non_null(strstr(err.text, "leads to another server now: https://d"));
    bench_write(folder, "cert.pem", PEM);
}

static void a_pods_authority_is_read_again(void **state)
{
    struct error err = { 0 };
    (void)state;
    bench_write(folder, "ca.crt", PEM);
    owned(kube_config) struct kube_config *config = kube_config_of_pod(folder, "10.0.0.1", "443",
                                                                       &err);
    owned(kube_config) struct kube_config *same = kube_config_again(config, &err);
    bench_write(folder, "ca.crt", PEM PEM);
    owned(kube_config) struct kube_config *renewed = kube_config_again(config, &err);
    if (!config || !same || !renewed)
        fail_msg("%s", err.text);
    assert_true(kube_config_equals(config, same));
    assert_false(kube_config_equals(config, renewed));
    assert_string_equal(renewed->tls.ca_pem, PEM PEM);
    bench_write(folder, "ca.crt", "");
    assert_null(kube_config_again(config, &err));
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    static const struct {
        const char *config;
        const char *context;
        const char *want; /* after "PATH:" */
    } cases[] = {
        { "{}\n", NULL, "has no current-context, and none was named" },
        { "current-context: ''\n", NULL, "has no current-context, and none was named" },
        { "current-context: a\n", NULL, "there is no list \"contexts\"" },
        { HEAD, "b", "there is no context \"b\"" },
        { HEAD, NULL, "there is no list \"clusters\"" },
        { HEAD "clusters: []\n", NULL, "there is no cluster \"c\"" },
        { HEAD "clusters: [{name: c}]\n", NULL, "\"c\" has no \"cluster\"" },
        { CLUSTER("x: y"), NULL, "has no server" },
        { CLUSTER("server: 'ftp://c'"), NULL, "server: " },
        { CLUSTER("server: 'https://c/?x'"), NULL, "no query" },
        { CLUSTER("server: 'http://c'"), NULL, "plain http is allowed to loopback addresses only" },
        { CLUSTER("server: 'http://127.evil.example'"), NULL,
          "plain http is allowed to loopback addresses only" },
        { CLUSTER("server: 'https://c', insecure-skip-tls-verify: true"), NULL,
          "insecure-skip-tls-verify: refused: give the cluster's certificate-authority" },
        { CLUSTER("server: 'https://c', proxy-url: 'http://p'"), NULL,
          "proxy-url: proxies are not supported" },
        { CLUSTER("server: 'https://c', certificate-authority: absent.pem"), NULL, "absent.pem" },
        { CLUSTER("server: 'https://c', certificate-authority-data: '%%%'"), NULL,
          "certificate-authority-data: " },
        { CLUSTER("server: 'https://c', certificate-authority-data: aGVsbG8="), NULL,
          "certificate-authority-data: holds no whole PEM text" },
        { CLUSTER("server: 'https://c', certificate-authority-data: LS0tLS1CRUdJTiBYLS0tLS0K"),
          NULL, "certificate-authority-data: holds no whole PEM text" },
        { CLUSTER("server: 'https://c'"), NULL, "there is no list \"users\"" },
        { CLUSTER("server: 'https://c'") "users: []\n", NULL, "there is no user \"u\"" },
        { USER("exec: aws"), NULL, "exec: " },
        { USER("exec: {command: aws}"), NULL, "exec: has no apiVersion" },
        { USER("exec: {apiVersion: client.authentication.k8s.io/v1alpha1}"), NULL,
          "apiVersion: only client.authentication.k8s.io/v1 and v1beta1 are known" },
        { USER(V1 "}"), NULL, "exec: has no command" },
        { USER(V1 ", command: /bin/sh}"), NULL,
          "command: runs program \"/bin/sh\" for credentials; only /usr/bin/aws is allowed" },
        { USER(V1 ", command: ./aws}"), NULL, "only /usr/bin/aws is allowed" },
        { USER(V1 ", command: aw}"), NULL, "only /usr/bin/aws is allowed" },
        { USER(V1 ", command: aws, interactiveMode: Always}"), NULL, "nobody is there to answer" },
        { USER(V1 ", command: aws, args: {}}"), NULL, "args: " },
        { USER(V1 ", command: aws, args: [[]]}"), NULL, "args" },
        { USER(V1 ", command: aws, env: [{name: A}]}"), NULL, "has no value" },
        { USER(V1 ", command: aws, provideClusterInfo: maybe}"), NULL, "provideClusterInfo: " },
        { USER("auth-provider: {name: gcp}"), NULL, "auth-provider: refused" },
        { USER("username: me"), NULL, "username: refused: basic authentication" },
        { USER("token: \"a\\r\\nX-Evil: 1\""), NULL, "token: a token is one line" },
        { USER("as: root"), NULL, "as: refused: impersonation" },
        { USER("as-groups: [system:masters]"), NULL, "as-groups: refused: impersonation" },
        { USER("as-uid: '0'"), NULL, "as-uid: refused: impersonation" },
        { USER("as-user-extra: {a: [b]}"), NULL, "as-user-extra: refused: impersonation" },
        { USER("client-certificate-data: " PEM_BASE64), NULL,
          "client-certificate and client-key go together" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(kube_config) struct kube_config *config = read_config(cases[i].config,
                                                                    cases[i].context, &err);
        if (config || err.kind != ERROR_INVALID || !strstr(err.text, cases[i].want) ||
            !strstr(err.text, "/config:"))
            fail_msg("%s: wanted \"%s\", got \"%s\"", cases[i].config, cases[i].want, err.text);
    }
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_null(kube_config_read("/nonexistent/kubeconfig", NULL, NULL, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(the_current_context_counts_and_a_token_file_wins),
        cmocka_unit_test(the_allowed_program_is_made_ready),
        cmocka_unit_test(a_plugin_is_told_the_way_and_who_it_is),
        cmocka_unit_test(a_kubeconfig_names_an_identity_and_no_more),
        cmocka_unit_test(what_others_may_write_is_not_read),
        cmocka_unit_test(without_leave_no_program_is_run),
        cmocka_unit_test(a_pod_finds_its_own_server),
        cmocka_unit_test(a_file_is_read_again),
        cmocka_unit_test(a_pods_authority_is_read_again),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(a_missing_file_is_not_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
