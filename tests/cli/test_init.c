/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice init: a first configuration from simulated clusters, and its text for each cloud.
 */
#include "base/input/yaml.h"
#include "broker/cli/init_write.h"
#include "tests/cli/programs.h"
#include "tests/support/golden.h"

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

static const char line[] = "init --kubeconfig @/contexts.yaml --production prod-a --research "
                           "research-a --time-zone Asia/Seoul --file @/first.yaml";

static void the_first_file_is_valid_and_moves_nothing(void **state)
{
    (void)state;
    write_contexts();

    owned(said) struct said made = expect_code(folder, 0, line);
    owned(text) struct text *first = said_file(folder, "first.yaml");
    owned(said) struct said valid = expect_code(folder, 0, "validate @/first.yaml");
    owned(said) struct said again = expect_code(folder, 3, line);
    owned(text) struct text *kept = said_file(folder, "first.yaml");

    assert_non_null(strstr(made.out->chars, "2 clusters, 2 node groups"));
    assert_non_null(strstr(first->chars, "time_zone: Asia/Seoul\n"));
    assert_non_null(strstr(first->chars,
                           "a3-megagpu-8g-us-east5-a: {machine: a3-megagpu-8g, region: "
                           "us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: 16}"));
    assert_non_null(strstr(first->chars, "static_nodes: 2\n"));
    assert_non_null(strstr(first->chars, "static_nodes: 1\n"));
    assert_non_null(strstr(again.err->chars, "is there already, and is never overwritten"));
    assert_string_equal(kept->chars, first->chars);
}

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
        const char *cloud, *zone, *region, *pool, *node;
    } rows[] = {
        { "gcp", "us-east5-a", "us-east5", "gpus", "gke-prod-gpus-1a2b3c4d-x9z8" },
        { "gcp", "us-east5-a", "us-east5", "own", "my-node-1" },
        { "aws", "us-east-1a", "us-east-1", "gpu-nodes", "ip-10-0-0-1.ec2.internal" },
        { "azure", "eastus-1", "eastus", "gpunp", "aks-gpunp-1-vmss000000" },
        { "oci", "AD-1", "us-ashburn-1", "", "10.0.10.7" },
        { "capi", "rack-1", "home", "", "metal-1" },
    };
    owned(json) json_t *clusters = json_make("[{ss ss ss ss}]", "cluster", "prod", "role",
                                             "production", "kubeconfig", "/a \"b\"/config",
                                             "context", "gke_p_us-east5_prod");
    owned(json) json_t *groups = json_array();
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(said) struct said valid = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        json_array_append_new(
            groups, json_make("{ss ss ss ss ss ss ss ss sI sI sI}", "cluster", "prod", "machine",
                              "gpu8", "region", rows[i].region, "zone", rows[i].zone, "cloud",
                              rows[i].cloud, "node_pool", rows[i].pool, "project", "p", "node",
                              rows[i].node, "gpus_per_node", (json_int_t)8, "nodes",
                              (json_int_t)(4 + (json_int_t)i), "movable_nodes", (json_int_t)1));
    init_write("UTC", clusters, groups, out);
    mem_free(test_folder_write(folder, "clouds.yaml", out->chars));
    valid = expect_code(folder, 0, "validate --offline @/clouds.yaml");
    golden_check("golden/cli/init.yaml", out->chars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_file_is_valid_and_moves_nothing),
        cmocka_unit_test(a_mistake_writes_nothing),
        cmocka_unit_test(each_cloud_has_its_lines),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
