/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice init: a first configuration from simulated clusters, and its text for each cloud.
 */
#include "base/input/yaml.h"
#include "broker/cli/init_write.h"
#include "broker/doctor/init_clouds.h"
#include "tests/cli/clouds.h"
#include "tests/cli/programs.h"
#include "tests/support/golden.h"

#include <netinet/in.h>
#include <sys/socket.h>

static pid_t simulator;

static int open_world(void **state)
{
    (void)state;
    folder = test_folder_new();
    simulator = start_simulator();
    return await_port() > 0 ? 0 : -1;
}

static int close_world(void **state)
{
    (void)state;
    if (end_program(simulator) != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

/* One file with a context for each cluster, as people have it. */
static void write_contexts(void)
{
    static const char *const names[] = { "prod-a", "research-a" };
    static const char *const parts[] = { "clusters", "users", "contexts" };
    owned(json) json_t *all = json_make("{ss ss so so so}", "apiVersion", "v1", "kind", "Config",
                                        "clusters", json_array(), "users", json_array(), "contexts",
                                        json_array());
    owned(text) struct text *yaml = text_new(TEXT_UNBOUNDED);
    int port = await_port();

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *server = text_format("http://127.0.0.1:%d/clusters/%s", port, names[i]);
        owned(chars) char *token = text_format("sim-%s", names[i]);

        json_array_append_new(
            json_object_get(all, parts[0]),
            json_make("{ss s{ss}}", "name", names[i], "cluster", "server", server));
        json_array_append_new(json_object_get(all, parts[1]),
                              json_make("{ss s{ss}}", "name", names[i], "user", "token", token));
        json_array_append_new(json_object_get(all, parts[2]),
                              json_make("{ss s{ss ss}}", "name", names[i], "context", "cluster",
                                        names[i], "user", names[i]));
    }
    yaml_print(all, yaml);
    mem_free(test_folder_write(folder, "contexts.yaml", yaml->chars));
}

static const char line[] =
    "init --offline --kubeconfig @/contexts.yaml --production prod-a --research "
    "research-a --time-zone Asia/Seoul --file @/first.yaml";

static const char json_line[] =
    "init --offline --kubeconfig @/contexts.yaml --production prod-a --research "
    "research-a --time-zone Asia/Seoul --file @/second.yaml -o json";

static void the_first_file_is_valid_and_moves_nothing(void **state)
{
    (void)state;
    write_contexts();

    owned(said) struct said made = expect_code(folder, 0, line);
    owned(text) struct text *first = said_file(folder, "first.yaml");
    owned(said) struct said valid = expect_code(folder, 0, "validate @/first.yaml");
    owned(said) struct said again = expect_code(folder, 3, line);
    owned(said) struct said as_json = expect_code(folder, 0, json_line);
    owned(text) struct text *kept = said_file(folder, "first.yaml");

    assert_non_null(strstr(made.out->chars, "2 clusters, 2 node groups; the names of 0 are known"));
    assert_string_equal(made.err->chars, "");
    assert_non_null(strstr(first->chars, "time_zone: Asia/Seoul\n"));
    assert_non_null(strstr(first->chars,
                           "a3-megagpu-8g-us-east5-a: {machine: a3-megagpu-8g, region: "
                           "us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: 16}"));
    assert_non_null(strstr(first->chars, "static_nodes: 2\n"));
    assert_non_null(strstr(first->chars, "static_nodes: 1\n"));
    assert_non_null(strstr(again.err->chars, "is there already, and is never overwritten"));
    assert_string_equal(kept->chars, first->chars);
    assert_non_null(strstr(as_json.out->chars, "\"provider_id\": \""));
}

#define INIT                                                                                       \
    "init --kubeconfig @/contexts.yaml --production prod-a --time-zone UTC --file @/none.yaml "

static void a_mistake_writes_nothing(void **state)
{
    static const struct mistake mistakes[] = {
        { "init --kubeconfig @/contexts.yaml --time-zone UTC --file @/none.yaml", 64,
          "--production CONTEXT; there are: prod-a, research-a" },
        { "init --kubeconfig @/contexts.yaml --production prod-z --time-zone UTC --file "
          "@/none.yaml",
          1, "has no context prod-z" },
        { "init --kubeconfig @/nowhere.yaml --production a --time-zone UTC --file @/none.yaml", 1,
          "nowhere.yaml" },
        { "init --production a --time-zone Mars/Base --file @/none.yaml", 64, "Mars/Base" },
        { INIT "--account aws.profile=x", 1, "--account aws: no cluster has a GPU node of this" },
        { INIT "--account gcp.profil=x", 1, "--account: gcp:1: profil: unknown key" },
        { INIT "--account gcp", 1, "expected CLOUD.KEY=VALUE, found \"gcp\"" },
        { "init --kubeconfig @/contexts.yaml --production prod-a --time-zone UTC --file "
          "@/no/none.yaml",
          1, "no/none.yaml" },
    };
    owned(chars) char *path = text_format("%s/none.yaml", folder);

    (void)state;
    write_contexts();
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
    assert_false(file_exists(path));
}

/* Groups as the clouds' nodes show them. */
static void each_cloud_has_its_lines(void **state)
{
    static const struct {
        const char *cloud, *zone, *region, *pool, *node, *resource_group;
        const char *owner_kind; /* of Cluster API */
    } rows[] = {
        { "gcp", "us-east5-a", "us-east5", "gpus", "gke-prod-gpus-1a2b3c4d-x9z8", "", "" },
        { "gcp", "us-east5-a", "us-east5", "own", "my-node-1", "", "" },
        { "aws", "us-east-1a", "us-east-1", "gpu-nodes", "ip-10-0-0-1.ec2.internal", "", "" },
        { "azure", "eastus-1", "eastus", "gpunp", "aks-gpunp-1-vmss000000", "mc_ml_prod_1_eastus",
          "" },
        { "azure", "eastus-2", "eastus", "gpunp2", "aks-gpunp2-2-vmss000000", "MC_ml_prod-1_eastus",
          "" },
        { "azure", "eastus-3", "eastus", "gpunp3", "aks-gpunp3-3-vmss000000",
          "MC_m\"l_pr\\od_eastus", "" },
        { "azure", "eastus-1", "eastus", "gpunp2", "aks-gpunp2-2-vmss000001", "MC_ml_prod-1_eastus",
          "" },
        { "azure", "eastus-2", "eastus", "gpunp2", "aks-gpunp2-2-vmss000002", "MC_ml_prod-1_eastus",
          "" }, /* alike nodes, of which the kubelet shows fewer GPUs */
        { "aws", "us-east-1b", "us-east-1", "g\n    group: evil\n  lab: {}", "ip-10-0-0-2", "",
          "" },
        { "oci", "AD-1", "us-ashburn-1", "", "10.0.10.7", "", "" },
        { "oci", "AD-3", "us-ashburn-1", "ocid1.nodepool.oc1..p", "10.0.10.1", "", "" },
        { "oci", "AD-4", "us-ashburn-1", "ocid1.nodepool.oc1..p", "10.0.10.2", "", "" },
        { "oci", "AD-5", "us-ashburn-1", "x\xe2\x80\xa8  lab: {}\xc2\x85 #", "10.0.10.4", "", "" },
        { "oci", "AD-6", "us-ashburn-1", "x\xe2\x80\xa8  lab: {}\xc2\x85 #", "10.0.10.5", "", "" },
        { "oci", "AD-4", "us-ashburn-1", "ocid1.nodepool.oc1..q", "10.0.10.3", "", "" },
        { "oci", "AD-2", "us-ashburn-1", "ocid1.nodepool.oc1..a\nb: c", "10.0.10.8", "", "" },
        { "capi", "rack-1", "home", "", "metal-1", "", "" },
        { "capi", "rack-2", "home", "gpus", "metal-2", "", "MachineSet" },
        { "capi", "rack-3", "home", "gpu-pool", "metal-3", "", "MachinePool" },
        { "capi", "rack 4, {", "home", "", "metal\n4", "", "MachinePool" },
    };
    owned(json) json_t *clusters = json_make("[{ss ss ss ss}]", "cluster", "prod", "role",
                                             "production", "kubeconfig", "/a \"b\"/config",
                                             "context", "gke_p_us-east5_prod");
    owned(json) json_t *groups = json_array();
    owned(json) json_t *accounts = NULL;
    struct error err = { 0 };
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(said) struct said valid = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_shown = rows[i].pool[0] &&
                        (text_equal(rows[i].cloud, "azure") || text_equal(rows[i].cloud, "oci") ||
                         text_equal(rows[i].owner_kind, "MachinePool"));

        json_array_append_new(
            groups,
            json_make("{ss ss ss ss ss ss ss ss ss ss ss* sI sI sI}", "cluster", "prod", "machine",
                      "gpu8", "region", rows[i].region, "zone", rows[i].zone, "cloud",
                      rows[i].cloud, "node_pool", rows[i].pool, "project", "p", "node",
                      rows[i].node, "resource_group", rows[i].resource_group, "owner_kind",
                      rows[i].owner_kind, "group", is_shown ? rows[i].pool : NULL, "gpus_per_node",
                      (json_int_t)8, "nodes", (json_int_t)(4 + (json_int_t)i), "movable_nodes",
                      (json_int_t)1));
    }
    init_ask_nothing(groups);
    json_object_set_new(json_array_get(groups, 2), "group", json_text("eks-gpu-nodes-1a2b"));
    accounts = init_accounts(groups, NULL, &err);
    assert_non_null(accounts);
    init_write(&(struct init_facts){ "UTC", clusters, accounts, groups }, out);
    mem_free(test_folder_write(folder, "clouds.yaml", out->chars));
    valid = expect_code(folder, 0, "validate --offline @/clouds.yaml");
    golden_check("golden/cli/init.yaml", out->chars);
}

