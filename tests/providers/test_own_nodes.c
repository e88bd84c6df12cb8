/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Labels and taints of a pool's new Nodes: which are refused, and what kubeadm and k3s get.
 */
#include "base/input/yaml.h"
#include "providers/ssh/own.h"
#include "providers/ssh/own_nodes.h"
#include "tests/support/unit.h"

#include <string.h>

static void labels_that_kubernetes_would_refuse_are_refused(void **state)
{
    static const struct {
        const char *labels;
        bool is_good;
    } rows[] = {
        { NULL, true },
        { "a=b", true },
        { "sluice.dev/ephemeral=true,team=a_b-c.1,empty=", true },
        { "", false },
        { "a", false },
        { "a=b,", false },
        { ",a=b", false },
        { "=b", false },
        { "a=b c", false },
        { "a=b=c", false },
        { "a=\"b\"", false },
        { "a=$(reboot)", false },
        { "a=b#", false },
        { "a=b, c=d", false },
        { "a/b/c=d", false },
        { "/a=b", false },
        { "a=-b", false },
        { "a=123456789012345678901234567890123456789012345678901234567890123", true },
        { "a=1234567890123456789012345678901234567890123456789012345678901234", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((own_labels_check(rows[i].labels, NULL) == 0) != rows[i].is_good)
            fail_msg("\"%s\"", rows[i].labels);
}

static void taints_that_kubernetes_would_refuse_are_refused(void **state)
{
    static const struct {
        const char *taints;
        bool is_good;
    } rows[] = {
        { NULL, true },
        { "{key: nvidia.com/gpu, effect: NoSchedule}", true },
        { "{key: a, value: b, effect: NoExecute}, {key: c, value: true, effect: PreferNoSchedule}",
          true },
        { "{\"key\": \"a\", \"effect\": \"NoSchedule\"}", true },
        { "a=b:NoSchedule", false },
        { "{key: a}", false },
        { "{effect: NoSchedule}", false },
        { "{key: a, effect: NoShedule}", false },
        { "{key: a, effect: NoSchedule, colour: red}", false },
        { "{key: a, value: [b], effect: NoSchedule}", false },
        { "{key: a, value: \"b\\\"\", effect: NoSchedule}", false },
        { "{key: a, effect: NoSchedule}]\nname: [b", false },
        { "{key: a, effect: NoSchedule}], name: [b", false },
        { "{key: a, effect: NoSchedule} # so", false },
        { "{key: a, effect: NoSchedule", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((own_taints_check(rows[i].taints, NULL) == 0) != rows[i].is_good)
            fail_msg("\"%s\"", rows[i].taints);
}

#define TAINTS "{key: nvidia.com/gpu, effect: NoSchedule}, {key: c, value: true, effect: NoExecute}"

static void each_way_to_join_gets_them_in_its_own_form(void **state)
{
    static const struct {
        const char *labels, *taints, *kubeadm, *k3s;
    } rows[] = {
        { NULL, NULL, "", "" },
        { "a=b,c=", NULL, "", "node-label+:\n  - \"a=b\"\n  - \"c=\"\n" },
        { "a=b", TAINTS,
          "{key: \"nvidia.com/gpu\", value: \"\", effect: \"NoSchedule\"}, "
          "{key: \"c\", value: \"true\", effect: \"NoExecute\"}, ",
          "node-label+:\n  - \"a=b\"\n"
          "node-taint+:\n  - \"nvidia.com/gpu=:NoSchedule\"\n  - \"c=true:NoExecute\"\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(text) struct text *kubeadm = text_new(TEXT_UNBOUNDED);
        owned(text) struct text *k3s = text_new(TEXT_UNBOUNDED);
        owned(yaml_document) struct yaml_document *read = NULL;

        own_taints_print(rows[i].taints, kubeadm);
        own_k3s_config_print(rows[i].labels, rows[i].taints, k3s);
        assert_string_equal(kubeadm->chars, rows[i].kubeadm);
        assert_string_equal(k3s->chars, rows[i].k3s);
        read = yaml_parse(k3s->chars, k3s->length, "sluice.yaml", NULL);
        assert_non_null(read);
    }
}

/* A pool whose labels or taints could not reach its Nodes is refused, and the error has a remedy.
 */
static void what_cannot_reach_a_node_is_refused(void **state)
{
    static const struct {
        const char *join, *labels, *taints;
        const char *key, *says; /* NULL: it is good */
    } rows[] = {
        { "kubeadm", "a=b", TAINTS, NULL, NULL },
        { "k3s", "a=b", TAINTS, NULL, NULL },
        { "script", "a=b", NULL, NULL, NULL },
        { "slurmd", NULL, NULL, NULL, NULL },
        { "script", "a=b", TAINTS, "taints", "let the script set the Node's taints" },
        { "slurmd", "a=b", NULL, "labels", "give the node its feature" },
        { "slurmd", NULL, TAINTS, "taints", "remove it" },
        { "k3s", "a=b", "a=b:NoSchedule", "taints", "expected `{key: KEY" },
        { "kubeadm", "a=\"b", NULL, "labels", "found \"a=\"b\"" },
        { "kubeadm", "a='b", NULL, "labels", "must be one line" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_slurm = text_equal(rows[i].join, "slurmd");
        bool is_script = text_equal(rows[i].join, "script");
        const struct own_pool pool = {
            .group = "a",
            .join = rows[i].join,
            .kubeconfig = "k",
            .labels = rows[i].labels,
            .taints = rows[i].taints,
            .script = is_script ? "/s" : NULL,
            .slurm_options = is_slurm ? "-Z" : NULL,
        };
        const char *key = NULL;
        struct error err = { 0 };
        int result = ssh_kind.pool.check(&pool, &key, &err);

        if (result != (rows[i].key ? -1 : 0) ||
            (rows[i].key && (!text_equal(key, rows[i].key) || !strstr(err.text, rows[i].says))))
            fail_msg("%s, %s, %s: %s: %s", rows[i].join, rows[i].labels, rows[i].taints, key,
                     err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_kubernetes_would_refuse_are_refused),
        cmocka_unit_test(taints_that_kubernetes_would_refuse_are_refused),
        cmocka_unit_test(each_way_to_join_gets_them_in_its_own_form),
        cmocka_unit_test(what_cannot_reach_a_node_is_refused),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
