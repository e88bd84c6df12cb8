/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice validate says what sluice serve would say: of kubeconfigs, of providers, and of files that
 * others may change.
 */
#include "tests/cli/said.h"
#include "tests/support/folder.h"

#include <sys/stat.h>

#define CLUSTER(server, more) "clusters: [{name: c, cluster: {server: '" server "'" more "}}]\n"
#define USER(members) "users: [{name: u, user: {" members "}}]\n"
#define CONTEXT "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
#define UNKNOWN_KIND "unknown provider kind \"mainframe\"; known kinds: gcp"
#define GOOD CONTEXT CLUSTER("https://c", "") USER("token: t")

struct row {
    const char *kubeconfig; /* NULL: there is none */
    const char *kind;       /* of the provider */
    const char *line;       /* "validate" and its options */
    const char *says;       /* NULL: all is good */
    mode_t config_mode, kubeconfig_mode;
};

static const struct row rows[] = {
    { GOOD, "gcp", "validate", NULL, 0600, 0600 },
    { NULL, "gcp", "validate", "k: cannot open: No such file", 0600, 0 },
    { NULL, "gcp", "validate --offline", NULL, 0600, 0 },
    { CONTEXT CLUSTER("file:///etc/passwd", "") USER("token: t"), "gcp", "validate",
      "server: ", 0600, 0600 },
    { CONTEXT CLUSTER("http://c", "") USER("token: t"), "gcp", "validate",
      "plain http is allowed to loopback addresses only", 0600, 0600 },
    { CONTEXT CLUSTER("https://c", ", insecure-skip-tls-verify: true") USER("token: t"), "gcp",
      "validate", "insecure-skip-tls-verify: refused", 0600, 0600 },
    { CONTEXT CLUSTER("https://c", "") USER("as-groups: [system:masters]"), "gcp", "validate",
      "as-groups: refused", 0600, 0600 },
    { GOOD, "mainframe", "validate", "providers.cloud.kind: " UNKNOWN_KIND, 0600, 0600 },
    { NULL, "mainframe", "validate --offline", "providers.cloud.kind: " UNKNOWN_KIND, 0600, 0 },
    { GOOD, "gcp", "validate", "sluice.yaml: may be changed by everybody", 0666, 0600 },
    { GOOD, "gcp", "validate", "k: may be changed by everybody", 0600, 0606 },
};

static void write_world(const char *folder, const struct row *row, const char *service)
{
    owned(chars) char *config = text_format(
        "time_zone: UTC\n"
        "clusters: {prod-a: {role: production, kubeconfig: k}}\n"
        "reservations: {r1: {machine: m8, region: here, zone: z1, gpus_per_node: 8, nodes: 4}}\n"
        "providers: {cloud: {kind: %s}}\n"
        "pools: {p: {cluster: prod-a, reservation: r1, provider: cloud, project: x, group: p}}\n"
        "queues: {chat: {wait_target: 20s, %s}}\n"
        "workloads: {task-chat: {queue: chat, gpus: 2, clusters: {prod-a: {}}}}\n",
        row->kind, service);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", config);
    owned(chars) char *kubeconfig = text_format("%s/k", folder);

    assert_int_equal(chmod(path, row->config_mode), 0);
    if (row->kubeconfig) {
        mem_free(test_folder_write(folder, "k", row->kubeconfig));
        assert_int_equal(chmod(kubeconfig, row->kubeconfig_mode), 0);
    }
}

static void it_says_what_serve_would_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *line = text_format("%s -c @/sluice.yaml", rows[i].line);

        write_world(folder, &rows[i], "service: 30s");
        owned(said) struct said validate = say(folder, folder, line);

        if (validate.code != (rows[i].says ? EXIT_ERROR : EXIT_DONE) ||
            (rows[i].says && !strstr(validate.err->chars, rows[i].says)))
            fail_msg("row %zu, validate: %d, %s", i, validate.code, validate.err->chars);
        if (!rows[i].says)
            continue; /* serve would begin */
        owned(said) struct said serve = say(folder, folder, "serve -c @/sluice.yaml");

        if (rows[i].config_mode != 0600) { /* it would send credentials where others say */
            owned(said) struct said snapshot = say(folder, folder,
                                                   "snapshot -c @/sluice.yaml --out @/out");

            if (snapshot.code != EXIT_ERROR || !strstr(snapshot.err->chars, rows[i].says))
                fail_msg("row %zu, snapshot: %d, %s", i, snapshot.code, snapshot.err->chars);
        }
        if (serve.code != EXIT_ERROR || !strstr(serve.err->chars, rows[i].says))
            fail_msg("row %zu, serve: %d, %s", i, serve.code, serve.err->chars);
    }
}