/* "endpoint: 'http://127.0.0.1:1/gcp', metadata: ..." as options of the command. */
static char *account_options(const struct test_cloud *cloud, int port)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    owned(chars) char *rest = mem_copy_chars(cloud->provider);
    char *save = NULL;

    for (char *part = strtok_r(rest, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        char *value = strstr(part, ": ") + 2;
        char *host = strstr(value, "127.0.0.1:1/");

        part += strspn(part, " ");
        if (text_starts_with(part, "region:"))
            continue; /* the nodes show it */
        text_add(out, " --account %s.%.*s=", cloud->kind, (int)(value - 2 - part), part);
        if (host)
            text_add(out, "http://127.0.0.1:%d/%.*s", port, (int)strcspn(host + 12, "'"),
                     host + 12);
        else if (text_starts_with(part, "credentials:") || text_starts_with(part, "kubeconfig:"))
            text_add(out, "@/%s", value);
        else
            text_add(out, "%s", value);
    }
    return text_take(out);
}

/* The small world on that cloud, in `folder`, on a port of its own. */
static pid_t start_on(const struct test_cloud *cloud, const char *faults)
{
    owned(chars) char *config = cloud_config(cloud);
    owned(chars) char *machines = text_format("%s%s", small_machines, faults);
    owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", config);
    owned(chars) char *world = test_folder_write(folder, "world.yaml", machines);

    cloud_write_accounts(folder);
    return start("simulator.log",
                 (const char *[]){ SLUICE_BUILD "/sluice-simulator", "-c", config_path, "-w", world,
                                   "--write-kubeconfigs", folder, NULL });
}

static char *init_on(const struct test_cloud *cloud, const char *options)
{
    owned(chars) char *accounts = account_options(cloud, await_port());

    return text_format("init --kubeconfig @/contexts.yaml --production prod-a --research "
                       "research-a --time-zone UTC --file @/asked.yaml%s%s",
                       accounts, options);
}

struct asked {
    int cloud;          /* of test_clouds */
    const char *faults; /* of the world */
    const char *options;
    const char *in_file[2]; /* of the written file */
    const char *says;       /* on stderr; "": nothing */
};

static const struct asked asked[] = {
    { 0, "", "", { "group of node prod-a-east-", "group: \"prod-a-east\"" }, "" },
    { 1, "", "", { "region: \"us-east5\"", "group: \"lab\"" }, "" },
    { 3,
      "",
      "",
      { "subscription: \"s-1\"", "managed_cluster: \"REPLACE-CLUSTER-OF-prod-a\"" },
      "" },
    { 4,
      "",
      "",
      { "namespace: \"infra\"", "machine_deployment: \"lab\"" },
      "capi does not tell it by a node" },
    { 5, "", "", { "node_pool: \"ocid1.nodepool.oc1.sim.prod\"", "profile: \"SIM\"" }, "" },
    { 0,
      "denied: [{whose: gcp, action: compute.instances.get}]\n",
      "",
      { "REPLACE-GROUP-OF-", "compute.instances.get" },
      "compute.instances.get" },
    { 0,
      "",
      " --account gcp.metadata=http://127.0.0.1:9/gcp",
      { "REPLACE-GROUP-OF-prod-a", "needed: the managed instance group" },
      "is not known: gcp: " },
};