/* A group may be meant to: it is said, and nothing is refused. */
static void what_a_group_may_change_is_warned_of(void **state)
{
    static const struct row row = { GOOD, "gcp", "", NULL, 0664, 0664 };
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *journal = text_format("%s/sluice.db", folder);

    (void)state;
    write_world(folder, &row, "service: 30s");
    mem_free(test_folder_write(folder, "sluice.db", ""));
    assert_int_equal(chmod(journal, 0666), 0);
    owned(said) struct said said = say(folder, folder, "validate -o json -c @/sluice.yaml");
    owned(json) json_t *answer = json_parse(said.out->chars, said.out->length, "answer", NULL);
    const json_t *warnings = json_object_get(answer, "warnings");

    assert_int_equal(said.code, EXIT_DONE);
    assert_int_equal(json_array_size(warnings), 3);
    for (size_t i = 0; i < 3; i++)
        if (!strstr(json_text_or(json_array_get(warnings, i), "text", ""),
                    i < 2 ? "may be changed by its group"
                          : "sluice.db: may be changed by everybody"))
            fail_msg("%s", said.out->chars);
}

/* Such a file is good, and no plan can be made from it alone. */
static void an_engine_that_waits_for_lengths_is_warned_of(void **state)
{
    static const char want[] =
        "queue chat: its engine tells no lengths: plans need a demand with columns input_tokens "
        "and "
        "output_tokens for it, or what sluice snapshot measured; its targets were held against an "
        "iteration of 20ms alone";
    static const struct row row = { GOOD, "gcp", "", NULL, 0600, 0600 };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_world(folder, &row, "engine: {slots: 8, iteration: 20ms}");
    owned(said) struct said text = say(folder, folder, "validate -c @/sluice.yaml");
    owned(said) struct said said = say(folder, folder, "validate -o json -c @/sluice.yaml");
    owned(json) json_t *answer = json_parse(said.out->chars, said.out->length, "answer", NULL);
    const json_t *warnings = json_object_get(answer, "warnings");

    assert_int_equal(text.code, EXIT_DONE);
    assert_non_null(strstr(text.out->chars, "sluice.yaml: good\n"));
    if (!strstr(text.err->chars, want))
        fail_msg("%s", text.err->chars);
    assert_int_equal(said.code, EXIT_DONE);
    assert_int_equal(json_array_size(warnings), 1);
    assert_non_null(strstr(json_text_or(json_array_get(warnings, 0), "text", ""), want));
}

/* Blanks of `sluice init` are no mistakes; but nothing works before they are filled. */
static void what_init_left_is_warned_of(void **state)
{
    static const struct row row = { GOOD, "gcp, endpoint: 'https://REPLACE-HOST/gcp'",
                                    "",   NULL,
                                    0600, 0600 };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_world(folder, &row, "service: 30s");
    owned(said) struct said said = say(folder, folder, "validate --offline -c @/sluice.yaml");

    assert_int_equal(said.code, EXIT_DONE);
    if (!strstr(said.err->chars, "1 line still has words of `sluice init`: REPLACE-..."))
        fail_msg("%s", said.err->chars);
}

static void a_schedule_of_no_window_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *schedules = text_format("%s/schedules", folder);
    owned(said) struct said said = { 0 };

    (void)state;
    write_world(folder, &rows[0], "service: 30s");
    assert_int_equal(mkdir(schedules, 0755), 0);
    mem_free(test_folder_write(schedules, "weekday-day.yaml", "workloads: {}\n"));
    mem_free(test_folder_write(schedules, "weekday-pek.yaml", "workloads: {}\n"));
    said = say(folder, folder, "validate -c @/sluice.yaml");
    assert_int_equal(said.code, EXIT_ERROR);
    if (!strstr(said.err->chars, "schedules/weekday-pek.yaml: there is no window \"weekday-pek\"; "
                                 "there are: ") ||
        !strstr(said.err->chars, "weekday-peak"))
        fail_msg("%s", said.err->chars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_that_waits_for_lengths_is_warned_of),
        cmocka_unit_test(what_init_left_is_warned_of),
        cmocka_unit_test(a_schedule_of_no_window_is_named),
        cmocka_unit_test(it_says_what_serve_would_say),
        cmocka_unit_test(what_a_group_may_change_is_warned_of),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