/* What a cloud does not tell stays a word to be replaced, with the reason; the file is written. */
static void the_clouds_are_asked(void **state)
{
    char *before = folder;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        const struct asked *row = &asked[i];
        owned(test_folder) char *mine = folder = test_folder_new();
        pid_t pid = start_on(&test_clouds[row->cloud], row->faults);
        owned(chars) char *words = init_on(&test_clouds[row->cloud], row->options);

        write_contexts();

        owned(said) struct said made = expect_code(folder, 0, words);
        owned(text) struct text *file = said_file(folder, "asked.yaml");
        owned(said) struct said valid = expect_code(folder, 0, "validate --offline @/asked.yaml");

        for (size_t k = 0; k < COUNT_OF(row->in_file); k++)
            if (!strstr(file->chars, row->in_file[k]))
                fail_msg("case %zu: no \"%s\" in:\n%s", i, row->in_file[k],
                         strstr(file->chars, "pools:"));
        if (row->says[0] ? !strstr(made.err->chars, row->says) : made.err->chars[0] != '\0')
            fail_msg("case %zu: \"%s\" is not \"%s\"", i, made.err->chars, row->says);
        assert_int_equal(end_program(pid), 0);
    }
    folder = before;
}

/* A port that takes connections and never answers. */
static int listen_mutely(int *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* Two groups, and the time is over once. */
static void a_silent_cloud_is_asked_once(void **state)
{
    enum { TIME_MS = 2000 };
    char *before = folder;
    owned(test_folder) char *mine = folder = test_folder_new();
    pid_t pid = start_on(&test_clouds[0], "");
    int port = 0;
    int fd = listen_mutely(&port);
    owned(chars) char *options = text_format(
        " --timeout 2s --account gcp.metadata=http://127.0.0.1:%d/gcp", port);
    owned(chars) char *words = init_on(&test_clouds[0], options);
    int64_t began_ms = now_ms();

    (void)state;
    write_contexts();

    owned(said) struct said made = expect_code(folder, 0, words);
    const char *first = strstr(made.err->chars, "is not known: gcp did not answer in time");

    assert_true(now_ms() - began_ms >= TIME_MS);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "is not known: gcp did not answer in time"));
    assert_non_null(strstr(made.out->chars, "the names of 0 are known"));
    close(fd);
    assert_int_equal(end_program(pid), 0);
    folder = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_file_is_valid_and_moves_nothing),
        cmocka_unit_test(a_mistake_writes_nothing),
        cmocka_unit_test(each_cloud_has_its_lines),
        cmocka_unit_test(the_clouds_are_asked),
        cmocka_unit_test(a_silent_cloud_is_asked_once),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
